//! Scratch buffers recycled per thread, for any plain-old-data element.
//!
//! A [`TlsPool`] is a value: make as many as there are uses with different bounds, or take the
//! process-wide [`global`]. Each thread that touches a pool gets a shelf of its own there, so that
//! a borrow and a return take no lock. What a borrow hands out is a [`Scratch`], a slice with one
//! owner; dropping it is the return, on whatever thread that happens.
//!
//! | file | what it holds |
//! |---|---|
//! | `pool.rs` | [`TlsPool`]: the doors, the switch, the sums |
//! | `scratch.rs` | [`Scratch`], the guard |
//! | `adopt.rs` | [`AdoptError`]: a vector that the pool would not take |
//! | `tenant.rs` | one thread's shelf of one pool |
//! | `depot.rs` | where threads leave their surplus for threads that lack it |
//! | `hot.rs` | the buffers that a thread uses again and again |
//! | `register.rs` | one pool's threads: who came, what the ended ones left |
//!
//! This crate deliberately does not know shapes beyond their product, arithmetic, files or
//! sockets; which buffers to retain is the business of a [`Retention`] policy.

mod adopt;
mod depot;
mod hot;
mod policy;
mod pool;
mod register;
mod scratch;
mod tenant;

pub use adopt::AdoptError;
pub use pool::{TlsPool, global};
#[cfg(feature = "metrics")]
pub use pool_core::metrics;
pub use pool_core::{
    Adaptive, Both, Bounded, Budget, Capped, Decaying, Held, Offer, Refusal, Retention, ShapeError,
    Share, Stats, Unbounded, Unpooled, Use, Verdict, WhenFull,
};
pub use scratch::Scratch;

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
