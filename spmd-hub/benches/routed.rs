//! Round trips through the hub over Unix sockets, and an allreduce of a small model's gradients.
//!
//! `cargo bench -p spmd-hub`. Each world is checked for equal results before it is timed. Ranks
//! are threads of this process over real sockets and a real hub; what a wake-up costs depends on
//! which core a thread runs on, so compare within one run only.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use spmd_hub::{Backend, Communicator, Error, Sum, World};

/// The gradients of a 64-64-10 perceptron, in elements.
const GRADIENTS: usize = 64 * 64 + 64 + 64 * 10 + 10;

/// Runs `work` the asked-for number of times on every rank and returns rank 1's time.
fn timed(
    backend: Backend,
    size: usize,
    work: impl Fn(&Communicator) -> Result<(), Error> + Sync,
) -> Duration {
    let times = World::new(size).backend(backend).run(|comm| {
        comm.barrier()?;
        let begun = Instant::now();
        work(comm)?;
        Ok::<_, Error>(begun.elapsed())
    });
    times.expect("the world stands")[1]
}

/// One message from rank 1 to rank 2 and back, both ways routed.
fn round_trips(comm: &Communicator, rounds: u64, payload: &[u8]) -> Result<(), Error> {
    let mut buffer = vec![0_u8; payload.len()];
    for _ in 0..rounds {
        match comm.rank() {
            1 => {
                comm.send(payload, 2, 0)?;
                comm.recv_into(&mut buffer, 2, 0)?;
            }
            2 => {
                comm.recv_into(&mut buffer, 1, 0)?;
                comm.send(&buffer, 1, 0)?;
            }
            _ => {}
        }
    }
    assert!(
        comm.rank() == 0 || rounds == 0 || buffer == payload,
        "the echo differs"
    );
    Ok(())
}

fn routed(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("routed round trip");
    for bytes in [8, 1 << 10, 90 << 10, 1 << 20] {
        let payload: Vec<u8> = (0..bytes).map(|at: usize| at.to_le_bytes()[0]).collect();
        group.throughput(Throughput::Bytes(2 * bytes as u64));
        for backend in [Backend::Unix, Backend::Tcp] {
            timed(backend, 3, |comm| round_trips(comm, 1, &payload));
            group.bench_function(BenchmarkId::new(backend.to_string(), bytes), |bencher| {
                bencher.iter_custom(|rounds| {
                    timed(backend, 3, |comm| round_trips(comm, rounds, &payload))
                });
            });
        }
    }
    group.finish();
}

fn allreduce(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("allreduce of 4 ranks");
    let gradients: Vec<f32> = (0..GRADIENTS).map(|at| at as f32).collect();
    group.throughput(Throughput::Bytes(size_of_val(gradients.as_slice()) as u64));
    for backend in [Backend::Threads, Backend::Unix, Backend::Tcp] {
        timed(backend, 4, |comm| {
            let expected: Vec<f32> = gradients.iter().map(|element| 4.0 * element).collect();
            assert_eq!(comm.allreduce(&gradients, Sum)?, expected);
            Ok(())
        });
        group.bench_function(
            BenchmarkId::new(backend.to_string(), GRADIENTS),
            |bencher| {
                bencher.iter_custom(|rounds| {
                    timed(backend, 4, |comm| {
                        let mut folded = gradients.clone();
                        (0..rounds).try_for_each(|_| {
                            folded.copy_from_slice(&gradients);
                            comm.allreduce_into(&mut folded, Sum)
                        })?;
                        black_box(folded);
                        Ok(())
                    })
                });
            },
        );
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = routed, allreduce
}
criterion_main!(benches);
