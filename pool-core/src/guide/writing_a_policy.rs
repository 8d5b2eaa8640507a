//! Writing a policy of one's own.
//!
//! # What it is told, and what it answers
//!
//! A policy is a value that implements [`Retention`]. One method is required: [`rule`] is asked about
//! every buffer that comes back, and answers `Keep`, `Refuse` with a reason, or `MakeRoom`. The other
//! methods have defaults that do nothing.
//!
//! | method | when | what for |
//! |---|---|---|
//! | [`rule`] | a buffer came back | keep it, refuse it, or make room for it |
//! | [`admit`] | a request comes, before anything is looked for | whether it may ride the pool at all |
//! | [`on_hit`], [`on_miss`] | a request was served, or was not | to learn what is asked for |
//! | [`on_leave`] | a retained buffer left, whyever | to give back what was reserved for it |
//! | [`trim`] | a round ended, once for each class that holds something | how many of them to give up |
//!
//! It sees numbers and nothing else: the size of what is offered and what its class holds
//! ([`Offer`]), what the pool holds ([`Held`]), how a class was used ([`Use`]). The pool keeps those
//! accounts and acts on the answers, so a policy can not make them wrong. It runs under its pool's
//! lock or in its thread, hence `&mut self`; it must not block, and should not allocate.
//!
//! `MakeRoom` evicts one buffer of the least recently used class, then asks again. A policy that
//! answers it must say `Keep` in the end, or buffers were given up in vain; so it first refuses what
//! would not fit into an empty pool.
//!
//! # One in all three pools
//!
//! Sizes that are asked for once should not push out those that are asked for again and again. This
//! policy keeps a buffer only if a request of about its size missed twice:
//!
//! ```
//! use pool_core::{Held, Offer, Refusal, Retention, Verdict};
//!
//! /// Keeps sizes that missed twice, up to a number of bytes in all.
//! #[derive(Debug, Clone)]
//! struct SecondMiss {
//!     pool_bytes: usize,
//!     /// Misses by power of two, up to 2.
//!     missed: [u8; usize::BITS as usize],
//! }
//!
//! impl SecondMiss {
//!     fn within(pool_bytes: usize) -> Self {
//!         Self { pool_bytes, missed: [0; usize::BITS as usize] }
//!     }
//! }
//!
//! impl Retention for SecondMiss {
//!     fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
//!         let magnitude = offer.bytes.max(1).ilog2() as usize;
//!         if self.missed[magnitude] < 2 {
//!             return Verdict::Refuse(Refusal::Other);
//!         }
//!         // By subtraction: a sum could be too large for a number.
//!         if offer.bytes <= self.pool_bytes.saturating_sub(held.bytes) {
//!             Verdict::Keep
//!         } else {
//!             Verdict::Refuse(Refusal::PoolFull)
//!         }
//!     }
//!
//!     fn on_miss(&mut self, bytes: usize) {
//!         let count = &mut self.missed[bytes.max(1).ilog2() as usize];
//!         *count = (*count + 1).min(2);
//!     }
//! }
//!
//! let policy = SecondMiss::within(1 << 20);
//!
//! // Scratch of one thread.
//! let scratch = tls_pool::TlsPool::new(policy.clone());
//! for _ in 0..10 {
//!     drop(scratch.zeroed::<f64>(&[512])?);
//! }
//! assert_eq!((scratch.stats().misses, scratch.stats().hits), (2, 8));
//!
//! // Gradients; an arena hands its arrays to the pool when its sweep ends, and there they are
//! // ruled on.
//! let grads = grad_pool::GradPool::new(policy.clone());
//! for _sweep in 0..10 {
//!     drop(grads.arena().zeroed::<f64>(512));
//! }
//! assert_eq!((grads.stats().misses, grads.stats().hits), (2, 8));
//!
//! // Frames.
//! let frames = frame_pool::FramePool::new(policy);
//! for _ in 0..10 {
//!     drop(frames.take(4096));
//! }
//! drop(frames.take(1 << 16)); // once: refused
//! assert_eq!((frames.stats().misses, frames.stats().hits), (3, 8));
//! assert_eq!(frames.stats().refused_for(Refusal::Other), 2);
//! # Ok::<(), pool_core::ShapeError>(())
//! ```
//!
//! `TlsPool` has one shelf for each thread, and each has a policy of its own: a clone, or what the
//! function given to `TlsPool::from_fn` makes. What is to be shared by threads or pools goes behind
//! an `Arc`, as [`Budget`](crate::Budget) does it.
//!
//! # Its test, in three lines
//!
//! What every policy must keep is written down in `pool_core::laws` (feature `testing`), as a test
//! that runs on any policy: the same history gets the same answers, who may not ride is not kept,
//! room that was made is used, an answer that is taken back leaves no trace, no number is too large,
//! a refusal has a reason of the policy's own. A history that breaks one is shrunk and shown.
//!
//! ```
//! # #[cfg(feature = "testing")] {
//! # use pool_core::{Held, Offer, Refusal, Retention, Verdict};
//! # #[derive(Debug, Clone)]
//! # struct SecondMiss {
//! #     pool_bytes: usize,
//! #     /// Misses by power of two, up to 2.
//! #     missed: [u8; usize::BITS as usize],
//! # }
//! # impl SecondMiss {
//! #     fn within(pool_bytes: usize) -> Self {
//! #         Self { pool_bytes, missed: [0; usize::BITS as usize] }
//! #     }
//! # }
//! # impl Retention for SecondMiss {
//! #     fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
//! #         let magnitude = offer.bytes.max(1).ilog2() as usize;
//! #         if self.missed[magnitude] < 2 {
//! #             return Verdict::Refuse(Refusal::Other);
//! #         }
//! #         // By subtraction: a sum could be too large for a number.
//! #         if offer.bytes <= self.pool_bytes.saturating_sub(held.bytes) {
//! #             Verdict::Keep
//! #         } else {
//! #             Verdict::Refuse(Refusal::PoolFull)
//! #         }
//! #     }
//! #     fn on_miss(&mut self, bytes: usize) {
//! #         let count = &mut self.missed[bytes.max(1).ilog2() as usize];
//! #         *count = (*count + 1).min(2);
//! #     }
//! # }
//! use pool_core::laws;
//!
//! let make = || SecondMiss::within(1 << 20);
//! laws::check(make);
//! laws::check_bound(make, |held| held.bytes <= 1 << 20);
//! # }
//! ```
//!
//! The feature is for a `dev-dependencies` entry: it brings a property-testing crate.
//!
//! # Combining
//!
//! [`Both`](crate::Both) keeps what two policies keep, and [`Capped`](crate::Capped) is its name for
//! limits around a policy that has none. [`Decaying`](crate::Decaying) and
//! [`Adaptive`](crate::Adaptive) wrap another policy and give back by rounds. A combinator that turns
//! a `Keep` into another answer says so by [`on_leave`], so that what was reserved is free again.
//!
//! ```
//! use frame_pool::FramePool;
//! use pool_core::{Both, Bounded, Budget, Refusal};
//!
//! let budget = Budget::new(1 << 20); // one for the whole process
//! let limits = Bounded { class_buffers: 2, ..Bounded::UNLIMITED };
//! let frames = FramePool::new(Both(limits, budget.share()));
//! drop([frames.take(4096), frames.take(4096), frames.take(4096)]);
//! assert_eq!(frames.stats().refused_for(Refusal::ClassFull), 1);
//! assert_eq!(budget.used(), 2 * 4096);
//! ```
//!
//! # Cost
//!
//! A pool whose type names its policy calls it directly, and the compiler sees through it. As an
//! object, `Box<dyn Retention + Send>`, a policy is chosen at run time and costs indirect calls.
//!
//! [`rule`]: Retention::rule
//! [`admit`]: Retention::admit
//! [`on_hit`]: Retention::on_hit
//! [`on_miss`]: Retention::on_miss
//! [`on_leave`]: Retention::on_leave
//! [`trim`]: Retention::trim

#[cfg(doc)]
use crate::{Held, Offer, Retention, Use};
