//! Sums in a fixed order.
//!
//! A stretch of memory is added in sixteen interleaved partial sums per block of
//! 1024, and blocks are added pairwise: faster than one running sum, and its
//! rounding error grows with the logarithm of the length instead of the length.

use crate::element::Element;
use crate::kernel::simd::wide;

const BLOCK: usize = 1024;
const LANES: usize = 16;

/// Adds up `f(0) + .. + f(n - 1)`, in an order that depends on `n` alone.
#[inline(always)]
pub(crate) fn sum_of<T: Element>(n: usize, f: impl Fn(usize) -> T + Copy) -> T {
    wide(n, || pairwise(n, f))
}

#[inline(always)]
fn pairwise<T: Element>(n: usize, f: impl Fn(usize) -> T + Copy) -> T {
    // Partial sums of 2^i blocks each, added like the bits of a counter: pairwise without recursion.
    let mut stack = [T::zero(); 64];
    let (mut at, mut blocks) = (0, 0_usize);
    while at < n {
        let end = n.min(at + BLOCK);
        let mut sum = block(at, end, f);
        let mut level = 0;
        while blocks >> level & 1 == 1 {
            sum += stack[level];
            level += 1;
        }
        stack[level] = sum;
        blocks += 1;
        at = end;
    }
    let mut total = T::zero();
    for (level, sum) in stack.iter().enumerate() {
        if blocks >> level & 1 == 1 {
            total += *sum;
        }
    }
    total
}

#[inline(always)]
fn block<T: Element>(from: usize, to: usize, f: impl Fn(usize) -> T) -> T {
    if to - from < LANES {
        let mut sum = T::zero();
        for j in from..to {
            sum += f(j);
        }
        return sum;
    }
    let mut lanes = [T::zero(); LANES];
    let mut at = from;
    while at + LANES <= to {
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum += f(at + lane);
        }
        at += LANES;
    }
    for (lane, j) in (at..to).enumerate() {
        lanes[lane] += f(j);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            let upper = lanes[lane + width];
            lanes[lane] += upper;
        }
        width /= 2;
    }
    lanes[0]
}

/// Adds up a slice.
#[inline]
pub(crate) fn sum_slice<T: Element>(x: &[T]) -> T {
    sum_of(x.len(), |j| x[j])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_adds_every_element_once() {
        for n in (0..70).chain([1023, 1024, 1025, 5000, 8192]) {
            let x: Vec<f64> = (0..n).map(f64::from).collect();
            let n = f64::from(n);
            assert_eq!(sum_slice(&x), n * (n - 1.0) / 2.0, "{n}");
        }
    }

    #[test]
    fn a_million_tenths_in_single_precision_lose_less_than_one_part_in_a_million() {
        let x = vec![0.1_f32; 1_000_000];
        assert!((sum_slice(&x) - 100_000.0).abs() < 0.1);
    }
}
