//! What a gradient is made of.
//!
//! The four element types are a closed set, so that every array can be kept by one shelf and
//! poisoned with NaN; the trait is sealed by a supertrait that only this file can implement.

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
    sealed::Sealed
    + Pod
    + Default
    + PartialEq
    + Debug
    + AddAssign
    + Mul<Output = Self>
    + Factor<Self>
    + Send
    + Sync
{
    /// What it is made of: itself, or a part of the complex number.
    type Component: Element<Component = Self::Component> + Factor<Self>;

    /// The number that has this real part and no imaginary one.
    #[must_use]
    fn from_component(real: Self::Component) -> Self;
}

/// A number that scales elements of type `T`: another `T`, or a real number for a complex `T`.
///
/// # Examples
///
/// ```
/// use grad_pool::Factor;
/// use num_complex::Complex;
///
/// let element = Complex::new(1.0_f64, 2.0);
/// assert_eq!(3.0.times(element), Complex::new(3.0, 6.0));
/// assert_eq!(Complex::i().times(element), Complex::new(-2.0, 1.0));
/// ```
pub trait Factor<T>: sealed::Sealed + Copy {
    /// `self` times `element`; a real factor scales each part of a complex element.
    #[must_use]
    fn times(self, element: T) -> T;
}

macro_rules! elements {
    ($($real:ty = $kind:literal),*) => {$(
        impl Element for $real {
            type Component = Self;

            #[inline]
            fn from_component(real: Self) -> Self {
                real
            }
        }

        impl Element for Complex<$real> {
            type Component = $real;

            #[inline]
            fn from_component(real: $real) -> Self {
                Self::new(real, 0.0)
            }
        }

        impl Factor<$real> for $real {
            #[inline]
            fn times(self, element: $real) -> $real {
                self * element
            }
        }

        impl Factor<Complex<$real>> for $real {
            #[inline]
            fn times(self, element: Complex<$real>) -> Complex<$real> {
                element.scale(self)
            }
        }

        impl Factor<Complex<$real>> for Complex<$real> {
            #[inline]
            fn times(self, element: Complex<$real>) -> Complex<$real> {
                self * element
            }
        }

        impl sealed::Sealed for $real {
            const KIND: usize = $kind;
        }

        impl sealed::Sealed for Complex<$real> {
            const KIND: usize = $kind | 2;
        }
    )*};
}

elements!(f32 = 0, f64 = 1);

mod sealed {
    /// Closes the set of element types.
    #[expect(
        unnameable_types,
        reason = "what can not be named can not be implemented"
    )]
    pub trait Sealed {
        /// Which of the element types it is: one bit for a wide component, one for a complex number.
        const KIND: usize;
    }
}
