//! The same elements under another shape; the gradient moves through unchanged.

use core::marker::PhantomData;

use crate::element::Element;
use crate::error::Result;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::slot::Buf;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Reshape<T>(PhantomData<T>);

impl<T: Element> Op for Reshape<T> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        // Row-major under either shape.
        to.give(0, gradient);
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the elements under another shape: a view where the layout allows, else a copy.
    ///
    /// # Errors
    ///
    /// [`Error::Reshape`](crate::Error::Reshape) if the number of elements differs.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self> {
        let value = self.value().reshape(shape)?;
        Ok(Self::record(value, [self.node()], || Reshape(PhantomData)))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, ONE, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].reshape(&[x[0].len(), 1])
    }
    vec![Case::all("reshape", apply, apply, apply, apply, ONE, WIDE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn the_gradient_keeps_the_order_of_the_elements() {
        let x = Tensor::leaf(Array::from_vec(&[2, 2], vec![1.0_f64, 2.0, 3.0, 4.0]).unwrap());
        let y = x.transpose(0, 1).unwrap().reshape(&[4]).unwrap();
        assert_eq!(y.to_vec(), [1.0, 3.0, 2.0, 4.0]);
        let cotangent = Array::from_vec(&[4], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        let gradients = y.backward_with(&cotangent).unwrap();
        assert_eq!(gradients.get(&x), Some(&[1.0, 3.0, 2.0, 4.0][..]));
    }
}
