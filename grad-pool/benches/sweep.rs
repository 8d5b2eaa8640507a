//! One borrow and its return within a sweep, and a whole sweep, against plain allocation.
//!
//! ```text
//! cargo bench -p grad-pool --bench sweep
//! ```
//!
//! The floor of a pair is a bare thread-local stack of vectors, without key, guard, policy or
//! statistics. A sweep takes an array, accumulates into every element and returns it once the
//! next node was reached. Both sides return a digest, which must agree before either is timed.

use std::cell::RefCell;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use grad_pool::{Arena, GradPool};

fn digest(array: &mut [f64]) -> f64 {
    let last = array.len() - 1;
    array[last] = 1.0;
    black_box(&mut *array);
    array[last] + array.len() as f64
}

fn pooled(arena: &Arena, len: usize) -> f64 {
    digest(&mut arena.unspecified::<f64>(len))
}

thread_local! {
    static STACK: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}

fn floor(len: usize) -> f64 {
    let alive = "the bench's thread is alive";
    let warm = STACK
        .try_with(|stack| stack.borrow_mut().pop())
        .expect(alive)
        .filter(|warm| warm.len() == len);
    let mut array = warm.unwrap_or_else(|| vec![0.0; len]);
    let digest = digest(&mut array);
    STACK
        .try_with(|stack| stack.borrow_mut().push(array))
        .expect(alive);
    digest
}

fn pair(criterion: &mut Criterion) {
    let pool = GradPool::default();
    let mut group = criterion.benchmark_group("grad/pair");
    for len in [16, 1 << 10, 1 << 14] {
        let len = black_box(len);
        let arena = pool.arena();
        let allocated = |len| digest(&mut vec![0.0; len]);
        let expected = allocated(len).to_bits();
        assert_eq!(floor(len).to_bits(), expected);
        assert_eq!(pooled(&arena, len).to_bits(), expected);
        let id = |name| BenchmarkId::new(name, len);
        group.bench_function(id("allocated"), |bench| bench.iter(|| allocated(len)));
        group.bench_function(id("floor"), |bench| bench.iter(|| floor(len)));
        group.bench_function(id("arena"), |bench| bench.iter(|| pooled(&arena, len)));
    }
    // The same with many arrays held, of lengths that are asked for in turn.
    for (held, lengths) in [(1, 1), (256, 1), (32, 16), (256, 32), (256, 256)] {
        let arena = pool.arena();
        let out: Vec<_> = (0..held)
            .map(|each| arena.unspecified::<f64>(128 + each % lengths))
            .collect();
        drop(out);
        let id = BenchmarkId::new("arena-in-turn", format!("{held}-held-{lengths}-lengths"));
        group.bench_function(id, |bench| {
            let mut next = 0;
            bench.iter(|| {
                next = if next + 1 < lengths { next + 1 } else { 0 };
                pooled(&arena, 128 + next)
            });
        });
    }
    group.finish();
}

/// A sweep over a chain: each node's array is zeroed, gets two contributions, and lives until the
/// next node has read it.
fn sweep(arena: &Arena, nodes: usize, len: usize) -> f64 {
    let mut upstream = arena.zeroed::<f64>(len);
    upstream.fill(1.0);
    for _ in 0..nodes {
        let mut gradient = arena.zeroed::<f64>(len);
        for _ in 0..2 {
            for (sum, &more) in gradient.iter_mut().zip(&*upstream) {
                *sum += 0.5 * more;
            }
        }
        upstream = gradient;
    }
    upstream.iter().sum()
}

fn whole_sweep(criterion: &mut Criterion) {
    let pool = GradPool::default();
    let mut group = criterion.benchmark_group("grad/sweep-64-nodes");
    for len in [16, 1 << 10, 1 << 14] {
        let expected = sweep(&Arena::unpooled(), 64, len).to_bits();
        assert_eq!(sweep(&pool.arena(), 64, len).to_bits(), expected);
        let id = |name| BenchmarkId::new(name, len);
        group.bench_function(id("allocated"), |bench| {
            bench.iter(|| sweep(&Arena::unpooled(), 64, len));
        });
        group.bench_function(id("pooled"), |bench| {
            bench.iter(|| sweep(&pool.arena(), 64, len));
        });
    }
    group.finish();
}

/// What beginning and ending a sweep costs, with so many arrays to hand over.
fn flush(criterion: &mut Criterion) {
    let pool = GradPool::default();
    let mut group = criterion.benchmark_group("grad/flush");
    for arrays in [0, 1, 32, 256] {
        group.bench_function(BenchmarkId::from_parameter(arrays), |bench| {
            bench.iter_batched(
                || {
                    let arena = pool.arena();
                    let out: Vec<_> = (0..arrays)
                        .map(|each| arena.unspecified::<f64>(1 + each % 32))
                        .collect();
                    drop(out);
                    arena
                },
                drop,
                criterion::BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, pair, whole_sweep, flush);
criterion_main!(benches);
