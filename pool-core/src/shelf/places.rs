//! Places: what a policy granted to a front tier that lends without asking again.
//!
//! A place is room for one buffer of a class. Every buffer on a stack has one. A front tier may have
//! places of its own, whose buffers lie there or are lent and expected back.
//!
//! - What is retained never exceeds what the policy granted: a front tier's places go on counting
//!   for the policy, with their buffers or without, until each is [restored](Shelf::restore) or
//!   [released](Shelf::release).
//! - Only for a policy that [is memoryless](Retention::is_memoryless): it is not told of the buffers
//!   that leave such a place and come back to it.

use super::slot::Slot;
use super::{Buffer, Shelf};
use crate::class::Class;
use crate::fit::Fit;
use crate::policy::{Held, Retention, Verdict};
#[cfg(doc)]
use crate::stats::Counters;

impl<K, B, P, F> Shelf<K, B, P, F>
where
    K: Class,
    B: Buffer,
    P: Retention,
    F: Fit<K>,
{
    /// Takes a buffer of exactly the class `class` for a front tier, which has its place from now
    /// on: the policy goes on counting it, and is not asked when the buffer comes back there.
    ///
    /// What is held stays as it was: the buffer only lies elsewhere. A front tier that counts in
    /// counters of its own [hands it on](Counters::hand_on) here and
    /// [carries](Counters::carry) it there.
    pub fn lend(&mut self, class: K) -> Option<B> {
        self.turn_to_exactly(class);
        let slot = &mut self.slots[self.recent];
        let buffer = slot.stack.pop()?;
        slot.lent += 1;
        Some(buffer)
    }

    /// Asks the policy for one more place of class `class`, for a front tier that has no buffer
    /// for it yet. Says whether it was granted; nothing is evicted for it.
    pub fn reserve(&mut self, class: K) -> bool {
        self.turn_to_exactly(class);
        let granted = self.rule() == Verdict::Keep;
        if granted {
            let slot = &mut self.slots[self.recent];
            if slot.places() == 0 {
                self.counters.begin_class(self.counters.held());
            }
            slot.lent += 1;
            self.granted.add(class.bytes());
        }
        granted
    }

    /// How many more buffers of class `class` the policy would keep as things are, up to `most`.
    pub fn room(&mut self, class: K, most: usize) -> usize {
        let granted = (0..most).take_while(|_| self.reserve(class)).count();
        (0..granted).for_each(|_| self.release(class));
        granted
    }

    /// Takes a place back from a front tier, with the buffer that is in it.
    ///
    /// What is held stays as it was, as in [`lend`](Self::lend). The class counts as used now.
    pub fn restore(&mut self, class: K, buffer: B) {
        let now = self.tick();
        self.restore_used(class, buffer, now);
    }

    /// Like [`restore`](Self::restore), for a class that was last used at the moment `used` of
    /// this shelf's [clock](Self::tick).
    pub fn restore_used(&mut self, class: K, buffer: B, used: u64) {
        let slot = self.place_of(class, used);
        slot.lent -= 1;
        slot.stack.push(buffer);
        slot.debug_check();
    }

    /// Takes a place back from a front tier whose buffer is not there.
    pub fn release(&mut self, class: K) {
        self.release_used(class, 0);
    }

    /// Like [`release`](Self::release), for a class that was last used at the moment `used` of
    /// this shelf's [clock](Self::tick).
    pub fn release_used(&mut self, class: K, used: u64) {
        let slot = self.place_of(class, used);
        slot.lent -= 1;
        if slot.places() == 0 {
            self.counters.end_class();
        }
        self.granted.subtract(class.bytes());
        self.policy.on_leave(class.bytes());
    }

    /// The moment of a request or return that a front tier serves by itself: later than any
    /// before.
    #[inline]
    pub fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The class of which a front tier has a place, used no earlier than `used`.
    fn place_of(&mut self, class: K, used: u64) -> &mut Slot<K, B> {
        self.turn_to_listed(class);
        let slot = &mut self.slots[self.recent];
        debug_assert!(slot.lent > 0, "a front tier gives back what it has");
        slot.used = slot.used.max(used);
        slot
    }

    /// Makes a class that is listed the one in use, without using it.
    fn turn_to_listed(&mut self, class: K) {
        if self
            .slots
            .get(self.recent)
            .is_none_or(|slot| slot.class != class)
        {
            match self.fit.slot_of(&class) {
                Some(at) => self.recent = at,
                None => self.turn_to_class(class),
            }
        }
    }
}

/// Buffers and bytes of the places that a policy granted.
#[derive(Default)]
pub(super) struct Granted {
    buffers: usize,
    bytes: usize,
}

impl Granted {
    #[inline]
    pub(super) fn add(&mut self, bytes: usize) {
        self.buffers += 1;
        self.bytes += bytes;
    }

    #[inline]
    pub(super) fn add_many(&mut self, buffers: usize, bytes: usize) {
        self.buffers += buffers;
        self.bytes += buffers * bytes;
    }

    #[inline]
    pub(super) fn subtract(&mut self, bytes: usize) {
        self.buffers -= 1;
        self.bytes -= bytes;
    }

    /// What the policy granted, in the classes of what is held.
    #[inline]
    pub(super) fn beside(&self, held: Held) -> Held {
        Held {
            buffers: self.buffers,
            bytes: self.bytes,
            classes: held.classes,
        }
    }
}
