//! Cases of `frame-pool`: a pair on one thread, and frames that cross to another.

use frame_pool::{Bounded, FramePool};

use super::lenders::Missing;
use super::{one, size_name};
use crate::case::{Case, Target};
use crate::forms::{Filled, LockedFit, Malloc, Queues, Stacks};
use crate::lender::{Class, Lender, across, pairs};
use crate::side::{Side, on_threads};

/// Frames that the pools of the crossing cases may hold: more than are under way.
const HELD: usize = 128;

/// Adds this pool's cases.
pub(super) fn add(cases: &mut Vec<Case>) {
    for threads in [1, 2] {
        for len in [1 << 10, 16 << 10, 90_000] {
            cases.extend([0, 32].map(|held| pair(len, held, threads)));
        }
    }
    cases.extend([1 << 10, 4 << 10, 16 << 10, 64 << 10].map(crossing));
    cases.extend([64, 256].map(small));
    cases.push(miss());
}

/// On two threads, both share the pool; only the floor keeps them apart.
fn pair(len: usize, held: usize, threads: usize) -> Case {
    let target = if threads == 1 {
        Target::AtMost(2.5)
    } else {
        Target::Shown
    };
    let case = Case::new(
        format!("frame/pair/{}/{held}-held/{threads}t", size_name(len)),
        "a frame costs what a bare stack costs, two and a half times over, whatever else is held",
        filled("frame-pool", len, held, threads, FramePool::default),
    )
    .against(
        filled("floor: bare stack", len, 0, threads, Stacks::default),
        target,
    )
    .against(
        filled(
            "lock and linear fit",
            len,
            held.saturating_sub(1),
            threads,
            LockedFit::default,
        ),
        Target::Shown,
    );
    if threads > 1 { case.in_batches() } else { case }
}

/// Pairs of one length, over a lender that also holds so many buffers of other lengths.
fn filled<L: Lender<u8> + Sync + 'static>(
    name: &str,
    len: usize,
    held: usize,
    threads: usize,
    make: impl Fn() -> L + 'static,
) -> Side {
    Side::new(name, move || {
        let lender = make();
        // None of them may serve a request for `len`.
        let others: Vec<_> = (1..=held)
            .map(|other| Class::of(0, 5 * len + other))
            .collect();
        let out: Vec<_> = others.iter().map(|class| lender.take(class)).collect();
        for (class, buffer) in others.iter().zip(out) {
            lender.give(class, buffer);
        }
        let class = [Class::of(0, len)];
        on_threads(threads, move |rounds| pairs(&lender, &class, rounds))
    })
}

fn crossing(len: usize) -> Case {
    let class = Class::of(0, len);
    Case::new(
        format!("frame/across/{}", size_name(len)),
        "a frame that is dropped on another thread costs less than one from a lock-free queue, \
         the channel's own cost included",
        Side::new("frame-pool", move || {
            let pool = FramePool::new(Bounded {
                pool_buffers: HELD,
                ..FramePool::LIMITS
            });
            Box::new(move |rounds| Ok(across(&pool, class, rounds)))
        }),
    )
    .against(
        Side::new("ArrayQueue", move || {
            let queues = Queues::<u8>::default();
            Box::new(move |rounds| Ok(across(&queues, class, rounds)))
        }),
        Target::AtMost(0.8),
    )
    .against(
        Side::new("malloc", move || {
            Box::new(move |rounds| Ok(across::<u8, _>(&Malloc, class, rounds)))
        }),
        Target::AtMost(1.0),
    )
    .against(Side::peer("mimalloc", "mimalloc"), Target::AtMost(1.0))
    .in_batches()
}

/// A frame that crosses, from the process's allocator; what a peer serves.
#[must_use]
pub fn allocated_crossings(allocator: &'static str) -> Vec<Case> {
    [1 << 10, 4 << 10, 16 << 10, 64 << 10]
        .map(|len| {
            let class = Class::of(0, len);
            let side = Side::new(allocator, move || {
                Box::new(move |rounds| Ok(across::<u8, _>(&Malloc, class, rounds)))
            });
            Case::new(format!("frame/across/{}", size_name(len)), "", side)
        })
        .into()
}

fn small(len: usize) -> Case {
    Case::new(
        format!("frame/small/{}", size_name(len)),
        "below 1 KiB a frame is not worse than one from the allocator by more than 3 ns",
        one::<u8, _>("frame-pool", len, FramePool::default),
    )
    .against(
        one::<u8, _>("malloc and fill", len, || Filled),
        Target::NanosMore(3.0),
    )
    .against(
        one::<u8, _>("calloc", len, || Malloc),
        Target::NanosMore(3.0),
    )
}

fn miss() -> Case {
    Case::new(
        "frame/miss/1KiB",
        "a request that the pool can not serve costs little more than the allocation",
        one::<u8, _>("frame-pool", 1 << 10, || Missing(FramePool::default())),
    )
    .against(
        one::<u8, _>("malloc and fill", 1 << 10, || Filled),
        Target::NanosMore(15.0),
    )
    .against(
        one::<u8, _>("calloc", 1 << 10, || Malloc),
        Target::NanosMore(15.0),
    )
}
