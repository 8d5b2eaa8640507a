//! Bounds by count and by bytes: on one buffer, on one class, on the whole pool.
//!
//! What a full pool does with one more buffer is the limit [`when_full`](Bounded::when_full):
//!
//! - [`WhenFull::Refuse`], the default, frees the newcomer. A pool that was filled with sizes nobody
//!   asks for any more stays full of them, and each buffer of today's sizes is a miss, until
//!   somebody clears it.
//! - [`WhenFull::Evict`] is least-recently-used eviction, and [`Bounded::lru`] the constructor that
//!   says so: the class that was used longest ago makes room, so the same pool serves today's sizes
//!   from the second round on.
//!
//! `cargo test -p pool-core --test phases` shows both, over all three pools. A ceiling of one buffer
//! or of one class always refuses: no other class could make room for it.
//!
//! Bounds hold because each is checked by subtraction from the limit, which cannot wrap, against
//! accounts that the shelf keeps under the same lock.

use super::{Held, Offer, Refusal, Retention, Verdict};

/// Keeps what fits within named limits.
///
/// A pool at one of its pool-wide limits refuses, or evicts the least recently used class:
/// [`Self::lru`].
///
/// # Examples
///
/// ```
/// use pool_core::Bounded;
///
/// let limits = Bounded { buffer_bytes: 1 << 20, pool_buffers: 32, ..Bounded::UNLIMITED };
/// assert_eq!(limits.class_buffers, usize::MAX);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounded {
    /// Ceiling of one buffer, in bytes of capacity. Larger requests bypass the pool.
    pub buffer_bytes: usize,
    /// Buffers of one class.
    pub class_buffers: usize,
    /// Bytes of capacity of one class.
    pub class_bytes: usize,
    /// Buffers of the whole pool.
    pub pool_buffers: usize,
    /// Bytes of capacity of the whole pool.
    pub pool_bytes: usize,
    /// Classes with at least one buffer.
    pub classes: usize,
    /// What a full pool does with one more buffer of a class that is not full.
    pub when_full: WhenFull,
}

/// What a pool at one of its pool-wide bounds does with one more buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// Refuses it. What the pool holds stays, wanted or not.
    #[default]
    Refuse,
    /// Evicts from the least recently used class until it fits.
    #[doc(alias = "lru")]
    Evict,
}

impl Bounded {
    /// No bound at all; the start of a struct update.
    pub const UNLIMITED: Self = Self {
        buffer_bytes: usize::MAX,
        class_buffers: usize::MAX,
        class_bytes: usize::MAX,
        pool_buffers: usize::MAX,
        pool_bytes: usize::MAX,
        classes: usize::MAX,
        when_full: WhenFull::Refuse,
    };

    /// Least-recently-used eviction: at most `pool_bytes` in all, and when they are reached, the
    /// class that was used longest ago makes room.
    ///
    /// A class is used by each request that it serves and by each buffer that comes back to it. A
    /// request above the limit could never be kept, so it bypasses the pool. The other limits are
    /// open; name them by a struct update.
    ///
    /// # Examples
    ///
    /// Yesterday's sizes make room for today's:
    ///
    /// ```
    /// use frame_pool::FramePool;
    /// use pool_core::Bounded;
    ///
    /// let limits = Bounded { classes: 256, ..Bounded::lru(64 << 10) };
    /// let pool = FramePool::new(limits);
    /// drop([(); 16].map(|()| pool.take(4 << 10))); // full
    /// for _round in 0..100 {
    ///     drop(pool.take(32 << 10));
    /// }
    /// assert_eq!((pool.stats().hits, pool.stats().held_bytes), (99, 64 << 10));
    /// ```
    #[doc(alias = "evicting")]
    #[doc(alias = "least recently used")]
    #[must_use]
    pub const fn lru(pool_bytes: usize) -> Self {
        Self {
            buffer_bytes: pool_bytes,
            pool_bytes,
            when_full: WhenFull::Evict,
            ..Self::UNLIMITED
        }
    }

    /// The answer to an offer that some bound stands against.
    #[cold]
    #[inline(never)]
    fn objection(
        &self,
        bytes: usize,
        class_buffers: usize,
        class_bytes: usize,
        held_buffers: usize,
        held_bytes: usize,
    ) -> Verdict {
        // First the bounds that no eviction can help with.
        if bytes > self.buffer_bytes || bytes > self.pool_bytes {
            return Verdict::Refuse(Refusal::BufferTooLarge);
        }
        if self.pool_buffers == 0 || self.classes == 0 {
            return Verdict::Refuse(Refusal::PoolFull);
        }
        if class_buffers >= self.class_buffers
            || bytes > self.class_bytes.saturating_sub(class_bytes)
        {
            return Verdict::Refuse(Refusal::ClassFull);
        }
        if held_buffers >= self.pool_buffers || bytes > self.pool_bytes.saturating_sub(held_bytes) {
            return self.full(Refusal::PoolFull);
        }
        self.full(Refusal::TooManyClasses)
    }

    /// The answer to an offer that a pool-wide bound stands against.
    fn full(&self, reason: Refusal) -> Verdict {
        match self.when_full {
            WhenFull::Refuse => Verdict::Refuse(reason),
            WhenFull::Evict => Verdict::MakeRoom,
        }
    }
}

impl Retention for Bounded {
    #[inline]
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        let free = self.pool_bytes.saturating_sub(held.bytes);
        let class_free = self.class_bytes.saturating_sub(offer.class_bytes);
        let most = self.buffer_bytes.min(free).min(class_free);
        let keeps = offer.bytes <= most
            && held.buffers < self.pool_buffers
            && offer.class_buffers < self.class_buffers
            && held.classes + usize::from(offer.class_buffers == 0) <= self.classes;
        if keeps {
            return Verdict::Keep;
        }
        // As numbers: as two structs, they would be written to memory before each answer.
        self.objection(
            offer.bytes,
            offer.class_buffers,
            offer.class_bytes,
            held.buffers,
            held.bytes,
        )
    }

    #[inline]
    fn admit(&self, bytes: usize) -> bool {
        bytes <= self.buffer_bytes
    }

    fn is_memoryless(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP: Verdict = Verdict::Keep;

    fn offer(bytes: usize, class_buffers: usize, class_bytes: usize) -> Offer {
        Offer {
            bytes,
            class_buffers,
            class_bytes,
        }
    }

    fn held(buffers: usize, bytes: usize, classes: usize) -> Held {
        Held {
            buffers,
            bytes,
            classes,
        }
    }

    #[test]
    fn each_bound_holds_to_the_last_unit() {
        let refuse = Verdict::Refuse;
        let all = Bounded::UNLIMITED;

        let mut one = Bounded {
            buffer_bytes: 8,
            ..all
        };
        assert_eq!(one.rule(offer(8, 0, 0), held(0, 0, 0)), KEEP);
        assert_eq!(
            one.rule(offer(9, 0, 0), held(0, 0, 0)),
            refuse(Refusal::BufferTooLarge)
        );
        assert!(one.admit(8) && !one.admit(9));

        let mut class = Bounded {
            class_buffers: 2,
            ..all
        };
        assert_eq!(class.rule(offer(8, 1, 8), held(1, 8, 1)), KEEP);
        assert_eq!(
            class.rule(offer(8, 2, 16), held(2, 16, 1)),
            refuse(Refusal::ClassFull)
        );

        let mut class = Bounded {
            class_bytes: 16,
            ..all
        };
        assert_eq!(class.rule(offer(8, 1, 8), held(1, 8, 1)), KEEP);
        assert_eq!(
            class.rule(offer(9, 1, 8), held(1, 8, 1)),
            refuse(Refusal::ClassFull)
        );

        let mut pool = Bounded {
            pool_buffers: 2,
            ..all
        };
        assert_eq!(pool.rule(offer(8, 0, 0), held(1, 8, 1)), KEEP);
        assert_eq!(
            pool.rule(offer(8, 0, 0), held(2, 8, 1)),
            refuse(Refusal::PoolFull)
        );

        let mut pool = Bounded {
            pool_bytes: 16,
            ..all
        };
        assert_eq!(pool.rule(offer(8, 0, 0), held(1, 8, 1)), KEEP);
        assert_eq!(
            pool.rule(offer(9, 0, 0), held(1, 8, 1)),
            refuse(Refusal::PoolFull)
        );

        let mut classes = Bounded { classes: 1, ..all };
        assert_eq!(classes.rule(offer(8, 1, 8), held(1, 8, 1)), KEEP);
        assert_eq!(
            classes.rule(offer(8, 0, 0), held(1, 8, 1)),
            refuse(Refusal::TooManyClasses)
        );
    }

    #[test]
    fn a_refusal_names_the_bound_that_is_broken_and_none_that_is_met_exactly() {
        let exact = Bounded {
            buffer_bytes: 8,
            class_buffers: 3,
            class_bytes: 24,
            pool_buffers: 6,
            pool_bytes: 48,
            classes: 2,
            when_full: WhenFull::Refuse,
        };
        let reason = |mut limits: Bounded, offer, held| match limits.rule(offer, held) {
            Verdict::Refuse(reason) => reason,
            verdict => panic!("{verdict:?}"),
        };
        let full = Refusal::PoolFull;
        // Every other bound is met to the last unit.
        assert_eq!(
            reason(exact, offer(8, 3, 16), held(5, 40, 2)),
            Refusal::ClassFull
        );
        assert_eq!(
            reason(exact, offer(8, 2, 17), held(5, 40, 2)),
            Refusal::ClassFull
        );
        assert_eq!(reason(exact, offer(8, 2, 16), held(6, 40, 2)), full);
        assert_eq!(reason(exact, offer(8, 2, 16), held(5, 41, 2)), full);
        assert_eq!(
            reason(exact, offer(8, 0, 0), held(5, 40, 2)),
            Refusal::TooManyClasses
        );
        let whole_pool = Bounded {
            pool_bytes: 8,
            ..exact
        };
        assert_eq!(reason(whole_pool, offer(8, 1, 1), held(1, 1, 1)), full);
        // A pool of nothing is full, whatever it would do about it.
        for nothing in [
            Bounded {
                pool_buffers: 0,
                ..exact
            },
            Bounded {
                classes: 0,
                ..exact
            },
        ] {
            let evicting = Bounded {
                when_full: WhenFull::Evict,
                ..nothing
            };
            assert_eq!(reason(evicting, offer(8, 0, 0), held(0, 0, 0)), full);
            assert_eq!(reason(evicting, offer(8, 1, 8), held(1, 8, 1)), full);
        }
    }

    #[test]
    fn the_last_unit_of_every_bound_at_once_is_still_kept() {
        let mut exact = Bounded {
            buffer_bytes: 8,
            class_buffers: 3,
            class_bytes: 24,
            pool_buffers: 6,
            pool_bytes: 48,
            classes: 2,
            when_full: WhenFull::Refuse,
        };
        assert_eq!(exact.rule(offer(8, 2, 16), held(5, 40, 2)), KEEP);
        assert_eq!(exact.rule(offer(8, 0, 0), held(5, 40, 1)), KEEP);
    }

    #[test]
    fn an_evicting_bound_never_empties_the_pool_for_a_buffer_that_can_not_fit() {
        let mut evicting = Bounded::lru(16);
        assert!(evicting.admit(16) && !evicting.admit(17));
        assert_eq!(
            evicting.rule(offer(9, 0, 0), held(1, 8, 1)),
            Verdict::MakeRoom
        );
        assert_eq!(
            evicting.rule(offer(17, 0, 0), held(1, 8, 1)),
            Verdict::Refuse(Refusal::BufferTooLarge)
        );
        let mut nothing = Bounded {
            pool_buffers: 0,
            when_full: WhenFull::Evict,
            ..Bounded::UNLIMITED
        };
        assert_eq!(
            nothing.rule(offer(1, 0, 0), held(0, 0, 0)),
            Verdict::Refuse(Refusal::PoolFull)
        );
    }
}
