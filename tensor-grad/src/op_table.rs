//! Every op, with sample shapes and element types, against finite differences.
//!
//! The ops' own `cases()` make the table. For each case, element type and sample
//! the checks here are: gradients agree with finite differences; strided operands
//! give the same values and gradients as contiguous ones; adding an op's result
//! to something else, in either order, loses nothing; gradients have the shape
//! of their input, zero-size ones included.

use num_complex::Complex;

use crate::grad_check::{Tolerance, grad_check};
use crate::{Array, Element, Result, Tensor, ops};

/// An op applied to sample inputs.
pub(crate) type Apply<T> = fn(&[Tensor<T>]) -> Result<Tensor<T>>;

/// Samples: the shapes of an op's inputs, several times over.
pub(crate) type Samples = &'static [&'static [&'static [usize]]];

/// One op, or one way to call it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    name: &'static str,
    f32: Apply<f32>,
    f64: Apply<f64>,
    c32: Option<Apply<Complex<f32>>>,
    c64: Option<Apply<Complex<f64>>>,
    samples: Samples,
    /// Where both parts of the inputs lie.
    range: (f64, f64),
}

/// Away from nothing.
pub(crate) const WIDE: (f64, f64) = (-1.5, 1.5);
/// Away from poles and branch cuts.
pub(crate) const POSITIVE: (f64, f64) = (0.4, 1.6);

/// One operand of any shape.
pub(crate) const ONE: Samples = &[
    &[&[]],
    &[&[1]],
    &[&[5]],
    &[&[2, 3]],
    &[&[2, 1, 3]],
    &[&[0, 2]],
];
/// One operand of at least two axes.
pub(crate) const MATRICES: Samples = &[
    &[&[2, 3]],
    &[&[3, 1]],
    &[&[2, 3, 2]],
    &[&[0, 2]],
    &[&[2, 0]],
];
/// One operand of at least two axes and one element.
pub(crate) const FULL_MATRICES: Samples = &[&[&[2, 3]], &[&[3, 1]], &[&[2, 3, 2]]];
/// Two operands that broadcast.
pub(crate) const PAIRS: Samples = &[
    &[&[], &[]],
    &[&[3], &[3]],
    &[&[2, 3], &[2, 3]],
    &[&[2, 3], &[3]],
    &[&[3, 1], &[1, 4]],
    &[&[], &[2, 2]],
    &[&[2, 1, 2], &[3, 1]],
    &[&[1, 1], &[2]],
    &[&[0, 2], &[1, 2]],
    &[&[2, 0], &[]],
];

impl Case {
    /// A case for real elements only.
    pub(crate) fn real(
        name: &'static str,
        f32: Apply<f32>,
        f64: Apply<f64>,
        samples: Samples,
        range: (f64, f64),
    ) -> Self {
        Self {
            name,
            f32,
            f64,
            c32: None,
            c64: None,
            samples,
            range,
        }
    }

    /// A case for all four element types.
    pub(crate) fn all(
        name: &'static str,
        f32: Apply<f32>,
        f64: Apply<f64>,
        c32: Apply<Complex<f32>>,
        c64: Apply<Complex<f64>>,
        samples: Samples,
        range: (f64, f64),
    ) -> Self {
        Self {
            c32: Some(c32),
            c64: Some(c64),
            ..Self::real(name, f32, f64, samples, range)
        }
    }
}

/// Numbers spread evenly over a range in a scattered order, none near zero: no step of a
/// finite difference reaches a kink or a tie.
fn values<T: Element>(len: usize, seed: usize, (low, high): (f64, f64)) -> Vec<T> {
    use crate::RealElement;

    let stride = if len.is_multiple_of(7) { 5 } else { 7 };
    let part = |i: usize, seed: usize| {
        let place = (i * stride + seed) % len;
        let value = low + (high - low) * (place as f64 + 0.5) / len as f64;
        let clear = if value.abs() < 0.1 { 0.1 } else { value };
        T::Real::from_f64(clear)
    };
    (0..len)
        .map(|i| T::from_parts(part(i, seed), part(i, 3 * seed + 1)))
        .collect()
}

fn inputs<T: Element>(case: &Case, sample: &[&[usize]]) -> Vec<Array<T>> {
    let make = |(seed, shape): (usize, &&[usize])| {
        let len = shape.iter().product();
        Array::from_vec(shape, values(len, seed + 1, case.range)).unwrap()
    };
    sample.iter().enumerate().map(make).collect()
}

/// The same array, its axes laid out in reverse.
fn reversed<T: Element>(x: &Array<T>) -> Array<T> {
    let axes: Vec<usize> = (0..x.rank()).rev().collect();
    let other = x.permute(&axes).unwrap().copied();
    let shape: Vec<usize> = x.shape().iter().rev().copied().collect();
    let laid = Array::from_vec(&shape, other.to_vec()).unwrap();
    laid.permute(&axes).unwrap()
}

fn is_nan<T: Element>(x: T) -> bool {
    use crate::RealElement;

    x.re().is_nan() || x.im().is_nan()
}

fn close<T: Element>(a: &[T], b: &[T], tolerance: f64) -> bool {
    use crate::RealElement;

    a.len() == b.len()
        && a.iter().zip(b).all(|(&a, &b)| {
            (is_nan(a) && is_nan(b))
                || (a - b).magnitude().to_f64() <= tolerance * (1.0 + b.magnitude().to_f64())
        })
}

/// Values and gradients of one op on given inputs.
fn run<T: Element>(apply: Apply<T>, inputs: &[Array<T>]) -> (Array<T>, Vec<Vec<T>>) {
    let leaves: Vec<Tensor<T>> = inputs.iter().cloned().map(Tensor::leaf).collect();
    let out = apply(&leaves).unwrap();
    let cotangent = values(out.len(), 99, WIDE);
    let cotangent = Array::from_vec(out.shape(), cotangent).unwrap();
    let gradients = out.backward_with(&cotangent).unwrap();
    let all = leaves
        .iter()
        .map(|leaf| gradients.get(leaf).unwrap().to_vec());
    (out.value().clone(), all.collect())
}

fn check<T: Element>(case: &Case, apply: Apply<T>, rounding: f64) {
    for sample in case.samples {
        let what = format!(
            "{} of {} {sample:?}",
            case.name,
            core::any::type_name::<T>()
        );
        let arrays = inputs::<T>(case, sample);
        if let Err(error) = grad_check(apply, &arrays, &Tolerance::of::<T>()) {
            panic!("{what}: {error}");
        }
        let (value, gradients) = run(apply, &arrays);
        let strided: Vec<_> = arrays.iter().map(reversed).collect();
        let (strided_value, strided_gradients) = run(apply, &strided);
        assert!(
            close(&strided_value.to_vec(), &value.to_vec(), rounding),
            "{what}: strided value"
        );
        for (got, want) in strided_gradients.iter().zip(&gradients) {
            assert!(close(got, want, rounding), "{what}: strided gradient");
        }
        // Each input is used again, before the op and after it: sums must hold both parts.
        for op_first in [true, false] {
            let leaves: Vec<Tensor<T>> = arrays.iter().cloned().map(Tensor::leaf).collect();
            let out = apply(&leaves).unwrap();
            let cotangent = values(out.len(), 99, WIDE);
            let cotangent = Tensor::constant(Array::from_vec(out.shape(), cotangent).unwrap());
            // The gradient of real(conj(c) y) with respect to y is c.
            let own = (&out * &cotangent.conj()).sum();
            let others = leaves
                .iter()
                .map(|leaf| (leaf * T::from_real(three())).sum());
            let others = others.reduce(|a, b| &a + &b).unwrap();
            let total = if op_first {
                &own + &others
            } else {
                &others + &own
            };
            let total_gradients = total.real().backward().unwrap();
            for (leaf, own) in leaves.iter().zip(&gradients) {
                let want: Vec<T> = own.iter().map(|&g| g + T::from_real(three())).collect();
                let got = total_gradients.get(leaf).unwrap();
                assert!(
                    close(got, &want, rounding),
                    "{what}: used twice, op first: {op_first}"
                );
            }
        }
    }
}

fn three<R: crate::RealElement>() -> R {
    R::from_f64(3.0)
}

#[test]
fn every_op_agrees_with_finite_differences_in_double_precision() {
    for case in ops::cases() {
        check(&case, case.f64, 1e-12);
        if let Some(apply) = case.c64 {
            check(&case, apply, 1e-12);
        }
    }
}

#[test]
fn every_op_agrees_with_finite_differences_in_single_precision() {
    for case in ops::cases() {
        check(&case, case.f32, 1e-4);
        if let Some(apply) = case.c32 {
            check(&case, apply, 1e-4);
        }
    }
}

#[test]
fn every_op_file_is_in_the_list_and_every_public_op_has_a_case() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ops");
    let mut files = Vec::new();
    let names: Vec<_> = ops::cases().iter().map(|case| case.name).collect();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        files.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            let Some(rest) = line.trim_start().strip_prefix("pub fn ") else {
                continue;
            };
            let op = rest.split(['(', '<']).next().unwrap();
            assert!(
                names.contains(&op),
                "{op} of {} has no case",
                path.display()
            );
        }
    }
    files.sort();
    assert_eq!(files, ops::FILES);
}
