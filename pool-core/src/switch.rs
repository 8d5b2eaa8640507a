//! A pool's on/off state, seen by every thread at once.
//!
//! State and epoch share one word, so that one load answers both "is the pool on?" and "was it
//! cleared since I last looked?". Every change of the state and every clear begins a new epoch; a
//! shelf or guard that remembers another epoch knows that what it holds is from before.

use crate::sync::atomic::{AtomicUsize, Ordering};

/// One epoch in the word whose lowest bit is the on/off state. Wraps after 2^63 changes.
const EPOCH: usize = 2;

/// The switch of one pool.
#[derive(Debug)]
pub struct Switch(AtomicUsize);

/// What a [`Switch`] said at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State(usize);

impl State {
    /// Whether the pool recycles.
    #[must_use]
    pub const fn is_on(self) -> bool {
        self.0 & 1 == 1
    }
}

impl Default for Switch {
    /// A switch that is on.
    fn default() -> Self {
        Self(AtomicUsize::new(1))
    }
}

impl Switch {
    /// Reads the state: one load, no barrier.
    ///
    /// Relaxed is enough. A thread acts on its own shelf, or on a shared one under its lock, and
    /// needs no memory but this word from whoever turned the switch.
    #[must_use]
    #[inline]
    pub fn state(&self) -> State {
        State(self.0.load(Ordering::Relaxed))
    }

    /// Turns recycling on or off. Does nothing when it is so already.
    pub fn set(&self, on: bool) {
        // Err means that the closure saw nothing to change.
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
                (State(word).is_on() != on).then(|| word.wrapping_add(EPOCH) ^ 1)
            });
    }

    /// Begins a new epoch in the same state, as a clear does.
    pub fn begin_epoch(&self) {
        self.0.fetch_add(EPOCH, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_new_switch_is_on() {
        assert!(Switch::default().state().is_on());
    }

    #[test]
    fn off_and_on_again_is_not_the_state_from_before() {
        let switch = Switch::default();
        let before = switch.state();
        switch.set(false);
        assert!(!switch.state().is_on());
        switch.set(true);
        assert!(switch.state().is_on());
        assert_ne!(switch.state(), before);
    }

    #[test]
    fn setting_what_is_set_changes_nothing() {
        let switch = Switch::default();
        let before = switch.state();
        switch.set(true);
        assert_eq!(switch.state(), before);
    }

    #[test]
    fn a_clear_keeps_the_state_and_begins_an_epoch() {
        let switch = Switch::default();
        switch.set(false);
        let before = switch.state();
        switch.begin_epoch();
        assert!(!switch.state().is_on());
        assert_ne!(switch.state(), before);
    }
}
