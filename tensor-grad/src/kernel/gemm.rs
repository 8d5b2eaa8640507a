//! Products of matrices.
//!
//! Large products go to `matrixmultiply` by way of `ndarray`, whose interface is
//! safe and takes any strides. It packs both operands into buffers that it
//! allocates anew each time, and a call costs about a microsecond, so products of
//! up to [`OWN_LIMIT`] multiply-adds take a loop of our own: four rows by a strip
//! of columns in registers, the right operand's rows read in place or, where it
//! is transposed, packed into a recycled buffer.
//!
//! Which of the two runs depends on the sizes alone, and neither uses threads: the
//! same product has the same bits on every run of one machine.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder};

use crate::element::Element;
use crate::kernel::Mode;
use crate::kernel::simd::{Fused, fused};
use crate::store::Store;

/// The largest product, in multiply-adds, that the loop of our own takes.
///
/// A trade: past some ten thousand multiply-adds `matrixmultiply` is the faster of the two, but
/// up to here a training step is spared its allocations. `cargo bench -p tensor-grad --bench
/// step -- gemm` times sizes on both sides.
const OWN_LIMIT: usize = 1 << 19;

/// A matrix inside a slice: element `(i, j)` is at `i * row + j * col`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mat<'a, T> {
    /// Starts at element `(0, 0)`.
    pub(crate) data: &'a [T],
    /// The number of rows.
    pub(crate) rows: usize,
    /// The number of columns.
    pub(crate) cols: usize,
    /// The distance between rows.
    pub(crate) row: usize,
    /// The distance between columns.
    pub(crate) col: usize,
}

impl<'a, T: Element> Mat<'a, T> {
    /// A row-major matrix.
    pub(crate) fn row_major(data: &'a [T], rows: usize, cols: usize) -> Self {
        Self {
            data,
            rows,
            cols,
            row: cols,
            col: 1,
        }
    }

    /// The transposed matrix on the same elements.
    pub(crate) fn t(self) -> Self {
        Self {
            data: self.data,
            rows: self.cols,
            cols: self.rows,
            row: self.col,
            col: self.row,
        }
    }

    /// The element at row `i` and column `j`.
    #[inline(always)]
    fn at(&self, i: usize, j: usize) -> T {
        self.data[i
            .wrapping_mul(self.row)
            .wrapping_add(j.wrapping_mul(self.col))]
    }

    /// A row-major copy in a recycled buffer.
    fn packed(&self) -> Store<T> {
        let mut out = Store::unspecified(self.rows * self.cols);
        if self.cols > 0 {
            for (i, line) in out.chunks_exact_mut(self.cols).enumerate() {
                for (j, slot) in line.iter_mut().enumerate() {
                    *slot = self.at(i, j);
                }
            }
        }
        out
    }

    /// Calls `f` with the complex conjugate: a copy in a recycled buffer, or the matrix itself if it is real.
    pub(crate) fn conj<R>(self, f: impl FnOnce(Mat<'_, T>) -> R) -> R {
        if !T::IS_COMPLEX {
            return f(self);
        }
        let mut copy = self.packed();
        copy.iter_mut().for_each(|x| *x = x.conj());
        f(Mat::row_major(&copy, self.rows, self.cols))
    }

    /// `ndarray`'s view of the matrix, unless it has strides that `ndarray` refuses.
    fn view(&self) -> Option<ArrayView2<'a, T>> {
        ArrayView2::from_shape(
            (self.rows, self.cols).strides((self.row, self.col)),
            self.data,
        )
        .ok()
    }
}

/// Writes or adds `a b` into the row-major matrix `c`.
pub(crate) fn gemm<T: Element>(a: Mat<'_, T>, b: Mat<'_, T>, c: &mut [T], mode: Mode) {
    debug_assert_eq!(a.cols, b.rows);
    debug_assert_eq!(c.len(), a.rows * b.cols);
    let (m, k, n) = (a.rows, a.cols, b.cols);
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        if mode == Mode::Assign {
            c.fill(T::zero());
        }
        return;
    }
    if m.saturating_mul(k).saturating_mul(n) <= OWN_LIMIT {
        own(a, b, c, mode);
    } else {
        large(a, b, c, mode);
    }
}

/// A product by `ndarray`.
fn large<T: Element>(a: Mat<'_, T>, b: Mat<'_, T>, c: &mut [T], mode: Mode) {
    let (a_packed, b_packed);
    let left = if let Some(view) = a.view() {
        view
    } else {
        a_packed = a.packed();
        Mat::row_major(&a_packed, a.rows, a.cols)
            .view()
            .expect("a row-major matrix is a view")
    };
    let right = if let Some(view) = b.view() {
        view
    } else {
        b_packed = b.packed();
        Mat::row_major(&b_packed, b.rows, b.cols)
            .view()
            .expect("a row-major matrix is a view")
    };
    let beta = match mode {
        Mode::Assign => T::zero(),
        Mode::Add => T::one(),
    };
    let mut out = ArrayViewMut2::from_shape((a.rows, b.cols), c)
        .expect("the destination is row-major and of the right size");
    general_mat_mul(T::one(), &left, &right, beta, &mut out);
}

/// A product by the loop of our own.
fn own<T: Element>(a: Mat<'_, T>, b: Mat<'_, T>, c: &mut [T], mode: Mode) {
    let packed;
    let rows = if b.col == 1 || b.cols == 1 {
        b
    } else {
        packed = b.packed();
        Mat::row_major(&packed, b.rows, b.cols)
    };
    fused(Own {
        a,
        b: rows,
        c,
        mode,
    });
}

struct Own<'a, 'c, T> {
    a: Mat<'a, T>,
    b: Mat<'a, T>,
    c: &'c mut [T],
    mode: Mode,
}

impl<T: Element> Fused for Own<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { a, b, c, mode } = self;
        let n = b.cols;
        let mut j = 0;
        // 32 single-precision columns are two registers of AVX-512, four of AVX2.
        // Complex numbers do not vectorise so, and wide tiles of them only take long to compile.
        while !T::IS_COMPLEX && j + 32 <= n {
            strip::<T, 32, FMA>(a, b, c, mode, j);
            j += 32;
        }
        while !T::IS_COMPLEX && j + 8 <= n {
            strip::<T, 8, FMA>(a, b, c, mode, j);
            j += 8;
        }
        while j + 2 <= n {
            strip::<T, 2, FMA>(a, b, c, mode, j);
            j += 2;
        }
        if j < n {
            strip::<T, 1, FMA>(a, b, c, mode, j);
        }
    }
}

/// All rows of `W` columns from column `j` on.
#[inline(always)]
fn strip<T: Element, const W: usize, const FMA: bool>(
    a: Mat<'_, T>,
    b: Mat<'_, T>,
    c: &mut [T],
    mode: Mode,
    j: usize,
) {
    let mut i = 0;
    while i + 4 <= a.rows {
        tile::<T, 4, W, FMA>(a, b, c, mode, i, j);
        i += 4;
    }
    while i < a.rows {
        tile::<T, 1, W, FMA>(a, b, c, mode, i, j);
        i += 1;
    }
}

/// `H` rows of `W` columns from `(i, j)` on, held in registers over the inner axis.
#[inline(always)]
fn tile<T: Element, const H: usize, const W: usize, const FMA: bool>(
    a: Mat<'_, T>,
    b: Mat<'_, T>,
    c: &mut [T],
    mode: Mode,
    i: usize,
    j: usize,
) {
    let mut sums = [[T::zero(); W]; H];
    for k in 0..a.cols {
        let from = k.wrapping_mul(b.row).wrapping_add(j);
        let Some(line) = b.data.get(from..).and_then(<[T]>::first_chunk::<W>) else {
            return;
        };
        for (h, sums) in sums.iter_mut().enumerate() {
            let factor = a.at(i + h, k);
            for (sum, &right) in sums.iter_mut().zip(line) {
                *sum = if FMA {
                    factor.fused(right, *sum)
                } else {
                    factor * right + *sum
                };
            }
        }
    }
    for (h, sums) in sums.iter().enumerate() {
        let at = (i + h) * b.cols + j;
        let line = &mut c[at..at + W];
        match mode {
            Mode::Assign => line.copy_from_slice(sums),
            Mode::Add => {
                for (d, &sum) in line.iter_mut().zip(sums) {
                    *d += sum;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;

    fn naive<T: Element>(a: Mat<'_, T>, b: Mat<'_, T>) -> Vec<T> {
        let mut c = vec![T::zero(); a.rows * b.cols];
        for i in 0..a.rows {
            for j in 0..b.cols {
                for k in 0..a.cols {
                    c[i * b.cols + j] += a.at(i, k) * b.at(k, j);
                }
            }
        }
        c
    }

    fn agree<T: Element>(make: impl Fn(usize) -> T, m: usize, k: usize, n: usize) {
        let left: Vec<T> = (0..m * k).map(&make).collect();
        let right: Vec<T> = (0..k * n).map(|i| make(i + 7)).collect();
        let as_rows = Mat::row_major(&left, m, k);
        let as_columns = Mat::row_major(&left, k, m).t();
        let b_rows = Mat::row_major(&right, k, n);
        let b_columns = Mat::row_major(&right, n, k).t();
        for a in [as_rows, as_columns] {
            for b in [b_rows, b_columns] {
                let want = naive(a, b);
                for mode in [Mode::Assign, Mode::Add] {
                    for kernel in [own::<T>, large::<T>] {
                        let start = match mode {
                            Mode::Assign => T::zero(),
                            Mode::Add => T::one(),
                        };
                        let mut c = vec![start; m * n];
                        kernel(a, b, &mut c, mode);
                        let close = c
                            .iter()
                            .zip(&want)
                            .all(|(&c, &w)| (c - start - w).magnitude().to_f64() < 1e-9);
                        assert!(close, "{m} {k} {n} {mode:?}");
                    }
                }
            }
        }
    }

    use crate::element::RealElement;

    #[test]
    fn both_kernels_agree_with_the_definition_for_every_layout() {
        for (m, k, n) in [
            (1, 1, 1),
            (4, 3, 32),
            (5, 7, 43),
            (9, 2, 11),
            (16, 64, 10),
            (3, 5, 2),
        ] {
            agree(|i| (i % 13) as f64 - 6.0, m, k, n);
            agree(
                |i| Complex::new((i % 5) as f64 - 2.0, (i % 7) as f64 - 3.0),
                m,
                k,
                n,
            );
        }
    }

    #[test]
    fn a_repeated_row_is_read_through_a_stride_of_zero() {
        let row = [1.0_f64, 2.0, 3.0];
        let repeated = Mat {
            data: &row,
            rows: 2,
            cols: 3,
            row: 0,
            col: 1,
        };
        let mut c = [0.0; 4];
        for kernel in [own::<f64>, large::<f64>] {
            kernel(repeated, repeated.t(), &mut c, Mode::Assign);
            assert_eq!(c, [14.0; 4]);
        }
    }
}
