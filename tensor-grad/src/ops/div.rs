//! The elementwise quotient of two tensors, broadcast.

use crate::array::Array;
use crate::broadcasting::Shapes;
use crate::element::Element;
use crate::error::Result;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::zip;
use crate::slot::Buf;
use crate::tensor::Tensor;
use crate::unary::guarded;

#[derive(Debug)]
struct Div<T: Element> {
    shapes: Shapes,
    divisor: Array<T>,
    /// The slope along the divisor, `-(a / b) / b`; made on the way forward only if it is needed.
    slope: Option<Array<T>>,
}

impl<T: Element> Op for Div<T> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        to.spread(0, self.shapes.pair(0), &gradient, &self.divisor, |g, b| {
            guarded(g, |g| g.over(b.conj()))
        });
        if let Some(slope) = &self.slope {
            to.spread(1, self.shapes.pair(1), &gradient, slope, |g, s| {
                guarded(g, |g| g * s.conj())
            });
        }
    }
}

impl<T: Element> Tensor<T> {
    /// Divides two tensors elementwise, broadcasting; the operator `/` panics where this returns an error.
    ///
    /// Complex quotients are scaled: they do not overflow on the way.
    ///
    /// # Errors
    ///
    /// [`Error::Broadcast`](crate::Error::Broadcast) if the shapes do not broadcast.
    pub fn try_div(&self, other: &Self) -> Result<Self> {
        let value = zip("div", self.value(), other.value(), T::over)?;
        let shapes = Shapes::new(self.shape(), other.shape(), value.shape());
        let slope = match other.node() {
            Some(_) if crate::mode::recording() => {
                Some(zip("div", &value, other.value(), |q, b| -q.over(b))?)
            }
            _ => None,
        };
        Ok(Self::record(value, [self.node(), other.node()], || Div {
            shapes,
            divisor: other.value().clone(),
            slope,
        }))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, PAIRS, POSITIVE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].try_div(&x[1])
    }
    vec![Case::all(
        "try_div", apply, apply, apply, apply, PAIRS, POSITIVE,
    )]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn a_tensor_divided_by_itself_has_gradient_zero() {
        let x = Tensor::leaf(Array::from_vec(&[2], vec![2.0_f64, -4.0]).unwrap());
        let y = x.try_div(&x).unwrap();
        assert_eq!(y.sum().backward().unwrap().get(&x), Some(&[0.0, 0.0][..]));
    }
}
