//! The arena and the pool against a naive model that holds everything in `Vec`s.
//!
//! Random borrows, drops, detaches and leaves over a few sweeps in turn, with clears and switches.
//! After every step the sums equal those of the model, which walks its lists instead of keeping
//! sums; live arrays are pairwise distinct; a zeroed one is zero although every array is filled
//! before it goes back.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that panics fails the test that called it"
)]

use std::collections::HashSet;

use grad_pool::{Arena, Bounded, Grad, GradPool, Leaf, Refusal, Stats};
use num_complex::Complex;
use proptest::prelude::*;

const LIMITS: Bounded = Bounded {
    buffer_bytes: 400,
    class_buffers: 3,
    pool_buffers: 6,
    pool_bytes: 900,
    classes: 3,
    ..Bounded::UNLIMITED
};

/// Arrays that an arena holds at most.
const ARENA: usize = 256;

#[derive(Debug, Clone)]
enum Step {
    Take { wide: bool, len: usize, door: Door },
    Drop(usize),
    Detach(usize),
    IntoLeaf(usize),
    DropLeaf(usize),
    DetachLeaf(usize),
    EndSweep,
    Clear,
    Switch(bool),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Door {
    Zeroed,
    Unspecified,
    Copy,
}

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![1..5_usize, Just(20), Just(80), Just(0)];
    let door = prop_oneof![
        Just(Door::Zeroed),
        Just(Door::Unspecified),
        Just(Door::Copy)
    ];
    let take =
        (any::<bool>(), len, door).prop_map(|(wide, len, door)| Step::Take { wide, len, door });
    let which = any::<usize>;
    prop_oneof![
        20 => take,
        12 => which().prop_map(Step::Drop),
        2 => which().prop_map(Step::Detach),
        3 => which().prop_map(Step::IntoLeaf),
        2 => which().prop_map(Step::DropLeaf),
        1 => which().prop_map(Step::DetachLeaf),
        1 => Just(Step::EndSweep),
        1 => Just(Step::Clear),
        1 => any::<bool>().prop_map(Step::Switch),
    ]
}

type Wide = Complex<f64>;

fn address<T>(data: &[T]) -> usize {
    data.as_ptr().addr()
}

enum Array<'a> {
    Narrow(Grad<'a, f32>),
    Wide(Grad<'a, Wide>),
}

enum Left {
    Narrow(Leaf<f32>),
    Wide(Leaf<Wide>),
}

impl<'a> Array<'a> {
    fn take(arena: &'a Arena, wide: bool, len: usize, door: Door) -> Self {
        match (wide, door) {
            (false, Door::Zeroed) => Self::Narrow(arena.zeroed(len)),
            (false, Door::Unspecified) => Self::Narrow(arena.unspecified(len)),
            (false, Door::Copy) => Self::Narrow(arena.copy_of(&vec![1.5; len])),
            (true, Door::Zeroed) => Self::Wide(arena.zeroed(len)),
            (true, Door::Unspecified) => Self::Wide(arena.unspecified(len)),
            (true, Door::Copy) => Self::Wide(arena.copy_of(&vec![Complex::new(1.5, 2.5); len])),
        }
    }

    fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Narrow(grad) => bytemuck::cast_slice_mut(grad),
            Self::Wide(grad) => bytemuck::cast_slice_mut(grad),
        }
    }

    fn detach(self) -> usize {
        match self {
            Self::Narrow(grad) => address(&grad.detach()),
            Self::Wide(grad) => address(&grad.detach()),
        }
    }

    fn into_leaf(self) -> Left {
        match self {
            Self::Narrow(grad) => Left::Narrow(grad.into_leaf()),
            Self::Wide(grad) => Left::Wide(grad.into_leaf()),
        }
    }
}

impl Left {
    fn detach(self) -> usize {
        match self {
            Self::Narrow(leaf) => address(&leaf.detach()),
            Self::Wide(leaf) => address(&leaf.detach()),
        }
    }
}

type Class = (bool, usize);

fn bytes_of((wide, len): Class) -> usize {
    len * if wide { 16 } else { 4 }
}

/// One array that is out, as the model sees it.
#[derive(Clone)]
struct Live {
    class: Class,
    address: usize,
    rides: bool,
}

#[derive(Default)]
struct Model {
    arena: Vec<(Class, usize)>,
    /// The arena's tier when it last looked. The tier goes from sweep to sweep.
    arena_epoch: u64,
    /// Its classes, in the order in which they were first returned to it.
    order: Vec<Class>,
    shared: Vec<(Class, usize)>,
    off: bool,
    epoch: u64,
    counts: Stats,
}

fn take_last(list: &mut Vec<(Class, usize)>, class: Class) -> Option<usize> {
    let at = list.iter().rposition(|&(kept, _)| kept == class)?;
    Some(list.remove(at).1)
}

impl Model {
    /// The arena looks at the switch.
    fn touch(&mut self) {
        if self.arena_epoch != self.epoch {
            self.arena_epoch = self.epoch;
            self.counts.cleared += self.arena.len() as u64;
            self.arena.clear();
            self.order.clear();
        }
    }

    fn take(&mut self, class: Class, zeroed: bool) -> (Option<usize>, bool) {
        if bytes_of(class) == 0 {
            return (None, false);
        }
        self.touch();
        if self.off || bytes_of(class) > LIMITS.buffer_bytes {
            self.counts.bypassed += 1;
            return (None, false);
        }
        self.counts.zeroed_bytes += if zeroed { bytes_of(class) as u64 } else { 0 };
        let found =
            take_last(&mut self.arena, class).or_else(|| take_last(&mut self.shared, class));
        match found {
            Some(_) => self.counts.hits += 1,
            None => self.counts.misses += 1,
        }
        (found, true)
    }

    /// An array comes back to the arena.
    fn give(&mut self, live: &Live) {
        if !live.rides {
            return;
        }
        self.touch();
        if !self.off && !self.order.contains(&live.class) {
            self.order.push(live.class);
        }
        if !self.off && self.arena.len() < ARENA {
            self.counts.returns += 1;
            self.counts.kept += 1;
            self.arena.push((live.class, live.address));
        } else {
            self.come_home(live);
        }
    }

    /// An array comes back to the shared tier.
    fn come_home(&mut self, live: &Live) {
        if !live.rides {
            return;
        }
        self.counts.returns += 1;
        self.counts.kept += 1;
        self.stock(live.class, live.address);
    }

    /// Puts an array that counts as kept into the shared tier, or recounts it as refused.
    fn stock(&mut self, class: Class, address: usize) {
        let held: usize = self.shared.iter().map(|&(class, _)| bytes_of(class)).sum();
        let same = self
            .shared
            .iter()
            .filter(|(kept, _)| *kept == class)
            .count();
        let reason = if self.off {
            Refusal::SwitchedOff
        } else if same >= LIMITS.class_buffers {
            Refusal::ClassFull
        } else if self.shared.len() >= LIMITS.pool_buffers
            || held + bytes_of(class) > LIMITS.pool_bytes
        {
            Refusal::PoolFull
        } else if same == 0 && classes(&self.shared) >= LIMITS.classes {
            Refusal::TooManyClasses
        } else {
            self.shared.push((class, address));
            return;
        };
        let at = Refusal::ALL.iter().position(|&each| each == reason);
        self.counts.refused[at.unwrap()] += 1;
        self.counts.kept -= 1;
    }

    /// The sweep ends: its tier is handed over class by class.
    fn end_sweep(&mut self) {
        self.touch();
        let mut arena = std::mem::take(&mut self.arena);
        arena.sort_by_key(|(class, _)| self.order.iter().position(|each| each == class));
        for (class, address) in arena {
            self.stock(class, address);
        }
    }

    fn clear(&mut self) {
        self.epoch += 1;
        self.counts.cleared += self.shared.len() as u64;
        self.shared.clear();
    }

    /// Compares with the pool, by walking the lists. High-water marks are upper bounds.
    fn check(&self, mut stats: Stats) {
        let all = || self.arena.iter().chain(&self.shared);
        let mut expected = self.counts;
        expected.held_buffers = all().count() as u64;
        expected.held_bytes = all().map(|&(class, _)| bytes_of(class) as u64).sum();
        expected.classes = (classes(&self.arena) + classes(&self.shared)) as u64;
        assert!(stats.peak_buffers >= stats.held_buffers && stats.peak_bytes >= stats.held_bytes);
        (stats.peak_buffers, stats.peak_bytes) = (0, 0);
        assert_eq!(stats, expected);
    }
}

fn classes(list: &[(Class, usize)]) -> usize {
    list.iter()
        .map(|(class, _)| class)
        .collect::<HashSet<_>>()
        .len()
}

/// One sweep: steps until it ends. Gives back the steps that are left.
fn sweep(
    pool: &GradPool,
    model: &mut Model,
    leaves: &mut Vec<(Live, Left)>,
    steps: &mut impl Iterator<Item = Step>,
) -> bool {
    let arena = pool.arena();
    let mut out: Vec<(Live, Array<'_>)> = Vec::new();
    let more = loop {
        let Some(step) = steps.next() else {
            break false;
        };
        match step {
            Step::Take { wide, len, door } => {
                let class = (wide, len);
                let (expected, rides) = model.take(class, door == Door::Zeroed);
                let mut array = Array::take(&arena, wide, len, door);
                let contents = array.bytes();
                assert_eq!(contents.len(), bytes_of(class));
                if door == Door::Zeroed {
                    assert!(contents.iter().all(|&byte| byte == 0), "stale bytes");
                } else if door == Door::Unspecified && cfg!(debug_assertions) {
                    assert!(contents.iter().all(|&byte| byte == 0xFF), "not poisoned");
                } else if door == Door::Copy {
                    assert!(contents.iter().all(|&byte| byte != 0xA5), "not copied");
                }
                contents.fill(0xA5);
                let address = contents.as_ptr().addr();
                if let Some(expected) = expected {
                    assert_eq!(address, expected, "not the array that came back last");
                }
                let live = Live {
                    class,
                    address,
                    rides,
                };
                out.push((live, array));
            }
            Step::Drop(which) if !out.is_empty() => {
                let (live, array) = out.swap_remove(which % out.len());
                drop(array);
                model.give(&live);
            }
            Step::Detach(which) if !out.is_empty() => {
                let (live, array) = out.swap_remove(which % out.len());
                model.counts.detached += u64::from(live.rides);
                assert_eq!(array.detach(), live.address, "detached at a copy");
            }
            Step::IntoLeaf(which) if !out.is_empty() => {
                let (live, array) = out.swap_remove(which % out.len());
                leaves.push((live, array.into_leaf()));
            }
            Step::DropLeaf(which) if !leaves.is_empty() => {
                let (live, leaf) = leaves.swap_remove(which % leaves.len());
                drop(leaf);
                model.come_home(&live);
            }
            Step::DetachLeaf(which) if !leaves.is_empty() => {
                let (live, leaf) = leaves.swap_remove(which % leaves.len());
                model.counts.detached += u64::from(live.rides);
                assert_eq!(leaf.detach(), live.address, "detached at a copy");
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
            Step::EndSweep => break true,
            _ => {}
        }
        let live = || {
            out.iter()
                .map(|(live, _)| live)
                .chain(leaves.iter().map(|(live, _)| live))
        };
        let filled = || live().filter(|live| bytes_of(live.class) > 0);
        let addresses: HashSet<_> = filled().map(|live| live.address).collect();
        assert_eq!(
            addresses.len(),
            filled().count(),
            "two borrowers share memory"
        );
        model.check(pool.stats());
        let riding = live().filter(|live| live.rides).count();
        assert_eq!(pool.stats().live(), riding as u64);
    };
    for (live, array) in out {
        drop(array);
        model.give(&live);
    }
    drop(arena);
    model.end_sweep();
    model.check(pool.stats());
    more
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_sweeps_keep_the_accounts_of_plain_lists(
        steps in prop::collection::vec(step(), 1..if cfg!(miri) { 40 } else { 200 })
    ) {
        let pool = GradPool::new(LIMITS);
        let (mut model, mut leaves) = (Model::default(), Vec::new());
        let mut steps = steps.into_iter();
        while sweep(&pool, &mut model, &mut leaves, &mut steps) {}
        for (live, leaf) in leaves {
            drop(leaf);
            model.come_home(&live);
            model.check(pool.stats());
        }
        prop_assert_eq!(pool.stats().live(), 0);
    }
}
