//! A stream socket, Unix or TCP, and the few calls that the crate makes on it.
//!
//! Everything on a link goes through here: reads that block, writes that raise
//! no signal and can be told not to block, and a wait with a deadline. What must
//! stay true: no write raises SIGPIPE whatever the host program's disposition is
//! (`MSG_NOSIGNAL`), and an interrupted call is retried with its deadline kept.

use std::io::{self, IoSlice, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg, sockopt};

/// The send buffer asked of the kernel for Unix sockets, whose default holds two
/// frames of 90 KB. TCP's is left alone: setting it would end its autotuning.
const UNIX_SEND_BUFFER: usize = 400 << 10;

/// One end of a link.
#[derive(Debug)]
pub(crate) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    /// Prepares a connected Unix socket.
    pub(crate) fn unix(stream: UnixStream) -> Self {
        // A kernel that grants less still works.
        let _ = sockopt::set_socket_send_buffer_size(&stream, UNIX_SEND_BUFFER);
        Self::Unix(stream)
    }

    /// Prepares a connected TCP socket: small frames leave at once.
    pub(crate) fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// Returns a second handle of the same socket.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
        })
    }

    /// Ends one direction or both, for every handle; a socket that is gone already is fine.
    pub(crate) fn shutdown(&self, how: Shutdown) {
        // Err means that the peer has closed it: nothing is left to end.
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(how),
            Self::Tcp(stream) => stream.shutdown(how),
        };
    }

    /// Bounds every later read; `None` waits for ever.
    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(timeout),
            Self::Tcp(stream) => stream.set_read_timeout(timeout),
        }
    }

    /// Writes some of two slices by one call; `block` waits until the kernel takes a byte.
    pub(crate) fn write_some(&self, head: &[u8], body: &[u8], block: bool) -> io::Result<usize> {
        let flags = if block {
            SendFlags::NOSIGNAL
        } else {
            SendFlags::NOSIGNAL | SendFlags::DONTWAIT
        };
        let slices = [IoSlice::new(head), IoSlice::new(body)];
        loop {
            match sendmsg(self, &slices, &mut SendAncillaryBuffer::default(), flags) {
                Err(rustix::io::Errno::INTR) => {}
                other => return Ok(other?),
            }
        }
    }

    /// Waits until one of `flags` holds or the deadline passes; returns what holds then.
    pub(crate) fn wait(
        &self,
        flags: PollFlags,
        deadline: Option<Instant>,
    ) -> io::Result<PollFlags> {
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            // A wait too long to express is a wait for ever.
            let timeout = left.and_then(|left| left.try_into().ok());
            let mut sockets = [PollFd::new(self, flags)];
            match poll(&mut sockets, timeout.as_ref()) {
                Ok(_) => return Ok(sockets[0].revents()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Tells whether the peer has closed its whole end, even if bytes of it are still to be read.
    pub(crate) fn is_hung_up(&self) -> bool {
        let gone = PollFlags::HUP | PollFlags::ERR;
        self.wait(PollFlags::empty(), Some(Instant::now()))
            .map_or(true, |ready| ready.intersects(gone))
    }

    /// Tells whether a read would return at once, with bytes or with the end.
    pub(crate) fn is_readable(&self) -> io::Result<bool> {
        Ok(!self.wait(PollFlags::IN, Some(Instant::now()))?.is_empty())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => (&*stream).read(buffer),
            Socket::Tcp(stream) => (&*stream).read(buffer),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}
