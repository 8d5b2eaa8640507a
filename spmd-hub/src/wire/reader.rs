//! Frames off a link: headers parsed, ends told apart.
//!
//! A reader buffers, so that many small frames cost one system call and a small
//! frame's header and payload come together, while the payload of a large frame
//! is read past the buffer, straight into where it stays.
//!
//! What must stay true: an end between two frames and an end inside one are
//! different things, and neither is a clean end; only a goodbye is.

use std::io::{self, BufRead as _, BufReader, Read};

use super::{HEADER_BYTES, Header, HeaderError, Socket};

/// What one read may bring in.
const BUFFER: usize = 64 << 10;

/// Why a link brings no further frame.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkEnd {
    #[error("its link ended without a goodbye")]
    Lost,
    #[error("its link was cut inside a frame")]
    Torn,
    #[error("it sent {0}")]
    Header(#[from] HeaderError),
    #[error("its link failed: {0}")]
    Io(io::Error),
}

impl LinkEnd {
    /// Sorts an error of reading inside a frame.
    pub(crate) fn inside_frame(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => Self::Torn,
            _ => Self::Io(error),
        }
    }
}

/// The reading half of a link.
#[derive(Debug)]
pub(crate) struct FrameReader {
    input: BufReader<Socket>,
    limit: u64,
}

impl FrameReader {
    /// Reads frames with payloads up to `limit` bytes.
    pub(crate) fn new(socket: Socket, limit: u64) -> Self {
        Self {
            input: BufReader::with_capacity(BUFFER, socket),
            limit,
        }
    }

    /// Waits for the next header; its payload is the next `length` bytes of [`payload`](Self::payload).
    pub(crate) fn next(&mut self) -> Result<Header, LinkEnd> {
        if self.fill()? == 0 {
            return Err(LinkEnd::Lost);
        }
        let mut bytes = [0; HEADER_BYTES];
        self.input
            .read_exact(&mut bytes)
            .map_err(LinkEnd::inside_frame)?;
        Ok(Header::parse(&bytes, self.limit)?)
    }

    /// Returns where payloads are read from.
    pub(crate) fn payload(&mut self) -> &mut impl Read {
        &mut self.input
    }

    /// Tells whether bytes wait in the buffer, so that the socket need not be asked.
    pub(crate) fn has_buffered(&self) -> bool {
        !self.input.buffer().is_empty()
    }

    /// Returns the socket.
    pub(crate) fn socket(&self) -> &Socket {
        self.input.get_ref()
    }

    fn fill(&mut self) -> Result<usize, LinkEnd> {
        loop {
            match self.input.fill_buf() {
                Ok(bytes) => return Ok(bytes.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Err(LinkEnd::Lost);
                }
                Err(error) => return Err(LinkEnd::Io(error)),
            }
        }
    }
}
