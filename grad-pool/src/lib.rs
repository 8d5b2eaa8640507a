//! Gradient arrays recycled within one backward sweep, over a bounded shared pool.
//!
//! A backward sweep asks for one array per node and drops nearly all of them before it ends. An
//! [`Arena`] serves one sweep in one thread and keeps the dropped arrays for the next node,
//! without a lock; what it can not serve or hold goes to the shared [`GradPool`], and what is left
//! when the sweep ends goes there under one lock. The few arrays that become a caller's result
//! leave through [`Grad::detach`] for good, or as a [`Leaf`] that comes home later.
//!
//! | file | what it holds |
//! |---|---|
//! | `pool.rs` | [`GradPool`]: the shared tier, the switch, the sums |
//! | `arena.rs` | [`Arena`]: one sweep's private tier |
//! | `grad.rs` | [`Grad`], the guard within a sweep |
//! | `leaf.rs` | [`Leaf`], the guard that left its sweep |
//! | `element.rs` | [`Element`]: what a gradient is made of; [`Factor`]: what scales it |
//! | `array.rs` | the memory of one array: made, prepared, erased |
//! | `class.rs` | element type and number of elements in one word |
//! | `kernels.rs` | [`kernels`]: fills and in-place accumulation over slices |
//! | `huge.rs` | the option of huge pages, the only file with `unsafe` (feature `huge-pages`) |
//! | `limits.rs` | the named bounds, and the bound in elements |
//! | `scratch.rs` | [`SweepScratch`]: a sweep's order, stack and marks |
//!
//! # Where an array begins
//!
//! An array is one ordinary allocation and begins where the allocator says, so that
//! [`Grad::detach`] hands out a plain `Vec` at no copy. A boundary of 64 bytes was tried:
//! `cargo run --release -p grad-pool --example passes` accumulates on it and 16 bytes past it,
//! where glibc puts large arrays.
//!
//! | built for | 1024 `f64` | 16,384 | 1,048,576 |
//! |---|---|---|---|
//! | x86-64, as by default | 1.00 | 1.00 | 0.98 to 1.04 |
//! | AVX2 (`RUSTFLAGS="-C target-cpu=native"`) | 0.67 | 0.80 | 0.86 to 0.98 |
//!
//! The default build reads 16 bytes at once, which no boundary splits. Wider loops gain by it, but
//! a `Vec` can not own memory that was allocated for a larger alignment than its elements'; the
//! array would begin inside its allocation, and detaching it would be a copy.
//!
//! # Small arrays
//!
//! An arena steps aside for no size: `passes` takes and returns arrays of some `f64`, and copies
//! into them, in turn with the allocator (glibc 2.36, nanoseconds for a pair).
//!
//! | | 1 | 8 | 32 | 128 |
//! |---|---|---|---|---|
//! | `Arena::zeroed` | 11 | 11 | 15 | 17 |
//! | `vec![0.0; n]` | 22 | 22 | 45 | 34 |
//! | `Arena::copy_of` | 16 | 15 | 17 | 28 |
//! | `to_vec` | 19 | 18 | 18 | 23 |
//!
//! A borrow that finds nothing takes the shared tier's lock and then allocates: 31 ns with 8
//! elements, where the allocator alone took 22, and 36 with 128, where it took 45. Up to 1 KiB it
//! zeroes the array itself, which costs less than asking for zeros.
//!
//! This crate deliberately does not know graphs, shapes, operations or how a sweep walks. A class
//! of arrays is an element type and a number of elements; the shape travels with the borrower.

mod arena;
mod array;
mod class;
mod element;
mod grad;
#[cfg(feature = "huge-pages")]
mod huge;
pub mod kernels;
mod leaf;
mod limits;
mod pool;
mod scratch;

pub use arena::Arena;
pub use element::{Element, Factor};
pub use grad::Grad;
pub use kernels::LengthError;
pub use leaf::Leaf;
pub use pool::{GradPool, global};
#[cfg(feature = "metrics")]
pub use pool_core::metrics;
pub use pool_core::{
    Adaptive, Both, Bounded, Budget, Capped, Decaying, Held, Offer, Refusal, Retention, Share,
    Stats, Unbounded, Unpooled, Use, Verdict, WhenFull,
};
pub use scratch::{Scratch, ScratchPool, SweepScratch, emptied};

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
