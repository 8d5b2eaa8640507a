//! Many threads: sums, inheritance, switching and clearing for all of them at once.

use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use tls_pool::{Bounded, Held, Offer, Refusal, Retention, Stats, TlsPool, Verdict};

/// The identities that hold at every quiet moment.
fn check_identities(stats: Stats, live: u64) {
    assert_eq!(
        stats.hits + stats.misses,
        stats.returns + stats.detached + live,
        "{stats}"
    );
    assert_eq!(
        stats.returns + stats.adopted,
        stats.kept + stats.refusals(),
        "{stats}"
    );
    assert_eq!(
        stats.kept,
        stats.hits + stats.evicted + stats.cleared + stats.held_buffers,
        "{stats}"
    );
}

#[test]
fn short_threads_in_turn_are_all_counted_and_hit_from_the_second_on() {
    let pool = TlsPool::default();
    let threads = if cfg!(miri) { 5 } else { 100 };
    for each in 0..threads {
        let own = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                drop(pool.zeroed::<f32>(&[100]).unwrap());
                pool.thread_stats()
            });
            thread.join().unwrap()
        });
        assert_eq!(own.hits, u64::from(each > 0), "of thread {each} alone");
        assert_eq!(own.acquires(), 1);
    }
    let stats = pool.stats();
    assert_eq!((stats.hits, stats.misses), (threads - 1, 1));
    assert_eq!((stats.held_buffers, stats.peak_buffers), (1, 1));
    check_identities(stats, 0);
}

#[test]
fn threads_that_come_and_go_by_the_thousand_do_not_grow_what_is_held() {
    let pool = TlsPool::default();
    let (waves, width) = if cfg!(miri) { (3, 3) } else { (70, 15) };
    for _ in 0..waves {
        thread::scope(|scope| {
            for _ in 0..width {
                scope.spawn(|| drop(pool.zeroed::<u8>(&[1000]).unwrap()));
            }
        });
    }
    let stats = pool.stats();
    assert_eq!(stats.acquires(), waves * width);
    check_identities(stats, 0);
    // A wave's threads may all live at once, and the last wave's may still be ending.
    assert!(stats.held_buffers <= width + 8, "{stats}");
}

#[test]
fn a_buffer_dropped_on_another_thread_stays_there() {
    let pool = TlsPool::default();
    let mut scratch = pool.zeroed::<u32>(&[10]).unwrap().into_owned();
    scratch.fill(7);
    let consumer = pool.clone();
    let (dropped, again) = thread::spawn(move || {
        drop(scratch);
        let dropped = consumer.thread_stats();
        (dropped, consumer.zeroed::<u32>(&[10]).unwrap().into_owned())
    })
    .join()
    .unwrap();
    assert_eq!((dropped.returns, dropped.held_buffers), (1, 1));
    assert_eq!(*again, [0; 10]);
    drop(again);
    assert_eq!((pool.stats().hits, pool.stats().misses), (1, 1));
    check_identities(pool.stats(), 0);
}

#[test]
fn a_consumer_thread_is_bounded_in_what_it_collects() {
    // One thread takes, another drops: served badly (see the README), but never without bound.
    let pool = TlsPool::conservative();
    let buffers = if cfg!(miri) { 20 } else { 10_000 };
    let (sender, receiver) = mpsc::sync_channel(4);
    thread::scope(|scope| {
        scope.spawn(move || receiver.iter().for_each(drop));
        for _ in 0..buffers {
            sender.send(pool.unspecified::<u8>(&[64]).unwrap()).unwrap();
        }
        drop(sender);
    });
    let stats = pool.stats();
    check_identities(stats, 0);
    assert!(stats.held_buffers <= 8, "{stats}");
}

#[test]
fn a_clear_reaches_the_buffers_of_another_thread_before_its_next_borrow() {
    let pool = TlsPool::default();
    let (warm, cleared) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            drop(pool.zeroed::<u8>(&[100]).unwrap());
            let across = pool.zeroed::<u8>(&[200]).unwrap();
            warm.wait();
            cleared.wait();
            drop(pool.zeroed::<u8>(&[100]).unwrap());
            drop(across);
        });
        warm.wait();
        drop(pool.zeroed::<u8>(&[100]).unwrap());
        pool.clear();
        // This thread's buffer is free; the other thread still holds its own, and it is counted.
        assert_eq!(pool.stats().held_bytes, 100);
        assert_eq!(pool.thread_stats().held_bytes, 0);
        cleared.wait();
    });
    let stats = pool.stats();
    assert_eq!((stats.hits, stats.cleared), (0, 2), "{stats}");
    // What was out meanwhile came back as usual.
    assert_eq!((stats.held_bytes, stats.refusals()), (300, 0));
    check_identities(stats, 0);
}

#[test]
fn switched_off_means_plain_allocation_at_once_on_every_thread() {
    let pool = TlsPool::default();
    let (warm, off) = (Barrier::new(3), Barrier::new(3));
    let rounds = if cfg!(miri) { 5 } else { 500 };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..rounds {
                    drop(pool.zeroed::<u8>(&[100]).unwrap());
                }
                warm.wait();
                off.wait();
                for _ in 0..rounds {
                    drop(pool.zeroed::<u8>(&[100]).unwrap());
                }
            });
        }
        warm.wait();
        let before = pool.stats();
        pool.set_enabled(false);
        off.wait();
        assert!(!pool.is_enabled());
        assert_eq!(before.bypassed, 0);
    });
    let stats = pool.stats();
    assert_eq!((stats.acquires(), stats.bypassed), (2 * rounds, 2 * rounds));
    assert_eq!(stats.held_bytes, 0);
    check_identities(stats, 0);
    pool.set_enabled(true);
    drop(pool.zeroed::<u8>(&[100]).unwrap());
    drop(pool.zeroed::<u8>(&[100]).unwrap());
    assert_eq!(pool.thread_stats().hits, 1);
}

#[test]
fn a_switch_flipped_under_traffic_leaves_true_accounts() {
    let pool = TlsPool::default();
    let rounds = if cfg!(miri) { 20 } else { 5000 };
    thread::scope(|scope| {
        for each in 0..3_usize {
            let pool = &pool;
            scope.spawn(move || {
                let mut out = Vec::new();
                for round in 0..rounds {
                    let mut scratch = pool.zeroed::<u64>(&[1 + round % 5]).unwrap();
                    assert!(scratch.iter().all(|&word| word == 0));
                    scratch.fill(u64::MAX);
                    out.push(scratch);
                    if round % 3 == each {
                        out.clear();
                    }
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
    check_identities(stats, 0);
}

#[test]
fn another_thread_frees_a_dropped_pools_shelf_when_it_next_touches_any_pool() {
    /// A policy that tells when its shelf is freed.
    struct Watched {
        _alive: Arc<()>,
    }
    impl Retention for Watched {
        fn rule(&mut self, _: Offer, _: Held) -> Verdict {
            Verdict::Keep
        }
    }

    let alive = Arc::new(());
    let watch = Arc::downgrade(&alive);
    let watched = Arc::clone(&alive);
    let pool = TlsPool::from_fn(move || Watched {
        _alive: Arc::clone(&watched),
    });
    let other = TlsPool::default();
    drop(alive);
    let (warm, gone) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        let thread_pool = pool.clone();
        scope.spawn(|| {
            let pool = thread_pool;
            drop(pool.zeroed::<u8>(&[100]).unwrap());
            drop(pool);
            warm.wait();
            gone.wait();
            assert_eq!(watch.strong_count(), 1, "the shelf in this thread");
            drop(other.zeroed::<u8>(&[1]).unwrap());
            assert_eq!(watch.strong_count(), 0);
        });
        warm.wait();
        drop(pool);
        gone.wait();
    });
}

#[test]
fn a_pool_may_be_dropped_while_owned_guards_live() {
    let pool = TlsPool::default();
    let mut scratch = pool.zeroed::<f64>(&[10]).unwrap().into_owned();
    let other = pool.unspecified::<f64>(&[10]).unwrap().into_owned();
    drop(pool);
    scratch.fill(1.0);
    drop(scratch);
    assert_eq!(other.detach().len(), 10);
}

#[test]
fn a_policy_that_calls_into_its_own_pool_is_served_by_plain_allocation() {
    use std::sync::OnceLock;
    static POOL: OnceLock<TlsPool<Nosy>> = OnceLock::new();
    struct Nosy;
    impl Retention for Nosy {
        fn rule(&mut self, _: Offer, _: Held) -> Verdict {
            let pool = POOL.get().unwrap();
            assert_eq!(*pool.zeroed::<u8>(&[3]).unwrap(), [0; 3]);
            Verdict::Keep
        }
    }

    let pool = POOL.get_or_init(|| TlsPool::from_fn(|| Nosy));
    drop(pool.zeroed::<u8>(&[10]).unwrap());
    drop(pool.zeroed::<u8>(&[10]).unwrap());
    assert_eq!((pool.stats().hits, pool.stats().bypassed), (1, 2));
}

#[test]
fn one_copy_of_the_policy_bounds_each_thread() {
    let pool = TlsPool::new(Bounded {
        pool_buffers: 2,
        ..Bounded::UNLIMITED
    });
    let full = Barrier::new(2);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let out: Vec<_> = (0..5).map(|_| pool.zeroed::<u8>(&[8]).unwrap()).collect();
                drop(out);
                assert_eq!(pool.thread_stats().held_buffers, 2);
                full.wait();
            });
        }
    });
    check_identities(pool.stats(), 0);
    assert_eq!(pool.stats().refused_for(Refusal::PoolFull), 6);
}
