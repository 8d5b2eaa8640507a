//! The threads of one pool under every interleaving of two of them: arrival, exit, inheritance,
//! and a switch that is turned meanwhile.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release -p tls-pool --test loom
//! ```
#![cfg(loom)]

use loom::thread;
use tls_pool::{Bounded, Refusal, Stats, TlsPool};

fn check_identities(stats: Stats) {
    assert_eq!(stats.acquires(), stats.returns + stats.detached);
    assert_eq!(stats.returns, stats.kept + stats.refusals());
    assert_eq!(
        stats.kept,
        stats.hits + stats.evicted + stats.cleared + stats.held_buffers
    );
}

/// The sums once every thread has ended: a loom thread can be joined before its locals are gone.
fn settled(pool: &TlsPool, ended: impl Fn(&Stats) -> bool) -> Stats {
    loop {
        let stats = pool.stats();
        if ended(&stats) {
            return stats;
        }
        thread::yield_now();
    }
}

fn pool() -> TlsPool {
    TlsPool::new(Bounded::UNLIMITED)
}

#[test]
fn an_ended_threads_shelf_has_one_heir() {
    loom::model(|| {
        let pool = pool();
        let fill = |pool: &TlsPool, mine: u8| {
            let mut scratch = pool.zeroed::<u8>(&[2]).unwrap();
            assert_eq!(*scratch, [0; 2]);
            scratch.fill(mine);
            assert_eq!(*scratch, [mine; 2]);
        };
        let other = pool.clone();
        let thread = thread::spawn(move || fill(&other, 1));
        fill(&pool, 2);
        thread.join().unwrap();
        let stats = pool.stats();
        assert_eq!(stats.acquires(), 2);
        // Either this thread inherited from the other and hit, or each has a shelf.
        assert_eq!(stats.held_buffers, stats.misses);
        check_identities(stats);
    });
}

#[test]
fn a_pool_that_is_switched_off_holds_nothing_however_a_thread_ends() {
    loom::model(|| {
        let pool = pool();
        let other = pool.clone();
        let thread = thread::spawn(move || drop(other.zeroed::<u8>(&[2]).unwrap()));
        pool.set_enabled(false);
        thread.join().unwrap();
        let stats = settled(&pool, |stats| stats.held_buffers == 0);
        assert_eq!(stats.acquires() + stats.bypassed, 1);
        check_identities(stats);
    });
}

#[test]
fn a_buffer_that_comes_back_while_the_pool_is_switched_off_is_freed() {
    let mut model = loom::model::Builder::new();
    // All interleavings take three quarters of a minute; those with two preemptions no time.
    model.preemption_bound = Some(2);
    model.check(|| {
        let pool = pool();
        let scratch = pool.zeroed::<u8>(&[2]).unwrap().into_owned();
        let thread = thread::spawn(move || drop(scratch));
        pool.set_enabled(false);
        thread.join().unwrap();
        let stats = settled(&pool, |stats| stats.held_buffers == 0);
        assert_eq!(stats.returns, 1);
        assert_eq!(stats.cleared + stats.refused_for(Refusal::SwitchedOff), 1);
        check_identities(stats);
    });
}

#[test]
fn the_last_handle_may_go_while_another_thread_ends() {
    loom::model(|| {
        let pool = pool();
        let other = pool.clone();
        let thread = thread::spawn(move || drop(other.zeroed::<u8>(&[2]).unwrap()));
        drop(pool);
        thread.join().unwrap();
    });
}

#[test]
fn a_surplus_that_one_thread_leaves_serves_another_once() {
    let one = Bounded {
        class_buffers: 1,
        ..Bounded::UNLIMITED
    };
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let pool = TlsPool::with_depot(one, one);
        let other = pool.clone();
        let thread = thread::spawn(move || {
            let both = [1, 2].map(|mine| {
                let mut scratch = other.zeroed::<u8>(&[2]).unwrap();
                scratch.fill(mine);
                scratch
            });
            assert_eq!((both[0][0], both[1][0]), (1, 2));
        });
        let scratch = pool.zeroed::<u8>(&[2]).unwrap();
        assert_eq!(*scratch, [0; 2]);
        drop(scratch);
        thread.join().unwrap();
        let stats = pool.stats();
        assert!(stats.held_buffers <= 3, "a shelf each and the depot");
        check_identities(stats);
    });
}
