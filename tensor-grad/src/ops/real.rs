//! The real part, elementwise; its backward reads nothing.

use core::marker::PhantomData;

use crate::element::Element;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::{map, put1};
use crate::slot::Buf;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Real<T>(PhantomData<T>);

impl<T: Element> Op for Real<T> {
    type Out = T::Real;

    fn backward<'a>(&self, gradient: Buf<'a, T::Real>, to: &mut Inputs<'_, 'a>) {
        to.put(0, |dst: &mut [T], mode| {
            put1(dst, mode, &gradient, |g| T::from_real(g));
        });
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the real part of every element.
    #[must_use]
    pub fn real(&self) -> Tensor<T::Real> {
        let value = map(self.value(), T::re);
        Tensor::record(value, [self.node()], || Real::<T>(PhantomData))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::Complex;
    use crate::element::RealElement;
    use crate::op_table::{Case, ONE, WIDE};

    fn real<T: RealElement>(x: &[Tensor<T>]) -> crate::Result<Tensor<T>> {
        Ok(x[0].real())
    }
    fn complex<R: RealElement>(x: &[Tensor<Complex<R>>]) -> crate::Result<Tensor<Complex<R>>>
    where
        Complex<R>: Element<Real = R>,
    {
        Ok(x[0].real().to_complex())
    }
    vec![Case::all("real", real, real, complex, complex, ONE, WIDE)]
}
