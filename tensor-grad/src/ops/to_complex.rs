//! A real tensor as a complex one; the way back is the real part.

use core::marker::PhantomData;

use num_complex::Complex;

use crate::element::{Element, RealElement};
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::{map, put1};
use crate::slot::Buf;
use crate::tensor::Tensor;

#[derive(Debug)]
struct ToComplex<R>(PhantomData<R>);

impl<R: RealElement> Op for ToComplex<R>
where
    Complex<R>: Element<Real = R>,
{
    type Out = Complex<R>;

    fn backward<'a>(&self, gradient: Buf<'a, Complex<R>>, to: &mut Inputs<'_, 'a>) {
        to.put(0, |dst: &mut [R], mode| {
            put1(dst, mode, &gradient, Element::re);
        });
    }
}

impl<R: RealElement> Tensor<R>
where
    Complex<R>: Element<Real = R>,
{
    /// Returns the same numbers as complex ones, so that real leaves can take part in complex graphs.
    ///
    /// The gradient of a real leaf stays real.
    #[must_use]
    pub fn to_complex(&self) -> Tensor<Complex<R>> {
        let value = map(self.value(), Complex::<R>::from_real);
        Tensor::record(value, [self.node()], || ToComplex::<R>(PhantomData))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, ONE, WIDE};

    // Through the complex plane and back, with a rotation between.
    fn apply<R: RealElement>(x: &[Tensor<R>]) -> crate::Result<Tensor<R>>
    where
        Complex<R>: Element<Real = R>,
    {
        let turn = Complex::<R>::from_parts(R::from_f64(0.6), R::from_f64(0.8));
        Ok(x[0].to_complex().try_mul(&Tensor::scalar(turn))?.real())
    }
    vec![Case::real("to_complex", apply, apply, ONE, WIDE)]
}
