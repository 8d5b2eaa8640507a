//! The numbers an array may hold: `f32`, `f64` and complex numbers of either.
//!
//! [`Element`] is sealed. It carries the scalar functions that kernels call, so
//! that one generic kernel serves all four types, and so that the complex forms
//! are the careful ones: division and magnitude are scaled (no overflow where
//! the result is representable), `tanh` and `sigmoid` saturate instead of
//! dividing infinity by infinity.
//!
//! For a real element [`conj`](Element::conj) is the identity, which is why an
//! op's backward can multiply by `f'(x).conj()` and be right for both kinds.

use core::fmt::{Debug, Display};
use core::ops::Neg;

use num_complex::Complex;
use num_traits::NumAssign;

use crate::slot::Slotted;

/// A number that arrays and gradients are made of.
pub trait Element:
    Slotted + grad_pool::Element + NumAssign + Neg<Output = Self> + Debug + Display
{
    /// The type of its real part: `f32` or `f64`.
    type Real: RealElement;
    /// Whether it has an imaginary part.
    const IS_COMPLEX: bool;

    /// Makes the number whose real part is `re`.
    fn from_real(re: Self::Real) -> Self;
    /// Makes a number from both parts; a real type drops `im`.
    fn from_parts(re: Self::Real, im: Self::Real) -> Self;
    /// Returns the real part.
    fn re(self) -> Self::Real;
    /// Returns the imaginary part, zero for a real type.
    fn im(self) -> Self::Real;
    /// Returns the complex conjugate.
    #[must_use]
    fn conj(self) -> Self;
    /// Multiplies by a real number.
    #[must_use]
    fn scale(self, by: Self::Real) -> Self;
    /// Divides, scaled so that nothing overflows on the way (Smith 1962).
    #[must_use]
    fn over(self, divisor: Self) -> Self;
    /// Returns the magnitude, without overflow on the way.
    fn magnitude(self) -> Self::Real;
    /// Returns the number divided by its magnitude, and 0 at 0: the sign of a real number.
    #[must_use]
    fn direction(self) -> Self;
    /// Returns `e` to the power of the number.
    #[must_use]
    fn exp(self) -> Self;
    /// Returns the natural logarithm, on the principal branch.
    #[must_use]
    fn ln(self) -> Self;
    /// Returns the square root, on the principal branch.
    #[must_use]
    fn sqrt(self) -> Self;
    /// Returns the sine.
    #[must_use]
    fn sin(self) -> Self;
    /// Returns the cosine.
    #[must_use]
    fn cos(self) -> Self;
    /// Returns the hyperbolic tangent.
    #[must_use]
    fn tanh(self) -> Self;
    /// Returns the logistic function `1 / (1 + exp(-x))`.
    #[must_use]
    fn sigmoid(self) -> Self;
    /// Returns the number to an integer power.
    #[must_use]
    fn powi(self, exponent: i32) -> Self;
    /// Returns the number to a real power, on the principal branch.
    #[must_use]
    fn powf(self, exponent: Self::Real) -> Self;
    /// Returns `self * a + b`, rounded once where the processor does that.
    ///
    /// Call it only inside a kernel that runs where fused multiply-add is an
    /// instruction; elsewhere it is a slow library call.
    #[must_use]
    fn fused(self, a: Self, b: Self) -> Self;
}

/// A real number: what has an order.
pub trait RealElement: Element<Real = Self> + PartialOrd {
    /// Negative infinity, the neutral element of a maximum.
    const NEG_INFINITY: Self;
    /// Converts a count; exact up to 2^24 (`f32`) or 2^53 (`f64`).
    fn from_usize(count: usize) -> Self;
    /// Converts from `f64`, rounding.
    fn from_f64(value: f64) -> Self;
    /// Converts to `f64`, exactly.
    fn to_f64(self) -> f64;
    /// Whether it is not a number.
    fn is_nan(self) -> bool;
}

macro_rules! real {
    ($t:ty, $narrow:expr) => {
        impl Element for $t {
            type Real = $t;
            const IS_COMPLEX: bool = false;

            #[inline]
            fn from_real(re: $t) -> Self {
                re
            }
            #[inline]
            fn from_parts(re: $t, _im: $t) -> Self {
                re
            }
            #[inline]
            fn re(self) -> $t {
                self
            }
            #[inline]
            fn im(self) -> $t {
                0.0
            }
            #[inline]
            fn conj(self) -> Self {
                self
            }
            #[inline]
            fn scale(self, by: $t) -> Self {
                self * by
            }
            #[inline]
            fn over(self, divisor: Self) -> Self {
                self / divisor
            }
            #[inline]
            fn magnitude(self) -> $t {
                <$t>::abs(self)
            }
            #[inline]
            fn direction(self) -> Self {
                if self > 0.0 {
                    1.0
                } else if self < 0.0 {
                    -1.0
                } else {
                    // Zero stays zero and not-a-number stays what it is.
                    self
                }
            }
            #[inline]
            fn exp(self) -> Self {
                <$t>::exp(self)
            }
            #[inline]
            fn ln(self) -> Self {
                <$t>::ln(self)
            }
            #[inline]
            fn sqrt(self) -> Self {
                <$t>::sqrt(self)
            }
            #[inline]
            fn sin(self) -> Self {
                <$t>::sin(self)
            }
            #[inline]
            fn cos(self) -> Self {
                <$t>::cos(self)
            }
            #[inline]
            fn tanh(self) -> Self {
                <$t>::tanh(self)
            }
            #[inline]
            fn sigmoid(self) -> Self {
                // Both forms exponentiate a negative number, so neither overflows.
                if self >= 0.0 {
                    1.0 / (1.0 + <$t>::exp(-self))
                } else {
                    let e = <$t>::exp(self);
                    e / (1.0 + e)
                }
            }
            #[inline]
            fn powi(self, exponent: i32) -> Self {
                <$t>::powi(self, exponent)
            }
            #[inline]
            fn powf(self, exponent: $t) -> Self {
                <$t>::powf(self, exponent)
            }
            #[inline]
            fn fused(self, a: Self, b: Self) -> Self {
                <$t>::mul_add(self, a, b)
            }
        }

        impl RealElement for $t {
            const NEG_INFINITY: Self = <$t>::NEG_INFINITY;
            #[inline]
            fn from_usize(count: usize) -> Self {
                $narrow(count as f64)
            }
            #[inline]
            fn from_f64(value: f64) -> Self {
                $narrow(value)
            }
            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline]
            fn is_nan(self) -> bool {
                <$t>::is_nan(self)
            }
        }
    };
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding to the nearest f32 is what is asked for"
)]
fn narrow(value: f64) -> f32 {
    value as f32
}

real!(f32, narrow);
real!(f64, core::convert::identity);

macro_rules! complex {
    ($t:ty) => {
        impl Element for Complex<$t> {
            type Real = $t;
            const IS_COMPLEX: bool = true;

            #[inline]
            fn from_real(re: $t) -> Self {
                Self::new(re, 0.0)
            }
            #[inline]
            fn from_parts(re: $t, im: $t) -> Self {
                Self::new(re, im)
            }
            #[inline]
            fn re(self) -> $t {
                self.re
            }
            #[inline]
            fn im(self) -> $t {
                self.im
            }
            #[inline]
            fn conj(self) -> Self {
                Self::new(self.re, -self.im)
            }
            #[inline]
            fn scale(self, by: $t) -> Self {
                Self::new(self.re * by, self.im * by)
            }
            #[inline]
            fn over(self, by: Self) -> Self {
                if by.re.abs() >= by.im.abs() {
                    if by.re == 0.0 && by.im == 0.0 {
                        return Self::new(self.re / by.re.abs(), self.im / by.re.abs());
                    }
                    let ratio = by.im / by.re;
                    let scale = by.re + by.im * ratio;
                    Self::new(
                        (self.re + self.im * ratio) / scale,
                        (self.im - self.re * ratio) / scale,
                    )
                } else {
                    let ratio = by.re / by.im;
                    let scale = by.re * ratio + by.im;
                    Self::new(
                        (self.re * ratio + self.im) / scale,
                        (self.im * ratio - self.re) / scale,
                    )
                }
            }
            #[inline]
            fn magnitude(self) -> $t {
                <$t>::hypot(self.re, self.im)
            }
            #[inline]
            fn direction(self) -> Self {
                let largest = self.re.abs().max(self.im.abs());
                if largest == 0.0 {
                    return Self::new(0.0, 0.0);
                }
                // Scaled first, so that the magnitude is between 1 and the root of 2.
                let (re, im) = (self.re / largest, self.im / largest);
                let magnitude = <$t>::sqrt(re * re + im * im);
                Self::new(re / magnitude, im / magnitude)
            }
            #[inline]
            fn exp(self) -> Self {
                Complex::exp(self)
            }
            #[inline]
            fn ln(self) -> Self {
                Complex::ln(self)
            }
            #[inline]
            fn sqrt(self) -> Self {
                Complex::sqrt(self)
            }
            #[inline]
            fn sin(self) -> Self {
                Complex::sin(self)
            }
            #[inline]
            fn cos(self) -> Self {
                Complex::cos(self)
            }
            #[inline]
            fn tanh(self) -> Self {
                // cosh(2x) overflows from here on, while the result is 1 to the last bit long before.
                if self.re.abs() > 40.0 {
                    let sign = <$t>::signum(self.re);
                    return Self::new(sign, 0.0);
                }
                Complex::tanh(self)
            }
            #[inline]
            fn sigmoid(self) -> Self {
                let one = Self::new(1.0, 0.0);
                if self.re >= 0.0 {
                    one.over(one + Complex::exp(-self))
                } else {
                    let e = Complex::exp(self);
                    e.over(one + e)
                }
            }
            #[inline]
            fn powi(self, exponent: i32) -> Self {
                if exponent < 0 {
                    Self::new(1.0, 0.0).over(Complex::powu(&self, exponent.unsigned_abs()))
                } else {
                    Complex::powu(&self, exponent.unsigned_abs())
                }
            }
            #[inline]
            fn powf(self, exponent: $t) -> Self {
                Complex::powf(self, exponent)
            }
            #[inline]
            fn fused(self, a: Self, b: Self) -> Self {
                Self::new(
                    <$t>::mul_add(self.re, a.re, <$t>::mul_add(-self.im, a.im, b.re)),
                    <$t>::mul_add(self.re, a.im, <$t>::mul_add(self.im, a.re, b.im)),
                )
            }
        }
    };
}

complex!(f32);
complex!(f64);

#[cfg(test)]
mod tests {
    use super::*;

    type C = Complex<f64>;

    #[test]
    fn dividing_huge_and_tiny_complex_numbers_does_not_overflow() {
        let huge = C::new(1e300, -1e300);
        assert_eq!(huge.over(huge), C::new(1.0, 0.0));
        let tiny = C::new(-1e-300, 2e-300);
        let one = tiny.over(tiny);
        assert!((one - C::new(1.0, 0.0)).norm() < 1e-15);
        assert!(C::new(1.0, 0.0).over(C::new(0.0, 0.0)).re.is_infinite());
    }

    #[test]
    fn the_direction_of_any_finite_number_has_magnitude_one_or_zero() {
        for z in [
            C::new(1e308, 1e308),
            C::new(5e-324, -5e-324),
            C::new(-1.0568e-23, 0.0),
            C::new(3.0, 4.0),
        ] {
            assert!((z.direction().magnitude() - 1.0).abs() < 1e-15, "{z}");
        }
        assert_eq!(C::new(0.0, 0.0).direction(), C::new(0.0, 0.0));
        assert_eq!((0.0_f64).direction(), 0.0);
        assert_eq!((-3.0_f64).direction(), -1.0);
    }

    #[test]
    fn saturating_functions_saturate() {
        assert_eq!(Element::tanh(C::new(1000.0, 1.0)), C::new(1.0, 0.0));
        assert_eq!(Element::sigmoid(C::new(-1e4, 0.5)).norm(), 0.0);
        assert_eq!(Element::sigmoid(1000.0_f32), 1.0);
        assert_eq!(Element::sigmoid(-1000.0_f32), 0.0);
    }
}
