//! The laws that every policy must keep, as a test that runs on any policy.
//!
//! [`check`] drives a shelf under the policy through random histories of requests, returns, rounds
//! and clears. The buffers are tokens without memory, so sizes up to a tebibyte cost nothing. A
//! history that breaks a law is shrunk to a small one before it is reported.
//!
//! The laws:
//!
//! 1. *The same history gets the same answers.* A policy owns no clock and no dice.
//! 2. *Who may not ride is not kept.* A size that [`admit`](Retention::admit) turns away is refused
//!    when a buffer of that size comes back.
//! 3. *Room that was made is used.* What asked for evictions is kept in the end.
//! 4. *An answer taken back leaves no trace.* `Keep` and then
//!    [`on_leave`](Retention::on_leave) is as if nobody had asked.
//! 5. *No number is too large.* The extremes of `usize` get an answer instead of a panic.
//! 6. *A policy refuses for a reason of its own.* That a pool is switched off or closed, its policy
//!    can not know.
//! 7. *A bound that is claimed holds after every event*: [`check_bound`], for a policy that claims
//!    one.
//!
//! # Examples
//!
//! The whole test of a policy of one's own:
//!
//! ```
//! use pool_core::{Bounded, laws};
//!
//! let make = || Bounded { pool_bytes: 1 << 20, ..Bounded::UNLIMITED };
//! laws::check(make);
//! laws::check_bound(make, |held| held.bytes <= 1 << 20);
//! ```

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::{Buffer, Exact, Found, Held, Offer, Refusal, Retention, Shelf, Use, Verdict};

/// One event in a pool's life.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// Somebody asks for this many bytes.
    Request(usize),
    /// A buffer of this many bytes comes back.
    Return(usize),
    /// A round ends.
    Round,
    /// Everything is given up.
    Clear,
}

/// A buffer without memory.
#[derive(Debug)]
struct Token(usize);

impl Buffer for Token {
    fn bytes(&self) -> usize {
        self.0
    }
}

/// What a policy answered to an event, as far as it shows outside: whether a buffer was found or
/// kept, how many were given up, and what is held.
type Answer = (bool, usize, Held);

/// Runs the policies that `make` makes through random histories.
///
/// # Panics
///
/// When a law is broken: with the law, and a small history that breaks it.
pub fn check<P: Retention>(make: impl Fn() -> P) {
    extremes(&mut make());
    // One law after the other, so that a history is shrunk towards the law it broke.
    hold(|history| {
        let (plain, again) = (run(&make, history, false)?, run(&make, history, false)?);
        prop_assert!(plain == again, "law 1: the same history got other answers");
        Ok(())
    });
    hold(|history| {
        let (plain, doubted) = (run(&make, history, false)?, run(&make, history, true)?);
        prop_assert!(plain == doubted, "law 4: an answer taken back left a trace");
        Ok(())
    });
}

/// Runs the policies that `make` makes through random histories, and holds what the pool retains
/// against a bound that is `claimed` for them.
///
/// # Panics
///
/// When the pool holds more after some event: with what it holds, and a small history that leads
/// there.
///
/// # Examples
///
/// A policy that looks at what is held and forgets what comes is caught:
///
/// ```should_panic
/// use pool_core::{Held, Offer, Refusal, Retention, Verdict, laws};
///
/// struct OneTooMany;
///
/// impl Retention for OneTooMany {
///     fn rule(&mut self, _offer: Offer, held: Held) -> Verdict {
///         if held.buffers <= 8 { Verdict::Keep } else { Verdict::Refuse(Refusal::PoolFull) }
///     }
/// }
///
/// laws::check_bound(|| OneTooMany, |held| held.buffers <= 8);
/// ```
pub fn check_bound<P: Retention>(make: impl Fn() -> P, claimed: impl Fn(Held) -> bool) {
    hold(|history| {
        for (.., held) in run(&make, history, false)? {
            prop_assert!(claimed(held), "law 7: over the claimed bound: {held:?}");
        }
        Ok(())
    });
}

/// Tries a law on random histories, the same ones on every run.
fn hold(law: impl Fn(&[Event]) -> Result<(), TestCaseError>) {
    let config = Config {
        cases: 256,
        failure_persistence: None,
        ..Config::default()
    };
    let generator = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let outcome = TestRunner::new_with_rng(config, generator)
        .run(&vec(event(), 0..64), |history| law(&history));
    if let Err(broken) = outcome {
        panic!("{broken}");
    }
}

/// A few sizes, so that classes fill, and now and then any size up to a tebibyte.
fn event() -> impl Strategy<Value = Event> {
    let size = prop_oneof![
        6 => prop::sample::select(vec![1_usize, 64, 4096, 1 << 20]),
        1 => 1_usize..1 << 40,
    ];
    prop_oneof![
        4 => size.clone().prop_map(Event::Request),
        8 => size.prop_map(Event::Return),
        2 => Just(Event::Round),
        1 => Just(Event::Clear),
    ]
}

/// Drives one shelf through `history`. With `doubt`, every return is asked about once more before,
/// and the answer taken back.
fn run<P: Retention>(
    make: impl Fn() -> P,
    history: &[Event],
    doubt: bool,
) -> Result<Vec<Answer>, TestCaseError> {
    let policy = Doubting {
        policy: make(),
        doubt,
    };
    let mut shelf = Shelf::<usize, Token, _, _>::new(policy, Exact::default());
    let mut answers = Vec::new();
    for &event in history {
        let (found, given_up) = match event {
            Event::Request(bytes) => (matches!(shelf.request(bytes), Found::Hit(_)), 0),
            Event::Return(bytes) => {
                let admitted = shelf.policy().admit(bytes);
                let before = shelf.counters().snapshot().kept;
                let given_up = shelf.offer(bytes, Token(bytes)).len();
                let kept = shelf.counters().snapshot().kept > before;
                prop_assert!(
                    admitted || !kept,
                    "law 2: {bytes} bytes may not ride but were kept"
                );
                prop_assert!(
                    kept || given_up == 1,
                    "law 3: {} buffers made room for {bytes} bytes that were then refused",
                    given_up - 1
                );
                let stats = shelf.counters().snapshot();
                for pools_own in [Refusal::SwitchedOff, Refusal::Closed] {
                    prop_assert!(
                        stats.refused_for(pools_own) == 0,
                        "law 6: the policy refused because the pool is {}",
                        pools_own.label()
                    );
                }
                (kept, given_up)
            }
            Event::Round => (false, shelf.end_round().len()),
            Event::Clear => (false, shelf.clear().len()),
        };
        answers.push((found, given_up, shelf.held()));
    }
    Ok(answers)
}

/// Asks the policy with the largest numbers there are.
fn extremes(policy: &mut impl Retention) {
    let sizes = [0, 1, usize::MAX / 2, usize::MAX];
    for bytes in sizes {
        policy.admit(bytes);
        policy.on_hit(bytes);
        policy.on_miss(bytes);
        for most in sizes {
            let offer = Offer {
                bytes,
                class_buffers: most,
                class_bytes: most,
            };
            let held = Held {
                buffers: most,
                bytes: most,
                classes: most,
            };
            if policy.rule(offer, held) == Verdict::Keep {
                policy.on_leave(bytes);
            }
            policy.trim(Use {
                buffers: most,
                bytes: most,
                idle: bytes.min(most),
                rounds: u32::MAX,
                needed: [bytes; Use::ROUNDS],
            });
        }
    }
}

/// A policy that may be asked twice, the first answer being taken back.
struct Doubting<P> {
    policy: P,
    doubt: bool,
}

impl<P: Retention> Retention for Doubting<P> {
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        if self.doubt && self.policy.rule(offer, held) == Verdict::Keep {
            self.policy.on_leave(offer.bytes);
        }
        self.policy.rule(offer, held)
    }

    fn admit(&self, bytes: usize) -> bool {
        self.policy.admit(bytes)
    }

    fn on_hit(&mut self, bytes: usize) {
        self.policy.on_hit(bytes);
    }

    fn on_miss(&mut self, bytes: usize) {
        self.policy.on_miss(bytes);
    }

    fn on_leave(&mut self, bytes: usize) {
        self.policy.on_leave(bytes);
    }

    fn trim(&mut self, class: Use) -> Option<usize> {
        self.policy.trim(class)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
