//! More classes than a thread's hot places, so that they take each other's.
//!
//! Nothing is refused here, so every request for a class that has a buffer is a hit, and gets the
//! one that came back last.

use std::collections::HashMap;

use proptest::prelude::*;
use tls_pool::{Bounded, Held, Offer, Retention, Scratch, TlsPool, Verdict, WhenFull};

/// The same limits from a policy that wants to be asked every time, and so has no hot places.
#[derive(Clone)]
struct Asked(Bounded);

impl Retention for Asked {
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        self.0.rule(offer, held)
    }

    fn admit(&self, bytes: usize) -> bool {
        self.0.admit(bytes)
    }
}

/// Borrows and returns on a pool: a length, and how many of what is out come back after it.
fn run<P: Retention>(pool: &TlsPool<P>, steps: &[(usize, usize)]) -> Vec<[u64; 5]> {
    let mut out: Vec<Scratch<'_, u8, P>> = Vec::new();
    let mut seen = Vec::new();
    for &(len, returns) in steps {
        out.push(pool.unspecified(&[len]).expect("it is small"));
        for at in 0..returns.min(out.len()) {
            drop(out.swap_remove(at * 7 % out.len()));
            let stats = pool.stats();
            let (evicted, refused) = (stats.evicted, stats.refusals());
            let held = [stats.held_buffers, stats.held_bytes];
            seen.push([stats.hits, evicted, refused, held[0], held[1]]);
        }
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 64 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn classes_that_share_a_hot_place_lose_no_buffer(
        steps in prop::collection::vec((1..400_usize, 0..4_usize), 1..if cfg!(miri) { 80 } else { 3000 })
    ) {
        let pool = TlsPool::new(Bounded::UNLIMITED);
        let mut kept: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut out = Vec::new();
        let (mut hits, mut held) = (0, 0);
        for (len, returns) in steps {
            let scratch = pool.unspecified::<u8>(&[len]).unwrap();
            if let Some(expected) = kept.get_mut(&len).and_then(Vec::pop) {
                prop_assert_eq!(scratch.as_ptr().addr(), expected);
                hits += 1;
                held -= len as u64;
            }
            out.push(scratch);
            for _ in 0..returns {
                let Some(scratch) = out.pop() else { break };
                kept.entry(scratch.len()).or_default().push(scratch.as_ptr().addr());
                held += scratch.len() as u64;
            }
            let stats = pool.stats();
            prop_assert_eq!((stats.hits, stats.held_bytes), (hits, held));
            let buffers: usize = kept.values().map(Vec::len).sum();
            prop_assert_eq!(stats.held_buffers, buffers as u64);
        }
        let all = kept.values().map(|kept| kept.len() as u64).sum::<u64>();
        pool.clear();
        prop_assert_eq!((pool.stats().cleared, pool.stats().held_bytes), (all, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_pool_with_hot_places_keeps_and_evicts_what_one_without_them_does(
        class_buffers in 1..4_usize,
        pool_buffers in 1..9_usize,
        classes in 1..7_usize,
        evict in any::<bool>(),
        steps in prop::collection::vec((1..9_usize, 0..4_usize), 1..if cfg!(miri) { 60 } else { 400 })
    ) {
        let limits = Bounded {
            class_buffers,
            pool_buffers,
            pool_bytes: 40,
            classes,
            when_full: if evict { WhenFull::Evict } else { WhenFull::Refuse },
            ..Bounded::UNLIMITED
        };
        let hot = run(&TlsPool::new(limits), &steps);
        prop_assert_eq!(hot, run(&TlsPool::new(Asked(limits)), &steps));
    }
}

#[test]
fn a_place_whose_buffer_is_out_costs_nobody_theirs() {
    let pool = TlsPool::new(Bounded {
        class_buffers: 2,
        classes: 1,
        ..Bounded::UNLIMITED
    });
    drop(pool.zeroed::<u8>(&[8]).unwrap());
    let out = pool.zeroed::<u8>(&[8]).unwrap();
    let more = [0; 2].map(|_| pool.zeroed::<u8>(&[8]).unwrap());
    drop(more);
    assert_eq!(pool.stats().held_buffers, 2, "both fit while one is out");
    drop(out);
    assert_eq!((pool.stats().held_buffers, pool.stats().refusals()), (2, 1));
    let all = [0; 2].map(|_| pool.zeroed::<u8>(&[8]).unwrap());
    drop(pool.zeroed::<u8>(&[9]).unwrap());
    assert_eq!(
        pool.stats().classes,
        1,
        "an empty class makes room for another"
    );
    drop(all);
    assert_eq!(pool.stats().held_bytes, 9);
}
