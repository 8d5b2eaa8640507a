//! Runs a loop with the widest vector instructions this processor has.
//!
//! The compiler vectorises a loop for the instructions that the enclosing
//! function may use. [`wide`] puts the loop into a copy of itself compiled for
//! AVX2, AVX-512 or what else the `pulp` crate finds at run time.

use pulp::{Arch, Simd, WithSimd};

/// Below this many elements, entering the wider copy costs more than it gains.
pub(crate) const WORTH_IT: usize = 32;

/// Runs `body` compiled for this processor's vector instructions, if `elements` make it worth while.
///
/// Results do not depend on the path: the compiler may neither reorder floating-point
/// additions nor fuse a multiplication with one. Builds with debug assertions, which
/// are not for speed, do without the copies and compile in half the time.
#[inline(always)]
pub(crate) fn wide<R>(elements: usize, body: impl FnOnce() -> R) -> R {
    if cfg!(debug_assertions) || elements < WORTH_IT {
        body()
    } else {
        Arch::new().dispatch(body)
    }
}

/// A loop that wants to know whether fused multiply-add is an instruction here.
pub(crate) trait Fused {
    /// What it returns.
    type Output;
    /// Runs with `FMA` set where [`Element::fused`](crate::Element::fused) is one instruction.
    fn run<const FMA: bool>(self) -> Self::Output;
}

struct Adapter<F>(F);

impl<F: Fused> WithSimd for Adapter<F> {
    type Output = F::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> F::Output {
        // Every instruction set that pulp knows, its scalar fallback apart, fuses.
        if S::IS_SCALAR || cfg!(target_family = "wasm") {
            self.0.run::<false>()
        } else {
            self.0.run::<true>()
        }
    }
}

/// Runs `body` compiled for this processor.
#[inline(always)]
pub(crate) fn fused<F: Fused>(body: F) -> F::Output {
    Arch::new().dispatch(Adapter(body))
}
