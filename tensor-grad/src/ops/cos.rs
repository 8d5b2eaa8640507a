//! The cosine, elementwise; its backward reads the operand.

use crate::element::Element;
use crate::tensor::Tensor;
use crate::unary::{Keeps, Rule, unary};

#[derive(Debug, Clone, Copy)]
struct Cos;

impl<T: Element> Rule<T> for Cos {
    const KEEPS: Keeps = Keeps::Input;

    #[inline]
    fn value(self, x: T) -> T {
        x.cos()
    }

    #[inline]
    fn gradient(self, g: T, kept: T) -> T {
        -(g * kept.sin().conj())
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the cosine of every element.
    #[must_use]
    pub fn cos(&self) -> Self {
        unary(self, Cos)
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, ONE, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].cos())
    }
    vec![Case::all("cos", apply, apply, apply, apply, ONE, WIDE)]
}
