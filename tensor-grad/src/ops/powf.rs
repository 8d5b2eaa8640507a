//! A constant real power, elementwise; its backward reads the operand.

use crate::element::Element;
use crate::tensor::Tensor;
use crate::unary::{Keeps, Rule, guarded, unary};

#[derive(Debug, Clone, Copy)]
struct Powf<R>(R);

impl<T: Element> Rule<T> for Powf<T::Real> {
    const KEEPS: Keeps = Keeps::Input;

    #[inline]
    fn value(self, x: T) -> T {
        x.powf(self.0)
    }

    #[inline]
    fn gradient(self, g: T, kept: T) -> T {
        let (zero, one) = (
            <T::Real as num_traits::Zero>::zero(),
            <T::Real as num_traits::One>::one(),
        );
        // A constant has slope 0 even at 0, where the formula says 0 times infinity.
        if self.0 == zero {
            return T::zero();
        }
        if self.0 == one {
            return g;
        }
        guarded(g, |g| g * kept.powf(self.0 - one).scale(self.0).conj())
    }
}

impl<T: Element> Tensor<T> {
    /// Returns every element to the power of a real constant, on the principal branch.
    ///
    /// The gradient is exact at 0: 0 for the power 0 and above 1, 1 for the power 1,
    /// infinite between.
    #[must_use]
    pub fn powf(&self, exponent: T::Real) -> Self {
        unary(self, Powf(exponent))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::element::RealElement;
    use crate::op_table::{Case, ONE, POSITIVE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].powf(T::Real::from_f64(1.7)))
    }
    vec![Case::all("powf", apply, apply, apply, apply, ONE, POSITIVE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn small_powers_have_exact_gradients_at_zero() {
        let x = Tensor::leaf(Array::scalar(0.0_f64));
        for (exponent, slope) in [(0.0, 0.0), (1.0, 1.0), (2.0, 0.0), (0.5, f64::INFINITY)] {
            let gradients = x.powf(exponent).backward().unwrap();
            assert_eq!(gradients.get(&x), Some(&[slope][..]), "{exponent}");
        }
    }
}
