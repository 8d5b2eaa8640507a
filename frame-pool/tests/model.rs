//! The pool against a naive model that holds everything in a `Vec`.
#![cfg(not(loom))]

mod common;

use std::collections::HashSet;

use common::assert_accounts;
use frame_pool::{BestFit, Bounded, Frame, FramePool, Stats, WhenFull};
use proptest::prelude::*;

/// One step of a random program.
#[derive(Debug, Clone)]
enum Step {
    Take(usize),
    CopyOf(usize),
    /// Announces the first length and sends the second.
    Read(usize, usize),
    Drop(prop::sample::Index),
    Detach(prop::sample::Index),
    Truncate(prop::sample::Index, usize),
    Clear,
    Switch(bool),
}

fn step() -> impl Strategy<Value = Step> {
    // Few lengths, so that hits, near misses and full classes are common.
    let len = || prop_oneof![0..70_usize, Just(8), Just(16), Just(64), Just(65)];
    prop_oneof![
        6 => len().prop_map(Step::Take),
        2 => len().prop_map(Step::CopyOf),
        2 => (len(), len()).prop_map(|(len, sent)| Step::Read(len, sent)),
        8 => any::<prop::sample::Index>().prop_map(Step::Drop),
        2 => any::<prop::sample::Index>().prop_map(Step::Detach),
        1 => (any::<prop::sample::Index>(), len()).prop_map(|(at, len)| Step::Truncate(at, len)),
        1 => Just(Step::Clear),
        1 => any::<bool>().prop_map(Step::Switch),
    ]
}

fn limits() -> impl Strategy<Value = Bounded> {
    let bound = || prop_oneof![1..8_usize, Just(usize::MAX)];
    let bytes = || prop_oneof![16..200_usize, Just(usize::MAX)];
    (
        bytes(),
        bound(),
        bytes(),
        bound(),
        bytes(),
        bound(),
        any::<bool>(),
    )
        .prop_map(
            |(
                buffer_bytes,
                class_buffers,
                class_bytes,
                pool_buffers,
                pool_bytes,
                classes,
                evict,
            )| {
                Bounded {
                    buffer_bytes,
                    class_buffers,
                    class_bytes,
                    pool_buffers,
                    pool_bytes,
                    classes,
                    when_full: if evict {
                        WhenFull::Evict
                    } else {
                        WhenFull::Refuse
                    },
                }
            },
        )
}

/// A frame that is out, and what the model knows about it.
struct Out {
    frame: Frame,
    contents: Vec<u8>,
    /// The capacity of its buffer, if it rides the pool.
    rides: Option<usize>,
}

/// What the pool should hold: capacities with the time their class was last used, kept naively.
struct Model {
    limits: Bounded,
    waste: usize,
    /// Capacities, in the order of return.
    held: Vec<usize>,
    /// Capacities in the order of use, the last one most recent.
    used: Vec<usize>,
    on: bool,
    expected: Stats,
}

impl Model {
    /// Makes a class the most recently used.
    fn touch(&mut self, capacity: usize) {
        self.used.retain(|&other| other != capacity);
        self.used.push(capacity);
    }

    /// The capacity that serves a request, if it rides the pool; `new` is the capacity of a buffer
    /// that is made for it.
    fn request(&mut self, len: usize, new: usize) -> Option<usize> {
        if len == 0 {
            return None;
        }
        if !self.on || len > self.limits.buffer_bytes {
            self.expected.bypassed += 1;
            return None;
        }
        let serves = |capacity: &usize| (len..=len * self.waste).contains(capacity);
        let Some(best) = self.held.iter().copied().filter(serves).min() else {
            self.expected.misses += 1;
            return Some(new);
        };
        self.expected.hits += 1;
        self.remove(best);
        self.touch(best);
        Some(best)
    }

    fn remove(&mut self, capacity: usize) {
        let at = self
            .held
            .iter()
            .rposition(|&held| held == capacity)
            .expect("it is held");
        self.held.remove(at);
    }

    fn take_back(&mut self, rides: Option<usize>) {
        let Some(capacity) = rides else {
            return;
        };
        self.expected.returns += 1;
        let l = self.limits;
        if self.on {
            self.touch(capacity);
        }
        while self.on && capacity <= l.buffer_bytes.min(l.pool_bytes) {
            let of_class = self.held.iter().filter(|&&held| held == capacity).count();
            let bytes: usize = self.held.iter().sum();
            let classes = self.held.iter().collect::<HashSet<_>>().len();
            if of_class >= l.class_buffers || capacity * (of_class + 1) > l.class_bytes {
                return;
            }
            let full = self.held.len() >= l.pool_buffers
                || bytes + capacity > l.pool_bytes
                || (of_class == 0 && classes >= l.classes);
            if !full {
                self.held.push(capacity);
                self.expected.kept += 1;
                return;
            }
            if l.when_full == WhenFull::Refuse {
                return;
            }
            let mut used = self.used.iter();
            let oldest = *used
                .find(|used| self.held.contains(used))
                .expect("some are held");
            self.remove(oldest);
            self.expected.evicted += 1;
        }
    }

    fn clear(&mut self) {
        self.expected.cleared += self.held.len() as u64;
        self.held.clear();
    }

    fn assert_same(&mut self, pool: &FramePool, out: &[Out]) {
        let live = out.iter().filter(|out| out.rides.is_some()).count() as u64;
        let stats = assert_accounts(pool, live);
        let expected = &mut self.expected;
        expected.held_buffers = self.held.len() as u64;
        expected.held_bytes = self.held.iter().sum::<usize>() as u64;
        expected.classes = self.held.iter().collect::<HashSet<_>>().len() as u64;
        expected.peak_buffers = expected.peak_buffers.max(expected.held_buffers);
        expected.peak_bytes = expected.peak_bytes.max(expected.held_bytes);
        // Which reason refuses is the policy's own test; that the sum fits is `assert_accounts`.
        expected.refused = stats.refused;
        assert_eq!(stats, *expected);
        assert!(stats.held_buffers <= self.limits.pool_buffers as u64);
        assert!(stats.held_bytes <= self.limits.pool_bytes as u64);
        assert!(stats.classes <= self.limits.classes as u64);

        let addresses: HashSet<_> = out
            .iter()
            .filter(|out| !out.frame.is_empty())
            .map(|out| out.frame.as_ptr())
            .collect();
        let full = out.iter().filter(|out| !out.frame.is_empty()).count();
        assert_eq!(addresses.len(), full, "two live frames share a buffer");
        for out in out {
            assert_eq!(*out.frame, *out.contents, "a live frame changed");
        }
    }
}

fn run(limits: Bounded, waste: usize, steps: Vec<Step>) {
    let pool = FramePool::without_tiers(limits, BestFit::within(waste));
    let mut model = Model {
        limits,
        waste,
        held: Vec::new(),
        used: Vec::new(),
        on: true,
        expected: Stats::default(),
    };
    let mut out: Vec<Out> = Vec::new();
    for (number, step) in steps.into_iter().enumerate() {
        let stamp = number.to_le_bytes()[0];
        let written = |len| vec![stamp; len];
        match step {
            Step::Take(len) => {
                let mut frame = pool.take(len);
                frame.fill(stamp);
                let rides = model.request(len, len);
                out.push(Out {
                    frame,
                    contents: written(len),
                    rides,
                });
            }
            Step::CopyOf(len) => {
                let frame = pool.copy_of(&written(len));
                let rides = model.request(len, len);
                out.push(Out {
                    frame,
                    contents: written(len),
                    rides,
                });
            }
            Step::Read(len, sent) => {
                let read = pool.read_from(&mut written(sent).as_slice(), len);
                let rides = model.request(len, len);
                assert_eq!(read.is_ok(), sent >= len);
                match read {
                    Ok(frame) => out.push(Out {
                        frame,
                        contents: written(len),
                        rides,
                    }),
                    Err(_) => model.take_back(rides),
                }
            }
            Step::Drop(at) if !out.is_empty() => {
                let Out { frame, rides, .. } = out.swap_remove(at.index(out.len()));
                drop(frame);
                model.take_back(rides);
            }
            Step::Detach(at) if !out.is_empty() => {
                let Out {
                    frame,
                    contents,
                    rides,
                } = out.swap_remove(at.index(out.len()));
                assert_eq!(frame.detach(), contents);
                model.expected.detached += u64::from(rides.is_some());
            }
            Step::Truncate(at, len) if !out.is_empty() => {
                let at = at.index(out.len());
                out[at].frame.truncate(len);
                out[at].contents.truncate(len);
            }
            Step::Drop(_) | Step::Detach(_) | Step::Truncate(..) => {}
            Step::Clear => {
                pool.clear();
                model.clear();
            }
            Step::Switch(on) => {
                pool.set_enabled(on);
                model.on = on;
                if !on {
                    model.clear();
                }
            }
        }
        model.assert_same(&pool, &out);
    }
}

/// What a pool with tiers promises beside its bounds, to one thread: a hit is some retained buffer
/// that serves the request, a miss says that none does, and a buffer is kept if the bounds allow it.
/// Which buffer served is read off what is held.
fn run_tiered(limits: Bounded, waste: usize, steps: Vec<Step>) {
    let limits = Bounded {
        when_full: WhenFull::Refuse,
        ..limits
    };
    let pool = FramePool::with_fit(limits, BestFit::within(waste));
    let mut held: Vec<usize> = Vec::new();
    let mut out: Vec<(Frame, Option<usize>)> = Vec::new();
    let mut on = true;
    for step in steps {
        let before = pool.stats();
        match step {
            Step::Take(len) | Step::CopyOf(len) | Step::Read(len, _) => {
                let frame = pool.take(len);
                let since = pool.stats().since(&before);
                let serves = |capacity: &usize| (len..=len * waste).contains(capacity);
                if len == 0 || !on || len > limits.buffer_bytes {
                    assert_eq!(since.bypassed, u64::from(len > 0));
                    out.push((frame, None));
                } else if since.hits == 1 {
                    let capacity = usize::try_from(before.held_bytes - since.held_bytes);
                    let capacity = capacity.expect("a length");
                    assert!(serves(&capacity));
                    let at = held.iter().position(|&other| other == capacity);
                    held.swap_remove(at.expect("it was retained"));
                    out.push((frame, Some(capacity)));
                } else {
                    assert_eq!(since.misses, 1);
                    assert!(!held.iter().any(serves), "{len} of {held:?}");
                    out.push((frame, Some(len)));
                }
            }
            Step::Drop(at) | Step::Detach(at) | Step::Truncate(at, _) if !out.is_empty() => {
                let (frame, rides) = out.swap_remove(at.index(out.len()));
                drop(frame);
                let kept = pool.stats().since(&before).kept == 1;
                let Some(capacity) = rides else {
                    assert!(!kept);
                    continue;
                };
                let of_class = held.iter().filter(|&&other| other == capacity).count();
                let bytes: usize = held.iter().sum();
                let classes = held.iter().collect::<HashSet<_>>().len();
                let fits = capacity <= limits.buffer_bytes
                    && of_class < limits.class_buffers
                    && capacity * (of_class + 1) <= limits.class_bytes
                    && held.len() < limits.pool_buffers
                    && bytes + capacity <= limits.pool_bytes
                    && classes + usize::from(of_class == 0) <= limits.classes;
                assert_eq!(kept, on && fits, "{capacity} beside {held:?}");
                held.extend(kept.then_some(capacity));
            }
            Step::Drop(_) | Step::Detach(_) | Step::Truncate(..) => {}
            Step::Clear => {
                pool.clear();
                held.clear();
            }
            Step::Switch(now) => {
                pool.set_enabled(now);
                if !now {
                    held.clear();
                }
                on = now;
                if before.held_buffers > 0 && now {
                    // Turned on while on changes nothing.
                    assert_eq!(pool.stats().held_buffers, before.held_buffers);
                }
            }
        }
        let live = out.iter().filter(|(_, rides)| rides.is_some()).count() as u64;
        let stats = assert_accounts(&pool, live);
        assert_eq!(stats.held_buffers, held.len() as u64);
        assert_eq!(stats.held_bytes, held.iter().sum::<usize>() as u64);
        assert!(stats.peak_buffers <= limits.pool_buffers as u64);
        assert!(stats.peak_bytes <= limits.pool_bytes as u64);
        assert!(stats.classes <= limits.classes as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 512 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_pool_does_what_a_list_of_capacities_would(
        limits in limits(),
        waste in 1..5_usize,
        steps in prop::collection::vec(step(), 0..if cfg!(miri) { 40 } else { 150 }),
    ) {
        run(limits, waste, steps);
    }

    #[test]
    fn a_pool_with_tiers_hits_misses_and_keeps_whenever_a_list_would(
        limits in limits(),
        waste in 1..5_usize,
        steps in prop::collection::vec(step(), 0..if cfg!(miri) { 40 } else { 150 }),
    ) {
        run_tiered(limits, waste, steps);
    }
}
