//! The command line of `cargo xtask`, and how its failures look.
//!
//! A failure is one line on standard error. Its exit code is 2 when the call itself is wrong (an
//! unknown option, a file that can not be read), and 1 or a rank's own code otherwise.

use std::fmt;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{bench, ci, demo, mutants, stress, tidy};

/// Chores of the millpond workspace.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Train a digits classifier on several ranks, through every layer of the workspace.
    Demo(demo::Options),
    /// Check the structure: edges between crates, prose at the top of files, stray files.
    Tidy,
    /// Run every check that a change must pass, in order, stopping at the first failure.
    Ci(ci::Options),
    /// Change the pool crates one thing at a time, and name each change that no test notices.
    Mutants(mutants::Options),
    /// Let threads come and go on the pools for a minute each, and run them under valgrind.
    Stress(stress::Options),
    /// Measure the workspace beside its alternatives, and show each ratio with its target.
    Bench(bench::Options),
}

/// A failure whose exit code is not 1.
#[derive(Debug)]
pub(crate) struct Exit {
    /// The process's exit code.
    pub(crate) code: u8,
    /// One line that names the cause.
    pub(crate) cause: String,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl std::error::Error for Exit {}

/// Parses the command line, runs the chore, and says how it ended.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let result = match cli.chore {
        Chore::Demo(options) => demo::run(&options),
        Chore::Tidy => tidy::run(),
        Chore::Ci(options) => ci::run(&options),
        Chore::Mutants(options) => mutants::run(&options),
        Chore::Stress(options) => stress::run(&options),
        Chore::Bench(options) => bench::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint_line(&format!("error: {error:#}"));
            error
                .downcast_ref::<Exit>()
                .map_or(ExitCode::FAILURE, |exit| ExitCode::from(exit.code))
        }
    }
}

/// Prints help as it is, and a mistake as one line.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // A closed pipe is no failure of a help text.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    eprint_line(&format!(
        "{}; see --help",
        one_line(&error.render().to_string())
    ));
    ExitCode::from(2)
}

/// The cause and its hints, without the usage that follows them.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let hints =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    hints
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Writes one line to standard error.
#[expect(
    clippy::print_stderr,
    reason = "a program tells its user what went wrong"
)]
fn eprint_line(line: &str) {
    eprintln!("{}", line.replace('\n', "; "));
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn a_mistake_is_told_in_one_line_with_its_hints() {
        let parse = |arguments: &[&str]| {
            let words = ["xtask"].iter().chain(arguments);
            one_line(&Cli::try_parse_from(words).unwrap_err().render().to_string())
        };
        let bad_value = parse(&["demo", "--backend", "clouds"]);
        assert!(
            bad_value.ends_with("[possible values: threads, processes]"),
            "{bad_value}"
        );
        let no_rank = parse(&["demo", "--ranks", "0"]);
        assert_eq!(
            no_rank,
            "error: invalid value '0' for '--ranks <N>': 0 is not in 1..=64"
        );
        assert!(
            parse(&["demo", "--rank", "2"]).contains("--ranks"),
            "names what was meant"
        );
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
