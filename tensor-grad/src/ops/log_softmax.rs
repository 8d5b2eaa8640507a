//! The logarithm of the softmax along one axis; its backward reads the result.

use super::softmax::lane_max;
use crate::array::Array;
use crate::element::RealElement;
use crate::error::Result;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::sum::sum_of;
use crate::lanes::Lanes;
use crate::shape::dims;
use crate::slot::Buf;
use crate::store::Store;
use crate::tensor::Tensor;

#[derive(Debug)]
struct LogSoftmax<T: RealElement> {
    lanes: Lanes,
    out: Array<T>,
}

impl<T: RealElement> Op for LogSoftmax<T> {
    type Out = T;

    fn backward<'a>(&self, mut gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        let out = self.out.dense();
        let Lanes { len, step, .. } = self.lanes;
        for start in self.lanes.starts() {
            let total = sum_of(len, |j| gradient[start + j * step]);
            for at in (0..len).map(|j| start + j * step) {
                gradient[at] -= out[at].exp() * total;
            }
        }
        to.give(0, gradient);
    }
}

impl<T: RealElement> Tensor<T> {
    /// Returns `x - log(sum(exp(x)))` along `axis`, without overflow.
    ///
    /// # Errors
    ///
    /// [`Error::Axis`](crate::Error::Axis) if the axis does not exist.
    pub fn log_softmax(&self, axis: usize) -> Result<Self> {
        let lanes = Lanes::new("log_softmax", self.shape(), axis)?;
        let x = self.value().dense();
        let mut out: Store<T> = Store::unspecified(x.len());
        let Lanes { len, step, .. } = lanes;
        for start in lanes.starts() {
            let max = lane_max(&x, start, lanes);
            let shift = sum_of(len, |j| (x[start + j * step] - max).exp()).ln();
            for at in (0..len).map(|j| start + j * step) {
                // The maximum first: next to a large score the logarithm would be rounded away.
                out[at] = (x[at] - max) - shift;
            }
        }
        drop(x);
        let value = Array::from_store(dims(self.shape()), out);
        let out = value.clone();
        Ok(Self::record(value, [self.node()], || LogSoftmax {
            lanes,
            out,
        }))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, MATRICES, WIDE};

    fn first<T: RealElement>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].log_softmax(0)
    }
    fn last<T: RealElement>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].log_softmax(x[0].rank() - 1)
    }
    vec![
        Case::real("log_softmax", first, first, MATRICES, WIDE),
        Case::real("log_softmax", last, last, MATRICES, WIDE),
    ]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn an_impossible_class_leaves_the_others_finite() {
        let x = vec![1000.0_f64, 1000.0, f64::NEG_INFINITY];
        let x = Tensor::leaf(Array::from_vec(&[3], x).unwrap());
        let y = x.log_softmax(0).unwrap();
        let half = -core::f64::consts::LN_2;
        assert_eq!(y.to_vec(), [half, half, f64::NEG_INFINITY]);
        let cotangent = Array::from_vec(&[3], vec![1.0, 0.0, 0.0]).unwrap();
        let gradients = y.backward_with(&cotangent).unwrap();
        let got = gradients.get(&x).unwrap();
        assert!((got[0] - 0.5).abs() < 1e-15 && (got[1] + 0.5).abs() < 1e-15);
        assert_eq!(got[2], 0.0);
    }
}
