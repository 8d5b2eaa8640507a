//! The guard of one lent buffer.
//!
//! Invariants, and what upholds each:
//!
//! - A buffer has one owner: [`Frame`] is neither `Clone` nor `Copy`, and `Drop` is the only way
//!   back.
//! - A frame is exactly as long as it was asked to be: the view is cut at `len`, whatever the
//!   buffer's own length, and `len` never grows.
//! - A buffer is initialised to its end, so that a hit of any length needs no `memset`: it is a
//!   boxed slice, and [`Growing`] fills what a read that was cut left open.
//! - A frame that does not ride the pool has no home, so its drop is an ordinary one.

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use pool_core::{Bounded, Retention};

use crate::home::Home;

/// What a frame's bytes read as before they are written, in builds with debug assertions.
const POISON: u8 = 0xFF;

/// A lent payload of an exact length, which goes home when it is dropped.
///
/// It can be dropped on any thread. Whether the buffer is then kept is up to the pool's policy.
/// When the pool is off or its last handle is gone, the buffer is freed. Dropping never panics: a
/// policy that does has its buffer freed, and it counts as refused for
/// [`Refusal::Other`](crate::Refusal::Other).
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
///
/// It does not go home while its bytes are being read:
///
/// ```compile_fail,E0505
/// let frame = frame_pool::FramePool::default().take(3);
/// let first = &frame[0];
/// drop(frame); // error: `first` still points into it
/// println!("{first}");
/// ```
///
/// Nor do two threads write through one guard:
///
/// ```compile_fail,E0499
/// let mut frame = frame_pool::FramePool::default().take(3);
/// std::thread::scope(|scope| {
///     scope.spawn(|| frame[0] = 1);
///     scope.spawn(|| frame[1] = 1); // error: borrowed mutably twice
/// });
/// ```
#[must_use = "a frame that is dropped at once goes straight home"]
pub struct Frame<P: Retention + 'static = Bounded> {
    data: Box<[u8]>,
    len: usize,
    /// Where the buffer belongs, unless it does not ride the pool.
    home: Option<Arc<Home<P>>>,
}

/// A new buffer that is being read into a frame. It is in its guard's care from the beginning, so
/// that it goes home if the read fails or panics.
struct Growing<'f, P: Retention + 'static> {
    bytes: Vec<u8>,
    frame: &'f mut Frame<P>,
}

impl<P: Retention + 'static> Drop for Growing<'_, P> {
    fn drop(&mut self) {
        let mut bytes = mem::take(&mut self.bytes);
        self.frame.len = bytes.len();
        // Changes nothing, unless the read was cut.
        bytes.resize(bytes.capacity(), 0);
        self.frame.data = bytes.into_boxed_slice();
    }
}

impl<P: Retention + 'static> Frame<P> {
    /// Wraps a buffer of at least `len` bytes.
    #[inline]
    pub(crate) fn new(data: Box<[u8]>, len: usize, home: Option<Arc<Home<P>>>) -> Self {
        debug_assert!(len <= data.len(), "a view past the buffer's end");
        Self { data, len, home }
    }

    /// Gives an empty frame its buffer.
    #[inline]
    pub(crate) fn supply(&mut self, data: Box<[u8]>) {
        self.len = data.len();
        self.data = data;
    }

    /// Lets `fill` read the payload into an empty frame's new buffer.
    pub(crate) fn supply_with<T>(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let mut growing = Growing {
            bytes: Vec::new(),
            frame: self,
        };
        fill(&mut growing.bytes)
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
    #[must_use = "dropping the vector frees it, where dropping the frame would recycle it"]
    pub fn detach(mut self) -> Vec<u8> {
        if let Some(home) = self.home.take() {
            home.let_go();
        }
        let mut bytes = mem::take(&mut self.data).into_vec();
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

impl<P: Retention + 'static> Drop for Frame<P> {
    #[inline]
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            Home::take_back(home, mem::take(&mut self.data));
        }
    }
}

impl<P: Retention + 'static> Deref for Frame<P> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.data[..self.len]
    }
}

impl<P: Retention + 'static> DerefMut for Frame<P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.data[..self.len]
    }
}

impl<P: Retention + 'static> From<Frame<P>> for Vec<u8> {
    /// [Detaches](Frame::detach) the payload.
    fn from(frame: Frame<P>) -> Self {
        frame.detach()
    }
}

impl<P: Retention + 'static> AsRef<[u8]> for Frame<P> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<P: Retention + 'static> AsMut<[u8]> for Frame<P> {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl<P: Retention + 'static> fmt::Debug for Frame<P> {
    /// Shows the length and never the contents: payloads do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
