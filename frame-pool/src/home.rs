//! The state that a pool's handles and its frames share.
//!
//! One lock around one shelf, one switch beside it, one set of counters that is read without the
//! lock. Invariants, and what upholds each:
//!
//! - A pool that is off holds nothing: the switch is turned and the shelf emptied under one lock,
//!   and a return reads the switch under the same lock.
//! - The counters have one writer at a time: they are written under the lock. Requests that come
//!   while the pool is off take no lock, so they have a count of their own.
//! - Nothing is allocated or freed for a borrower under the lock.
//! - A return never panics, whatever the policy does: a panic of it ends in [`Home::take_back`],
//!   and the buffer is freed and counts as refused.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use pool_core::sync::Mutex;
use pool_core::sync::atomic::{AtomicU64, Ordering};
use pool_core::{BestFit, Counters, Discarded, Found, Refusal, Retention, Shelf, Stats, Switch};

/// What a pool's handles and frames share.
pub(crate) struct Home<P> {
    shelf: Mutex<Shelf<usize, Box<[u8]>, P, BestFit>>,
    switch: Switch,
    counters: Arc<Counters>,
    /// Requests made while the pool was off.
    aside: AtomicU64,
}

impl<P: Retention> Home<P> {
    pub(crate) fn new(policy: P, fit: BestFit) -> Self {
        let shelf = Shelf::new(policy, fit);
        let counters = Arc::clone(shelf.counters());
        Self {
            shelf: Mutex::new(shelf),
            switch: Switch::default(),
            counters,
            aside: AtomicU64::new(0),
        }
    }

    /// Looks for a buffer of at least `len` bytes.
    #[inline]
    pub(crate) fn request(&self, len: usize) -> Found<Box<[u8]>> {
        if !self.is_enabled() {
            return self.step_aside();
        }
        let mut shelf = self.shelf.lock();
        // Read again: only under the lock does the state stand still.
        if !self.is_enabled() {
            drop(shelf);
            return self.step_aside();
        }
        shelf.request(len)
    }

    /// Counts a request that met a pool switched off.
    #[cold]
    fn step_aside(&self) -> Found<Box<[u8]>> {
        self.aside.fetch_add(1, Ordering::Relaxed);
        Found::Bypass
    }

    /// Takes a buffer back, and frees what the pool does not keep after the lock is open.
    #[inline(never)]
    pub(crate) fn take_back(&self, data: Box<[u8]>) {
        if data.is_empty() {
            // Its allocation failed: there is nothing to keep, and nothing is out any more.
            self.counters.detach();
            return;
        }
        let mut shelf = self.shelf.lock();
        let given_up = if self.is_enabled() {
            // A guard is dropped here, perhaps while its thread unwinds already.
            panic::catch_unwind(AssertUnwindSafe(|| shelf.offer(data.len(), data))).unwrap_or_else(
                |_panic| {
                    self.counters.refuse(Refusal::Other);
                    Discarded::default()
                },
            )
        } else {
            self.counters.refuse(Refusal::SwitchedOff);
            let mut given_up = Discarded::default();
            given_up.push(data);
            given_up
        };
        drop(shelf);
        drop(given_up);
    }

    /// Counts a buffer that left for good.
    pub(crate) fn let_go(&self) {
        self.counters.detach();
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.switch.state().is_on()
    }

    pub(crate) fn set_enabled(&self, on: bool) {
        let mut shelf = self.shelf.lock();
        self.switch.set(on);
        let given_up = (!on).then(|| shelf.clear());
        drop(shelf);
        drop(given_up);
    }

    pub(crate) fn clear(&self) {
        let given_up = self.shelf.lock().clear();
        drop(given_up);
    }

    pub(crate) fn end_round(&self) {
        let given_up = self.shelf.lock().end_round();
        drop(given_up);
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.counters.snapshot();
        stats.bypassed += self.aside.load(Ordering::Relaxed);
        stats
    }
}
