//! The imaginary part, elementwise; its backward reads nothing.

use core::marker::PhantomData;

use crate::element::Element;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::{map, put1};
use crate::slot::Buf;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Imag<T>(PhantomData<T>);

impl<T: Element> Op for Imag<T> {
    type Out = T::Real;

    fn backward<'a>(&self, gradient: Buf<'a, T::Real>, to: &mut Inputs<'_, 'a>) {
        // A real type has no second part: `from_parts` drops it.
        let zero = <T::Real as num_traits::Zero>::zero();
        to.put(0, |dst: &mut [T], mode| {
            put1(dst, mode, &gradient, |g| T::from_parts(zero, g));
        });
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the imaginary part of every element: 0 for real elements.
    #[must_use]
    pub fn imag(&self) -> Tensor<T::Real> {
        let value = map(self.value(), T::im);
        Tensor::record(value, [self.node()], || Imag::<T>(PhantomData))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::Complex;
    use crate::element::RealElement;
    use crate::op_table::{Case, ONE, WIDE};

    fn real<T: RealElement>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].imag())
    }
    fn complex<R: RealElement>(x: &[Tensor<Complex<R>>]) -> crate::Result<Tensor<Complex<R>>>
    where
        Complex<R>: Element<Real = R>,
    {
        Ok(x[0].imag().to_complex())
    }
    vec![Case::all("imag", real, real, complex, complex, ONE, WIDE)]
}
