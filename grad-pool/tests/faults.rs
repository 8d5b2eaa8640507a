//! Faults that real pools had, each of which would show here.
//!
//! The other kinds are elsewhere: a second return and a guard in two threads do not compile (the
//! documentation of `Grad`, `Leaf` and `Arena`); bounds, decay, eviction and the switch are in
//! `sweeps.rs` and `threads.rs`; the accounts are compared with plain lists in `model.rs`.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

use grad_pool::{Arena, Element, GradPool, Held, Leaf, Offer, Refusal, Retention, Stats, Verdict};
use num_complex::Complex;

fn fill<T: Element>(array: &mut [T]) {
    bytemuck::cast_slice_mut::<T, u8>(array).fill(0xA5);
}

fn is_zero<T: Element>(array: &[T]) -> bool {
    bytemuck::cast_slice::<T, u8>(array)
        .iter()
        .all(|&byte| byte == 0)
}

fn hit_rate(stats: &Stats) -> f64 {
    stats.hits as f64 / stats.acquires() as f64
}

/// Old contents wait in the arena, in the shared tier by a flush, and there by a leaf.
fn zeros_after_old_contents<T: Element>() {
    let pool = GradPool::default();
    for len in [1, 7, 100, 1000] {
        let arena = pool.arena();
        let mut kept = arena.unspecified::<T>(len);
        let mut leaf = arena.unspecified::<T>(len).into_leaf();
        let mut left = arena.unspecified::<T>(len);
        fill(&mut kept);
        fill(&mut leaf);
        fill(&mut left);
        drop(kept);
        assert!(is_zero(&arena.zeroed::<T>(len)), "{len} from the arena");
        drop(left);
        drop(leaf);
        drop(arena);
        let arena = pool.arena();
        let all: Vec<_> = (0..3).map(|_| arena.zeroed::<T>(len)).collect();
        assert!(
            all.iter().all(|array| is_zero(array)),
            "{len} from the pool"
        );
    }
    assert_eq!(pool.stats().misses, 4 * 3, "none of them was a new array");
}

#[test]
fn zeros_are_zeros_whichever_way_the_array_came_back() {
    zeros_after_old_contents::<f32>();
    zeros_after_old_contents::<f64>();
    zeros_after_old_contents::<Complex<f32>>();
    zeros_after_old_contents::<Complex<f64>>();
}

#[test]
fn a_borrower_gets_exactly_as_many_elements_as_it_asked_for() {
    let pool = GradPool::default();
    for len in (1..40).chain((1..40).rev()) {
        let arena = pool.arena();
        assert_eq!(arena.unspecified::<f32>(len).len(), len);
        assert_eq!(
            arena.unspecified::<Complex<f32>>(len).into_leaf().len(),
            len
        );
        let detached = arena.zeroed::<f64>(len).detach();
        assert_eq!((detached.len(), detached.capacity()), (len, len));
    }
}

#[test]
fn a_length_that_no_memory_can_hold_is_a_panic_that_names_it_and_the_pool_goes_on() {
    let pool = GradPool::default();
    let arena = pool.arena();
    for len in [usize::MAX, usize::MAX / 8 + 2, isize::MAX as usize / 8 + 1] {
        let asked = catch_unwind(AssertUnwindSafe(|| drop(arena.zeroed::<f64>(len))));
        let message = asked.unwrap_err();
        let message = message.downcast_ref::<String>().unwrap();
        assert!(message.contains(&len.to_string()), "{message}");
    }
    assert_eq!(arena.zeroed::<f64>(3).len(), 3);
}

#[test]
fn a_consumer_that_drops_every_leaf_does_not_make_the_producer_allocate_for_ever() {
    let arrays = if cfg!(miri) { 30 } else { 10_000 };
    let pool = GradPool::default();
    let (sender, receiver) = mpsc::sync_channel::<Leaf<f32>>(8);
    thread::scope(|scope| {
        scope.spawn(move || receiver.iter().for_each(drop));
        let arena = pool.arena();
        for _ in 0..arrays {
            sender.send(arena.unspecified(1000).into_leaf()).unwrap();
        }
        drop(sender);
    });
    let stats = pool.stats();
    // Eight in the channel, one at either end.
    assert!(stats.misses <= 10, "{stats}");
    assert_eq!(stats.acquires(), arrays);
}

#[test]
fn a_hundred_short_threads_in_turn_are_all_counted_and_serve_one_another() {
    let pool = GradPool::default();
    let threads = if cfg!(miri) { 5 } else { 100 };
    for _ in 0..threads {
        let pool = &pool;
        thread::scope(|scope| {
            scope.spawn(move || drop(pool.arena().zeroed::<f64>(100)));
        });
    }
    let stats = pool.stats();
    assert_eq!((stats.misses, stats.hits), (1, threads - 1));
}

#[test]
fn an_arena_and_a_leaf_may_end_with_their_thread() {
    thread_local! {
        static LEFT: RefCell<Option<(Leaf<f32>, Arena)>> = const { RefCell::new(None) };
    }
    let pool = GradPool::default();
    let other = pool.clone();
    thread::spawn(move || {
        let arena = other.arena();
        drop(arena.zeroed::<f32>(10));
        let leaf = arena.zeroed::<f32>(20).into_leaf();
        // The thread's last breath drops them: nothing here may need a thread-local of its own.
        let _ = LEFT.try_with(|left| left.replace(Some((leaf, arena))));
    })
    .join()
    .unwrap();
    assert_eq!(pool.stats().held_buffers, 2);
}

#[test]
fn eight_pools_in_turn_on_one_thread_serve_as_well_as_one() {
    let pools: Vec<_> = (0..8).map(|_| GradPool::default()).collect();
    let rounds = if cfg!(miri) { 3 } else { 200 };
    for _ in 0..rounds {
        for pool in &pools {
            drop(pool.arena().unspecified::<f32>(64));
        }
    }
    let arenas: Vec<_> = pools.iter().map(GradPool::arena).collect();
    for _ in 0..rounds {
        for arena in &arenas {
            drop(arena.unspecified::<f32>(64));
        }
    }
    let least = 1.0 - 1.0 / f64::from(2 * rounds);
    for pool in &pools {
        assert!(hit_rate(&pool.stats()) >= least, "{}", pool.stats());
    }
}

#[test]
fn a_sweep_that_asks_for_new_lengths_every_time_leaves_a_bounded_pool() {
    let pool = GradPool::conservative();
    for sweep in 0..if cfg!(miri) { 3 } else { 200 } {
        let arena = pool.arena();
        for node in 0..50 {
            drop(arena.unspecified::<f32>(1 + 50 * sweep + node));
        }
        drop(arena);
        let stats = pool.stats();
        assert!(stats.held_bytes <= 4 << 20, "{stats}");
    }
}

/// Panics on every offer.
struct Panics;

impl Retention for Panics {
    fn rule(&mut self, _offer: Offer, _held: Held) -> Verdict {
        panic!("a policy's panic, which this test wants");
    }
}

#[test]
fn a_policy_that_panics_takes_neither_a_sweep_nor_a_leaf_along() {
    let pool = GradPool::new(Panics);
    let leaf = {
        let arena = pool.arena();
        drop(arena.zeroed::<f32>(10));
        arena.zeroed::<f32>(10).into_leaf()
    };
    // While a thread unwinds, a second panic would abort the process.
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let arena = pool.arena();
        drop(arena.zeroed::<f32>(20));
        let _leaf = leaf;
        panic!("the sweep's own");
    }));
    assert!(caught.is_err());
    let stats = pool.stats();
    assert_eq!((stats.live(), stats.held_buffers), (0, 0), "{stats}");
    assert_eq!(stats.refused_for(Refusal::Other), 1);
    assert_eq!(stats.kept, stats.hits + stats.evicted + stats.cleared);
}
