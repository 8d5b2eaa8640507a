//! One thread's shelf of one pool.
//!
//! A [`Lodger`] is a shelf with what ties it to its thread and its pool. The thread's table does
//! not know policies, so it holds it as a [`Tenant`]: one virtual call per borrow and return.
//!
//! - No thread serves a hit from before the pool was cleared or switched: each call brings the
//!   state of the switch, and a shelf that remembers another one is emptied first.
//! - A buffer that was out meanwhile is freed: its guard brings the state in which it was lent.
//! - A shelf does not keep its pool alive: it holds a [`Weak`].

use std::any::TypeId;
use std::sync::{Arc, Weak};

use pool_core::{Counters, Exact, Found, Refusal, Retention, State, Stats, Words};

use crate::pool::Shared;

/// Element type and number of elements.
pub(crate) type Class = (TypeId, usize);

/// One thread's buffers of one pool.
pub(crate) type Shelf<P> = pool_core::Shelf<Class, Words, P, Exact<Class>>;

/// A shelf as the table sees it, whatever its policy.
pub(crate) trait Tenant {
    /// Looks for a buffer; `zeroed` says that the borrower is promised zeros.
    fn take(&mut self, now: State, class: Class, bytes: usize, zeroed: bool) -> Found<Words>;

    /// Takes back a buffer that was lent in the state `lent`.
    fn give(&mut self, lent: State, now: State, class: Class, words: Words);

    /// Frees what is from before `now`.
    fn renew(&mut self, now: State);

    /// The shelf's counters; this thread is their one writer.
    fn counters(&self) -> &Counters;

    /// What this thread counted, without what it inherited.
    fn own(&self) -> Stats;

    /// Whether the pool is gone.
    fn is_orphan(&self) -> bool;

    /// Leaves the thread: buffers and counts go to the pool, if it is still there.
    fn close(self: Box<Self>);
}

/// A shelf, and the state of the switch when its thread last looked.
pub(crate) struct Estate<P> {
    pub(crate) shelf: Shelf<P>,
    pub(crate) state: State,
}

/// A shelf in its thread.
pub(crate) struct Lodger<P: Retention + 'static> {
    estate: Estate<P>,
    /// What the shelf had counted before this thread took it over.
    before: Stats,
    pool: Weak<Shared<P>>,
}

impl<P: Retention> Lodger<P> {
    /// Moves into the current thread: with the shelf that an ended thread left, or a new one.
    pub(crate) fn arrive(pool: &Arc<Shared<P>>) -> Box<dyn Tenant> {
        let estate = pool.arrive();
        Box::new(Self {
            before: estate.shelf.counters().snapshot(),
            estate,
            pool: Arc::downgrade(pool),
        })
    }
}

impl<P: Retention> Tenant for Lodger<P> {
    fn take(&mut self, now: State, class: Class, bytes: usize, zeroed: bool) -> Found<Words> {
        self.renew(now);
        let shelf = &mut self.estate.shelf;
        if !now.is_on() {
            shelf.counters().bypass();
            return Found::Bypass;
        }
        let found = shelf.request(class, bytes);
        if zeroed && !matches!(found, Found::Bypass) {
            shelf.counters().zeroed(bytes);
        }
        found
    }

    fn give(&mut self, lent: State, now: State, class: Class, words: Words) {
        self.renew(now);
        if lent == now {
            drop(self.estate.shelf.offer(class, words));
        } else {
            self.counters().refuse_unseen(Refusal::SwitchedOff);
        }
    }

    #[inline]
    fn renew(&mut self, now: State) {
        if self.estate.state != now {
            self.estate.state = now;
            drop(self.estate.shelf.clear());
        }
    }

    fn counters(&self) -> &Counters {
        self.estate.shelf.counters()
    }

    fn own(&self) -> Stats {
        self.counters().snapshot().since(&self.before)
    }

    fn is_orphan(&self) -> bool {
        self.pool.strong_count() == 0
    }

    fn close(self: Box<Self>) {
        if let Some(pool) = self.pool.upgrade() {
            pool.retire(self.estate);
        }
    }
}
