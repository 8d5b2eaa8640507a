//! A change of phase: a pool is full of sizes that nobody asks for any more.
//!
//! Under a policy that evicts, every pool is back at a hit rate of 99 % within three rounds; under
//! plain [`Bounded`] limits it never is. The same programs run over all three pools.
#![cfg(not(loom))]

use frame_pool::FramePool;
use grad_pool::GradPool;
use pool_core::{Adaptive, Both, Bounded, Budget, Retention, Stats, WhenFull};
use proptest::prelude::*;
use tls_pool::TlsPool;

/// What the three pools have in common here.
trait Pool {
    /// Borrows a buffer of each size, all at once, gives them back, and ends a round where the
    /// pool has rounds.
    fn round(&self, sizes: &[usize]);

    fn stats(&self) -> Stats;
}

impl<P: Retention> Pool for TlsPool<P> {
    fn round(&self, sizes: &[usize]) {
        let borrow = |&bytes: &usize| {
            self.unspecified::<f64>(&[bytes / 8])
                .expect("the sizes are small")
        };
        drop(sizes.iter().map(borrow).collect::<Vec<_>>());
        self.end_round();
    }

    fn stats(&self) -> Stats {
        self.stats()
    }
}

impl<P: Retention> Pool for GradPool<P> {
    fn round(&self, sizes: &[usize]) {
        let arena = self.arena();
        let borrow = |&bytes: &usize| arena.zeroed::<f64>(bytes / 8);
        drop(sizes.iter().map(borrow).collect::<Vec<_>>());
        drop(arena);
        self.end_round();
    }

    fn stats(&self) -> Stats {
        self.stats()
    }
}

impl<P: Retention + 'static> Pool for FramePool<P> {
    fn round(&self, sizes: &[usize]) {
        drop(sizes.iter().map(|&len| self.take(len)).collect::<Vec<_>>());
    }

    fn stats(&self) -> Stats {
        self.stats()
    }
}

/// The three pools, each under the policy that `make` makes.
fn pools<P>(make: impl Fn() -> P) -> [(&'static str, Box<dyn Pool>); 3]
where
    P: Retention + Clone + Send + Sync + 'static,
{
    [
        ("tls-pool", Box::new(TlsPool::new(make()))),
        ("grad-pool", Box::new(GradPool::new(make()))),
        ("frame-pool", Box::new(FramePool::new(make()))),
    ]
}

/// The hit rate of one round.
fn hit_rate(pool: &dyn Pool, sizes: &[usize]) -> f64 {
    let before = pool.stats();
    pool.round(sizes);
    pool.stats().since(&before).hit_rate().unwrap_or_default()
}

/// The sizes that a phase needs at once: a few, each a few times.
fn phase() -> impl Strategy<Value = Vec<usize>> {
    let shape = (256..1024_usize, 1..4_usize);
    prop::collection::vec(shape, 1..6).prop_map(|shapes| {
        let times = |(words, count)| std::iter::repeat_n(words * 8, count);
        shapes.into_iter().flat_map(times).collect()
    })
}

/// Fills the pool with one size, then asks for the sizes of a phase; again for each phase.
fn recovers(pool: &dyn Pool, limit: usize, phases: &[Vec<usize>]) -> Result<(), TestCaseError> {
    for (stale, phase) in phases.iter().enumerate() {
        let stale = 1024 + 8 * stale;
        pool.round(&vec![stale; limit / stale]);
        let rates = [(); 3].map(|()| hit_rate(pool, phase));
        prop_assert!(rates[2] >= 0.99, "{rates:?}");
        let held = pool.stats().held_bytes;
        prop_assert!(held <= limit as u64, "{held} bytes held");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 1 } else { 32 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn an_evicting_pool_is_back_at_99_percent_three_rounds_after_each_change_of_phase(
        phases in prop::collection::vec(phase(), 1..5),
    ) {
        // A best fit may serve a request from a buffer four times as large.
        let most: usize = phases.iter().map(|phase| phase.iter().sum()).max().unwrap_or(0);
        let limit = 4 * most;
        let evicting = pools(|| Bounded::lru(limit));
        let adaptive = pools(|| Adaptive::within(limit));
        for (name, pool) in evicting.into_iter().chain(adaptive) {
            let recovered = recovers(&*pool, limit, &phases);
            prop_assert!(recovered.is_ok(), "{name}: {recovered:?}");
        }
    }
}

/// 64 KiB of stale buffers, then ten rounds of two buffers that would fit easily.
fn rates_after_a_change(pool: &dyn Pool) -> Vec<f64> {
    pool.round(&[2048; 32]);
    (0..10).map(|_| hit_rate(pool, &[16384; 2])).collect()
}

#[test]
fn a_pool_that_refuses_when_full_never_recovers_and_one_that_evicts_does() {
    let refusing = Bounded {
        pool_bytes: 64 << 10,
        ..Bounded::UNLIMITED
    };
    for (name, pool) in pools(|| refusing) {
        assert_eq!(rates_after_a_change(&*pool), [0.0; 10], "{name}");
    }
    for (name, pool) in pools(|| Bounded::lru(64 << 10)) {
        let rates = rates_after_a_change(&*pool);
        assert_eq!(rates[1..], [1.0; 9], "{name}");
    }
}

#[test]
fn an_adaptive_pool_recovers_by_its_rounds_alone_where_its_limits_refuse() {
    let policy = Adaptive {
        window: 1,
        inner: Bounded {
            pool_bytes: 64 << 10,
            ..Bounded::UNLIMITED
        },
    };
    let pools: [(_, &dyn Pool); 2] = [
        ("tls-pool", &TlsPool::new(policy)),
        ("grad-pool", &GradPool::new(policy)),
    ];
    for (name, pool) in pools {
        let rates = rates_after_a_change(pool);
        assert_eq!(rates[..2], [0.0; 2], "{name}: full, and then new");
        assert_eq!(rates[2..], [1.0; 8], "{name}");
    }
}

#[test]
fn a_share_of_a_budget_recovers_if_it_evicts() {
    for (when_full, last) in [(WhenFull::Refuse, 0.0), (WhenFull::Evict, 1.0)] {
        // Each pool has a budget of its own: what another one holds, nobody evicts.
        let share = || Budget::new(64 << 10).share().when_full(when_full);
        for (name, pool) in pools(|| Both(Bounded::UNLIMITED, share())) {
            let rates = rates_after_a_change(&*pool);
            assert_eq!(rates[2..], [last; 8], "{name}, {when_full:?}");
        }
    }
}
