//! The logistic function, elementwise; its backward reads the result.

use crate::element::Element;
use crate::tensor::Tensor;
use crate::unary::{Keeps, Rule, unary};

#[derive(Debug, Clone, Copy)]
struct Sigmoid;

impl<T: Element> Rule<T> for Sigmoid {
    const KEEPS: Keeps = Keeps::Output;

    #[inline]
    fn value(self, x: T) -> T {
        x.sigmoid()
    }

    #[inline]
    fn gradient(self, g: T, kept: T) -> T {
        g * (kept * (T::one() - kept)).conj()
    }
}

impl<T: Element> Tensor<T> {
    /// Returns `1 / (1 + exp(-x))` of every element, without overflow.
    #[must_use]
    pub fn sigmoid(&self) -> Self {
        unary(self, Sigmoid)
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, ONE, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].sigmoid())
    }
    vec![Case::all("sigmoid", apply, apply, apply, apply, ONE, WIDE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn far_from_zero_it_saturates_with_gradient_zero() {
        let x = Tensor::leaf(Array::from_vec(&[2], vec![1000.0_f64, -1000.0]).unwrap());
        let y = x.sigmoid();
        assert_eq!(y.to_vec(), [1.0, 0.0]);
        assert_eq!(y.sum().backward().unwrap().get(&x), Some(&[0.0, 0.0][..]));
    }
}
