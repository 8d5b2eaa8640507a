//! Keeps everything: for measurements, and for loads whose peak is known to be affordable.

use super::{Held, Offer, Retention, Verdict};

/// Keeps every buffer, without a bound.
///
/// # Examples
///
/// ```
/// use pool_core::{Held, Offer, Retention, Unbounded, Verdict};
///
/// assert_eq!(Unbounded.rule(Offer::of(usize::MAX), Held::default()), Verdict::Keep);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unbounded;

impl Retention for Unbounded {
    fn rule(&mut self, _offer: Offer, _held: Held) -> Verdict {
        Verdict::Keep
    }

    fn is_memoryless(&self) -> bool {
        true
    }
}
