//! The pool against a naive model that holds everything in a `Vec`.
//!
//! Random borrows, drops, detaches, clears and switches, in one thread. After every step the
//! accounts equal those of the model, which walks its list instead of keeping sums; live buffers
//! are pairwise distinct; a zeroed one is zero although every buffer is filled with 0xA5 before
//! it goes back.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that panics fails the test that called it"
)]

use std::collections::HashSet;

use proptest::prelude::*;
use tls_pool::{Bounded, Held, Offer, Refusal, Retention, Scratch, Stats, TlsPool, Verdict};

const LIMITS: Bounded = Bounded {
    buffer_bytes: 400,
    class_buffers: 3,
    pool_buffers: 6,
    pool_bytes: 900,
    classes: 3,
    ..Bounded::UNLIMITED
};

/// The same limits from a policy that wants to be asked every time.
#[derive(Clone)]
struct Asked(Bounded);

impl Retention for Asked {
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        self.0.rule(offer, held)
    }

    fn admit(&self, bytes: usize) -> bool {
        self.0.admit(bytes)
    }
}

#[derive(Debug, Clone)]
enum Step {
    Take {
        wide: bool,
        len: usize,
        zeroed: bool,
        owned: bool,
    },
    Drop(usize),
    Detach(usize),
    Clear,
    Switch(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![1..5_usize, Just(20), Just(80), Just(0)];
    let take = (any::<bool>(), len, any::<bool>(), any::<bool>()).prop_map(
        |(wide, len, zeroed, owned)| Step::Take {
            wide,
            len,
            zeroed,
            owned,
        },
    );
    prop_oneof![
        20 => take,
        16 => any::<usize>().prop_map(Step::Drop),
        2 => any::<usize>().prop_map(Step::Detach),
        1 => Just(Step::Clear),
        1 => any::<bool>().prop_map(Step::Switch),
    ]
}

/// A borrowed buffer of either element type.
enum Buffer<'p, P: Retention + 'static> {
    Narrow(Scratch<'p, u8, P>),
    Wide(Scratch<'p, [u64; 2], P>),
}

impl<P: Retention> Buffer<'_, P> {
    fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Narrow(scratch) => scratch,
            Self::Wide(scratch) => bytemuck::cast_slice_mut(scratch),
        }
    }

    /// Detaches it, and says where the caller's vector is.
    fn detach(self) -> usize {
        fn address<T>(data: &[T]) -> usize {
            data.as_ptr().addr()
        }
        match self {
            Self::Narrow(scratch) => address(&scratch.detach()),
            Self::Wide(scratch) => address(&scratch.detach()),
        }
    }
}

/// One borrowed buffer as the model sees it.
struct Live {
    class: (bool, usize),
    address: usize,
    rides: bool,
}

/// What the pool should hold and have counted.
#[derive(Default)]
struct Model {
    kept: Vec<((bool, usize), usize)>,
    off: bool,
    counts: Stats,
}

fn bytes_of((wide, len): (bool, usize)) -> usize {
    len * if wide { 16 } else { 1 }
}

impl Model {
    /// The address that a request should be served with, if any, and whether it rides the pool.
    fn take(&mut self, class: (bool, usize), zeroed: bool) -> (Option<usize>, bool) {
        if bytes_of(class) == 0 {
            return (None, false);
        }
        if self.off || bytes_of(class) > LIMITS.buffer_bytes {
            self.counts.bypassed += 1;
            return (None, false);
        }
        self.counts.zeroed_bytes += if zeroed { bytes_of(class) as u64 } else { 0 };
        let found = self.kept.iter().rposition(|&(kept, _)| kept == class);
        match found {
            Some(_) => self.counts.hits += 1,
            None => self.counts.misses += 1,
        }
        (found.map(|at| self.kept.remove(at).1), true)
    }

    fn give(&mut self, live: &Live) -> Option<Refusal> {
        if !live.rides {
            return None;
        }
        self.counts.returns += 1;
        let bytes = bytes_of(live.class);
        let same = self
            .kept
            .iter()
            .filter(|(class, _)| *class == live.class)
            .count();
        let held: usize = self.kept.iter().map(|&(class, _)| bytes_of(class)).sum();
        let refusal = if self.off {
            Some(Refusal::SwitchedOff)
        } else if same >= LIMITS.class_buffers {
            Some(Refusal::ClassFull)
        } else if self.kept.len() >= LIMITS.pool_buffers || held + bytes > LIMITS.pool_bytes {
            Some(Refusal::PoolFull)
        } else if same == 0 && self.classes() >= LIMITS.classes {
            Some(Refusal::TooManyClasses)
        } else {
            self.kept.push((live.class, live.address));
            self.counts.kept += 1;
            None
        };
        if let Some(reason) = refusal {
            let at = Refusal::ALL.iter().position(|&each| each == reason);
            self.counts.refused[at.unwrap()] += 1;
        }
        refusal
    }

    fn clear(&mut self) {
        self.counts.cleared += self.kept.len() as u64;
        self.kept.clear();
    }

    fn classes(&self) -> usize {
        let classes: HashSet<_> = self.kept.iter().map(|(class, _)| class).collect();
        classes.len()
    }

    /// Compares with the pool, by walking the list.
    fn check(&mut self, stats: Stats, asked: bool) {
        let held: usize = self.kept.iter().map(|&(class, _)| bytes_of(class)).sum();
        self.counts.held_buffers = self.kept.len() as u64;
        self.counts.held_bytes = held as u64;
        // A place whose buffer is out goes on counting as its class.
        let classes = self.classes() as u64;
        assert!(stats.classes >= classes && stats.classes <= LIMITS.classes as u64);
        if asked {
            assert_eq!(stats.classes, classes);
        }
        self.counts.classes = stats.classes;
        self.counts.peak_buffers = self.counts.peak_buffers.max(self.counts.held_buffers);
        self.counts.peak_bytes = self.counts.peak_bytes.max(self.counts.held_bytes);
        assert_eq!(stats, self.counts);
    }
}

fn take<'p, P: Retention>(pool: &'p TlsPool<P>, step: &Step) -> Buffer<'p, P> {
    let &Step::Take {
        wide,
        len,
        zeroed,
        owned,
    } = step
    else {
        unreachable!("only a take takes")
    };
    let shape = [len];
    match (wide, zeroed, owned) {
        (false, true, false) => Buffer::Narrow(pool.zeroed(&shape).unwrap()),
        (false, true, true) => Buffer::Narrow(pool.zeroed(&shape).unwrap().into_owned()),
        (false, false, false) => Buffer::Narrow(pool.unspecified(&shape).unwrap()),
        (false, false, true) => Buffer::Narrow(pool.unspecified(&shape).unwrap().into_owned()),
        (true, true, false) => Buffer::Wide(pool.zeroed(&shape).unwrap()),
        (true, true, true) => Buffer::Wide(pool.zeroed(&shape).unwrap().into_owned()),
        (true, false, false) => Buffer::Wide(pool.unspecified(&shape).unwrap()),
        (true, false, true) => Buffer::Wide(pool.unspecified(&shape).unwrap().into_owned()),
    }
}

fn run<P: Retention>(pool: &TlsPool<P>, asked: bool, steps: Vec<Step>) {
    let mut model = Model::default();
    let mut out: Vec<(Live, Buffer<'_, P>)> = Vec::new();
    for step in steps {
        match step {
            Step::Take {
                wide, len, zeroed, ..
            } => {
                let class = (wide, len);
                let (expected, rides) = model.take(class, zeroed);
                let mut buffer = take(pool, &step);
                let contents = buffer.bytes();
                assert_eq!(contents.len(), bytes_of(class));
                if zeroed {
                    assert!(contents.iter().all(|&byte| byte == 0), "stale bytes");
                } else if cfg!(debug_assertions) {
                    assert!(contents.iter().all(|&byte| byte == 0xFF), "not poisoned");
                }
                contents.fill(0xA5);
                let address = contents.as_ptr().addr();
                if let Some(expected) = expected {
                    assert_eq!(address, expected, "not the buffer that came back last");
                }
                let live = Live {
                    class,
                    address,
                    rides,
                };
                out.push((live, buffer));
            }
            Step::Drop(which) if !out.is_empty() => {
                let (live, buffer) = out.swap_remove(which % out.len());
                drop(buffer);
                model.give(&live);
            }
            Step::Detach(which) if !out.is_empty() => {
                let (live, buffer) = out.swap_remove(which % out.len());
                model.counts.detached += u64::from(live.rides);
                assert_eq!(buffer.detach(), live.address, "detached at a copy");
            }
            Step::Clear => {
                pool.clear();
                model.clear();
            }
            Step::Switch(on) => {
                pool.set_enabled(on);
                if model.off == on {
                    model.clear();
                }
                model.off = !on;
            }
            Step::Drop(_) | Step::Detach(_) => {}
        }
        let filled = out.iter().filter(|(live, _)| bytes_of(live.class) > 0);
        let addresses: HashSet<_> = filled.clone().map(|(live, _)| live.address).collect();
        assert_eq!(
            addresses.len(),
            filled.count(),
            "two borrowers share memory"
        );
        model.check(pool.stats(), asked);
        assert_eq!(pool.stats(), pool.thread_stats());
        let riding = out.iter().filter(|(live, _)| live.rides).count();
        assert_eq!(pool.stats().live(), riding as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_borrows_drops_and_detaches_keep_the_accounts_of_a_plain_list(
        steps in prop::collection::vec(step(), 1..if cfg!(miri) { 40 } else { 200 })
    ) {
        run(&TlsPool::new(LIMITS), false, steps.clone());
        run(&TlsPool::new(Asked(LIMITS)), true, steps);
    }
}
