//! The state that a pool's handles, its frames and its threads share.
//!
//! One lock around one shelf, one switch beside it. Pools whose policy allows it have a
//! tier (`tier.rs`) in each thread in front of the shelf; the others take the lock each time.
//! Invariants, and what upholds each:
//!
//! - The shelf of a pool that is off holds nothing: the switch is turned and the shelf emptied under
//!   one lock, and a return reads the switch under the same lock.
//! - The shelf's counters have one writer at a time: they are written under the lock. Requests that
//!   come while the pool is off take no lock, so they have a count of their own.
//! - Nothing is allocated or freed for a borrower under the lock.
//! - A return never panics, whatever the policy does: a panic of it ends where it was asked,
//!   and the buffer is freed and counts as refused.
//! - A buffer costs no traffic on a reference count on its way out and back: a [`Parcel`] carries
//!   its handle of the home along, also while it is retained. The circle is broken when the last
//!   handle of the pool is dropped, which empties the shelf, and each tier at its thread's next
//!   touch of any pool.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pool_core::sync::atomic::{AtomicU64, Ordering};
use pool_core::sync::{Mutex, MutexGuard};
use pool_core::tenancy::Place;
use pool_core::{
    BestFit, Buffer, Counters, Discarded, Found, Refusal, Retention, Shelf, State, Stats, Switch,
};

use crate::tier;

/// A buffer, and where it belongs.
pub(crate) struct Parcel<P: Retention> {
    pub(crate) data: Box<[u8]>,
    pub(crate) home: Arc<Home<P>>,
}

impl<P: Retention> Buffer for Parcel<P> {
    #[inline]
    fn bytes(&self) -> usize {
        self.data.len()
    }
}

/// What a pool's handles, frames and threads share.
pub(crate) struct Home<P: Retention> {
    // What every thread reads on every call comes first, apart from what changes under the lock.
    front: Front,
    shared: Mutex<Shared<P>>,
    /// Requests made while the pool was off.
    aside: AtomicU64,
}

/// What seldom changes, in cache lines of its own.
#[repr(align(128))]
struct Front {
    switch: Switch,
    place: Place,
    tiered: bool,
    /// Read when pools of other models end, too, so it is no atomic of loom's.
    closed: AtomicBool,
    counters: Arc<Counters>,
}

/// What the lock guards.
pub(crate) struct Shared<P: Retention> {
    pub(crate) shelf: Shelf<usize, Parcel<P>, P, BestFit>,
    /// The counters of each thread's tier.
    tiers: Vec<Arc<Counters>>,
    /// Buffers and bytes of the places that tiers have.
    lent: (u64, u64),
    /// Most buffers and bytes that were on the shelf or had a place in a tier.
    peak: (u64, u64),
}

impl<P: Retention> Shared<P> {
    /// Lists a new tier.
    pub(crate) fn list(&mut self, counters: &Arc<Counters>) {
        self.tiers.push(Arc::clone(counters));
    }

    /// Takes a tier's counts over, and unlists it.
    pub(crate) fn unlist(&mut self, counters: &Arc<Counters>) {
        self.shelf.counters().absorb(&counters.snapshot());
        self.tiers.retain(|listed| !Arc::ptr_eq(listed, counters));
    }

    /// Asks for a place without a buffer.
    pub(crate) fn reserve(&mut self, class: usize) -> bool {
        let granted = self.shelf.reserve(class);
        if granted {
            self.lent = (self.lent.0 + 1, self.lent.1 + class as u64);
        }
        granted
    }

    /// Moves a buffer to a tier, with its place.
    pub(crate) fn lend(&mut self, class: usize) -> Option<Parcel<P>> {
        let parcel = self.shelf.lend(class)?;
        self.shelf.counters().hand_on(class);
        self.lent = (self.lent.0 + 1, self.lent.1 + class as u64);
        Some(parcel)
    }

    /// Moves a buffer back from a tier, with its place.
    pub(crate) fn restore(&mut self, class: usize, parcel: Parcel<P>) {
        self.shelf.counters().carry(class);
        self.shelf.restore(class, parcel);
        self.lent = (self.lent.0 - 1, self.lent.1 - class as u64);
    }

    /// Gives up a place of a tier.
    pub(crate) fn release(&mut self, class: usize) {
        self.shelf.release(class);
        self.lent = (self.lent.0 - 1, self.lent.1 - class as u64);
    }

    /// Remembers how much was granted at most.
    pub(crate) fn note_peak(&mut self) {
        let held = self.shelf.held();
        self.peak.0 = self.peak.0.max(self.lent.0 + held.buffers as u64);
        self.peak.1 = self.peak.1.max(self.lent.1 + held.bytes as u64);
    }

    fn stats(&self) -> Stats {
        let mut stats = self.shelf.counters().snapshot();
        let (buffers, bytes) = (stats.peak_buffers, stats.peak_bytes);
        stats += self.tiers.iter().map(|tier| tier.snapshot()).sum();
        stats.peak_buffers = buffers.max(self.peak.0);
        stats.peak_bytes = bytes.max(self.peak.1);
        stats
    }
}

impl<P: Retention> Home<P> {
    pub(crate) fn new(policy: P, fit: BestFit, tiered: bool) -> Self {
        let tiered = tiered && policy.is_memoryless();
        let shelf = Shelf::new(policy, fit);
        Self {
            front: Front {
                switch: Switch::default(),
                place: Place::find(),
                tiered,
                closed: AtomicBool::new(false),
                counters: Arc::clone(shelf.counters()),
            },
            shared: Mutex::new(Shared {
                shelf,
                tiers: Vec::new(),
                lent: (0, 0),
                peak: (0, 0),
            }),
            aside: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(crate) fn place(&self) -> &Place {
        &self.front.place
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        self.front.switch.state()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared<P>> {
        self.shared.lock()
    }

    /// Whether the last handle is gone.
    pub(crate) fn is_closed(&self) -> bool {
        // Acquire is had from the count of closed pools, which is read before.
        self.front.closed.load(Ordering::Relaxed)
    }

    /// Looks for a buffer of at least `len` bytes on the shelf.
    #[inline(never)]
    fn request_shared(&self, len: usize) -> Found<Parcel<P>> {
        if !self.is_enabled() {
            return self.step_aside();
        }
        let mut shared = self.lock();
        // Read again: only under the lock does the state stand still.
        if !self.is_enabled() {
            drop(shared);
            return self.step_aside();
        }
        shared.shelf.request(len)
    }

    /// Counts a request that met a pool switched off.
    #[cold]
    fn step_aside(&self) -> Found<Parcel<P>> {
        self.aside.fetch_add(1, Ordering::Relaxed);
        Found::Bypass
    }

    /// Takes a buffer back onto the shelf, and frees what the pool does not keep after the lock is
    /// open.
    #[inline(never)]
    fn take_back_shared(self: &Arc<Self>, parcel: Parcel<P>) {
        let mut shared = self.lock();
        let given_up = if self.is_enabled() {
            let offered = || shared.shelf.offer(parcel.data.len(), parcel);
            // A guard is dropped here, perhaps while its thread unwinds already.
            panic::catch_unwind(AssertUnwindSafe(offered)).unwrap_or_else(|_panic| {
                self.front.counters.refuse(Refusal::Other);
                Discarded::default()
            })
        } else {
            self.front.counters.refuse(Refusal::SwitchedOff);
            let mut given_up = Discarded::default();
            given_up.push(parcel);
            given_up
        };
        drop(shared);
        drop(given_up);
    }

    /// Counts a buffer that left for good.
    pub(crate) fn let_go(&self) {
        self.front.counters.detach();
    }

    #[inline]
    pub(crate) fn is_enabled(&self) -> bool {
        self.state().is_on()
    }

    pub(crate) fn end_round(&self) {
        let given_up = self.lock().shelf.end_round();
        drop(given_up);
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = if self.front.tiered {
            self.lock().stats()
        } else {
            self.front.counters.snapshot()
        };
        stats.bypassed += self.aside.load(Ordering::Relaxed);
        stats
    }
}

impl<P: Retention + 'static> Home<P> {
    /// Hands a buffer that this thread has at hand for `len` bytes to `take`, if it has one.
    #[inline]
    pub(crate) fn at_hand(
        self: &Arc<Self>,
        len: usize,
        take: impl FnOnce(Box<[u8]>, Arc<Self>),
    ) -> bool {
        let taken = |tier: &mut tier::Tier<P>| match tier.at_hand(len) {
            Some(Parcel { data, home }) => {
                take(data, home);
                true
            }
            None => false,
        };
        self.front.tiered && tier::with(self, taken) == Some(true)
    }

    /// Looks for a buffer of at least `len` bytes.
    pub(crate) fn request(self: &Arc<Self>, len: usize) -> Found<Parcel<P>> {
        if self.front.tiered
            && let Some(found) = tier::with(self, |tier| tier.take_elsewhere(len))
        {
            return found;
        }
        self.request_shared(len)
    }

    /// Takes a buffer back.
    #[inline(never)]
    pub(crate) fn take_back(home: Arc<Self>, data: Box<[u8]>) {
        if data.is_empty() {
            // Its allocation failed: there is nothing to keep, and nothing is out any more.
            home.let_go();
            return;
        }
        let mut parcel = Some(Parcel { data, home });
        Self::settle(&mut parcel);
    }

    #[inline]
    fn settle(parcel: &mut Option<Parcel<P>>) {
        let Some(home) = parcel.as_ref().map(|parcel| &parcel.home) else {
            return;
        };
        // A pool that is closed makes no new tiers.
        if home.front.tiered && !home.is_closed() && tier::give(parcel) {
            return;
        }
        if let Some(parcel) = parcel.take() {
            let home = Arc::clone(&parcel.home);
            home.take_back_shared(parcel);
        }
    }

    pub(crate) fn set_enabled(&self, on: bool) {
        let mut shared = self.lock();
        self.front.switch.set(on);
        let given_up = (!on).then(|| shared.shelf.clear());
        drop(shared);
        drop(given_up);
        self.renew_own();
    }

    pub(crate) fn clear(&self) {
        let mut shared = self.lock();
        self.front.switch.begin_epoch();
        let given_up = shared.shelf.clear();
        drop(shared);
        drop(given_up);
        self.renew_own();
    }

    /// Ends the pool with its last handle: what comes back from now on is freed.
    pub(crate) fn close(&self) {
        self.set_enabled(false);
        self.front.closed.store(true, Ordering::Relaxed);
    }

    /// Frees what this thread's tier has from before the switch was last turned.
    fn renew_own(&self) {
        // None means that this thread has no tier, or is ending and will have none.
        let _ = tier::with_settled(self, tier::Tier::renew);
    }
}
