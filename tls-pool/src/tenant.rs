//! One thread's shelf of one pool.
//!
//! A [`Lodger`] is a shelf with what ties it to its thread and its pool. It stands in the thread's
//! [table](pool_core::tenancy).
//!
//! - No thread serves a hit from before the pool was cleared or switched: each call brings the
//!   state of the switch, and a shelf that remembers another one is emptied first.
//! - A shelf does not keep its pool alive: it holds a [`Weak`].

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use pool_core::tenancy::{self, Place, Table, Tenant};
use pool_core::{
    Block, Bounded, Counters, Discarded, ElementClass, Exact, Found, Refusal, Retention, State,
    Stats,
};

use crate::hot::Hot;
use crate::pool::Shared;

/// One thread's buffers of one pool.
pub(crate) type Shelf<P> = pool_core::Shelf<ElementClass, Block, P, Exact<ElementClass>>;

#[cfg(not(loom))]
thread_local! {
    static TABLE: RefCell<Table<Lodger<Bounded>>> = const { RefCell::new(Table::new()) };
}

#[cfg(loom)]
loom::thread_local! {
    static TABLE: RefCell<Table<Lodger<Bounded>>> = RefCell::new(Table::new());
}

/// A shelf, and the state of the switch when its thread last looked.
pub(crate) struct Estate<P> {
    pub(crate) shelf: Shelf<P>,
    pub(crate) state: State,
}

/// A shelf in its thread.
pub(crate) struct Lodger<P: Retention + 'static> {
    /// Empty unless the policy is memoryless and the pool is on.
    hot: Hot,
    estate: Estate<P>,
    /// What the shelf had counted before this thread took it over.
    before: Stats,
    pool: Weak<Shared<P>>,
}

/// Calls `work` with this thread's shelf of `pool`; `None` if it can have none, as when it is
/// ending.
#[inline]
pub(crate) fn with<P: Retention + 'static, R>(
    pool: &Arc<Shared<P>>,
    place: &Place,
    work: impl FnOnce(&mut Lodger<P>) -> R,
) -> Option<R> {
    tenancy::with(&TABLE, place, || Lodger::arrive(pool), work)
}

/// Calls `work` with this thread's shelf at `place`, if it has one.
pub(crate) fn with_settled<P: Retention + 'static, R>(
    place: &Place,
    work: impl FnOnce(&mut Lodger<P>) -> R,
) -> Option<R> {
    tenancy::with_settled(&TABLE, place, work)
}

impl<P: Retention> Lodger<P> {
    /// Moves into the current thread: with the shelf that an ended thread left, or a new one.
    #[cold]
    fn arrive(pool: &Arc<Shared<P>>) -> Self {
        let estate = pool.arrive();
        Self {
            hot: Hot::default(),
            before: estate.shelf.counters().snapshot(),
            estate,
            pool: Arc::downgrade(pool),
        }
    }

    /// Looks for a buffer of `class`, and hands it to `take`.
    #[inline]
    pub(crate) fn take<R>(
        &mut self,
        now: State,
        class: ElementClass,
        take: impl FnOnce(Block) -> R,
    ) -> Found<R> {
        self.renew(now);
        let counters = self.estate.shelf.counters();
        if let Some(block) = self.hot.take(class, counters) {
            return Found::Hit(take(block));
        }
        match self.take_from_shelf(class) {
            Found::Hit(block) => Found::Hit(take(block)),
            Found::Miss => Found::Miss,
            Found::Bypass => Found::Bypass,
        }
    }

    #[inline(never)]
    fn take_from_shelf(&mut self, class: ElementClass) -> Found<Block> {
        if !self.estate.state.is_on() {
            self.counters().bypass();
            return Found::Bypass;
        }
        self.estate.shelf.request(class)
    }

    /// Takes back a buffer, which is made only if it is kept.
    #[inline]
    pub(crate) fn give(&mut self, now: State, class: ElementClass, block: impl FnOnce() -> Block) {
        self.renew(now);
        let counters = self.estate.shelf.counters();
        if let Err(block) = self.hot.give(class, block, counters) {
            self.give_to_shelf(class, block());
        }
    }

    #[inline(never)]
    fn give_to_shelf(&mut self, class: ElementClass, block: Block) {
        let (hot, shelf) = (&mut self.hot, &mut self.estate.shelf);
        if !self.estate.state.is_on() {
            shelf.counters().refuse(Refusal::SwitchedOff);
            return;
        }
        if !shelf.policy().is_memoryless() {
            shelf.offer_with(class, || block, drop);
            return;
        }
        let older = hot.exchange(class, block);
        match shelf.try_keep(class, || older) {
            Ok(()) => hot.settle(class, shelf),
            Err(older) => {
                let block = hot.exchange(class, older());
                hot.flush(shelf);
                // What is refused is dropped here.
                shelf.offer_with(class, || block, drop);
            }
        }
    }

    /// Frees what is from before `now`.
    #[inline]
    pub(crate) fn renew(&mut self, now: State) {
        if self.estate.state != now {
            self.begin_anew(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn begin_anew(&mut self, now: State) {
        self.estate.state = now;
        self.hot.flush(&mut self.estate.shelf);
        drop(self.estate.shelf.clear());
    }

    /// Ends a round of this thread's policy.
    pub(crate) fn end_round(&mut self) -> Discarded<Block> {
        self.hot.flush(&mut self.estate.shelf);
        self.estate.shelf.end_round()
    }

    /// The shelf's counters; this thread is their one writer.
    #[inline]
    pub(crate) fn counters(&self) -> &Counters {
        self.estate.shelf.counters()
    }

    /// What this thread counted, without what it inherited.
    pub(crate) fn own(&self) -> Stats {
        self.counters().snapshot().since(&self.before)
    }
}

impl<P: Retention> Tenant for Lodger<P> {
    fn is_orphan(&self) -> bool {
        self.pool.strong_count() == 0
    }

    fn close(mut self: Box<Self>) {
        let Self { hot, estate, .. } = &mut *self;
        hot.flush(&mut estate.shelf);
        if let Some(pool) = self.pool.upgrade() {
            pool.retire(self.estate);
        }
    }
}
