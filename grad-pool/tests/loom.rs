//! The shared tier under every interleaving of two threads.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release -p grad-pool --test loom
//! ```
#![cfg(loom)]

use grad_pool::{Bounded, GradPool, Refusal, Stats};
use loom::thread;

const ONE: Bounded = Bounded {
    pool_buffers: 1,
    ..Bounded::UNLIMITED
};

fn check_identities(stats: Stats) {
    assert_eq!(stats.acquires(), stats.returns + stats.detached);
    assert_eq!(stats.returns, stats.kept + stats.refusals());
    assert_eq!(
        stats.kept,
        stats.hits + stats.evicted + stats.cleared + stats.held_buffers
    );
}

/// One sweep: an array filled with `mine`, whose leaf goes home.
fn sweep(pool: &GradPool, mine: f32) {
    let leaf = {
        let arena = pool.arena();
        let mut gradient = arena.zeroed::<f32>(2);
        assert_eq!(*gradient, [0.0; 2]);
        gradient.fill(mine);
        assert_eq!(*gradient, [mine; 2]);
        gradient.into_leaf()
    };
    assert_eq!(*leaf, [mine; 2], "another sweep wrote into it");
}

#[test]
fn two_sweeps_never_share_an_array_nor_overfill_the_pool() {
    loom::model(|| {
        let pool = GradPool::new(ONE);
        let other = pool.clone();
        let thread = thread::spawn(move || sweep(&other, 1.0));
        sweep(&pool, 2.0);
        thread.join().unwrap();
        let stats = pool.stats();
        assert_eq!((stats.acquires(), stats.held_buffers), (2, 1));
        check_identities(stats);
    });
}

#[test]
fn two_flushes_hand_over_every_array_and_every_count() {
    loom::model(|| {
        let pool = GradPool::new(ONE);
        let other = pool.clone();
        let thread = thread::spawn(move || drop(other.arena().zeroed::<f32>(2)));
        drop(pool.arena().zeroed::<f32>(2));
        thread.join().unwrap();
        let stats = pool.stats();
        assert_eq!((stats.acquires(), stats.held_buffers), (2, 1));
        assert_eq!(stats.refused_for(Refusal::PoolFull), stats.misses - 1);
        check_identities(stats);
    });
}

#[test]
fn three_leaves_that_come_home_at_once_leave_as_many_as_the_pool_may_hold() {
    loom::model(|| {
        let pool = GradPool::new(ONE);
        let leaves = {
            let arena = pool.arena();
            [1, 2, 2].map(|len| arena.zeroed::<f32>(len).into_leaf())
        };
        let [mine, others @ ..] = leaves;
        let others = others.map(|leaf| thread::spawn(move || drop(leaf)));
        drop(mine);
        for other in others {
            other.join().unwrap();
        }
        let stats = pool.stats();
        assert_eq!((stats.returns, stats.held_buffers), (3, 1));
        assert_eq!(stats.refused_for(Refusal::PoolFull), 2);
        check_identities(stats);
    });
}

#[test]
fn a_pool_that_is_switched_off_holds_nothing_however_a_leaf_comes_home() {
    loom::model(|| {
        let pool = GradPool::new(Bounded::UNLIMITED);
        let leaf = pool.arena().zeroed::<f32>(2).into_leaf();
        let thread = thread::spawn(move || drop(leaf));
        pool.set_enabled(false);
        thread.join().unwrap();
        let stats = pool.stats();
        assert_eq!((stats.returns, stats.held_buffers), (1, 0));
        assert_eq!(stats.cleared + stats.refused_for(Refusal::SwitchedOff), 1);
        check_identities(stats);
    });
}

#[test]
fn a_pool_that_is_switched_off_holds_nothing_however_a_sweep_ends() {
    loom::model(|| {
        let pool = GradPool::new(Bounded::UNLIMITED);
        let other = pool.clone();
        let thread = thread::spawn(move || drop(other.arena().zeroed::<f32>(2)));
        pool.set_enabled(false);
        thread.join().unwrap();
        let stats = pool.stats();
        assert_eq!(stats.acquires() + stats.bypassed, 1);
        assert_eq!(stats.held_buffers, 0);
        check_identities(stats);
    });
}
