//! The built-in policies keep the laws, and each law catches the policies that break it.

use std::cell::Cell;
use std::panic;

use super::*;
use crate::{Adaptive, Both, Bounded, Budget, Capped, Decaying, Unbounded, Unpooled, WhenFull};

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

fn is_small(held: Held) -> bool {
    held.buffers <= 6 && held.bytes <= 1 << 22 && held.classes <= 3
}

#[test]
#[cfg_attr(miri, ignore = "thousands of histories over buffers without memory")]
fn the_built_in_policies_keep_the_laws() {
    check(|| SMALL);
    check(|| EVICTING);
    check(|| Bounded::lru(1 << 21));
    check(|| Unpooled);
    check(|| Unbounded);
    check(|| Decaying {
        quiet_rounds: 2,
        share: 2,
        inner: EVICTING,
    });
    check(|| Adaptive::within(1 << 21));
    check(|| Adaptive {
        window: 1,
        inner: SMALL,
    });
    check(|| Budget::new(1 << 21).share());
    check(|| Budget::new(1 << 21).share().when_full(WhenFull::Evict));
    check(|| Both(SMALL, Budget::new(1 << 21).share()));
    check(|| -> Capped<Decaying<Unbounded>> {
        let decaying = Decaying {
            quiet_rounds: 1,
            share: 1,
            inner: Unbounded,
        };
        Both(EVICTING, decaying)
    });
    check(|| -> Box<dyn Retention> { Box::new(EVICTING) });
}

#[test]
#[cfg_attr(miri, ignore = "thousands of histories over buffers without memory")]
fn the_built_in_policies_keep_the_bounds_that_they_name() {
    check_bound(|| SMALL, is_small);
    check_bound(|| EVICTING, is_small);
    check_bound(|| Bounded::lru(1 << 21), |held| held.bytes <= 1 << 21);
    check_bound(|| Adaptive::within(1 << 21), |held| held.bytes <= 1 << 21);
    check_bound(|| Unpooled, |held| held == Held::default());
    check_bound(
        || Budget::new(1 << 21).share().when_full(WhenFull::Evict),
        |held| held.bytes <= 1 << 21,
    );
    check_bound(
        || Both(EVICTING, Budget::new(1 << 21).share()),
        |held| is_small(held) && held.bytes <= 1 << 21,
    );
}

/// Reserves what it keeps, and trusts its pool to give back exactly that.
#[derive(Default)]
struct Strict {
    reserved: u128,
}

impl Retention for Strict {
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        // One at a time, so that nothing else it reserved covers for a wrong number.
        let keeps = held.buffers == 0;
        if keeps {
            self.reserved += offer.bytes as u128;
        }
        keep_if(keeps)
    }

    fn on_leave(&mut self, bytes: usize) {
        self.reserved = self
            .reserved
            .checked_sub(bytes as u128)
            .expect("never more leaves than was kept");
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of histories over buffers without memory")]
fn a_policy_that_trusts_the_accounts_is_never_told_of_more_than_it_kept() {
    check(Strict::default);
}

thread_local! {
    static DICE: Cell<usize> = const { Cell::new(0) };
}

/// Every third throw is bad, whoever throws.
fn throw() -> bool {
    let count = DICE.try_with(|dice| dice.replace(dice.get() + 1));
    !count
        .expect("a test's thread is not ending")
        .is_multiple_of(3)
}

fn keep_if(yes: bool) -> Verdict {
    if yes {
        Verdict::Keep
    } else {
        Verdict::Refuse(Refusal::Other)
    }
}

/// Policies that break one law each.
#[derive(Debug, Clone, Copy)]
enum Broken {
    RulesByDice,
    ThrowsDiceOnHits,
    ThrowsDiceOnMisses,
    TrimsByDice,
    KeepsWhatItTurnsAway,
    EvictsForWhatItRefuses,
    EvictsForWhatCanNotFit,
    NeverStopsEvicting,
    CountsQuestions,
    ForgetsWhatLeft,
    AddsSizes,
    TreblesWhatIsIdle,
    DividesByBuffers,
    SaysThatThePoolIsOff,
    SaysThatThePoolIsClosed,
    OneTooMany,
    ForgetsWhatComes,
}

/// A broken policy, and what it remembers.
struct Breaking(Broken, usize);

impl Retention for Breaking {
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        match self.0 {
            Broken::RulesByDice => keep_if(throw()),
            Broken::ThrowsDiceOnHits | Broken::ThrowsDiceOnMisses => keep_if(self.1 == 0),
            Broken::EvictsForWhatItRefuses if held.buffers > 2 => Verdict::MakeRoom,
            Broken::EvictsForWhatItRefuses => keep_if(offer.bytes < 4096),
            Broken::EvictsForWhatCanNotFit => {
                if offer.bytes.saturating_add(held.bytes) <= 4096 {
                    Verdict::Keep
                } else {
                    Verdict::MakeRoom
                }
            }
            Broken::NeverStopsEvicting if held.buffers > 2 || self.1 > 0 => {
                self.1 = held.buffers;
                Verdict::MakeRoom
            }
            Broken::CountsQuestions | Broken::ForgetsWhatLeft => {
                self.1 += 1;
                keep_if(self.1 < 8)
            }
            Broken::AddsSizes => keep_if(held.bytes + offer.bytes < 1 << 30),
            Broken::SaysThatThePoolIsOff if held.buffers > 2 => {
                Verdict::Refuse(Refusal::SwitchedOff)
            }
            Broken::SaysThatThePoolIsClosed if held.buffers > 2 => Verdict::Refuse(Refusal::Closed),
            Broken::OneTooMany => keep_if(held.buffers <= 6),
            Broken::ForgetsWhatComes => keep_if(held.bytes <= 1 << 21),
            Broken::TrimsByDice
            | Broken::KeepsWhatItTurnsAway
            | Broken::NeverStopsEvicting
            | Broken::TreblesWhatIsIdle
            | Broken::DividesByBuffers
            | Broken::SaysThatThePoolIsOff
            | Broken::SaysThatThePoolIsClosed => Verdict::Keep,
        }
    }

    fn admit(&self, bytes: usize) -> bool {
        !matches!(self.0, Broken::KeepsWhatItTurnsAway) || bytes < 4096
    }

    fn on_hit(&mut self, _bytes: usize) {
        if let Broken::ThrowsDiceOnHits = self.0 {
            self.1 = usize::from(throw());
        }
    }

    fn on_miss(&mut self, _bytes: usize) {
        if let Broken::ThrowsDiceOnMisses = self.0 {
            self.1 = usize::from(throw());
        }
    }

    fn on_leave(&mut self, _bytes: usize) {
        if let Broken::CountsQuestions = self.0 {
            // It believes that this makes it whole.
            self.1 = self.1.saturating_sub(2);
        }
    }

    fn trim(&mut self, class: Use) -> Option<usize> {
        match self.0 {
            Broken::TrimsByDice => Some(usize::from(throw())),
            // It knows the largest number, and no other large one.
            Broken::TreblesWhatIsIdle if class.idle == usize::MAX => None,
            Broken::TreblesWhatIsIdle => Some(class.idle * 3),
            Broken::DividesByBuffers => Some(class.bytes / class.buffers),
            _ => None,
        }
    }
}

/// What a check says about a broken policy.
fn complaint(check: impl FnOnce() + panic::UnwindSafe) -> String {
    let caught = panic::catch_unwind(check).expect_err("a broken policy got through");
    let text = caught
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| caught.downcast_ref::<&str>().map(|&text| text.to_owned()));
    text.unwrap_or_default()
}

#[test]
#[cfg_attr(miri, ignore = "thousands of histories over buffers without memory")]
fn a_policy_that_breaks_a_law_is_caught_by_that_law() {
    for (broken, law) in [
        (Broken::RulesByDice, "law 1"),
        (Broken::ThrowsDiceOnHits, "law 1"),
        (Broken::ThrowsDiceOnMisses, "law 1"),
        (Broken::TrimsByDice, "law 1"),
        (Broken::KeepsWhatItTurnsAway, "law 2"),
        (Broken::EvictsForWhatItRefuses, "law 3"),
        (Broken::EvictsForWhatCanNotFit, "law 3"),
        (Broken::NeverStopsEvicting, "law 3"),
        (Broken::CountsQuestions, "law 4"),
        (Broken::ForgetsWhatLeft, "law 4"),
        (Broken::AddsSizes, "overflow"),
        (Broken::TreblesWhatIsIdle, "overflow"),
        (Broken::DividesByBuffers, "divide by zero"),
        (Broken::SaysThatThePoolIsOff, "law 6"),
        (Broken::SaysThatThePoolIsClosed, "law 6"),
    ] {
        let text = complaint(|| check(|| Breaking(broken, 0)));
        assert!(text.contains(law), "{broken:?}: {text}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of histories over buffers without memory")]
fn a_policy_that_breaks_the_bound_it_claims_is_caught() {
    for broken in [Broken::OneTooMany, Broken::ForgetsWhatComes] {
        check(|| Breaking(broken, 0));
        let text = complaint(|| check_bound(|| Breaking(broken, 0), is_small));
        assert!(text.contains("law 7"), "{broken:?}: {text}");
    }
}
