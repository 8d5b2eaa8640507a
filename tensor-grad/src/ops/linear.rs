//! An affine layer `x wᵀ + b` as one node.

use crate::array::Array;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::Mode;
use crate::kernel::gemm::{Mat, gemm};
use crate::kernel::map::put1;
use crate::shape::{check, dims};
use crate::slot::Buf;
use crate::store::Store;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Linear<T: Element> {
    x: Array<T>,
    weight: Array<T>,
    rows: usize,
}

impl<T: Element> Op for Linear<T> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        let (outputs, inputs) = (self.weight.shape()[0], self.weight.shape()[1]);
        let g = Mat::row_major(&gradient, self.rows, outputs);
        let x = self.x.dense();
        let weight = self.weight.dense();
        to.put(0, |dst, mode| {
            Mat::row_major(&weight, outputs, inputs).conj(|weight| gemm(g, weight, dst, mode));
        });
        to.put(1, |dst, mode| {
            Mat::row_major(&x, self.rows, inputs).conj(|x| gemm(g.t(), x, dst, mode));
        });
        if outputs > 0 {
            to.add(2, |dst: &mut [T]| {
                for row in gradient.chunks_exact(outputs) {
                    put1(dst, Mode::Add, row, |g| g);
                }
            });
        } else {
            to.add(2, |_: &mut [T]| {});
        }
    }
}

impl<T: Element> Tensor<T> {
    /// Applies an affine layer: `[.., inputs]` times the transpose of `weight`, plus `bias`.
    ///
    /// `weight` has shape `[outputs, inputs]` and `bias` `[outputs]`, as in `PyTorch`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tensor_grad::{Array, Tensor};
    ///
    /// let x = Tensor::constant(Array::from_vec(&[1, 2], vec![1.0_f32, 2.0])?);
    /// let weight = Tensor::parameter(&[3, 2], vec![1.0, 0.0, 0.0, 1.0, 1.0, 1.0])?;
    /// let bias = Tensor::parameter(&[3], vec![0.0, 0.0, 10.0])?;
    /// assert_eq!(x.linear(&weight, Some(&bias))?.to_vec(), [1.0, 2.0, 13.0]);
    /// # Ok::<(), tensor_grad::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Product`] if the shapes do not fit, [`Error::Overflow`] if the
    /// result does not fit the address space.
    pub fn linear(&self, weight: &Self, bias: Option<&Self>) -> Result<Self> {
        let refuse = |right: &Self, rule| Error::Product {
            op: "linear",
            left: self.shape().into(),
            right: right.shape().into(),
            rule,
        };
        let &[outputs, inputs] = weight.shape() else {
            return Err(refuse(weight, "the weight must be [outputs, inputs]"));
        };
        let Some((&last, lead)) = self.shape().split_last() else {
            return Err(refuse(weight, "the operand needs at least one axis"));
        };
        if last != inputs {
            return Err(refuse(
                weight,
                "the operand's last axis must equal the weight's last",
            ));
        }
        if let Some(bias) = bias
            && bias.shape() != [outputs]
        {
            return Err(refuse(bias, "the bias must be [outputs]"));
        }
        let mut shape = dims(lead);
        let rows = lead.iter().product();
        shape.push(outputs);
        let mut out = Store::unspecified(check("linear", &shape)?);
        let mode = match bias {
            Some(bias) if outputs > 0 => {
                let bias = bias.value().dense();
                for row in out.chunks_exact_mut(outputs) {
                    row.copy_from_slice(&bias);
                }
                Mode::Add
            }
            _ => Mode::Assign,
        };
        let x = self.value().contiguous();
        gemm(
            Mat::row_major(&x.dense(), rows, inputs),
            Mat::row_major(&weight.value().dense(), outputs, inputs).t(),
            &mut out,
            mode,
        );
        let value = Array::from_store(shape, out);
        let parents = [self.node(), weight.node(), bias.and_then(Self::node)];
        Ok(Self::record(value, parents, || Linear {
            x,
            weight: weight.value().clone(),
            rows,
        }))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].linear(&x[1], x.get(2))
    }
    const SHAPES: &[&[&[usize]]] = &[
        &[&[2, 3], &[4, 3], &[4]],
        &[&[2, 3], &[4, 3]],
        &[&[3], &[2, 3], &[2]],
        &[&[2, 2, 3], &[1, 3], &[1]],
        &[&[0, 3], &[2, 3], &[2]],
        &[&[2, 0], &[2, 0], &[2]],
        &[&[2, 3], &[0, 3], &[0]],
    ];
    vec![Case::all("linear", apply, apply, apply, apply, SHAPES, WIDE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn shapes_that_do_not_fit_are_named() {
        let of = |shape: &[usize]| Tensor::constant(Array::<f32>::zeros(shape).unwrap());
        let (x, w, b) = (of(&[5, 3]), of(&[4, 3]), of(&[4]));
        assert!(x.linear(&w, Some(&b)).is_ok());
        for (x, w, b) in [
            (&w, &x, &of(&[4])),
            (&x, &of(&[4, 2]), &b),
            (&x, &b, &b),
            (&of(&[]), &w, &b),
        ] {
            let error = x.linear(w, Some(b)).unwrap_err().to_string();
            assert!(error.starts_with("linear: shapes ["), "{error}");
        }
    }
}
