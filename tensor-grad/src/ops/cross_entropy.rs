//! Softmax cross-entropy against class indices, as one node.
//!
//! The forward computes the softmax anyway, so it leaves behind the gradient of
//! the mean, `(softmax - one_hot) / samples`; the backward only scales it.

use crate::array::Array;
use crate::element::RealElement;
use crate::error::{Error, Result};
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::put1;
use crate::kernel::simd::wide;
use crate::kernel::sum::sum_slice;
use crate::lanes::Lanes;
use crate::slot::Buf;
use crate::store::Store;
use crate::tensor::Tensor;

#[derive(Debug)]
struct CrossEntropy<T: RealElement> {
    slope: Array<T>,
}

impl<T: RealElement> Op for CrossEntropy<T> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        let g = gradient[0];
        let slope = self.slope.dense();
        to.put(0, |dst, mode| put1(dst, mode, &slope, |s| s * g));
    }
}

impl<T: RealElement> Tensor<T> {
    /// Returns the mean over samples of `-log(softmax(scores)[class])`, for scores of shape `[samples, classes]`.
    ///
    /// Of no samples it is not-a-number.
    ///
    /// # Examples
    ///
    /// ```
    /// use tensor_grad::{Array, Tensor};
    ///
    /// let scores = Tensor::leaf(Array::from_vec(&[1, 2], vec![0.0_f64, 0.0])?);
    /// let loss = scores.cross_entropy(&[1])?;
    /// assert!((loss.item()? - 2.0_f64.ln()).abs() < 1e-15);
    /// assert_eq!(loss.backward()?.get(&scores), Some(&[0.5, -0.5][..]));
    /// # Ok::<(), tensor_grad::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Rank`] unless the scores have two axes, [`Error::Length`] unless
    /// there is one class per sample, [`Error::Class`] if a class is out of range.
    pub fn cross_entropy(&self, classes: &[usize]) -> Result<Self> {
        let op = "cross_entropy";
        let &[samples, width] = self.shape() else {
            return Err(Error::Rank {
                op,
                shape: self.shape().into(),
                rule: "scores have the shape [samples, classes]",
            });
        };
        if classes.len() != samples {
            return Err(Error::Length {
                op,
                shape: [samples].into(),
                want: samples,
                got: classes.len(),
            });
        }
        if let Some(sample) = classes.iter().position(|&class| class >= width) {
            return Err(Error::Class {
                op,
                sample,
                class: classes[sample],
                classes: width,
            });
        }
        let x = self.value().dense();
        let lanes = Lanes::new(op, self.shape(), 1)?;
        let share = T::from_usize(1) / T::from_usize(samples);
        let mut slope: Store<T> = Store::unspecified(x.len());
        let mut losses: Store<T> = Store::unspecified(samples);
        for (sample, start) in lanes.starts().enumerate() {
            let (x, out) = (&x[start..start + width], &mut slope[start..start + width]);
            let max = super::softmax::lane_max(x, 0, lanes);
            for (out, &x) in out.iter_mut().zip(x) {
                *out = (x - max).exp();
            }
            let total = sum_slice(out);
            let class = classes[sample];
            losses[sample] = total.ln() - (x[class] - max);
            let scale = share / total;
            wide(width, || out.iter_mut().for_each(|out| *out *= scale));
            out[class] -= share;
        }
        // Of no samples: zero times infinity.
        let value = Array::scalar(sum_slice(&losses) * share);
        let slope = Array::from_store(crate::shape::dims(self.shape()), slope);
        Ok(Self::record(value, [self.node()], || CrossEntropy {
            slope,
        }))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, WIDE};

    fn apply<T: RealElement>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        let classes: Vec<usize> = (0..x[0].shape()[0])
            .map(|i| (i * 2 + 1) % x[0].shape()[1])
            .collect();
        x[0].cross_entropy(&classes)
    }
    const SHAPES: &[&[&[usize]]] = &[&[&[3, 4]], &[&[1, 1]], &[&[5, 2]]];
    vec![Case::real("cross_entropy", apply, apply, SHAPES, WIDE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn a_class_out_of_range_is_named() {
        let scores = Tensor::leaf(Array::<f32>::zeros(&[2, 3]).unwrap());
        let error = scores.cross_entropy(&[0, 3]).unwrap_err().to_string();
        assert_eq!(
            error,
            "cross_entropy: class 3 of sample 1 is out of range; there are 3 classes"
        );
        assert!(scores.cross_entropy(&[0]).is_err());
        assert!(scores.sum().cross_entropy(&[0]).is_err());
    }

    #[test]
    fn no_samples_have_no_mean() {
        let scores = Tensor::leaf(Array::<f32>::zeros(&[0, 3]).unwrap());
        let loss = scores.cross_entropy(&[]).unwrap();
        assert!(loss.item().unwrap().is_nan());
        assert_eq!(loss.backward().unwrap().get(&scores), Some(&[][..]));
    }

    #[test]
    fn scores_of_any_size_give_a_finite_loss() {
        let scores = vec![1e30_f32, -1e30, 0.0, f32::NEG_INFINITY];
        let scores = Tensor::leaf(Array::from_vec(&[2, 2], scores).unwrap());
        let loss = scores.cross_entropy(&[0, 0]).unwrap();
        assert_eq!(loss.item(), Ok(0.0));
        let gradients = loss.backward().unwrap();
        assert_eq!(gradients.get(&scores), Some(&[0.0; 4][..]));
    }
}
