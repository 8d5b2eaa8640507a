//! What a sweep needs to know of a graph before it starts: who is reachable, and from where.
//!
//! Nodes get indices in the order in which they are found from the root, breadth
//! first. To know whether a node was seen, it is marked with the sweep's number
//! and its index: a hash table would cost more than most ops.
//!
//! Two sweeps may read one graph at the same time. A mark belongs to whoever
//! turned it from 0, until that sweep has finished planning and puts 0 back; a
//! sweep that meets another's mark keeps the node in a table of its own instead.
//! So: a mark with my number was set by me; and a node that is neither marked by
//! me nor in my table has not been seen by me.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::graph::Node;
use crate::inputs::NONE;

/// The reachable part of a graph, in flat lists that a later plan reuses.
#[derive(Debug)]
pub(crate) struct Plan<'g> {
    /// The nodes by index; the root is first.
    pub(crate) order: Vec<&'g Node>,
    /// Where each node's inputs start in `edges`; one more at the end.
    pub(crate) starts: Vec<u32>,
    /// The indices of the nodes' inputs, [`NONE`] for those without a gradient.
    pub(crate) edges: Vec<u32>,
    /// How many edges of reachable nodes lead to each node.
    pub(crate) uses: Vec<u32>,
}

/// A plan under construction: clears its marks when it ends, even by a panic.
struct Planner<'p, 'g> {
    sweep: u64,
    plan: &'p mut Plan<'g>,
    /// Nodes that another sweep has marked, by address.
    elsewhere: HashMap<*const (), u32>,
}

impl<'g> Plan<'g> {
    /// Nothing yet.
    pub(crate) const NEW: Self = Self {
        order: Vec::new(),
        starts: Vec::new(),
        edges: Vec::new(),
        uses: Vec::new(),
    };

    /// Finds everything that `root` depends on.
    pub(crate) fn draw(&mut self, root: &'g Node) {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let mut number = NEXT.fetch_add(1, Ordering::Relaxed);
        while number == 0 {
            number = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        debug_assert!(self.order.is_empty() && self.edges.is_empty());
        let mut planner = Planner {
            sweep: u64::from(number) << 32,
            plan: self,
            elsewhere: HashMap::new(),
        };
        planner.visit(root);
        let mut at = 0;
        while let Some(&node) = planner.plan.order.get(at) {
            at += 1;
            let start = index(planner.plan.edges.len());
            planner.plan.starts.push(start);
            for parent in &node.parents {
                let edge = match parent {
                    None => NONE,
                    Some(parent) => {
                        let edge = planner.visit(parent);
                        planner.plan.uses[edge as usize] += 1;
                        edge
                    }
                };
                planner.plan.edges.push(edge);
            }
        }
        let end = index(planner.plan.edges.len());
        planner.plan.starts.push(end);
    }
}

/// An index in 32 bits.
fn index(count: usize) -> u32 {
    // A node takes more than 100 bytes, so that many do not fit any memory of today.
    u32::try_from(count)
        .ok()
        .filter(|&index| index != NONE)
        .expect("a graph of fewer than 2^32 edges")
}

impl<'g> Planner<'_, 'g> {
    /// Returns the node's index, a new one if this is its first visit.
    fn visit(&mut self, node: &'g Node) -> u32 {
        let mark = node.mark.load(Ordering::Relaxed);
        if mark & !0xffff_ffff == self.sweep {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the lower half of a mark is the index"
            )]
            return mark as u32;
        }
        let address = core::ptr::from_ref(node).cast::<()>();
        if !self.elsewhere.is_empty()
            && let Some(&index) = self.elsewhere.get(&address)
        {
            return index;
        }
        let index = index(self.plan.order.len());
        let claimed = node.mark.compare_exchange(
            0,
            self.sweep | u64::from(index),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if claimed.is_err() {
            self.elsewhere.insert(address, index);
        }
        self.plan.order.push(node);
        self.plan.uses.push(0);
        index
    }
}

impl Drop for Planner<'_, '_> {
    fn drop(&mut self) {
        for node in &self.plan.order {
            // Marks of other sweeps are theirs to clear.
            if node.mark.load(Ordering::Relaxed) & !0xffff_ffff == self.sweep {
                node.mark.store(0, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    use super::*;

    #[test]
    fn a_node_marked_by_another_sweep_is_still_found_once() {
        let x = Tensor::leaf(Array::scalar(1.0_f64));
        let y = x.try_mul(&x).unwrap();
        let z = y.try_add(&x).unwrap();
        let node = |t: &Tensor<f64>| std::sync::Arc::clone(t.node().unwrap());
        let (x, y, z) = (node(&x), node(&y), node(&z));
        for foreign in [&x, &y, &z] {
            // What another sweep that is in the middle of planning leaves.
            foreign.mark.store(u64::MAX, Ordering::Relaxed);
            let mut plan = Plan::NEW;
            plan.draw(&z);
            assert_eq!(plan.order.len(), 3);
            assert_eq!(plan.edges, [1, 2, 2, 2]);
            assert_eq!(plan.uses, [0, 1, 3]);
            assert_eq!(foreign.mark.load(Ordering::Relaxed), u64::MAX);
            foreign.mark.store(0, Ordering::Relaxed);
        }
        for node in [&x, &y, &z] {
            assert_eq!(node.mark.load(Ordering::Relaxed), 0);
        }
    }
}
