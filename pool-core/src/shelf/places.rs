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

use super::{Buffer, Shelf};
use crate::class::Class;
use crate::fit::Fit;
use crate::policy::{Retention, Verdict};

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
    /// For a policy that [is memoryless](Retention::is_memoryless). Nothing is counted as a hit.
    pub fn lend(&mut self, class: K) -> Option<B> {
        self.turn_to_exactly(class);
        let slot = &mut self.slots[self.recent];
        slot.is_stocked().then(|| slot.lent += 1)?;
        let buffer = slot.pop(&self.counters)?;
        self.lent.buffers += 1;
        self.lent.bytes += class.bytes();
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
            self.lent.buffers += 1;
            self.lent.bytes += class.bytes();
        }
        granted
    }

    /// Takes a place back from a front tier, with the buffer that is in it.
    pub fn restore(&mut self, class: K, buffer: B) {
        self.take_place(class);
        let slot = &mut self.slots[self.recent];
        let held = self.counters.held();
        slot.push(|| buffer, held, &self.counters);
        slot.lent -= 1;
    }

    /// Takes a place back from a front tier whose buffer is not there.
    pub fn release(&mut self, class: K) {
        self.take_place(class);
        let slot = &mut self.slots[self.recent];
        slot.lent -= 1;
        if slot.places() == 0 {
            self.counters.end_class();
        }
        self.policy.on_leave(class.bytes());
    }

    /// Takes one place of a front tier off the sums.
    fn take_place(&mut self, class: K) {
        self.turn_to_exactly(class);
        debug_assert!(
            self.slots[self.recent].lent > 0,
            "a front tier gives back what it has"
        );
        self.lent.buffers -= 1;
        self.lent.bytes -= class.bytes();
    }
}
