//! The benchmarks: builds a suite in release, runs it, and shows what came out as one table.
//!
//! The suites are in the crate `bench`, which this program starts and does not depend on: it tells
//! what it does line by line, and criterion's own words go to a file. What is compared and lives
//! outside this workspace is in `peers/`, a workspace of its own; it is built on `--peers` only,
//! each program apart, so that one that does not build is told as missing.

mod build;
mod gate;
mod progress;
#[path = "../../bench/src/report.rs"]
mod report;
mod saved;
mod table;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _, stdout};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};

use self::progress::Progress;
use self::report::{Event, Report};
use crate::cli::Exit;
use crate::workspace;

/// Options of `cargo xtask bench`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// What to measure.
    #[arg(value_enum, default_value_t = Chosen::All)]
    suite: Chosen,
    /// Measure each side for a sixth of a second only.
    #[arg(long)]
    quick: bool,
    /// Build and compare with other crates and allocators too; needs a registry and a C compiler.
    #[arg(long)]
    peers: bool,
    /// Measure only cases whose name contains this.
    #[arg(long, value_name = "PART")]
    filter: Option<String>,
    /// Keep the result as bench/runs/NAME-SUITE.json.
    #[arg(long, value_name = "NAME", value_parser = saved::name)]
    save: Option<String>,
    /// Show the ratios of a kept result beside the new ones.
    #[arg(long, value_name = "NAME", value_parser = saved::name)]
    compare: Option<String>,
    #[command(flatten)]
    gate: gate::Mode,
}

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Chosen {
    /// The three pools.
    Pools,
    /// Every suite.
    All,
}

/// A suite of the crate `bench`, by the name of its program.
const SUITES: &[(&str, Chosen)] = &[("pools", Chosen::Pools)];

impl Options {
    /// The command that was given, for whoever wants to repeat it.
    fn command(&self, suite: &str) -> String {
        let mut words = vec!["cargo xtask bench".to_owned(), suite.to_owned()];
        words.extend(self.quick.then(|| "--quick".to_owned()));
        words.extend(self.peers.then(|| "--peers".to_owned()));
        words.extend(self.filter.iter().map(|part| format!("--filter {part}")));
        words.join(" ")
    }
}

/// Runs the chosen suites, one after the other.
///
/// # Errors
///
/// Says what does not build, how a suite ended, or which path of the gate grew. A target that is
/// missed is no error.
pub(crate) fn run(options: &Options) -> Result<()> {
    let metadata = workspace::metadata()?;
    let root = metadata.workspace_root.as_std_path();
    let target = metadata.target_directory.as_std_path();
    let output = target.join("bench");
    fs::create_dir_all(&output).with_context(|| output.display().to_string())?;
    if options.gate.is_chosen() {
        return gate::run(&options.gate, root, &output);
    }
    for &(suite, _) in SUITES
        .iter()
        .filter(|(_, chosen)| [Chosen::All, *chosen].contains(&options.suite))
    {
        // What can not be read is told before anything runs.
        let before = options
            .compare
            .as_deref()
            .map(|name| saved::read(root, name, suite))
            .transpose()?;
        let peers = if options.peers {
            build::peers(root, target)
        } else {
            Vec::new()
        };
        let report = measure(options, suite, &peers, &output)?;
        writeln!(stdout(), "{}", table::render(&report, before.as_ref()))?;
        saved::write(&output.join(format!("{suite}.json")), &report)?;
        if let Some(name) = &options.save {
            let path = saved::path(root, name, suite);
            saved::write(&path, &report)?;
            writeln!(stdout(), "kept as {}", path.display())?;
        }
    }
    Ok(())
}

/// Builds a suite and runs it to its end.
fn measure(options: &Options, suite: &str, peers: &[build::Peer], output: &Path) -> Result<Report> {
    let mut command = Command::new(build::suite(suite)?);
    command.args(["--command", &options.command(suite)]);
    command.args(options.quick.then_some("--quick"));
    if let Some(part) = &options.filter {
        command.args(["--filter", part]);
    }
    for peer in peers {
        command.args(peer.arguments());
    }
    let log = output.join(format!("{suite}.log"));
    let mut words = File::create(&log).with_context(|| log.display().to_string())?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(words.try_clone()?)
        .spawn()
        .context("cannot start the suite")?;
    let lines = child.stdout.take().map(BufReader::new);
    let mut progress = Progress::default();
    let mut done = None;
    for line in lines.context("the suite has no output")?.lines() {
        let line = line?;
        match serde_json::from_str(&line) {
            Ok(Event::Done(report)) => done = Some(*report),
            Ok(event) => progress.show(&event),
            Err(_) => writeln!(words, "{line}")?,
        }
    }
    progress.finish();
    let status = child.wait()?;
    done.filter(|_| status.success()).ok_or_else(|| {
        let said = fs::read_to_string(&log).unwrap_or_default();
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        let cause = format!(
            "{} ({status}; more in {})",
            last.unwrap_or("the suite said nothing")
                .trim_start_matches("error: "),
            log.display()
        );
        Exit { code: 1, cause }.into()
    })
}
