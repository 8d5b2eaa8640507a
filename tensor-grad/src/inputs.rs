//! Where an op's backward leaves its contributions.
//!
//! A gradient is folded in place: the first contribution to an input *becomes*
//! its gradient, by moving a buffer there or by writing into a fresh one; later
//! contributions are added. An op never sees which of the two happens: it hands
//! over a buffer, or a kernel that can both assign and add.
//!
//! No two inputs ever share a buffer, because a buffer has one owner: an op that
//! wants to give its incoming gradient to two inputs must copy it for one.

use grad_pool::Arena;

use crate::array::Array;
use crate::element::Element;
use crate::graph::NodeRef;
use crate::kernel::Mode;
use crate::kernel::fold::{Operand, fold, fold_down};
use crate::kernel::map::{put1, put2, update0, update1};
use crate::shape::{broadcast_strides, row_major};
use crate::slot::{Buf, Slot};

/// In an edge list: an input that needs no gradient.
pub(crate) const NONE: u32 = u32::MAX;

/// The inputs of the op whose backward is running.
pub(crate) struct Inputs<'s, 'a> {
    /// Indices of the inputs' slots.
    pub(crate) edges: &'s [u32],
    /// The inputs' nodes.
    pub(crate) parents: &'s [Option<NodeRef>],
    /// Every slot of the sweep.
    pub(crate) slots: &'s mut [Option<Slot<'a>>],
    /// Where buffers come from.
    pub(crate) arena: &'a Arena,
}

impl<'a> Inputs<'_, 'a> {
    /// Whether input `i` needs a gradient.
    #[inline]
    pub(crate) fn wants(&self, i: usize) -> bool {
        self.edges.get(i).is_some_and(|&edge| edge != NONE)
    }

    /// How many elements input `i` has; 0 if it needs no gradient.
    fn len(&self, i: usize) -> usize {
        self.parents
            .get(i)
            .and_then(Option::as_ref)
            .map_or(0, |node| node.len)
    }

    /// The gradient that input `i` has so far; `None` inside if it has none.
    #[inline]
    fn slot(&mut self, i: usize) -> Option<&mut Option<Slot<'a>>> {
        match self.edges.get(i) {
            Some(&edge) if edge != NONE => self.slots.get_mut(edge as usize),
            _ => None,
        }
    }

    /// Hands a buffer to input `i`: it becomes the gradient, or is added to it.
    pub(crate) fn give<T: Element>(&mut self, i: usize, gradient: Buf<'a, T>) {
        let Some(slot) = self.slot(i) else { return };
        match slot {
            None => *slot = Some(T::into_slot(gradient)),
            Some(slot) => {
                let sum = T::slot_mut(slot).expect("a slot has its node's element type");
                put1(sum, Mode::Add, &gradient, |g| g);
            }
        }
    }

    /// Runs a kernel that writes, or adds to, every element of input `i`'s gradient.
    pub(crate) fn put<T: Element>(&mut self, i: usize, kernel: impl FnOnce(&mut [T], Mode)) {
        let (arena, len) = (self.arena, self.len(i));
        let Some(slot) = self.slot(i) else { return };
        if let Some(slot) = slot {
            let sum = T::slot_mut(slot).expect("a slot has its node's element type");
            kernel(sum, Mode::Add);
        } else {
            let mut fresh = Buf::unspecified(arena, len);
            kernel(&mut fresh, Mode::Assign);
            *slot = Some(T::into_slot(fresh));
        }
    }

    /// Runs a kernel that adds to input `i`'s gradient, which is zero at first.
    pub(crate) fn add<T: Element>(&mut self, i: usize, kernel: impl FnOnce(&mut [T])) {
        let (arena, len) = (self.arena, self.len(i));
        let Some(slot) = self.slot(i) else { return };
        if let Some(slot) = slot {
            kernel(T::slot_mut(slot).expect("a slot has its node's element type"));
        } else {
            let mut fresh = Buf::zeroed(arena, len);
            kernel(&mut fresh);
            *slot = Some(T::into_slot(fresh));
        }
    }

    /// Contributes `f(g, x)` for every element, in `gradient`'s own buffer where that is the first contribution.
    pub(crate) fn pull<T: Element, X: Copy>(
        &mut self,
        i: usize,
        mut gradient: Buf<'a, T>,
        x: &[X],
        f: impl Fn(T, X) -> T,
    ) {
        let Some(slot) = self.slot(i) else { return };
        if let Some(slot) = slot {
            let sum = T::slot_mut(slot).expect("a slot has its node's element type");
            put2(sum, Mode::Add, (&gradient, x), f);
        } else {
            update1(&mut gradient, x, f);
            *slot = Some(T::into_slot(gradient));
        }
    }

    /// Contributes `f(g, x)` for every element of an op whose operands were broadcast.
    ///
    /// `shapes` are the input's and the result's, `None` if they are `x`'s; `x` is
    /// broadcast to the result's shape too.
    pub(crate) fn spread<T: Element, X: Element>(
        &mut self,
        i: usize,
        shapes: Option<(&[usize], &[usize])>,
        gradient: &[T],
        x: &Array<X>,
        f: impl Fn(T, X) -> T + Copy,
    ) {
        if !self.wants(i) {
            return;
        }
        if let Some(x) = x.as_slice()
            && x.len() == gradient.len()
            && self.len(i) == gradient.len()
        {
            return self.put(i, |dst, mode| put2(dst, mode, (gradient, x), f));
        }
        let (shape, out) = shapes.unwrap_or((x.shape(), x.shape()));
        let into = broadcast_strides(shape, &row_major(shape), out);
        let strides = row_major(out);
        let (data, offset) = x.raw();
        let x_strides = broadcast_strides(x.shape(), x.strides(), out);
        self.add(i, |dst| {
            let g = Operand::new(gradient, &strides, 0);
            let x = Operand::new(data, &x_strides, offset);
            fold(dst, &into, out, g, x, f);
        });
    }

    /// Contributes `f(g)` for every element, summed over the axes that were broadcast.
    pub(crate) fn unspread<T: Element>(
        &mut self,
        i: usize,
        shapes: Option<(&[usize], &[usize])>,
        gradient: &[T],
        f: impl Fn(T) -> T + Copy,
    ) {
        match shapes {
            Some((shape, out)) if self.len(i) != gradient.len() => {
                self.add(i, |dst| fold_down(dst, shape, out, gradient, f));
            }
            _ => self.put(i, |dst, mode| put1(dst, mode, gradient, f)),
        }
    }

    /// Contributes `f(g)` for every element, in `gradient`'s own buffer where it can.
    pub(crate) fn pass<T: Element>(
        &mut self,
        i: usize,
        shapes: Option<(&[usize], &[usize])>,
        mut gradient: Buf<'a, T>,
        f: impl Fn(T) -> T + Copy,
    ) {
        let same = self.len(i) == gradient.len();
        match self.slot(i) {
            Some(slot @ None) if same => {
                update0(&mut gradient, f);
                *slot = Some(T::into_slot(gradient));
            }
            _ => self.unspread(i, shapes, &gradient, f),
        }
    }
}
