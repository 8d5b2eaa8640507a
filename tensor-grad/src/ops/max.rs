//! The largest element, over all axes or some.
//!
//! Elements that tie for the maximum share its gradient equally, with an axis
//! and without. Not-a-number counts as largest.

use crate::array::Array;
use crate::element::RealElement;
use crate::error::{Error, Result};
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::walk::walk;
use crate::reduction::{Reduced, Reduction};
use crate::shape::row_major;
use crate::slot::Buf;
use crate::store::Store;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Max<T: RealElement> {
    reduction: Reduction,
    x: Array<T>,
    out: Array<T>,
}

fn ties<T: RealElement>(x: T, max: T) -> bool {
    x == max || (x.is_nan() && max.is_nan())
}

impl<T: RealElement> Op for Max<T> {
    type Out = T;

    fn backward<'a>(&self, mut gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        let Reduction { from, strides, .. } = &self.reduction;
        let (x, max) = (self.x.dense(), self.out.dense());
        let own = row_major(from);
        let mut count: Store<T> = Store::zeroed(max.len());
        walk(from, [&own, strides], [0; 2], |[ix, im], n, [sx, sm]| {
            for j in 0..n {
                let at = im + j * sm;
                if ties(x[ix + j * sx], max[at]) {
                    count[at] += T::one();
                }
            }
        });
        for (g, &count) in gradient.iter_mut().zip(&*count) {
            *g /= count;
        }
        to.add(0, |dst: &mut [T]| {
            walk(from, [&own, strides], [0; 2], |[ix, im], n, [sx, sm]| {
                for j in 0..n {
                    let at = im + j * sm;
                    if ties(x[ix + j * sx], max[at]) {
                        dst[ix + j * sx] += gradient[at];
                    }
                }
            });
        });
    }
}

fn largest<T: RealElement>(
    op: &'static str,
    x: &Tensor<T>,
    reduction: Reduction,
) -> Result<Tensor<T>> {
    if reduction.group() == 0 {
        return Err(Error::Empty {
            op,
            shape: x.shape().into(),
        });
    }
    let mut out: Store<T> = Store::unspecified(reduction.len());
    out.fill(T::NEG_INFINITY);
    let (data, offset) = x.value().raw();
    walk(
        x.shape(),
        [&reduction.strides, x.value().strides()],
        [0, offset],
        |[to, from], n, [step, step_x]| {
            for j in 0..n {
                let x = data[from.wrapping_add(j.wrapping_mul(step_x))];
                let max = &mut out[to + j * step];
                // Nothing is greater than not-a-number, so it stays once it is there.
                if x > *max || x.is_nan() {
                    *max = x;
                }
            }
        },
    );
    let value = Array::from_store(reduction.to.clone(), out);
    let out = value.clone();
    Ok(Tensor::record(value, [x.node()], || Max {
        reduction,
        x: x.value().clone(),
        out,
    }))
}

impl<T: RealElement> Tensor<T> {
    /// Returns the largest element, at rank 0. Ties share its gradient equally.
    ///
    /// # Examples
    ///
    /// ```
    /// use tensor_grad::{Array, Tensor};
    ///
    /// let x = Tensor::leaf(Array::from_vec(&[3], vec![2.0_f32, 2.0, 1.0])?);
    /// assert_eq!(x.max()?.backward()?.get(&x), Some(&[0.5, 0.5, 0.0][..]));
    /// # Ok::<(), tensor_grad::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] if there are no elements.
    pub fn max(&self) -> Result<Self> {
        largest("max", self, Reduction::all(self.shape()))
    }

    /// Returns the largest elements along `axes`, which the result does not have.
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] if one of `axes` has size 0, [`Error::Axis`] if one does not
    /// exist, [`Error::Axes`] if one is named twice.
    pub fn max_over(&self, axes: &[usize]) -> Result<Self> {
        let op = "max_over";
        largest(op, self, Reduction::new(op, self.shape(), axes, Reduced::Dropped)?)
    }

    /// Returns the largest elements along `axes`, which the result keeps with size 1.
    ///
    /// # Errors
    ///
    /// As [`max_over`](Self::max_over).
    pub fn max_keeping(&self, axes: &[usize]) -> Result<Self> {
        let op = "max_keeping";
        largest(op, self, Reduction::new(op, self.shape(), axes, Reduced::Kept)?)
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, FULL_MATRICES, WIDE};

    fn all<T: RealElement>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].max()
    }
    fn first<T: RealElement>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].max_over(&[0])
    }
    fn second<T: RealElement>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].max_keeping(&[1])
    }
    vec![
        Case::real("max", all, all, FULL_MATRICES, WIDE),
        Case::real("max_over", first, first, FULL_MATRICES, WIDE),
        Case::real("max_keeping", second, second, FULL_MATRICES, WIDE),
    ]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn ties_share_the_gradient_along_an_axis_too() {
        let data = vec![2.0_f64, 1.0, 2.0, 3.0, 3.0, 3.0];
        let x = Tensor::leaf(Array::from_vec(&[2, 3], data).unwrap());
        let max = x.max_over(&[1]).unwrap();
        assert_eq!(max.to_vec(), [2.0, 3.0]);
        let cotangent = Array::from_vec(&[2], vec![1.0, 6.0]).unwrap();
        let gradients = max.backward_with(&cotangent).unwrap();
        assert_eq!(gradients.get(&x), Some(&[0.5, 0.0, 0.5, 2.0, 2.0, 2.0][..]));
    }

    #[test]
    fn an_empty_axis_is_an_error_and_another_empty_axis_is_not() {
        let x = Tensor::leaf(Array::<f64>::zeros(&[2, 0]).unwrap());
        assert!(x.max().is_err());
        assert!(x.max_over(&[1]).is_err());
        assert_eq!(x.max_over(&[0]).unwrap().shape(), [0]);
    }

    #[test]
    fn not_a_number_is_largest_and_takes_the_gradient() {
        let x = Tensor::leaf(Array::from_vec(&[2], vec![1.0, f64::NAN]).unwrap());
        let max = x.max().unwrap();
        assert!(max.item().unwrap().is_nan());
        assert_eq!(max.backward().unwrap().get(&x), Some(&[0.0, 1.0][..]));
    }
}
