//! The gate: instructions of the hot paths, counted by callgrind, beside the committed counts.
//!
//! Wall time is too noisy to fail a change by; a count of instructions is the same on every run.
//! Each path runs twice with different numbers of rounds, and the difference counts. That needs
//! nothing but valgrind: the crates that drive callgrind want a runner of their exact version
//! installed beside them.
//!
//! A count depends on the compiler, so the committed ones say which, and are not held against
//! another.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Write as _, stdout};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};

use super::build;
use crate::cli::Exit;

/// Rounds of the two runs.
const ROUNDS: [u64; 2] = [500, 1500];

/// By how much a count may grow, in percent.
const TOLERATED: f64 = 2.0;

/// Whether to count instead of timing, and what to do with the counts.
#[derive(Debug, Args)]
pub(super) struct Mode {
    /// Count the instructions of hot paths instead, and fail if one grew by more than 2 %.
    #[arg(long, conflicts_with_all = ["suite", "quick", "peers", "filter", "save", "compare"])]
    gate: bool,
    /// Commit the counts of this run as what later ones are held against.
    #[arg(long, requires = "gate")]
    bless: bool,
}

impl Mode {
    /// Whether the gate is what was asked for.
    pub(super) fn is_chosen(&self) -> bool {
        self.gate
    }
}

/// Instructions of one round of each path.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Counts {
    rustc: String,
    instructions: BTreeMap<String, f64>,
}

/// Counts, and compares with the committed counts or replaces them.
///
/// # Errors
///
/// Names the paths that grew by more than 2 %, or are not in the committed counts.
pub(super) fn run(mode: &Mode, root: &Path, output: &Path) -> Result<()> {
    if !valgrind_is_installed() {
        writeln!(
            stdout(),
            "!!! SKIPPED: valgrind is not installed; nothing was counted"
        )?;
        return Ok(());
    }
    let now = count(output)?;
    let path = root.join("bench").join("instructions.json");
    if mode.bless {
        fs::write(&path, serde_json::to_string_pretty(&now)? + "\n")?;
        writeln!(
            stdout(),
            "{} paths counted into {}",
            now.instructions.len(),
            path.display()
        )?;
        return Ok(());
    }
    let text = fs::read_to_string(&path).with_context(|| {
        format!(
            "{}; cargo xtask bench --gate --bless makes it",
            path.display()
        )
    })?;
    let committed: Counts = serde_json::from_str(&text)?;
    writeln!(stdout(), "{}", table(&committed, &now))?;
    if committed.rustc != now.rustc {
        writeln!(
            stdout(),
            "!!! SKIPPED: the committed counts are of {}, these of {}",
            committed.rustc,
            now.rustc
        )?;
        return Ok(());
    }
    let grown = grown(&committed, &now);
    if grown.is_empty() {
        return Ok(());
    }
    let cause = format!(
        "more than {TOLERATED} % more instructions than committed: {}; if that is meant, \
         cargo xtask bench --gate --bless",
        grown.join(", ")
    );
    Err(Exit { code: 1, cause }.into())
}

/// Paths that take more instructions than is tolerated, or are new.
fn grown<'n>(committed: &Counts, now: &'n Counts) -> Vec<&'n str> {
    let is_grown = |(path, count): &(&String, &f64)| {
        let before = committed.instructions.get(*path);
        before.is_none_or(|before| **count > before * (1.0 + TOLERATED / 100.0))
    };
    let paths = now.instructions.iter().filter(is_grown);
    paths.map(|(path, _)| path.as_str()).collect()
}

fn table(committed: &Counts, now: &Counts) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header([
        "path",
        "committed",
        "now",
        "change",
    ]);
    for (path, count) in &now.instructions {
        let before = committed.instructions.get(path);
        let change = before.map(|before| format!("{:+.1} %", 100.0 * (count / before - 1.0)));
        table.add_row([
            path.clone(),
            before
                .map(|before| format!("{before:.1}"))
                .unwrap_or_default(),
            format!("{count:.1}"),
            change.unwrap_or_else(|| "new".into()),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn count(output: &Path) -> Result<Counts> {
    let program = build::suite("gate")?;
    let listed = Command::new(&program)
        .output()
        .context("cannot start the paths' program")?;
    let mut instructions = BTreeMap::new();
    for path in String::from_utf8_lossy(&listed.stdout).lines() {
        let [few, many] = ROUNDS;
        let between =
            callgrind(&program, path, many, output)? - callgrind(&program, path, few, output)?;
        instructions.insert(path.to_owned(), between / (many - few) as f64);
    }
    let rustc = Command::new("rustc").arg("--version").output()?;
    Ok(Counts {
        rustc: String::from_utf8_lossy(&rustc.stdout).trim().to_owned(),
        instructions,
    })
}

/// Instructions of a whole run.
fn callgrind(program: &Path, path: &str, rounds: u64, output: &Path) -> Result<f64> {
    let file = output.join("callgrind.out");
    let done = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args([path, &rounds.to_string()])
        .output()
        .context("cannot start valgrind")?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        bail!("{path} under callgrind: {}; {said}", done.status);
    }
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    let total = total.context("callgrind wrote no total")?;
    total
        .trim()
        .parse()
        .context("callgrind's total is no number")
}

fn valgrind_is_installed() -> bool {
    let mut probe = Command::new("valgrind");
    probe
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(paths: &[(&str, f64)]) -> Counts {
        let paths = paths.iter().map(|&(path, count)| (path.to_owned(), count));
        Counts {
            rustc: "rustc".into(),
            instructions: paths.collect(),
        }
    }

    #[test]
    fn growth_over_two_percent_and_a_path_nobody_counted_before_are_told() {
        let committed = counts(&[("a", 100.0), ("b", 100.0), ("gone", 5.0)]);
        let now = counts(&[("a", 101.9), ("b", 102.1), ("new", 1.0)]);
        assert_eq!(grown(&committed, &now), ["b", "new"]);
        let text = table(&committed, &now).to_string();
        assert!(text.contains("+2.1 %"), "{text}");
    }
}
