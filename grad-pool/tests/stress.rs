//! Sweeps of threads that come and go, leaves that go home from others, and somebody at the switch:
//! bounds at every step, true accounts after.
//!
//! ```text
//! cargo xtask stress   # a minute of it, and a short run under valgrind
//! ```

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use grad_pool::{Bounded, GradPool, Leaf, WhenFull};

/// Sweeps at once.
const SWEEPS: u64 = if cfg!(miri) { 2 } else { 4 };

/// Arrays that a sweep has at most, and elements of the largest.
const ARRAYS: u64 = 6;
const LONGEST: u64 = 64;

const LIMITS: Bounded = Bounded {
    class_buffers: 4,
    pool_buffers: 24,
    pool_bytes: 24 * 200,
    classes: 10,
    when_full: WhenFull::Evict,
    ..Bounded::UNLIMITED
};

/// The shared tier is within its limits, and each sweep within what it can have.
fn assert_bounds(pool: &GradPool) {
    let stats = pool.stats();
    let most = LIMITS.pool_buffers as u64 + SWEEPS * ARRAYS;
    assert!(stats.held_buffers <= most, "{stats}");
    let most = LIMITS.pool_bytes as u64 + SWEEPS * ARRAYS * LONGEST * 8;
    assert!(stats.held_bytes <= most, "{stats}");
    assert!(
        stats.classes <= LIMITS.classes as u64 + SWEEPS * ARRAYS,
        "{stats}"
    );
}

/// One sweep: every element is the sweep's stamp, so that an array with two owners shows.
fn sweep(pool: &GradPool, stamp: u64, home: &SyncSender<(u64, Leaf<f64>)>) -> u64 {
    let arena = pool.arena();
    let mine = stamp as f64;
    let mut random = stamp;
    let mut live = Vec::new();
    for _ in 0..ARRAYS {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let len = 1 + usize::try_from((random >> 33) % LONGEST).expect("a small number");
        let mut array = arena.zeroed::<f64>(len);
        assert!(array.iter().all(|&element| element.to_bits() == 0));
        array.fill(mine);
        live.push(array);
        assert_bounds(pool);
    }
    let is_mine = |array: &[f64]| {
        array
            .iter()
            .all(|&element| element.to_bits() == mine.to_bits())
    };
    assert!(
        live.iter().all(|array| is_mine(array)),
        "another sweep wrote into it"
    );
    let leaf = live.pop().map(grad_pool::Grad::into_leaf);
    let detached = live.pop().map(grad_pool::Grad::detach);
    assert!(detached.is_none_or(|array| is_mine(&array)));
    drop(live);
    drop(arena);
    if let Some(leaf) = leaf {
        home.send((stamp, leaf))
            .expect("the optimiser outlives the sweeps");
    }
    ARRAYS
}

/// Sweeps, a few in each thread, as long as it `goes_on`.
fn run(mut goes_on: impl FnMut() -> bool) {
    let pool = GradPool::new(LIMITS);
    let (home, leaves) = sync_channel::<(u64, Leaf<f64>)>(8);
    let mut borrowed = 0;
    thread::scope(|scope| {
        let optimiser = scope.spawn(move || {
            for (stamp, leaf) in leaves {
                assert!(
                    leaf.iter()
                        .all(|&element| element.to_bits() == (stamp as f64).to_bits())
                );
            }
        });
        let pool = &pool;
        scope.spawn(move || {
            while !optimiser.is_finished() {
                pool.set_enabled(false);
                pool.set_enabled(true);
                pool.end_round();
                pool.clear();
                thread::yield_now();
            }
        });
        let mut stamp = 0;
        while goes_on() {
            let threads: Vec<_> = (0..SWEEPS)
                .map(|_| {
                    stamp += 3;
                    let (home, first) = (home.clone(), stamp);
                    scope.spawn(move || -> u64 {
                        (first..first + 3)
                            .map(|stamp| sweep(pool, stamp, &home))
                            .sum()
                    })
                })
                .collect();
            for thread in threads {
                borrowed += thread.join().expect("a sweep saw another's array");
            }
        }
        drop(home);
    });
    pool.set_enabled(false);
    let stats = pool.stats();
    assert_eq!(stats.acquires() + stats.bypassed, borrowed, "{stats}");
    assert_eq!((stats.live(), stats.held_buffers), (0, 0), "{stats}");
    assert_eq!(stats.acquires(), stats.returns + stats.detached, "{stats}");
    assert_eq!(stats.returns, stats.kept + stats.refusals(), "{stats}");
    assert_eq!(
        stats.kept,
        stats.hits + stats.evicted + stats.cleared,
        "{stats}"
    );
}

#[test]
fn bounds_and_accounts_hold_while_threads_come_and_go_and_the_pool_is_switched() {
    let mut rounds = if cfg!(miri) { 2 } else { 300 };
    run(|| {
        rounds -= 1;
        rounds >= 0
    });
}

#[test]
#[ignore = "takes a minute"]
fn bounds_and_accounts_hold_for_a_minute() {
    let begun = Instant::now();
    run(|| begun.elapsed() < Duration::from_mins(1));
}
