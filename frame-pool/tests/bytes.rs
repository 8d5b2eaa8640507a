//! Frames that are read through clones and slices, and come home after the last of them.
#![cfg(all(feature = "bytes", not(loom)))]

mod common;

use std::thread;

use bytes::Bytes;
use common::assert_accounts;
use frame_pool::{Bounded, FramePool};

#[test]
fn a_shared_payload_is_the_same_memory_and_comes_home_once() {
    let pool = FramePool::default();
    let frame = pool.copy_of(&[3; 700]);
    let address = frame.as_ptr();
    let payload = Bytes::from(frame);
    assert_eq!(payload.as_ptr(), address, "no copy");
    assert_eq!(payload, vec![3; 700]);
    let clones = vec![payload.clone(), payload.slice(1..2), payload];
    assert_accounts(&pool, 1);
    drop(clones);
    let stats = assert_accounts(&pool, 0);
    assert_eq!((stats.returns, stats.held_buffers), (1, 1));
    assert_eq!(pool.take(700).as_ptr(), address);
}

#[test]
fn clones_and_slices_dropped_on_other_threads_bring_each_buffer_home_once() {
    let pool = FramePool::new(Bounded::UNLIMITED);
    let rounds: u8 = if cfg!(miri) { 5 } else { 250 };
    for stamp in 0..rounds {
        let payload = pool.copy_of(&[stamp; 1000]).into_bytes();
        thread::scope(|scope| {
            for at in 0..3 {
                let part = payload.slice(at * 100..(at + 1) * 100);
                scope.spawn(move || assert_eq!(part, vec![stamp; 100]));
            }
            drop(payload);
        });
        assert_accounts(&pool, 0);
    }
    assert_eq!(pool.stats().returns, u64::from(rounds));
}

#[test]
fn a_shared_payload_outlives_its_pool_and_a_pool_that_was_switched_off() {
    let pool = FramePool::default();
    let (first, second) = (
        pool.copy_of(b"first").into_bytes(),
        pool.copy_of(b"second").into_bytes(),
    );
    pool.set_enabled(false);
    drop(first);
    assert_eq!(assert_accounts(&pool, 1).held_buffers, 0);
    drop(pool);
    assert_eq!(second, "second");
}

#[test]
fn an_empty_frame_is_empty_bytes() {
    assert!(FramePool::default().take(0).into_bytes().is_empty());
}
