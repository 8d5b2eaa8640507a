//! What one pass over memory costs, and what does not pay.
//!
//! ```text
//! cargo run --release -p grad-pool --example passes
//! ```
//!
//! Prints the ratio of the least times of two ways to do the same, taken in turn: a block-wise
//! fill against `<[T]>::fill`; a block-wise copy against `<[T]>::copy_from_slice`; payloads on a boundary of 64 bytes against payloads 16 bytes past
//! it, which is where a large ordinary allocation begins; a first contribution that is assigned
//! against one that is added to zeros; small arrays from an arena, found and missed, against the
//! allocator's.
#![expect(clippy::print_stdout, reason = "an example reports to its user")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use grad_pool::{Element, GradPool, kernels};
use num_complex::Complex;

/// Least times of both ways over 31 rounds, each way about 4 ms a round.
fn race(mut one: impl FnMut(), mut other: impl FnMut()) -> (Duration, Duration) {
    let time = |way: &mut dyn FnMut(), passes: u32| {
        let begun = Instant::now();
        for _ in 0..passes {
            way();
        }
        begun.elapsed() / passes
    };
    one();
    let once = time(&mut one, 3).as_nanos().max(1);
    let passes = u32::try_from(4_000_000 / once).unwrap_or(u32::MAX).max(1);
    let mut least = (Duration::MAX, Duration::MAX);
    for _ in 0..31 {
        least.0 = least.0.min(time(&mut one, passes));
        least.1 = least.1.min(time(&mut other, passes));
    }
    least
}

fn report(what: &str, len: usize, (one, other): (Duration, Duration)) {
    let ratio = one.as_secs_f64() / other.as_secs_f64();
    println!("{what:<44} {len:>8} {one:>12.1?} {other:>12.1?} {ratio:>6.2}");
}

fn fills<T: Element>(name: &str, value: T) {
    for len in [1 << 10, 1 << 14, 1 << 20] {
        let (mut ours, mut plain) = (vec![T::default(); len], vec![T::default(); len]);
        let times = race(
            || kernels::fill(black_box(&mut ours), black_box(value)),
            || black_box(&mut plain).fill(black_box(value)),
        );
        assert_eq!(ours, plain);
        report(&format!("fill {name}: kernel | <[T]>::fill"), len, times);
    }
}

/// `len` elements of `memory` that begin `past` bytes after a boundary of 64.
fn at(memory: &mut [f64], past: usize, len: usize) -> &mut [f64] {
    let skip = memory.as_ptr().align_offset(64) + past / size_of::<f64>();
    &mut memory[skip..skip + len]
}

/// Copies to where the target begins so many bytes past the source, modulo a page.
fn copies() {
    for (len, apart) in [(1 << 8, 16), (1 << 14, 0), (1 << 14, 16), (1 << 20, 16)] {
        let make = || vec![1.0_f64; len + 1024];
        let (mut to, from) = (make(), make());
        let page = |memory: &[f64]| memory.as_ptr().align_offset(4096);
        let skip = page(&to) + apart / size_of::<f64>();
        let from = &from[page(&from)..][..len];
        let to = std::cell::RefCell::new(&mut to[skip..][..len]);
        let times = race(
            || kernels::assign(black_box(&mut to.borrow_mut()), black_box(from)).expect("equal"),
            || black_box(&mut to.borrow_mut()).copy_from_slice(black_box(from)),
        );
        let what = format!("copy f64, {apart:>2} apart: kernel | <[T]>::copy");
        report(&what, len, times);
    }
}

fn alignment() {
    for len in [1 << 10, 1 << 14, 1 << 20] {
        let make = || vec![1.0_f64; len + 32];
        let (mut sums, mut mores) = (make(), make());
        // One memory for both ways, so that they differ in nothing but the place they begin at.
        let memory = std::cell::RefCell::new((&mut sums, &mut mores));
        let pass = |past: usize| {
            let (sums, mores) = &mut *memory.borrow_mut();
            let (sum, more) = (at(sums, past, len), at(mores, past, len));
            kernels::add(black_box(sum), black_box(more)).expect("equal lengths");
        };
        let times = race(|| pass(0), || pass(16));
        report("add f64: on 64 bytes | 16 bytes past", len, times);
    }
}

fn first_contribution() {
    let pool = GradPool::default();
    for len in [1 << 14, 1 << 20] {
        let arena = pool.arena();
        let contribution = vec![1.0_f64; len];
        let times = race(
            || drop(black_box(arena.copy_of(black_box(&contribution)))),
            || {
                let mut sum = arena.zeroed(len);
                kernels::add(&mut sum, black_box(&contribution)).expect("equal lengths");
                drop(black_box(sum));
            },
        );
        report("first f64 contribution: assigned | added", len, times);
    }
}

/// A borrow and its return, and a miss, against an ordinary allocation.
fn small() {
    let pool = GradPool::default();
    let arena = pool.arena();
    for len in [1, 8, 32, 128, 1024] {
        let source = vec![1.0_f64; len];
        let times = race(
            || drop(black_box(arena.zeroed::<f64>(black_box(len)))),
            || drop(black_box(vec![0.0_f64; black_box(len)])),
        );
        report("zeros: arena | vec![0.0; n]", len, times);
        let times = race(
            || drop(black_box(arena.copy_of(black_box(&source[..])))),
            || drop(black_box(black_box(&source[..]).to_vec())),
        );
        report("copy: arena | to_vec", len, times);
    }
    // Every array leaves the arena for good, so that every borrow is a miss.
    let arena = pool.arena();
    pool.clear();
    for len in [8, 128, 1024] {
        let times = race(
            || drop(black_box(arena.zeroed::<f64>(black_box(len)).detach())),
            || drop(black_box(vec![0.0_f64; black_box(len)])),
        );
        report("a miss: arena | vec![0.0; n]", len, times);
    }
}

fn main() {
    println!(
        "{:<44} {:>8} {:>12} {:>12} {:>6}",
        "what", "elements", "one", "other", "ratio"
    );
    fills("f32", 1.5_f32);
    fills("f64", 1.5_f64);
    fills("Complex<f32>", Complex::new(1.5_f32, -0.5));
    fills("Complex<f64>", Complex::new(1.5_f64, -0.5));
    copies();
    alignment();
    first_contribution();
    small();
}
