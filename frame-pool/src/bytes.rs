//! A frame as [`Bytes`]: shared, sliced, and still a loan.
//!
//! The frame itself is the owner of what the [`Bytes`] shows, so its drop, once the last clone and
//! slice is gone, is the way home as ever. The price is the one small allocation that
//! [`Bytes::from_owner`] makes for its count of owners.

use bytes::Bytes;
use pool_core::Retention;

use crate::Frame;

impl<P: Retention + Send + 'static> Frame<P> {
    /// Makes the payload readable through any number of clones and slices, without a copy. The
    /// buffer goes home when the last of them is dropped, on whichever thread that is.
    ///
    /// # Examples
    ///
    /// ```
    /// use frame_pool::FramePool;
    ///
    /// let pool = FramePool::default();
    /// let message = pool.copy_of(b"head and body").into_bytes();
    /// let body = message.slice(9..);
    /// drop(message);
    /// assert_eq!(pool.stats().returns, 0); // the slice still reads it
    /// std::thread::spawn(move || assert_eq!(body, "body")).join().unwrap();
    /// assert_eq!(pool.stats().returns, 1);
    /// ```
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl<P: Retention + Send + 'static> From<Frame<P>> for Bytes {
    /// See [`Frame::into_bytes`].
    fn from(frame: Frame<P>) -> Self {
        frame.into_bytes()
    }
}
