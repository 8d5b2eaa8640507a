//! The one place where returned buffers wait for their next borrower.
//!
//! A [`Shelf`] holds stacks of buffers by class. It asks its policy about every buffer that comes
//! back, keeps the accounts, and hands back what is to be freed, so that a caller who holds a lock
//! frees it after the lock is open. It takes no lock itself and allocates no buffer.
//!
//! Invariants, and what upholds each:
//!
//! - The accounts equal what is on the stacks: a slot's `push` and `pop` are the only ways on and
//!   off one at a time, and each adjusts both.
//! - A buffer is accounted at its capacity when it came back: the size is stored beside it, so
//!   nothing is measured twice.
//! - A hit allocates nothing: a class that ran empty keeps its stack and its place in the index.
//! - Empty classes leave nothing behind for long: beyond `EMPTY_CLASSES` of them, all are
//!   dropped at once, so the work per return stays constant on average.
//! - Last in, first out within a class: the buffer whose memory is warmest is lent first.

mod slot;

use std::fmt;
use std::sync::Arc;

use crate::fit::Fit;
use crate::policy::{Held, Offer, Refusal, Retention, Use, Verdict};
use crate::stats::Counters;
use slot::Slot;

/// Classes that may be listed while they hold nothing.
const EMPTY_CLASSES: usize = 64;

/// The slot of a class that is not listed: past the end of any list.
const UNLISTED: usize = usize::MAX;

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
        self.request_with(wanted, bytes, |buffer| buffer)
    }

    /// Like [`request`](Self::request), and hands a hit to `take` where it is found.
    #[expect(
        clippy::inline_always,
        reason = "called in one place for each element type; out of line, the buffer goes through memory"
    )]
    #[inline(always)]
    pub fn request_with<R>(
        &mut self,
        wanted: K,
        bytes: usize,
        take: impl FnOnce(B) -> R,
    ) -> Found<R> {
        if !self.policy.admit(bytes) {
            self.counters.bypass();
            return Found::Bypass;
        }
        if let Some(taken) = self.try_take_with(wanted, bytes, take) {
            return Found::Hit(taken);
        }
        self.counters.miss();
        self.policy.on_miss(bytes);
        Found::Miss
    }

    /// Looks for a buffer in a front tier: like [`request`](Self::request), but a request that
    /// finds nothing here is counted by the tier behind.
    #[inline]
    pub fn try_take(&mut self, wanted: K, bytes: usize) -> Option<B> {
        self.try_take_with(wanted, bytes, |buffer| buffer)
    }

    /// Like [`try_take`](Self::try_take), and hands a hit to `take` where it is found.
    #[expect(clippy::inline_always, reason = "as for `request_with`")]
    #[inline(always)]
    fn try_take_with<R>(
        &mut self,
        wanted: K,
        bytes: usize,
        take: impl FnOnce(B) -> R,
    ) -> Option<R> {
        let slot = self.find(&wanted);
        let class = self.slots.get_mut(slot)?.as_mut()?;
        let (buffer, capacity) = class.pop(&mut self.held)?;
        let taken = take(buffer);
        self.clock += 1;
        class.used = self.clock;
        self.recent = slot;
        self.counters.hit();
        self.counters.hold(self.held);
        self.policy.on_leave(capacity);
        self.policy.on_hit(bytes);
        Some(taken)
    }

    /// Takes a buffer of class `key` back, or gives up what the policy says.
    ///
    /// Constant time, plus the number of classes for each buffer that is evicted.
    #[inline]
    pub fn offer(&mut self, key: K, buffer: B) -> Discarded<B> {
        self.counters.returned();
        self.settle(key, buffer)
    }

    /// Like [`offer`](Self::offer), for a caller under no lock: the buffer, of `bytes` of
    /// capacity, is moved only if it is kept, and `evicted` gets each that made room for it.
    ///
    /// Says whether it was kept. If not, it is still the caller's, to be freed.
    #[expect(
        clippy::inline_always,
        reason = "called in one place for each element type; out of line, the buffer goes through memory"
    )]
    #[inline(always)]
    pub fn offer_with(
        &mut self,
        key: K,
        bytes: usize,
        buffer: impl FnOnce() -> B,
        evicted: impl FnMut(B),
    ) -> bool {
        self.counters.returned();
        let slot = self.slot_of(&key);
        let verdict = self.rule(slot, bytes);
        if verdict != Verdict::Keep
            && !self.reconsider(verdict, slot, bytes, evicted, Counters::refuse)
        {
            return false;
        }
        self.counters.kept();
        self.push(slot, key, buffer, bytes);
        true
    }

    /// Takes a buffer that the pool had not handed out.
    pub fn adopt(&mut self, key: K, buffer: B) -> Discarded<B> {
        self.counters.adopted();
        self.settle(key, buffer)
    }

    /// Takes a buffer of `bytes` of capacity back into a front tier, if the policy keeps it
    /// without evicting. The buffer is moved only then.
    ///
    /// Says whether it was kept. If not, nothing was counted: it is still the caller's, to be
    /// offered to the tier behind.
    #[expect(
        clippy::inline_always,
        reason = "called in one place for each element type; out of line, the buffer goes through memory"
    )]
    #[inline(always)]
    pub fn try_keep(&mut self, key: K, bytes: usize, buffer: impl FnOnce() -> B) -> bool {
        let slot = self.slot_of(&key);
        if self.rule(slot, bytes) != Verdict::Keep {
            return false;
        }
        self.counters.returned();
        self.counters.kept();
        self.push(slot, key, buffer, bytes);
        true
    }

    /// Takes a buffer over from a front tier that had kept it and whose counts were
    /// [absorbed](Counters::absorb) here. What the policy refuses now counts as refused and no
    /// longer as kept.
    ///
    /// The buffer has `bytes` of capacity, as the front tier had measured. `given_up` gets each
    /// buffer that is to be freed, this one included.
    #[inline]
    pub fn restock(&mut self, key: K, bytes: usize, buffer: B, mut given_up: impl FnMut(B)) {
        let slot = self.slot_of(&key);
        let verdict = self.rule(slot, bytes);
        if verdict != Verdict::Keep
            && !self.reconsider(verdict, slot, bytes, &mut given_up, Counters::refuse_kept)
        {
            given_up(buffer);
            return;
        }
        self.push(slot, key, || buffer, bytes);
    }

    /// Asks the policy about one buffer, and acts on the answer.
    #[inline]
    fn settle(&mut self, key: K, buffer: B) -> Discarded<B> {
        let (slot, bytes) = (self.slot_of(&key), buffer.bytes());
        let mut evicted = Vec::new();
        let verdict = self.rule(slot, bytes);
        if verdict != Verdict::Keep
            && !self.reconsider(
                verdict,
                slot,
                bytes,
                |victim| evicted.push(victim),
                Counters::refuse,
            )
        {
            let refused = Some(buffer);
            return Discarded { refused, evicted };
        }
        self.counters.kept();
        self.push(slot, key, || buffer, bytes);
        Discarded {
            refused: None,
            evicted,
        }
    }

    /// Acts on the answer that a buffer is not to be kept as things are. Says whether it is to be
    /// kept after all.
    #[cold]
    fn reconsider(
        &mut self,
        verdict: Verdict,
        slot: usize,
        bytes: usize,
        evicted: impl FnMut(B),
        on_refuse: impl Fn(&Counters, Refusal),
    ) -> bool {
        let verdict = match verdict {
            Verdict::MakeRoom => self.make_room(slot, bytes, evicted),
            verdict => verdict,
        };
        if let Verdict::Refuse(reason) = verdict {
            on_refuse(&self.counters, reason);
            self.publish();
        }
        verdict == Verdict::Keep
    }

    /// Evicts until the policy's answer is another, and gives that: to keep or to refuse.
    fn make_room(&mut self, slot: usize, bytes: usize, mut evicted: impl FnMut(B)) -> Verdict {
        loop {
            let Some(victim) = self.evict() else {
                return Verdict::Refuse(Refusal::PoolFull);
            };
            evicted(victim);
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

    /// Moves every retained buffer out with its class and its capacity in bytes, like
    /// [`Self::drain`], and keeps the emptied classes listed: a front tier that is filled and emptied in turn allocates nothing for it.
    #[inline]
    pub fn pour(&mut self, mut each: impl FnMut(K, usize, B)) {
        for slot in self.slots.iter_mut().flatten() {
            (slot.bytes, slot.least) = (0, 0);
            for (buffer, bytes) in slot.stack.drain(..) {
                self.policy.on_leave(bytes);
                each(slot.key, bytes, buffer);
            }
        }
        self.held = Held::default();
        self.publish();
    }

    /// The slot of a class that serves a request of class `wanted` now, or [`UNLISTED`].
    ///
    /// A stocked class of exactly that key is the best fit there is, whatever the fit.
    #[inline]
    fn find(&self, wanted: &K) -> usize {
        match self.slots.get(self.recent) {
            Some(Some(class)) if class.key == *wanted && !class.stack.is_empty() => self.recent,
            _ => self.find_listed(wanted),
        }
    }

    /// [`Self::find`] for a class that was not the last one in use: out of line, so that the rest
    /// is inlined.
    #[inline(never)]
    fn find_listed(&self, wanted: &K) -> usize {
        let slots = &self.slots;
        let stocked = |slot: usize| matches!(&slots[slot], Some(class) if !class.stack.is_empty());
        self.fit.find(wanted, stocked).unwrap_or(UNLISTED)
    }

    /// The slot of exactly the class `key`, stocked or not, or [`UNLISTED`].
    #[inline]
    fn slot_of(&self, key: &K) -> usize {
        match self.slots.get(self.recent) {
            Some(Some(class)) if class.key == *key => self.recent,
            _ => self.listed(key),
        }
    }

    /// [`Self::slot_of`] for a class that was not the last one in use.
    #[inline(never)]
    fn listed(&self, key: &K) -> usize {
        self.fit.slot_of(key).unwrap_or(UNLISTED)
    }

    /// Asks the policy about a buffer whose class is listed under `slot`, if at all.
    #[inline]
    fn rule(&mut self, slot: usize, bytes: usize) -> Verdict {
        let (class_buffers, class_bytes) = match self.slots.get(slot) {
            Some(Some(class)) => (class.stack.len(), class.bytes),
            _ => (0, 0),
        };
        let offer = Offer {
            bytes,
            class_buffers,
            class_bytes,
        };
        self.policy.rule(offer, self.held)
    }

    /// Puts a buffer on the stack of its class, which is listed first if it is new.
    #[expect(clippy::inline_always, reason = "as for `offer_with`")]
    #[inline(always)]
    fn push(&mut self, slot: usize, key: K, buffer: impl FnOnce() -> B, bytes: usize) {
        let slot = if slot == UNLISTED {
            self.open(key)
        } else {
            slot
        };
        let Some(Some(class)) = self.slots.get_mut(slot) else {
            unreachable!("a listed slot exists")
        };
        self.clock += 1;
        class.used = self.clock;
        self.recent = slot;
        class.push(buffer, bytes, &mut self.held);
        self.counters.hold_more(self.held);
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
        let (victim, bytes) = self.slots[oldest.1].as_mut()?.pop(&mut self.held)?;
        self.policy.on_leave(bytes);
        self.counters.evicted();
        Some(victim)
    }

    /// Lists a class that holds nothing yet.
    #[cold]
    #[inline(never)]
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
        self.counters.hold(self.held);
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
mod tests;
