//! One thread's shelf of one pool.
//!
//! A [`Lodger`] is a shelf with what ties it to its thread and its pool. The thread's table does
//! not know policies, so it holds it as a [`Tenant`].
//!
//! - No thread serves a hit from before the pool was cleared or switched: each call brings the
//!   state of the switch, and a shelf that remembers another one is emptied first.
//! - A buffer that was out meanwhile is freed: its guard brings the state in which it was lent.
//! - A shelf does not keep its pool alive: it holds a [`Weak`].

use std::any::TypeId;
use std::sync::{Arc, Weak};

use pool_core::{Counters, Exact, Found, Refusal, Retention, State, Stats, Words};

use crate::pool::{Contents, Shared};
use crate::table::Tenant;

/// Element type and number of elements.
pub(crate) type Class = (TypeId, usize);

/// One thread's buffers of one pool.
pub(crate) type Shelf<P> = pool_core::Shelf<Class, Words, P, Exact<Class>>;

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
    #[cold]
    pub(crate) fn arrive(pool: &Arc<Shared<P>>) -> Self {
        let estate = pool.arrive();
        Self {
            before: estate.shelf.counters().snapshot(),
            estate,
            pool: Arc::downgrade(pool),
        }
    }

    /// Looks for a buffer whose borrower is promised such `contents`, and hands it to `take`.
    #[expect(
        clippy::inline_always,
        reason = "out of line, the buffer goes through memory"
    )]
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        now: State,
        class: Class,
        bytes: usize,
        contents: Contents,
        take: impl FnOnce(Words),
    ) -> Found<()> {
        self.renew(now);
        let shelf = &mut self.estate.shelf;
        if !now.is_on() {
            shelf.counters().bypass();
            return Found::Bypass;
        }
        let found = shelf.request_with(class, bytes, take);
        if contents == Contents::Zeroed && !matches!(found, Found::Bypass) {
            shelf.counters().zeroed(bytes);
        }
        found
    }

    /// Takes back a buffer of `bytes` of capacity that was lent in the state `lent`. It is moved
    /// only if it is kept.
    #[expect(
        clippy::inline_always,
        reason = "out of line, the buffer goes through memory"
    )]
    #[inline(always)]
    pub(crate) fn give(
        &mut self,
        lent: State,
        now: State,
        class: Class,
        bytes: usize,
        words: impl FnOnce() -> Words,
    ) {
        self.renew(now);
        if lent == now {
            // What is refused is the caller's, who frees it.
            let _kept = self.estate.shelf.offer_with(class, bytes, words, drop);
        } else {
            self.counters().refuse_unseen(Refusal::SwitchedOff);
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
    fn begin_anew(&mut self, now: State) {
        self.estate.state = now;
        drop(self.estate.shelf.clear());
    }

    /// The shelf's counters; this thread is their one writer.
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

    fn close(self: Box<Self>) {
        if let Some(pool) = self.pool.upgrade() {
            pool.retire(self.estate);
        }
    }
}
