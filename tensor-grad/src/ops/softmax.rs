//! The softmax along one axis; its backward reads the result.

use crate::array::Array;
use crate::element::RealElement;
use crate::error::Result;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::simd::wide;
use crate::kernel::sum::sum_of;
use crate::lanes::Lanes;
use crate::shape::dims;
use crate::slot::Buf;
use crate::store::Store;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Softmax<T: RealElement> {
    lanes: Lanes,
    out: Array<T>,
}

impl<T: RealElement> Op for Softmax<T> {
    type Out = T;

    fn backward<'a>(&self, mut gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        let out = self.out.dense();
        let Lanes { len, step, .. } = self.lanes;
        for start in self.lanes.starts() {
            let dot = sum_of(len, |j| gradient[start + j * step] * out[start + j * step]);
            if step == 1 {
                let g = &mut gradient[start..start + len];
                let y = &out[start..start + len];
                wide(len, || {
                    for (g, &y) in g.iter_mut().zip(y) {
                        *g = (*g - dot) * y;
                    }
                });
            } else {
                for at in (0..len).map(|j| start + j * step) {
                    gradient[at] = (gradient[at] - dot) * out[at];
                }
            }
        }
        to.give(0, gradient);
    }
}

/// The largest element of a lane; not-a-number if there is one.
pub(super) fn lane_max<T: RealElement>(x: &[T], start: usize, lanes: Lanes) -> T {
    let mut max = T::NEG_INFINITY;
    for j in 0..lanes.len {
        let x = x[start + j * lanes.step];
        if x > max || x.is_nan() {
            max = x;
        }
    }
    max
}

impl<T: RealElement> Tensor<T> {
    /// Returns `exp(x)` divided by its sum along `axis`, without overflow.
    ///
    /// Where every element along the axis is minus infinity the result is not-a-number.
    ///
    /// # Errors
    ///
    /// [`Error::Axis`](crate::Error::Axis) if the axis does not exist.
    pub fn softmax(&self, axis: usize) -> Result<Self> {
        let lanes = Lanes::new("softmax", self.shape(), axis)?;
        let x = self.value().dense();
        let mut out: Store<T> = Store::unspecified(x.len());
        let Lanes { len, step, .. } = lanes;
        for start in lanes.starts() {
            let max = lane_max(&x, start, lanes);
            for at in (0..len).map(|j| start + j * step) {
                out[at] = (x[at] - max).exp();
            }
            let total = sum_of(len, |j| out[start + j * step]);
            for at in (0..len).map(|j| start + j * step) {
                out[at] /= total;
            }
        }
        drop(x);
        let value = Array::from_store(dims(self.shape()), out);
        let out = value.clone();
        Ok(Self::record(value, [self.node()], || Softmax {
            lanes,
            out,
        }))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, MATRICES, WIDE};

    fn first<T: RealElement>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].softmax(0)
    }
    fn last<T: RealElement>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].softmax(x[0].rank() - 1)
    }
    vec![
        Case::real("softmax", first, first, MATRICES, WIDE),
        Case::real("softmax", last, last, MATRICES, WIDE),
    ]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn infinities_are_probability_zero_and_large_scores_do_not_overflow() {
        let x = vec![1000.0_f64, 1000.0, f64::NEG_INFINITY];
        let x = Tensor::leaf(Array::from_vec(&[3], x).unwrap());
        let y = x.softmax(0).unwrap();
        assert_eq!(y.to_vec(), [0.5, 0.5, 0.0]);
        let cotangent = Array::from_vec(&[3], vec![1.0, 0.0, 0.0]).unwrap();
        let gradients = y.backward_with(&cotangent).unwrap();
        assert_eq!(gradients.get(&x), Some(&[0.25, -0.25, 0.0][..]));
        assert!(x.softmax(1).is_err());
    }
    #[test]
    fn nothing_but_minus_infinity_has_no_softmax() {
        let x = Tensor::leaf(Array::full(&[2], f64::NEG_INFINITY).unwrap());
        assert!(x.softmax(0).unwrap().to_vec().iter().all(|y| y.is_nan()));
    }
}
