//! Products of matrices and vectors, batched and broadcast as `NumPy`'s `matmul`.

use crate::array::Array;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::Mode;
use crate::kernel::gemm::{Mat, gemm};
use crate::kernel::walk::walk;
use crate::shape::{Shape, broadcast, broadcast_strides, check, count, dims, row_major};
use crate::slot::Buf;
use crate::store::Store;
use crate::tensor::Tensor;

/// The sizes of a product: `batch` products of `m × k` by `k × n`.
#[derive(Debug)]
struct Plan {
    batch: Shape,
    m: usize,
    k: usize,
    n: usize,
}

#[derive(Debug)]
struct Matmul<T: Element> {
    plan: Plan,
    left: Array<T>,
    right: Array<T>,
}

/// One operand: a matrix per batch index, strides over the whole batch.
struct Side<'a, T> {
    data: &'a [T],
    offset: usize,
    batch: Shape,
    rows: usize,
    cols: usize,
    row: usize,
    col: usize,
}

impl<'a, T: Element> Side<'a, T> {
    fn left(array: &'a Array<T>, batch: &[usize]) -> Self {
        Self::new(array, batch, true)
    }

    fn right(array: &'a Array<T>, batch: &[usize]) -> Self {
        Self::new(array, batch, false)
    }

    /// A vector on the left is one row, on the right one column.
    fn new(array: &'a Array<T>, batch: &[usize], vector_is_row: bool) -> Self {
        let (data, offset) = array.raw();
        let (shape, strides) = (array.shape(), array.strides());
        match *shape {
            [len] => Self {
                data,
                offset,
                batch: Shape::from_elem(0, batch.len()),
                rows: if vector_is_row { 1 } else { len },
                cols: if vector_is_row { len } else { 1 },
                row: if vector_is_row { 0 } else { strides[0] },
                col: if vector_is_row { strides[0] } else { 0 },
            },
            [ref lead @ .., rows, cols] => Self {
                data,
                offset,
                batch: broadcast_strides(lead, &strides[..lead.len()], batch),
                rows,
                cols,
                row: strides[lead.len()],
                col: strides[lead.len() + 1],
            },
            [] => unreachable!("planning refused rank 0"),
        }
    }

    fn at(&self, from: usize) -> Mat<'a, T> {
        Mat {
            data: &self.data[from..],
            rows: self.rows,
            cols: self.cols,
            row: self.row,
            col: self.col,
        }
    }
}

/// The batch axes of an operand.
fn lead(shape: &[usize]) -> &[usize] {
    &shape[..shape.len().saturating_sub(2)]
}

fn plan(left: &[usize], right: &[usize]) -> Result<(Plan, Shape)> {
    let refuse = |rule| Error::Product {
        op: "matmul",
        left: left.into(),
        right: right.into(),
        rule,
    };
    let (m, k) = match *left {
        [] => return Err(refuse("each side needs at least one axis; use * to scale")),
        [k] => (None, k),
        [.., m, k] => (Some(m), k),
    };
    let (inner, n) = match *right {
        [] => return Err(refuse("each side needs at least one axis; use * to scale")),
        [k] => (k, None),
        [.., k, n] => (k, Some(n)),
    };
    if k != inner {
        return Err(refuse(
            "the left's last axis must equal the right's last but one",
        ));
    }
    let batch = broadcast("matmul", lead(left), lead(right))
        .map_err(|_| refuse("the axes before the last two must broadcast"))?;
    let mut shape = batch.clone();
    shape.extend(m);
    shape.extend(n);
    check("matmul", &shape)?;
    let (m, n) = (m.unwrap_or(1), n.unwrap_or(1));
    Ok((Plan { batch, m, k, n }, shape))
}

impl Plan {
    /// Whether there is anything to multiply.
    fn is_trivial(&self) -> bool {
        self.m == 0 || self.k == 0 || self.n == 0 || self.batch.contains(&0)
    }

    /// Calls `f` with each product's place in the left, the right and the result.
    fn each(
        &self,
        sides: [(&[usize], usize); 3],
        mut f: impl FnMut([usize; 3]),
    ) {
        let strides = sides.map(|(strides, _)| strides);
        let start = sides.map(|(_, start)| start);
        walk(&self.batch, strides, start, |at, n, steps| {
            for j in 0..n {
                f([0, 1, 2].map(|i| at[i].wrapping_add(j.wrapping_mul(steps[i]))));
            }
        });
    }

    /// The strides over the batch of contiguous `rows × cols` matrices.
    fn own(&self, batch: &[usize], size: usize) -> Shape {
        let mut strides = row_major(batch);
        strides.iter_mut().for_each(|stride| *stride *= size);
        broadcast_strides(batch, &strides, &self.batch)
    }
}

impl<T: Element> Op for Matmul<T> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        let plan = &self.plan;
        if plan.is_trivial() {
            to.add(0, |_: &mut [T]| {});
            to.add(1, |_: &mut [T]| {});
            return;
        }
        let Plan { m, k, n, .. } = *plan;
        let left = Side::left(&self.left, &plan.batch);
        let right = Side::right(&self.right, &plan.batch);
        let g_strides = plan.own(&plan.batch, m * n);
        let of_gradient = |at: usize| Mat::row_major(&gradient[at..at + m * n], m, n);
        // Left: g b^H. Right: a^H g. Operands repeated over the batch add up.
        for (i, array) in [&self.left, &self.right].into_iter().enumerate() {
            if !to.wants(i) {
                continue;
            }
            let (other, size) = if i == 0 { (&right, m * k) } else { (&left, k * n) };
            let batch = lead(array.shape());
            let own = plan.own(batch, size);
            let kernel = |dst: &mut [T], mode: Mode| {
                let sides = [
                    (&*own, 0),
                    (&*other.batch, other.offset),
                    (&*g_strides, 0),
                ];
                plan.each(sides, |[at, from, g]| {
                    let (dst, g) = (&mut dst[at..at + size], of_gradient(g));
                    other.at(from).t().conj(|other| {
                        if i == 0 {
                            gemm(g, other, dst, mode);
                        } else {
                            gemm(other, g, dst, mode);
                        }
                    });
                });
            };
            if count(batch) == count(&plan.batch) {
                to.put(i, kernel);
            } else {
                to.add(i, |dst| kernel(dst, Mode::Add));
            }
        }
    }
}

impl<T: Element> Tensor<T> {
    /// Multiplies matrices: `[.., m, k]` by `[.., k, n]`, the axes before broadcast.
    ///
    /// A vector on the left counts as one row, on the right as one column, and the
    /// result does not have that axis.
    ///
    /// # Examples
    ///
    /// ```
    /// use tensor_grad::{Array, Tensor};
    ///
    /// let a = Tensor::leaf(Array::from_vec(&[2, 2], vec![1.0_f64, 2.0, 3.0, 4.0])?);
    /// let x = Tensor::leaf(Array::from_vec(&[2], vec![10.0, 1.0])?);
    /// assert_eq!(a.matmul(&x)?.to_vec(), [12.0, 34.0]);
    /// assert_eq!(x.matmul(&x)?.item()?, 101.0);
    /// # Ok::<(), tensor_grad::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Product`] if the inner axes differ, the batch axes do not broadcast
    /// or a side has rank 0; [`Error::Overflow`] if the result does not fit.
    pub fn matmul(&self, other: &Self) -> Result<Self> {
        let (plan, shape) = plan(self.shape(), other.shape())?;
        // Many matrices by one are one tall matrix by one.
        if other.rank() == 2 && self.rank() > 2 && self.value().is_contiguous() {
            let rows = count(&plan.batch) * plan.m;
            return self
                .reshape(&[rows, plan.k])?
                .matmul(other)?
                .reshape(&shape);
        }
        let mut out = Store::unspecified(count(&shape));
        if plan.is_trivial() {
            out.fill(T::zero());
        } else {
            let left = Side::left(self.value(), &plan.batch);
            let right = Side::right(other.value(), &plan.batch);
            let size = plan.m * plan.n;
            let own = plan.own(&plan.batch, size);
            let sides = [
                (&*left.batch, left.offset),
                (&*right.batch, right.offset),
                (&*own, 0),
            ];
            plan.each(sides, |[a, b, c]| {
                let dst = &mut out[c..c + size];
                gemm(left.at(a), right.at(b), dst, Mode::Assign);
            });
        }
        let value = Array::from_store(dims(&shape), out);
        Ok(Self::record(value, [self.node(), other.node()], || Matmul {
            plan,
            left: self.value().clone(),
            right: other.value().clone(),
        }))
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, WIDE};

    fn apply<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].matmul(&x[1])
    }
    const SHAPES: &[&[&[usize]]] = &[
        &[&[2, 3], &[3, 4]],
        &[&[1, 1], &[1, 1]],
        &[&[3], &[3]],
        &[&[2, 3], &[3]],
        &[&[3], &[3, 2]],
        &[&[2, 2, 3], &[2, 3, 2]],
        &[&[2, 2, 3], &[3, 2]],
        &[&[2, 3], &[2, 3, 2]],
        &[&[2, 1, 2, 3], &[3, 3, 1]],
        &[&[3], &[2, 3, 2]],
        &[&[2, 2, 3], &[3]],
        &[&[2, 0], &[0, 3]],
        &[&[0, 2], &[2, 3]],
        &[&[0, 2, 2], &[2, 1]],
        &[&[2, 2], &[2, 0]],
    ];
    vec![Case::all("matmul", apply, apply, apply, apply, SHAPES, WIDE)]
}

#[cfg(test)]
mod tests {
    use crate::{Array, Tensor};

    #[test]
    fn shapes_that_do_not_multiply_are_named() {
        let of = |shape: &[usize]| Tensor::constant(Array::<f32>::zeros(shape).unwrap());
        let error = of(&[2, 3]).matmul(&of(&[4, 5])).unwrap_err().to_string();
        assert!(error.starts_with("matmul: shapes [2, 3] and [4, 5] do not multiply; "));
        assert!(of(&[]).matmul(&of(&[2])).is_err());
        assert!(of(&[2, 1, 3]).matmul(&of(&[3, 3, 1])).is_err());
    }

    #[test]
    fn an_inner_axis_of_zero_gives_zeros_and_empty_gradients() {
        let a = Tensor::leaf(Array::<f64>::zeros(&[2, 0]).unwrap());
        let b = Tensor::leaf(Array::<f64>::zeros(&[0, 3]).unwrap());
        let c = a.matmul(&b).unwrap();
        assert_eq!(c.to_vec(), [0.0; 6]);
        let mut gradients = c.sum().backward().unwrap();
        assert_eq!(gradients.take(&a).unwrap().shape(), [2, 0]);
        assert_eq!(gradients.take(&b).unwrap().shape(), [0, 3]);
    }
}
