//! A number of bytes that several pools share.
//!
//! Each pool's policy is a [`Share`] of one [`Budget`]. A share reserves the bytes of a buffer
//! before it says `Keep`, by compare-and-exchange on the one sum, so the sum never exceeds the
//! budget, not even for a moment, under any number of threads. What leaves a pool is given back,
//! and what a dropped pool held too.
//!
//! A share that finds the budget used up refuses, or makes room in its own pool:
//! [`Share::when_full`]. No pool makes another one give anything up.
//!
//! - The sum never exceeds the limit: it grows in one place, by an exchange that fails if it would.
//!   `tests/loom.rs` tries every interleaving of two and of three threads.
//! - The sum is right because every reservation is in exactly one share's `reserved`, which only
//!   its own pool's lock or thread touches.

use std::sync::Arc;

use super::{Held, Offer, Refusal, Retention, Verdict, WhenFull};
use crate::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of capacity that several pools may retain together.
///
/// # Examples
///
/// ```
/// use pool_core::{Budget, Exact, Shelf};
///
/// let budget = Budget::new(100);
/// let mut one = Shelf::<usize, Vec<u8>, _, _>::new(budget.share(), Exact::default());
/// let mut two = Shelf::<usize, Vec<u8>, _, _>::new(budget.share(), Exact::default());
/// drop(one.offer(60, vec![0; 60]));
/// drop(two.offer(60, vec![0; 60])); // refused: 40 are left
/// assert_eq!((budget.used(), two.held().buffers), (60, 0));
/// drop(one);
/// assert_eq!(budget.used(), 0);
/// ```
#[derive(Debug, Clone)]
pub struct Budget(Arc<Ledger>);

#[derive(Debug)]
struct Ledger {
    limit: usize,
    used: AtomicUsize,
}

impl Budget {
    /// Makes a budget of `limit` bytes; its clones are the same budget.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Ledger {
            limit,
            used: AtomicUsize::new(0),
        }))
    }

    /// Bytes that the sharing pools retain now.
    #[must_use]
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// A policy for one more pool, or one more shelf of a pool.
    #[must_use]
    pub fn share(&self) -> Share {
        Share {
            budget: self.clone(),
            when_full: WhenFull::Refuse,
            reserved: 0,
        }
    }

    /// Takes `bytes` from what is left, if there are as many.
    fn reserve(&self, bytes: usize) -> bool {
        // Relaxed: the sum guards a number and no memory.
        self.0
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|&sum| sum <= self.0.limit)
            })
            .is_ok()
    }

    fn release(&self, bytes: usize) {
        self.0.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// One pool's part in a [`Budget`]: keeps what the budget still has bytes for.
#[derive(Debug)]
pub struct Share {
    budget: Budget,
    when_full: WhenFull,
    /// Bytes that this share holds of the budget.
    reserved: usize,
}

impl Share {
    /// Says what becomes of a buffer that the budget has no bytes for: it is refused, which is the
    /// default, or the least recently used class of this share's own pool makes room for it.
    ///
    /// Nothing is evicted for a buffer that would not fit even then, because the other pools hold
    /// too much.
    ///
    /// # Examples
    ///
    /// ```
    /// use frame_pool::FramePool;
    /// use pool_core::{Budget, WhenFull};
    ///
    /// let budget = Budget::new(64 << 10);
    /// let requests = FramePool::new(budget.share().when_full(WhenFull::Evict));
    /// let replies = FramePool::new(budget.share());
    /// drop(requests.take(40 << 10));
    /// drop(requests.take(2 << 10));
    /// drop(replies.take(16 << 10)); // the rest of the budget
    /// drop(requests.take(44 << 10)); // the 40 KiB make room
    /// assert_eq!(requests.stats().held_bytes, (44 + 2) << 10);
    /// drop(requests.take(49 << 10)); // the replies hold too much for it
    /// assert_eq!(requests.stats().refusals(), 1);
    /// assert_eq!(budget.used(), 62 << 10);
    /// ```
    #[must_use]
    pub const fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }

    /// Whether the budget would have `bytes` if this share held nothing.
    fn could_hold(&self, bytes: usize) -> bool {
        let others = self.budget.used().saturating_sub(self.reserved);
        bytes <= self.budget.0.limit.saturating_sub(others)
    }
}

impl Clone for Share {
    /// A share of the same budget that holds nothing yet.
    fn clone(&self) -> Self {
        self.budget.share().when_full(self.when_full)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.release(self.reserved);
    }
}

impl Retention for Share {
    fn rule(&mut self, offer: Offer, _held: Held) -> Verdict {
        if self.budget.reserve(offer.bytes) {
            self.reserved += offer.bytes;
            return Verdict::Keep;
        }
        match self.when_full {
            WhenFull::Evict if self.could_hold(offer.bytes) => Verdict::MakeRoom,
            WhenFull::Evict | WhenFull::Refuse => Verdict::Refuse(Refusal::PoolFull),
        }
    }

    fn admit(&self, bytes: usize) -> bool {
        bytes <= self.budget.0.limit
    }

    fn on_leave(&mut self, bytes: usize) {
        // A shelf reports what it was told to keep and nothing else; the minimum keeps a wrong
        // caller from taking what others reserved.
        let bytes = bytes.min(self.reserved);
        self.reserved -= bytes;
        self.budget.release(bytes);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::thread;

    use super::*;
    use crate::{Exact, Found, Shelf};

    #[test]
    fn the_sum_of_all_shares_never_exceeds_the_budget_under_threads() {
        let budget = Budget::new(1000);
        let rounds = if cfg!(miri) { 20 } else { 2000 };
        thread::scope(|scope| {
            for size in [70, 110, 130] {
                let budget = &budget;
                scope.spawn(move || {
                    let mut shelf =
                        Shelf::<usize, Vec<u8>, _, _>::new(budget.share(), Exact::default());
                    for _ in 0..rounds {
                        drop(shelf.offer(size, vec![0; size]));
                        assert!(budget.used() <= 1000);
                        if shelf.held().buffers > 3 {
                            while let Found::Hit(buffer) = shelf.request(size) {
                                drop(buffer);
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(budget.used(), 0, "every shelf gave back what it held");
    }

    #[test]
    fn a_budget_serves_to_the_last_byte() {
        let budget = Budget::new(100);
        let mut share = budget.share();
        assert_eq!(share.rule(Offer::of(100), Held::default()), Verdict::Keep);
        assert_eq!(
            share.rule(Offer::of(1), Held::default()),
            Verdict::Refuse(Refusal::PoolFull)
        );
        assert_eq!(share.clone().reserved, 0);
        assert!(share.admit(100) && !share.admit(101));
    }

    #[test]
    fn a_dropped_share_gives_back_everything_and_no_more() {
        let budget = Budget::new(100);
        let (mut mine, mut theirs) = (budget.share(), budget.share());
        mine.rule(Offer::of(60), Held::default());
        theirs.rule(Offer::of(30), Held::default());
        drop(mine);
        assert_eq!(budget.used(), 30);
    }

    #[test]
    fn a_share_that_evicts_gives_nothing_up_for_what_would_not_fit_even_then() {
        let budget = Budget::new(100);
        let (mut mine, mut theirs) = (budget.share().when_full(WhenFull::Evict), budget.share());
        let rule = |share: &mut Share, bytes| share.rule(Offer::of(bytes), Held::default());
        assert_eq!(rule(&mut theirs, 30), Verdict::Keep);
        assert_eq!(rule(&mut mine, 50), Verdict::Keep);
        assert_eq!(rule(&mut mine, 70), Verdict::MakeRoom);
        assert_eq!(rule(&mut mine, 71), Verdict::Refuse(Refusal::PoolFull));
        assert_eq!(
            rule(&mut mine.clone(), 50),
            Verdict::Refuse(Refusal::PoolFull)
        );
        assert_eq!(budget.used(), 80);
    }

    #[test]
    fn a_share_is_never_given_back_more_than_it_holds() {
        let budget = Budget::new(100);
        let (mut mine, mut theirs) = (budget.share(), budget.share());
        mine.rule(Offer::of(10), Held::default());
        theirs.rule(Offer::of(20), Held::default());
        mine.on_leave(25);
        assert_eq!(
            budget.used(),
            20,
            "what the other share holds is not mine to give back"
        );
    }
}
