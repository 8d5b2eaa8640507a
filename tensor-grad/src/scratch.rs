//! The flat lists of a sweep, recycled from one sweep of a thread to its next.
//!
//! Between sweeps the lists are empty, so they pin no graph; their element types
//! borrow from the sweep, so they are kept under the lifetime `'static`, by
//! [`grad_pool::emptied`], which hands a list's memory on without its elements.
//! Lists that grew past 2^16 nodes are freed. A sweep inside a sweep finds none
//! and makes its own.

use core::cell::Cell;

use grad_pool::emptied;

use crate::plan::Plan;
use crate::slot::Slot;

/// Nodes up to which lists are kept.
const KEPT: usize = 1 << 16;

/// What one sweep writes down.
#[derive(Debug)]
pub(crate) struct Lists<'g, 'a> {
    /// The reachable graph.
    pub(crate) plan: Plan<'g>,
    /// Each node's gradient so far.
    pub(crate) slots: Vec<Option<Slot<'a>>>,
    /// Nodes whose gradient is complete.
    pub(crate) ready: Vec<u32>,
}

thread_local! {
    static SPARE: Cell<Lists<'static, 'static>> = const { Cell::new(Lists::NEW) };
}

impl Lists<'_, '_> {
    const NEW: Self = Self {
        plan: Plan::NEW,
        slots: Vec::new(),
        ready: Vec::new(),
    };

    /// The thread's lists, or new ones.
    pub(crate) fn take() -> Self {
        // Err means that this thread is ending.
        SPARE
            .try_with(|spare| spare.replace(Lists::NEW).emptied())
            .unwrap_or(Self::NEW)
    }

    /// Gives the memory back to the thread.
    pub(crate) fn give_back(self) {
        let plan = &self.plan;
        if plan.order.capacity() <= KEPT && plan.edges.capacity() <= 2 * KEPT {
            let lists = self.emptied();
            let _ = SPARE.try_with(move |spare| spare.set(lists));
        }
    }

    /// The same memory, without contents, for another sweep.
    fn emptied<'g, 'a>(self) -> Lists<'g, 'a> {
        Lists {
            plan: Plan {
                order: emptied(self.plan.order),
                starts: emptied(self.plan.starts),
                edges: emptied(self.plan.edges),
                uses: emptied(self.plan.uses),
            },
            slots: emptied(self.slots),
            ready: emptied(self.ready),
        }
    }
}
