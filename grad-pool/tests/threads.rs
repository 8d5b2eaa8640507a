//! Sweeps on several threads over one pool, and leaves that come home from others.

use std::sync::mpsc;
use std::thread;

use grad_pool::{Bounded, GradPool, Leaf, ScratchPool, Stats};

fn check_identities(stats: Stats) {
    assert_eq!(stats.acquires(), stats.returns + stats.detached, "{stats}");
    assert_eq!(stats.returns, stats.kept + stats.refusals(), "{stats}");
    assert_eq!(
        stats.kept,
        stats.hits + stats.evicted + stats.cleared + stats.held_buffers,
        "{stats}"
    );
}

/// Whether every element has exactly the bits of `mine`.
fn all(array: &[f64], mine: f64) -> bool {
    array
        .iter()
        .all(|element| element.to_bits() == mine.to_bits())
}

#[test]
fn leaves_come_home_from_any_thread() {
    let pool = GradPool::default();
    let (sender, receiver) = mpsc::channel::<Leaf<f32>>();
    thread::scope(|scope| {
        scope.spawn(move || receiver.iter().for_each(|leaf| assert_eq!(*leaf, [3.0; 8])));
        for _ in 0..10 {
            let arena = pool.arena();
            let leaf = arena.copy_of(&[3.0; 8]).into_leaf();
            sender.send(leaf).unwrap();
        }
        drop(sender);
    });
    let stats = pool.stats();
    assert_eq!((stats.acquires(), stats.returns), (10, 10));
    check_identities(stats);
}

#[test]
fn concurrent_sweeps_share_the_pool_and_nothing_else() {
    let pool = GradPool::new(Bounded {
        pool_buffers: 8,
        ..Bounded::UNLIMITED
    });
    let sweeps = if cfg!(miri) { 3 } else { 500 };
    thread::scope(|scope| {
        for thread in 0..3_u8 {
            let pool = &pool;
            scope.spawn(move || {
                let mine = f64::from(thread) + 1.0;
                let mut leaves = Vec::new();
                for sweep in 0..sweeps {
                    let arena = pool.arena();
                    let mut upstream = arena.copy_of(&[mine; 16]);
                    for node in 0..10 {
                        let mut gradient = arena.zeroed::<f64>(16 + node % 3);
                        assert!(gradient.iter().all(|&element| element == 0.0));
                        gradient.fill(mine);
                        assert!(all(&upstream, mine));
                        upstream = gradient;
                    }
                    match sweep % 3 {
                        0 => leaves.push(upstream.into_leaf()),
                        1 => assert!(all(&upstream.detach(), mine)),
                        _ => leaves.clear(),
                    }
                }
                for leaf in leaves {
                    assert!(all(&leaf, mine));
                }
            });
        }
    });
    let stats = pool.stats();
    assert_eq!(stats.acquires(), 3 * sweeps * 11);
    assert!(stats.held_buffers <= 8);
    check_identities(stats);
}

#[test]
fn a_switch_flipped_under_traffic_leaves_true_accounts() {
    let pool = GradPool::default();
    let rounds = if cfg!(miri) { 10 } else { 2000 };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 0..rounds {
                    let arena = pool.arena();
                    let leaf = arena.zeroed::<f32>(1 + round % 5).into_leaf();
                    for len in 1..4 {
                        drop(arena.zeroed::<f32>(len));
                    }
                    drop(leaf);
                }
            });
        }
        scope.spawn(|| {
            for round in 0..rounds {
                match round % 3 {
                    0 => pool.set_enabled(false),
                    1 => pool.set_enabled(true),
                    _ => pool.clear(),
                }
            }
        });
    });
    pool.set_enabled(false);
    let stats = pool.stats();
    assert_eq!(stats.held_buffers, 0, "{stats}");
    assert_eq!(stats.acquires() + stats.bypassed, 2 * rounds as u64 * 4);
    check_identities(stats);
}

#[test]
fn sweeps_on_several_threads_borrow_distinct_scratches() {
    let scratches = ScratchPool::<usize>::default();
    let rounds = if cfg!(miri) { 5 } else { 500 };
    thread::scope(|scope| {
        for thread in 0..3 {
            let scratches = &scratches;
            scope.spawn(move || {
                for _ in 0..rounds {
                    let mut scratch = scratches.take();
                    assert!(scratch.order.is_empty());
                    scratch.order.extend([thread; 10]);
                    assert!(scratch.order.iter().all(|&each| each == thread));
                }
            });
        }
    });
}
