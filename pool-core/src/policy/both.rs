//! Two policies that must agree.
//!
//! A buffer is kept only if both say so; what either refuses is refused, and what either wants
//! room for waits for room. A policy that said `Keep` while the other did not is told that the
//! buffer left, so that whatever it reserved is free again.

use super::{Bounded, Held, Offer, Retention, Use, Verdict};

/// Keeps what both policies keep.
///
/// # Examples
///
/// A budget shared by two pools, each of which further keeps at most four buffers of a class:
///
/// ```
/// use pool_core::{Both, Bounded, Budget, Held, Offer, Retention, Verdict};
///
/// let budget = Budget::new(1 << 20);
/// let few = Bounded { class_buffers: 4, ..Bounded::UNLIMITED };
/// let mut policy = Both(few, budget.share());
/// assert_eq!(policy.rule(Offer::of(4096), Held::default()), Verdict::Keep);
/// assert_eq!(budget.used(), 4096);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Both<A, B>(pub A, pub B);

/// Another policy within named limits.
pub type Capped<P> = Both<Bounded, P>;

impl<A: Retention, B: Retention> Retention for Both<A, B> {
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        let first = self.0.rule(offer, held);
        if let Verdict::Refuse(_) = first {
            return first;
        }
        let second = self.1.rule(offer, held);
        let joint = if second == Verdict::Keep {
            first
        } else {
            second
        };
        if joint != Verdict::Keep {
            if first == Verdict::Keep {
                self.0.on_leave(offer.bytes);
            }
            if second == Verdict::Keep {
                self.1.on_leave(offer.bytes);
            }
        }
        joint
    }

    fn admit(&self, bytes: usize) -> bool {
        self.0.admit(bytes) && self.1.admit(bytes)
    }

    fn is_memoryless(&self) -> bool {
        self.0.is_memoryless() && self.1.is_memoryless()
    }

    fn on_hit(&mut self, bytes: usize) {
        self.0.on_hit(bytes);
        self.1.on_hit(bytes);
    }

    fn on_miss(&mut self, bytes: usize) {
        self.0.on_miss(bytes);
        self.1.on_miss(bytes);
    }

    fn on_leave(&mut self, bytes: usize) {
        self.0.on_leave(bytes);
        self.1.on_leave(bytes);
    }

    fn trim(&mut self, class: Use) -> Option<usize> {
        self.0.trim(class).max(self.1.trim(class))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Budget, Decaying, Refusal, WhenFull};

    const REFUSED: Verdict = Verdict::Refuse(Refusal::PoolFull);

    fn held(buffers: usize) -> Held {
        Held {
            buffers,
            bytes: 8 * buffers,
            classes: buffers,
        }
    }

    #[test]
    fn what_one_of_them_reserved_is_free_again_when_the_other_disagrees() {
        let budget = Budget::new(100);
        let one = Bounded {
            pool_buffers: 1,
            ..Bounded::UNLIMITED
        };
        let evicting = Bounded {
            when_full: WhenFull::Evict,
            ..one
        };

        for (other, answer) in [(one, REFUSED), (evicting, Verdict::MakeRoom)] {
            // The shares stay alive: what is free again was given back by the combinator.
            let mut first = Both(budget.share(), other);
            assert_eq!(first.rule(Offer::of(60), held(1)), answer);
            assert_eq!(budget.used(), 0);
            let mut second = Both(other, budget.share());
            assert_eq!(second.rule(Offer::of(60), held(1)), answer);
            assert_eq!(budget.used(), 0);
        }
        let mut agreed = Both(budget.share(), one);
        assert_eq!(agreed.rule(Offer::of(60), held(0)), Verdict::Keep);
        assert_eq!(budget.used(), 60);
        agreed.on_leave(60);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn both_have_to_admit_and_the_one_that_gives_up_more_decides() {
        let ceiling = |buffer_bytes| Bounded {
            buffer_bytes,
            ..Bounded::UNLIMITED
        };
        let both = Both(ceiling(8), ceiling(4));
        assert!(both.admit(4) && !both.admit(5));
        let both = Both(ceiling(4), ceiling(8));
        assert!(both.admit(4) && !both.admit(5));

        let decaying = |share| Decaying {
            quiet_rounds: 1,
            share,
            inner: Bounded::UNLIMITED,
        };
        let class = Use {
            buffers: 8,
            bytes: 64,
            idle: 6,
            rounds: 1,
            needed: [2; Use::ROUNDS],
        };
        assert_eq!(Both(decaying(2), decaying(3)).trim(class), Some(3));
        assert_eq!(Both(decaying(3), decaying(2)).trim(class), Some(3));
        assert_eq!(Both(Bounded::UNLIMITED, decaying(2)).trim(class), Some(3));
    }
}
