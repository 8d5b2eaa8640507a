//! Choosing a policy and its limits.
//!
//! | load | policy | because |
//! |---|---|---|
//! | the same sizes for ever | [`Bounded`], refusing | once warm everything hits; the limits are for the day it is not so |
//! | sizes change from phase to phase | [`Bounded::lru`] | yesterday's sizes make room, within one round |
//! | bursts, any time | [`Decaying`] over one of the above | what a burst left fades away, what is needed stays |
//! | rounds that resemble the last few | [`Adaptive`] | keeps what each of them needed, gives back the rest at once |
//! | more needed in a round, in turn, than fits | [`Bounded`], refusing | see [below](#when-less-fits-than-a-round-needs) |
//! | several pools, one limit for all | [`Budget`], a [`Share`] each | the sum is exact, whatever the threads do |
//! | a peak that is known to be affordable | [`Unbounded`] | for measurements |
//! | comparison with plain allocation | [`Unpooled`] | every request bypasses the pool |
//!
//! A limit in bytes is the one to begin with: it is what the machine has. Count limits (buffers,
//! classes) bound the accounts themselves against a flood of tiny buffers. Each pool's default is
//! [`Bounded`] with eviction and limits of all three kinds; each names them in its documentation.
//!
//! # What the numbers say
//!
//! [`Stats`] tells which limit is too tight. Refusals are counted by reason; many `evicted` beside
//! many `misses` say that the pool is smaller than what a round needs; `bypassed` counts what the
//! ceiling of one buffer turned away; and a `peak_bytes` far below the limit says that the limit does
//! nothing.
//!
//! # A change of phase
//!
//! ```
//! use frame_pool::FramePool;
//! use grad_pool::GradPool;
//! use pool_core::{Bounded, Stats};
//! use tls_pool::TlsPool;
//!
//! /// Hit rate of the third round after the pool was filled with another size.
//! fn recovered(limits: Bounded) -> Result<[f64; 3], Box<dyn std::error::Error>> {
//!     let (scratch, grads, frames) =
//!         (TlsPool::new(limits), GradPool::new(limits), FramePool::new(limits));
//!     let mut rates = [0.0; 3];
//!     // 64 KiB in buffers of 1 KiB, all at once; then rounds of two buffers of 16 KiB.
//!     for (words, count) in [(128, 64), (2048, 2), (2048, 2), (2048, 2)] {
//!         let before = [scratch.stats(), grads.stats(), frames.stats()];
//!         let borrowed: Result<Vec<_>, _> =
//!             (0..count).map(|_| scratch.unspecified::<f64>(&[words])).collect();
//!         drop(borrowed?);
//!         let sweep = grads.arena();
//!         drop((0..count).map(|_| sweep.zeroed::<f64>(words)).collect::<Vec<_>>());
//!         drop(sweep);
//!         drop((0..count).map(|_| frames.take(8 * words)).collect::<Vec<_>>());
//!         let after = [scratch.stats(), grads.stats(), frames.stats()];
//!         for (rate, (after, before)) in rates.iter_mut().zip(after.iter().zip(&before)) {
//!             *rate = after.since(before).hit_rate().unwrap_or_default();
//!         }
//!     }
//!     Ok(rates)
//! }
//!
//! let refusing = Bounded { pool_bytes: 64 << 10, ..Bounded::UNLIMITED };
//! assert_eq!(recovered(refusing)?, [0.0; 3]); // full of yesterday's, until it is cleared
//! assert_eq!(recovered(Bounded::lru(64 << 10))?, [1.0; 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rounds
//!
//! [`Decaying`] and [`Adaptive`] give memory back by rounds. What a round is, the program knows: a
//! training step, a batch, a tick of its event loop. It calls the pool's `end_round` then; no pool
//! owns a clock, so the same program gives back the same buffers on every run. In `tls-pool`, a thread
//! ends the rounds of its own shelf.
//!
//! ```
//! use grad_pool::GradPool;
//! use pool_core::{Adaptive, Bounded, Decaying, Retention};
//!
//! /// Arrays held after a burst of 64, then after each round that needs two at once.
//! fn after_a_burst(pool: &GradPool<impl Retention>) -> Vec<u64> {
//!     let needed = [64, 2, 2, 2, 2, 2, 2, 2, 2];
//!     needed.map(|needed| {
//!         let arena = pool.arena();
//!         drop((0..needed).map(|_| arena.zeroed::<f64>(512)).collect::<Vec<_>>());
//!         drop(arena);
//!         pool.end_round();
//!         pool.stats().held_buffers
//!     })
//!     .to_vec()
//! }
//!
//! let limits = Bounded::lru(64 << 20);
//! // Half of what was idle in a round, round after round.
//! let decaying = GradPool::new(Decaying { quiet_rounds: 1, share: 2, inner: limits });
//! assert_eq!(after_a_burst(&decaying), [64, 33, 17, 9, 5, 3, 2, 2, 2]);
//! // What none of the last four rounds needed, at once.
//! let adaptive = GradPool::new(Adaptive { window: 4, inner: limits });
//! assert_eq!(after_a_burst(&adaptive), [64, 64, 64, 64, 2, 2, 2, 2, 2]);
//! // Without a policy that looks at rounds, what a burst left stays.
//! assert_eq!(after_a_burst(&GradPool::new(limits)), [64; 9]);
//! ```
//!
//! A window as long as the load's own period keeps every round of it warm: four, for a larger
//! validation batch after every third training batch.
//!
//! # When less fits than a round needs
//!
//! A round that goes through ten sizes in turn, in a pool that holds eight, is the worst case of
//! every least-recently-used policy: each size is evicted just before it is asked for again. Plain
//! refusal keeps eight of the ten:
//!
//! ```
//! use pool_core::{Bounded, WhenFull};
//! use tls_pool::TlsPool;
//!
//! let hits = |when_full| {
//!     let pool = TlsPool::new(Bounded { pool_buffers: 8, when_full, ..Bounded::UNLIMITED });
//!     for _round in 0..10 {
//!         for len in 500..510 {
//!             drop(pool.zeroed::<f64>(&[len]).expect("it is small"));
//!         }
//!     }
//!     pool.stats().hits
//! };
//! assert_eq!(hits(WhenFull::Refuse), 9 * 8);
//! assert_eq!(hits(WhenFull::Evict), 0);
//! ```
//!
//! Better than either is a limit that a round fits into; `misses` beside `evicted` shows the need.
//!
//! # Clearing and switching
//!
//! `clear` frees what is retained at that moment, and recycling goes on; a program calls it when it
//! knows that a phase is over. `set_enabled(false)` makes every request a plain allocation and every
//! return a plain drop, in every thread at once, and frees what is retained: the baseline of an A/B
//! measurement in one binary.
//!
//! ```
//! let frames = frame_pool::FramePool::default();
//! drop(frames.take(4096));
//! frames.clear();
//! assert_eq!(frames.stats().held_bytes, 0);
//! drop(frames.take(4096));
//! frames.set_enabled(false);
//! assert_eq!(frames.stats().held_bytes, 0);
//! drop(frames.take(4096));
//! assert_eq!((frames.stats().bypassed, frames.stats().held_bytes), (1, 0));
//!
//! let grads = grad_pool::GradPool::default();
//! drop(grads.arena().zeroed::<f32>(1024));
//! grads.clear();
//! assert_eq!(grads.stats().held_bytes, 0);
//!
//! let scratch = tls_pool::TlsPool::default();
//! drop(scratch.zeroed::<f32>(&[1024])?);
//! scratch.clear(); // this thread's now; another thread's when it next touches the pool
//! assert_eq!(scratch.stats().held_bytes, 0);
//! # Ok::<(), tls_pool::ShapeError>(())
//! ```

#[cfg(doc)]
use crate::{Adaptive, Bounded, Budget, Decaying, Share, Stats, Unbounded, Unpooled};
