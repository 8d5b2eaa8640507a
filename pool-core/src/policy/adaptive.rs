//! Keeps what recent rounds really needed, and no more.
//!
//! For each class the pool notes how many buffers every round needed at once. This policy looks at
//! the last few of those numbers: the largest is what the class keeps, and at the end of a round
//! everything above it is given up. Rounds are told to the pool; nothing here owns a clock, and the
//! policy remembers nothing itself.
//!
//! - What one of the remembered rounds needed is never given up by a round: the largest need is at
//!   least each of them.
//! - What none of them needed is given up whole, at the first round's end at which that is so.
//!
//! [`Decaying`](super::Decaying) differs in both. It knows one number, what was idle since it last
//! looked, and gives up a share of that: a burst fades over many rounds, and so does what a load
//! needs in every fourth round only, if quiet rounds come in between. It is the choice for a load
//! that may come back at any time; this one is for a load whose rounds resemble the last few.
//!
//! Within a round the inner policy rules alone. With [`Adaptive::within`] that is
//! least-recently-used eviction within a number of bytes, so a pool that is full of sizes that nobody
//! asks for any more is back at a hit rate of 99 % within three rounds, whatever the window. Over
//! limits that refuse, a window of one does it by the rounds alone, and evicts nothing in between.
//! (`cargo test -p pool-core --test phases` tries both.)

use super::{Bounded, Held, Offer, Retention, Use, Verdict};

/// Another policy's pool, which keeps of each class what the last rounds needed at once.
///
/// # Examples
///
/// ```
/// use grad_pool::GradPool;
/// use pool_core::Adaptive;
///
/// let pool = GradPool::new(Adaptive { window: 2, ..Adaptive::within(1 << 20) });
/// let round = |arrays: usize| {
///     let arena = pool.arena();
///     drop((0..arrays).map(|_| arena.zeroed::<f64>(512)).collect::<Vec<_>>());
///     drop(arena);
///     pool.end_round();
///     pool.stats().held_buffers
/// };
/// assert_eq!(round(100), 100);
/// assert_eq!(round(3), 100, "one of the last two rounds needed them");
/// assert_eq!(round(2), 3);
/// assert_eq!(round(2), 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adaptive<P = Bounded> {
    /// Rounds whose needs are remembered, the one that just ended included: 1 to
    /// [`Use::ROUNDS`]. 0 counts as 1, and more as the most.
    pub window: usize,
    /// What rules on returned buffers.
    pub inner: P,
}

impl Adaptive {
    /// Keeps what the last four rounds needed, within `pool_bytes` in all; when they are reached
    /// within a round, the class that was used longest ago makes room.
    #[must_use]
    pub const fn within(pool_bytes: usize) -> Self {
        Self {
            window: 4,
            inner: Bounded::lru(pool_bytes),
        }
    }
}

impl<P: Retention> Retention for Adaptive<P> {
    #[inline]
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        self.inner.rule(offer, held)
    }

    #[inline]
    fn admit(&self, bytes: usize) -> bool {
        self.inner.admit(bytes)
    }

    #[inline]
    fn on_hit(&mut self, bytes: usize) {
        self.inner.on_hit(bytes);
    }

    #[inline]
    fn on_miss(&mut self, bytes: usize) {
        self.inner.on_miss(bytes);
    }

    #[inline]
    fn on_leave(&mut self, bytes: usize) {
        self.inner.on_leave(bytes);
    }

    fn trim(&mut self, class: Use) -> Option<usize> {
        let remembered = self.window.clamp(1, Use::ROUNDS);
        let most = class.needed[..remembered].iter().copied().max();
        let surplus = class.buffers.saturating_sub(most.unwrap_or_default());
        // None where there is nothing to give up, so that an inner watch goes on.
        let mine = (surplus > 0).then_some(surplus);
        self.inner.trim(class).max(mine)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Decaying, Exact, Found, Shelf};

    type Bytes<P> = Shelf<usize, Vec<u8>, P, Exact<usize>>;

    /// Needs so many buffers at once, and ends the round. Says how many were missing.
    fn round<P: Retention>(shelf: &mut Bytes<P>, needed: usize) -> usize {
        let mut borrowed = Vec::new();
        let mut missed = 0;
        for _ in 0..needed {
            let found = shelf.request(8);
            missed += usize::from(matches!(found, Found::Miss));
            borrowed.push(match found {
                Found::Hit(buffer) => buffer,
                Found::Miss | Found::Bypass => vec![0; 8],
            });
        }
        for buffer in borrowed {
            drop(shelf.offer(8, buffer));
        }
        drop(shelf.end_round());
        missed
    }

    #[test]
    fn the_need_of_each_round_in_the_window_is_kept_and_the_rest_given_up_at_once() {
        let policy = Adaptive {
            window: 3,
            ..Adaptive::within(1 << 20)
        };
        let mut shelf = Bytes::new(policy, Exact::default());
        let held = [100, 2, 1, 5, 0, 0, 0, 0].map(|needed| {
            round(&mut shelf, needed);
            shelf.held().buffers
        });
        assert_eq!(held, [100, 100, 100, 5, 5, 5, 0, 0]);
    }

    #[test]
    fn a_need_that_comes_back_in_every_fourth_round_is_always_met_and_decay_does_not_meet_it() {
        fn missed_by<P: Retention>(policy: P) -> usize {
            let mut shelf = Bytes::new(policy, Exact::default());
            round(&mut shelf, 8);
            let periods = [1, 1, 1, 8].repeat(10).into_iter();
            periods.map(|needed| round(&mut shelf, needed)).sum()
        }
        assert_eq!(missed_by(Adaptive::within(1 << 20)), 0);
        let decaying = Decaying {
            quiet_rounds: 1,
            share: 2,
            inner: Bounded::lru(1 << 20),
        };
        assert!(missed_by(decaying) >= 10);
    }

    #[test]
    fn a_window_of_no_round_is_one_and_of_too_many_the_most() {
        let trim = |window, needed| {
            let mut policy = Adaptive {
                window,
                ..Adaptive::within(1 << 20)
            };
            policy.trim(Use {
                buffers: 9,
                bytes: 72,
                idle: 0,
                rounds: 1,
                needed,
            })
        };
        let needed = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(trim(0, needed), Some(8));
        assert_eq!(trim(1, needed), Some(8));
        assert_eq!(trim(2, needed), Some(7));
        assert_eq!(trim(8, needed), Some(1));
        assert_eq!(trim(usize::MAX, needed), Some(1));
        assert_eq!(trim(8, [9; Use::ROUNDS]), None);
    }

    #[test]
    fn the_inner_policy_rules_within_a_round_and_may_give_up_more_at_its_end() {
        let unlimited = Bounded::UNLIMITED;
        let inner = Decaying {
            quiet_rounds: 0,
            share: 1,
            inner: unlimited,
        };
        let mut policy = Adaptive { window: 8, inner };
        let class = Use {
            buffers: 9,
            bytes: 72,
            idle: 4,
            rounds: 1,
            needed: [7; Use::ROUNDS],
        };
        assert_eq!(policy.trim(class), Some(4));

        let mut within = Adaptive::within(16);
        assert!(within.admit(16) && !within.admit(17));
        let mut held = Held::default();
        assert_eq!(within.rule(Offer::of(16), held), Verdict::Keep);
        held.bytes = 1;
        assert_eq!(within.rule(Offer::of(16), held), Verdict::MakeRoom);
    }
}
