//! Threads that come and go, buffers that cross between them, and somebody at the switch: bounds
//! at every step, true accounts after.
//!
//! ```text
//! cargo xtask stress   # a minute of it, and a short run under valgrind
//! ```
#![cfg(not(loom))]

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use tls_pool::{Bounded, Scratch, TlsPool, WhenFull};

/// Threads that borrow, at once.
const THREADS: u64 = if cfg!(miri) { 2 } else { 4 };

/// Buffers that a thread borrows in its life.
const BORROWS: u64 = if cfg!(miri) { 12 } else { 200 };

/// Bounds of one thread, and of the depot.
const LIMITS: Bounded = Bounded {
    class_buffers: 4,
    pool_buffers: 12,
    pool_bytes: 12 * 300,
    classes: 6,
    when_full: WhenFull::Evict,
    ..Bounded::UNLIMITED
};

/// Shelves that hold something: of the borrowing threads, the one that drops, the one that looks,
/// the depot, and those of ended threads that wait for an heir.
const SHELVES: u64 = THREADS + 3 + 8;

type Sent<'p> = (u8, Scratch<'p, u8>);

fn assert_bounds(pool: &TlsPool) {
    // Of all threads, and of those that begin while others end.
    let stats = pool.stats();
    let shelves = 2 * SHELVES;
    assert!(
        stats.held_buffers <= LIMITS.pool_buffers as u64 * shelves,
        "{stats}"
    );
    assert!(
        stats.held_bytes <= LIMITS.pool_bytes as u64 * shelves,
        "{stats}"
    );
    // Of this one, to the last byte.
    let own = pool.thread_stats();
    assert!(own.held_buffers <= LIMITS.pool_buffers as u64, "{own}");
    assert!(own.held_bytes <= LIMITS.pool_bytes as u64, "{own}");
    assert!(own.classes <= LIMITS.classes as u64, "{own}");
}

/// One thread's life: every byte is its stamp, so that a buffer with two owners shows.
fn borrow<'p>(pool: &'p TlsPool, stamp: u64, away: &SyncSender<Sent<'p>>) {
    let mine = stamp.to_le_bytes()[0];
    let mut random = stamp;
    let mut live: Vec<Scratch<'p, u8>> = Vec::new();
    for round in 0..BORROWS {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let len = 1 + usize::try_from((random >> 33) % 8).expect("a small number") * 40;
        let mut scratch = pool.zeroed::<u8>(&[len]).expect("small shapes are valid");
        assert!(scratch.iter().all(|&byte| byte == 0), "stale bytes");
        scratch.fill(mine);
        assert_bounds(pool);
        match round % 5 {
            0 => live.push(scratch),
            1 => {
                away.send((mine, scratch))
                    .expect("the dropper outlives the borrowers");
            }
            2 => assert_eq!(scratch.detach().len(), len),
            3 => drop(scratch),
            _ => drop(live.pop()),
        }
        let all_mine = |scratch: &Scratch<'_, u8>| scratch.iter().all(|&byte| byte == mine);
        assert!(live.iter().all(all_mine), "another thread wrote into it");
    }
}

/// Borrowing threads, a few at a time, as long as it `goes_on`.
fn run(mut goes_on: impl FnMut() -> bool) {
    let pool = TlsPool::with_depot(LIMITS, LIMITS);
    let mut lives = 0;
    thread::scope(|scope| {
        let pool = &pool;
        let (away, inbox) = sync_channel::<Sent<'_>>(8);
        let dropper = scope.spawn(move || {
            for (stamp, scratch) in inbox {
                assert!(scratch.iter().all(|&byte| byte == stamp));
                drop(scratch);
                assert_bounds(pool);
            }
        });
        scope.spawn(move || {
            while !dropper.is_finished() {
                pool.set_enabled(false);
                pool.set_enabled(true);
                pool.end_round();
                pool.clear();
                thread::yield_now();
            }
        });
        let mut stamp = 0;
        while goes_on() {
            let threads: Vec<_> = (0..THREADS)
                .map(|_| {
                    stamp += 1;
                    lives += 1;
                    let (away, mine) = (away.clone(), stamp);
                    scope.spawn(move || borrow(pool, mine, &away))
                })
                .collect();
            for thread in threads {
                thread.join().expect("a borrower saw another's buffer");
            }
        }
        drop(away);
    });
    pool.set_enabled(false);
    let stats = pool.stats();
    assert_eq!(
        stats.acquires() + stats.bypassed,
        lives * BORROWS,
        "{stats}"
    );
    assert_eq!(stats.live(), 0, "{stats}");
    assert_eq!(stats.acquires(), stats.returns + stats.detached, "{stats}");
    assert_eq!(stats.returns, stats.kept + stats.refusals(), "{stats}");
    let gone = stats.hits + stats.evicted + stats.cleared;
    assert_eq!(stats.kept, gone + stats.held_buffers, "{stats}");
}

#[test]
fn bounds_and_accounts_hold_while_threads_come_and_go_and_the_pool_is_switched() {
    let mut rounds = if cfg!(miri) { 2 } else { 60 };
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
