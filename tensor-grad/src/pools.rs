//! The engine's two pools: one switch, and what they count.
//!
//! Values of the forward pass ride a `tls-pool`, a shelf per thread; gradients
//! ride a `grad-pool`, an arena per sweep over a shared tier. Both are the
//! engine's own, so that a program's other uses of those crates neither fill
//! them nor show in their counts. Both hold up to 256 MiB (the first: per
//! thread) and evict the size that was used least recently, so that a change of
//! batch size does not fill them for good.
//!
//! Whatever the pools hold, results have the same bits: correctness never
//! depends on a hit.
//!
//! # Examples
//!
//! ```
//! use tensor_grad::{Array, Tensor, pools};
//!
//! let x = Tensor::leaf(Array::full(&[100], 2.0_f32)?);
//! let before = pools::sweep_stats();
//! for _step in 0..3 {
//!     (&x * &x).sum().backward()?;
//! }
//! let after = pools::sweep_stats();
//! // The first sweep allocated two gradients, the others found them again.
//! assert_eq!((after.misses - before.misses, after.hits - before.hits), (2, 4));
//! # Ok::<(), tensor_grad::Error>(())
//! ```

use std::sync::LazyLock;

pub use grad_pool::Stats;
use grad_pool::{Bounded, GradPool, WhenFull};
use tls_pool::TlsPool;

/// The bounds of either pool: more than the training steps measured here keep alive at once.
const BOUNDS: Bounded = Bounded {
    buffer_bytes: 256 << 20,
    pool_bytes: 256 << 20,
    pool_buffers: 1 << 13,
    classes: 512,
    when_full: WhenFull::Evict,
    ..Bounded::UNLIMITED
};

/// Values of the forward pass, and temporaries.
pub(crate) static FORWARD: LazyLock<TlsPool> = LazyLock::new(|| TlsPool::new(BOUNDS));

/// Gradients.
pub(crate) static SWEEP: LazyLock<GradPool> = LazyLock::new(|| GradPool::new(BOUNDS));

/// Turns both pools on or off, for every thread at once.
///
/// Off, every buffer is an ordinary allocation, as if no pool existed. What the
/// pools held is freed.
pub fn set_enabled(on: bool) {
    FORWARD.set_enabled(on);
    SWEEP.set_enabled(on);
}

/// Whether the pools are on, as they are at first.
#[must_use]
pub fn is_enabled() -> bool {
    FORWARD.is_enabled() && SWEEP.is_enabled()
}

/// Frees what both pools hold; they fill again.
pub fn clear() {
    FORWARD.clear();
    SWEEP.clear();
}

/// Returns what the pool of forward values counted, over all threads.
#[must_use]
pub fn forward_stats() -> Stats {
    FORWARD.stats()
}

/// Returns what the pool of gradients counted, over all sweeps.
#[must_use]
pub fn sweep_stats() -> Stats {
    SWEEP.stats()
}
