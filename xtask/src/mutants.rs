//! Mutation testing of the pool crates: a change that no test notices is a test that is missing.
//!
//! cargo-mutants changes one thing at a time in a copy of the workspace and runs the crate's tests.
//! A mutant that survives fails this chore, unless it is listed with its reason in
//! [`accepted`]; and what is listed there and no longer survives is a fault too, so the list stays
//! true. One that makes a test hang counts as caught. Documentation examples are not run: they would
//! take most of the time.

mod accepted;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::cli::Exit;
use crate::workspace;
use accepted::ACCEPTED;

/// The crates whose tests are held to this.
const PACKAGES: [&str; 4] = ["pool-core", "tls-pool", "grad-pool", "frame-pool"];

/// Options of `cargo xtask mutants`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only this crate; may be given several times.
    #[arg(long, value_name = "NAME", value_parser = PACKAGES)]
    package: Vec<String>,
    /// Only files that match this pattern, as `pool-core/src/policy/*.rs`; may be given several
    /// times. Entries of the list that survive no more are then not looked for.
    #[arg(long, value_name = "GLOB")]
    file: Vec<String>,
    /// Only list the mutants.
    #[arg(long)]
    list: bool,
}

/// What became of the mutants: one name for each, as `file:line:column: what was changed`.
#[derive(Debug, Default)]
struct Outcome {
    caught: Vec<String>,
    missed: Vec<String>,
    timed_out: Vec<String>,
    unviable: Vec<String>,
}

/// Tries the mutants.
///
/// # Errors
///
/// Says how to install cargo-mutants, names what stopped it, or counts the mutants that survived.
#[expect(clippy::print_stdout, reason = "a program reports to its user")]
pub(crate) fn run(options: &Options) -> Result<()> {
    if !is_installed() {
        let cause = "cargo-mutants is not installed; cargo install cargo-mutants --locked".into();
        return Err(Exit { code: 2, cause }.into());
    }
    let root = workspace::metadata()?.workspace_root.into_std_path_buf();
    let output = root.join("target/mutants");
    fs::create_dir_all(&output).with_context(|| format!("cannot make {}", output.display()))?;

    let status = command(options, &root, &output)
        .status()
        .context("cannot start cargo mutants")?;
    // 2 and 3 say that mutants survived or hung, which is looked at below.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        let cause = format!("cargo mutants ended with {status}");
        return Err(Exit { code: 1, cause }.into());
    }
    if options.list {
        return Ok(());
    }

    let outcome = Outcome::read(&output.join("mutants.out"))?;
    for package in PACKAGES {
        if let Some(line) = outcome.line(package) {
            println!("{line}");
        }
    }
    for entry in ACCEPTED
        .iter()
        .filter(|entry| outcome.missed(entry.file, entry.change))
    {
        println!(
            "accepted: {} in {}: {}",
            entry.change, entry.file, entry.reason
        );
    }
    let faults = outcome.faults(|file| options.covers(file));
    for fault in &faults {
        println!("mutants: {fault}");
    }
    if faults.is_empty() {
        return Ok(());
    }
    let cause = format!("mutants found {} faults", faults.len());
    Err(Exit { code: 1, cause }.into())
}

impl Options {
    /// The crates that are tried.
    fn packages(&self) -> impl Iterator<Item = &'static str> {
        PACKAGES.into_iter().filter(|package| {
            self.package.is_empty() || self.package.iter().any(|name| name == package)
        })
    }

    /// Whether every mutant of `file` is tried.
    fn covers(&self, file: &str) -> bool {
        self.file.is_empty() && self.packages().any(|package| is_in(file, package))
    }
}

fn is_in(file: &str, package: &str) -> bool {
    file.strip_prefix(package)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// The command that tries the mutants, one after the other.
fn command(options: &Options, root: &Path, output: &Path) -> Command {
    let mut cargo = Command::new(workspace::cargo());
    cargo.arg("mutants").current_dir(root);
    cargo.args(["--all-features", "--profile", "mutants"]);
    // A hang is found soon, and no busy machine makes one of a slow test.
    cargo.args(["--timeout-multiplier", "5", "--minimum-test-timeout", "60"]);
    // It leaves tests alone by itself only where they are for `test` and nothing else.
    cargo.args(["--exclude", "**/tests.rs", "--exclude-re", "tests::"]);
    cargo.arg("--output").arg(output);
    for package in options.packages() {
        cargo.args(["--package", package]);
    }
    for file in &options.file {
        cargo.args(["--file", file]);
    }
    if options.list {
        cargo.arg("--list");
    }
    cargo.args(["--", "--lib", "--tests"]);
    cargo
}

fn is_installed() -> bool {
    let mut probe = Command::new(workspace::cargo());
    probe
        .args(["mutants", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

impl Outcome {
    /// Reads what cargo-mutants wrote.
    fn read(folder: &Path) -> Result<Self> {
        let lines = |name: &str| -> Result<Vec<String>> {
            let file = folder.join(name);
            let text = fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        Ok(Self {
            caught: lines("caught.txt")?,
            missed: lines("missed.txt")?,
            timed_out: lines("timeout.txt")?,
            unviable: lines("unviable.txt")?,
        })
    }

    /// The figures of one crate, if any of its mutants was tried.
    fn line(&self, package: &str) -> Option<String> {
        let count = |names: &[String]| names.iter().filter(|name| is_in(name, package)).count();
        let [caught, missed, timed_out, unviable] = [
            count(&self.caught),
            count(&self.missed),
            count(&self.timed_out),
            count(&self.unviable),
        ];
        (caught + missed + timed_out + unviable > 0).then(|| {
            format!(
                "{package}: {caught} caught, {timed_out} hung, {missed} survived, \
                 {unviable} did not compile"
            )
        })
    }

    /// Whether this change of this file survived.
    fn missed(&self, file: &str, change: &str) -> bool {
        let mut names = self.missed.iter();
        names.any(|name| split(name) == (file, change))
    }

    /// Mutants that survived and are not listed, and entries of the list that survived no more
    /// although their file was [covered](Options::covers).
    fn faults(&self, covers: impl Fn(&str) -> bool) -> Vec<String> {
        let is_listed = |&(file, change): &(&str, &str)| {
            let mut entries = ACCEPTED.iter();
            entries.any(|entry| entry.file == file && entry.change == change)
        };
        let unlisted = self.missed.iter().filter(|name| !is_listed(&split(name)));
        let mut faults: Vec<String> = unlisted
            .map(|name| format!("no test notices {name}"))
            .collect();
        faults.extend(
            ACCEPTED
                .iter()
                .filter(|entry| covers(entry.file) && !self.missed(entry.file, entry.change))
                .map(|entry| {
                    format!(
                        "the list of accepted mutants has `{}` in {}, which does not survive",
                        entry.change, entry.file
                    )
                }),
        );
        faults
    }
}

/// The file and the change in a mutant's name, without the line and the column, which move.
fn split(name: &str) -> (&str, &str) {
    let mut parts = name.splitn(4, ':');
    let file = parts.next().unwrap_or_default();
    (file, parts.nth(2).unwrap_or_default().trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "pool-core/src/fit.rs:95:9: replace < with <= in BestFit::lower_bound";

    fn missing(names: &[&str]) -> Outcome {
        Outcome {
            missed: names.iter().map(|&name| name.to_owned()).collect(),
            ..Outcome::default()
        }
    }

    #[test]
    fn a_name_is_split_whatever_its_line() {
        let change = "replace < with <= in BestFit::lower_bound";
        assert_eq!(split(NAME), ("pool-core/src/fit.rs", change));
        let colons = "a.rs:1:2: replace <impl A for B>::f -> C with ::D()";
        assert_eq!(split(colons).1, "replace <impl A for B>::f -> C with ::D()");
    }

    #[test]
    fn a_survivor_that_is_not_listed_is_a_fault() {
        let faults = missing(&[NAME]).faults(|_| false);
        assert_eq!(faults, [format!("no test notices {NAME}")]);
    }

    #[test]
    fn the_list_is_exact_where_everything_was_tried() {
        let all: Vec<_> = ACCEPTED
            .iter()
            .map(|entry| format!("{}:1:1: {}", entry.file, entry.change))
            .collect();
        let all: Vec<_> = all.iter().map(String::as_str).collect();
        assert_eq!(missing(&all).faults(|_| true), [""; 0]);
        assert_eq!(missing(&[]).faults(|_| true).len(), ACCEPTED.len());
        assert_eq!(missing(&[]).faults(|_| false), [""; 0]);
    }

    #[test]
    fn every_accepted_mutant_has_a_reason_and_is_of_a_crate_that_is_tried() {
        for entry in ACCEPTED {
            assert!(entry.reason.len() > 10, "{}", entry.change);
            assert!(PACKAGES.iter().any(|package| is_in(entry.file, package)));
        }
    }

    #[test]
    fn the_figures_are_of_one_crate() {
        let line = missing(&[NAME, "grad-pool/src/a.rs:1:1: b"]).line("pool-core");
        let line = line.unwrap_or_default();
        assert!(
            line.starts_with("pool-core: 0 caught, 0 hung, 1 survived"),
            "{line}"
        );
        assert_eq!(missing(&[NAME]).line("pool"), None);
    }
}
