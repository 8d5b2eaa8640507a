//! Sums, over all axes or some; the backward repeats the gradient.

use crate::element::Element;
use crate::error::Result;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::fold::fold_array;
use crate::kernel::map::put_strided;
use crate::reduction::{Reduced, Reduction};
use crate::slot::Buf;
use crate::store::Store;
use crate::tensor::Tensor;
use crate::{Array, RealElement};

#[derive(Debug)]
struct Sum<T: Element> {
    reduction: Reduction,
    /// What the sum is multiplied by: 1, or one over the number of elements for a mean.
    factor: T::Real,
}

impl<T: Element> Op for Sum<T> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        let Reduction { from, strides, .. } = &self.reduction;
        let factor = self.factor;
        to.put(0, |dst, mode| {
            put_strided(dst, mode, from, (&gradient, strides), |g: T| {
                g.scale(factor)
            });
        });
    }
}

/// The sums that `reduction` describes, or the means.
pub(super) fn summed<T: Element>(
    x: &Tensor<T>,
    reduction: Reduction,
    mean: Mean,
) -> Tensor<T> {
    let factor = match mean {
        Mean::No => T::Real::from_usize(1),
        // Of nothing: infinity, times a sum of zero, is the not-a-number that a mean of nothing is.
        Mean::Yes => T::Real::from_usize(1) / T::Real::from_usize(reduction.group()),
    };
    let mut out = Store::zeroed(reduction.len());
    fold_array(&mut out, &reduction.strides, x.value());
    if mean == Mean::Yes {
        out.iter_mut().for_each(|sum| *sum = sum.scale(factor));
    }
    let value = Array::from_store(reduction.to.clone(), out);
    Tensor::record(value, [x.node()], || Sum::<T> { reduction, factor })
}

/// Whether to divide a sum by the number of its terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mean {
    No,
    Yes,
}

impl<T: Element> Tensor<T> {
    /// Adds up all elements, to rank 0; 0 if there are none.
    #[must_use]
    pub fn sum(&self) -> Self {
        summed(self, Reduction::all(self.shape()), Mean::No)
    }

    /// Adds up the elements along `axes`, which the result does not have.
    ///
    /// # Errors
    ///
    /// [`Error::Axis`](crate::Error::Axis) if an axis does not exist,
    /// [`Error::Axes`](crate::Error::Axes) if one is named twice.
    pub fn sum_over(&self, axes: &[usize]) -> Result<Self> {
        let over = Reduction::new("sum_over", self.shape(), axes, Reduced::Dropped)?;
        Ok(summed(self, over, Mean::No))
    }

    /// Adds up the elements along `axes`, which the result keeps with size 1.
    ///
    /// # Errors
    ///
    /// As [`sum_over`](Self::sum_over).
    pub fn sum_keeping(&self, axes: &[usize]) -> Result<Self> {
        let over = Reduction::new("sum_keeping", self.shape(), axes, Reduced::Kept)?;
        Ok(summed(self, over, Mean::No))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, MATRICES, ONE, WIDE};

    fn all<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        Ok(x[0].sum())
    }
    fn first<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].sum_over(&[0])
    }
    fn second<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].sum_keeping(&[1])
    }
    vec![
        Case::all("sum", all, all, all, all, ONE, WIDE),
        Case::all("sum_over", first, first, first, first, MATRICES, WIDE),
        Case::all(
            "sum_keeping",
            second,
            second,
            second,
            second,
            MATRICES,
            WIDE,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn every_subset_of_axes_sums_to_the_same_total() {
        let data: Vec<f64> = (0..24).map(f64::from).collect();
        let x = Tensor::leaf(Array::from_vec(&[2, 3, 4], data).unwrap());
        for axes in [&[][..], &[0], &[1], &[2], &[0, 2], &[2, 1], &[0, 1, 2]] {
            let part = x.sum_over(axes).unwrap();
            assert_eq!(part.rank(), 3 - axes.len());
            assert_eq!(part.sum().item(), Ok(276.0));
            let kept = x.sum_keeping(axes).unwrap();
            assert_eq!((kept.rank(), kept.to_vec()), (3, part.to_vec()));
            let gradients = part.sum().backward().unwrap();
            assert_eq!(gradients.get(&x), Some(&[1.0; 24][..]));
        }
        assert_eq!(x.sum_over(&[1]).unwrap().to_vec()[..2], [12.0, 15.0]);
    }

    #[test]
    fn an_axis_that_does_not_exist_or_comes_twice_is_an_error() {
        let x = Tensor::leaf(Array::<f32>::zeros(&[2, 3]).unwrap());
        assert!(x.sum_over(&[2]).is_err());
        assert!(x.sum_over(&[1, 1]).is_err());
    }

    #[test]
    fn the_sum_of_nothing_is_zero_with_an_empty_gradient() {
        let x = Tensor::leaf(Array::<f64>::zeros(&[0]).unwrap());
        let sum = x.sum();
        assert_eq!(sum.item(), Ok(0.0));
        assert_eq!(sum.backward().unwrap().get(&x), Some(&[][..]));
    }
}
