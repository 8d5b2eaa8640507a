//! Elementwise kernels: a fresh array from one or two, and gradients into a destination.

use crate::array::Array;
use crate::element::Element;
use crate::error::Result;
use crate::kernel::Mode;
use crate::kernel::simd::wide;
use crate::kernel::walk::walk;
use crate::shape::{broadcast, broadcast_strides, count, dims};
use crate::store::Store;

/// Applies `f` to every element.
pub(crate) fn map<A: Element, B: Element>(x: &Array<A>, f: impl Fn(A) -> B) -> Array<B> {
    let mut out = Store::unspecified(x.len());
    let dst = &mut *out;
    if let Some(x) = x.as_slice() {
        wide(dst.len(), || {
            for (d, &x) in dst.iter_mut().zip(x) {
                *d = f(x);
            }
        });
    } else {
        let (data, offset) = x.raw();
        let mut at = 0;
        walk(x.shape(), [x.strides()], [offset], |[from], n, [step]| {
            for (j, d) in dst[at..at + n].iter_mut().enumerate() {
                *d = f(data[from.wrapping_add(j.wrapping_mul(step))]);
            }
            at += n;
        });
    }
    Array::from_store(dims(x.shape()), out)
}

/// Applies `f` to every pair of elements, broadcasting.
pub(crate) fn zip<A: Element, B: Element, C: Element>(
    op: &'static str,
    a: &Array<A>,
    b: &Array<B>,
    f: impl Fn(A, B) -> C + Copy,
) -> Result<Array<C>> {
    let shape = broadcast(op, a.shape(), b.shape())?;
    let len = count(&shape);
    let mut out = Store::unspecified(len);
    let dst = &mut *out;
    if let (Some(x), Some(y)) = (a.as_slice(), b.as_slice())
        && x.len() == len
        && y.len() == len
    {
        wide(len, || {
            for ((d, &x), &y) in dst.iter_mut().zip(x).zip(y) {
                *d = f(x, y);
            }
        });
    } else {
        let (x, x_offset) = a.raw();
        let (y, y_offset) = b.raw();
        let x_strides = broadcast_strides(a.shape(), a.strides(), &shape);
        let y_strides = broadcast_strides(b.shape(), b.strides(), &shape);
        let mut at = 0;
        walk(
            &shape,
            [&x_strides, &y_strides],
            [x_offset, y_offset],
            |[ix, iy], n, steps| {
                zip_run(&mut dst[at..at + n], &x[ix..], &y[iy..], steps, f);
                at += n;
            },
        );
    }
    Ok(Array::from_store(shape, out))
}

/// One innermost stretch of [`zip`].
fn zip_run<A: Element, B: Element, C: Element>(
    dst: &mut [C],
    x: &[A],
    y: &[B],
    steps: [usize; 2],
    f: impl Fn(A, B) -> C + Copy,
) {
    let n = dst.len();
    wide(n, || match steps {
        [1, 1] => {
            for ((d, &x), &y) in dst.iter_mut().zip(x).zip(y) {
                *d = f(x, y);
            }
        }
        [1, 0] => {
            let y = y[0];
            for (d, &x) in dst.iter_mut().zip(x) {
                *d = f(x, y);
            }
        }
        [0, 1] => {
            let x = x[0];
            for (d, &y) in dst.iter_mut().zip(y) {
                *d = f(x, y);
            }
        }
        [step_x, step_y] => {
            for (j, d) in dst.iter_mut().enumerate() {
                *d = f(x[j.wrapping_mul(step_x)], y[j.wrapping_mul(step_y)]);
            }
        }
    });
}

/// Writes or adds `f(a)` into `dst`.
pub(crate) fn put1<T: Element, A: Copy>(dst: &mut [T], mode: Mode, a: &[A], f: impl Fn(A) -> T) {
    wide(dst.len(), || match mode {
        Mode::Assign => {
            for (d, &a) in dst.iter_mut().zip(a) {
                *d = f(a);
            }
        }
        Mode::Add => {
            for (d, &a) in dst.iter_mut().zip(a) {
                *d += f(a);
            }
        }
    });
}

/// Writes or adds `f(a, b)` into `dst`.
pub(crate) fn put2<T: Element, A: Copy, B: Copy>(
    dst: &mut [T],
    mode: Mode,
    (a, b): (&[A], &[B]),
    f: impl Fn(A, B) -> T,
) {
    wide(dst.len(), || match mode {
        Mode::Assign => {
            for ((d, &a), &b) in dst.iter_mut().zip(a).zip(b) {
                *d = f(a, b);
            }
        }
        Mode::Add => {
            for ((d, &a), &b) in dst.iter_mut().zip(a).zip(b) {
                *d += f(a, b);
            }
        }
    });
}

/// Writes or adds `f(src)` into `dst`, a row-major buffer of `shape`; `src` is read through `strides`.
pub(crate) fn put_strided<T: Element, A: Copy>(
    dst: &mut [T],
    mode: Mode,
    shape: &[usize],
    (src, strides): (&[A], &[usize]),
    f: impl Fn(A) -> T + Copy,
) {
    let mut at = 0;
    walk(shape, [strides], [0], |[from], n, [step]| {
        let dst = &mut dst[at..at + n];
        at += n;
        let src = &src[from..];
        match step {
            1 => put1(dst, mode, &src[..n], f),
            0 => {
                let value = f(src[0]);
                wide(n, || match mode {
                    Mode::Assign => dst.fill(value),
                    Mode::Add => dst.iter_mut().for_each(|d| *d += value),
                });
            }
            _ => {
                for (j, d) in dst.iter_mut().enumerate() {
                    let value = f(src[j.wrapping_mul(step)]);
                    match mode {
                        Mode::Assign => *d = value,
                        Mode::Add => *d += value,
                    }
                }
            }
        }
    });
}

/// Replaces every element `g` of `dst` with `f(g)`.
pub(crate) fn update0<T: Element>(dst: &mut [T], f: impl Fn(T) -> T) {
    wide(dst.len(), || {
        for d in dst.iter_mut() {
            *d = f(*d);
        }
    });
}

/// Replaces every element `g` of `dst` with `f(g, a)`.
pub(crate) fn update1<T: Element, A: Copy>(dst: &mut [T], a: &[A], f: impl Fn(T, A) -> T) {
    wide(dst.len(), || {
        for (d, &a) in dst.iter_mut().zip(a) {
            *d = f(*d, a);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(shape: &[usize]) -> Array<f64> {
        let data = (0..count(shape)).map(|i| i as f64 + 1.0).collect();
        Array::from_vec(shape, data).unwrap()
    }

    #[test]
    fn every_layout_of_two_operands_gives_the_same_result() {
        let a = array(&[4, 5]);
        let b = array(&[5, 4]);
        let want = zip("t", &a, &b.transpose(0, 1).unwrap().contiguous(), |x, y| {
            x * 10.0 + y
        });
        let got = zip("t", &a, &b.transpose(0, 1).unwrap(), |x, y| x * 10.0 + y);
        assert_eq!(want, got);
        let column = array(&[4, 1]);
        let row = array(&[5]);
        let outer = zip("t", &column, &row, |x, y| x * y).unwrap();
        assert_eq!(outer.shape(), [4, 5]);
        assert_eq!(outer.get(&[3, 4]), Some(20.0));
        let scalar = Array::scalar(2.0);
        assert_eq!(
            zip("t", &a, &scalar, |x, y| x * y),
            zip("t", &scalar, &a, |x, y| x * y)
        );
    }

    #[test]
    fn map_of_a_strided_view_reads_it_in_order() {
        let a = array(&[40, 3]).transpose(0, 1).unwrap();
        assert_eq!(map(&a, |x| -x), map(&a.contiguous(), |x| -x));
    }
}
