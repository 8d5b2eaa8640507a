//! Gives memory back after quiet rounds.
//!
//! After a burst a bounded pool keeps what the burst left, for ever. This policy watches each
//! class: buffers that stayed on the shelf through a number of rounds are idle, and a share of
//! them is given up. Repeated, that is an exponential decay of what nobody needs, to nothing,
//! while what is needed stays. Rounds are told to the pool; nothing here owns a clock.
//!
//! It knows one number of each class, what was idle since it last gave some of it up, and not what a
//! single round needed. [`Adaptive`](super::Adaptive) knows the latter, keeps what the last few
//! rounds needed and gives up the rest at once, where this policy fades.

use super::{Held, Offer, Retention, Use, Verdict};

/// Another policy's pool, which gives a share of its idle buffers up after quiet rounds.
///
/// # Examples
///
/// ```
/// use pool_core::{Bounded, Decaying, Exact, Shelf};
///
/// let policy = Decaying { quiet_rounds: 2, share: 2, inner: Bounded::UNLIMITED };
/// let mut shelf = Shelf::<usize, Vec<u8>, _, _>::new(policy, Exact::default());
/// for _ in 0..100 {
///     drop(shelf.offer(8, vec![0; 8]));
/// }
/// drop(shelf.end_round()); // the round of the burst itself
/// drop(shelf.end_round());
/// assert_eq!(shelf.held().buffers, 100, "not idle through two rounds yet");
/// drop(shelf.end_round());
/// drop(shelf.end_round());
/// assert_eq!(shelf.held().buffers, 50);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decaying<P> {
    /// Rounds through which a buffer stays idle before a share is given up; 0 counts as 1.
    pub quiet_rounds: u32,
    /// The share, as a divisor of the idle buffers, rounded up: 2 for a half; 0 counts as 1, all.
    pub share: usize,
    /// What rules on returned buffers.
    pub inner: P,
}

impl<P: Retention> Retention for Decaying<P> {
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        self.inner.rule(offer, held)
    }

    fn admit(&self, bytes: usize) -> bool {
        self.inner.admit(bytes)
    }

    fn on_hit(&mut self, bytes: usize) {
        self.inner.on_hit(bytes);
    }

    fn on_miss(&mut self, bytes: usize) {
        self.inner.on_miss(bytes);
    }

    fn on_leave(&mut self, bytes: usize) {
        self.inner.on_leave(bytes);
    }

    fn trim(&mut self, class: Use) -> Option<usize> {
        let mine =
            (class.rounds >= self.quiet_rounds).then(|| class.idle.div_ceil(self.share.max(1)));
        self.inner.trim(class).max(mine)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Bounded, Exact, Found, Shelf};

    use super::*;

    #[test]
    fn after_a_burst_the_pool_falls_to_what_the_rounds_need() {
        let policy = Decaying {
            quiet_rounds: 1,
            share: 2,
            inner: Bounded::UNLIMITED,
        };
        let mut shelf = Shelf::<usize, Vec<u8>, _, _>::new(policy, Exact::default());
        for _ in 0..100 {
            drop(shelf.offer(8, vec![0; 8]));
        }
        let mut held = Vec::new();
        for _ in 0..10 {
            let two: Vec<_> = (0..2)
                .filter_map(|_| match shelf.request(8) {
                    Found::Hit(buffer) => Some(buffer),
                    _ => None,
                })
                .collect();
            assert_eq!(two.len(), 2, "what the rounds need is never given up");
            for buffer in two {
                drop(shelf.offer(8, buffer));
            }
            drop(shelf.end_round());
            held.push(shelf.held().buffers);
        }
        assert_eq!(held[..4], [100, 51, 26, 14]);
        assert_eq!(held[9], 2);
        for _ in 0..3 {
            drop(shelf.end_round());
        }
        assert_eq!(
            shelf.held().buffers,
            0,
            "and without any need it falls to nothing"
        );
    }
}
