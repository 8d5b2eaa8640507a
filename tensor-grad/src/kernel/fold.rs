//! Sums over broadcast axes: the gradient of an operand that was repeated.
//!
//! The destination has the operand's own shape; the walk goes over the result's
//! shape, and the destination's stride along a repeated axis is zero. Every
//! kernel here adds to the destination, which the caller has zeroed or which
//! holds earlier contributions.

use crate::array::Array;
use crate::element::Element;
use crate::kernel::simd::wide;
use crate::kernel::sum::sum_of;
use crate::kernel::walk::walk;
use crate::shape::{broadcast_strides, row_major};

/// Strided elements as [`fold`] reads them.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a, T> {
    data: &'a [T],
    strides: &'a [usize],
    offset: usize,
}

impl<'a, T> Operand<'a, T> {
    /// Elements with their strides over the walked shape.
    pub(crate) fn new(data: &'a [T], strides: &'a [usize], offset: usize) -> Self {
        Self {
            data,
            strides,
            offset,
        }
    }
}

/// Adds `x`, an array of the walked shape, into a destination whose strides over that shape are given.
pub(crate) fn fold_array<T: Element>(dst: &mut [T], dst_strides: &[usize], x: &Array<T>) {
    let (data, offset) = x.raw();
    let x_operand = Operand::new(data, x.strides(), offset);
    fold(dst, dst_strides, x.shape(), x_operand, x_operand, |x, _| x);
}

/// Adds `f` of a row-major buffer of `shape` into a destination of the smaller shape `to`.
pub(crate) fn fold_down<T: Element>(
    dst: &mut [T],
    to: &[usize],
    shape: &[usize],
    x: &[T],
    f: impl Fn(T) -> T + Copy,
) {
    let strides = row_major(shape);
    let into = broadcast_strides(to, &row_major(to), shape);
    let x = Operand::new(x, &strides, 0);
    fold(dst, &into, shape, x, x, |x, _| f(x));
}

/// Adds `f(x, y)` for every element of `shape` into a destination with strides over that shape.
pub(crate) fn fold<T: Element, X: Copy, Y: Copy>(
    dst: &mut [T],
    dst_strides: &[usize],
    shape: &[usize],
    x: Operand<'_, X>,
    y: Operand<'_, Y>,
    f: impl Fn(X, Y) -> T + Copy,
) {
    walk(
        shape,
        [dst_strides, x.strides, y.strides],
        [0, x.offset, y.offset],
        |[to, ix, iy], n, [step, step_x, step_y]| {
            let (xs, ys) = (&x.data[ix..], &y.data[iy..]);
            match (step_x, step_y) {
                (1, 1) => {
                    let (xs, ys) = (&xs[..n], &ys[..n]);
                    stretch(dst, to, n, step, |j| f(xs[j], ys[j]));
                }
                (1, 0) => {
                    let (xs, y) = (&xs[..n], ys[0]);
                    stretch(dst, to, n, step, |j| f(xs[j], y));
                }
                _ => stretch(dst, to, n, step, |j| {
                    f(xs[j.wrapping_mul(step_x)], ys[j.wrapping_mul(step_y)])
                }),
            }
        },
    );
}

/// One innermost stretch: all into one element, element by element, or with gaps.
#[inline(always)]
fn stretch<T: Element>(
    dst: &mut [T],
    to: usize,
    n: usize,
    step: usize,
    f: impl Fn(usize) -> T + Copy,
) {
    match step {
        0 => dst[to] += sum_of(n, f),
        1 => {
            let dst = &mut dst[to..to + n];
            wide(n, || {
                for (j, d) in dst.iter_mut().enumerate() {
                    *d += f(j);
                }
            });
        }
        _ => {
            for j in 0..n {
                dst[to.wrapping_add(j.wrapping_mul(step))] += f(j);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_shapes_folds_to_the_smaller_one() {
        let x: Vec<f64> = (0..60).map(f64::from).collect();
        let shape = [3, 4, 5];
        for to in [
            &[3, 4, 5][..],
            &[1, 4, 5],
            &[4, 5],
            &[3, 1, 5],
            &[4, 1],
            &[5],
            &[1],
            &[],
        ] {
            let len = to.iter().product();
            let mut got = vec![1.0; len];
            fold_down(&mut got, to, &shape, &x, |x| x);
            let mut want = vec![1.0; len];
            let strides = broadcast_strides(to, &row_major(to), &shape);
            for (at, x) in x.iter().enumerate() {
                let index = [at / 20, at / 5 % 4, at % 5];
                let to: usize = index.iter().zip(&strides).map(|(i, s)| i * s).sum();
                want[to] += x;
            }
            assert_eq!(got, want, "{to:?}");
        }
    }
}
