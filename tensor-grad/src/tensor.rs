//! Tensors: an array and, if some leaf's gradient depends on it, a node of the graph.
//!
//! A tensor is a value. Cloning one is cheap and shares everything; nothing
//! changes a value that another tensor or a recorded op can see. A leaf that is
//! changed in place ([`Tensor::make_mut`], an optimizer's step) keeps its place
//! in the graph, gets a value of its own, and leaves graphs recorded earlier with
//! the value they saw.

use smallvec::SmallVec;

use crate::array::Array;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::gradients::Gradients;
use crate::graph::{Node, NodeRef, Op};
use crate::kernel::simd::wide;
use crate::mode::recording;
use crate::shape::dims;
use crate::slot::Buf;
use crate::store::Store;
use crate::sweep::sweep;

/// A value that gradients can flow through.
///
/// The graph lives as long as a tensor that was computed through it.
/// [`backward`](Self::backward) keeps it: the same tensor may be swept again.
#[derive(Debug, Clone)]
pub struct Tensor<T: Element> {
    value: Array<T>,
    node: Option<NodeRef>,
}

impl<T: Element> Tensor<T> {
    /// Makes a leaf: a value whose gradient the sweep returns.
    #[must_use]
    pub fn leaf(value: Array<T>) -> Self {
        let node = Some(Node::leaf(value.len()));
        Self { value, node }
    }

    /// Makes a leaf from elements in row-major order.
    ///
    /// # Errors
    ///
    /// As [`Array::from_vec`].
    pub fn parameter(shape: &[usize], data: Vec<T>) -> Result<Self> {
        Array::from_vec(shape, data).map(Self::leaf)
    }

    /// Makes a value that needs no gradient.
    #[must_use]
    pub fn constant(value: Array<T>) -> Self {
        Self { value, node: None }
    }

    /// Makes a constant of rank 0.
    #[must_use]
    pub fn scalar(value: T) -> Self {
        Self::constant(Array::scalar(value))
    }

    /// Records an op, unless none of the parents needs a gradient or recording is off.
    pub(crate) fn record<O: Op<Out = T>, const N: usize>(
        value: Array<T>,
        parents: [Option<&NodeRef>; N],
        op: impl FnOnce() -> O,
    ) -> Self {
        let needed = parents.iter().any(Option::is_some) && recording();
        let node = needed.then(|| {
            let parents: SmallVec<[Option<NodeRef>; 3]> = parents
                .into_iter()
                .map(Option::<&NodeRef>::cloned)
                .collect();
            Node::computed(value.len(), parents, op())
        });
        Self { value, node }
    }

    /// The node, if gradients flow through this tensor.
    pub(crate) fn node(&self) -> Option<&NodeRef> {
        self.node.as_ref()
    }

    /// The leaf's number; `None` if this is not a leaf.
    pub(crate) fn leaf_number(&self) -> Option<u64> {
        self.node
            .as_ref()
            .map(|node| node.leaf)
            .filter(|&leaf| leaf != 0)
    }

    /// Returns the value.
    #[must_use]
    pub fn value(&self) -> &Array<T> {
        &self.value
    }

    /// Takes the value out.
    #[must_use]
    pub fn into_value(self) -> Array<T> {
        self.value
    }

    /// Returns the sizes of the axes; empty for rank 0.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.value.shape()
    }

    /// Returns the number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.value.rank()
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.value.len()
    }

    /// Whether some axis has size 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// Returns the only element.
    ///
    /// # Errors
    ///
    /// [`Error::NotScalar`] unless there is exactly one.
    pub fn item(&self) -> Result<T> {
        self.value.item()
    }

    /// Copies the elements out in row-major order.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.value.to_vec()
    }

    /// Whether some leaf's gradient depends on this tensor.
    #[must_use]
    pub fn needs_gradient(&self) -> bool {
        self.node.is_some()
    }

    /// Whether this is a leaf.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.leaf_number().is_some()
    }

    /// Returns the same value as a constant: gradients end here.
    #[must_use]
    pub fn detach(&self) -> Self {
        Self::constant(self.value.clone())
    }

    /// Returns the elements of a leaf or constant for writing, in row-major order.
    ///
    /// They are copied first if another tensor or a recorded op shares them.
    ///
    /// # Errors
    ///
    /// [`Error::NotALeaf`] if the tensor was computed.
    pub fn make_mut(&mut self) -> Result<&mut [T]> {
        if self.node.as_ref().is_some_and(|node| node.leaf == 0) {
            return Err(Error::NotALeaf { op: "make_mut" });
        }
        Ok(self.value.make_mut())
    }

    /// Replaces every element `p` with `f(p, a)`.
    ///
    /// Where the old value is shared, the new one goes into a recycled buffer.
    pub(crate) fn rewrite<A: Copy>(&mut self, a: &[A], f: impl Fn(T, A) -> T) {
        self.rewrite2((a, a), |p, a, _| f(p, a));
    }

    /// Replaces every element `p` with `f(p, a, b)`.
    pub(crate) fn rewrite2<A: Copy, B: Copy>(
        &mut self,
        (a, b): (&[A], &[B]),
        f: impl Fn(T, A, B) -> T,
    ) {
        if self.value.is_shared() {
            // One pass, instead of a copy and a pass.
            let old = self.value.dense();
            let mut fresh = Store::unspecified(old.len());
            let new = &mut *fresh;
            wide(new.len(), || {
                let operands = old.iter().zip(a).zip(b);
                for (new, ((&p, &a), &b)) in new.iter_mut().zip(operands) {
                    *new = f(p, a, b);
                }
            });
            drop(old);
            self.value = Array::from_store(dims(self.value.shape()), fresh);
        } else {
            let value = self.value.make_mut();
            wide(value.len(), || {
                for ((p, &a), &b) in value.iter_mut().zip(a).zip(b) {
                    *p = f(*p, a, b);
                }
            });
        }
    }

    /// Sweeps back from this one real number and returns the gradients of the leaves.
    ///
    /// The graph is kept: it may be swept again, and is freed when the last tensor
    /// computed through it drops.
    ///
    /// # Examples
    ///
    /// ```
    /// use tensor_grad::{Array, Tensor};
    ///
    /// let x = Tensor::leaf(Array::scalar(3.0_f64));
    /// let y = &(&x * &x) * &x;
    /// assert_eq!(y.backward()?.get(&x), Some(&[27.0][..]));
    /// # Ok::<(), tensor_grad::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoGradient`] if no leaf's gradient depends on this tensor,
    /// [`Error::ComplexOutput`] if it is complex, [`Error::NotScalar`] if it has
    /// more or fewer than one element.
    pub fn backward(&self) -> Result<Gradients> {
        let root = self.root("backward")?;
        if T::IS_COMPLEX {
            return Err(Error::ComplexOutput);
        }
        if self.len() != 1 {
            return Err(Error::NotScalar {
                op: "backward",
                shape: self.shape().into(),
                rule: "reduce it to one element first, or give a cotangent to backward_with",
            });
        }
        Ok(sweep(root, |_| T::into_slot(Buf::One([T::one()]))))
    }

    /// Sweeps back from this tensor with a given gradient of the loss with respect to it.
    ///
    /// # Examples
    ///
    /// ```
    /// use tensor_grad::{Array, Tensor};
    ///
    /// let x = Tensor::leaf(Array::from_vec(&[2], vec![1.0_f64, 2.0])?);
    /// let weights = Array::from_vec(&[2], vec![10.0, 1.0])?;
    /// let gradients = (&x * &x).backward_with(&weights)?;
    /// assert_eq!(gradients.get(&x), Some(&[20.0, 4.0][..]));
    /// # Ok::<(), tensor_grad::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoGradient`] if no leaf's gradient depends on this tensor,
    /// [`Error::Unequal`] if the shapes differ.
    pub fn backward_with(&self, cotangent: &Array<T>) -> Result<Gradients> {
        let root = self.root("backward_with")?;
        if cotangent.shape() != self.shape() {
            return Err(Error::Unequal {
                op: "backward_with",
                left: self.shape().into(),
                right: cotangent.shape().into(),
            });
        }
        let values = cotangent.dense();
        Ok(sweep(root, |arena| {
            let mut seed = Buf::unspecified(arena, values.len());
            seed.copy_from_slice(&values);
            T::into_slot(seed)
        }))
    }

    fn root(&self, op: &'static str) -> Result<&NodeRef> {
        self.node.as_ref().ok_or(Error::NoGradient { op })
    }
}

impl<T: Element> From<Array<T>> for Tensor<T> {
    /// Makes a constant.
    fn from(value: Array<T>) -> Self {
        Self::constant(value)
    }
}
