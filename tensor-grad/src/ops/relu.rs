//! The rectifier: what is positive, and 0, elementwise; its backward reads the result.

use crate::element::RealElement;
use crate::tensor::Tensor;
use crate::unary::{Keeps, Rule, unary};

#[derive(Debug, Clone, Copy)]
struct Relu;

impl<T: RealElement> Rule<T> for Relu {
    const KEEPS: Keeps = Keeps::Output;

    #[inline]
    fn value(self, x: T) -> T {
        if x <= T::zero() { T::zero() } else { x }
    }

    #[inline]
    fn gradient(self, g: T, kept: T) -> T {
        if kept <= T::zero() { T::zero() } else { g }
    }
}

impl<T: RealElement> Tensor<T> {
    /// Returns every positive element, and 0 for the others.
    ///
    /// The gradient at 0 is 0. Not-a-number stays what it is.
    #[must_use]
    pub fn relu(&self) -> Self {
        unary(self, Relu)
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, ONE, WIDE};

    fn apply<T: RealElement>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].relu())
    }
    vec![Case::real("relu", apply, apply, ONE, WIDE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn the_gradient_at_zero_is_zero() {
        let x = Tensor::leaf(Array::from_vec(&[4], vec![-1.0_f32, 0.0, 2.0, f32::NAN]).unwrap());
        let y = x.relu();
        assert_eq!(y.to_vec()[..3], [0.0, 0.0, 2.0]);
        assert!(y.to_vec()[3].is_nan());
        assert_eq!(y.sum().backward().unwrap().get(&x), Some(&[0.0, 0.0, 1.0, 1.0][..]));
    }
}
