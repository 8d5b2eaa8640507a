//! Shelves against a naive model that keeps every buffer in one `Vec` and counts by walking it.
//!
//! The model asks a policy of the same kind, with numbers it counted itself, so a shelf that told
//! its policy anything else would soon hold something else.
#![cfg(not(loom))]

use std::collections::{HashMap, HashSet};
use std::fmt;

use pool_core::{
    BestFit, Bounded, Buffer, Exact, Fit, Found, Held, Offer, Refusal, Retention, Shelf, Stats,
    Unpooled, Use, Verdict, WhenFull,
};
use proptest::prelude::*;
use proptest::sample::Index;

/// A buffer without memory that knows who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Token {
    id: usize,
    bytes: usize,
}

impl Buffer for Token {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// One step of a random program.
#[derive(Debug, Clone)]
enum Step {
    Request(usize),
    /// A live buffer comes back; it may have grown, and then belongs to another class.
    Return(Index, usize),
    Adopt(usize),
    Detach(Index),
    Round,
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Few classes, so that they fill; or so many that empty ones are unlisted.
    let class = || prop_oneof![9 => 1..9_usize, 1 => 1..200_usize];
    let step = prop_oneof![
        8 => class().prop_map(Step::Request),
        8 => (any::<Index>(), 0..4_usize).prop_map(|(at, more)| Step::Return(at, more)),
        1 => class().prop_map(Step::Adopt),
        1 => any::<Index>().prop_map(Step::Detach),
        1 => Just(Step::Round),
        1 => Just(Step::Clear),
    ];
    prop::collection::vec(step, 0..if cfg!(miri) { 60 } else { 300 })
}

fn bounded(when_full: WhenFull) -> impl Strategy<Value = Bounded> {
    let bound = |most: usize| prop_oneof![0..most, Just(usize::MAX)];
    let (buffer, class, pool) = (bound(12), (bound(5), bound(20)), (bound(9), bound(50)));
    (buffer, class, pool, bound(6)).prop_map(move |(buffer_bytes, class, pool, classes)| Bounded {
        buffer_bytes,
        class_buffers: class.0,
        class_bytes: class.1,
        pool_buffers: pool.0,
        pool_bytes: pool.1,
        classes,
        when_full,
    })
}

/// A user's policy whose answers depend on every number and every event it was ever told.
#[derive(Debug, Clone)]
struct Whimsical {
    mood: u64,
    /// Bytes that left; a sum, because a clear tells of them in no particular order.
    left: usize,
}

impl Whimsical {
    /// Mixes some numbers with the mood.
    fn mix(&self, numbers: &[usize]) -> u64 {
        numbers.iter().fold(self.mood, |mood, &number| {
            (mood ^ number as u64)
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .rotate_left(29)
        })
    }
}

impl Retention for Whimsical {
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        let mixed = self.mix(&[
            offer.bytes,
            offer.class_buffers,
            offer.class_bytes,
            held.buffers,
            held.bytes,
            held.classes,
            self.left,
        ]);
        self.mood = mixed;
        match mixed % 10 {
            0..6 => Verdict::Keep,
            6..9 => Verdict::MakeRoom,
            _ => Verdict::Refuse(Refusal::Other),
        }
    }

    fn admit(&self, bytes: usize) -> bool {
        !self.mix(&[bytes]).is_multiple_of(16)
    }

    fn on_hit(&mut self, bytes: usize) {
        self.mood = self.mix(&[bytes, 1]);
    }

    fn on_miss(&mut self, bytes: usize) {
        self.mood = self.mix(&[bytes, 2]);
    }

    fn on_leave(&mut self, bytes: usize) {
        self.left += bytes;
    }

    fn trim(&mut self, class: Use) -> Option<usize> {
        Some(class.idle)
    }
}

/// Which class serves a request: the model's own idea of a fit.
type Serves = fn(class: usize, wanted: usize) -> bool;

/// Every retained buffer with its class, in the order of return.
struct Model<P> {
    policy: P,
    /// Whether the policy gives up at the end of a round what was idle.
    trims: bool,
    serves: Serves,
    kept: Vec<(usize, Token)>,
    /// Classes in the order of use, the most recent last.
    used: Vec<usize>,
    /// Fewest buffers of a class since the last round.
    least: HashMap<usize, usize>,
    expected: Stats,
}

impl<P: Retention> Model<P> {
    fn of_class(&self, class: usize) -> impl Iterator<Item = Token> {
        self.kept
            .iter()
            .filter(move |kept| kept.0 == class)
            .map(|kept| kept.1)
    }

    fn held(&self) -> Held {
        let mut held = Held::default();
        held.buffers = self.kept.len();
        held.bytes = self.kept.iter().map(|kept| kept.1.bytes).sum();
        held.classes = self
            .kept
            .iter()
            .map(|kept| kept.0)
            .collect::<HashSet<_>>()
            .len();
        held
    }

    fn touch(&mut self, class: usize) {
        self.used.retain(|&other| other != class);
        self.used.push(class);
    }

    /// Takes the last buffer of a class away.
    fn pop(&mut self, class: usize) -> Token {
        let at = self
            .kept
            .iter()
            .rposition(|kept| kept.0 == class)
            .expect("it is held");
        let (_, token) = self.kept.remove(at);
        let left = self.of_class(class).count();
        let least = self.least.entry(class).or_default();
        *least = left.min(*least);
        self.policy.on_leave(token.bytes);
        token
    }

    fn request(&mut self, wanted: usize) -> Found<Token> {
        if !self.policy.admit(wanted) {
            self.expected.bypassed += 1;
            return Found::Bypass;
        }
        let classes = self.kept.iter().map(|kept| kept.0);
        let Some(best) = classes.filter(|&class| (self.serves)(class, wanted)).min() else {
            self.expected.misses += 1;
            self.policy.on_miss(wanted);
            return Found::Miss;
        };
        let token = self.pop(best);
        self.touch(best);
        self.expected.hits += 1;
        self.policy.on_hit(wanted);
        Found::Hit(token)
    }

    /// Rules on a buffer that is offered; returns how many are given up.
    fn settle(&mut self, class: usize, token: Token) -> usize {
        let mut given_up = 0;
        self.touch(class);
        loop {
            let mut offer = Offer::of(token.bytes);
            offer.class_buffers = self.of_class(class).count();
            offer.class_bytes = self.of_class(class).map(|token| token.bytes).sum();
            let held = self.held();
            let reason = match self.policy.rule(offer, held) {
                Verdict::Keep => {
                    self.kept.push((class, token));
                    self.expected.kept += 1;
                    return given_up;
                }
                Verdict::Refuse(reason) => reason,
                Verdict::MakeRoom if self.kept.is_empty() => Refusal::PoolFull,
                Verdict::MakeRoom => {
                    let stocked = |class: &usize| self.of_class(*class).count() > 0;
                    let oldest = self.used.iter().copied().find(stocked).expect("some are");
                    self.pop(oldest);
                    self.expected.evicted += 1;
                    given_up += 1;
                    continue;
                }
            };
            let place = Refusal::ALL.iter().position(|&other| other == reason);
            self.expected.refused[place.expect("it is listed")] += 1;
            return given_up + 1;
        }
    }

    fn end_round(&mut self) -> usize {
        let classes: HashSet<_> = self.kept.iter().map(|kept| kept.0).collect();
        let before = self.kept.len();
        for class in classes {
            let idle = self.least.get(&class).copied().unwrap_or_default();
            if self.trims {
                for _ in 0..idle {
                    let at = self.kept.iter().position(|kept| kept.0 == class);
                    let (_, oldest) = self.kept.remove(at.expect("idle ones are held"));
                    self.policy.on_leave(oldest.bytes);
                }
                self.least.insert(class, self.of_class(class).count());
            }
        }
        let given_up = before - self.kept.len();
        self.expected.evicted += given_up as u64;
        given_up
    }

    fn clear(&mut self) -> usize {
        let cleared = self.kept.len();
        for (_, token) in self.kept.drain(..) {
            self.policy.on_leave(token.bytes);
        }
        self.least.clear();
        self.expected.cleared += cleared as u64;
        cleared
    }
}

/// The identities of the documentation of `pool_core::stats`.
fn assert_identities(stats: &Stats, live: usize) {
    assert_eq!(
        stats.acquires() + stats.adopted,
        stats.returns + stats.detached + live as u64
    );
    assert_eq!(stats.returns, stats.kept + stats.refusals());
    let gone = stats.hits + stats.evicted + stats.cleared;
    assert_eq!(stats.kept, gone + stats.held_buffers);
    assert_eq!(stats.live(), live as u64);
}

/// Runs one program on a shelf and on the model, and compares them after every step.
fn run<P, F>(policy: &P, trims: bool, fit: F, serves: Serves, steps: Vec<Step>)
where
    P: Retention + Clone,
    F: Fit<usize>,
{
    let mut shelf = Shelf::new(policy.clone(), fit);
    let mut model = Model {
        policy: policy.clone(),
        trims,
        serves,
        kept: Vec::new(),
        used: Vec::new(),
        least: HashMap::new(),
        expected: Stats::default(),
    };
    // Buffers that are out.
    let mut live: Vec<Token> = Vec::new();
    for (id, step) in steps.into_iter().enumerate() {
        match step {
            Step::Request(class) => match (shelf.request(class), model.request(class)) {
                (Found::Hit(token), Found::Hit(expected)) => {
                    assert_eq!(token, expected, "another buffer was lent");
                    live.push(token);
                }
                (Found::Miss, Found::Miss) => live.push(Token { id, bytes: class }),
                (Found::Bypass, Found::Bypass) => {}
                (found, expected) => panic!("{found:?} where the model says {expected:?}"),
            },
            Step::Return(at, more) if !live.is_empty() => {
                let mut token = live.swap_remove(at.index(live.len()));
                token.bytes += more;
                let class = token.bytes;
                model.expected.returns += 1;
                // By both doors in turn.
                let given_up = if id % 2 == 0 {
                    shelf.offer(class, token).len()
                } else {
                    let mut evicted = 0;
                    let kept = shelf.offer_with(class, || token, |_| evicted += 1);
                    evicted + usize::from(!kept)
                };
                assert_eq!(given_up, model.settle(class, token));
            }
            Step::Adopt(class) => {
                live.push(Token { id, bytes: class });
                shelf.counters().adopt();
                model.expected.adopted += 1;
            }
            Step::Detach(at) if !live.is_empty() => {
                live.swap_remove(at.index(live.len()));
                shelf.counters().detach();
                model.expected.detached += 1;
            }
            Step::Return(..) | Step::Detach(_) => {}
            Step::Round => assert_eq!(shelf.end_round().len(), model.end_round()),
            Step::Clear => assert_eq!(shelf.clear().len(), model.clear()),
        }
        let held = model.held();
        assert_eq!(
            shelf.held(),
            held,
            "the accounts are not what a walk counts"
        );
        let expected = &mut model.expected;
        expected.held_buffers = held.buffers as u64;
        expected.held_bytes = held.bytes as u64;
        expected.classes = held.classes as u64;
        expected.peak_buffers = expected.peak_buffers.max(expected.held_buffers);
        expected.peak_bytes = expected.peak_bytes.max(expected.held_bytes);
        let stats = shelf.counters().snapshot();
        assert_eq!(stats, *expected);
        assert_identities(&stats, live.len());
    }
    // What is really there is what was counted.
    let order = |&(class, token): &(usize, Token)| (class, token.id);
    let mut walked: Vec<_> = shelf.drain().collect();
    walked.sort_by_key(order);
    model.kept.sort_by_key(order);
    assert_eq!(walked, model.kept);
}

/// Runs one program with an exact fit and with best fits of several waste factors.
fn run_all<P: Retention + Clone + fmt::Debug>(policy: &P, trims: bool, steps: &[Step]) {
    run(
        policy,
        trims,
        Exact::default(),
        |class, wanted| class == wanted,
        steps.to_vec(),
    );
    let best = |waste| BestFit::within(waste);
    run(
        policy,
        trims,
        best(1),
        |class, wanted| class == wanted,
        steps.to_vec(),
    );
    run(
        policy,
        trims,
        best(3),
        |class, wanted| (wanted..=3 * wanted).contains(&class),
        steps.to_vec(),
    );
    run(
        policy,
        trims,
        best(usize::MAX),
        |class, wanted| class >= wanted,
        steps.to_vec(),
    );
}

/// One program through two tiers: what a front tier does not keep goes behind, and now and then
/// the front is emptied into the tier behind and begins anew.
fn run_two_tiers(front: Bounded, back: Bounded, steps: Vec<Step>) {
    let make = || Shelf::<usize, Token, _, _>::new(front, Exact::default());
    let mut first = make();
    let mut behind = Shelf::new(back, Exact::default());
    let mut live = Vec::new();
    for (id, step) in steps.into_iter().enumerate() {
        match step {
            Step::Request(class) => {
                let found = first.try_take(class).map(Found::Hit);
                match found.unwrap_or_else(|| behind.request(class)) {
                    Found::Hit(token) => live.push(token),
                    Found::Miss => live.push(Token { id, bytes: class }),
                    Found::Bypass => {}
                }
            }
            Step::Return(at, more) if !live.is_empty() => {
                let mut token = live.swap_remove(at.index(live.len()));
                token.bytes += more;
                let class = token.bytes;
                if let Err(token) = first.try_keep(class, || token) {
                    drop(behind.offer(class, token()));
                }
            }
            Step::Adopt(class) => {
                live.push(Token { id, bytes: class });
                behind.counters().adopt();
            }
            Step::Clear => {
                behind.counters().absorb(&first.counters().snapshot());
                // Sometimes by a tier that goes on, sometimes by one that ends with it.
                first.pour(|class, tokens| behind.restock(class, tokens, drop));
                assert_eq!(first.held(), Held::default());
                if id % 2 == 0 {
                    let _ = first.counters().take();
                } else {
                    first = make();
                }
            }
            Step::Return(..) | Step::Detach(_) | Step::Round => {}
        }
        let stats = first.counters().snapshot() + behind.counters().snapshot();
        assert_identities(&stats, live.len());
        assert!(first.held().bytes <= front.pool_bytes && behind.held().bytes <= back.pool_bytes);
        assert!(first.held().buffers <= front.pool_buffers);
        assert!(behind.held().buffers <= back.pool_buffers);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_shelf_that_refuses_when_full_does_what_a_list_would(
        policy in bounded(WhenFull::Refuse),
        steps in steps(),
    ) {
        run_all(&policy, false, &steps);
    }

    #[test]
    fn a_shelf_that_evicts_when_full_does_what_a_list_would(
        policy in bounded(WhenFull::Evict),
        steps in steps(),
    ) {
        run_all(&policy, false, &steps);
    }

    #[test]
    fn a_shelf_that_keeps_nothing_does_what_a_list_would(steps in steps()) {
        run_all(&Unpooled, false, &steps);
    }

    #[test]
    fn a_shelf_does_what_a_list_would_whatever_the_policy_says(
        mood in any::<u64>(),
        steps in steps(),
    ) {
        run_all(&Whimsical { mood, left: 0 }, true, &steps);
    }

    #[test]
    fn two_tiers_count_each_event_once(
        front in bounded(WhenFull::Refuse),
        back in bounded(WhenFull::Evict),
        steps in steps(),
    ) {
        run_two_tiers(front, back, steps);
    }
}
