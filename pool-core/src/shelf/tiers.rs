//! What a front tier and the tier behind it say to each other.
//!
//! A front tier serves one thread for a while and hands what it holds to a shared one when it ends.
//!
//! - [`Shelf::take_at_hand`] and [`Shelf::keep_at_hand`] serve the case that is nearly every one:
//!   the class is listed and the stack has a buffer, or room for one. They call nothing that is
//!   not inlined, so a caller keeps its registers, and they note no use of the class: a front tier
//!   neither evicts nor ends rounds.
//! - A class is handed over whole: it is looked up once, and its buffers move by one copy of their
//!   pointers. The policy still rules on each buffer, told what it would have been told had each
//!   come by itself.

use super::{Buffer, Shelf};
use crate::class::Class;
use crate::fit::Fit;
use crate::policy::{Held, Refusal, Retention, Verdict};
use crate::stats::Counters;

impl<K, B, P, F> Shelf<K, B, P, F>
where
    K: Class,
    B: Buffer,
    P: Retention,
    F: Fit<K>,
{
    /// Looks for a buffer of exactly the class `wanted`, like [`try_take_with`](Self::try_take_with)
    /// with an [exact](crate::Exact) fit.
    #[inline]
    pub fn take_at_hand<R>(&mut self, wanted: K, take: impl FnOnce(B) -> R) -> Option<R> {
        let at = self.fit.slot_of(&wanted)?;
        let slot = self.slots.get_mut(at)?;
        let buffer = slot.stack.pop()?;
        self.counters.leave(wanted.bytes());
        self.granted.subtract(wanted.bytes());
        if slot.places() == 0 {
            self.counters.end_class();
        }
        self.counters.hit();
        self.policy.on_leave(wanted.bytes());
        self.policy.on_hit(wanted.bytes());
        Some(take(buffer))
    }

    /// Takes a buffer back into a front tier, like [`try_keep`](Self::try_keep), if its class is
    /// listed and has room for it.
    ///
    /// # Errors
    ///
    /// Gives `buffer` back, unmade and uncounted, if there is more to do or the policy does not
    /// keep it; [`try_keep`](Self::try_keep) is the next to ask.
    #[inline]
    pub fn keep_at_hand<M: FnOnce() -> B>(&mut self, class: K, buffer: M) -> Result<(), M> {
        let Some(at) = self.fit.slot_of(&class) else {
            return Err(buffer);
        };
        match self.slots.get_mut(at) {
            Some(slot) if slot.stack.len() < slot.stack.capacity() => {
                let (held, begins) = (self.counters.held(), slot.places() == 0);
                let verdict = self.policy.rule(slot.offer(), self.granted.beside(held));
                if verdict != Verdict::Keep {
                    return Err(buffer);
                }
                // First, while it is known that there is room: what grows a stack is left out then.
                slot.stack.push(buffer());
                slot.debug_check();
                self.granted.add(class.bytes());
                self.counters.enter(held, class.bytes());
                if begins {
                    self.counters.begin_class(held);
                }
                self.counters.keep();
                Ok(())
            }
            _ => Err(buffer),
        }
    }

    /// Takes the buffers of one class over from a front tier that had kept them and whose counts
    /// were [absorbed](Counters::absorb) here. What the policy refuses now counts as refused and no
    /// longer as kept.
    ///
    /// The buffers are taken from `buffers` in order; `give_up` gets each that is to be freed.
    pub fn restock(&mut self, class: K, buffers: &mut Vec<B>, give_up: impl FnMut(B)) {
        self.stock(class, buffers, give_up, Counters::refuse_kept);
    }

    /// Takes the buffers of one class over from another tier that had kept them and goes on
    /// counting them as kept. What the policy refuses now counts as evicted.
    ///
    /// The buffers are taken from `buffers` in order; `give_up` gets each that is to be freed.
    pub fn take_over(&mut self, class: K, buffers: &mut Vec<B>, give_up: impl FnMut(B)) {
        self.stock(class, buffers, give_up, |counters, _| counters.evict());
    }

    /// Moves up to `most` buffers of one class out to another tier, those first that came back
    /// longest ago. The move counts as nothing.
    pub fn withdraw(&mut self, class: K, most: usize, into: &mut Vec<B>) {
        let Some(at) = self.fit.slot_of(&class) else {
            return;
        };
        let slot = &mut self.slots[at];
        let moved = most.min(slot.stack.len());
        for buffer in slot.stack.drain(..moved) {
            self.counters.leave(class.bytes());
            self.granted.subtract(class.bytes());
            self.policy.on_leave(class.bytes());
            into.push(buffer);
        }
        slot.least = slot.least.min(slot.stack.len());
        if moved > 0 && slot.places() == 0 {
            self.counters.end_class();
        }
    }

    /// Buffers of exactly the class `class` that wait here.
    #[must_use]
    pub fn waiting(&self, class: K) -> usize {
        let slot = self.fit.slot_of(&class).map(|at| &self.slots[at]);
        slot.map_or(0, |slot| slot.stack.len())
    }

    /// Takes buffers of one class over, and counts those that are not kept by `on_refuse`.
    fn stock(
        &mut self,
        class: K,
        buffers: &mut Vec<B>,
        mut give_up: impl FnMut(B),
        on_refuse: fn(&Counters, Refusal),
    ) {
        if buffers.is_empty() {
            return;
        }
        self.turn_to_class(class);
        let mut rest = buffers.drain(..);
        loop {
            let (kept, answer) = self.rule_on(rest.len());
            let stack = &mut self.slots[self.recent].stack;
            stack.extend(rest.by_ref().take(kept));
            self.slots[self.recent].debug_check();
            let (Some(verdict), Some(buffer)) = (answer, rest.next()) else {
                return;
            };
            if self.reconsider(verdict, &mut give_up, on_refuse) {
                let held = self.counters.held();
                self.granted.add(class.bytes());
                self.slots[self.recent].push(|| buffer, held, &self.counters);
            } else {
                give_up(buffer);
            }
        }
    }

    /// Asks the policy about up to so many more buffers of the class in use, one after the other,
    /// and accounts for those that it keeps, which the caller pushes. Stops at any answer but
    /// `Keep`, and says which.
    fn rule_on(&mut self, buffers: usize) -> (usize, Option<Verdict>) {
        let slot = &self.slots[self.recent];
        let (before, mut offer) = (self.counters.held(), slot.offer());
        let mut granted = self.granted.beside(before);
        let begins = usize::from(offer.class_buffers == 0);
        let mut answer = None;
        let mut kept = 0;
        while kept < buffers {
            let verdict = self.policy.rule(offer, granted);
            if verdict != Verdict::Keep {
                answer = Some(verdict);
                break;
            }
            granted.classes = before.classes + begins;
            kept += 1;
            granted.buffers += 1;
            granted.bytes += offer.bytes;
            offer.class_buffers += 1;
            offer.class_bytes = offer.class_bytes.saturating_add(offer.bytes);
        }
        // Only now, so that a policy that panics leaves the accounts as they were.
        self.granted.add_many(kept, offer.bytes);
        self.counters.hold(Held {
            buffers: before.buffers + kept,
            bytes: before.bytes + kept * offer.bytes,
            classes: granted.classes,
        });
        (kept, answer)
    }

    /// Moves every retained buffer out, class by class, like [`drain`](Self::drain), and keeps the
    /// emptied classes listed: a front tier that is filled and emptied in turn allocates nothing
    /// for it.
    ///
    /// What `each` leaves in a class is freed.
    pub fn pour(&mut self, mut each: impl FnMut(K, &mut Vec<B>)) {
        for slot in &mut self.slots {
            slot.least = 0;
            if slot.stack.is_empty() {
                continue;
            }
            let (buffers, bytes) = (slot.stack.len(), slot.class.bytes());
            for _ in 0..buffers {
                self.granted.subtract(bytes);
                self.policy.on_leave(bytes);
            }
            each(slot.class, &mut slot.stack);
            slot.stack.clear();
            // Only now: who panics in between leaves to be counted what was not handed over.
            self.counters.leave_many(buffers, bytes);
            if slot.places() == 0 {
                self.counters.end_class();
            }
        }
    }
}
