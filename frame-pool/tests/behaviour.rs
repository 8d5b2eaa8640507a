//! What a pool of frames promises, one sentence per test. The first half are faults that real
//! buffer pools had.
#![cfg(not(loom))]

mod common;

use std::cell::Cell;
use std::collections::HashSet;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;
use std::thread;

use common::assert_accounts;
use frame_pool::{
    BestFit, Bounded, Decaying, Frame, FramePool, Held, Offer, Refusal, Retention, Stats, Unpooled,
    Verdict, WhenFull,
};

#[test]
fn live_frames_never_share_a_buffer() {
    let pool = FramePool::default();
    for _ in 0..3 {
        let frames: Vec<Frame> = (0..50).map(|_| pool.take(64)).collect();
        let addresses: HashSet<_> = frames.iter().map(|frame| frame.as_ptr()).collect();
        assert_eq!(addresses.len(), frames.len());
    }
    assert_accounts(&pool, 0);
}

#[test]
fn a_frame_is_exactly_as_long_as_asked_whatever_the_buffer() {
    let pool = FramePool::default();
    drop(pool.take(100));
    for len in [100, 99, 50, 25] {
        let mut frame = pool.take(len);
        assert_eq!(frame.len(), len);
        assert_eq!(frame.as_mut().len(), len);
        assert_eq!(frame.as_ref().len(), len);
    }
    assert_eq!(
        (pool.stats().hits, pool.stats().held_bytes),
        (3 + 1, 100),
        "one buffer served all"
    );
}

#[test]
fn held_bytes_are_those_of_capacity_however_short_the_frame_was() {
    let pool = FramePool::default();
    drop(pool.take(1000));
    let mut short = pool.take(400);
    short.truncate(3);
    short.truncate(7);
    assert_eq!(short.len(), 3, "a frame never grows");
    drop(short);
    assert_eq!(pool.stats().held_bytes, 1000);
}

#[test]
fn stale_bytes_do_not_reach_the_next_borrower_where_debug_assertions_are_on() {
    let pool = FramePool::default();
    pool.take(100).fill(0xA5);
    let shorter = pool.copy_of(&[1; 60]);
    assert_eq!(*shorter, [1; 60]);
    drop(shorter);
    let longer = pool.take(100);
    assert_eq!(pool.stats().misses, 1);
    assert!(!cfg!(debug_assertions) || longer.iter().all(|&byte| byte == 0xFF));
}

#[test]
fn one_giant_frame_does_not_pin_its_memory() {
    let pool = FramePool::default();
    drop(pool.take(if cfg!(miri) { 17 << 20 } else { 256 << 20 }));
    for _ in 0..if cfg!(miri) { 10 } else { 10_000 } {
        drop(pool.take(1024));
        assert!(pool.stats().held_bytes <= 1024);
    }
    assert_eq!(pool.stats().bypassed, 1);
}

#[test]
fn ten_thousand_lengths_stay_within_every_bound() {
    let lengths = if cfg!(miri) { 70 } else { 10_000 };
    for when_full in [WhenFull::Evict, WhenFull::Refuse] {
        let limits = Bounded {
            pool_bytes: 1 << 20,
            pool_buffers: 60,
            classes: 40,
            when_full,
            ..FramePool::LIMITS
        };
        let pool = FramePool::new(limits);
        for base in 0..lengths {
            // A pair at a time, so that a buffer of the length before does not serve it.
            drop((pool.take(5000 + base), pool.take(10_000 + base)));
            let stats = assert_accounts(&pool, 0);
            assert!(stats.held_bytes <= 1 << 20);
            assert!(stats.held_buffers <= 60 && stats.classes <= 40);
        }
    }
}

#[test]
fn a_small_request_does_not_walk_off_with_a_large_buffer() {
    let pool = FramePool::default();
    let large = pool.take(1 << 20);
    let address = large.as_ptr();
    drop(large);
    let _small = pool.take(64);
    assert_eq!(pool.take(1 << 20).as_ptr(), address);
    assert_eq!((pool.stats().misses, pool.stats().hits), (2, 1));
}

#[test]
fn the_waste_factor_is_held_to_the_last_byte_and_is_the_callers() {
    for waste in [1, 2, FramePool::WASTE, 100] {
        let pool = FramePool::with_fit(Bounded::UNLIMITED, BestFit::within(waste));
        drop(pool.take(waste * 10));
        let _fits = pool.take(10);
        assert_eq!(pool.stats().hits, 1, "{waste}");
        drop(pool.take(waste * 10 + 1));
        let _too_small = pool.take(10);
        assert_eq!(pool.stats().misses, 3, "{waste}");
    }
}

#[test]
fn a_pool_full_of_tiny_frames_recovers_by_default_and_does_not_when_conservative() {
    let evicting = FramePool::new(Bounded {
        pool_buffers: 32,
        ..FramePool::LIMITS
    });
    let rounds = if cfg!(miri) { 10 } else { 1000 };
    for (pool, most_misses) in [(evicting, 1), (FramePool::conservative(), rounds)] {
        drop((0..32).map(|_| pool.take(1)).collect::<Vec<_>>());
        let before = pool.stats();
        for _ in 0..rounds {
            drop(pool.take(65536));
        }
        assert_eq!(pool.stats().since(&before).misses, most_misses);
        assert_accounts(&pool, 0);
    }
}

#[test]
fn a_consumer_on_another_thread_does_not_hoard() {
    let rounds = if cfg!(miri) { 100 } else { 10_000 };
    let pool = FramePool::default();
    let (outbox, drain) = mpsc::sync_channel::<Frame>(4);
    let consumer = thread::spawn(move || drain.into_iter().map(|frame| frame.len()).sum::<usize>());
    for _ in 0..rounds {
        outbox.send(pool.take(4096)).unwrap();
    }
    drop(outbox);
    assert_eq!(consumer.join().unwrap(), rounds * 4096);
    // Four in the channel, one in each hand, and what either thread has in places of its own.
    assert!(pool.stats().misses <= 6 + 2 * 16, "{}", pool.stats());
    assert_accounts(&pool, 0);
}

#[test]
fn an_empty_frame_never_touches_the_pool() {
    let pool = FramePool::default();
    let mut nothing: &[u8] = &[];
    let frames = [
        pool.take(0),
        pool.copy_of(&[]),
        pool.read_from(&mut nothing, 0).unwrap(),
    ];
    assert!(frames.iter().all(|frame| frame.is_empty()));
    drop(frames);
    assert_eq!(pool.take(0).detach(), []);
    assert_eq!(pool.stats(), Stats::default());
}

#[test]
fn switched_off_means_plain_allocation_at_once() {
    let pool = FramePool::default();
    let before = pool.take(64);
    drop(pool.take(128));
    pool.set_enabled(false);
    assert!(!pool.is_enabled() && !pool.clone().is_enabled());
    assert_eq!(pool.stats().held_buffers, 0, "what was held is freed");
    drop(pool.take(64));
    drop(before);
    let stats = assert_accounts(&pool, 0);
    assert_eq!((stats.bypassed, stats.held_buffers), (1, 0));
    assert_eq!(stats.refused_for(Refusal::SwitchedOff), 1);
}

#[test]
fn a_frame_that_is_out_meanwhile_is_ruled_on_when_it_comes_back() {
    let pool = FramePool::default();
    let (first, second, third) = (pool.take(64), pool.take(64), pool.take(64));
    pool.set_enabled(false);
    let while_off = pool.take(64);
    drop(first);
    pool.set_enabled(true);
    drop(while_off);
    let stats = assert_accounts(&pool, 2);
    assert_eq!(stats.refused_for(Refusal::SwitchedOff), 1);
    assert_eq!((stats.bypassed, stats.held_buffers), (1, 0));
    drop(second);
    pool.clear();
    drop(third);
    let stats = assert_accounts(&pool, 0);
    assert_eq!((stats.cleared, stats.held_buffers), (1, 1));
    assert_eq!(pool.take(64).len(), 64);
    assert_eq!(pool.stats().hits, 1);
}

#[test]
fn a_round_that_ends_gives_back_what_a_burst_left_and_keeps_what_is_in_use() {
    let pool = FramePool::new(Decaying {
        quiet_rounds: 1,
        share: 2,
        inner: FramePool::LIMITS,
    });
    drop((0..100).map(|_| pool.take(64)).collect::<Vec<_>>());
    for _ in 0..20 {
        drop((pool.take(64), pool.take(64)));
        pool.end_round();
    }
    let stats = assert_accounts(&pool, 0);
    assert_eq!((stats.held_buffers, stats.evicted), (2, 98));
}

#[test]
fn the_conservative_preset_holds_to_the_last_byte_and_the_last_buffer() {
    let pool = FramePool::conservative();
    drop((0..33).map(|_| pool.take(1 << 20)).collect::<Vec<_>>());
    let stats = assert_accounts(&pool, 0);
    assert_eq!((stats.held_buffers, stats.held_bytes), (32, 32 << 20));
    assert_eq!(stats.refused_for(Refusal::PoolFull), 1);
    drop(pool.take((1 << 20) + 1));
    assert_eq!(pool.stats().bypassed, 1);
}

#[test]
fn a_detached_payload_is_the_same_memory_at_its_exact_length() {
    let pool = FramePool::default();
    drop(pool.take(200));
    let frame = pool.copy_of(&[9; 150]);
    let address = frame.as_ptr();
    let payload = Vec::from(frame);
    assert_eq!(payload, [9; 150]);
    assert_eq!(payload.as_ptr(), address, "no copy");
    drop(payload);
    let stats = assert_accounts(&pool, 0);
    assert_eq!((stats.detached, stats.held_buffers), (1, 0));
}

#[test]
fn a_frame_outlives_the_last_handle_and_what_was_held_does_not() {
    struct Witness(mpsc::Sender<&'static str>);
    impl Drop for Witness {
        fn drop(&mut self) {
            self.0.send("freed").unwrap();
        }
    }
    impl Retention for Witness {
        fn rule(&mut self, _: Offer, _: Held) -> Verdict {
            Verdict::Keep
        }
    }
    let (sender, events) = mpsc::channel();
    let pool = FramePool::new(Witness(sender));
    let mut frame = pool.take(8);
    drop(pool);
    assert!(events.try_recv().is_err(), "a frame is out");
    frame.fill(3);
    assert_eq!(*frame, [3; 8]);
    thread::spawn(move || drop(frame)).join().unwrap();
    assert_eq!(events.try_recv(), Ok("freed"), "the shared state is gone");
}

#[test]
fn an_unpooled_pool_counts_its_requests_and_holds_nothing() {
    let pool = FramePool::new(Unpooled);
    drop(pool.copy_of(b"abc"));
    assert_eq!(
        pool.stats(),
        Stats {
            bypassed: 1,
            ..Stats::default()
        }
    );
}

#[test]
fn a_policy_can_be_chosen_at_run_time() {
    let policy: Box<dyn Retention + Send> = Box::new(FramePool::LIMITS);
    let pool = FramePool::new(policy);
    drop(pool.take(10));
    assert_eq!(pool.take(10).len(), 10);
    assert_eq!(pool.stats().hits, 1);
}

#[test]
fn the_global_pool_is_one() {
    let before = FramePool::global().stats();
    drop(FramePool::global().take(77));
    assert_eq!(FramePool::global().stats().since(&before).acquires(), 1);
}

#[test]
fn debug_output_shows_no_payload() {
    let pool = FramePool::default();
    let shown = format!("{:?} {pool:?}", pool.copy_of(b"secret"));
    assert!(
        shown.contains("len: 6") && shown.contains("misses: 1"),
        "{shown}"
    );
    assert!(
        !shown.contains("secret") && !shown.contains("115"),
        "{shown}"
    );
}

/// A policy that panics at its first ruling.
struct Once(Cell<bool>);

impl Retention for Once {
    fn rule(&mut self, _: Offer, _: Held) -> Verdict {
        assert!(self.0.replace(true), "the first ruling");
        Verdict::Keep
    }
}

#[test]
fn a_policy_that_panics_refuses_the_frame_and_stops_nobody() {
    let pool = FramePool::new(Once(Cell::new(false)));
    drop(pool.take(8));
    let stats = assert_accounts(&pool, 0);
    assert_eq!(stats.refused_for(Refusal::Other), 1);
    drop(pool.take(8));
    assert_eq!(pool.take(8).len(), 8);
    assert_eq!(assert_accounts(&pool, 0).hits, 1);
}

#[test]
fn a_policy_that_panics_while_its_thread_unwinds_does_not_abort() {
    let pool = FramePool::new(Once(Cell::new(false)));
    let unwound = panic::catch_unwind(AssertUnwindSafe(|| {
        let _frame = pool.take(8);
        panic!("with a frame in hand");
    }));
    assert!(unwound.is_err());
    let stats = assert_accounts(&pool, 0);
    assert_eq!(stats.refused_for(Refusal::Other), 1);
}

#[test]
fn a_frame_left_in_a_thread_local_comes_home_when_the_thread_ends() {
    thread_local!(static KEPT: Cell<Option<Frame>> = const { Cell::new(None) });
    let pool = FramePool::default();
    let frame = pool.take(8);
    thread::spawn(move || KEPT.set(Some(frame))).join().unwrap();
    assert_eq!(assert_accounts(&pool, 0).held_buffers, 1);
}

#[test]
fn an_allocation_that_panics_leaves_true_accounts() {
    let pool = FramePool::new(Bounded::UNLIMITED);
    let too_much = panic::catch_unwind(AssertUnwindSafe(|| pool.take(usize::MAX)));
    assert!(too_much.is_err());
    assert_eq!(assert_accounts(&pool, 0).held_buffers, 0);
}
