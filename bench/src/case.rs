//! A claim as data: who is compared with whom, and what has to come out.

use crate::report::Verdict;
use crate::side::Side;
use crate::spread::Spread;

/// A timed comparison. All sides do the same work.
#[derive(Debug)]
pub struct Case {
    /// Unique, in parts that a filter can pick: `tls/pair/8KiB/1t`.
    pub name: String,
    /// What the case is to show.
    pub claim: &'static str,
    /// Our side.
    pub ours: Side,
    /// The most that a round of ours may take, in nanoseconds.
    pub limit: Option<f64>,
    /// Rounds that are the least worth starting a clock for: more than one where threads begin a
    /// lap together. Criterion's own figures are per so many rounds, the table's are per round.
    pub batch: u64,
    /// What ours is compared with.
    pub against: Vec<Against>,
}

/// An alternative and what ours has to reach beside it.
#[derive(Debug)]
pub struct Against {
    /// The alternative.
    pub side: Side,
    /// What the comparison has to come to.
    pub target: Target,
}

/// What a comparison has to come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// Ours takes at most so many times as long.
    AtMost(f64),
    /// Ours takes at most so many nanoseconds longer.
    NanosMore(f64),
    /// Shown for comparison.
    Shown,
}

impl Case {
    /// A case with nothing to compare with yet.
    #[must_use]
    pub fn new(name: impl Into<String>, claim: &'static str, ours: Side) -> Self {
        Self {
            name: name.into(),
            claim,
            ours,
            limit: None,
            batch: 1,
            against: Vec::new(),
        }
    }

    /// Adds an alternative.
    #[must_use]
    pub fn against(mut self, side: Side, target: Target) -> Self {
        self.against.push(Against { side, target });
        self
    }

    /// Starts no clock for fewer rounds than a thousand.
    #[must_use]
    pub fn in_batches(mut self) -> Self {
        self.batch = 1000;
        self
    }

    /// Bounds a round of ours by itself.
    #[must_use]
    pub fn within(mut self, nanos: f64) -> Self {
        self.limit = Some(nanos);
        self
    }
}

impl Target {
    /// Whether the spread of the ratio, or of the difference for [`Target::NanosMore`], meets it.
    pub(crate) fn verdict(self, spread: Spread) -> Option<Verdict> {
        match self {
            Self::AtMost(most) | Self::NanosMore(most) => Some(Verdict::of(spread, most)),
            Self::Shown => None,
        }
    }

    /// The target in words.
    pub(crate) fn words(self) -> String {
        match self {
            // "0.067 times" says less than what it was made from.
            Self::AtMost(most) if most <= 0.5 => format!("≥ {:.3} × faster", 1.0 / most)
                .replace(".000", "")
                .replace("00 ×", " ×"),
            Self::AtMost(most) => format!("≤ {most} ×"),
            Self::NanosMore(most) => format!("≤ + {most} ns"),
            Self::Shown => String::new(),
        }
    }
}

/// A claim about counts, which are not timed: hit rates, page faults.
pub struct Count {
    /// As [`Case::name`].
    pub name: String,
    /// As [`Case::claim`].
    pub claim: &'static str,
    /// Does the work and counts.
    pub run: Box<dyn Fn() -> Vec<Finding>>,
}

impl std::fmt::Debug for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Count")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What was counted on one side.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Whose count this is.
    pub side: &'static str,
    /// The count with its unit.
    pub value: String,
    /// The target in words and whether it is met, on our side.
    pub target: Option<(String, bool)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_below_a_half_is_told_as_the_factor_it_came_from() {
        assert_eq!(Target::AtMost(1.0 / 15.0).words(), "≥ 15 × faster");
        assert_eq!(Target::AtMost(0.5).words(), "≥ 2 × faster");
        assert_eq!(Target::AtMost(0.8).words(), "≤ 0.8 ×");
        assert_eq!(Target::AtMost(2.5).words(), "≤ 2.5 ×");
        assert_eq!(Target::NanosMore(3.0).words(), "≤ + 3 ns");
    }
}
