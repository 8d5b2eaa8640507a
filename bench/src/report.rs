//! What a suite tells while it runs and in the end, as plain data.
//!
//! `cargo xtask bench` includes this file to read it, so that it need not build what a suite
//! measures; it draws the progress and the table, and saves the report.

use serde::{Deserialize, Serialize};

/// One line of a suite's standard output. Lines that are none are criterion's.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Event {
    /// So many steps are to be done.
    Plan(usize),
    /// The step of this name begins.
    Step(String),
    /// Something that may spoil the figures.
    Warning(String),
    /// The end.
    Done(Box<Report>),
}

/// A whole run of a suite.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The suite's name.
    pub(crate) suite: String,
    /// The command that made it.
    pub(crate) command: String,
    /// Whether laps were short.
    pub(crate) quick: bool,
    /// What it ran on.
    pub(crate) machine: Machine,
    /// What was compared, by name and version.
    pub(crate) versions: Vec<(String, String)>,
    /// What was asked for and not compared, and why.
    pub(crate) missing: Vec<(String, String)>,
    /// What came out.
    pub(crate) rows: Vec<Row>,
}

/// The machine of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The model of its processor.
    pub(crate) cpu: String,
    /// Cores that the run could use.
    pub(crate) cores: usize,
    /// Those it pinned its threads to.
    pub(crate) pinned_to: Vec<usize>,
    /// Release of the kernel.
    pub(crate) kernel: String,
    /// Who sets the frequency, if that can be seen.
    pub(crate) governor: Option<String>,
    /// The load average of the minute before.
    pub(crate) load: Option<f64>,
    /// The compiler.
    pub(crate) rustc: String,
    /// The commit measured.
    pub(crate) commit: Option<String>,
}

/// One comparison, or one count.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The case's name.
    pub(crate) case: String,
    /// What the case is to show.
    pub(crate) claim: String,
    /// Ours.
    pub(crate) ours: Option<Figure>,
    /// The alternative, by name.
    pub(crate) alternative: Option<(String, Figure)>,
    /// Ours by the alternative.
    pub(crate) ratio: Option<Ratio>,
    /// What has to come out, in words.
    pub(crate) target: Option<String>,
    /// Whether it did.
    pub(crate) verdict: Option<Verdict>,
}

/// What one side came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Figure {
    /// Nanoseconds per round.
    Nanos {
        /// The least over all laps.
        least: f64,
        /// The median over all laps.
        median: f64,
    },
    /// A count with its unit.
    Count(String),
}

/// A ratio within pairs of laps: the median and its quartiles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ratio {
    /// A quarter of the pairs is below.
    pub(crate) lower: f64,
    /// Half of the pairs is below.
    pub(crate) median: f64,
    /// A quarter of the pairs is above.
    pub(crate) upper: f64,
    /// The least of ours by the least of the alternative.
    pub(crate) of_least: f64,
}

/// Whether a target is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// By at least three quarters of the pairs.
    Met,
    /// By the median, not by the quartile above.
    MetNarrowly,
    /// Not by the median, but by the quartile below.
    MissedNarrowly,
    /// Not even by a quarter of the pairs.
    Missed,
}
