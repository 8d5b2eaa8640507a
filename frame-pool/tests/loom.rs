//! Models of the shared pool: every interleaving of a few steps of two or three threads.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p frame-pool --test loom`
#![cfg(loom)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use frame_pool::{BestFit, Bounded, FramePool, Held, Offer, Refusal, Retention, Stats, Verdict};
use loom::thread;

const ONE: Bounded = Bounded {
    pool_buffers: 1,
    pool_bytes: 8,
    ..Bounded::UNLIMITED
};

fn assert_quiet<P: Retention + 'static>(pool: &FramePool<P>) -> Stats {
    let stats = pool.stats();
    assert_eq!(stats.acquires(), stats.returns + stats.detached, "{stats}");
    assert_eq!(stats.returns, stats.kept + stats.refusals(), "{stats}");
    let gone = stats.hits + stats.evicted + stats.cleared;
    assert_eq!(stats.kept, gone + stats.held_buffers, "{stats}");
    stats
}

#[test]
fn two_links_never_hold_the_same_buffer_nor_overfill_the_pool() {
    loom::model(|| {
        let pool = FramePool::new(ONE);
        let reader = pool.clone();
        let link = thread::spawn(move || *reader.copy_of(b"aaaa") == *b"aaaa");
        assert_eq!(*pool.copy_of(b"bbbb"), *b"bbbb");
        assert!(pool.stats().held_buffers <= 1);
        assert!(
            link.join().unwrap(),
            "the other link's bytes changed under it"
        );
        let stats = assert_quiet(&pool);
        assert_eq!((stats.held_buffers, stats.peak_buffers), (1, 1));
        assert_eq!(stats.misses + stats.hits, 2);
    });
}

#[test]
fn a_frame_moved_to_another_thread_serves_the_first_one_again_or_misses() {
    loom::model(|| {
        let pool = FramePool::new(ONE);
        let frame = pool.copy_of(b"aaaa");
        let drain = thread::spawn(move || assert_eq!(*frame, *b"aaaa"));
        let next = pool.copy_of(b"bbbb");
        drain.join().unwrap();
        assert_eq!(*next, *b"bbbb");
        drop(next);
        assert_quiet(&pool);
    });
}

#[test]
fn a_return_that_races_with_switching_off_leaves_nothing_held() {
    loom::model(|| {
        let pool = FramePool::without_tiers(ONE, BestFit::within(4));
        let frame = pool.take(4);
        let link = thread::spawn(move || drop(frame));
        pool.set_enabled(false);
        assert_eq!(pool.stats().held_buffers, 0, "off means empty, at once");
        link.join().unwrap();
        let stats = assert_quiet(&pool);
        assert_eq!((stats.held_buffers, stats.held_bytes), (0, 0));
        assert_eq!(stats.cleared + stats.refused_for(Refusal::SwitchedOff), 1);
    });
}

#[test]
fn a_return_that_races_with_off_and_on_is_freed_or_lent_again() {
    loom::model(|| {
        let pool = FramePool::without_tiers(ONE, BestFit::within(4));
        let frame = pool.take(4);
        let link = thread::spawn(move || drop(frame));
        pool.set_enabled(false);
        pool.set_enabled(true);
        drop(pool.take(4));
        link.join().unwrap();
        let stats = assert_quiet(&pool);
        assert_eq!(stats.hits + stats.misses, 2);
        assert_eq!(stats.held_buffers, 1);
    });
}

#[test]
fn a_clear_that_races_with_a_return_gives_it_up_or_finds_nothing() {
    loom::model(|| {
        let pool = FramePool::without_tiers(ONE, BestFit::within(4));
        let frame = pool.take(4);
        let link = thread::spawn(move || drop(frame));
        pool.clear();
        link.join().unwrap();
        let stats = assert_quiet(&pool);
        assert_eq!(stats.cleared + stats.held_buffers, 1);
    });
}

#[test]
fn a_request_that_races_with_switching_off_rides_the_pool_or_does_not() {
    loom::model(|| {
        let pool = FramePool::without_tiers(ONE, BestFit::within(4));
        let reader = pool.clone();
        let link = thread::spawn(move || drop(reader.take(4)));
        pool.set_enabled(false);
        link.join().unwrap();
        let stats = assert_quiet(&pool);
        assert_eq!((stats.misses + stats.bypassed, stats.held_buffers), (1, 0));
    });
}

#[test]
fn two_switches_at_once_leave_a_pool_that_holds_nothing_when_it_is_off() {
    loom::model(|| {
        let pool = FramePool::without_tiers(ONE, BestFit::within(4));
        let frame = pool.take(4);
        let other = pool.clone();
        let off = thread::spawn(move || other.set_enabled(false));
        let link = thread::spawn(move || drop(frame));
        pool.set_enabled(true);
        off.join().unwrap();
        link.join().unwrap();
        assert!(pool.is_enabled() || assert_quiet(&pool).held_buffers == 0);
    });
}

/// Room for two buffers: one place in each of two threads.
const TWO: Bounded = Bounded {
    pool_buffers: 2,
    pool_bytes: 8,
    ..Bounded::UNLIMITED
};

#[test]
fn two_threads_with_places_of_their_own_stay_within_the_bounds_and_hand_everything_on() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2); // without, it takes minutes
    model.check(|| {
        let pool = FramePool::new(TWO);
        let reader = pool.clone();
        let link = thread::spawn(move || {
            drop(reader.copy_of(b"aaaa"));
            let frame = reader.copy_of(b"cccc");
            assert_eq!(*frame, *b"cccc");
            assert!(reader.stats().held_buffers <= 2);
        });
        let frame = pool.copy_of(b"bbbb");
        assert!(pool.stats().held_buffers <= 2);
        assert_eq!(*frame, *b"bbbb");
        drop(frame);
        link.join().unwrap();
        let stats = assert_quiet(&pool);
        assert!(
            stats.held_buffers <= 2 && stats.peak_buffers <= 2,
            "{stats}"
        );
        assert!(
            stats.hits >= 1,
            "the link has its own buffer again: {stats}"
        );
    });
}

#[test]
fn a_clear_reaches_the_places_of_a_thread_that_is_busy_or_ends() {
    loom::model(|| {
        let pool = FramePool::new(TWO);
        let other = pool.clone();
        let link = thread::spawn(move || {
            drop(other.take(4));
            drop(other.take(4));
        });
        pool.set_enabled(false);
        link.join().unwrap();
        // A loom thread can be joined before its locals are gone.
        while pool.stats().held_buffers > 0 || pool.stats().classes > 0 {
            thread::yield_now();
        }
        assert_quiet(&pool);
    });
}

/// Keeps everything, and counts its own end.
struct Witness(Arc<AtomicUsize>);

impl Retention for Witness {
    fn rule(&mut self, _: Offer, _: Held) -> Verdict {
        Verdict::Keep
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_return_that_races_with_the_last_handle_frees_the_pool_once() {
    loom::model(|| {
        let ends = Arc::new(AtomicUsize::new(0));
        let pool = FramePool::new(Witness(Arc::clone(&ends)));
        let frame = pool.take(4);
        drop(pool.take(4));
        let link = thread::spawn(move || drop(frame));
        drop(pool);
        link.join().unwrap();
        assert_eq!(ends.load(Ordering::Relaxed), 1);
    });
}
