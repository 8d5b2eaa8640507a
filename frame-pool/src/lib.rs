//! Payloads of routed frames: best fit, bounded, one owner at a time.
//!
//! A router reads each message into a buffer, moves it to another thread, writes it there and
//! drops it. [`FramePool`] lends those buffers by length and takes them back when their guard, a
//! [`Frame`], is dropped, on whichever thread that is.
//!
//! | module | what it holds |
//! |---|---|
//! | `pool` | [`FramePool`]: handles, presets, the switch, the doors that lend |
//! | `frame` | [`Frame`]: the guard, its two ways out |
//! | `read` | filling a frame from a reader without trusting the announced length |
//! | `bytes` | a frame as `bytes::Bytes`, cloned and sliced (feature `bytes`) |
//! | `home` | the shared state: one lock around one shelf, one switch |
//! | `tier` | one thread's places in front of the shelf, which need no lock |
//!
//! The retention policies, the shelf that holds the buffers and the statistics are those of
//! [`pool-core`](pool_core); what a user of this crate needs of them is re-exported here.
//!
//! This crate deliberately does not know what a frame means: no header, no tag, no rank, no
//! socket and no queue. It hands out bytes of a given length and counts them.
//!
//! # Examples
//!
//! Ownership moves with the frame, and the buffer comes home from the far side:
//!
//! ```
//! use std::{sync::mpsc, thread};
//! use frame_pool::FramePool;
//!
//! let pool = FramePool::default();
//! let (outbox, drain) = mpsc::channel();
//! let peer = thread::spawn(move || {
//!     for frame in drain {
//!         let frame: frame_pool::Frame = frame;
//!         assert_eq!(*frame, [7; 4096]);
//!     } // each frame's buffer goes home here
//! });
//! for _ in 0..100 {
//!     let mut frame = pool.take(4096);
//!     frame.fill(7);
//!     outbox.send(frame).unwrap();
//! }
//! drop(outbox);
//! peer.join().unwrap();
//! assert_eq!(pool.stats().returns, 100);
//! ```

#[cfg(feature = "bytes")]
mod bytes;
mod frame;
mod home;
mod pool;
mod read;
mod tier;

pub use frame::Frame;
pub use pool::FramePool;
#[cfg(feature = "metrics")]
pub use pool_core::metrics;
pub use pool_core::{
    Adaptive, BestFit, Both, Bounded, Budget, Capped, Decaying, Held, Offer, Refusal, Retention,
    Share, Stats, Unbounded, Unpooled, Use, Verdict, WhenFull,
};
pub use read::READ_STEP;

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
