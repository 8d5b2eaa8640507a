//! One pool's threads: who came, and what the ended ones left.
//!
//! The register is locked when a thread first touches the pool, when a thread ends, by readers of
//! the sums, and by the rare call that reaches the pool while its thread is ending. Borrows and
//! returns never wait for it.
//!
//! - No count is lost: a shelf's counters are listed for as long as the shelf exists, and when it
//!   is given up they move into `ended` under the same lock.
//! - Threads that come and go do not grow memory: at most [`SPARES`] shelves wait for an heir, and
//!   every other one is given up together with its line in the list.
//! - High-water marks are never too low: marks of the shelves that exist together are added, and
//!   the largest such sum is remembered before a shelf is unlisted.

use std::sync::Arc;

use pool_core::{Block, Counters, Discarded, Retention, State, Stats};

use crate::tenant::{Estate, Shelf};

/// Shelves of ended threads that may wait for an heir.
pub(crate) const SPARES: usize = 8;

/// The threads of one pool.
pub(crate) struct Register<P> {
    /// Counters of every shelf that exists: of threads that live, and of the spare ones.
    listed: Vec<Arc<Counters>>,
    spare: Vec<Estate<P>>,
    /// What the shelves that were given up had counted.
    ended: Stats,
    /// Events in threads that have no shelf any more. The register's lock makes one writer.
    stray: Counters,
    /// The largest sums of high-water marks before a shelf was unlisted.
    peak_buffers: u64,
    peak_bytes: u64,
}

impl<P> Default for Register<P> {
    fn default() -> Self {
        Self {
            listed: Vec::new(),
            spare: Vec::new(),
            ended: Stats::default(),
            stray: Counters::default(),
            peak_buffers: 0,
            peak_bytes: 0,
        }
    }
}

/// What a shelf that was given up leaves, a user's policy included: dropped after the lock is open.
#[must_use = "dropping it belongs after the lock is open"]
pub(crate) struct Remains<P> {
    _buffers: Discarded<Block>,
    _estate: Estate<P>,
}

impl<P: Retention> Register<P> {
    /// Hands over the shelf that an ended thread left last, if there is one.
    pub(crate) fn inherit(&mut self) -> Option<Estate<P>> {
        self.spare.pop()
    }

    /// Lists a new shelf.
    pub(crate) fn list(&mut self, shelf: &Shelf<P>) {
        self.listed.push(Arc::clone(shelf.counters()));
    }

    /// Takes over what an ending thread leaves: for the next one, or to be given up.
    ///
    /// `now` must be read under the register's lock, so that [`Self::expel`] misses none.
    pub(crate) fn retire(&mut self, estate: Estate<P>, now: State) -> Option<Remains<P>> {
        if estate.state == now && now.is_on() && self.spare.len() < SPARES {
            self.spare.push(estate);
            return None;
        }
        Some(self.give_up(estate))
    }

    /// Gives up the spare shelves that are from before `now`.
    pub(crate) fn expel(&mut self, now: State) -> Vec<Remains<P>> {
        let stale: Vec<_> = self
            .spare
            .extract_if(.., |estate| estate.state != now)
            .collect();
        stale
            .into_iter()
            .map(|estate| self.give_up(estate))
            .collect()
    }

    /// Empties a shelf, takes over its counts and unlists it.
    fn give_up(&mut self, mut estate: Estate<P>) -> Remains<P> {
        let marks = self.total();
        self.peak_buffers = marks.peak_buffers;
        self.peak_bytes = marks.peak_bytes;
        let buffers = estate.shelf.clear();
        let counters = estate.shelf.counters();
        let mut counted = counters.snapshot();
        counted.peak_buffers = 0;
        counted.peak_bytes = 0;
        self.ended += counted;
        self.listed.retain(|listed| !Arc::ptr_eq(listed, counters));
        Remains {
            _buffers: buffers,
            _estate: estate,
        }
    }

    /// Counters for events in threads that have no shelf any more.
    pub(crate) fn stray(&self) -> &Counters {
        &self.stray
    }

    /// The sum over all threads, ended ones included.
    pub(crate) fn total(&self) -> Stats {
        let listed: Stats = self.listed.iter().map(|counters| counters.snapshot()).sum();
        let mut total = listed + self.ended + self.stray.snapshot();
        total.peak_buffers = total.peak_buffers.max(self.peak_buffers);
        total.peak_bytes = total.peak_bytes.max(self.peak_bytes);
        total
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use pool_core::{Bounded, ElementClass, Exact, Switch};

    use super::*;

    fn estate(now: State, bytes: usize) -> Estate<Bounded> {
        let mut shelf = Shelf::new(Bounded::UNLIMITED, Exact::default());
        let slice = vec![0_u8; bytes].into_boxed_slice();
        let block = Block::from_slice(slice).expect("bytes can be erased");
        drop(shelf.offer(ElementClass::of::<u8>(bytes), block));
        Estate { shelf, state: now }
    }

    #[test]
    fn only_so_many_shelves_wait_for_an_heir_and_no_count_is_lost() {
        let now = Switch::default().state();
        let mut register = Register::default();
        for _ in 0..SPARES + 3 {
            let estate = estate(now, 64);
            register.list(&estate.shelf);
            drop(register.retire(estate, now));
        }
        assert_eq!(register.spare.len(), SPARES);
        assert_eq!(register.listed.len(), SPARES);
        let total = register.total();
        assert_eq!(total.returns, SPARES as u64 + 3);
        assert_eq!((total.held_buffers, total.cleared), (SPARES as u64, 3));
    }

    #[test]
    fn high_water_marks_of_threads_that_did_not_live_together_are_not_added() {
        let now = Switch::default().state();
        let mut register = Register::default();
        // Nobody inherits, so that each shelf past the spare ones is given up alone.
        for _ in 0..if cfg!(miri) { 20 } else { 1000 } {
            let estate = estate(now, 64);
            register.list(&estate.shelf);
            drop(register.retire(estate, now));
        }
        assert_eq!(register.total().peak_buffers, SPARES as u64 + 1);
        assert_eq!(register.total().peak_bytes, 64 * (SPARES as u64 + 1));
    }

    #[test]
    fn a_shelf_from_before_a_clear_is_not_kept_for_an_heir() {
        let switch = Switch::default();
        let mut register = Register::default();
        let (kept, late) = (estate(switch.state(), 8), estate(switch.state(), 8));
        register.list(&kept.shelf);
        register.list(&late.shelf);
        drop(register.retire(kept, switch.state()));
        switch.begin_epoch();
        assert_eq!(register.expel(switch.state()).len(), 1);
        assert!(register.retire(late, switch.state()).is_some());
        assert!(register.inherit().is_none());
        assert_eq!(register.total().cleared, 2);
    }
}
