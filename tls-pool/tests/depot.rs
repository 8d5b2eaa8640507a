//! Threads that only borrow and threads that only return, with a depot between them.
#![cfg(not(loom))]
#![expect(
    clippy::unwrap_used,
    reason = "a helper that panics fails the test that called it"
)]

use std::sync::mpsc::sync_channel;
use std::thread;

use tls_pool::{Bounded, Stats, TlsPool};

fn check_identities(stats: Stats) {
    assert_eq!(
        stats.acquires() + stats.adopted,
        stats.returns + stats.detached
    );
    assert_eq!(stats.returns, stats.kept + stats.refusals());
    let gone = stats.hits + stats.evicted + stats.cleared;
    assert_eq!(stats.kept, gone + stats.held_buffers);
}

/// Sends buffers from one thread to another, which drops them.
fn stream(pool: &TlsPool, buffers: usize) {
    let (sender, receiver) = sync_channel(8);
    thread::scope(|scope| {
        scope.spawn(move || receiver.iter().for_each(drop));
        for index in 0..buffers {
            let shape = [[64], [100]][index % 2];
            sender.send(pool.zeroed::<u8>(&shape).unwrap()).unwrap();
        }
        drop(sender);
    });
}

#[test]
fn a_thread_that_only_borrows_hits_what_another_returned() {
    let buffers = if cfg!(miri) { 300 } else { 10_000 };
    for pool in [
        TlsPool::default(),
        TlsPool::with_depot(
            Bounded {
                class_buffers: 8,
                ..Bounded::UNLIMITED
            },
            Bounded::UNLIMITED,
        ),
    ] {
        stream(&pool, buffers);
        let stats = pool.stats();
        // Per class two batches that wait, one on its way, and what the channel holds.
        assert!(stats.misses <= 2 * (3 * 32 + 10), "{stats}");
        check_identities(stats);
    }
}

#[test]
fn without_a_depot_they_do_not_meet() {
    let pool = TlsPool::conservative();
    stream(&pool, 100);
    assert_eq!(pool.stats().hits, 0);
}

#[test]
fn what_a_depot_holds_stays_within_its_own_bounds() {
    let few = Bounded {
        class_buffers: 2,
        ..Bounded::UNLIMITED
    };
    let depot = Bounded {
        pool_bytes: 300,
        ..Bounded::UNLIMITED
    };
    let pool = TlsPool::with_depot(few, depot);
    let out: Vec<_> = (0..50)
        .map(|_| pool.zeroed::<u8>(&[100]).unwrap())
        .collect();
    for scratch in out {
        drop(scratch);
        let stats = pool.stats();
        assert!(stats.held_buffers <= 2 + 3, "{stats}");
        assert!(pool.thread_stats().held_buffers <= 2);
    }
    let stats = pool.stats();
    assert_eq!(stats.held_bytes, 500);
    check_identities(stats);
    // What waits in the depot serves this thread too.
    let again: Vec<_> = (0..5).map(|_| pool.zeroed::<u8>(&[100]).unwrap()).collect();
    assert_eq!(pool.stats().hits, 5);
    drop(again);
}

#[test]
fn a_clear_and_a_switch_empty_the_depot_at_once() {
    let pool = TlsPool::with_depot(
        Bounded {
            class_buffers: 1,
            ..Bounded::UNLIMITED
        },
        Bounded::UNLIMITED,
    );
    for turn in [true, false] {
        let out = [0; 10].map(|_| pool.zeroed::<u8>(&[8]).unwrap());
        drop(out);
        assert_eq!(pool.stats().held_buffers, 10);
        if turn {
            pool.clear();
        } else {
            pool.set_enabled(false);
        }
        assert_eq!(pool.stats().held_buffers, 0);
    }
    pool.set_enabled(true);
    drop(pool.zeroed::<u8>(&[8]).unwrap());
    let stats = pool.stats();
    assert_eq!((stats.hits, stats.misses, stats.cleared), (0, 21, 20));
    check_identities(stats);
}
