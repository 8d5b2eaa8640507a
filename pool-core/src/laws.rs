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
//!
//! # Examples
//!
//! ```
//! use pool_core::{Bounded, laws};
//!
//! laws::check(|| Bounded { pool_bytes: 1 << 20, ..Bounded::UNLIMITED });
//! ```

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::{Buffer, Exact, Found, Held, Offer, Retention, Shelf, Use, Verdict};

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
            Event::Request(bytes) => (matches!(shelf.request(bytes, bytes), Found::Hit(_)), 0),
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
mod tests {
    use super::*;
    use crate::{Both, Bounded, Budget, Decaying, Refusal, Unbounded, Unpooled, WhenFull};

    const SMALL: Bounded = Bounded {
        buffer_bytes: 1 << 20,
        class_buffers: 3,
        class_bytes: 1 << 21,
        pool_buffers: 6,
        pool_bytes: 1 << 22,
        classes: 3,
        when_full: WhenFull::Refuse,
    };
    const EVICTING: Bounded = Bounded {
        when_full: WhenFull::Evict,
        ..SMALL
    };

    #[test]
    #[cfg_attr(miri, ignore = "thousands of histories over buffers without memory")]
    fn the_built_in_policies_keep_the_laws() {
        check(|| SMALL);
        check(|| EVICTING);
        check(|| Unpooled);
        check(|| Unbounded);
        check(|| Decaying {
            quiet_rounds: 2,
            share: 2,
            inner: EVICTING,
        });
        check(|| Budget::new(1 << 21).share());
        check(|| Both(SMALL, Budget::new(1 << 21).share()));
        check(|| -> Box<dyn Retention> { Box::new(EVICTING) });
    }

    /// One broken policy for each law.
    #[derive(Clone, Copy)]
    enum Broken {
        Dice,
        TurnsAwayWhatItKeeps,
        EvictsInVain,
        Remembers,
        Overflows,
    }

    struct Breaking(Broken, usize);

    thread_local! {
        static DICE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    impl Retention for Breaking {
        fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
            let refuse = Verdict::Refuse(Refusal::Other);
            let keep_if = |yes: bool| if yes { Verdict::Keep } else { refuse };
            match self.0 {
                Broken::Dice => {
                    let throw = DICE.try_with(|dice| dice.replace(dice.get() + 1));
                    keep_if(
                        !throw
                            .expect("a test's thread is not ending")
                            .is_multiple_of(3),
                    )
                }
                Broken::TurnsAwayWhatItKeeps => Verdict::Keep,
                Broken::EvictsInVain if held.buffers > 2 => Verdict::MakeRoom,
                Broken::EvictsInVain => keep_if(offer.bytes < 4096),
                Broken::Remembers => {
                    self.1 += 1;
                    keep_if(self.1 < 8)
                }
                Broken::Overflows => keep_if(held.bytes + offer.bytes < 1 << 30),
            }
        }

        fn admit(&self, bytes: usize) -> bool {
            !matches!(self.0, Broken::TurnsAwayWhatItKeeps) || bytes < 4096
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "thousands of histories over buffers without memory")]
    fn a_policy_that_breaks_a_law_is_caught_by_that_law() {
        for (broken, law) in [
            (Broken::Dice, "law 1"),
            (Broken::TurnsAwayWhatItKeeps, "law 2"),
            (Broken::EvictsInVain, "law 3"),
            (Broken::Remembers, "law 4"),
            (Broken::Overflows, "overflow"),
        ] {
            let caught = std::panic::catch_unwind(|| check(|| Breaking(broken, 0))).unwrap_err();
            let text = caught
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| caught.downcast_ref::<&str>().map(|&text| text.to_owned()));
            let text = text.unwrap_or_default();
            assert!(text.contains(law), "{text}");
        }
    }
}
