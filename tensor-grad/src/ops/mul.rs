//! The elementwise product of two tensors, broadcast.

use crate::array::Array;
use crate::broadcasting::Shapes;
use crate::element::Element;
use crate::error::Result;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::zip;
use crate::slot::Buf;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Mul<T: Element> {
    shapes: Shapes,
    /// Kept for the right operand's gradient, if it needs one.
    left: Option<Array<T>>,
    /// Kept for the left operand's gradient, if it needs one.
    right: Option<Array<T>>,
}

impl<T: Element> Op for Mul<T> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        let slope = |g: T, x: T| g * x.conj();
        if let Some(right) = &self.right {
            if self.left.is_none() && self.shapes.pair(0).is_none() {
                return to.pull(0, gradient, &right.dense(), slope);
            }
            to.spread(0, self.shapes.pair(0), &gradient, right, slope);
        }
        if let Some(left) = &self.left {
            if self.shapes.pair(1).is_none() {
                return to.pull(1, gradient, &left.dense(), slope);
            }
            to.spread(1, self.shapes.pair(1), &gradient, left, slope);
        }
    }
}

impl<T: Element> Tensor<T> {
    /// Multiplies two tensors elementwise, broadcasting; the operator `*` panics where this returns an error.
    ///
    /// # Errors
    ///
    /// [`Error::Broadcast`](crate::Error::Broadcast) if the shapes do not broadcast.
    pub fn try_mul(&self, other: &Self) -> Result<Self> {
        let value = zip("mul", self.value(), other.value(), |a, b| a * b)?;
        let shapes = Shapes::new(self.shape(), other.shape(), value.shape());
        Ok(Self::record(value, [self.node(), other.node()], || Mul {
            shapes,
            left: other.node().map(|_| self.value().clone()),
            right: self.node().map(|_| other.value().clone()),
        }))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, PAIRS, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].try_mul(&x[1])
    }
    vec![Case::all("try_mul", apply, apply, apply, apply, PAIRS, WIDE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn a_square_has_twice_the_operand_as_gradient() {
        let x = Tensor::leaf(Array::from_vec(&[2], vec![3.0_f64, -2.0]).unwrap());
        let y = x.try_mul(&x).unwrap();
        assert_eq!(y.sum().backward().unwrap().get(&x), Some(&[6.0, -4.0][..]));
    }
}
