//! Cases of `tls-pool`: a pair of take and return by shape, with a guard and statistics.

use tls_pool::TlsPool;

use super::lenders::Missing;
use super::{one, size_name};
use crate::case::{Case, Count, Finding, Target};
use crate::forms::{Filled, Malloc, Queues, Stacks, StringKeyed};
use crate::lender::{Class, Lender, across, pairs};
use crate::side::{Run, Side, on_threads};

/// A pair, so many times, of one class or of sixteen in turn.
#[derive(Debug, Clone)]
pub struct PairSpec {
    /// The case's name.
    pub name: String,
    /// Threads that do the same at once.
    pub threads: usize,
    classes: Vec<Class>,
}

/// Rows of the sixteen shapes: from 8 KiB to 8 MiB, two thirds of a doubling apart.
const ROWS: [usize; 16] = [
    32, 51, 81, 128, 203, 323, 512, 813, 1290, 2048, 3251, 5161, 8192, 13_004, 20_643, 32_768,
];

/// The pairs that are measured: 8 KiB to 8 MiB, by one thread and by two.
#[must_use]
pub fn pair_specs() -> Vec<PairSpec> {
    let sizes = [8 << 10, 128 << 10, 1 << 20, 8 << 20_usize];
    let one = |bytes: usize| {
        (
            size_name(bytes),
            vec![Class {
                at: 0,
                shape: [bytes / 8 / 32, 32],
            }],
        )
    };
    let mut shapes: Vec<_> = sizes.into_iter().map(one).collect();
    let in_turn = ROWS.iter().enumerate().map(|(at, &rows)| Class {
        at,
        shape: [rows, 32],
    });
    shapes.push(("16-shapes".into(), in_turn.collect()));
    let threads = [1, 2];
    threads
        .into_iter()
        .flat_map(|threads| {
            shapes.iter().map(move |(name, classes)| PairSpec {
                name: format!("tls/pair/{name}/{threads}t"),
                threads,
                classes: classes.clone(),
            })
        })
        .collect()
}

impl PairSpec {
    /// Elements of a buffer of each class, by the class's number.
    #[must_use]
    pub fn lens(&self) -> Vec<usize> {
        self.classes.iter().map(Class::len).collect()
    }

    /// A side that does these pairs with the lender that `make` makes.
    pub fn side<L: Lender<f64> + Sync + 'static>(
        &self,
        name: &str,
        make: impl Fn() -> L + 'static,
    ) -> Side {
        let Self {
            threads, classes, ..
        } = self.clone();
        Side::new(name, move || {
            let (lender, classes) = (make(), classes.clone());
            on_threads(threads, move |rounds| pairs(&lender, &classes, rounds))
        })
    }
}

/// Adds this pool's cases.
pub(super) fn add(cases: &mut Vec<Case>, counts: &mut Vec<Count>) {
    cases.extend(pair_specs().iter().map(pair));
    cases.extend([64, 256].map(small));
    cases.push(miss());
    cases.push(handed_over());
    counts.push(Count {
        name: "tls/producer-consumer/hit-rate".into(),
        claim: "what one thread takes and another drops is still recycled",
        run: Box::new(hit_rate_across),
    });
}

fn pair(spec: &PairSpec) -> Case {
    let unkeyed = Target::AtMost(if spec.threads == 1 {
        1.0 / 2.0
    } else {
        1.0 / 10.0
    });
    let mut case = Case::new(
        &spec.name,
        "a pair costs what a bare stack costs, twice over, whatever the size and the threads",
        spec.side(OURS, TlsPool::default),
    )
    .against(
        spec.side("floor: bare stack", Stacks::default),
        Target::AtMost(2.0),
    )
    .against(
        spec.side("string key, HashMap", StringKeyed::default),
        Target::AtMost(1.0 / 15.0),
    )
    .against(spec.side("ArrayQueue", Queues::default), unkeyed);
    case = case.against(Side::peer("uncounted", UNCOUNTED), Target::NanosMore(2.0));
    for peer in UNKEYED {
        case = case.against(Side::peer("pools", *peer), unkeyed);
    }
    if spec.threads > 1 {
        case = case.in_batches();
    }
    case
}

/// Our side in a build without statistics, which serves it to the build with them.
const UNCOUNTED: &str = "itself, uncounted";

const OURS: &str = if cfg!(millpond_uncounted) {
    UNCOUNTED
} else {
    "tls-pool"
};

/// The shared pools that the process `pools` serves.
pub const UNKEYED: &[&str] = &[
    "opool",
    "object-pool",
    "lockfree-object-pool",
    "sharded-slab",
];

fn small(bytes: usize) -> Case {
    Case::new(
        format!("tls/small/{}", size_name(bytes)),
        "below 1 KiB the pool is not worse than the allocator by more than 3 ns",
        one("tls-pool", bytes, TlsPool::default),
    )
    .against(
        one::<f64, _>("malloc and fill", bytes, || Filled),
        Target::NanosMore(3.0),
    )
    .against(
        one::<f64, _>("calloc", bytes, || Malloc),
        Target::NanosMore(3.0),
    )
}

fn miss() -> Case {
    Case::new(
        "tls/miss/1KiB",
        "a request that the pool can not serve costs little more than the allocation",
        one("tls-pool", 1 << 10, || Missing(TlsPool::default())),
    )
    .against(
        one::<f64, _>("malloc and fill", 1 << 10, || Filled),
        Target::NanosMore(15.0),
    )
    .against(
        one::<f64, _>("calloc", 1 << 10, || Malloc),
        Target::NanosMore(15.0),
    )
}

/// One thread takes, another drops.
const HANDED: Class = Class {
    at: 0,
    shape: [32, 32],
};

fn handed_over() -> Case {
    let side = |name: &str, set_up: fn() -> Run| Side::new(name, set_up);
    Case::new(
        "tls/producer-consumer/8KiB",
        "handing a buffer to another thread costs no more than a lock-free queue as the pool",
        side("tls-pool", || {
            let pool = TlsPool::default();
            Box::new(move |rounds| Ok(across(&pool, HANDED, rounds)))
        }),
    )
    .against(
        side("ArrayQueue", || {
            let queues = Queues::<f64>::default();
            Box::new(move |rounds| Ok(across(&queues, HANDED, rounds)))
        }),
        Target::AtMost(1.0),
    )
    .against(
        side("malloc", || {
            Box::new(|rounds| Ok(across::<f64, _>(&Malloc, HANDED, rounds)))
        }),
        Target::Shown,
    )
    .in_batches()
}

/// The hit rate of what follows a warm-up.
fn hit_rate_across() -> Vec<Finding> {
    let pool = TlsPool::default();
    across(&pool, HANDED, 10_000);
    let warm = pool.stats();
    across(&pool, HANDED, 100_000);
    let stats = pool.stats();
    let hits = stats.hits - warm.hits;
    let requests = hits + stats.misses - warm.misses;
    let rate = 100.0 * hits as f64 / requests as f64;
    vec![Finding {
        side: "ours",
        value: format!("{rate:.2} %"),
        target: Some(("≥ 99 %".into(), rate >= 99.0)),
    }]
}
