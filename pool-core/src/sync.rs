//! The synchronisation primitives of the pools: std's, or loom's under `--cfg loom`.
//!
//! A pool that takes its locks and counters from here can be model-checked as it is. The lock
//! ignores poison on purpose: what a pool guards is a stack of buffers and their count, kept
//! consistent before any call that could panic, so a panic in one borrower's thread must not stop
//! the others.

#[cfg(loom)]
use loom::sync as imp;
#[cfg(not(loom))]
use std::sync as imp;

/// Atomic integers and their orderings.
pub mod atomic {
    #[cfg(loom)]
    pub use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
    #[cfg(not(loom))]
    pub use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
}

/// Thread-local storage.
pub mod thread {
    #[cfg(loom)]
    pub use loom::thread::LocalKey;
    #[cfg(not(loom))]
    pub use std::thread::LocalKey;
}

pub use imp::MutexGuard;

/// A lock that a panicking holder does not close to others.
#[derive(Debug, Default)]
pub struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    /// Makes an open lock around `value`.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    /// Waits until the lock is open, and closes it until the guard drops.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn a_panic_under_the_lock_does_not_close_it() {
        let lock = Arc::new(Mutex::new(1));
        let panicking = Arc::clone(&lock);
        let result = thread::spawn(move || {
            let _guard = panicking.lock();
            panic!("while holding the lock");
        })
        .join();
        assert!(result.is_err());
        assert_eq!(*lock.lock(), 1);
    }
}
