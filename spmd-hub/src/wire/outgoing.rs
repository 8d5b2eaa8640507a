//! A frame on its way out: how much of it the socket has taken.
//!
//! Header and payload leave by one vectored system call; whatever the kernel
//! did not take is continued from where it stopped. A frame may stop between two
//! calls and be continued by another thread, which is how the hub hands a frame
//! that would block to a link's drain.
//!
//! What must stay true: once a byte of a frame has been sent, the rest of it is
//! the next thing that this socket sends. Whoever holds the link's writer upholds it.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::{HEADER_BYTES, Socket};

/// How often a blocked write looks whether it should give up.
const TICK: Duration = Duration::from_millis(100);

/// How a frame is pushed.
#[derive(Clone, Copy)]
pub(crate) enum Pace<'a> {
    /// Send what the kernel takes without waiting.
    Now,
    /// Wait for as long as the question is answered with no.
    Until(&'a dyn Fn() -> bool),
}

/// A frame's header and how many of its bytes, payload included, were sent.
#[derive(Debug)]
pub(crate) struct Outgoing {
    head: [u8; HEADER_BYTES],
    sent: usize,
}

impl Outgoing {
    /// Starts a frame of which nothing has been sent.
    pub(crate) fn new(head: [u8; HEADER_BYTES]) -> Self {
        Self { head, sent: 0 }
    }

    /// Tells whether a part of the frame is on its way already.
    pub(crate) fn is_torn(&self) -> bool {
        self.sent > 0
    }

    /// Sends what is left; `false` means that the pace ended it first.
    ///
    /// `payload` must be the same bytes on every call for one frame.
    pub(crate) fn push(
        &mut self,
        socket: &Socket,
        payload: &[u8],
        pace: Pace<'_>,
    ) -> io::Result<bool> {
        let total = HEADER_BYTES + payload.len();
        while self.sent < total {
            let head = self.head.get(self.sent..).unwrap_or_default();
            let body = &payload[self.sent.saturating_sub(HEADER_BYTES)..];
            match (socket.write_some(head, body, false), pace) {
                (Ok(0), _) => return Err(io::ErrorKind::WriteZero.into()),
                (Ok(sent), _) => self.sent += sent,
                (Err(error), Pace::Now) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(false);
                }
                (Err(error), Pace::Until(given_up))
                    if error.kind() == io::ErrorKind::WouldBlock =>
                {
                    if given_up() {
                        return Ok(false);
                    }
                    socket.wait(PollFlags::OUT, Some(Instant::now() + TICK))?;
                }
                (Err(error), _) => return Err(error),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_frame_that_stops_is_continued_where_it_stopped() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let socket = Socket::unix(ours);
        let payload: Vec<u8> = (0..4_u32 << 20).map(|byte| byte.to_le_bytes()[0]).collect();
        let mut frame = Outgoing::new([7; HEADER_BYTES]);
        assert!(
            !frame.push(&socket, &payload, Pace::Now).unwrap(),
            "4 MiB fit a socket's buffer"
        );
        assert!(frame.is_torn());
        let reader = std::thread::spawn(move || {
            let mut all = vec![0; HEADER_BYTES + (4 << 20)];
            theirs.read_exact(&mut all).map(|()| all)
        });
        assert!(
            frame
                .push(&socket, &payload, Pace::Until(&|| false))
                .unwrap()
        );
        let all = reader.join().unwrap().unwrap();
        assert!(all[..HEADER_BYTES] == [7; HEADER_BYTES] && all[HEADER_BYTES..] == payload);
    }

    #[test]
    fn a_write_to_a_peer_that_left_is_an_error_and_no_signal() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let error = Outgoing::new([0; HEADER_BYTES])
            .push(&Socket::unix(ours), b"", Pace::Now)
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
