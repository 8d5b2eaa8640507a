//! The difference of two tensors, broadcast.

use crate::broadcasting::Shapes;
use crate::element::Element;
use crate::error::Result;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::zip;
use crate::slot::Buf;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Sub<T> {
    shapes: Shapes,
    element: core::marker::PhantomData<T>,
}

impl<T: Element> Op for Sub<T> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        if to.wants(0) && to.wants(1) {
            to.unspread(0, self.shapes.pair(0), &gradient, |g| g);
            to.pass(1, self.shapes.pair(1), gradient, |g| -g);
        } else if to.wants(0) {
            to.pass(0, self.shapes.pair(0), gradient, |g| g);
        } else {
            to.pass(1, self.shapes.pair(1), gradient, |g| -g);
        }
    }
}

impl<T: Element> Tensor<T> {
    /// Subtracts two tensors, broadcasting; the operator `-` panics where this returns an error.
    ///
    /// # Errors
    ///
    /// [`Error::Broadcast`](crate::Error::Broadcast) if the shapes do not broadcast.
    pub fn try_sub(&self, other: &Self) -> Result<Self> {
        let value = zip("sub", self.value(), other.value(), |a, b| a - b)?;
        let shapes = Shapes::new(self.shape(), other.shape(), value.shape());
        Ok(Self::record(value, [self.node(), other.node()], || Sub {
            shapes,
            element: core::marker::PhantomData,
        }))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, PAIRS, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].try_sub(&x[1])
    }
    vec![Case::all("try_sub", apply, apply, apply, apply, PAIRS, WIDE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn a_tensor_less_itself_has_gradient_zero() {
        let x = Tensor::leaf(Array::from_vec(&[2], vec![1.0_f64, 2.0]).unwrap());
        let y = x.try_sub(&x).unwrap();
        assert_eq!(y.sum().backward().unwrap().get(&x), Some(&[0.0, 0.0][..]));
    }
}
