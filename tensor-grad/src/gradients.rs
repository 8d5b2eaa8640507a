//! What a sweep returns: the gradients of the leaves.
//!
//! [`Gradients`] owns them. A later sweep never writes into them, and their
//! buffers go home to the pool when it drops, unless [`Gradients::take`] takes
//! them out for good. Lookup is by the leaf itself.

use core::cell::Cell;
use core::mem;

use crate::array::Array;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::slot::Held;
use crate::tensor::Tensor;

/// The gradients of the leaves that one sweep reached.
///
/// For `PyTorch`'s other convention, gradients that accumulate over several
/// sweeps, add them up with [`get_mut`](Self::get_mut).
///
/// # Examples
///
/// ```
/// use tensor_grad::{Array, Tensor};
///
/// let x = Tensor::leaf(Array::from_vec(&[2], vec![3.0_f64, -1.0])?);
/// let unused = Tensor::leaf(Array::scalar(0.0_f64));
/// let mut gradients = (&x * &x).sum().backward()?;
/// assert_eq!(gradients.get(&x), Some(&[6.0, -2.0][..]));
/// assert_eq!(gradients.get(&unused), None);
/// // For good, as an array in the leaf's shape.
/// assert_eq!(gradients.take(&x).unwrap().shape(), [2]);
/// assert_eq!(gradients.get(&x), None);
/// # Ok::<(), tensor_grad::Error>(())
/// ```
#[derive(Debug)]
pub struct Gradients {
    /// Sorted by the leaf's number once the sweep is done.
    entries: Vec<(u64, Option<Held>)>,
}

/// A list longer than this is not kept for the thread's next sweep.
const KEPT: usize = 1 << 16;

thread_local! {
    /// The emptied list of this thread's last `Gradients`.
    static SPARE: Cell<Vec<(u64, Option<Held>)>> = const { Cell::new(Vec::new()) };
}

impl Gradients {
    pub(crate) fn new() -> Self {
        Self {
            entries: SPARE.try_with(Cell::take).unwrap_or_default(),
        }
    }

    pub(crate) fn push(&mut self, leaf: u64, gradient: Held) {
        self.entries.push((leaf, Some(gradient)));
    }

    pub(crate) fn finish(&mut self) {
        self.entries.sort_unstable_by_key(|&(leaf, _)| leaf);
    }

    fn position<T: Element>(&self, tensor: &Tensor<T>) -> Option<usize> {
        let leaf = tensor.leaf_number()?;
        self.entries
            .binary_search_by_key(&leaf, |&(leaf, _)| leaf)
            .ok()
    }

    /// Returns the number of leaves that have a gradient here.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries
            .iter()
            .filter(|(_, held)| held.is_some())
            .count()
    }

    /// Whether no leaf has a gradient here.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a leaf's gradient in row-major order, or `None` if the sweep did not reach it.
    #[must_use]
    pub fn get<T: Element>(&self, leaf: &Tensor<T>) -> Option<&[T]> {
        let at = self.position(leaf)?;
        T::held(self.entries[at].1.as_ref()?)
    }

    /// Returns a leaf's gradient for writing, for example after an allreduce.
    #[must_use]
    pub fn get_mut<T: Element>(&mut self, leaf: &Tensor<T>) -> Option<&mut [T]> {
        let at = self.position(leaf)?;
        T::held_mut(self.entries[at].1.as_mut()?)
    }

    /// Takes a leaf's gradient out for good: its buffer will not come home.
    #[must_use]
    pub fn take<T: Element>(&mut self, leaf: &Tensor<T>) -> Option<Array<T>> {
        let at = self.position(leaf)?;
        let gradient = T::from_held(self.entries[at].1.take()?)?;
        Array::from_vec(leaf.shape(), gradient.detach()).ok()
    }

    /// Writes the gradients of `leaves`, one after the other, over `flat`, for an allreduce.
    ///
    /// A leaf that the sweep did not reach counts as zeros, so that every rank's
    /// vector has the same layout. `flat`'s memory is reused.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tensor_grad::{Array, Tensor};
    /// # fn allreduce_sum(flat: &mut [f32]) {}
    /// # let ranks = 1.0;
    /// let leaves = [Tensor::leaf(Array::scalar(2.0_f32)), Tensor::leaf(Array::zeros(&[3])?)];
    /// let loss = (&leaves[0] * &leaves[1]).sum();
    /// let mut gradients = loss.backward()?;
    /// let mut flat = Vec::new(); // kept over all steps
    /// gradients.flatten_into(&leaves, &mut flat);
    /// allreduce_sum(&mut flat);
    /// flat.iter_mut().for_each(|g| *g /= ranks);
    /// gradients.unflatten_from(&leaves, &flat)?;
    /// # assert_eq!(flat, [0.0, 2.0, 2.0, 2.0]);
    /// # Ok::<(), tensor_grad::Error>(())
    /// ```
    pub fn flatten_into<T: Element>(&self, leaves: &[Tensor<T>], flat: &mut Vec<T>) {
        flat.clear();
        for leaf in leaves {
            match self.get(leaf) {
                Some(gradient) => flat.extend_from_slice(gradient),
                None => flat.resize(flat.len() + leaf.len(), T::zero()),
            }
        }
    }

    /// Overwrites the gradients of `leaves` with a vector that [`flatten_into`](Self::flatten_into) laid out.
    ///
    /// A leaf that the sweep did not reach has a gradient afterwards.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if `flat` does not hold exactly the leaves' elements,
    /// [`Error::NotALeaf`] if one of them is not a leaf; nothing was changed then.
    pub fn unflatten_from<T: Element>(&mut self, leaves: &[Tensor<T>], flat: &[T]) -> Result<()> {
        let op = "unflatten_from";
        let want = leaves.iter().map(Tensor::len).sum();
        if want != flat.len() {
            return Err(Error::Length {
                op,
                shape: [want].into(),
                want,
                got: flat.len(),
            });
        }
        if leaves.iter().any(|leaf| leaf.leaf_number().is_none()) {
            return Err(Error::NotALeaf { op });
        }
        let mut rest = flat;
        for leaf in leaves {
            let (mine, others) = rest.split_at(leaf.len());
            rest = others;
            if let Some(gradient) = self.get_mut(leaf) {
                gradient.copy_from_slice(mine);
            } else if let Some(number) = leaf.leaf_number() {
                let fresh = crate::sweep::held_copy(mine);
                if let Some(at) = self.position(leaf) {
                    self.entries[at].1 = Some(fresh);
                } else {
                    self.push(number, fresh);
                    self.finish();
                }
            }
        }
        Ok(())
    }
}

impl Drop for Gradients {
    fn drop(&mut self) {
        let mut entries = mem::take(&mut self.entries);
        // The buffers go home here.
        entries.clear();
        if entries.capacity() <= KEPT {
            // Err means that this thread is ending: the list is freed instead.
            let _ = SPARE.try_with(move |spare| spare.set(entries));
        }
    }
}
