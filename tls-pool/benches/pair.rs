//! One borrow and its return, against a plain allocation and against a floor.
//!
//! ```text
//! cargo bench -p tls-pool --bench pair
//! ```
//!
//! The floor is a bare thread-local stack of vectors, pushed and popped without key, guard,
//! policy or statistics. All sides return a digest of the buffer they worked on, which must agree
//! before any is timed. `unspecified` shows what the pool costs; `zeroed` adds the fill, which
//! every side but the floor has to pay.

use std::cell::RefCell;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use tls_pool::TlsPool;

thread_local! {
    static STACK: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}

/// What a borrower does: writes one element, and reads it and the length back.
fn digest(buffer: &mut [f64]) -> f64 {
    let last = buffer.len() - 1;
    buffer[last] = 1.0;
    black_box(&mut *buffer);
    buffer[last] + buffer.len() as f64
}

fn allocated(shape: &[usize]) -> f64 {
    digest(&mut vec![0.0; shape.iter().product()])
}

fn floor(shape: &[usize]) -> f64 {
    let mut buffer = STACK
        .try_with(|stack| stack.borrow_mut().pop())
        .ok()
        .flatten()
        .unwrap_or_else(|| vec![0.0; shape.iter().product()]);
    let digest = digest(&mut buffer);
    // Err can not come: this thread is not ending.
    let _ = STACK.try_with(|stack| stack.borrow_mut().push(buffer));
    digest
}

fn unspecified(pool: &TlsPool, shape: &[usize]) -> f64 {
    pool.unspecified::<f64>(shape)
        .map_or(f64::NAN, |mut scratch| digest(&mut scratch))
}

fn owned(pool: &TlsPool, shape: &[usize]) -> f64 {
    pool.unspecified::<f64>(shape)
        .map_or(f64::NAN, |mut scratch| digest(&mut scratch))
}

fn zeroed(pool: &TlsPool, shape: &[usize]) -> f64 {
    pool.zeroed::<f64>(shape)
        .map_or(f64::NAN, |mut scratch| digest(&mut scratch))
}

fn pair(criterion: &mut Criterion) {
    let pool = TlsPool::default();
    let mut group = criterion.benchmark_group("tls/pair");
    for side in [4, 32, 128, 512] {
        let shape = black_box([side, side]);
        let expected = allocated(&shape).to_bits();
        assert_eq!(floor(&shape).to_bits(), expected);
        STACK
            .try_with(|stack| stack.borrow_mut().clear())
            .unwrap_or_default();
        assert_eq!(unspecified(&pool, &shape).to_bits(), expected);
        assert_eq!(owned(&pool, &shape).to_bits(), expected);
        assert_eq!(zeroed(&pool, &shape).to_bits(), expected);
        let id = |name| BenchmarkId::new(name, format!("{}B", side * side * 8));
        group.bench_function(id("allocated"), |bench| bench.iter(|| allocated(&shape)));
        group.bench_function(id("floor"), |bench| bench.iter(|| floor(&shape)));
        group.bench_function(id("unspecified"), |bench| {
            bench.iter(|| unspecified(&pool, &shape));
        });
        group.bench_function(id("owned"), |bench| bench.iter(|| owned(&pool, &shape)));
        group.bench_function(id("zeroed"), |bench| bench.iter(|| zeroed(&pool, &shape)));
        STACK
            .try_with(|stack| stack.borrow_mut().clear())
            .unwrap_or_default();
    }
    group.finish();
}

/// Sixteen shapes in turn, per pair.
fn shapes_in_turn(criterion: &mut Criterion) {
    let pool = TlsPool::default();
    let shapes: Vec<_> = (1..=16).map(|each| black_box([each, 64])).collect();
    let all = |borrow: &dyn Fn(&[usize]) -> f64| -> f64 {
        shapes.iter().map(|shape| borrow(shape)).sum()
    };
    let expected = all(&allocated).to_bits();
    assert_eq!(all(&|shape| unspecified(&pool, shape)).to_bits(), expected);
    let mut group = criterion.benchmark_group("tls/16-shapes");
    group.throughput(criterion::Throughput::Elements(16));
    group.bench_function("allocated", |bench| bench.iter(|| all(&allocated)));
    group.bench_function("unspecified", |bench| {
        bench.iter(|| all(&|shape| unspecified(&pool, shape)));
    });
    group.finish();
}

criterion_group!(benches, pair, shapes_in_turn);
criterion_main!(benches);
