//! Where threads leave their surplus for threads that lack it.
//!
//! A thread that only returns what another one borrowed would keep buffers that nobody asks it
//! for, while the other allocates for ever. A [`Depot`] is one shelf behind one lock between them.
//! Buffers go through it in batches, so that a thread takes the lock once for [`BATCH`] of them.
//!
//! - A thread comes here only with a surplus, or when its own shelf has nothing: a program whose
//!   threads return what they borrow never takes the lock.
//! - What is freed is freed while the lock is open.
//! - No buffer is from before a clear or a switch: the switch is read under the lock, and whoever
//!   turns it then takes the lock to free what is here.

use std::sync::Arc;

use pool_core::sync::Mutex;
use pool_core::{Block, Counters, ElementClass, Exact, Retention, State, Switch};

use crate::tenant::Shelf;

/// Buffers that change hands under one lock.
///
/// What becomes of a buffer that is dropped on another thread was decided by measurement
/// (`cargo xtask bench pools --filter tls/producer`, 8 KiB, per buffer, the channel's own cost
/// included, least times). Kept by the thread that drops it, none comes back and the borrower pays
/// for an allocation: 570 to 620 ns. A lock-free queue as the whole pool, to which every buffer is
/// sent home: 55 to 90. Through this depot, by 16, 32 and 64 at a time: 137, 107 to 124, 123. Medians
/// of the last two vary by a third and lie on either side of each other; of them all only the
/// depot costs a program nothing whose threads return what they borrow.
pub(crate) const BATCH: usize = 32;

/// A shelf between the threads of one pool.
pub(crate) struct Depot<P> {
    stock: Mutex<Stock<P>>,
    counters: Arc<Counters>,
}

struct Stock<P> {
    shelf: Shelf<P>,
    state: State,
}

impl<P: Retention> Depot<P> {
    pub(crate) fn new(policy: P, now: State) -> Self {
        let shelf = Shelf::new(policy, Exact::default());
        Self {
            counters: Arc::clone(shelf.counters()),
            stock: Mutex::new(Stock { shelf, state: now }),
        }
    }

    /// Takes over buffers of one class that a thread had kept in the state `since`. What is not
    /// kept stays in `batch` or comes into it, to be freed.
    pub(crate) fn take_in(
        &self,
        switch: &Switch,
        since: State,
        class: ElementClass,
        batch: &mut Vec<Block>,
    ) {
        let mut given_up = Vec::new();
        {
            let mut stock = self.stock.lock();
            stock.renew(switch.state(), &mut given_up);
            if stock.state == since {
                stock
                    .shelf
                    .take_over(class, batch, |block| given_up.push(block));
            } else {
                stock.shelf.counters().clear(batch.len());
            }
        }
        batch.append(&mut given_up);
    }

    /// Hands out up to `most` buffers of one class to a thread whose state is `since`.
    pub(crate) fn hand_out(
        &self,
        switch: &Switch,
        since: State,
        class: ElementClass,
        most: usize,
        batch: &mut Vec<Block>,
    ) {
        let mut given_up = Vec::new();
        {
            let mut stock = self.stock.lock();
            stock.renew(switch.state(), &mut given_up);
            if stock.state == since {
                stock.shelf.withdraw(class, most, batch);
            }
        }
        drop(given_up);
    }

    /// Frees what is from before the switch's state.
    pub(crate) fn renew(&self, switch: &Switch) {
        let mut given_up = Vec::new();
        self.stock.lock().renew(switch.state(), &mut given_up);
        drop(given_up);
    }

    /// What was counted and is held here, to be read without the lock.
    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}

impl<P: Retention> Stock<P> {
    fn renew(&mut self, now: State, given_up: &mut Vec<Block>) {
        if self.state != now {
            self.state = now;
            let held = self.shelf.held().buffers;
            self.shelf.counters().clear(held);
            given_up.extend(self.shelf.drain().map(|(_, block)| block));
        }
    }
}
