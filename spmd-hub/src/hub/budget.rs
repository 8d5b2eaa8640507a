//! A bound in bytes that those who would exceed it wait for.
//!
//! Bytes are claimed before a frame enters an outbox and released when it has
//! been written or dropped. What must stay true: the bytes in use never exceed
//! the limit, but for one frame that alone is larger than the limit and finds
//! nothing else in use; whoever waits is let go when the budget closes.

use std::time::Duration;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The bytes an outbox may hold.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    closed: bool,
}

/// The budget was closed: its frames go nowhere.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed;

impl Budget {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
        }
    }

    /// Claims `bytes`, waiting until they fit; `Ok(false)` means that the patience ended first.
    pub(crate) fn claim(&self, bytes: usize, patience: Option<Duration>) -> Result<bool, Closed> {
        let mut state = self.lock();
        let mut patient = true;
        loop {
            if state.closed {
                return Err(Closed);
            }
            if state.used == 0 || bytes <= self.limit.saturating_sub(state.used) {
                state.used += bytes;
                return Ok(true);
            }
            if !patient {
                return Ok(false);
            }
            state = match patience {
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(patience) => {
                    patient = false;
                    let waited = self.changed.wait_timeout(state, patience);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Gives back what [`claim`](Self::claim) took.
    pub(crate) fn release(&self, bytes: usize) {
        self.lock().used -= bytes;
        self.changed.notify_all();
    }

    /// Refuses every later claim and those that wait.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;

    use super::*;

    #[test]
    fn two_pumps_never_exceed_the_budget_and_both_get_through() {
        loom::model(|| {
            let budget = Arc::new(Budget::new(3));
            let other = Arc::clone(&budget);
            let pump = loom::thread::spawn(move || {
                other.claim(2, None).unwrap();
                assert!(
                    other.lock().used <= 3,
                    "the outbox holds more than its bound"
                );
                other.release(2);
            });
            budget.claim(2, None).unwrap();
            assert!(
                budget.lock().used <= 3,
                "the outbox holds more than its bound"
            );
            budget.release(2);
            pump.join().unwrap();
            assert_eq!(budget.lock().used, 0);
        });
    }

    #[test]
    fn a_pump_that_waits_for_a_peer_that_leaves_is_let_go() {
        loom::model(|| {
            let budget = Arc::new(Budget::new(1));
            budget.claim(1, None).unwrap();
            let other = Arc::clone(&budget);
            let pump = loom::thread::spawn(move || other.claim(1, None));
            budget.close();
            assert_eq!(pump.join().unwrap(), Err(Closed));
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_frame_larger_than_the_budget_passes_alone() {
        let budget = Budget::new(10);
        assert_eq!(budget.claim(11, None), Ok(true));
        assert_eq!(budget.claim(1, Some(Duration::ZERO)), Ok(false));
        budget.release(11);
        budget.close();
        assert_eq!(budget.claim(1, None), Err(Closed));
    }
}
