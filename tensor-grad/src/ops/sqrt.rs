//! The square root, elementwise; its backward reads the result.

use crate::element::Element;
use crate::tensor::Tensor;
use crate::unary::{Keeps, Rule, guarded, unary};

#[derive(Debug, Clone, Copy)]
struct Sqrt;

impl<T: Element> Rule<T> for Sqrt {
    const KEEPS: Keeps = Keeps::Output;

    #[inline]
    fn value(self, x: T) -> T {
        x.sqrt()
    }

    #[inline]
    fn gradient(self, g: T, kept: T) -> T {
        guarded(g, |g| g.over((kept + kept).conj()))
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the square root of every element, on the principal branch.
    ///
    /// The gradient at 0 is infinite, and 0 where the incoming one is.
    #[must_use]
    pub fn sqrt(&self) -> Self {
        unary(self, Sqrt)
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, ONE, POSITIVE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].sqrt())
    }
    vec![Case::all("sqrt", apply, apply, apply, apply, ONE, POSITIVE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn the_gradient_at_zero_is_infinite_and_never_not_a_number() {
        let x = Tensor::leaf(Array::from_vec(&[2], vec![0.0_f32, 4.0]).unwrap());
        let y = x.sqrt();
        assert_eq!(y.to_vec(), [0.0, 2.0]);
        assert_eq!(y.sum().backward().unwrap().get(&x), Some(&[f32::INFINITY, 0.25][..]));
        let only_second = Array::from_vec(&[2], vec![0.0, 1.0]).unwrap();
        assert_eq!(y.backward_with(&only_second).unwrap().get(&x), Some(&[0.0, 0.25][..]));
    }
}
