//! The sine, elementwise; its backward reads the operand.

use crate::element::Element;
use crate::tensor::Tensor;
use crate::unary::{Keeps, Rule, unary};

#[derive(Debug, Clone, Copy)]
struct Sin;

impl<T: Element> Rule<T> for Sin {
    const KEEPS: Keeps = Keeps::Input;

    #[inline]
    fn value(self, x: T) -> T {
        x.sin()
    }

    #[inline]
    fn gradient(self, g: T, kept: T) -> T {
        g * kept.cos().conj()
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the sine of every element.
    #[must_use]
    pub fn sin(&self) -> Self {
        unary(self, Sin)
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, ONE, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].sin())
    }
    vec![Case::all("sin", apply, apply, apply, apply, ONE, WIDE)]
}
