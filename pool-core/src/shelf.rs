//! The one place where returned buffers wait for their next borrower.
//!
//! A [`Shelf`] holds stacks of buffers by class. It asks its policy about every buffer that comes
//! back, keeps the accounts, and hands over what is to be freed, so that a caller who holds a lock
//! frees it after the lock is open. It takes no lock itself and allocates no buffer.
//!
//! Invariants, and what upholds each:
//!
//! - The accounts equal what is on the stacks: a slot's `push` and `pop` are the only ways on and
//!   off one at a time, and each adjusts both. They are kept once, in the [`Counters`].
//! - A policy is asked with what it granted: what is on the stacks, and the places that a front
//!   tier has ([`Shelf::lend`]), be their buffers there or lent. So what is retained in both is
//!   never more than what the policy granted.
//! - All buffers of a class have the capacity that the class says, so none is measured or
//!   remembered by itself. The capacity is compared in debug builds.
//! - A hit allocates nothing: a class that ran empty keeps its stack and its place in the index.
//! - Empty classes leave nothing behind for long: once there are `EMPTY_CLASSES` of them, and as
//!   many as stocked ones, all are dropped at once, so the work per return stays constant on
//!   average.
//! - Last in, first out within a class: the buffer whose memory is warmest is lent first.

mod discarded;
mod places;
mod slot;
mod tiers;

use std::fmt;
use std::mem;
use std::sync::Arc;

use crate::class::Class;
use crate::fit::Fit;
use crate::policy::{Held, Refusal, Retention, Verdict};
use crate::stats::Counters;
use places::Granted;
use slot::Slot;

pub use discarded::Discarded;

/// Classes that may be listed while they hold nothing.
const EMPTY_CLASSES: usize = 64;

/// No slot: past the end of any list.
const NONE: usize = usize::MAX;

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

impl<T> Buffer for Box<[T]> {
    #[inline]
    fn bytes(&self) -> usize {
        size_of_val(&**self)
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

/// Returned buffers by class, under one policy.
///
/// `K` is the class, `B` the buffer, `P` the policy and `F` how a request finds a class.
pub struct Shelf<K, B, P, F> {
    policy: P,
    fit: F,
    slots: Vec<Slot<K, B>>,
    /// The slot of the class in use: programs ask for one class many times in a row, and comparing
    /// a class costs less than hashing it. Each request that hits and each return turns to its
    /// class first.
    recent: usize,
    /// Counts requests and returns, so that "least recently used" has a meaning.
    clock: u64,
    /// Buffers and bytes of the places that the policy granted.
    granted: Granted,
    counters: Arc<Counters>,
}

impl<K, B, P, F> Shelf<K, B, P, F>
where
    K: Class,
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
            recent: NONE,
            clock: 0,
            granted: Granted::default(),
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

    /// The policy, to be told what a [`Retention`] does not see, as that a round ended.
    #[must_use]
    pub fn policy_mut(&mut self) -> &mut P {
        &mut self.policy
    }

    /// What is held now.
    #[must_use]
    pub fn held(&self) -> Held {
        self.counters.held()
    }

    /// Looks for a buffer that serves a request of class `wanted`.
    ///
    /// Constant time with [`Exact`](crate::Exact), logarithmic in the number of classes with
    /// [`BestFit`](crate::BestFit).
    #[inline]
    pub fn request(&mut self, wanted: K) -> Found<B> {
        self.request_with(wanted, |buffer| buffer)
    }

    /// Like [`request`](Self::request), and hands a hit to `take` where it is found.
    #[inline]
    pub fn request_with<R>(&mut self, wanted: K, take: impl FnOnce(B) -> R) -> Found<R> {
        if !self.policy.admit(wanted.bytes()) {
            self.counters.bypass();
            return Found::Bypass;
        }
        if let Some(taken) = self.try_take_with(wanted, take) {
            return Found::Hit(taken);
        }
        self.counters.miss();
        self.policy.on_miss(wanted.bytes());
        Found::Miss
    }

    /// Looks for a buffer in a front tier: like [`request`](Self::request), but a request that
    /// finds nothing here is counted by the tier behind.
    #[inline]
    pub fn try_take(&mut self, wanted: K) -> Option<B> {
        self.try_take_with(wanted, |buffer| buffer)
    }

    /// Like [`try_take`](Self::try_take), and hands a hit to `take` where it is found.
    #[inline]
    pub fn try_take_with<R>(&mut self, wanted: K, take: impl FnOnce(B) -> R) -> Option<R> {
        loop {
            match self.slots.get_mut(self.recent) {
                // A stocked class of exactly that key is the best fit there is, whatever the fit.
                Some(slot) if slot.class == wanted && slot.is_stocked() => {
                    let taken = take(slot.pop(&self.counters)?);
                    self.clock += 1;
                    slot.used = self.clock;
                    self.granted.subtract(wanted.bytes());
                    self.counters.hit();
                    self.policy.on_leave(wanted.bytes());
                    self.policy.on_hit(wanted.bytes());
                    return Some(taken);
                }
                _ => match self.turn_to_stocked(wanted)? {
                    // Not the same class, but one that fits.
                    class if class != wanted => return self.take_in_use(wanted).map(take),
                    _ => {}
                },
            }
        }
    }

    /// Takes a buffer of class `class` back, or gives up what the policy says.
    ///
    /// Constant time, plus the number of classes for each buffer that is evicted.
    #[inline]
    pub fn offer(&mut self, class: K, buffer: B) -> Discarded<B> {
        let mut discarded = Discarded::default();
        let settled = self.settle(
            class,
            || buffer,
            |shelf, verdict| {
                shelf.reconsider(verdict, |victim| discarded.push(victim), Counters::refuse)
            },
        );
        match settled {
            Ok(()) => self.counters.keep(),
            Err(refused) => discarded.push(refused()),
        }
        discarded
    }

    /// Like [`offer`](Self::offer), for a caller under no lock: the buffer is made only if it is
    /// kept, and each that makes room for it is handed to `give_up`. Says whether it was kept.
    #[inline]
    pub fn offer_with(
        &mut self,
        class: K,
        buffer: impl FnOnce() -> B,
        give_up: impl FnMut(B),
    ) -> bool {
        let settled = self.settle(class, buffer, |shelf, verdict| {
            shelf.reconsider(verdict, give_up, Counters::refuse)
        });
        if settled.is_ok() {
            self.counters.keep();
        }
        settled.is_ok()
    }

    /// Takes a buffer of class `class` back into a front tier, if the policy keeps it without
    /// evicting. The buffer is made only then.
    ///
    /// # Errors
    ///
    /// Gives `buffer` back when the policy does not. Then nothing was counted: it is to be offered
    /// to the tier behind.
    #[inline]
    pub fn try_keep<M: FnOnce() -> B>(&mut self, class: K, buffer: M) -> Result<(), M> {
        self.settle(class, buffer, |_, _| false)?;
        self.counters.keep();
        Ok(())
    }

    /// Turns to `class` and asks the policy about one more buffer of it, which is made if it is to
    /// be kept, and else given back unmade. On any answer but `Keep`, `otherwise` says whether it is
    /// to be kept after all.
    #[inline]
    fn settle<M: FnOnce() -> B>(
        &mut self,
        class: K,
        buffer: M,
        otherwise: impl FnOnce(&mut Self, Verdict) -> bool,
    ) -> Result<(), M> {
        let verdict = loop {
            match self.slots.get_mut(self.recent) {
                Some(slot) if slot.class == class => {
                    self.clock += 1;
                    slot.used = self.clock;
                    let held = self.counters.held();
                    let verdict = self.policy.rule(slot.offer(), self.granted.beside(held));
                    if verdict == Verdict::Keep {
                        self.granted.add(class.bytes());
                        slot.push(buffer, held, &self.counters);
                        return Ok(());
                    }
                    break verdict;
                }
                _ => self.turn_to_class(class),
            }
        };
        if !otherwise(self, verdict) {
            return Err(buffer);
        }
        self.granted.add(class.bytes());
        self.slots[self.recent].push(buffer, self.counters.held(), &self.counters);
        Ok(())
    }

    /// Acts on the answer that a buffer of the class in use is not to be kept as things are:
    /// evicts until the answer is another. Says whether it is to be kept after all.
    #[cold]
    #[inline(never)]
    fn reconsider(
        &mut self,
        mut verdict: Verdict,
        mut give_up: impl FnMut(B),
        on_refuse: impl FnOnce(&Counters, Refusal),
    ) -> bool {
        loop {
            let reason = match verdict {
                Verdict::Keep => return true,
                Verdict::Refuse(reason) => reason,
                Verdict::MakeRoom => match self.evict() {
                    Some(victim) => {
                        give_up(victim);
                        // Evicting turns to no other class.
                        verdict = self.rule();
                        continue;
                    }
                    None => Refusal::PoolFull,
                },
            };
            on_refuse(&self.counters, reason);
            return false;
        }
    }

    /// Ends a round: asks the policy about each class, and gives up what it says.
    ///
    /// What a round is, its caller knows: a sweep, a batch, a tick. Linear in the number of
    /// classes and in what is given up.
    pub fn end_round(&mut self) -> Discarded<B> {
        let mut discarded = Discarded::default();
        for slot in &mut self.slots {
            let watched = slot.end_round();
            if !slot.is_stocked() {
                continue;
            }
            let Some(surplus) = self.policy.trim(watched) else {
                continue;
            };
            let (buffers, bytes) = (watched.buffers, slot.class.bytes());
            for buffer in slot.stack.drain(..surplus.min(buffers)) {
                self.policy.on_leave(bytes);
                self.counters.evict();
                self.counters.leave(bytes);
                self.granted.subtract(bytes);
                discarded.push(buffer);
            }
            if slot.places() == 0 {
                self.counters.end_class();
            }
            slot.begin_watch();
        }
        discarded
    }

    /// Gives up everything, and forgets every class.
    pub fn clear(&mut self) -> Discarded<B> {
        self.counters.clear(self.held().buffers);
        let mut discarded = Discarded::default();
        self.drain().for_each(|(_, buffer)| discarded.push(buffer));
        discarded
    }

    /// Moves every retained buffer out with its class, as to another shelf, and forgets every
    /// class of which no front tier has a place. The move counts as nothing here; [`Self::clear`]
    /// is the call that gives up.
    pub fn drain(&mut self) -> impl Iterator<Item = (K, B)> + use<K, B, P, F> {
        let drained: Vec<_> = self
            .slots
            .iter_mut()
            .map(|slot| (slot.class, mem::take(&mut slot.stack)))
            .collect();
        for (class, stack) in &drained {
            for _ in stack {
                self.granted.subtract(class.bytes());
                self.policy.on_leave(class.bytes());
            }
        }
        self.close_empty();
        self.counters.empty(self.slots.len());
        drained
            .into_iter()
            .flat_map(|(class, stack)| stack.into_iter().map(move |buffer| (class, buffer)))
    }

    /// Asks the policy about one more buffer of the class in use.
    fn rule(&mut self) -> Verdict {
        let offer = self.slots[self.recent].offer();
        let held = self.granted.beside(self.counters.held());
        self.policy.rule(offer, held)
    }

    /// Makes exactly the class `class` the one in use.
    fn turn_to_exactly(&mut self, class: K) {
        if self
            .slots
            .get(self.recent)
            .is_none_or(|slot| slot.class != class)
        {
            self.turn_to_class(class);
        }
    }

    /// Turns to a stocked class that serves a request of class `wanted`, and says which.
    ///
    /// Out of line, so that the case of the class in use is inlined.
    #[inline(never)]
    fn turn_to_stocked(&mut self, wanted: K) -> Option<K> {
        let stocked = |slot: usize| self.slots[slot].is_stocked();
        let slot = self.fit.find(&wanted, stocked)?;
        self.turn_to(slot);
        Some(self.slots[slot].class)
    }

    /// Takes a buffer of the class in use for a request of another.
    fn take_in_use(&mut self, wanted: K) -> Option<B> {
        let slot = &mut self.slots[self.recent];
        let bytes = slot.class.bytes();
        let buffer = slot.pop(&self.counters)?;
        self.granted.subtract(bytes);
        self.counters.hit();
        self.policy.on_leave(bytes);
        self.policy.on_hit(wanted.bytes());
        Some(buffer)
    }

    /// Turns to exactly the class `class`, which is listed if it is not yet.
    #[inline(never)]
    fn turn_to_class(&mut self, class: K) {
        let slot = self.fit.slot_of(&class);
        let slot = slot.unwrap_or_else(|| self.open(class));
        self.turn_to(slot);
    }

    /// Makes a class the one in use.
    fn turn_to(&mut self, slot: usize) {
        self.recent = slot;
        self.clock += 1;
        self.slots[slot].used = self.clock;
    }

    /// Takes one buffer from the class that was used least recently.
    fn evict(&mut self) -> Option<B> {
        let stocked = self.slots.iter().enumerate();
        let stocked = stocked.filter(|(_, slot)| slot.is_stocked());
        let (oldest, _) = stocked.min_by_key(|(_, slot)| slot.used)?;
        let slot = &mut self.slots[oldest];
        let victim = slot.pop(&self.counters)?;
        self.granted.subtract(slot.class.bytes());
        self.counters.evict();
        self.policy.on_leave(slot.class.bytes());
        Some(victim)
    }

    /// Lists a class that holds nothing yet.
    #[cold]
    #[inline(never)]
    fn open(&mut self, class: K) -> usize {
        let in_use = self.held().classes;
        if self.slots.len() - in_use >= EMPTY_CLASSES.max(in_use) {
            self.close_empty();
        }
        let slot = self.slots.len();
        self.slots.push(Slot::new(class));
        self.fit.insert(class, slot);
        slot
    }

    /// Unlists every class without a place.
    fn close_empty(&mut self) {
        let fit = &mut self.fit;
        self.slots.retain(|slot| {
            if slot.places() == 0 {
                fit.remove(&slot.class);
            }
            slot.places() > 0
        });
        for (place, slot) in self.slots.iter().enumerate() {
            fit.insert(slot.class, place);
        }
        self.recent = NONE;
    }
}

impl<K, B, P, F> fmt::Debug for Shelf<K, B, P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf")
            .field("held", &self.counters.held())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
