//! The natural logarithm, elementwise; its backward reads the operand.

use crate::element::Element;
use crate::tensor::Tensor;
use crate::unary::{Keeps, Rule, guarded, unary};

#[derive(Debug, Clone, Copy)]
struct Log;

impl<T: Element> Rule<T> for Log {
    const KEEPS: Keeps = Keeps::Input;

    #[inline]
    fn value(self, x: T) -> T {
        x.ln()
    }

    #[inline]
    fn gradient(self, g: T, kept: T) -> T {
        guarded(g, |g| g.over(kept.conj()))
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the natural logarithm of every element, on the principal branch.
    ///
    /// The gradient at 0 is infinite, and 0 where the incoming one is.
    #[must_use]
    pub fn log(&self) -> Self {
        unary(self, Log)
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, ONE, POSITIVE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].log())
    }
    vec![Case::all("log", apply, apply, apply, apply, ONE, POSITIVE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn the_gradient_at_zero_is_infinite_and_never_not_a_number() {
        let x = Tensor::leaf(Array::from_vec(&[2], vec![0.0_f64, 1.0]).unwrap());
        let y = x.log();
        assert_eq!(y.to_vec(), [f64::NEG_INFINITY, 0.0]);
        assert_eq!(y.sum().backward().unwrap().get(&x), Some(&[f64::INFINITY, 1.0][..]));
        let only_second = Array::from_vec(&[2], vec![0.0, 1.0]).unwrap();
        assert_eq!(y.backward_with(&only_second).unwrap().get(&x), Some(&[0.0, 1.0][..]));
    }
}
