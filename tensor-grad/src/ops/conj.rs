//! The complex conjugate, elementwise; its backward reads nothing.

use core::marker::PhantomData;

use crate::element::Element;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::map;
use crate::slot::Buf;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Conj<T>(PhantomData<T>);

impl<T: Element> Op for Conj<T> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        to.pass(0, None, gradient, T::conj);
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the complex conjugate of every element; of a real tensor, the tensor itself.
    #[must_use]
    pub fn conj(&self) -> Self {
        if !T::IS_COMPLEX {
            return self.clone();
        }
        let value = map(self.value(), T::conj);
        Self::record(value, [self.node()], || Conj(PhantomData))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, ONE, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].conj())
    }
    vec![Case::all("conj", apply, apply, apply, apply, ONE, WIDE)]
}
