//! What every buffer pool of this workspace shares: retention policies, shelves, exact accounts.
//!
//! A pool answers two questions. *May this request ride the pool at all?* and *what becomes of a
//! buffer that comes back?* Both are answered by a [`Retention`] policy, which sees sizes and
//! nothing else. Everything around the answer is mechanism and lives in [`Shelf`]: finding a
//! buffer, counting it, and handing back what has to be freed so that the caller frees it after
//! its lock is open.
//!
//! | module | what it holds |
//! |---|---|
//! | [`guide`] | how to choose a policy, and how to write one |
//! | [`policy`] | the [`Retention`] trait and the built-in policies |
//! | [`shelf`] | the one place where returned buffers wait |
//! | [`class`] | what makes two buffers interchangeable |
//! | [`fit`] | how a request finds a class: [`Exact`] or [`BestFit`] |
//! | [`stats`] | [`Stats`], plain data, and the single-writer [`Counters`] behind it |
//! | [`switch`] | a pool's on/off state, seen by every thread at once |
//! | [`shape`] | shapes as checked products |
//! | [`block`] | a boxed slice of any plain-old-data element with its type erased, at no copy |
//! | [`tenancy`] | what a pool keeps in each thread, and what becomes of it when the thread ends |
//! | `laws` | the laws of a policy as a test (feature `testing`) |
//! | `metrics` | [`Stats`] through the `metrics` facade (feature `metrics`) |
//! | [`sync`] | std's or loom's primitives, so that the pools can be model-checked |
//!
//! This crate deliberately does not know element arithmetic, sweeps, sockets or clocks, and it allocates no
//! buffer: a miss is the pool's business.
//!
//! # Examples
//!
//! A shelf of byte buffers that keeps at most one:
//!
//! ```
//! use pool_core::{Bounded, Exact, Found, Shelf};
//!
//! let one = Bounded { pool_buffers: 1, ..Bounded::UNLIMITED };
//! let mut shelf = Shelf::<usize, Box<[u8]>, _, _>::new(one, Exact::default());
//!
//! assert!(matches!(shelf.request(64), Found::Miss));
//! drop(shelf.offer(64, Box::new([0; 64])));
//! drop(shelf.offer(64, Box::new([0; 64]))); // over the bound: refused, and freed here
//! assert!(matches!(shelf.request(64), Found::Hit(buffer) if buffer.len() == 64));
//! assert!(matches!(shelf.request(64), Found::Miss));
//! ```

pub mod block;
pub mod class;
pub mod fit;
pub mod guide;
#[cfg(any(test, feature = "testing"))]
pub mod laws;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod policy;
pub mod shape;
pub mod shelf;
pub mod stats;
pub mod switch;
pub mod sync;
pub mod tenancy;

pub use block::Block;
pub use class::{Class, ElementClass};
pub use fit::{BestFit, Exact, Fit};
pub use policy::{
    Adaptive, Both, Bounded, Budget, Capped, Decaying, Held, Offer, Refusal, Retention, Share,
    Unbounded, Unpooled, Use, Verdict, WhenFull,
};
pub use shape::{ShapeError, elements};
pub use shelf::{Buffer, Discarded, Found, Shelf};
pub use stats::{Counters, Stats};
pub use switch::{State, Switch};

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
