//! The exponential, elementwise; its backward reads the result.

use crate::element::Element;
use crate::tensor::Tensor;
use crate::unary::{Keeps, Rule, unary};

#[derive(Debug, Clone, Copy)]
struct Exp;

impl<T: Element> Rule<T> for Exp {
    const KEEPS: Keeps = Keeps::Output;

    #[inline]
    fn value(self, x: T) -> T {
        x.exp()
    }

    #[inline]
    fn gradient(self, g: T, kept: T) -> T {
        g * kept.conj()
    }
}

impl<T: Element> Tensor<T> {
    /// Returns `e` to the power of every element.
    #[must_use]
    pub fn exp(&self) -> Self {
        unary(self, Exp)
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, ONE, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].exp())
    }
    vec![Case::all("exp", apply, apply, apply, apply, ONE, WIDE)]
}
