//! A policy that panics: where a buffer comes back and where a thread ends, it takes nobody along.
#![cfg(not(loom))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::thread;

use tls_pool::{Held, Offer, Refusal, Retention, TlsPool, Verdict};

/// Panics on every return, or when a retained buffer leaves.
#[derive(Clone)]
struct Panics {
    on_return: bool,
}

impl Retention for Panics {
    fn rule(&mut self, _offer: Offer, _held: Held) -> Verdict {
        assert!(!self.on_return, "a policy's panic, which this test wants");
        Verdict::Keep
    }

    fn on_leave(&mut self, _bytes: usize) {
        panic!("a policy's panic, which this test wants");
    }
}

#[test]
fn a_policy_that_panics_on_a_return_refuses_the_buffer() {
    let pool = TlsPool::new(Panics { on_return: true });
    drop(pool.zeroed::<u8>(&[8]).expect("it is small"));
    // The same while the thread unwinds, where a second panic would abort the process.
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _scratch = pool.zeroed::<u8>(&[8]).expect("it is small");
        panic!("the borrower's own");
    }));
    assert!(caught.is_err());
    let stats = pool.stats();
    assert_eq!(stats.refused_for(Refusal::Other), 2);
    assert_eq!((stats.live(), stats.held_buffers), (0, 0));
}

#[test]
fn a_thread_whose_policy_panics_at_its_end_ends_all_the_same() {
    let pool = TlsPool::new(Panics { on_return: false });
    let (kept, off) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            drop(pool.zeroed::<u8>(&[8]).expect("it is small"));
            kept.wait();
            // The shelf is from before this, so it is emptied when the thread ends.
            off.wait();
        });
        kept.wait();
        pool.set_enabled(false);
        off.wait();
    });
    let stats = pool.stats();
    assert_eq!((stats.kept, stats.live()), (1, 0));
}
