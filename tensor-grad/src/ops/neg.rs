//! The negative, elementwise; its backward reads nothing.

use core::marker::PhantomData;

use crate::element::Element;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::map;
use crate::slot::Buf;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Neg<T>(PhantomData<T>);

impl<T: Element> Op for Neg<T> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        to.pass(0, None, gradient, |g| -g);
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the negative of every element, as the operator `-` does.
    #[must_use]
    pub fn negative(&self) -> Self {
        let value = map(self.value(), |x| -x);
        Self::record(value, [self.node()], || Neg(PhantomData))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, ONE, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].negative())
    }
    vec![Case::all("negative", apply, apply, apply, apply, ONE, WIDE)]
}
