//! One class of a shelf: its stack, and what its policy watches.
//!
//! - What is held changes with the stack: [`Slot::push`] and [`Slot::pop`] account for the buffer
//!   in the same step.

use std::iter;

use super::Buffer;
use crate::class::Class;
use crate::policy::{Held, Offer, Use};
use crate::stats::Counters;

/// Buffers of one class, and when it was last used.
pub(super) struct Slot<K, B> {
    pub(super) class: K,
    pub(super) stack: Vec<B>,
    /// Places that a front tier has, with a buffer or without.
    pub(super) lent: usize,
    /// The shelf's clock when this class became the one in use.
    pub(super) used: u64,
    /// Fewest buffers on the stack since the last round ended.
    pub(super) least: usize,
    /// Fewest buffers on the stack in the rounds of the policy's watch of this class.
    idle: usize,
    /// Rounds since the watch began.
    rounds: u32,
    /// What the last rounds needed, the latest first.
    needed: [usize; Use::ROUNDS],
}

impl<K: Class, B: Buffer> Slot<K, B> {
    /// A class that holds nothing yet.
    pub(super) fn new(class: K) -> Self {
        Self {
            class,
            stack: Vec::new(),
            lent: 0,
            used: 0,
            least: 0,
            idle: 0,
            rounds: 0,
            needed: [0; Use::ROUNDS],
        }
    }

    /// Whether it holds a buffer.
    #[inline]
    pub(super) fn is_stocked(&self) -> bool {
        !self.stack.is_empty()
    }

    /// Places that the policy granted: of the buffers here, and those of a front tier.
    #[inline]
    pub(super) fn places(&self) -> usize {
        self.stack.len() + self.lent
    }

    /// One more buffer of this class, as a policy sees it.
    #[inline]
    pub(super) fn offer(&self) -> Offer {
        let (places, bytes) = (self.places(), self.class.bytes());
        Offer {
            bytes,
            class_buffers: places,
            class_bytes: places.saturating_mul(bytes),
        }
    }

    /// Puts a buffer on the stack, and accounts for it beside what is `held`.
    #[inline]
    pub(super) fn push(&mut self, buffer: impl FnOnce() -> B, held: Held, counters: &Counters) {
        counters.enter(held, self.class.bytes());
        if self.places() == 0 {
            counters.begin_class(held);
        }
        // The buffer is made once there is room for it: it never has to be dropped on the way, so
        // it needs no place in memory until it has this one.
        self.stack.extend(iter::once_with(buffer));
        self.debug_check();
    }

    /// Compares the capacity of the buffer that came last with the class, in debug builds.
    #[inline]
    pub(super) fn debug_check(&self) {
        debug_assert!(
            self.stack
                .last()
                .is_none_or(|last| last.bytes() == self.class.bytes()),
            "a class has one capacity"
        );
    }

    /// Takes the buffer that came back last, and accounts for it.
    #[inline]
    pub(super) fn pop(&mut self, counters: &Counters) -> Option<B> {
        let buffer = self.stack.pop()?;
        self.least = self.least.min(self.stack.len());
        counters.leave(self.class.bytes());
        if self.places() == 0 {
            counters.end_class();
        }
        Some(buffer)
    }

    /// Ends a round, and says how the class was used.
    pub(super) fn end_round(&mut self) -> Use {
        let buffers = self.stack.len();
        self.idle = self.idle.min(self.least);
        self.rounds = self.rounds.saturating_add(1);
        self.needed.rotate_right(1);
        self.needed[0] = buffers - self.least;
        self.least = buffers;
        Use {
            buffers,
            bytes: buffers.saturating_mul(self.class.bytes()),
            idle: self.idle,
            rounds: self.rounds,
            needed: self.needed,
        }
    }

    /// Begins a new watch, now that the policy gave some buffers up.
    pub(super) fn begin_watch(&mut self) {
        self.least = self.stack.len();
        (self.idle, self.rounds) = (self.least, 0);
    }
}
