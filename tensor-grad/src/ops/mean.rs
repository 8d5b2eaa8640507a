//! Means, over all axes or some: sums times one over the number of elements.

use super::sum::{Mean, summed};
use crate::element::Element;
use crate::error::Result;
use crate::reduction::{Reduced, Reduction};
use crate::tensor::Tensor;

impl<T: Element> Tensor<T> {
    /// Returns the mean of all elements, at rank 0; not-a-number if there are none.
    #[must_use]
    pub fn mean(&self) -> Self {
        summed(self, Reduction::all(self.shape()), Mean::Yes)
    }

    /// Returns the mean along `axes`, which the result does not have.
    ///
    /// # Errors
    ///
    /// [`Error::Axis`](crate::Error::Axis) if an axis does not exist,
    /// [`Error::Axes`](crate::Error::Axes) if one is named twice.
    pub fn mean_over(&self, axes: &[usize]) -> Result<Self> {
        let over = Reduction::new("mean_over", self.shape(), axes, Reduced::Dropped)?;
        Ok(summed(self, over, Mean::Yes))
    }

    /// Returns the mean along `axes`, which the result keeps with size 1.
    ///
    /// # Errors
    ///
    /// As [`mean_over`](Self::mean_over).
    pub fn mean_keeping(&self, axes: &[usize]) -> Result<Self> {
        let over = Reduction::new("mean_keeping", self.shape(), axes, Reduced::Kept)?;
        Ok(summed(self, over, Mean::Yes))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, MATRICES, ONE, WIDE};

    fn all<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        Ok(if x[0].is_empty() {
            x[0].sum()
        } else {
            x[0].mean()
        })
    }
    fn second<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].mean_over(&[1])
    }
    fn first<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].mean_keeping(&[0])
    }
    vec![
        Case::all("mean", all, all, all, all, ONE, WIDE),
        Case::all("mean_over", second, second, second, second, MATRICES, WIDE),
        Case::all("mean_keeping", first, first, first, first, MATRICES, WIDE),
    ]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn the_mean_of_nothing_is_not_a_number_with_an_empty_gradient() {
        let x = Tensor::leaf(Array::<f64>::zeros(&[2, 0]).unwrap());
        let mean = x.mean();
        assert!(mean.item().unwrap().is_nan());
        assert_eq!(mean.backward().unwrap().get(&x), Some(&[][..]));
    }
}
