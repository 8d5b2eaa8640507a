//! Frames filled from a reader: exact lengths, announced lengths that are lies, errors, panics.
#![cfg(not(loom))]

mod common;

use std::io::{self, ErrorKind, Read};
use std::panic::{self, AssertUnwindSafe};

use common::assert_accounts;
use frame_pool::{Bounded, FramePool, READ_STEP};

/// A reader that yields `left` bytes of ones, in pieces, and then fails as told.
struct Peer {
    left: usize,
    then: fn() -> io::Result<usize>,
}

impl Read for Peer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let some = buffer.len().min(self.left).min(10_000);
        if some == 0 {
            return (self.then)();
        }
        buffer[..some].fill(1);
        self.left -= some;
        Ok(some)
    }
}

/// Interrupted before each byte.
struct Nervous(bool);
impl Read for Nervous {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0 = !self.0;
        if self.0 {
            return Err(ErrorKind::Interrupted.into());
        }
        buffer[0] = 7;
        Ok(1)
    }
}

const GONE: fn() -> io::Result<usize> = || Ok(0);

#[test]
fn a_read_takes_exactly_the_announced_bytes_new_or_recycled() {
    let pool = FramePool::default();
    let lengths = [1, 31, 33, 5000, READ_STEP, READ_STEP + 1, 3 * READ_STEP + 7];
    let lengths = &lengths[..if cfg!(miri) { 4 } else { 7 }];
    for &len in lengths {
        for _ in 0..2 {
            let mut peer = Peer {
                left: len + 3,
                then: GONE,
            };
            let frame = pool.read_from(&mut peer, len).unwrap();
            assert!(
                *frame == *vec![1; len],
                "not the {len} bytes that were sent"
            );
            assert_eq!(peer.left, 3, "what follows the frame is not touched");
        }
    }
    let each = lengths.len() as u64;
    assert_eq!((pool.stats().misses, pool.stats().hits), (each, each));
    let through_an_object: &mut dyn Read = &mut io::repeat(5);
    assert_eq!(*pool.read_from(through_an_object, 2).unwrap(), [5; 2]);
}

#[test]
fn an_end_inside_a_frame_is_an_error_that_names_its_length_and_the_buffer_comes_home() {
    let pool = FramePool::default();
    for recycled in [false, true] {
        let mut peer = Peer {
            left: 99,
            then: GONE,
        };
        let error = pool.read_from(&mut peer, 100).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert_eq!(
            error.to_string(),
            "the stream ended inside a frame of 100 bytes"
        );
        let stats = assert_accounts(&pool, 0);
        assert_eq!((stats.held_buffers, stats.held_bytes), (1, 100));
        assert_eq!(stats.hits, u64::from(recycled));
    }
    // What the cut read left of the buffer is initialised, and serves.
    assert_eq!(pool.take(100).len(), 100);
}

#[test]
#[cfg_attr(miri, ignore = "fills a whole step, byte by byte")]
fn a_gigabyte_announced_and_not_sent_allocates_one_step() {
    let keep_all = FramePool::new(Bounded::UNLIMITED);
    for pool in [keep_all, FramePool::default()] {
        for sent in [0, 1, READ_STEP, 2 * READ_STEP + 1] {
            let mut peer = Peer {
                left: sent,
                then: GONE,
            };
            let error = pool.read_from(&mut peer, 1 << 30).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
            let stats = assert_accounts(&pool, 0);
            let most = READ_STEP.max(2 * sent) as u64;
            assert!(stats.held_bytes <= most, "sent {sent}: {stats}");
            pool.clear();
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "fills a whole step, byte by byte")]
fn a_length_that_no_memory_could_hold_is_an_error_and_not_a_panic() {
    let pool = FramePool::new(Bounded::UNLIMITED);
    let mut peer = Peer {
        left: 5,
        then: GONE,
    };
    assert!(pool.read_from(&mut peer, usize::MAX).is_err());
    assert_accounts(&pool, 0);
}

#[test]
fn the_readers_own_error_arrives_and_an_interruption_does_not() {
    let pool = FramePool::default();
    for _ in 0..2 {
        let mut peer = Peer {
            left: 10,
            then: || Err(ErrorKind::ConnectionReset.into()),
        };
        let error = pool.read_from(&mut peer, 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert_accounts(&pool, 0);
    }
    for _ in 0..2 {
        assert_eq!(*pool.read_from(&mut Nervous(false), 40).unwrap(), [7; 40]);
    }
}

#[test]
fn a_reader_that_panics_loses_no_buffer() {
    let pool = FramePool::default();
    for _ in 0..2 {
        let mut peer = Peer {
            left: 10,
            then: || panic!("the reader's own fault"),
        };
        let read = panic::catch_unwind(AssertUnwindSafe(|| pool.read_from(&mut peer, 20)));
        assert!(read.is_err());
        assert_accounts(&pool, 0);
    }
    assert_eq!(pool.stats().held_bytes, 20);
}
