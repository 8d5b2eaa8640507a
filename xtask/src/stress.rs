//! The pools under stress: a minute of threads that come and go, and a short run under valgrind.
//!
//! Each pool crate has a test `stress` that asserts its bounds at every step. Its long form is
//! ignored by `cargo test`; this runs it. Valgrind's memcheck then sees the short form as compiled
//! for release, where Miri is too slow to see as many threads.

use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::cli::Exit;
use crate::workspace;

/// The crates that have such a test.
const CRATES: [&str; 3] = ["tls-pool", "grad-pool", "frame-pool"];

/// The runner of the short form: reads of what nobody wrote, of what was freed, and definite leaks
/// fail it.
const MEMCHECK: &str = "target.'cfg(all())'.runner = ['valgrind', '--quiet', '--error-exitcode=9', \
                        '--leak-check=full', '--show-leak-kinds=definite', \
                        '--errors-for-leak-kinds=definite']";

/// Options of `cargo xtask stress`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only the short run under valgrind.
    #[arg(long)]
    memcheck: bool,
}

/// Runs both forms, or the one that was asked for.
///
/// # Errors
///
/// When a test fails, or valgrind finds fault.
#[expect(clippy::print_stdout, reason = "a program reports to its user")]
pub(crate) fn run(options: &Options) -> Result<()> {
    if !options.memcheck {
        println!("== one minute for each pool");
        test(&[], &["--ignored", "--nocapture"])?;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("!!! SKIPPED: valgrind is not installed; on Debian: apt-get install valgrind");
        return Ok(());
    }
    println!("== under valgrind");
    test(&["--config", MEMCHECK], &[])
}

/// Runs the stress tests in release.
fn test(of_cargo: &[&str], of_tests: &[&str]) -> Result<()> {
    let mut cargo = Command::new(workspace::cargo());
    cargo.args(["test", "--release", "--test", "stress"]);
    for name in CRATES {
        cargo.args(["-p", name]);
    }
    let status = cargo
        .args(of_cargo)
        .arg("--")
        .args(of_tests)
        .status()
        .context("cannot start cargo")?;
    if status.success() {
        return Ok(());
    }
    Err(Exit {
        code: 1,
        cause: format!("the stress tests ended with {status}"),
    }
    .into())
}
