//! Fills and in-place accumulation over slices.
//!
//! The only arithmetic of this crate. Each function is one pass over its slices, in order and
//! without fused multiply-add, so that its result has the bits of the plain loop on any machine.
//!
//! - The loops are plain, and the compiler turns them into vector instructions of the target it
//!   builds for; nothing here asks the processor what it can do.
//! - Lengths are compared first: what returns an error has written nothing.
//!
//! Two passes are not left to the standard library's one call for the whole slice (figures of
//! `cargo run --release -p grad-pool --example passes`, on an AMD EPYC with glibc 2.36):
//!
//! - [`assign`] copies block by block. A C library may copy much at once by `rep movsb`, which took
//!   43 µs instead of 2.6 for 128 KiB when the target began 1 to 31 bytes past the source, modulo
//!   a page of 4 KiB; so do neighbours of 2^n bytes from malloc, which puts 16 bytes between them.
//!   It does not for a block.
//! - [`fill`] repeats a filled block. `<[T]>::fill` writes no more than 8 bytes at once for
//!   elements of 16; the block-wise fill took 0.57 to 0.79 of its time in the caches.

use crate::element::{Element, Factor};

/// Elements that [`fill`] sets one by one before it repeats them.
const FILL: usize = 64;

/// Bytes that [`assign`] copies at once: as many as C libraries copy in a loop of their own.
const COPY: usize = 2048;

/// A contribution has another number of elements than the gradient it was meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a contribution of {contribution} elements does not go with a gradient of {gradient}; \
     reduce or broadcast it first"
)]
pub struct LengthError {
    /// Elements of the gradient.
    pub gradient: usize,
    /// Elements of the contribution.
    pub contribution: usize,
}

/// Sets every element to zero.
///
/// # Examples
///
/// ```
/// let mut gradient = [1.0_f32, 2.0];
/// grad_pool::kernels::zero(&mut gradient);
/// assert_eq!(gradient, [0.0, 0.0]);
/// ```
#[inline]
pub fn zero<T: Element>(gradient: &mut [T]) {
    bytemuck::fill_zeroes(gradient);
}

/// Sets every element to `value`, real or complex.
///
/// # Examples
///
/// ```
/// use grad_pool::{Element, kernels};
/// use num_complex::Complex;
///
/// let mut gradient = [Complex::new(0.0_f64, 0.0); 2];
/// kernels::fill(&mut gradient, Complex::new(1.0, -1.0));
/// assert_eq!(gradient[1], Complex::new(1.0, -1.0));
/// kernels::fill(&mut gradient, Complex::from_component(2.0));
/// assert_eq!(gradient[1], Complex::new(2.0, 0.0));
/// ```
#[inline]
pub fn fill<T: Element>(gradient: &mut [T], value: T) {
    if size_of::<T>() < 8 {
        // Here the plain loop is as fast or faster.
        return gradient.fill(value);
    }
    let (block, rest) = gradient.split_at_mut(gradient.len().min(FILL));
    block.fill(value);
    for chunk in rest.chunks_mut(FILL) {
        chunk.copy_from_slice(&block[..chunk.len()]);
    }
}

/// Sets each element to that of a first contribution, in place of adding it to zero.
///
/// # Errors
///
/// [`LengthError`] if the contribution has another number of elements; nothing is written then.
#[inline]
pub fn assign<T: Element>(gradient: &mut [T], contribution: &[T]) -> Result<(), LengthError> {
    same_length(gradient, contribution)?;
    copy(gradient, contribution);
    Ok(())
}

/// Sets each element to `alpha` times that of a first contribution.
///
/// # Errors
///
/// As for [`assign`].
#[inline]
pub fn assign_scaled<T: Element>(
    gradient: &mut [T],
    alpha: impl Factor<T>,
    contribution: &[T],
) -> Result<(), LengthError> {
    same_length(gradient, contribution)?;
    for (element, &first) in gradient.iter_mut().zip(contribution) {
        *element = alpha.times(first);
    }
    Ok(())
}

/// Adds a contribution, element by element.
///
/// # Errors
///
/// [`LengthError`] if the contribution has another number of elements; nothing is added then.
///
/// # Examples
///
/// A gradient that grows over several sweeps, as a leaf:
///
/// ```
/// let arena = grad_pool::global().arena();
/// let mut leaf = arena.copy_of(&[1.0_f32, 2.0]).into_leaf();
/// grad_pool::kernels::add(&mut leaf, &[10.0, 20.0])?;
/// assert_eq!(*leaf, [11.0, 22.0]);
/// # Ok::<(), grad_pool::LengthError>(())
/// ```
#[inline]
pub fn add<T: Element>(gradient: &mut [T], contribution: &[T]) -> Result<(), LengthError> {
    same_length(gradient, contribution)?;
    for (sum, &more) in gradient.iter_mut().zip(contribution) {
        *sum += more;
    }
    Ok(())
}

/// Adds `alpha` times a contribution, element by element: `axpy`.
///
/// # Errors
///
/// As for [`add`].
///
/// # Examples
///
/// A complex gradient takes a real factor as well as a complex one:
///
/// ```
/// use grad_pool::kernels;
/// use num_complex::Complex;
///
/// let contribution = [Complex::new(1.0_f32, 2.0)];
/// let mut gradient = [Complex::new(0.0, 0.0)];
/// kernels::add_scaled(&mut gradient, 2.0, &contribution)?;
/// kernels::add_scaled(&mut gradient, Complex::i(), &contribution)?;
/// assert_eq!(gradient, [Complex::new(0.0, 5.0)]);
/// # Ok::<(), grad_pool::LengthError>(())
/// ```
#[inline]
pub fn add_scaled<T: Element>(
    gradient: &mut [T],
    alpha: impl Factor<T>,
    contribution: &[T],
) -> Result<(), LengthError> {
    same_length(gradient, contribution)?;
    for (sum, &more) in gradient.iter_mut().zip(contribution) {
        *sum += alpha.times(more);
    }
    Ok(())
}

/// Copies between slices of one length.
#[inline]
pub(crate) fn copy<T: Element>(to: &mut [T], from: &[T]) {
    let block = COPY / size_of::<T>();
    if to.len() <= block {
        return to.copy_from_slice(from);
    }
    for (to, from) in to.chunks_mut(block).zip(from.chunks(block)) {
        to.copy_from_slice(from);
    }
}

#[inline]
fn same_length<T>(gradient: &[T], contribution: &[T]) -> Result<(), LengthError> {
    if gradient.len() == contribution.len() {
        return Ok(());
    }
    Err(LengthError {
        gradient: gradient.len(),
        contribution: contribution.len(),
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use num_complex::Complex;
    use proptest::prelude::*;

    use super::*;

    /// A number from its parts, of which a real one takes the first.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the rounded number will do"
    )]
    fn element<T: Element>((re, im): (f64, f64)) -> T {
        if size_of::<T::Component>() == size_of::<f64>() {
            bytemuck::cast_slice::<f64, T>(&[re, im])[0]
        } else {
            bytemuck::cast_slice::<f32, T>(&[re as f32, im as f32])[0]
        }
    }

    /// Whether two arrays have the same bits, all numbers that are none being one: which of two
    /// of them a sum hands on, the processor may choose by the order of operands.
    fn same<T: Element>(left: &[T], right: &[T]) -> bool {
        let parts = bytemuck::cast_slice::<T, T::Component>;
        let same_part = |(left, right): (&T::Component, &T::Component)| {
            let nan = |one: &T::Component| {
                let other = *one;
                *one != other
            };
            bytemuck::bytes_of(left) == bytemuck::bytes_of(right) || nan(left) && nan(right)
        };
        left.len() == right.len() && parts(left).iter().zip(parts(right)).all(same_part)
    }

    type Parts = (f64, f64);

    /// Every kernel against the loop that a reader would write, on arrays from `offset` on.
    fn against_loops<T: Element>(pairs: &[(Parts, Parts)], alpha: Parts, offset: usize) {
        let (sums, mores): (Vec<T>, Vec<T>) = pairs
            .iter()
            .map(|&(sum, more)| (element::<T>(sum), element::<T>(more)))
            .unzip();
        let offset = offset.min(pairs.len());
        let (sums, mores) = (&sums[offset..], &mores[offset..]);
        let alpha = element::<T>(alpha);
        let real = bytemuck::cast_slice::<T, T::Component>(&[alpha])[0];
        let check = |kernel: &dyn Fn(&mut [T]) -> Result<(), LengthError>,
                     naive: &dyn Fn(T, T) -> T| {
            let mut ours = sums.to_vec();
            assert_eq!(kernel(&mut ours), Ok(()));
            let pairs = sums.iter().zip(mores);
            let theirs: Vec<T> = pairs.map(|(&sum, &more)| naive(sum, more)).collect();
            assert!(same(&ours, &theirs), "{ours:?} is not {theirs:?}");
        };
        let plus = |mut sum: T, more: T| {
            sum += more;
            sum
        };
        let filled = |run: &dyn Fn(&mut [T]), value| {
            let fills = |sums: &mut [T]| {
                run(sums);
                Ok(())
            };
            check(&fills, &|_, _| value);
        };
        filled(&zero, T::default());
        filled(&|sums| fill(sums, alpha), alpha);
        check(&|sums| assign(sums, mores), &|_, more| more);
        check(&|sums| add(sums, mores), &plus);
        check(&|sums| assign_scaled(sums, alpha, mores), &|_, more| {
            alpha * more
        });
        check(&|sums| assign_scaled(sums, real, mores), &|_, more| {
            real.times(more)
        });
        check(&|sums| add_scaled(sums, alpha, mores), &|sum, more| {
            plus(sum, alpha * more)
        });
        check(&|sums| add_scaled(sums, real, mores), &|sum, more| {
            plus(sum, real.times(more))
        });
    }

    fn parts() -> impl Strategy<Value = Parts> {
        let part = || {
            prop_oneof![
                3 => proptest::num::f64::ANY,
                1 => prop::sample::select(vec![0.0, -0.0, 1.0, f64::INFINITY, f64::NAN]),
            ]
        };
        (part(), part())
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 2 } else { 64 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn every_kernel_has_the_bits_of_the_plain_loop(
            pairs in prop::collection::vec((parts(), parts()), 0..if cfg!(miri) { 80 } else { 600 }),
            alpha in parts(),
            offset in 0..5_usize,
        ) {
            against_loops::<f32>(&pairs, alpha, offset);
            against_loops::<f64>(&pairs, alpha, offset);
            against_loops::<Complex<f32>>(&pairs, alpha, offset);
            against_loops::<Complex<f64>>(&pairs, alpha, offset);
        }
    }

    #[test]
    fn a_real_factor_scales_both_parts_and_nothing_else() {
        let infinite = Complex::new(f64::INFINITY, 1.0);
        assert_eq!(2.0.times(infinite), Complex::new(f64::INFINITY, 2.0));
        let through_complex = Complex::from_component(2.0).times(infinite);
        assert!(
            through_complex.im.is_nan(),
            "a real factor is not the complex one: 0 × ∞ is no number"
        );
    }

    type Kernel = fn(&mut [f32], &[f32]) -> Result<(), LengthError>;

    #[test]
    fn a_contribution_of_another_length_is_an_error_that_names_both_and_writes_nothing() {
        let contribution = [1.0_f32; 3];
        let kernels: [Kernel; 4] = [
            assign,
            add,
            |gradient, more| assign_scaled(gradient, 2.0, more),
            |gradient, more| add_scaled(gradient, 2.0, more),
        ];
        for kernel in kernels {
            let mut gradient = [5.0, 6.0];
            let error = kernel(&mut gradient, &contribution).unwrap_err();
            assert_eq!((error.gradient, error.contribution), (2, 3));
            assert_eq!(
                error.to_string(),
                "a contribution of 3 elements does not go with a gradient of 2; reduce or \
                 broadcast it first"
            );
            assert_eq!(gradient[..], [5.0, 6.0]);
        }
    }
}
