//! Cases of `grad-pool`'s arena: a pair with many arrays held, and the flush when a sweep ends.
//!
//! What is held is put there before the clock starts, as an earlier part of the sweep would have
//! done. Arrays are 8 KiB; no side touches more of them than the first element.

use std::hint::black_box;
use std::time::{Duration, Instant};

use grad_pool::{Arena, GradPool};

use super::lenders::Missing;
use crate::case::{Case, Target};
use crate::forms::linear_scan::Shared;
use crate::forms::{Filled, LinearScan, Malloc, Stacks};
use crate::lender::{Class, Lender, pairs};
use crate::side::{Lap, Run, Side, timed};

/// Arrays held, and how many lengths they are shared out among.
const HELD: [(usize, usize); 6] = [(1, 1), (16, 4), (64, 8), (64, 32), (256, 1), (256, 32)];

/// Elements of an array; each further class has one more.
const LEN: usize = 1 << 10;

/// The most that a flush of 256 arrays may take, in nanoseconds.
const FLUSH_NANOS: f64 = 2_000.0;

/// Adds this pool's cases.
pub(super) fn add(cases: &mut Vec<Case>) {
    cases.extend(HELD.map(|(held, lengths)| pair(held, lengths)));
    cases.push(flush());
    cases.extend([64, 256].map(small));
    cases.push(miss());
}

fn classes(lengths: usize) -> Vec<Class> {
    (0..lengths).map(|at| Class::of(at, LEN + at)).collect()
}

fn pair(held: usize, lengths: usize) -> Case {
    let with_held = move |name: &str, set_up: fn(usize, &[Class]) -> Run| {
        Side::new(name, move || set_up(held, &classes(lengths)))
    };
    Case::new(
        format!("grad/arena/{held}-held-{lengths}-lengths"),
        "a borrow in a sweep costs the same however many arrays the arena holds",
        with_held("grad-pool", |held, classes| {
            warm(GradPool::default().arena(), held, classes)
        }),
    )
    .against(
        with_held("floor: bare stack", |held, classes| {
            warm(Stacks::default(), held, classes)
        }),
        Target::AtMost(2.5),
    )
    .against(
        with_held("linear scan", |held, classes| {
            warm(LinearScan::default(), held, classes)
        }),
        Target::Shown,
    )
}

/// Pairs in turn, over a lender that holds so many buffers of these classes.
fn warm<L: Lender<f64> + 'static>(lender: L, held: usize, classes: &[Class]) -> Run {
    hold(&lender, held, classes);
    let classes = classes.to_vec();
    timed(move |rounds| pairs(&lender, &classes, rounds))
}

/// Puts so many buffers into a lender.
fn hold<L: Lender<f64>>(lender: &L, held: usize, classes: &[Class]) {
    let all = classes.iter().cycle().take(held);
    let out: Vec<_> = all.map(|class| (class, lender.take(class))).collect();
    for (class, buffer) in out {
        lender.give(class, buffer);
    }
}

fn flush() -> Case {
    const ARRAYS: usize = 256;
    Case::new(
        "grad/flush/256-arrays",
        "the end of a sweep hands over what its arena holds under one lock, in 2 µs",
        Side::new("grad-pool", || {
            let (pool, classes) = (GradPool::default(), classes(32));
            flushing(move || {
                let arena = pool.arena();
                hold(&arena, ARRAYS, &classes);
                arena
            })
        }),
    )
    .within(FLUSH_NANOS)
    .against(
        Side::new("linear scan", || {
            let (shared, classes) = (Shared::<f64>::default(), classes(32));
            flushing(move || {
                let arena = LinearScan::over(Shared::clone(&shared));
                hold(&*arena, ARRAYS, &classes);
                arena
            })
        }),
        Target::Shown,
    )
}

/// Times only the drop of what `fill` makes.
fn flushing<A>(mut fill: impl FnMut() -> A + 'static) -> Run {
    Box::new(move |rounds| {
        let mut time = Duration::ZERO;
        for _ in 0..rounds {
            let arena = black_box(fill());
            let start = Instant::now();
            drop(arena);
            time += start.elapsed();
        }
        Ok(Lap {
            time,
            digest: rounds,
        })
    })
}

fn small(bytes: usize) -> Case {
    Case::new(
        format!("grad/small/{}", super::size_name(bytes)),
        "below 1 KiB the arena is not worse than the allocator by more than 3 ns",
        super::one("grad-pool", bytes, || GradPool::default().arena()),
    )
    .against(
        super::one::<f64, _>("malloc and fill", bytes, || Filled),
        Target::NanosMore(3.0),
    )
    .against(
        super::one::<f64, _>("calloc", bytes, || Malloc),
        Target::NanosMore(3.0),
    )
}

fn miss() -> Case {
    Case::new(
        "grad/miss/1KiB",
        "a request that the pool can not serve costs little more than the allocation",
        super::one("grad-pool", 1 << 10, || {
            Missing::<Arena>(GradPool::default().arena())
        }),
    )
    .against(
        super::one::<f64, _>("malloc and fill", 1 << 10, || Filled),
        Target::NanosMore(15.0),
    )
    .against(
        super::one::<f64, _>("calloc", 1 << 10, || Malloc),
        Target::NanosMore(15.0),
    )
}
