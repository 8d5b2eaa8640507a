//! The graph: nodes that remember how a value came about.
//!
//! A node owns its op (with whatever the op's backward will read) and its
//! parents; a tensor owns its node. Nothing points from parent to child, so a
//! graph lives exactly as long as some tensor needs it, and no longer.
//!
//! Invariants, and what upholds each:
//!
//! - A node is never changed after it is made, its mark apart: no `&mut` to a
//!   node leaves this file. Nodes may therefore be shared between threads.
//! - Dropping never recurses, whatever the length of the chain and whoever drops
//!   last: [`Node::drop`] hands its parents to a queue of this thread, and only
//!   the outermost drop on the thread empties the queue.
//! - Only leaves have a leaf number, and each has its own: [`Node::leaf`] draws
//!   it from a counter.

use core::cell::{Cell, RefCell};
use core::fmt::Debug;
use core::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

use crate::element::Element;
use crate::inputs::Inputs;
use crate::slot::{Buf, Slot, Slotted};

/// A shared handle on a node.
pub(crate) type NodeRef = Arc<Node>;

/// An op that was recorded, with what its backward reads.
///
/// There is no default: an op without a gradient does not compile. Its backward
/// must contribute to every input that [wants](Inputs::wants) a gradient.
pub(crate) trait Op: Debug + Send + Sync + 'static {
    /// The element type of the op's result.
    type Out: Element;

    /// Sends the gradient of the result on to the inputs.
    ///
    /// The op owns `gradient` and may reuse its buffer for an input.
    fn backward<'a>(&self, gradient: Buf<'a, Self::Out>, to: &mut Inputs<'_, 'a>);
}

/// [`Op`] with the element type folded away.
pub(crate) trait AnyOp: Debug + Send + Sync {
    /// Sends the gradient of the result on to the inputs.
    fn sweep<'a>(&self, gradient: Slot<'a>, to: &mut Inputs<'_, 'a>);
}

impl<O: Op> AnyOp for O {
    fn sweep<'a>(&self, gradient: Slot<'a>, to: &mut Inputs<'_, 'a>) {
        let gradient = O::Out::from_slot(gradient).expect("a slot has its node's element type");
        self.backward(gradient, to);
    }
}

/// A leaf: where gradients end.
#[derive(Debug)]
struct Leaf;

impl AnyOp for Leaf {
    fn sweep<'a>(&self, gradient: Slot<'a>, _: &mut Inputs<'_, 'a>) {
        drop(gradient);
    }
}

/// One value of the graph.
#[derive(Debug)]
pub(crate) struct Node<O: AnyOp + ?Sized = dyn AnyOp> {
    /// Which sweep is reading the graph here, and the node's index in it; see `plan.rs`.
    pub(crate) mark: AtomicU64,
    /// The leaf's number, 0 for a computed value.
    pub(crate) leaf: u64,
    /// How many elements the value has.
    pub(crate) len: usize,
    /// The op's inputs, `None` for those that need no gradient.
    pub(crate) parents: SmallVec<[Option<NodeRef>; 3]>,
    op: O,
}

impl Node {
    /// Makes a leaf of `len` elements.
    pub(crate) fn leaf(len: usize) -> NodeRef {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Arc::new(Node {
            mark: AtomicU64::new(0),
            leaf: NEXT.fetch_add(1, Ordering::Relaxed),
            len,
            parents: SmallVec::new(),
            op: Leaf,
        })
    }

    /// Records an op whose result has `len` elements.
    pub(crate) fn computed<O: Op>(
        len: usize,
        parents: SmallVec<[Option<NodeRef>; 3]>,
        op: O,
    ) -> NodeRef {
        Arc::new(Node {
            mark: AtomicU64::new(0),
            leaf: 0,
            len,
            parents,
            op,
        })
    }

    /// The op that made this node's value.
    pub(crate) fn op(&self) -> &dyn AnyOp {
        &self.op
    }
}

/// Nodes that this thread has still to let go of.
struct Doomed {
    nodes: RefCell<Vec<NodeRef>>,
    busy: Cell<bool>,
}

/// A queue that grew past this is given back to the allocator when it is empty.
const KEPT: usize = 1 << 16;

thread_local! {
    static DOOMED: Doomed = const {
        Doomed {
            nodes: RefCell::new(Vec::new()),
            busy: Cell::new(false),
        }
    };
}

impl<O: AnyOp + ?Sized> Drop for Node<O> {
    fn drop(&mut self) {
        if self.parents.is_empty() {
            return;
        }
        let parents = mem::take(&mut self.parents);
        let mut parents = Some(parents);
        // Err means that this thread is ending and its queue is gone.
        let queued = DOOMED.try_with(|doomed| {
            if let Some(parents) = parents.take() {
                doomed
                    .nodes
                    .borrow_mut()
                    .extend(parents.into_iter().flatten());
            }
            if doomed.busy.replace(true) {
                return;
            }
            loop {
                // The borrow ends before the node drops, which comes back here.
                let next = doomed.nodes.borrow_mut().pop();
                match next {
                    Some(node) => drop(node),
                    None => break,
                }
            }
            let mut nodes = doomed.nodes.borrow_mut();
            if nodes.capacity() > KEPT {
                *nodes = Vec::new();
            }
            doomed.busy.set(false);
        });
        if queued.is_err()
            && let Some(parents) = parents
        {
            unlink(parents.into_iter().flatten().collect());
        }
    }
}

/// Lets go of nodes without the thread's queue: takes a node's parents away before it drops.
fn unlink(mut doomed: Vec<NodeRef>) {
    while let Some(mut node) = doomed.pop() {
        if let Some(alone) = Arc::get_mut(&mut node) {
            doomed.extend(mem::take(&mut alone.parents).into_iter().flatten());
        }
    }
}
