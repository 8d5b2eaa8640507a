//! How a pool recovers when a program asks for other shapes than before, under each policy.
//!
//! Yesterday's shapes fill the pool to its bound. Each round then asks for today's eight shapes at
//! once and returns them. The hit rate of each round is counted, not timed.

use tls_pool::{Adaptive, Bounded, Decaying, Retention, TlsPool, WhenFull};

use crate::case::{Count, Finding};

/// Buffers that the pool may hold, and shapes that a round asks for.
const HELD: usize = 32;
const TODAY: usize = 8;

/// Bytes that yesterday's shapes fill but for a few.
const HELD_BYTES: usize = 32 << 10;

/// Rounds that are shown, and the one that has to be back at 99 %.
const ROUNDS: usize = 6;
const RECOVERED: usize = 3;

/// Adds a count for each policy.
pub(super) fn add(counts: &mut Vec<Count>) {
    let bounded = Bounded {
        pool_buffers: HELD,
        ..Bounded::UNLIMITED
    };
    let evicting = Bounded {
        when_full: WhenFull::Evict,
        ..bounded
    };
    counts.push(count("bounded", false, move || TlsPool::new(bounded)));
    counts.push(count("evicting", true, move || TlsPool::new(evicting)));
    counts.push(count("adaptive", true, || {
        TlsPool::new(Adaptive::within(HELD_BYTES))
    }));
    counts.push(count("decaying", false, move || {
        TlsPool::new(Decaying {
            quiet_rounds: 2,
            share: 2,
            inner: bounded,
        })
    }));
}

/// Whether the policy is meant to recover so soon is up to the caller.
fn count<P: Retention + 'static>(
    policy: &str,
    recovers: bool,
    make: impl Fn() -> TlsPool<P> + 'static,
) -> Count {
    Count {
        name: format!("phases/{policy}"),
        claim: if recovers {
            "a pool full of shapes that nobody asks for any more is back at 99 % in 3 rounds"
        } else {
            "a pool that only refuses stays full of yesterday's shapes, unless rounds make them go"
        },
        run: Box::new(move || vec![finding(&hit_rates(&make()), recovers)]),
    }
}

fn finding(rates: &[f64], recovers: bool) -> Finding {
    let shown: Vec<_> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
    let target = recovers.then(|| {
        let met = rates[RECOVERED..].iter().all(|&rate| rate >= 99.0);
        (format!("≥ 99 % after {RECOVERED} rounds"), met)
    });
    Finding {
        side: "ours",
        value: format!("{} %", shown.join(", ")),
        target,
    }
}

/// Percent of hits in each round.
fn hit_rates<P: Retention + 'static>(pool: &TlsPool<P>) -> Vec<f64> {
    let ask = |shapes: std::ops::Range<usize>| {
        let lens = shapes.map(|shape| 100 + shape);
        let all: Vec<_> = lens.map(|len| pool.unspecified::<f64>(&[len])).collect();
        drop(all);
        pool.end_round();
    };
    // Three rounds of it, so that a policy that looks back sees nothing else.
    for _ in 0..3 {
        ask(TODAY..TODAY + HELD);
    }
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let before = pool.stats();
        ask(0..TODAY);
        let hits = pool.stats().hits - before.hits;
        rates.push(100.0 * hits as f64 / TODAY as f64);
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_that_only_refuses_never_recovers_and_one_that_evicts_does() {
        let bounded = Bounded {
            pool_buffers: HELD,
            ..Bounded::UNLIMITED
        };
        assert_eq!(hit_rates(&TlsPool::new(bounded)), [0.0; ROUNDS]);
        let evicting = Bounded {
            when_full: WhenFull::Evict,
            ..bounded
        };
        let rates = hit_rates(&TlsPool::new(evicting));
        assert!(finding(&rates, true).target.unwrap().1, "{rates:?}");
    }
}
