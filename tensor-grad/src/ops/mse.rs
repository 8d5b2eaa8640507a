//! The mean square of a difference, as one node; real for real and complex operands.

use crate::array::Array;
use crate::element::{Element, RealElement};
use crate::error::{Error, Result};
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::{put1, zip};
use crate::kernel::sum::sum_of;
use crate::slot::Buf;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Mse<T: Element> {
    difference: Array<T>,
}

impl<T: Element> Op for Mse<T> {
    type Out = T::Real;

    fn backward<'a>(&self, gradient: Buf<'a, T::Real>, to: &mut Inputs<'_, 'a>) {
        let difference = self.difference.dense();
        let two = T::Real::from_usize(2);
        let factor = gradient[0] * (two / T::Real::from_usize(difference.len()));
        to.put(0, |dst: &mut [T], mode| {
            put1(dst, mode, &difference, |d| d.scale(factor));
        });
        to.put(1, |dst: &mut [T], mode| {
            put1(dst, mode, &difference, |d| -d.scale(factor));
        });
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the mean of `|self - target|²` over all elements; both shapes must be equal.
    ///
    /// Of no elements it is not-a-number.
    ///
    /// # Errors
    ///
    /// [`Error::Unequal`] if the shapes differ. (Broadcasting here hides mistakes.)
    pub fn mse(&self, target: &Self) -> Result<Tensor<T::Real>> {
        if self.shape() != target.shape() {
            return Err(Error::Unequal {
                op: "mse",
                left: self.shape().into(),
                right: target.shape().into(),
            });
        }
        let difference = zip("mse", self.value(), target.value(), |a, b| a - b)?;
        let d = difference.dense();
        let squares = sum_of(d.len(), |j| {
            let (re, im) = (d[j].re(), d[j].im());
            re * re + im * im
        });
        let value = Array::scalar(squares / T::Real::from_usize(d.len()));
        drop(d);
        Ok(Tensor::record(value, [self.node(), target.node()], || {
            Mse { difference }
        }))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::Complex;
    use crate::op_table::{Case, WIDE};

    fn real<T: RealElement>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].mse(&x[1])
    }
    fn complex<R: RealElement>(x: &[Tensor<Complex<R>>]) -> Result<Tensor<Complex<R>>>
    where
        Complex<R>: Element<Real = R>,
    {
        Ok(x[0].mse(&x[1])?.to_complex())
    }
    const SHAPES: &[&[&[usize]]] = &[&[&[2, 3], &[2, 3]], &[&[], &[]]];
    vec![Case::all("mse", real, real, complex, complex, SHAPES, WIDE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn shapes_that_differ_are_an_error_and_not_a_broadcast() {
        let a = Tensor::constant(Array::<f32>::zeros(&[3, 1]).unwrap());
        let b = Tensor::constant(Array::<f32>::zeros(&[3]).unwrap());
        assert_eq!(
            a.mse(&b).unwrap_err().to_string(),
            "mse: shapes [3, 1] and [3] differ; they must be equal"
        );
    }
}
