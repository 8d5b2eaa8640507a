//! Mutants that may survive, each with its reason.

/// A change that no test notices.
pub(super) struct Accepted {
    /// The file, from the workspace's root.
    pub(super) file: &'static str,
    /// The change as cargo-mutants writes it, after line and column.
    pub(super) change: &'static str,
    /// Why no test is to notice it.
    pub(super) reason: &'static str,
}

/// The list, by file.
pub(super) const ACCEPTED: &[Accepted] = &[
    Accepted {
        file: "pool-core/src/laws.rs",
        change: "delete field cases from struct Config expression in hold",
        reason: "as many histories as the library tries by itself; named so that they stay as many",
    },
    Accepted {
        file: "pool-core/src/laws.rs",
        change: "delete field failure_persistence from struct Config expression in hold",
        reason: "the library would warn that it finds no file to write a failure to, no more",
    },
    Accepted {
        file: "pool-core/src/policy.rs",
        change: "replace Retention::admit -> bool with true",
        reason: "the same program: it is what the default does",
    },
    Accepted {
        file: "pool-core/src/policy.rs",
        change: "replace Retention::on_hit with ()",
        reason: "the same program: it is what the default does",
    },
    Accepted {
        file: "pool-core/src/policy.rs",
        change: "replace Retention::on_miss with ()",
        reason: "the same program: it is what the default does",
    },
    Accepted {
        file: "pool-core/src/policy.rs",
        change: "replace Retention::on_leave with ()",
        reason: "the same program: it is what the default does",
    },
    Accepted {
        file: "pool-core/src/policy.rs",
        change: "replace Retention::trim -> Option<usize> with None",
        reason: "the same program: it is what the default does",
    },
    Accepted {
        file: "pool-core/src/policy/bounded.rs",
        change: "replace <impl Retention for Bounded>::is_memoryless -> bool with false",
        reason: "the same answers, asked for every time: slower",
    },
    Accepted {
        file: "pool-core/src/policy/unbounded.rs",
        change: "replace <impl Retention for Unbounded>::is_memoryless -> bool with false",
        reason: "the same answers, asked for every time: slower",
    },
    Accepted {
        file: "pool-core/src/shelf.rs",
        change: "replace match guard class != wanted with true in Shelf<K, B, P, F>::try_take_with",
        reason: "the other arm serves a class that is exact as well, by one call more",
    },
    Accepted {
        file: "pool-core/src/stats.rs",
        change: "replace > with >= in Counters::weigh",
        reason: "stores a high-water mark over an equal one",
    },
];
