//! One thread's shelf of one pool.
//!
//! A [`Lodger`] is a shelf with what ties it to its thread and its pool. It stands in the thread's
//! [table](pool_core::tenancy).
//!
//! - No thread serves a hit from before the pool was cleared or switched: each call brings the
//!   state of the switch, and a shelf that remembers another one is emptied first.
//! - A shelf does not keep its pool alive: it holds a [`Weak`].

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Weak};

use pool_core::tenancy::{self, Place, Table, Tenant};
use pool_core::{
    Block, Bounded, Class as _, Counters, Discarded, ElementClass, Exact, Found, Refusal,
    Retention, State, Stats,
};

use crate::depot::BATCH;
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
    /// The counters of the pool's depot, if it has one: they tell without a lock that it is empty.
    depot: Option<Arc<Counters>>,
    /// What is on its way to the depot or from there; empty between calls.
    batch: Vec<Block>,
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
            depot: pool.depot().map(|depot| Arc::clone(depot.counters())),
            batch: Vec::new(),
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
        if let Some(block) = self.hot.take(class, &mut self.estate.shelf) {
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
        let shelf = &mut self.estate.shelf;
        if !self.estate.state.is_on() {
            shelf.counters().bypass();
            return Found::Bypass;
        }
        let depot = self.depot.as_ref();
        if depot.is_some_and(|depot| depot.held().buffers > 0)
            && shelf.waiting(class) == 0
            && shelf.policy().admit(class.bytes())
        {
            return self.take_surplus(class);
        }
        shelf.request(class)
    }

    /// Moves a batch of a class from the depot to the shelf, as much as that has room for beside
    /// the buffer that is lent at once.
    #[cold]
    fn take_surplus(&mut self, class: ElementClass) -> Found<Block> {
        let (shelf, batch) = (&mut self.estate.shelf, &mut self.batch);
        let pool = self.pool.upgrade();
        if let Some((pool, depot)) = pool.as_ref().and_then(|pool| Some((pool, pool.depot()?))) {
            let most = shelf.room(class, BATCH - 1) + 1;
            depot.hand_out(pool.switch(), self.estate.state, class, most, batch);
        }
        let last = (batch.len() > 1).then(|| batch.pop()).flatten();
        shelf.take_over(class, batch, drop);
        let found = shelf.request(class);
        batch.extend(last);
        shelf.take_over(class, batch, drop);
        found
    }

    /// Takes back a buffer, which is made only if it is kept.
    #[inline]
    pub(crate) fn give(&mut self, now: State, class: ElementClass, block: impl FnOnce() -> Block) {
        self.renew(now);
        if let Err(block) = self.hot.give(class, block, &mut self.estate.shelf) {
            self.give_safely(class, block());
        }
    }

    /// A guard is dropped here, perhaps while its thread unwinds already: a policy that panics must
    /// not take the process along.
    #[inline(never)]
    fn give_safely(&mut self, class: ElementClass, block: Block) {
        let given = panic::catch_unwind(AssertUnwindSafe(|| self.give_to_shelf(class, block)));
        if given.is_err() {
            self.counters().refuse(Refusal::Other);
        }
    }

    fn give_to_shelf(&mut self, class: ElementClass, block: Block) {
        let (hot, shelf) = (&mut self.hot, &mut self.estate.shelf);
        if !self.estate.state.is_on() {
            shelf.counters().refuse(Refusal::SwitchedOff);
            return;
        }
        let memoryless = shelf.policy().is_memoryless();
        let older = if memoryless {
            hot.exchange(class, block)
        } else {
            block
        };
        match shelf.try_keep(class, || older) {
            Ok(()) => {
                if memoryless {
                    hot.settle(class, shelf);
                }
                // More than two batches that nobody asks this thread for: some other may lack one.
                if self.depot.is_some() && self.estate.shelf.waiting(class) >= 2 * BATCH {
                    self.leave_surplus(class, BATCH);
                }
            }
            Err(older) => {
                let block = hot.exchange(class, older());
                hot.flush(shelf);
                let surplus = shelf.waiting(class).div_ceil(2).min(BATCH);
                self.leave_surplus(class, surplus);
                // What is refused is dropped here.
                self.estate.shelf.offer_with(class, || block, drop);
            }
        }
    }

    /// Moves the oldest buffers of a class to the depot, if there is one.
    fn leave_surplus(&mut self, class: ElementClass, buffers: usize) {
        if self.depot.is_none() || buffers == 0 {
            return;
        }
        let pool = self.pool.upgrade();
        if let Some((pool, depot)) = pool.as_ref().and_then(|pool| Some((pool, pool.depot()?))) {
            let shelf = &mut self.estate.shelf;
            shelf.withdraw(class, buffers, &mut self.batch);
            depot.take_in(pool.switch(), self.estate.state, class, &mut self.batch);
            // What the depot gave up.
            self.batch.clear();
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
        let counters = Arc::clone(self.estate.shelf.counters());
        // The thread may be ending, where a panic would abort the process.
        let closed = panic::catch_unwind(AssertUnwindSafe(move || {
            let Self { hot, estate, .. } = &mut *self;
            hot.flush(&mut estate.shelf);
            if let Some(pool) = self.pool.upgrade() {
                pool.retire(self.estate);
            }
        }));
        if closed.is_err() {
            counters.abandon();
        }
    }
}
