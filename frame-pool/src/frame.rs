//! The guard of one lent buffer.
//!
//! Invariants, and what upholds each:
//!
//! - A buffer has one owner: [`Frame`] is neither `Clone` nor `Copy`, and `Drop` is the only way
//!   back.
//! - A frame is exactly as long as it was asked to be: the view is cut at `len`, whatever the
//!   buffer's own length, and `len` never grows.
//! - A frame that does not ride the pool has no home, so its drop is an ordinary one.

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use pool_core::{Bounded, Retention, State};

use crate::home::Home;

/// What a frame's bytes read as before they are written, in builds with debug assertions.
const POISON: u8 = 0xFF;

/// A lent payload of an exact length, which goes home when it is dropped.
///
/// It can be dropped on any thread. Whether the buffer is then kept is up to the pool's policy.
/// When the last handle of the pool is gone, the buffer is freed.
///
/// # Examples
///
/// ```
/// use frame_pool::FramePool;
///
/// let pool = FramePool::default();
/// let mut frame = pool.take(3);
/// frame.copy_from_slice(b"abc");
/// assert_eq!(frame.detach(), b"abc"); // a plain vector from here on
/// assert_eq!(pool.stats().detached, 1);
/// ```
///
/// A frame that moved on is gone:
///
/// ```compile_fail,E0382
/// let (outbox, drain) = std::sync::mpsc::channel();
/// let frame = frame_pool::FramePool::default().take(3);
/// outbox.send(frame).unwrap();
/// let _len = frame.len(); // error: `frame` was moved into the outbox
/// ```
///
/// It goes home once:
///
/// ```compile_fail,E0382
/// let frame = frame_pool::FramePool::default().take(3);
/// drop(frame);
/// drop(frame); // error: use of moved value
/// ```
///
/// And it has one owner:
///
/// ```compile_fail,E0599
/// let frame = frame_pool::FramePool::default().take(3);
/// let _second: frame_pool::Frame = frame.clone(); // error: no such method
/// ```
#[must_use = "a frame that is dropped at once goes straight home"]
pub struct Frame<P: Retention = Bounded> {
    /// Initialised to the end of its capacity, once the frame is in a borrower's hands or came
    /// from the pool.
    bytes: Vec<u8>,
    len: usize,
    /// Where the buffer belongs and since when, unless it does not ride the pool.
    home: Option<(Arc<Home<P>>, State)>,
}

impl<P: Retention> Frame<P> {
    /// Wraps a buffer of at least `len` bytes.
    #[inline]
    pub(crate) fn new(bytes: Vec<u8>, len: usize, home: Option<(Arc<Home<P>>, State)>) -> Self {
        debug_assert!(len <= bytes.len(), "a view past the initialised bytes");
        Self { bytes, len, home }
    }

    /// Lets `fill` put the payload into an empty frame's new buffer, and opens the view onto it.
    ///
    /// The buffer is in its guard already, so that it goes home if `fill` fails or panics.
    pub(crate) fn supply<T>(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let done = fill(&mut self.bytes);
        self.len = self.bytes.len();
        done
    }

    /// Overwrites what the last borrower left, in builds with debug assertions.
    #[inline]
    pub(crate) fn poison(&mut self) {
        if cfg!(debug_assertions) {
            self.fill(POISON);
        }
    }

    /// Takes the payload out of the pool's care for good, without a copy.
    ///
    /// The vector is exactly as long as the frame. Its capacity is that of the buffer, which best
    /// fit may have chosen larger.
    #[must_use]
    pub fn detach(mut self) -> Vec<u8> {
        if let Some((home, _)) = self.home.take() {
            home.let_go();
        }
        let mut bytes = mem::take(&mut self.bytes);
        bytes.truncate(self.len);
        bytes
    }

    /// Shortens the frame to its first `len` bytes; does nothing when it is not longer.
    ///
    /// The buffer keeps its capacity, so a datagram can be received into a frame of the largest
    /// size and cut to what arrived.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl<P: Retention> Drop for Frame<P> {
    #[inline]
    fn drop(&mut self) {
        if let Some((home, epoch)) = self.home.take() {
            home.take_back(mem::take(&mut self.bytes), epoch);
        }
    }
}

impl<P: Retention> Deref for Frame<P> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl<P: Retention> DerefMut for Frame<P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }
}

impl<P: Retention> AsRef<[u8]> for Frame<P> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<P: Retention> AsMut<[u8]> for Frame<P> {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl<P: Retention> fmt::Debug for Frame<P> {
    /// Shows the length and never the contents: payloads do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
