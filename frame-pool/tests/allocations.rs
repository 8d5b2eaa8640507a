//! A counting allocator sees what the pool allocates; alone in its binary, because it replaces the
//! global allocator.
#![cfg(not(any(loom, miri)))]

use std::thread;

use allocation_counter::measure;
use frame_pool::{FramePool, READ_STEP};

/// One round through every door.
fn rounds(pool: &FramePool) {
    let payload = [7; 900];
    for len in [64, 900, 5000] {
        let (first, second) = (pool.take(len), pool.take(len));
        drop((first, second));
    }
    drop(pool.copy_of(&payload));
    drop(pool.read_from(&mut &payload[..], 900));
}

#[test]
fn a_warm_hit_allocates_nothing_through_any_door() {
    let pool = FramePool::default();
    rounds(&pool);
    let before = pool.stats();
    let seen = measure(|| (0..100).for_each(|_| rounds(&pool)));
    assert_eq!((seen.count_total, seen.count_current), (0, 0));
    let since = pool.stats().since(&before);
    assert_eq!((since.hits, since.misses), (800, 0));
}

#[test]
fn a_hit_on_another_thread_allocates_nothing_there() {
    let pool = FramePool::default();
    rounds(&pool);
    let seen = thread::spawn(move || {
        rounds(&pool); // its places are new
        measure(|| rounds(&pool))
    });
    assert_eq!(seen.join().unwrap().count_total, 0);
}

#[test]
fn detaching_moves_the_memory_and_allocates_none() {
    let pool = FramePool::default();
    let frame = pool.take(10_000);
    let seen = measure(|| drop(frame.detach()));
    assert_eq!((seen.count_total, seen.bytes_current), (0, -10_000));
}

#[test]
fn a_gigabyte_announced_and_not_sent_never_takes_more_than_a_step() {
    let pool = FramePool::default();
    let sent = [1; 10];
    let seen = measure(|| assert!(pool.read_from(&mut &sent[..], 1 << 30).is_err()));
    let error_text = 1000;
    assert!(seen.bytes_max <= READ_STEP as u64 + error_text, "{seen:?}");
}

#[test]
fn a_dropped_pool_and_its_frames_leave_nothing_behind() {
    let other = FramePool::default();
    drop([(); 4].map(|()| FramePool::default().take(8)));
    let seen = measure(|| {
        let pool = FramePool::default();
        rounds(&pool);
        let late = pool.take(5000);
        drop(pool);
        drop(late);
        // A dropped pool's part of a thread is freed when the thread touches any other.
        drop(other.take(0x10));
        drop(other.take(0x10));
        other.set_enabled(false);
    });
    assert!(
        seen.count_current <= 0 && seen.bytes_current <= 0,
        "{seen:?}"
    );
}

#[test]
fn what_was_held_is_freed_with_the_last_handle_though_a_frame_is_out() {
    let pool = FramePool::default();
    rounds(&pool);
    let late = pool.take(64);
    let held = i64::try_from(pool.stats().held_bytes).unwrap();
    let seen = measure(|| drop(pool));
    assert!(seen.bytes_current <= -held, "{seen:?} of {held}");
    drop(late);
}
