//! One array of 64 MiB on ordinary pages and on huge ones.
//!
//! ```text
//! cargo run --release -p grad-pool --features huge-pages --example huge_pages
//! ```
//!
//! Prints the least times over some rounds, in each of which both pools make their array anew:
//! for the first pass, which the kernel's page faults belong to, and for a later one. The last
//! column is what the process has on huge pages, as Linux counts it.
#![expect(clippy::print_stdout, reason = "an example reports to its user")]

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use grad_pool::{GradPool, kernels};

const LEN: usize = (64 << 20) / size_of::<f64>();

/// Least times of the three passes.
#[derive(Clone, Copy)]
struct Least {
    first: Duration,
    fill: Duration,
    accumulate: Duration,
    huge_kib: u64,
}

fn timed(least: &mut Duration, pass: impl FnOnce()) {
    let begun = Instant::now();
    pass();
    *least = begun.elapsed().min(*least);
}

/// KiB of this process on huge pages.
fn huge_kib() -> u64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = rollup
        .lines()
        .find(|line| line.starts_with("AnonHugePages:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}

fn main() {
    let pools = [false, true].map(|on| {
        let pool = GradPool::default();
        pool.set_huge_pages(on);
        pool
    });
    let mut least = [Least {
        first: Duration::MAX,
        fill: Duration::MAX,
        accumulate: Duration::MAX,
        huge_kib: 0,
    }; 2];
    for _round in 0..5 {
        for (pool, least) in pools.iter().zip(&mut least) {
            let arena = pool.arena();
            let (mut sum, mut more) = (arena.unspecified::<f64>(LEN), arena.unspecified(LEN));
            timed(&mut least.first, || kernels::fill(&mut sum, 1.0));
            kernels::fill(&mut more, 1.0);
            for _pass in 0..4 {
                timed(&mut least.fill, || kernels::fill(black_box(&mut sum), 1.0));
                timed(&mut least.accumulate, || {
                    kernels::add(black_box(&mut sum), &more).expect("equal lengths");
                });
            }
            least.huge_kib = huge_kib();
            drop((sum, more));
            drop(arena);
            pool.clear();
        }
    }
    println!(
        "{:<14} {:>12} {:>12} {:>12} {:>12}",
        "64 MiB", "first fill", "fill", "+=", "huge KiB"
    );
    for (pages, each) in ["4 KiB pages", "huge pages"].into_iter().zip(least) {
        println!(
            "{pages:<14} {:>12.2?} {:>12.2?} {:>12.2?} {:>12}",
            each.first, each.fill, each.accumulate, each.huge_kib
        );
    }
    let ratio =
        |of: fn(&Least) -> Duration| of(&least[0]).as_secs_f64() / of(&least[1]).as_secs_f64();
    println!(
        "{:<14} {:>12.2} {:>12.2} {:>12.2}",
        "times faster",
        ratio(|each| each.first),
        ratio(|each| each.fill),
        ratio(|each| each.accumulate)
    );
}
