//! Axes of size 1 repeated; the backward adds up what was repeated.

use core::marker::PhantomData;

use crate::element::Element;
use crate::error::Result;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::shape::{Shape, dims};
use crate::slot::Buf;
use crate::tensor::Tensor;

#[derive(Debug)]
struct BroadcastTo<T> {
    from: Shape,
    to: Shape,
    element: PhantomData<T>,
}

impl<T: Element> Op for BroadcastTo<T> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        to.pass(0, Some((&self.from, &self.to)), gradient, |g| g);
    }
}

impl<T: Element> Tensor<T> {
    /// Returns a view in which axes of size 1, and new leading axes, repeat to fill `shape`.
    ///
    /// # Errors
    ///
    /// [`Error::Reshape`](crate::Error::Reshape) unless each axis, counted from the last, is equal or 1.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        let value = self.value().broadcast_to(shape)?;
        Ok(Self::record(value, [self.node()], || BroadcastTo {
            from: dims(self.shape()),
            to: dims(shape),
            element: PhantomData,
        }))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].broadcast_to(&[2, 3, 4])
    }
    fn empty<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].broadcast_to(&[2, 0])
    }
    const FIT: &[&[&[usize]]] = &[&[&[]], &[&[4]], &[&[3, 1]], &[&[2, 1, 4]], &[&[2, 3, 4]]];
    const NONE: &[&[&[usize]]] = &[&[&[1]], &[&[2, 0]], &[&[]]];
    vec![
        Case::all("broadcast_to", apply, apply, apply, apply, FIT, WIDE),
        Case::all("broadcast_to", empty, empty, empty, empty, NONE, WIDE),
    ]
}
