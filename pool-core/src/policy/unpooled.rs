//! No retention: the pool switched off by policy, the baseline of every comparison.

use super::{Held, Offer, Refusal, Retention, Verdict};

/// Keeps nothing: every request is an ordinary allocation, every return an ordinary drop.
///
/// # Examples
///
/// ```
/// use pool_core::{Retention, Unpooled};
///
/// assert!(!Unpooled.admit(1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unpooled;

impl Retention for Unpooled {
    fn rule(&mut self, _offer: Offer, _held: Held) -> Verdict {
        Verdict::Refuse(Refusal::Unpooled)
    }

    fn admit(&self, _bytes: usize) -> bool {
        false
    }
}
