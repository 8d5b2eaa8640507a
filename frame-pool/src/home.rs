//! The state that a pool's handles and its frames share.
//!
//! One lock around one shelf, one switch beside it, one set of counters that is read without the
//! lock. Invariants, and what upholds each:
//!
//! - A retained `Vec` is initialised to the end of its capacity, so that a hit of any length needs
//!   no `memset`: [`Home::take_back`] is the only way in, and it fills what a cut read left open.
//! - No frame from before a switch or a clear is retained after it: the switch is turned under the
//!   lock, and a returned frame's epoch is compared under the same lock.
//! - The counters have one writer at a time: they are written under the lock. Requests that come
//!   while the pool is off take no lock, so they have a count of their own.
//! - Nothing is allocated or freed for a borrower under the lock.

use pool_core::sync::Mutex;
use pool_core::sync::atomic::{AtomicU64, Ordering};
use pool_core::{BestFit, Counters, Found, Refusal, Retention, Shelf, State, Stats, Switch};
use std::sync::Arc;

/// What a pool's handles and frames share.
pub(crate) struct Home<P> {
    shelf: Mutex<Shelf<usize, Vec<u8>, P, BestFit>>,
    switch: Switch,
    counters: Arc<Counters>,
    /// Requests made while the pool was off.
    aside: AtomicU64,
}

/// The answer to a request for a buffer.
pub(crate) enum Lent {
    /// A retained buffer, to come home while the pool is in this state.
    Hit(Vec<u8>, State),
    /// None fits: allocate one, to come home while the pool is in this state.
    Miss(State),
    /// The request does not ride the pool: allocate a buffer and drop it.
    Aside,
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
    pub(crate) fn request(&self, len: usize) -> Lent {
        if !self.is_enabled() {
            return self.step_aside();
        }
        let mut shelf = self.shelf.lock();
        // Read again: only under the lock does the state stand still.
        let epoch = self.switch.state();
        if !epoch.is_on() {
            drop(shelf);
            return self.step_aside();
        }
        match shelf.request(len) {
            Found::Hit(bytes) => Lent::Hit(bytes, epoch),
            Found::Miss => Lent::Miss(epoch),
            Found::Bypass => Lent::Aside,
        }
    }

    /// Counts a request that met a pool switched off.
    #[cold]
    fn step_aside(&self) -> Lent {
        self.aside.fetch_add(1, Ordering::Relaxed);
        Lent::Aside
    }

    /// Takes a buffer back that was lent in `epoch`, and frees what the pool does not keep after
    /// the lock is open.
    #[inline]
    pub(crate) fn take_back(&self, mut bytes: Vec<u8>, epoch: State) {
        let capacity = bytes.capacity();
        if capacity == 0 {
            // Its allocation failed: there is nothing to keep, and nothing is out any more.
            self.counters.detach();
            return;
        }
        // Changes nothing, unless a read into a new buffer ended early.
        bytes.resize(capacity, 0);
        let mut shelf = self.shelf.lock();
        if self.switch.state() == epoch {
            let discarded = shelf.offer(capacity, bytes);
            drop(shelf);
            drop(discarded);
        } else {
            self.counters.refuse(Refusal::SwitchedOff);
            drop(shelf);
            drop(bytes);
        }
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
        let discarded = (!on).then(|| shelf.clear());
        drop(shelf);
        drop(discarded);
    }

    pub(crate) fn clear(&self) {
        let mut shelf = self.shelf.lock();
        self.switch.begin_epoch();
        let discarded = shelf.clear();
        drop(shelf);
        drop(discarded);
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.counters.snapshot();
        stats.bypassed += self.aside.load(Ordering::Relaxed);
        stats
    }
}
