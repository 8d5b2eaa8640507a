//! Filling a frame from a reader without trusting the announced length.
//!
//! A header's length is a claim by a peer. A retained buffer costs nothing to lend, so a hit is
//! read into at once; a new buffer starts at [`READ_STEP`] and doubles as its bytes arrive, never
//! past the announced length. New memory is not zeroed first: `read_to_end` writes into spare
//! capacity.
//!
//! The buffer under construction already sits in its guard, so that an error or a panic of the
//! reader sends it home as any other.

use std::io::{self, ErrorKind, Read};

/// Bytes that a new buffer starts with, at most, before any payload has arrived.
pub const READ_STEP: usize = 256 * 1024;

/// Reads exactly enough to fill `bytes`.
pub(crate) fn fill<R: Read + ?Sized>(bytes: &mut [u8], reader: &mut R) -> io::Result<()> {
    let len = bytes.len();
    reader
        .read_exact(bytes)
        .map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => ended_inside(len),
            _ => error,
        })
}

/// Reads exactly `len` bytes into an empty vector, whose capacity ends at `len` or, when the read
/// is cut, at no more than twice what arrived or [`READ_STEP`].
pub(crate) fn grow<R: Read + ?Sized>(
    bytes: &mut Vec<u8>,
    reader: &mut R,
    len: usize,
) -> io::Result<()> {
    while bytes.len() < len {
        let step = (len - bytes.len()).min(bytes.len().max(READ_STEP));
        bytes.try_reserve_exact(step)?;
        if Read::take(&mut *reader, step as u64).read_to_end(bytes)? < step {
            return Err(ended_inside(len));
        }
    }
    Ok(())
}

fn ended_inside(len: usize) -> io::Error {
    io::Error::new(
        ErrorKind::UnexpectedEof,
        format!("the stream ended inside a frame of {len} bytes"),
    )
}
