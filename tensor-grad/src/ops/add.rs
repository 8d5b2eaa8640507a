//! The sum of two tensors, broadcast.

use crate::broadcasting::Shapes;
use crate::element::Element;
use crate::error::Result;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::zip;
use crate::slot::Buf;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Add<T> {
    shapes: Shapes,
    element: core::marker::PhantomData<T>,
}

impl<T: Element> Op for Add<T> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        if to.wants(0) && to.wants(1) {
            to.unspread(0, self.shapes.pair(0), &gradient, |g| g);
            to.pass(1, self.shapes.pair(1), gradient, |g| g);
        } else {
            let i = usize::from(to.wants(1));
            to.pass(i, self.shapes.pair(i), gradient, |g| g);
        }
    }
}

impl<T: Element> Tensor<T> {
    /// Adds two tensors, broadcasting; the operator `+` panics where this returns an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use tensor_grad::{Array, Tensor};
    ///
    /// let column = Tensor::leaf(Array::from_vec(&[2, 1], vec![10.0_f32, 20.0])?);
    /// let row = Tensor::leaf(Array::from_vec(&[3], vec![1.0, 2.0, 3.0])?);
    /// let sum = column.try_add(&row)?;
    /// assert_eq!(sum.to_vec(), [11.0, 12.0, 13.0, 21.0, 22.0, 23.0]);
    /// // Each operand's gradient has its own shape: what was repeated adds up.
    /// let gradients = sum.sum().backward()?;
    /// assert_eq!(gradients.get(&column), Some(&[3.0, 3.0][..]));
    /// assert_eq!(gradients.get(&row), Some(&[2.0, 2.0, 2.0][..]));
    /// # Ok::<(), tensor_grad::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Broadcast`](crate::Error::Broadcast) if the shapes do not broadcast.
    pub fn try_add(&self, other: &Self) -> Result<Self> {
        let value = zip("add", self.value(), other.value(), |a, b| a + b)?;
        let shapes = Shapes::new(self.shape(), other.shape(), value.shape());
        Ok(Self::record(value, [self.node(), other.node()], || Add {
            shapes,
            element: core::marker::PhantomData,
        }))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, PAIRS, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].try_add(&x[1])
    }
    vec![Case::all("try_add", apply, apply, apply, apply, PAIRS, WIDE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn one_tensor_added_to_itself_gets_both_contributions() {
        let x = Tensor::leaf(Array::from_vec(&[2], vec![1.0_f64, 2.0]).unwrap());
        let y = x.try_add(&x).unwrap();
        assert_eq!(y.sum().backward().unwrap().get(&x), Some(&[2.0, 2.0][..]));
    }

    #[test]
    fn shapes_that_do_not_meet_are_named() {
        let a = Tensor::constant(Array::<f32>::zeros(&[3]).unwrap());
        let b = Tensor::constant(Array::<f32>::zeros(&[4]).unwrap());
        let error = a.try_add(&b).unwrap_err().to_string();
        assert!(error.starts_with("add: shapes [3] and [4] do not broadcast"));
    }
}
