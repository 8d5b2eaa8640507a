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
//! | `kernels.rs` | [`kernels`]: fills and in-place accumulation over slices |
//! | `huge.rs` | the option of huge pages, the only file with `unsafe` (feature `huge-pages`) |
//! | `limits.rs` | the named bounds, and the bound in elements |
//! | `scratch.rs` | [`SweepScratch`]: a sweep's order, stack and marks |
//!
//! This crate deliberately does not know graphs, shapes, operations or how a sweep walks. A class
//! of arrays is an element type and a number of elements; the shape travels with the borrower.

mod arena;
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
pub use pool_core::{
    Both, Bounded, Budget, Capped, Decaying, Held, Offer, Refusal, Retention, Share, Stats,
    Unbounded, Unpooled, Use, Verdict, WhenFull,
};
pub use scratch::{Scratch, ScratchPool, SweepScratch, emptied};

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
