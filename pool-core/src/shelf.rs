//! The one place where returned buffers wait for their next borrower.
//!
//! A [`Shelf`] holds stacks of buffers by class. It asks its policy about every buffer that comes
//! back, keeps the accounts, and hands back what is to be freed, so that a caller who holds a lock
//! frees it after the lock is open. It takes no lock itself and allocates no buffer.
//!
//! Invariants, and what upholds each:
//!
//! - The accounts equal what is on the stacks: `push` and `pop` are the only ways on and off, and
//!   each adjusts both.
//! - A buffer is accounted at its capacity when it came back: the size is stored beside it, so
//!   nothing is measured twice.
//! - A hit allocates nothing: a class that ran empty keeps its stack and its place in the index.
//! - Empty classes leave nothing behind for long: beyond `EMPTY_CLASSES` of them, all are
//!   dropped at once, so the work per return stays constant on average.
//! - Last in, first out within a class: the buffer whose memory is warmest is lent first.

use std::fmt;
use std::sync::Arc;

use crate::fit::Fit;
use crate::policy::{Held, Offer, Refusal, Retention, Use, Verdict};
use crate::stats::Counters;

/// Classes that may be listed while they hold nothing.
const EMPTY_CLASSES: usize = 64;

/// Something with a capacity that a pool can retain.
pub trait Buffer {
    /// Capacity in bytes: what it costs to keep.
    fn bytes(&self) -> usize;
}

impl<T> Buffer for Vec<T> {
    #[inline]
    fn bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

/// The answer to a request.
#[derive(Debug)]
pub enum Found<B> {
    /// A retained buffer that serves it.
    Hit(B),
    /// Nothing that fits: allocate one, and offer it when it comes back.
    Miss,
    /// The policy does not admit it: allocate one, and drop it when it comes back.
    Bypass,
}

/// What a shelf gave up; drop it after any lock is open.
#[derive(Debug)]
#[must_use = "dropping frees the buffers, which belongs after the lock is open"]
pub struct Discarded<B> {
    refused: Option<B>,
    evicted: Vec<B>,
}

impl<B> Discarded<B> {
    /// Number of buffers given up.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.refused.is_some()) + self.evicted.len()
    }

    /// Whether nothing was given up.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Buffers of one class, and when it was last used.
struct Slot<K, B> {
    key: K,
    /// Each buffer with its capacity in bytes.
    stack: Vec<(B, usize)>,
    bytes: usize,
    /// The shelf's clock at the last request or return.
    used: u64,
    /// Fewest buffers on the stack since the policy's watch of this class began.
    least: usize,
    /// Rounds since then.
    rounds: u32,
}

/// Returned buffers by class, under one policy.
///
/// `K` is the class key, `B` the buffer, `P` the policy and `F` how a request finds a class.
pub struct Shelf<K, B, P, F> {
    policy: P,
    fit: F,
    /// Classes; a vacant place is `None` and listed in `vacant`.
    slots: Vec<Option<Slot<K, B>>>,
    vacant: Vec<usize>,
    /// The slot that was used last: programs ask for one class many times in a row, and comparing
    /// a key costs less than hashing it.
    recent: usize,
    held: Held,
    /// Counts requests and returns, so that "least recently used" has a meaning.
    clock: u64,
    counters: Arc<Counters>,
}

impl<K, B, P, F> Shelf<K, B, P, F>
where
    K: Copy + Eq,
    B: Buffer,
    P: Retention,
    F: Fit<K>,
{
    /// Makes an empty shelf under `policy`.
    #[must_use]
    pub fn new(policy: P, fit: F) -> Self {
        Self {
            policy,
            fit,
            slots: Vec::new(),
            vacant: Vec::new(),
            recent: 0,
            held: Held::default(),
            clock: 0,
            counters: Arc::new(Counters::default()),
        }
    }

    /// The shelf's counters, to be read from any thread. Whoever holds the shelf mutably is their
    /// one writer.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// What is held now.
    #[must_use]
    pub fn held(&self) -> Held {
        self.held
    }

    /// The policy, to be told what a [`Retention`] does not see, as that a round ended.
    #[must_use]
    pub fn policy_mut(&mut self) -> &mut P {
        &mut self.policy
    }

    /// Looks for a buffer that serves a request of class `wanted` for `bytes`.
    ///
    /// Constant time with [`Exact`](crate::Exact), logarithmic in the number of classes with
    /// [`BestFit`](crate::BestFit).
    #[inline]
    pub fn request(&mut self, wanted: K, bytes: usize) -> Found<B> {
        if !self.policy.admit(bytes) {
            self.counters.bypass();
            return Found::Bypass;
        }
        if let Some(buffer) = self.try_take(wanted, bytes) {
            return Found::Hit(buffer);
        }
        self.counters.miss();
        self.policy.on_miss(bytes);
        Found::Miss
    }

    /// Looks for a buffer in a front tier: like [`request`](Self::request), but a request that
    /// finds nothing here is counted by the tier behind.
    #[inline]
    pub fn try_take(&mut self, wanted: K, bytes: usize) -> Option<B> {
        let slot = self.find(&wanted)?;
        let buffer = self.pop(slot)?;
        self.touch(slot);
        self.counters.hit();
        self.publish();
        self.policy.on_hit(bytes);
        Some(buffer)
    }

    /// Takes a buffer of class `key` back, or gives up what the policy says.
    ///
    /// Constant time, plus the number of classes for each buffer that is evicted.
    #[inline]
    pub fn offer(&mut self, key: K, buffer: B) -> Discarded<B> {
        self.counters.returned();
        self.settle(key, buffer, Counters::kept, Counters::refuse)
    }

    /// Takes a buffer that the pool had not handed out.
    pub fn adopt(&mut self, key: K, buffer: B) -> Discarded<B> {
        self.counters.adopted();
        self.settle(key, buffer, Counters::kept, Counters::refuse)
    }

    /// Takes a buffer back into a front tier, if the policy keeps it without evicting.
    ///
    /// # Errors
    ///
    /// Gives the buffer back, uncounted: it is to be offered to the tier behind.
    #[inline]
    pub fn try_keep(&mut self, key: K, buffer: B) -> Result<(), B> {
        let (slot, bytes) = (self.slot_of(&key), buffer.bytes());
        if self.rule(slot, bytes) != Verdict::Keep {
            return Err(buffer);
        }
        self.push(slot, key, buffer, bytes);
        self.counters.returned();
        self.counters.kept();
        self.publish();
        Ok(())
    }

    /// Takes a buffer over from a front tier that had kept it and whose counts were
    /// [absorbed](Counters::absorb) here. What the policy refuses now counts as refused and no
    /// longer as kept.
    pub fn restock(&mut self, key: K, buffer: B) -> Discarded<B> {
        self.settle(key, buffer, |_| (), Counters::refuse_kept)
    }

    /// Asks the policy about one buffer, and acts on the answer.
    #[inline]
    fn settle(
        &mut self,
        key: K,
        buffer: B,
        on_keep: impl Fn(&Counters),
        on_refuse: impl Fn(&Counters, Refusal),
    ) -> Discarded<B> {
        let (slot, bytes) = (self.slot_of(&key), buffer.bytes());
        let mut evicted = Vec::new();
        let verdict = match self.rule(slot, bytes) {
            Verdict::MakeRoom => self.make_room(slot, bytes, &mut evicted),
            verdict => verdict,
        };
        let refused = if let Verdict::Refuse(reason) = verdict {
            on_refuse(&self.counters, reason);
            Some(buffer)
        } else {
            self.push(slot, key, buffer, bytes);
            on_keep(&self.counters);
            None
        };
        self.publish();
        Discarded { refused, evicted }
    }

    /// Evicts until the policy's answer is another, and gives that: to keep or to refuse.
    #[cold]
    fn make_room(&mut self, slot: Option<usize>, bytes: usize, evicted: &mut Vec<B>) -> Verdict {
        loop {
            let Some(victim) = self.evict() else {
                return Verdict::Refuse(Refusal::PoolFull);
            };
            evicted.push(victim);
            // Evicting unlists no class, so the slot stays right.
            match self.rule(slot, bytes) {
                Verdict::MakeRoom => {}
                verdict => return verdict,
            }
        }
    }

    /// Ends a round: asks the policy about each class, and gives up what it says.
    ///
    /// What a round is, its caller knows: a sweep, a batch, a tick. Linear in the number of
    /// classes and in what is given up.
    pub fn end_round(&mut self) -> Discarded<B> {
        let mut evicted = Vec::new();
        for class in self
            .slots
            .iter_mut()
            .flatten()
            .filter(|class| !class.stack.is_empty())
        {
            class.rounds = class.rounds.saturating_add(1);
            let (buffers, bytes) = (class.stack.len(), class.bytes);
            let watched = Use {
                buffers,
                bytes,
                idle: class.least,
                rounds: class.rounds,
            };
            let Some(surplus) = self.policy.trim(watched) else {
                continue;
            };
            for (buffer, bytes) in class.stack.drain(..surplus.min(buffers)) {
                class.bytes -= bytes;
                self.held.buffers -= 1;
                self.held.bytes -= bytes;
                self.policy.on_leave(bytes);
                self.counters.evicted();
                evicted.push(buffer);
            }
            self.held.classes -= usize::from(class.stack.is_empty());
            (class.least, class.rounds) = (class.stack.len(), 0);
        }
        self.publish();
        Discarded {
            refused: None,
            evicted,
        }
    }

    /// Gives up everything, and forgets every class.
    pub fn clear(&mut self) -> Discarded<B> {
        self.counters.cleared(self.held.buffers);
        let evicted = self.drain().map(|(_, buffer)| buffer).collect();
        self.publish();
        Discarded {
            refused: None,
            evicted,
        }
    }

    /// Moves every retained buffer out with its class, as to another shelf, and forgets every
    /// class. The move counts as nothing here; [`Self::clear`] is the call that gives up.
    pub fn drain(&mut self) -> impl Iterator<Item = (K, B)> + use<K, B, P, F> {
        for slot in self.slots.iter().flatten() {
            self.fit.remove(&slot.key);
            slot.stack
                .iter()
                .for_each(|&(_, bytes)| self.policy.on_leave(bytes));
        }
        self.vacant.clear();
        self.held = Held::default();
        self.publish();
        std::mem::take(&mut self.slots)
            .into_iter()
            .flatten()
            .flat_map(|slot| {
                let key = slot.key;
                slot.stack.into_iter().map(move |(buffer, _)| (key, buffer))
            })
    }

    /// Moves every retained buffer out with its class, like [`Self::drain`], and keeps the emptied
    /// classes listed: a front tier that is filled and emptied in turn allocates nothing for it.
    pub fn pour(&mut self, mut each: impl FnMut(K, B)) {
        for slot in self.slots.iter_mut().flatten() {
            (slot.bytes, slot.least) = (0, 0);
            for (buffer, bytes) in slot.stack.drain(..) {
                self.policy.on_leave(bytes);
                each(slot.key, buffer);
            }
        }
        self.held = Held::default();
        self.publish();
    }

    /// The slot of a class that serves a request of class `wanted` now.
    ///
    /// A stocked class of exactly that key is the best fit there is, whatever the fit.
    #[inline]
    fn find(&self, wanted: &K) -> Option<usize> {
        if let Some(Some(class)) = self.slots.get(self.recent)
            && class.key == *wanted
            && !class.stack.is_empty()
        {
            return Some(self.recent);
        }
        let slots = &self.slots;
        let stocked = |slot: usize| matches!(&slots[slot], Some(class) if !class.stack.is_empty());
        self.fit.find(wanted, stocked)
    }

    /// The slot of exactly the class `key`, stocked or not.
    #[inline]
    fn slot_of(&self, key: &K) -> Option<usize> {
        match self.slots.get(self.recent) {
            Some(Some(class)) if class.key == *key => Some(self.recent),
            _ => self.fit.slot_of(key),
        }
    }

    /// Asks the policy about a buffer whose class is listed under `slot`, if at all.
    #[inline]
    fn rule(&mut self, slot: Option<usize>, bytes: usize) -> Verdict {
        let class = slot.and_then(|slot| self.slots[slot].as_ref());
        let (class_buffers, class_bytes) =
            class.map_or((0, 0), |class| (class.stack.len(), class.bytes));
        self.policy.rule(
            Offer {
                bytes,
                class_buffers,
                class_bytes,
            },
            self.held,
        )
    }

    /// Puts a buffer on the stack of its class, which is listed first if it is new.
    #[inline]
    fn push(&mut self, slot: Option<usize>, key: K, buffer: B, bytes: usize) {
        let slot = slot.unwrap_or_else(|| self.open(key));
        self.touch(slot);
        let Some(class) = self.slots[slot].as_mut() else {
            unreachable!("a listed slot exists")
        };
        self.held.classes += usize::from(class.stack.is_empty());
        self.held.buffers += 1;
        self.held.bytes += bytes;
        class.bytes += bytes;
        class.stack.push((buffer, bytes));
    }

    /// Takes the buffer that came back last from a class's stack.
    #[inline]
    fn pop(&mut self, slot: usize) -> Option<B> {
        let class = self.slots[slot].as_mut()?;
        let (buffer, bytes) = class.stack.pop()?;
        class.least = class.least.min(class.stack.len());
        class.bytes -= bytes;
        self.held.buffers -= 1;
        self.held.bytes -= bytes;
        self.held.classes -= usize::from(class.stack.is_empty());
        self.policy.on_leave(bytes);
        Some(buffer)
    }

    /// Notes that a class was used.
    #[inline]
    fn touch(&mut self, slot: usize) {
        self.clock += 1;
        self.recent = slot;
        if let Some(class) = self.slots[slot].as_mut() {
            class.used = self.clock;
        }
    }

    /// Takes one buffer from the class that was used least recently.
    fn evict(&mut self) -> Option<B> {
        let stocked = |slot: &Option<Slot<K, B>>| {
            slot.as_ref()
                .filter(|slot| !slot.stack.is_empty())
                .map(|slot| slot.used)
        };
        let oldest = (0..self.slots.len())
            .filter_map(|slot| Some((stocked(&self.slots[slot])?, slot)))
            .min()?;
        let victim = self.pop(oldest.1)?;
        self.counters.evicted();
        Some(victim)
    }

    /// Lists a class that holds nothing yet.
    #[cold]
    fn open(&mut self, key: K) -> usize {
        let listed = self.slots.len() - self.vacant.len();
        if listed - self.held.classes >= EMPTY_CLASSES {
            self.close_empty();
        }
        let class = Slot {
            key,
            stack: Vec::new(),
            bytes: 0,
            used: 0,
            least: 0,
            rounds: 0,
        };
        let slot = if let Some(slot) = self.vacant.pop() {
            self.slots[slot] = Some(class);
            slot
        } else {
            self.slots.push(Some(class));
            self.slots.len() - 1
        };
        self.fit.insert(key, slot);
        slot
    }

    /// Unlists every class that holds nothing.
    fn close_empty(&mut self) {
        for (slot, class) in self.slots.iter_mut().enumerate() {
            if let Some(empty) = class.take_if(|class| class.stack.is_empty()) {
                self.fit.remove(&empty.key);
                self.vacant.push(slot);
            }
        }
    }

    /// Makes the accounts visible to readers.
    #[inline]
    fn publish(&self) {
        self.counters
            .hold(self.held.buffers, self.held.bytes, self.held.classes);
    }
}

impl<K, B, P, F> fmt::Debug for Shelf<K, B, P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf")
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{BestFit, Exact};
    use crate::policy::{Bounded, Unpooled, WhenFull};
    use crate::stats::Stats;

    type Bytes<P> = Shelf<usize, Vec<u8>, P, Exact<usize>>;

    fn shelf<P: Retention>(policy: P) -> Bytes<P> {
        Shelf::new(policy, Exact::default())
    }

    fn give<P: Retention>(shelf: &mut Bytes<P>, bytes: usize) -> usize {
        shelf.offer(bytes, vec![0; bytes]).len()
    }

    fn hits<P: Retention>(shelf: &mut Bytes<P>, bytes: usize) -> bool {
        matches!(shelf.request(bytes, bytes), Found::Hit(_))
    }

    fn stats<P: Retention>(shelf: &Bytes<P>) -> Stats {
        shelf.counters().snapshot()
    }

    #[test]
    fn the_buffer_that_came_back_last_is_lent_first() {
        let mut shelf = shelf(Bounded::UNLIMITED);
        let (first, second) = (vec![0_u8; 8], vec![0_u8; 8]);
        let warmest = second.as_ptr();
        drop(shelf.offer(8, first));
        drop(shelf.offer(8, second));
        assert!(matches!(shelf.request(8, 8), Found::Hit(buffer) if buffer.as_ptr() == warmest));
    }

    #[test]
    fn a_buffer_is_accounted_at_its_capacity_and_not_at_its_length() {
        let mut shelf = shelf(Bounded::UNLIMITED);
        let mut roomy = Vec::with_capacity(1 << 20);
        roomy.extend([1_u8; 4]);
        drop(shelf.offer(4, roomy));
        assert_eq!(shelf.held().bytes, 1 << 20);
        let mut tight = self::shelf(Bounded {
            pool_bytes: 1 << 10,
            ..Bounded::UNLIMITED
        });
        assert_eq!(tight.offer(4, Vec::with_capacity(1 << 20)).len(), 1);
        assert_eq!(tight.held().bytes, 0);
    }

    #[test]
    fn a_policy_that_keeps_nothing_makes_every_request_a_bypass() {
        let mut shelf = shelf(Unpooled);
        assert!(matches!(shelf.request(8, 8), Found::Bypass));
        assert_eq!(give(&mut shelf, 8), 1);
        assert_eq!(stats(&shelf).bypassed, 1);
        assert_eq!(stats(&shelf).refused_for(Refusal::Unpooled), 1);
    }

    #[test]
    fn the_least_recently_used_class_makes_room_first() {
        let mut shelf = shelf(Bounded {
            pool_buffers: 2,
            when_full: WhenFull::Evict,
            ..Bounded::UNLIMITED
        });
        give(&mut shelf, 1);
        give(&mut shelf, 2);
        assert!(hits(&mut shelf, 1));
        give(&mut shelf, 1);
        assert_eq!(give(&mut shelf, 3), 1, "the buffer of class 2 makes room");
        assert!(!hits(&mut shelf, 2));
        assert!(hits(&mut shelf, 1) && hits(&mut shelf, 3));
        assert_eq!(stats(&shelf).evicted, 1);
    }

    #[test]
    fn a_pool_full_of_tiny_buffers_recovers_when_it_evicts_and_does_not_when_it_refuses() {
        for (when_full, most_misses) in [(WhenFull::Evict, 1), (WhenFull::Refuse, 1000)] {
            let mut shelf = shelf(Bounded {
                pool_buffers: 32,
                when_full,
                ..Bounded::UNLIMITED
            });
            for _ in 0..32 {
                give(&mut shelf, 1);
            }
            for _ in 0..1000 {
                hits(&mut shelf, 65536);
                give(&mut shelf, 65536);
            }
            assert_eq!(stats(&shelf).misses, most_misses, "{when_full:?}");
        }
    }

    #[test]
    fn ten_thousand_classes_that_ran_empty_leave_nothing_behind() {
        let mut shelf = shelf(Bounded {
            pool_buffers: 8,
            ..Bounded::UNLIMITED
        });
        for bytes in 1..if cfg!(miri) { 300 } else { 10_000 } {
            give(&mut shelf, bytes);
            assert!(hits(&mut shelf, bytes));
            assert!(
                shelf.slots.len() <= EMPTY_CLASSES + 8,
                "{} places",
                shelf.slots.len()
            );
        }
        assert_eq!(shelf.held(), Held::default());
    }

    #[test]
    fn a_class_that_ran_empty_keeps_its_stack() {
        let mut shelf = shelf(Bounded::UNLIMITED);
        give(&mut shelf, 8);
        assert!(hits(&mut shelf, 8));
        let slot = shelf.slots[0].as_ref().unwrap();
        assert!(slot.stack.is_empty() && slot.stack.capacity() > 0);
    }

    #[test]
    fn a_front_tier_and_the_tier_behind_count_each_event_once() {
        let mut front = shelf(Bounded {
            pool_buffers: 1,
            ..Bounded::UNLIMITED
        });
        let mut back = shelf(Bounded {
            pool_buffers: 1,
            ..Bounded::UNLIMITED
        });
        // Three buffers go out and come back: one stays in front, one behind, one is refused.
        for _ in 0..3 {
            assert!(front.try_take(8, 8).is_none());
            assert!(matches!(back.request(8, 8), Found::Miss));
        }
        for _ in 0..3 {
            if let Err(buffer) = front.try_keep(8, vec![0; 8]) {
                drop(back.offer(8, buffer));
            }
        }
        // The front tier ends: its counts are absorbed, its buffers handed on.
        back.counters().absorb(&stats(&front));
        for (key, buffer) in front.drain() {
            drop(back.restock(key, buffer));
        }
        let stats = stats(&back);
        assert_eq!((stats.misses, stats.returns, stats.kept), (3, 3, 1));
        assert_eq!(stats.refused_for(Refusal::PoolFull), 2);
        assert_eq!(stats.held_buffers, 1);
        assert_eq!(stats.live(), 0);
    }

    #[test]
    fn a_shelf_that_was_poured_out_holds_nothing_and_keeps_its_stacks() {
        let mut shelf = shelf(Bounded::UNLIMITED);
        give(&mut shelf, 8);
        give(&mut shelf, 8);
        give(&mut shelf, 9);
        let mut moved = Vec::new();
        shelf.pour(|key, buffer| moved.push((key, buffer.len())));
        moved.sort_unstable();
        assert_eq!(moved, [(8, 8), (8, 8), (9, 9)]);
        assert_eq!(shelf.held(), Held::default());
        assert_eq!(stats(&shelf).held_bytes, 0);
        assert!(shelf.slots[0].as_ref().unwrap().stack.capacity() >= 2);
        give(&mut shelf, 8);
        assert_eq!(shelf.held().bytes, 8);
        assert!(hits(&mut shelf, 8) && !hits(&mut shelf, 8));
    }

    #[test]
    fn what_is_cleared_is_given_up_and_counted() {
        let mut shelf = shelf(Bounded::UNLIMITED);
        give(&mut shelf, 1);
        give(&mut shelf, 2);
        assert_eq!(shelf.clear().len(), 2);
        assert_eq!((stats(&shelf).cleared, stats(&shelf).held_buffers), (2, 0));
        assert!(!hits(&mut shelf, 1));
        give(&mut shelf, 1);
        assert!(hits(&mut shelf, 1));
    }

    #[test]
    fn best_fit_lends_across_classes_and_takes_back_by_capacity() {
        let mut shelf = Shelf::new(Bounded::UNLIMITED, BestFit::within(4));
        drop(shelf.offer(256, vec![0_u8; 256]));
        assert!(matches!(shelf.request(63, 63), Found::Miss));
        assert!(matches!(shelf.request(64, 64), Found::Hit(buffer) if buffer.len() == 256));
        assert!(
            matches!(shelf.request(64, 64), Found::Miss),
            "the class is empty now"
        );
    }
}
