//! Joining a world: prove the secret in both directions, claim a rank, wait for the others.
//!
//! ```text
//! rank ── hello: version, byte order, rank, size, nonce ──────────► hub
//! rank ◄─ challenge: nonce, HMAC(secret, "hub"  ‖ hello ‖ nonces) ── hub
//! rank ── proof:            HMAC(secret, "rank" ‖ hello ‖ nonces) ─► hub
//! rank ◄─ welcome, once every rank has proved itself ─────────────── hub
//! ```
//!
//! Why HMAC-SHA256 and not a Noise handshake: v1 authenticates and does not
//! encrypt, the exchange is two messages over one shared key, and two small
//! crates carry it. Each proof is bound to its direction, to the rank, the size
//! and both fresh nonces, so that a proof reflected, replayed or made for another
//! rank is worth nothing; proofs are compared in constant time by `hmac`.
//!
//! What must stay true: an unproved connection costs the hub one thread for a
//! bounded time and a bounded number of bytes, and their number is bounded; it
//! changes nothing for the ranks that join. The secret appears in no error, log
//! or `Debug` output: [`Secret`] prints as its name only.

mod accept;
mod connect;
mod hello;
mod listener;
mod secret;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub(crate) use accept::host;
pub(crate) use connect::connect;
pub(crate) use listener::Listener;
pub use listener::{Address, AddressError};
pub use secret::Secret;

/// Why a world did not form, or why this rank is not part of it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Ranks did not come in time.
    #[error(
        "the world of {size} is not complete after {waited:?}: missing {missing:?}; \
         {refused} connections were refused{}", last_refusal.as_deref().map(|why| format!(" (the last: {why})")).unwrap_or_default()
    )]
    Incomplete {
        /// The world's size.
        size: usize,
        /// The ranks that did not join.
        missing: Vec<usize>,
        /// How long the hub waited.
        waited: Duration,
        /// How many connections were turned away.
        refused: usize,
        /// Why the last one was.
        last_refusal: Option<String>,
    },
    /// The hub turned this rank away.
    #[error("the hub refused rank {rank}: {reason}")]
    Refused {
        /// This rank.
        rank: usize,
        /// The hub's words.
        reason: String,
    },
    /// Whoever listens at the hub's address does not know the world's secret.
    #[error(
        "the hub at {address} did not prove the world's secret; check SPMD_SECRET on both sides"
    )]
    NotProved {
        /// The hub's address.
        address: String,
    },
    /// Nobody listens at the hub's address.
    #[error("no hub at {address} within {waited:?}: {error}")]
    NoHub {
        /// The hub's address.
        address: String,
        /// How long this rank tried.
        waited: Duration,
        /// The last attempt's error.
        error: String,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: String,
        /// The system's reason.
        error: String,
    },
    /// The exchange with the hub broke off.
    #[error("joining at {address} broke off while {doing}: {error}")]
    Broken {
        /// The hub's address.
        address: String,
        /// What was being done.
        doing: &'static str,
        /// The system's reason.
        error: String,
    },
    /// The hub's threads or sockets could not be made.
    #[error("cannot start the hub: {0}")]
    Start(String),
}
