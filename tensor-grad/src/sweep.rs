//! The backward sweep.
//!
//! A node's turn comes when everyone who uses its value has contributed to its
//! gradient. Its op then takes that gradient by value and sends contributions to
//! the inputs; so an intermediate gradient is released, or becomes an input's,
//! the moment its last reader is done. Leaves' gradients leave the sweep and are
//! the caller's.
//!
//! The walk is a loop over flat lists: no recursion, so the stack it needs does
//! not depend on the graph. The order depends on the graph alone, so sums come
//! out with the same bits whatever the pools hold.

use grad_pool::Arena;

use crate::element::Element;
use crate::gradients::Gradients;
use crate::graph::NodeRef;
use crate::inputs::{Inputs, NONE};
use crate::pools::SWEEP;
use crate::scratch::Lists;
use crate::slot::{Buf, Held, Slot};

/// Sweeps the graph below `root`, whose gradient is what `seed` makes.
pub(crate) fn sweep(root: &NodeRef, seed: impl for<'a> FnOnce(&'a Arena) -> Slot<'a>) -> Gradients {
    let arena = SWEEP.arena();
    let mut lists = Lists::take();
    let Lists { plan, slots, ready } = &mut lists;
    plan.draw(root);
    slots.resize_with(plan.order.len(), || None);
    slots[0] = Some(seed(&arena));
    ready.push(0);
    let mut gradients = Gradients::new();
    while let Some(index) = ready.pop() {
        let at = index as usize;
        let node = plan.order[at];
        let gradient = slots[at].take();
        if node.leaf != 0 {
            if let Some(gradient) = gradient {
                gradients.push(node.leaf, gradient.into_held());
            }
            continue;
        }
        let edges = &plan.edges[plan.starts[at] as usize..plan.starts[at + 1] as usize];
        if let Some(gradient) = gradient {
            let mut inputs = Inputs {
                edges,
                parents: &node.parents,
                slots,
                arena: &arena,
            };
            node.op().sweep(gradient, &mut inputs);
        }
        for &edge in edges {
            if edge != NONE {
                let uses = &mut plan.uses[edge as usize];
                *uses -= 1;
                if *uses == 0 {
                    ready.push(edge);
                }
            }
        }
    }
    gradients.finish();
    lists.give_back();
    gradients
}

/// A gradient that did not come from a sweep.
pub(crate) fn held_copy<T: Element>(values: &[T]) -> Held {
    let arena = SWEEP.arena();
    let mut fresh = Buf::unspecified(&arena, values.len());
    fresh.copy_from_slice(values);
    T::into_slot(fresh).into_held()
}
