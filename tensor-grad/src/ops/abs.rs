//! The magnitude, elementwise: real for real and complex elements.

use crate::array::Array;
use crate::element::Element;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::{map, put2};
use crate::slot::Buf;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Abs<T: Element>(Array<T>);

impl<T: Element> Op for Abs<T> {
    type Out = T::Real;

    fn backward<'a>(&self, gradient: Buf<'a, T::Real>, to: &mut Inputs<'_, 'a>) {
        let x = self.0.dense();
        to.put(0, |dst: &mut [T], mode| {
            put2(dst, mode, (&gradient, &x), |g, x| x.direction().scale(g));
        });
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the magnitude of every element.
    ///
    /// The gradient is the element's direction `z / |z|`, and 0 at 0; neither overflows.
    #[must_use]
    pub fn abs(&self) -> Tensor<T::Real> {
        let value = map(self.value(), T::magnitude);
        Tensor::record(value, [self.node()], || Abs(self.value().clone()))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::Complex;
    use crate::element::RealElement;
    use crate::op_table::{Case, ONE, WIDE};

    fn real<T: RealElement>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].abs())
    }
    fn complex<R: RealElement>(x: &[Tensor<Complex<R>>]) -> crate::Result<Tensor<Complex<R>>>
    where
        Complex<R>: Element<Real = R>,
    {
        Ok(x[0].abs().to_complex())
    }
    vec![Case::all("abs", real, real, complex, complex, ONE, WIDE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Complex, Tensor};

    #[test]
    fn the_complex_gradient_is_the_direction_and_zero_at_zero() {
        let z = [(0.0, 0.0), (3.0, 4.0), (1e300, 0.0), (-1.0568e-23, 0.0)];
        let z: Vec<_> = z.iter().map(|&(re, im)| Complex::new(re, im)).collect();
        let z = Tensor::leaf(Array::from_vec(&[4], z).unwrap());
        let gradients = z.abs().sum().backward().unwrap();
        let want = [(0.0, 0.0), (0.6, 0.8), (1.0, 0.0), (-1.0, 0.0)];
        for (got, want) in gradients.get(&z).unwrap().iter().zip(want) {
            assert!((got - Complex::new(want.0, want.1)).norm() < 1e-15);
        }
    }

    #[test]
    fn the_real_gradient_at_zero_is_zero() {
        let x = Tensor::leaf(Array::from_vec(&[3], vec![-2.0_f32, 0.0, 5.0]).unwrap());
        let gradients = x.abs().sum().backward().unwrap();
        assert_eq!(gradients.get(&x), Some(&[-1.0, 0.0, 1.0][..]));
    }
}
