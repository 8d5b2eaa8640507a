//! What the program tells whoever started it: one JSON object a line on standard output.
//!
//! Rank 0 alone speaks. `cargo xtask demo` compiles this file too, so that the two sides have one
//! definition.

use pool_core::Stats;
use serde::{Deserialize, Serialize};

/// One line of rank 0's output.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// An epoch ended.
    Epoch(Epoch),
    /// The training ended.
    Done(Done),
}

/// How the training stands after an epoch.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Epoch {
    /// Epochs that ended, from 1.
    pub(crate) number: usize,
    /// Epochs in all.
    pub(crate) of: usize,
    /// Mean cross-entropy over the epoch's training images, in nats.
    pub(crate) loss: f64,
    /// Share of the test images that are classified right.
    pub(crate) accuracy: f64,
}

/// What the training came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Done {
    /// Ranks that took part.
    pub(crate) ranks: usize,
    /// Share of the test images that are classified right.
    pub(crate) accuracy: f64,
    /// Training images that went forward and backward, over all ranks.
    pub(crate) images: usize,
    /// Wall time of the training, in seconds.
    pub(crate) seconds: f64,
    /// SHA-256 of the final weights' bits, the same on every rank.
    pub(crate) weights: String,
    /// The three pools, each summed over the ranks.
    pub(crate) pools: Vec<Pool>,
}

/// One pool's statistics, summed over the ranks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Pool {
    /// The crate's name.
    pub(crate) name: String,
    /// Over the whole run.
    pub(crate) total: Stats,
    /// After the first epoch, when every buffer size has been seen.
    pub(crate) steady: Stats,
}
