//! The hyperbolic tangent, elementwise; its backward reads the result.

use crate::element::Element;
use crate::tensor::Tensor;
use crate::unary::{Keeps, Rule, unary};

#[derive(Debug, Clone, Copy)]
struct Tanh;

impl<T: Element> Rule<T> for Tanh {
    const KEEPS: Keeps = Keeps::Output;

    #[inline]
    fn value(self, x: T) -> T {
        x.tanh()
    }

    #[inline]
    fn gradient(self, g: T, kept: T) -> T {
        g * (T::one() - kept * kept).conj()
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the hyperbolic tangent of every element.
    #[must_use]
    pub fn tanh(&self) -> Self {
        unary(self, Tanh)
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, ONE, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].tanh())
    }
    vec![Case::all("tanh", apply, apply, apply, apply, ONE, WIDE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn far_from_zero_it_saturates_with_gradient_zero() {
        let x = Tensor::leaf(Array::from_vec(&[2], vec![1000.0_f64, -1000.0]).unwrap());
        let y = x.tanh();
        assert_eq!(y.to_vec(), [1.0, -1.0]);
        assert_eq!(y.sum().backward().unwrap().get(&x), Some(&[0.0, 0.0][..]));
    }
}
