//! The named bounds of this crate, and the bound in elements.
//!
//! A policy speaks of bytes. The conservative preset speaks of elements, which are 4 to 16 bytes,
//! so no number of bytes says the same. [`Limited`] stands beside the policy for it: the pool
//! tells it how many elements the offered array has, and it holds their sum.
//!
//! The sum is exact because an array enters it by one verdict of `Keep`, on which the shelf always
//! acts, and leaves it by a hit or when everything goes. That leaves out eviction, so a pool
//! bounded in elements refuses where its policy would make room, and gives nothing up by rounds.

use pool_core::{Bounded, Held, Offer, Refusal, Retention, Use, Verdict, WhenFull};

/// Bounds in elements, of whatever type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elements {
    /// Ceiling of one array; a longer one bypasses the pool.
    pub(crate) array: usize,
    /// All retained arrays together.
    pub(crate) pool: usize,
}

impl Elements {
    /// No bound in elements.
    pub(crate) const UNLIMITED: Self = Self {
        array: usize::MAX,
        pool: usize::MAX,
    };

    /// 2^20 elements for one array and for the whole pool.
    pub(crate) const CONSERVATIVE: Self = Self {
        array: 1 << 20,
        pool: 1 << 20,
    };
}

/// 32 arrays of one class; the other bounds of the preset are in elements.
pub(crate) const CONSERVATIVE: Bounded = Bounded {
    class_buffers: 32,
    ..Bounded::UNLIMITED
};

/// Bytes that the shared tier may hold under the default bounds; the example `default_bound` is how
/// it was chosen.
const POOL_BYTES: usize = 256 << 20;

/// Bounded in bytes, arrays and classes; evicting, so that a pool full of sizes that no sweep asks
/// for any more recovers. An array above the bound in bytes could never be kept and bypasses it.
pub(crate) const DEFAULT: Bounded = Bounded {
    buffer_bytes: POOL_BYTES,
    pool_bytes: POOL_BYTES,
    pool_buffers: 4096,
    classes: 256,
    when_full: WhenFull::Evict,
    ..Bounded::UNLIMITED
};

/// What an arena may hold: 256 arrays. It is private to one sweep and ends with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArenaBound;

impl Retention for ArenaBound {
    #[inline]
    fn rule(&mut self, _: Offer, held: Held) -> Verdict {
        if held.buffers < 256 {
            Verdict::Keep
        } else {
            Verdict::Refuse(Refusal::PoolFull)
        }
    }
}

/// A policy with a bound in elements beside it.
#[derive(Debug)]
pub(crate) struct Limited<P> {
    policy: P,
    most: usize,
    held: usize,
    /// Elements of the array that is being offered.
    offered: usize,
}

impl<P> Limited<P> {
    /// Bounds what `policy` keeps to `most` elements.
    pub(crate) fn new(policy: P, most: usize) -> Self {
        Self {
            policy,
            most,
            held: 0,
            offered: 0,
        }
    }

    /// Says how many elements the next offer has.
    #[inline]
    pub(crate) fn offering(&mut self, elements: usize) {
        self.offered = elements;
    }

    /// Notes that an array was lent.
    #[inline]
    pub(crate) fn lent(&mut self, elements: usize) {
        self.held = self.held.saturating_sub(elements);
    }

    /// Notes that nothing is retained any more.
    pub(crate) fn emptied(&mut self) {
        self.held = 0;
    }
}

impl<P: Retention> Retention for Limited<P> {
    #[inline]
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        let verdict = self.policy.rule(offer, held);
        if self.most == usize::MAX {
            return verdict;
        }
        match verdict {
            Verdict::Keep if self.offered <= self.most - self.held => {
                self.held += self.offered;
                Verdict::Keep
            }
            Verdict::Keep => {
                // Whatever the policy reserved for the array is free again.
                self.policy.on_leave(offer.bytes);
                Verdict::Refuse(Refusal::PoolFull)
            }
            Verdict::MakeRoom => Verdict::Refuse(Refusal::PoolFull),
            Verdict::Refuse(reason) => Verdict::Refuse(reason),
        }
    }

    fn admit(&self, bytes: usize) -> bool {
        self.policy.admit(bytes)
    }

    fn on_hit(&mut self, bytes: usize) {
        self.policy.on_hit(bytes);
    }

    fn on_miss(&mut self, bytes: usize) {
        self.policy.on_miss(bytes);
    }

    fn on_leave(&mut self, bytes: usize) {
        self.policy.on_leave(bytes);
    }

    fn trim(&mut self, class: Use) -> Option<usize> {
        // Like an eviction, it would not say how many elements leave.
        self.policy.trim(class).filter(|_| self.most == usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_elements_holds_to_the_last_one() {
        let mut limited = Limited::new(Bounded::UNLIMITED, 10);
        let mut keeps = |elements| {
            limited.offering(elements);
            let kept = limited.rule(Offer::of(8), Held::default()) == Verdict::Keep;
            (kept, limited.held)
        };
        assert_eq!(keeps(11), (false, 0));
        assert_eq!(keeps(4), (true, 4));
        assert_eq!(keeps(7), (false, 4));
        assert_eq!(keeps(6), (true, 10));
        assert_eq!(keeps(1), (false, 10));
        limited.lent(4);
        limited.offering(5);
        assert_ne!(limited.rule(Offer::of(8), Held::default()), Verdict::Keep);
        limited.offering(4);
        assert_eq!(limited.rule(Offer::of(8), Held::default()), Verdict::Keep);
    }

    #[test]
    fn a_policy_that_would_make_room_is_overruled_only_under_a_bound_in_elements() {
        let evicting = Bounded {
            pool_buffers: 1,
            when_full: WhenFull::Evict,
            ..Bounded::UNLIMITED
        };
        let mut full = Held::default();
        full.buffers = 1;
        let mut limited = Limited::new(evicting, 10);
        assert_eq!(
            limited.rule(Offer::of(8), full),
            Verdict::Refuse(Refusal::PoolFull)
        );
        let mut free = Limited::new(evicting, usize::MAX);
        assert_eq!(free.rule(Offer::of(8), full), Verdict::MakeRoom);
    }
}
