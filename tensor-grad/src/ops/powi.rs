//! An integer power, elementwise; its backward reads the operand.

use crate::element::{Element, RealElement};
use crate::tensor::Tensor;
use crate::unary::{Keeps, Rule, guarded, unary};

#[derive(Debug, Clone, Copy)]
struct Powi(i32);

impl<T: Element> Rule<T> for Powi {
    const KEEPS: Keeps = Keeps::Input;

    #[inline]
    fn value(self, x: T) -> T {
        x.powi(self.0)
    }

    #[inline]
    fn gradient(self, g: T, kept: T) -> T {
        // A constant has slope 0 even at 0, where the formula says 0 times infinity.
        if self.0 == 0 {
            return T::zero();
        }
        let factor = T::Real::from_f64(f64::from(self.0));
        let slope = match self.0.checked_sub(1) {
            Some(less) => kept.powi(less),
            None => kept.powi(self.0).over(kept),
        };
        guarded(g, |g| g * slope.scale(factor).conj())
    }
}

impl<T: Element> Tensor<T> {
    /// Returns every element to the power of an integer.
    ///
    /// The gradient is exact at 0: 0 for the powers 0 and from 2 on, 1 for the power 1.
    #[must_use]
    pub fn powi(&self, exponent: i32) -> Self {
        unary(self, Powi(exponent))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, ONE, POSITIVE, WIDE};

    fn cube<T: Element>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].powi(3))
    }
    fn inverse_square<T: Element>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].powi(-2))
    }
    vec![
        Case::all("powi", cube, cube, cube, cube, ONE, WIDE),
        Case::all(
            "powi",
            inverse_square,
            inverse_square,
            inverse_square,
            inverse_square,
            ONE,
            POSITIVE,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn small_powers_have_exact_gradients_at_zero() {
        let x = Tensor::leaf(Array::scalar(0.0_f64));
        for (exponent, slope) in [(0, 0.0), (1, 1.0), (2, 0.0), (3, 0.0)] {
            let gradients = x.powi(exponent).backward().unwrap();
            assert_eq!(gradients.get(&x), Some(&[slope][..]), "{exponent}");
        }
        assert!(!x.powi(i32::MIN).backward().unwrap().is_empty());
    }
}
