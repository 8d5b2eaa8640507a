//! Measures one case: criterion samples each side, and the ratio comes from pairs of laps.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use criterion::{BenchmarkId, Criterion, SamplingMode};

use crate::case::{Against, Case, Target};
use crate::process::Peer;
use crate::report::{Figure, Ratio, Row, Verdict};
use crate::side::{Lap, Run};
use crate::spread::Spread;

/// Rounds after which both sides must have the same digest.
const CHECKED: u64 = 40;

/// How long a side is measured. Many short laps: where others want the core, a lap that is shorter
/// than the scheduler's slice is seldom cut in two, and the median passes over those that are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    warm_up: Duration,
    measured: Duration,
    laps: usize,
}

impl Budget {
    /// For `--quick`.
    pub(crate) const QUICK: Self = Self {
        warm_up: Duration::from_millis(30),
        measured: Duration::from_millis(150),
        laps: 50,
    };

    /// For figures that are to be kept.
    pub(crate) const FULL: Self = Self {
        warm_up: Duration::from_millis(200),
        measured: Duration::from_secs(1),
        laps: 200,
    };

    /// Criterion with this budget. It draws nothing, and needs few resamples: the table has
    /// statistics of its own.
    pub(crate) fn criterion(self) -> Criterion {
        Criterion::default()
            .without_plots()
            .warm_up_time(self.warm_up)
            .measurement_time(self.measured)
            .sample_size(self.laps)
            .nresamples(1001)
    }
}

/// Two laps, one right after the other.
#[derive(Debug, Clone, Copy)]
struct Pair {
    rounds: u64,
    ours: Lap,
    other: Lap,
}

/// Checks and times every side of `case` that is at hand.
///
/// # Errors
///
/// When two sides disagree on what their work came to, or one fails.
pub(crate) fn case(
    criterion: &mut Criterion,
    case: &Case,
    peers: &mut BTreeMap<String, Peer>,
    mut step: impl FnMut(String) -> Result<()>,
) -> Result<Vec<Row>> {
    let mut ours = case.ours.set_up().context("our side is in this process")?;
    let expected = ours(CHECKED)?.digest;
    let mut group = criterion.benchmark_group(&case.name);
    group.sampling_mode(SamplingMode::Flat);

    step(format!("{}: {}", case.name, case.ours.name))?;
    let mut alone = Vec::new();
    let mut failed = None;
    group.bench_function(&case.ours.name, |bencher| {
        bencher.iter_custom(|batches| {
            let rounds = batches * case.batch;
            match ours(rounds) {
                Ok(lap) => {
                    alone.push((rounds, lap));
                    lap.time
                }
                Err(error) => give_up(&mut failed, error),
            }
        });
    });
    if let Some(error) = failed {
        return Err(error.context(case.name.clone()));
    }

    let mut rows = Vec::new();
    if let Some(row) = case.limit.and_then(|limit| by_itself(case, &alone, limit)) {
        rows.push(row);
    }
    for against in &case.against {
        let name = &against.side.name;
        let Some(mut other) = set_up(case, against, peers) else {
            continue;
        };
        step(format!("{}: {name}", case.name))?;
        if other(CHECKED)?.digest != expected {
            bail!("{}: {name} does not do the same work", case.name);
        }
        let mut pairs = Vec::new();
        let mut failed = None;
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter_custom(|batches| {
                let rounds = batches * case.batch;
                let ours_first = pairs.len() % 2 == 0;
                match pair(&mut ours, &mut other, rounds, ours_first) {
                    Ok(pair) => {
                        pairs.push(pair);
                        // Criterion takes no lap for one that took no time.
                        pair.other.time.max(Duration::from_nanos(1))
                    }
                    Err(error) => give_up(&mut failed, error),
                }
            });
        });
        if let Some(error) = failed {
            return Err(error.context(format!("{}: {name}", case.name)));
        }
        rows.extend(compared(case, against, &pairs));
    }
    group.finish();
    Ok(rows)
}

/// Keeps the first error, and lets criterion hurry to its end.
fn give_up(failed: &mut Option<anyhow::Error>, error: anyhow::Error) -> Duration {
    failed.get_or_insert(error);
    Duration::from_secs(1)
}

/// The alternative, here or in its process. None if that process is not at hand.
fn set_up<'p>(
    case: &'p Case,
    against: &'p Against,
    peers: &'p mut BTreeMap<String, Peer>,
) -> Option<Box<dyn FnMut(u64) -> Result<Lap> + 'p>> {
    let Some(process) = against.side.process() else {
        return against.side.set_up().map(|run| run as Box<_>);
    };
    let name = &against.side.name;
    let peer = peers.get_mut(process)?;
    peer.serves(&case.name, name)
        .then(|| Box::new(|rounds| peer.lap(&case.name, name, rounds)) as Box<_>)
}

/// A lap of each, whose order is up to the caller.
fn pair(
    ours: &mut Run,
    other: &mut dyn FnMut(u64) -> Result<Lap>,
    rounds: u64,
    ours_first: bool,
) -> Result<Pair> {
    let first = if ours_first {
        Some(ours(rounds)?)
    } else {
        None
    };
    let other = other(rounds)?;
    let ours = match first {
        Some(lap) => lap,
        None => ours(rounds)?,
    };
    if ours.digest != other.digest {
        bail!("the two sides disagree after {rounds} rounds");
    }
    Ok(Pair {
        rounds,
        ours,
        other,
    })
}

/// Nanoseconds of a round.
fn nanos(lap: Lap, rounds: u64) -> f64 {
    lap.time.as_nanos() as f64 / rounds as f64
}

fn figure(spread: Spread) -> Figure {
    Figure::Nanos {
        least: spread.least,
        median: spread.median,
    }
}

/// The laps that criterion measured: all have the same number of rounds, the last one's, while
/// those of the warm-up grow.
fn measured<T>(laps: &[T], rounds: impl Fn(&T) -> u64) -> impl Iterator<Item = &T> {
    let last = laps.last().map(&rounds);
    laps.iter().filter(move |lap| Some(rounds(lap)) == last)
}

fn by_itself(case: &Case, alone: &[(u64, Lap)], limit: f64) -> Option<Row> {
    let laps = measured(alone, |&(rounds, _)| rounds);
    let ours = Spread::of(laps.map(|&(rounds, lap)| nanos(lap, rounds)))?;
    Some(Row {
        ours: Some(figure(ours)),
        target: Some(format!("≤ {limit} ns")),
        verdict: Some(Verdict::of(ours, limit)),
        ..row(case)
    })
}

fn compared(case: &Case, against: &Against, pairs: &[Pair]) -> Option<Row> {
    let spread =
        |number: &dyn Fn(&Pair) -> f64| Spread::of(measured(pairs, |pair| pair.rounds).map(number));
    let ours = spread(&|pair| nanos(pair.ours, pair.rounds))?;
    let other = spread(&|pair| nanos(pair.other, pair.rounds))?;
    let ratio = spread(&|pair| {
        pair.ours.time.as_secs_f64() / pair.other.time.as_secs_f64().max(f64::MIN_POSITIVE)
    })?;
    let more = spread(&|pair| nanos(pair.ours, pair.rounds) - nanos(pair.other, pair.rounds))?;
    let judged = match against.target {
        Target::NanosMore(_) => more,
        Target::AtMost(_) | Target::Shown => ratio,
    };
    Some(Row {
        ours: Some(figure(ours)),
        alternative: Some((against.side.name.clone(), figure(other))),
        ratio: Some(Ratio {
            lower: ratio.lower,
            median: ratio.median,
            upper: ratio.upper,
            of_least: ours.least / other.least.max(f64::MIN_POSITIVE),
        }),
        target: Some(against.target.words()).filter(|words| !words.is_empty()),
        verdict: against.target.verdict(judged),
        ..row(case)
    })
}

fn row(case: &Case) -> Row {
    Row {
        case: case.name.clone(),
        claim: case.claim.into(),
        ours: None,
        alternative: None,
        ratio: None,
        target: None,
        verdict: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::side::{Side, timed};

    fn quickly() -> Criterion {
        Criterion::default()
            .without_plots()
            .warm_up_time(Duration::from_millis(1))
            .measurement_time(Duration::from_millis(10))
            .sample_size(10)
            .nresamples(1001)
    }

    /// As many additions as rounds, so that a lap takes time.
    fn count(rounds: u64) -> u64 {
        (0..rounds).fold(0, |sum, _| std::hint::black_box(sum + 1))
    }

    #[test]
    fn sides_that_do_other_work_are_not_timed() {
        let honest = Side::new("ours", || timed(count));
        let lazy = Side::new("lazy", || timed(|_| 0));
        let unequal = Case::new("test/unequal", "", honest).against(lazy, Target::Shown);
        let failure = case(&mut quickly(), &unequal, &mut BTreeMap::new(), |_| Ok(()));
        let failure = failure.unwrap_err().to_string();
        assert_eq!(failure, "test/unequal: lazy does not do the same work");
    }

    #[test]
    fn a_side_that_begins_to_skip_work_later_is_found_out() {
        let honest = Side::new("ours", || timed(count));
        let tired = Side::new("tired", || {
            let mut laps = 0;
            timed(move |rounds| {
                laps += 1;
                if laps < 3 { count(rounds) } else { 0 }
            })
        });
        let unequal = Case::new("test/tired", "", honest).against(tired, Target::Shown);
        let failure = case(&mut quickly(), &unequal, &mut BTreeMap::new(), |_| Ok(()));
        assert!(failure.is_err());
    }
}
