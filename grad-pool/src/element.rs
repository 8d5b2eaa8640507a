//! What a gradient is made of.
//!
//! The four element types are a closed set, so that every array can be kept by one shelf and
//! poisoned with NaN; the trait is sealed by a supertrait that only this file can implement.

use std::any::TypeId;
use std::fmt::Debug;
use std::ops::{AddAssign, Mul};

use bytemuck::Pod;
use num_complex::Complex;

/// An element of a gradient: `f32`, `f64`, `Complex<f32>` or `Complex<f64>`.
///
/// # Examples
///
/// ```
/// fn norm<T: grad_pool::Element>(gradient: &[T]) -> T {
///     let mut sum = T::default();
///     for &element in gradient {
///         sum += element * element;
///     }
///     sum
/// }
/// assert_eq!(norm(&[3.0_f32, 4.0]), 25.0);
/// ```
///
/// The set is closed:
///
/// ```compile_fail,E0277
/// let arena = grad_pool::global().arena();
/// let _counts = arena.zeroed::<u64>(3); // error: `u64` is not an element of a gradient
/// ```
pub trait Element:
    sealed::Sealed + Pod + Default + PartialEq + Debug + AddAssign + Mul<Output = Self> + Send + Sync
{
}

impl<T> Element for T where
    T: sealed::Sealed
        + Pod
        + Default
        + PartialEq
        + Debug
        + AddAssign
        + Mul<Output = Self>
        + Send
        + Sync
{
}

/// Element type and number of elements.
pub(crate) type Class = (TypeId, usize);

/// The class of `len` elements of `T`.
#[inline]
pub(crate) fn class_of<T: Element>(len: usize) -> Class {
    (TypeId::of::<T>(), len)
}

mod sealed {
    use super::Complex;

    /// Closes the set of element types.
    #[expect(
        unnameable_types,
        reason = "what can not be named can not be implemented"
    )]
    pub trait Sealed {}

    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for Complex<f32> {}
    impl Sealed for Complex<f64> {}
}
