//! A sweep's order, stack and marks, recycled.
//!
//! A sweep that walks a graph iteratively needs three lists that grow with the graph. An engine
//! keeps one [`ScratchPool`] for its kind of node handle and borrows a [`SweepScratch`] for each
//! sweep; after the first few sweeps its lists have grown and the walk allocates nothing.
//!
//! - An idle scratch pins no node: the guard empties every list before it goes back, however the
//!   sweep ended.
//! - One huge graph does not pin memory for ever: lists that hold or have room for more than 2^16
//!   nodes are dropped with the guard.
//! - Handles are dropped while the lock is open: the drop of a graph's last handle may take long
//!   and may itself begin a sweep.

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};

use pool_core::sync::Mutex;
use rustc_hash::FxHashSet;

/// Nodes up to which lists are kept.
const MOST_NODES: usize = 1 << 16;

/// Scratches that may wait in one pool; as many sweeps at once are served without allocation.
const SPARES: usize = 16;

/// The lists of one sweep over nodes with handles `N`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SweepScratch<N> {
    /// The topological order.
    pub order: Vec<N>,
    /// The walk's stack: a node, and how many of its inputs were visited.
    pub stack: Vec<(N, usize)>,
    /// Numbers of the nodes that were seen, for engines that do not mark the nodes themselves.
    pub seen: FxHashSet<usize>,
}

impl<N> Default for SweepScratch<N> {
    /// Empty lists.
    fn default() -> Self {
        Self {
            order: Vec::new(),
            stack: Vec::new(),
            seen: FxHashSet::default(),
        }
    }
}

impl<N> SweepScratch<N> {
    /// Empties every list, and keeps their memory.
    pub fn clear(&mut self) {
        self.order.clear();
        self.stack.clear();
        self.seen.clear();
    }

    /// Whether the lists are small enough to be kept.
    fn is_modest(&self) -> bool {
        // A set grows in powers of two and is never full: 2^16 numbers make room for 7/4 × 2^16,
        // so its length is asked too.
        self.order.capacity() <= MOST_NODES
            && self.stack.capacity() <= MOST_NODES
            && self.seen.len() <= MOST_NODES
            && self.seen.capacity() < 2 * MOST_NODES
    }
}

/// Recycled [`SweepScratch`]es, shared by any number of threads.
///
/// It is a value: an engine keeps it beside its [`GradPool`](crate::GradPool), as in a static. It
/// is `Sync` if the handles are `Send`.
///
/// # Examples
///
/// A depth-first walk without recursion:
///
/// ```
/// use std::sync::Arc;
/// use grad_pool::ScratchPool;
///
/// struct Node { inputs: Vec<Arc<Node>> }
///
/// let scratches = ScratchPool::<Arc<Node>>::default();
/// let leaf = Arc::new(Node { inputs: vec![] });
/// let root = Arc::new(Node { inputs: vec![leaf.clone(), leaf.clone()] });
///
/// let mut sweep = scratches.take();
/// let sweep = &mut *sweep;
/// sweep.stack.push((root.clone(), 0));
/// while let Some((node, next)) = sweep.stack.pop() {
///     if next == 0 && !sweep.seen.insert(Arc::as_ptr(&node) as usize) {
///         continue;
///     }
///     if let Some(input) = node.inputs.get(next).cloned() {
///         sweep.stack.push((node, next + 1));
///         sweep.stack.push((input, 0));
///     } else {
///         sweep.order.push(node);
///     }
/// }
/// assert_eq!(sweep.order.len(), 2);
/// ```
pub struct ScratchPool<N> {
    spare: Mutex<Vec<SweepScratch<N>>>,
}

impl<N> Default for ScratchPool<N> {
    /// A pool that holds nothing yet, and never more than 16 scratches.
    fn default() -> Self {
        Self {
            spare: Mutex::new(Vec::new()),
        }
    }
}

impl<N> ScratchPool<N> {
    /// Borrows a scratch with empty lists.
    #[must_use]
    pub fn take(&self) -> Scratch<'_, N> {
        let spare = self.spare.lock().pop();
        Scratch {
            scratch: spare.unwrap_or_default(),
            pool: self,
        }
    }
}

impl<N> fmt::Debug for ScratchPool<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScratchPool")
            .field("spare", &self.spare.lock().len())
            .finish()
    }
}

/// A borrowed [`SweepScratch`]. Dropping it empties the lists and returns them.
pub struct Scratch<'p, N> {
    scratch: SweepScratch<N>,
    pool: &'p ScratchPool<N>,
}

impl<N> Deref for Scratch<'_, N> {
    type Target = SweepScratch<N>;

    #[inline]
    fn deref(&self) -> &SweepScratch<N> {
        &self.scratch
    }
}

impl<N> DerefMut for Scratch<'_, N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut SweepScratch<N> {
        &mut self.scratch
    }
}

impl<N> Drop for Scratch<'_, N> {
    fn drop(&mut self) {
        let modest = self.scratch.is_modest();
        self.scratch.clear();
        let mut surplus = Some(mem::take(&mut self.scratch));
        if modest {
            let mut spare = self.pool.spare.lock();
            if spare.len() < SPARES {
                spare.extend(surplus.take());
            }
        }
        drop(surplus);
    }
}

impl<N> fmt::Debug for Scratch<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch")
            .field("order", &self.order.len())
            .field("stack", &self.stack.len())
            .field("seen", &self.seen.len())
            .finish()
    }
}

/// Empties a list and gives its memory to a list of another element type.
///
/// This is for lists whose element type borrows from the sweep, as one of pending
/// [`Grad`](crate::Grad)s does: between sweeps keep it under some other lifetime, empty. The
/// memory is reused where std collects in place, which it does for element types of one size and
/// alignment; else this is an empty list.
///
/// # Examples
///
/// ```
/// use grad_pool::{Arena, Grad, emptied};
///
/// let mut idle: Vec<Option<Grad<'static, f32>>> = Vec::new();
/// for _sweep in 0..2 {
///     let arena = grad_pool::global().arena();
///     let mut pending = emptied(std::mem::take(&mut idle));
///     pending.push(Some(arena.zeroed::<f32>(3)));
///     idle = emptied(pending);
/// }
/// assert!(idle.is_empty() && idle.capacity() > 0);
/// ```
#[must_use]
pub fn emptied<A, B>(mut list: Vec<A>) -> Vec<B> {
    list.clear();
    list.into_iter()
        .map(|_| unreachable!("an empty list has no element"))
        .collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn an_idle_scratch_pins_no_node() {
        let pool = ScratchPool::default();
        let node = Arc::new(());
        {
            let mut scratch = pool.take();
            scratch.order.push(Arc::clone(&node));
            scratch.stack.push((Arc::clone(&node), 0));
            scratch.seen.insert(7);
        }
        assert_eq!(Arc::strong_count(&node), 1);
        let scratch = pool.take();
        assert!(scratch.order.is_empty() && scratch.stack.is_empty() && scratch.seen.is_empty());
        assert!(scratch.order.capacity() > 0, "the lists were not recycled");
    }

    #[test]
    fn a_sweep_that_panics_leaves_an_empty_scratch() {
        let pool = ScratchPool::default();
        let node = Arc::new(());
        let sweep = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut scratch = pool.take();
            scratch.order.push(Arc::clone(&node));
            panic!("in the middle of the sweep");
        }));
        assert!(sweep.is_err());
        assert_eq!(Arc::strong_count(&node), 1);
        assert!(pool.take().order.is_empty());
    }

    #[test]
    #[cfg_attr(
        miri,
        ignore = "131,072 nodes take minutes, and nothing here is unsafe"
    )]
    fn lists_are_kept_up_to_65536_nodes_and_dropped_past_them() {
        let capacity_after = |nodes: usize| {
            let pool = ScratchPool::default();
            let mut scratch = pool.take();
            for node in 0..nodes {
                scratch.order.push(node);
                scratch.stack.push((node, 0));
                scratch.seen.insert(node);
            }
            drop(scratch);
            pool.take().order.capacity()
        };
        assert_eq!(capacity_after(MOST_NODES), MOST_NODES);
        assert_eq!(capacity_after(MOST_NODES + 1), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "65,537 nodes take minutes, and nothing here is unsafe")]
    fn each_list_alone_is_kept_to_the_last_node_and_drops_them_all_past_it() {
        for (list, nodes) in (0..3).flat_map(|list| [(list, MOST_NODES), (list, MOST_NODES + 1)]) {
            let pool = ScratchPool::<usize>::default();
            let mut scratch = pool.take();
            scratch.order.push(1);
            match list {
                0 => scratch.order.reserve_exact(nodes - 1),
                1 => scratch.stack.reserve_exact(nodes),
                _ => scratch.seen.extend(0..nodes),
            }
            drop(scratch);
            let kept = pool.take().order.capacity() > 0;
            assert_eq!(kept, nodes == MOST_NODES, "list {list}, {nodes} nodes");
        }
    }

    #[test]
    fn a_set_with_too_much_room_is_dropped_though_it_was_emptied() {
        let pool = ScratchPool::<usize>::default();
        let mut scratch = pool.take();
        scratch.seen.reserve(2 * MOST_NODES);
        drop(scratch);
        assert_eq!(pool.take().seen.capacity(), 0);
    }

    #[test]
    fn a_node_dies_with_its_last_owner_though_a_scratch_that_saw_it_is_idle() {
        /// A handle of an engine's own, which counts nothing by itself.
        #[derive(Clone)]
        struct Handle(Rc<Cell<u32>>);

        impl Drop for Handle {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }

        let pool = ScratchPool::default();
        let dropped = Rc::new(Cell::new(0));
        let node = Rc::new(Handle(Rc::clone(&dropped)));
        let watch = Rc::downgrade(&node);
        for sweep in 0..3 {
            let mut scratch = pool.take();
            assert!(
                scratch.order.is_empty() && scratch.stack.is_empty(),
                "sweep {sweep}"
            );
            scratch.order.push(Rc::clone(&node));
            scratch.stack.push((Rc::clone(&node), 1));
        }
        assert_eq!((Rc::strong_count(&node), dropped.get()), (1, 0));
        drop(node);
        assert!(watch.upgrade().is_none(), "the idle scratch pins it");
        assert_eq!(dropped.get(), 1);
        assert_eq!(pool.spare.lock().len(), 1, "and it is idle, not gone");
    }

    #[test]
    fn a_handle_whose_drop_begins_a_sweep_finds_the_lock_open() {
        struct Sweeps(Arc<ScratchPool<Self>>);

        impl Drop for Sweeps {
            fn drop(&mut self) {
                assert!(self.0.take().order.is_empty());
            }
        }

        let pool = Arc::<ScratchPool<Sweeps>>::default();
        // More than may wait, so that some are given up as well.
        let out: Vec<_> = (0..SPARES + 3)
            .map(|_| {
                let mut scratch = pool.take();
                scratch.order.push(Sweeps(Arc::clone(&pool)));
                scratch
            })
            .collect();
        drop(out);
        assert_eq!(pool.spare.lock().len(), SPARES);
    }

    #[test]
    fn no_more_than_so_many_scratches_wait() {
        let pool = ScratchPool::<usize>::default();
        let out: Vec<_> = (0..SPARES + 3).map(|_| pool.take()).collect();
        drop(out);
        assert_eq!(pool.spare.lock().len(), SPARES);
    }

    #[test]
    fn a_list_hands_its_memory_to_a_list_of_another_lifetime() {
        let list: Vec<Option<&'static str>> = Vec::with_capacity(100);
        let pointer = list.as_ptr().addr();
        let other: Vec<Option<&str>> = emptied(list);
        assert_eq!((other.as_ptr().addr(), other.capacity()), (pointer, 100));
    }
}
