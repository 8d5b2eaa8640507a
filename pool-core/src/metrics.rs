//! A pool's statistics through the `metrics` facade.
//!
//! A [`Publisher`] registers one pool's metrics with the recorder once, under the pool's labels, and
//! then sets them from [`Stats`] whenever it is told to: by a timer, before a scrape, after a batch.
//! Counts are counters with absolute values, so that publishing twice counts nothing twice; what is
//! held is a gauge. Nothing happens between two calls: a pool that is not published pays nothing,
//! and one that is pays for reading its statistics.
//!
//! | counter | unit | what it counts |
//! |---|---|---|
//! | `buffer_pool_hits_total` | count | requests served by a retained buffer |
//! | `buffer_pool_misses_total` | count | requests that found nothing that fits |
//! | `buffer_pool_bypassed_total` | count | requests that did not ride the pool |
//! | `buffer_pool_returns_total` | count | buffers that came back, kept or refused |
//! | `buffer_pool_kept_total` | count | buffers that came back and were retained |
//! | `buffer_pool_refused_total` | count | buffers that came back and were not retained; label `reason` |
//! | `buffer_pool_detached_total` | count | buffers that left the pool's care for good |
//! | `buffer_pool_adopted_total` | count | buffers that the pool had not handed out |
//! | `buffer_pool_evicted_total` | count | retained buffers that a policy gave up |
//! | `buffer_pool_cleared_total` | count | retained buffers given up by a clear, a switch or an end |
//! | `buffer_pool_zeroed_bytes_total` | bytes | bytes set to zero for borrowers |
//!
//! | gauge | unit | what it says |
//! |---|---|---|
//! | `buffer_pool_live_buffers` | count | buffers that are out now |
//! | `buffer_pool_held_buffers` | count | buffers retained now |
//! | `buffer_pool_held_bytes` | bytes | bytes of capacity retained now |
//! | `buffer_pool_held_classes` | count | classes with a retained buffer now |
//! | `buffer_pool_peak_buffers` | count | most buffers ever retained at once |
//! | `buffer_pool_peak_bytes` | bytes | most bytes of capacity ever retained at once |
//!
//! A reason is written as [`Refusal::label`] has it, with underscores: `class_full`.

use std::fmt;

use ::metrics::{
    Counter, Gauge, IntoLabels, Label, Unit, counter, describe_counter, describe_gauge, gauge,
};

use crate::policy::Refusal;
use crate::stats::Stats;

/// Reads one value of the statistics.
type Value = fn(&Stats) -> u64;

/// A metric: its name, its unit, what it means, and where its value is.
type Metric = (&'static str, Unit, &'static str, Value);

const REFUSED: &str = "buffer_pool_refused_total";

const COUNTERS: &[Metric] = &[
    (
        "buffer_pool_hits_total",
        Unit::Count,
        "Requests served by a retained buffer.",
        |stats| stats.hits,
    ),
    (
        "buffer_pool_misses_total",
        Unit::Count,
        "Requests that rode the pool and found nothing that fits.",
        |stats| stats.misses,
    ),
    (
        "buffer_pool_bypassed_total",
        Unit::Count,
        "Requests that did not ride the pool.",
        |stats| stats.bypassed,
    ),
    (
        "buffer_pool_returns_total",
        Unit::Count,
        "Buffers that came back, kept or refused.",
        |stats| stats.returns,
    ),
    (
        "buffer_pool_kept_total",
        Unit::Count,
        "Buffers that came back and were retained.",
        |stats| stats.kept,
    ),
    (
        "buffer_pool_detached_total",
        Unit::Count,
        "Buffers that left the pool's care for good.",
        |stats| stats.detached,
    ),
    (
        "buffer_pool_adopted_total",
        Unit::Count,
        "Buffers given to the pool that it had not handed out.",
        |stats| stats.adopted,
    ),
    (
        "buffer_pool_evicted_total",
        Unit::Count,
        "Retained buffers that a policy gave up.",
        |stats| stats.evicted,
    ),
    (
        "buffer_pool_cleared_total",
        Unit::Count,
        "Retained buffers given up because the pool was cleared, switched off or closed.",
        |stats| stats.cleared,
    ),
    (
        "buffer_pool_zeroed_bytes_total",
        Unit::Bytes,
        "Bytes set to zero for borrowers.",
        |stats| stats.zeroed_bytes,
    ),
];

const GAUGES: &[Metric] = &[
    (
        "buffer_pool_live_buffers",
        Unit::Count,
        "Buffers that are out now.",
        Stats::live,
    ),
    (
        "buffer_pool_held_buffers",
        Unit::Count,
        "Buffers retained now.",
        |stats| stats.held_buffers,
    ),
    (
        "buffer_pool_held_bytes",
        Unit::Bytes,
        "Bytes of capacity retained now.",
        |stats| stats.held_bytes,
    ),
    (
        "buffer_pool_held_classes",
        Unit::Count,
        "Classes with at least one retained buffer now.",
        |stats| stats.classes,
    ),
    (
        "buffer_pool_peak_buffers",
        Unit::Count,
        "Most buffers ever retained at once.",
        |stats| stats.peak_buffers,
    ),
    (
        "buffer_pool_peak_bytes",
        Unit::Bytes,
        "Most bytes of capacity ever retained at once.",
        |stats| stats.peak_bytes,
    ),
];

/// Tells the current recorder what each metric of this module means and what its unit is.
///
/// Once for the program, after its recorder is installed.
pub fn describe() {
    for &(name, unit, meaning, _) in COUNTERS {
        describe_counter!(name, unit, meaning);
    }
    describe_counter!(
        REFUSED,
        Unit::Count,
        "Buffers that came back and were not retained, by reason."
    );
    for &(name, unit, meaning, _) in GAUGES {
        describe_gauge!(name, unit, meaning);
    }
}

/// One pool's metrics, registered with a recorder.
///
/// # Examples
///
/// ```
/// use frame_pool::FramePool;
/// use metrics_util::debugging::{DebugValue, DebuggingRecorder};
/// use pool_core::metrics::{self, Publisher};
///
/// // A program installs its exporter's recorder; this one keeps what it is told.
/// let recorder = DebuggingRecorder::new();
/// let shown = recorder.snapshotter();
/// recorder.install().expect("the only recorder");
/// metrics::describe();
///
/// let pool = FramePool::default();
/// let frames = Publisher::new(&[("pool", "frames")]);
/// drop(pool.take(4096));
/// drop(pool.take(4096));
/// frames.publish(&pool.stats()); // by a timer, or before a scrape
///
/// let hits = shown.snapshot().into_vec().into_iter().find(|(key, ..)| {
///     key.key().name() == "buffer_pool_hits_total"
/// });
/// let (key, _unit, meaning, value) = hits.expect("it is registered");
/// assert_eq!(key.key().labels().next().unwrap().value(), "frames");
/// assert_eq!(&*meaning.unwrap(), "Requests served by a retained buffer.");
/// assert_eq!(value, DebugValue::Counter(1));
/// ```
pub struct Publisher {
    counters: Vec<(Counter, Value)>,
    refused: Vec<(Counter, Refusal)>,
    gauges: Vec<(Gauge, Value)>,
}

impl Publisher {
    /// Registers the metrics of one pool, under labels that tell it from others.
    ///
    /// They are registered with the recorder that is current now, so a program installs its recorder
    /// before; without one, publishing does nothing.
    #[must_use]
    pub fn new(labels: impl IntoLabels) -> Self {
        let labels = labels.into_labels();
        let refused = |reason: Refusal| {
            let mut labels = labels.clone();
            labels.push(Label::new("reason", reason.label().replace(' ', "_")));
            (counter!(REFUSED, labels), reason)
        };
        Self {
            counters: COUNTERS
                .iter()
                .map(|&(name, .., value)| (counter!(name, labels.clone()), value))
                .collect(),
            refused: Refusal::ALL.into_iter().map(refused).collect(),
            gauges: GAUGES
                .iter()
                .map(|&(name, .., value)| (gauge!(name, labels.clone()), value))
                .collect(),
        }
    }

    /// Sets every metric to what `stats` says: the sum of one pool, from [its
    /// `stats`](Stats).
    ///
    /// Allocates nothing. A counter never goes back: statistics of an earlier moment change none.
    pub fn publish(&self, stats: &Stats) {
        for (counter, value) in &self.counters {
            counter.absolute(value(stats));
        }
        for (counter, reason) in &self.refused {
            counter.absolute(stats.refused_for(*reason));
        }
        for (gauge, value) in &self.gauges {
            gauge.set(value(stats) as f64);
        }
    }
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::HashMap;

    use ::metrics::with_local_recorder;
    use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

    use super::*;

    /// Every published value by name and, for refusals, reason.
    fn published(shown: &Snapshotter) -> HashMap<String, u64> {
        let shown = shown.snapshot().into_vec().into_iter();
        let row = |(key, _, _, value): (metrics_util::CompositeKey, _, _, DebugValue)| {
            let labels: Vec<_> = key.key().labels().map(Label::value).collect();
            assert_eq!(labels[0], "frames", "the pool's own label");
            let value = match value {
                DebugValue::Counter(count) => count,
                DebugValue::Gauge(gauge) => format!("{gauge}").parse().expect("a whole number"),
                DebugValue::Histogram(_) => panic!("no metric here is a histogram"),
            };
            let name = [&[key.key().name()], &labels[1..]].concat().join(" ");
            (name, value)
        };
        shown.map(row).collect()
    }

    #[test]
    fn every_statistic_is_published_under_its_own_name() {
        let stats = Stats {
            hits: 100,
            misses: 1,
            bypassed: 2,
            returns: 3,
            kept: 4,
            detached: 5,
            adopted: 6,
            evicted: 7,
            cleared: 8,
            zeroed_bytes: 9,
            held_buffers: 10,
            held_bytes: 11,
            classes: 12,
            peak_buffers: 13,
            peak_bytes: 14,
            refused: [20, 21, 22, 23, 24, 25, 26, 27],
        };
        let recorder = DebuggingRecorder::new();
        let shown = recorder.snapshotter();
        with_local_recorder(&recorder, || {
            Publisher::new(&[("pool", "frames")]).publish(&stats);
        });
        let expected = [
            ("buffer_pool_hits_total", 100),
            ("buffer_pool_misses_total", 1),
            ("buffer_pool_bypassed_total", 2),
            ("buffer_pool_returns_total", 3),
            ("buffer_pool_kept_total", 4),
            ("buffer_pool_detached_total", 5),
            ("buffer_pool_adopted_total", 6),
            ("buffer_pool_evicted_total", 7),
            ("buffer_pool_cleared_total", 8),
            ("buffer_pool_zeroed_bytes_total", 9),
            ("buffer_pool_refused_total buffer_too_large", 20),
            ("buffer_pool_refused_total class_full", 21),
            ("buffer_pool_refused_total pool_full", 22),
            ("buffer_pool_refused_total too_many_classes", 23),
            ("buffer_pool_refused_total unpooled", 24),
            ("buffer_pool_refused_total switched_off", 25),
            ("buffer_pool_refused_total closed", 26),
            ("buffer_pool_refused_total other", 27),
            ("buffer_pool_live_buffers", 99),
            ("buffer_pool_held_buffers", 10),
            ("buffer_pool_held_bytes", 11),
            ("buffer_pool_held_classes", 12),
            ("buffer_pool_peak_buffers", 13),
            ("buffer_pool_peak_bytes", 14),
        ];
        let expected: HashMap<_, _> = expected
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        assert_eq!(published(&shown), expected);
    }

    #[test]
    fn publishing_twice_counts_nothing_twice_and_gauges_go_down_again() {
        let recorder = DebuggingRecorder::new();
        let shown = recorder.snapshotter();
        let publisher = with_local_recorder(&recorder, || Publisher::new(&[("pool", "frames")]));
        let mut stats = Stats {
            misses: 5,
            held_bytes: 64,
            ..Stats::default()
        };
        publisher.publish(&stats);
        stats.held_bytes = 8;
        publisher.publish(&stats);
        let published = published(&shown);
        assert_eq!(published["buffer_pool_misses_total"], 5);
        assert_eq!(published["buffer_pool_held_bytes"], 8);
    }

    #[test]
    fn a_publisher_without_a_recorder_does_nothing() {
        let publisher = Publisher::new(&[("pool", "frames")]);
        publisher.publish(&Stats::default());
        assert_eq!(format!("{publisher:?}"), "Publisher { .. }");
    }

    #[test]
    fn every_metric_is_described_with_its_unit() {
        let recorder = DebuggingRecorder::new();
        let shown = recorder.snapshotter();
        with_local_recorder(&recorder, || {
            describe();
            Publisher::new(&[("pool", "frames")]).publish(&Stats::default());
        });
        for (key, unit, meaning, _) in shown.snapshot().into_vec() {
            let name = key.key().name();
            let of_bytes = name.contains("bytes");
            let expected = if of_bytes { Unit::Bytes } else { Unit::Count };
            assert_eq!(unit, Some(expected), "{name}");
            assert!(meaning.is_some(), "{name}");
        }
    }
}
