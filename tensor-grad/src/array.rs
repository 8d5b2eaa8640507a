//! n-dimensional arrays: a shape, strides and an offset over shared elements.
//!
//! A view (reshape where the layout allows, permute, transpose, broadcast) is a
//! new set of strides over the same elements. Nothing writes to elements that
//! two arrays share: [`Array::make_mut`] copies them first. So a value that an
//! operation saved for its backward cannot change under it.
//!
//! Invariants, and what upholds each:
//!
//! - Every index inside the shape maps inside the store: the constructors check
//!   the length, and the views only recombine strides within their bounds.
//! - The shape fits the address space: [`check`] saw it.
//! - `contiguous` is true exactly if the elements lie in row-major order from
//!   `offset` on: both constructors compute it.

mod search;
mod views;

use core::fmt;
use core::ops::Deref;
use std::sync::Arc;

use crate::element::Element;
use crate::error::{Error, Result};
use crate::kernel::walk::walk;
use crate::shape::{Shape, check, count, dims, is_row_major, row_major};
use crate::store::Store;

/// An n-dimensional array of numbers, cheap to clone.
///
/// # Examples
///
/// ```
/// use tensor_grad::Array;
///
/// let a = Array::from_vec(&[2, 3], vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let t = a.transpose(0, 1)?;
/// assert_eq!(t.shape(), [3, 2]);
/// assert_eq!(t.to_vec(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// // The view shares its elements with `a`.
/// assert!(t.shares_storage_with(&a));
/// # Ok::<(), tensor_grad::Error>(())
/// ```
#[derive(Clone)]
pub struct Array<T: Element> {
    store: Arc<Store<T>>,
    shape: Shape,
    strides: Shape,
    offset: usize,
    contiguous: bool,
}

impl<T: Element> Array<T> {
    /// Makes an array of `shape` from elements in row-major order, without a copy.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if `data` does not hold exactly as many elements as the
    /// shape, [`Error::Overflow`] if the shape does not fit the address space.
    pub fn from_vec(shape: &[usize], data: Vec<T>) -> Result<Self> {
        let want = check("from_vec", shape)?;
        if want != data.len() {
            return Err(Error::Length {
                op: "from_vec",
                shape: shape.into(),
                want,
                got: data.len(),
            });
        }
        Ok(Self::from_store(dims(shape), Store::Plain(data)))
    }

    /// Makes an array of `shape` from a copy of elements in row-major order.
    ///
    /// # Errors
    ///
    /// As [`from_vec`](Self::from_vec).
    pub fn from_slice(shape: &[usize], data: &[T]) -> Result<Self> {
        let want = check("from_slice", shape)?;
        if want != data.len() {
            return Err(Error::Length {
                op: "from_slice",
                shape: shape.into(),
                want,
                got: data.len(),
            });
        }
        let mut store = Store::unspecified(want);
        store.copy_from_slice(data);
        Ok(Self::from_store(dims(shape), store))
    }

    /// Makes an array of rank 0.
    #[must_use]
    pub fn scalar(value: T) -> Self {
        Self::from_store(Shape::new(), Store::One([value]))
    }

    /// Makes an array whose elements are all `value`.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] if the shape does not fit the address space.
    pub fn full(shape: &[usize], value: T) -> Result<Self> {
        let mut store = Store::unspecified(check("full", shape)?);
        store.fill(value);
        Ok(Self::from_store(dims(shape), store))
    }

    /// Makes an array of zeros.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] if the shape does not fit the address space.
    pub fn zeros(shape: &[usize]) -> Result<Self> {
        let store = Store::zeroed(check("zeros", shape)?);
        Ok(Self::from_store(dims(shape), store))
    }

    /// Makes an array from a store that holds its elements in row-major order.
    pub(crate) fn from_store(shape: Shape, store: Store<T>) -> Self {
        debug_assert_eq!(count(&shape), store.len());
        Self {
            store: Arc::new(store),
            strides: row_major(&shape),
            shape,
            offset: 0,
            contiguous: true,
        }
    }

    /// Another view of the same elements; the caller has checked that it stays inside them.
    pub(crate) fn view(&self, shape: Shape, strides: Shape) -> Self {
        Self {
            store: Arc::clone(&self.store),
            contiguous: is_row_major(&shape, &strides),
            shape,
            strides,
            offset: self.offset,
        }
    }

    /// Returns the sizes of the axes; empty for rank 0.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the distance, in elements, between neighbours along each axis.
    ///
    /// The stride of an axis of size 1 has no meaning.
    #[must_use]
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// Returns the number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns the number of elements.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        count(&self.shape)
    }

    /// Whether some axis has size 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the elements lie in row-major order without gaps.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Whether two arrays are views of the same elements.
    #[must_use]
    pub fn shares_storage_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.store, &other.store)
    }

    /// Returns the elements as a slice, if they lie in row-major order.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> Option<&[T]> {
        self.contiguous.then(|| {
            let len = self.len();
            if len == 0 {
                &[]
            } else {
                &self.store[self.offset..self.offset + len]
            }
        })
    }

    /// Returns the element at `index`, or `None` outside the shape.
    #[must_use]
    pub fn get(&self, index: &[usize]) -> Option<T> {
        if index.len() != self.rank() {
            return None;
        }
        let mut at = self.offset;
        for ((&i, &size), &stride) in index.iter().zip(&self.shape).zip(&self.strides) {
            if i >= size {
                return None;
            }
            at = at.wrapping_add(i.wrapping_mul(stride));
        }
        self.store.get(at).copied()
    }

    /// Returns the only element.
    ///
    /// # Errors
    ///
    /// [`Error::NotScalar`] unless there is exactly one.
    pub fn item(&self) -> Result<T> {
        if self.len() == 1 {
            Ok(self.store[self.offset])
        } else {
            Err(Error::NotScalar {
                op: "item",
                shape: self.shape().into(),
                rule: "reduce it to one element first, for example with sum or mean",
            })
        }
    }

    /// Copies the elements out in row-major order.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.dense().to_vec()
    }

    /// Returns the array itself if its elements lie in row-major order, else a copy in which they do.
    #[must_use]
    pub fn contiguous(&self) -> Self {
        if self.contiguous {
            self.clone()
        } else {
            Self::from_store(self.shape.clone(), self.copied())
        }
    }

    /// Returns the elements for writing, in row-major order.
    ///
    /// Copies them first if another array shares them or if they lie in another
    /// order; so no other array sees the change.
    ///
    /// # Examples
    ///
    /// ```
    /// use tensor_grad::Array;
    ///
    /// let a = Array::from_vec(&[2], vec![1.0_f32, 2.0])?;
    /// let mut b = a.clone();
    /// b.make_mut()[0] = 7.0;
    /// assert_eq!((a.to_vec(), b.to_vec()), (vec![1.0, 2.0], vec![7.0, 2.0]));
    /// # Ok::<(), tensor_grad::Error>(())
    /// ```
    pub fn make_mut(&mut self) -> &mut [T] {
        let len = self.len();
        if self.is_shared() {
            *self = Self::from_store(self.shape.clone(), self.copied());
        }
        let from = if len == 0 { 0 } else { self.offset };
        match Arc::get_mut(&mut self.store) {
            Some(store) => &mut store[from..from + len],
            None => unreachable!("nobody else has seen a fresh store"),
        }
    }

    /// Whether [`make_mut`](Self::make_mut) would have to copy.
    pub(crate) fn is_shared(&mut self) -> bool {
        !self.contiguous || Arc::get_mut(&mut self.store).is_none()
    }

    /// The whole store and where this view starts in it, for kernels that take strides.
    #[inline]
    pub(crate) fn raw(&self) -> (&[T], usize) {
        (&self.store, self.offset)
    }

    /// The elements in row-major order, copied into a recycled buffer only if they do not lie so.
    pub(crate) fn dense(&self) -> Dense<'_, T> {
        match self.as_slice() {
            Some(slice) => Dense::Lies(slice),
            None => Dense::Copied(self.copied()),
        }
    }

    /// A copy of the elements in row-major order.
    pub(crate) fn copied(&self) -> Store<T> {
        let mut out = Store::unspecified(self.len());
        if let Some(slice) = self.as_slice() {
            out.copy_from_slice(slice);
        } else {
            let data = &*self.store;
            let mut at = 0;
            walk(
                &self.shape,
                [&self.strides],
                [self.offset],
                |[from], n, [step]| {
                    for (j, slot) in out[at..at + n].iter_mut().enumerate() {
                        *slot = data[from.wrapping_add(j.wrapping_mul(step))];
                    }
                    at += n;
                },
            );
        }
        out
    }
}

/// An array's elements in row-major order: where they lie, or a recycled copy.
pub(crate) enum Dense<'a, T: Element> {
    /// They lie in order already.
    Lies(&'a [T]),
    /// They did not.
    Copied(Store<T>),
}

impl<T: Element> Deref for Dense<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Lies(slice) => slice,
            Self::Copied(store) => store,
        }
    }
}

impl<T: Element> PartialEq for Array<T> {
    /// Compares shapes and elements, whatever the layout.
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape && *self.dense() == *other.dense()
    }
}

impl<T: Element> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        write!(f, "Array{:?} ", self.shape())?;
        let elements = self.dense();
        let mut list = f.debug_list();
        list.entries(elements.iter().take(SHOWN));
        if elements.len() > SHOWN {
            list.finish_non_exhaustive()
        } else {
            list.finish()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(shape: &[usize]) -> Array<f64> {
        let data = (0..count(shape)).map(|i| i as f64).collect();
        Array::from_vec(shape, data).unwrap()
    }

    #[test]
    fn a_shared_array_is_copied_before_it_is_written() {
        let a = counting(&[2, 3]);
        let mut view = a.transpose(0, 1).unwrap();
        view.make_mut()[1] = 50.0;
        assert_eq!(view.to_vec(), [0.0, 50.0, 1.0, 4.0, 2.0, 5.0]);
        assert_eq!(a, counting(&[2, 3]));
        let mut alone = counting(&[4]);
        let before = alone.as_slice().unwrap().as_ptr();
        alone.make_mut()[0] = 1.0;
        assert_eq!(alone.as_slice().unwrap().as_ptr(), before);
    }

    #[test]
    fn rank_zero_and_empty_arrays_are_arrays() {
        let scalar = Array::scalar(2.5_f32);
        assert_eq!((scalar.rank(), scalar.len()), (0, 1));
        assert_eq!(scalar.item(), Ok(2.5));
        assert_eq!(scalar.get(&[]), Some(2.5));
        let empty = Array::<f32>::zeros(&[3, 0]).unwrap();
        assert_eq!(empty.to_vec(), Vec::<f32>::new());
        assert_eq!(empty.transpose(0, 1).unwrap().to_vec(), Vec::<f32>::new());
        assert!(empty.item().is_err());
        assert_eq!(empty.get(&[0, 0]), None);
    }

    #[test]
    fn a_wrong_number_of_elements_is_an_error_that_says_both() {
        let error = Array::from_vec(&[2, 2], vec![0.0_f64; 3]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "from_vec: 3 elements given for shape [2, 2], which holds 4"
        );
        assert!(Array::<f64>::zeros(&[usize::MAX, 4]).is_err());
    }
}
