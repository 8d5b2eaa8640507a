//! The program that a suite is: options, peers, the run over its cases, the report.

use std::collections::BTreeMap;
use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Parser;

use crate::case::{Case, Count};
use crate::measure::{self, Budget};
use crate::process::{self, Peer};
use crate::report::{Event, Figure, Report, Row, Verdict};
use crate::side::Side;
use crate::{cores, machine};

/// A list of cases with a name.
#[derive(Debug)]
pub struct Suite {
    /// As in `cargo xtask bench NAME`.
    pub name: &'static str,
    /// Timed comparisons.
    pub cases: Vec<Case>,
    /// What is counted.
    pub counts: Vec<Count>,
    /// What is compared, by name and version.
    pub versions: Vec<(String, String)>,
}

/// Runs a suite of benchmarks; `cargo xtask bench` does, and shows the result as a table.
#[derive(Debug, Parser)]
struct Options {
    /// Short laps.
    #[arg(long)]
    quick: bool,
    /// Only cases whose name contains this.
    #[arg(long, value_name = "PART")]
    filter: Option<String>,
    /// A process that serves sides, by its name in the suite.
    #[arg(long = "peer", value_name = "NAME=PATH", value_parser = named)]
    peers: Vec<(String, String)>,
    /// What is not there to be compared.
    #[arg(long, value_name = "NAME=REASON", value_parser = named)]
    missing: Vec<(String, String)>,
    /// The command to name in the report.
    #[arg(long, value_name = "WORDS", default_value = "cargo bench -p bench")]
    command: String,
    /// Serve our sides to another suite.
    #[arg(long, hide = true)]
    serve: bool,
    /// The cores to pin to.
    #[arg(long, value_name = "CORE", value_delimiter = ',')]
    cores: Vec<usize>,
    /// What cargo says to a benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn named(text: &str) -> Result<(String, String)> {
    let (name, value) = text.split_once('=').context("this is not NAME=VALUE")?;
    Ok((name.into(), value.into()))
}

/// Runs the suite that `make` makes, as this process's command line asks.
#[expect(
    clippy::print_stderr,
    reason = "a program tells its user what went wrong"
)]
#[must_use]
pub fn main(make: impl FnOnce() -> Suite) -> ExitCode {
    let options = Options::parse();
    if cfg!(debug_assertions) {
        eprintln!("error: a debug build has nothing to report; use cargo bench or --release");
        return ExitCode::from(2);
    }
    if !options.cores.is_empty() {
        cores::choose(options.cores.clone());
    }
    let suite = make();
    let ended = if options.serve {
        serve(suite)
    } else {
        run(&suite, &options)
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Serves our sides.
fn serve(suite: Suite) -> Result<()> {
    let sides = suite.cases.into_iter();
    let sides: Vec<(String, Side)> = sides.map(|case| (case.name, case.ours)).collect();
    process::serve(suite.versions, &sides)
}

fn run(suite: &Suite, options: &Options) -> Result<()> {
    let machine = machine::describe();
    for warning in machine::warnings(&machine) {
        tell(&Event::Warning(warning))?;
    }
    cores::pin(0);
    if !cores::is_pinned() {
        tell(&Event::Warning(
            "threads can not be pinned to cores here".into(),
        ))?;
    }
    let mut missing = options.missing.clone();
    let mut peers = BTreeMap::new();
    for (name, path) in &options.peers {
        match Peer::start(&PathBuf::from(path)) {
            Ok(peer) => drop(peers.insert(name.clone(), peer)),
            Err(error) => missing.push((name.clone(), format!("{error:#}"))),
        }
    }

    let is_chosen = |name: &str| {
        let part = options.filter.as_deref();
        part.is_none_or(|part| name.contains(part))
    };
    let cases: Vec<_> = suite
        .cases
        .iter()
        .filter(|case| is_chosen(&case.name))
        .collect();
    let counts: Vec<_> = suite
        .counts
        .iter()
        .filter(|count| is_chosen(&count.name))
        .collect();
    let steps = cases.iter().map(|case| steps(case, &peers)).sum::<usize>() + counts.len();
    if steps == 0 {
        bail!(
            "no case has {:?} in its name",
            options.filter.as_deref().unwrap_or("")
        );
    }
    tell(&Event::Plan(steps))?;

    let budget = if options.quick {
        Budget::QUICK
    } else {
        Budget::FULL
    };
    let mut criterion = budget.criterion();
    let mut rows = Vec::new();
    for case in cases {
        rows.extend(measure::case(&mut criterion, case, &mut peers, |step| {
            tell(&Event::Step(step))
        })?);
    }
    for count in counts {
        tell(&Event::Step(count.name.clone()))?;
        rows.extend(counted(count));
    }

    let mut versions = suite.versions.clone();
    versions.extend(peers.values().flat_map(|peer| peer.versions().to_vec()));
    tell(&Event::Done(Box::new(Report {
        suite: suite.name.into(),
        command: options.command.clone(),
        quick: options.quick,
        machine,
        versions,
        missing,
        rows,
    })))
}

/// Sides of a case that can be measured.
fn steps(case: &Case, peers: &BTreeMap<String, Peer>) -> usize {
    let sides = case.against.iter().map(|against| &against.side);
    let at_hand = sides.filter(|side| match side.process() {
        None => true,
        Some(process) => peers
            .get(process)
            .is_some_and(|peer| peer.serves(&case.name, &side.name)),
    });
    1 + at_hand.count()
}

fn counted(count: &Count) -> Vec<Row> {
    let findings = (count.run)().into_iter();
    findings
        .map(|finding| {
            let figure = Figure::Count(finding.value);
            let (target, met) = finding.target.unzip();
            let (ours, alternative) = match finding.side {
                "ours" => (Some(figure), None),
                side => (None, Some((side.to_owned(), figure))),
            };
            Row {
                case: count.name.clone(),
                claim: count.claim.into(),
                ours,
                alternative,
                ratio: None,
                target,
                verdict: met.map(|met| if met { Verdict::Met } else { Verdict::Missed }),
            }
        })
        .collect()
}

fn tell(event: &Event) -> Result<()> {
    let mut out = stdout().lock();
    serde_json::to_writer(&mut out, event)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}
