//! A frame's round, against what a router would use instead.
//!
//! `cargo bench -p frame-pool`. Both sides of a comparison make the same payloads and are checked
//! for the same digest before either is timed.
//!
//! - `one_thread`: take and return on one thread, with one capacity held and with 32.
//! - `two_threads`: take, stamp and send through a bounded channel; the far side reads the stamp and
//!   returns. The channel's own cost is in every figure.
//!
//! The alternatives: plain allocation, a locked list searched from the front for the best fit (the
//! form that is usually written first), and a lock-free `ArrayQueue` of buffers of one size.

use std::hint::black_box;
use std::ops::DerefMut;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use crossbeam_queue::ArrayQueue;
use frame_pool::{Bounded, Frame, FramePool};

/// What both sides of a comparison do.
trait Side: Sync {
    type Payload: DerefMut<Target: AsMut<[u8]> + AsRef<[u8]>> + Send;
    fn take(&self, len: usize) -> Self::Payload;
    fn give(&self, payload: Self::Payload);
}

impl Side for FramePool {
    type Payload = Frame;

    fn take(&self, len: usize) -> Frame {
        self.take(len)
    }

    fn give(&self, payload: Frame) {
        drop(payload);
    }
}

/// Plain allocation.
struct Malloc;

impl Side for Malloc {
    type Payload = Vec<u8>;

    fn take(&self, len: usize) -> Vec<u8> {
        vec![0; len]
    }

    fn give(&self, payload: Vec<u8>) {
        drop(payload);
    }
}

/// A locked list and a linear search: frees past 32 buffers, cuts the view by the length.
#[derive(Default)]
struct LinearFit(Mutex<Vec<Vec<u8>>>);

impl Side for LinearFit {
    type Payload = Vec<u8>;

    fn take(&self, len: usize) -> Vec<u8> {
        let mut held = self.0.lock().expect("no holder panics");
        let best = (0..held.len())
            .filter(|&at| (len..=4 * len).contains(&held[at].capacity()))
            .min_by_key(|&at| held[at].capacity());
        let found = best.map(|at| held.swap_remove(at));
        drop(held);
        found.unwrap_or_else(|| vec![0; len])
    }

    fn give(&self, payload: Vec<u8>) {
        let mut held = self.0.lock().expect("no holder panics");
        if held.len() < 32 {
            held.push(payload);
        }
    }
}

/// A lock-free queue of buffers that all have one length.
struct Queue(ArrayQueue<Vec<u8>>);

impl Side for Queue {
    type Payload = Vec<u8>;

    fn take(&self, len: usize) -> Vec<u8> {
        self.0.pop().unwrap_or_else(|| vec![0; len])
    }

    fn give(&self, payload: Vec<u8>) {
        // Err gives the buffer back: the queue is full, so it is freed.
        let _ = self.0.push(payload);
    }
}

/// Takes and returns `rounds` payloads, each stamped; returns the sum of the stamps.
fn one_thread<S: Side>(side: &S, len: usize, rounds: u64) -> u64 {
    let mut sum = 0;
    for round in 0..rounds {
        let mut payload = side.take(len);
        stamp(payload.as_mut(), round);
        sum += stamped(black_box(&payload).as_ref());
        side.give(payload);
    }
    sum
}

/// Sends `rounds` stamped payloads to a thread that sums the stamps and returns the buffers.
fn two_threads<S: Side>(side: &S, len: usize, rounds: u64) -> u64 {
    let (outbox, drain) = crossbeam_channel::bounded(64);
    thread::scope(|scope| {
        let far = scope.spawn(move || {
            let mut sum = 0;
            for payload in drain {
                let payload: S::Payload = payload;
                sum += stamped(payload.as_ref());
                side.give(payload);
            }
            sum
        });
        for round in 0..rounds {
            let mut payload = side.take(len);
            stamp(payload.as_mut(), round);
            outbox
                .send(payload)
                .expect("the far side drains until we hang up");
        }
        drop(outbox);
        far.join().expect("the far side only adds")
    })
}

fn stamp(payload: &mut [u8], round: u64) {
    payload[..8].copy_from_slice(&round.to_le_bytes());
}

fn stamped(payload: &[u8]) -> u64 {
    u64::from_le_bytes(payload[..8].try_into().expect("eight bytes"))
}

/// Times `run` after its digest was checked.
fn case<S: Side>(
    criterion: &mut Criterion,
    group: &str,
    name: &str,
    side: &S,
    len: usize,
    run: fn(&S, usize, u64) -> u64,
) {
    assert_eq!(run(side, len, 1000), 499_500, "{group}/{name}/{len}");
    criterion
        .benchmark_group(group)
        .bench_function(BenchmarkId::new(name, len), |bencher| {
            bencher.iter_custom(|rounds| -> Duration {
                let start = Instant::now();
                black_box(run(side, len, rounds));
                start.elapsed()
            });
        });
}

/// Puts 32 buffers of as many lengths into a side, none of which serves `len`.
fn fill<S: Side>(side: &S, len: usize) {
    let others: Vec<_> = (1..=32).map(|other| side.take(5 * len + other)).collect();
    for other in others {
        side.give(other);
    }
}

fn rounds(criterion: &mut Criterion) {
    for len in [64, 1024, 16 << 10, 90_000] {
        let off = FramePool::default();
        off.set_enabled(false);
        let many = FramePool::default();
        fill(&many, len);
        let many_linear = LinearFit::default();
        fill(&many_linear, len);
        many_linear.0.lock().expect("no holder panics").pop();

        let group = "one_thread";
        case(
            criterion,
            group,
            "pool",
            &FramePool::default(),
            len,
            one_thread,
        );
        case(criterion, group, "pool, 32 held", &many, len, one_thread);
        case(criterion, group, "pool, off", &off, len, one_thread);
        case(criterion, group, "malloc", &Malloc, len, one_thread);
        case(
            criterion,
            group,
            "linear",
            &LinearFit::default(),
            len,
            one_thread,
        );
        case(
            criterion,
            group,
            "linear, 32 held",
            &many_linear,
            len,
            one_thread,
        );

        let group = "two_threads";
        let bounded = FramePool::new(Bounded {
            pool_buffers: 128,
            ..FramePool::LIMITS
        });
        let queue = Queue(ArrayQueue::new(128));
        case(criterion, group, "pool", &bounded, len, two_threads);
        case(criterion, group, "array queue", &queue, len, two_threads);
        case(
            criterion,
            group,
            "linear",
            &LinearFit::default(),
            len,
            two_threads,
        );
        case(criterion, group, "malloc", &Malloc, len, two_threads);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .sample_size(30);
    targets = rounds
}
criterion_main!(benches);
