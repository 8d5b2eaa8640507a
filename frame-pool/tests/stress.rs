//! Links, writers and somebody at the switch, all at once: bounds at every step, true accounts after.
//!
//! ```text
//! cargo xtask stress   # a minute of it, and a short run under valgrind
//! ```
#![cfg(not(loom))]

mod common;

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use common::assert_accounts;
use frame_pool::{Bounded, Frame, FramePool, WhenFull};

/// Frames of each link in one run.
const ROUNDS: u64 = if cfg!(miri) { 15 } else { 20_000 };

const LINKS: u64 = if cfg!(miri) { 2 } else { 4 };

fn assert_bounds(pool: &FramePool, limits: Bounded) {
    let stats = pool.stats();
    assert!(stats.held_buffers <= limits.pool_buffers as u64, "{stats}");
    assert!(stats.held_bytes <= limits.pool_bytes as u64, "{stats}");
    assert!(stats.classes <= limits.classes as u64, "{stats}");
    assert!(stats.peak_buffers <= limits.pool_buffers as u64, "{stats}");
    assert!(stats.peak_bytes <= limits.pool_bytes as u64, "{stats}");
}

/// Frames of one link: every byte is the link's stamp, so that a buffer with two owners shows.
fn pump(pool: &FramePool, limits: Bounded, link: u64, outbox: &mpsc::SyncSender<(u64, Frame)>) {
    let mut random = link;
    for round in 0..ROUNDS {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let len = 1 + usize::try_from(random >> 54).expect("ten bits");
        let stamp = link.to_le_bytes()[0];
        let mut frame = if round % 3 == 0 {
            pool.read_from(&mut vec![stamp; len].as_slice(), len)
                .expect("all of it is there")
        } else {
            pool.take(len)
        };
        frame.fill(stamp);
        assert_bounds(pool, limits);
        outbox
            .send((link, frame))
            .expect("the writer outlives the links");
    }
}

fn run(limits: Bounded, switching: bool) {
    let pool = FramePool::new(limits);
    thread::scope(|scope| {
        let (outbox, drain) = mpsc::sync_channel::<(u64, Frame)>(8);
        let mut threads: Vec<_> = (1..=LINKS)
            .map(|link| {
                let (pool, outbox) = (&pool, outbox.clone());
                scope.spawn(move || pump(pool, limits, link, &outbox))
            })
            .collect();
        drop(outbox);
        let held = pool.clone();
        threads.push(scope.spawn(move || {
            for (number, (link, frame)) in drain.into_iter().enumerate() {
                assert!(frame.iter().all(|byte| u64::from(*byte) == link));
                if number % 7 == 0 {
                    assert!(frame.detach().iter().all(|byte| u64::from(*byte) == link));
                }
                assert_bounds(&held, limits);
            }
        }));
        while switching && threads.iter().any(|thread| !thread.is_finished()) {
            pool.set_enabled(!pool.is_enabled());
            pool.clear();
            thread::yield_now();
        }
        // A thread that is joined has given its part of the pool back; the end of a scope alone does
        // not wait for that.
        for thread in threads {
            thread.join().expect("no thread panics");
        }
        if switching {
            pool.set_enabled(false);
        }
    });
    let stats = assert_accounts(&pool, 0);
    assert_eq!(stats.acquires() + stats.bypassed, LINKS * ROUNDS);
    if switching {
        assert_eq!((stats.held_buffers, stats.held_bytes), (0, 0));
    } else {
        assert_eq!(stats.bypassed, 0);
    }
}

fn limits(when_full: WhenFull) -> Bounded {
    Bounded {
        pool_buffers: 6,
        pool_bytes: 3000,
        classes: 4,
        when_full,
        ..Bounded::UNLIMITED
    }
}

#[test]
fn the_bounds_hold_at_every_step_under_traffic() {
    run(limits(WhenFull::Refuse), false);
    run(limits(WhenFull::Evict), false);
}

#[test]
fn the_bounds_and_the_accounts_hold_while_the_switch_is_flipped() {
    run(limits(WhenFull::Evict), true);
}

#[test]
#[ignore = "takes a minute"]
fn bounds_and_accounts_hold_for_a_minute() {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_mins(1) {
        run(limits(WhenFull::Refuse), false);
        run(limits(WhenFull::Evict), true);
    }
}
