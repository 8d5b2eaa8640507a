//! One class of a shelf: its stack, its accounts, and what its policy watches.
//!
//! - What is held changes with the stack: [`Slot::push`] and [`Slot::pop`] adjust the shelf's
//!   [`Held`] and the class's own sum in the same step.

use std::iter;

use crate::policy::Held;

/// Buffers of one class, and when it was last used.
pub(super) struct Slot<K, B> {
    pub(super) key: K,
    /// Each buffer with its capacity in bytes.
    pub(super) stack: Vec<(B, usize)>,
    pub(super) bytes: usize,
    /// The shelf's clock at the last request or return.
    pub(super) used: u64,
    /// Fewest buffers on the stack since the policy's watch of this class began.
    pub(super) least: usize,
    /// Rounds since then.
    pub(super) rounds: u32,
}

impl<K, B> Slot<K, B> {
    /// Puts a buffer on the stack.
    #[inline]
    pub(super) fn push(&mut self, buffer: impl FnOnce() -> B, bytes: usize, held: &mut Held) {
        held.classes += usize::from(self.stack.is_empty());
        held.buffers += 1;
        held.bytes += bytes;
        self.bytes += bytes;
        // The buffer is made once there is room for it: it never has to be dropped on the way, so
        // it needs no place in memory until it has this one.
        self.stack.extend(iter::once_with(|| (buffer(), bytes)));
    }

    /// Takes the buffer that came back last, with its capacity in bytes.
    #[inline]
    pub(super) fn pop(&mut self, held: &mut Held) -> Option<(B, usize)> {
        let (buffer, bytes) = self.stack.pop()?;
        let left = self.stack.len();
        self.least = self.least.min(left);
        self.bytes -= bytes;
        held.classes -= usize::from(left == 0);
        held.buffers -= 1;
        held.bytes -= bytes;
        Some((buffer, bytes))
    }
}
