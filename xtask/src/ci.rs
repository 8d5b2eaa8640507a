//! Every check that a change must pass, as a table of steps.
//!
//! `.ci/run` calls this after the README's test command. Steps run in order, each with its time,
//! and the first failure ends the run. A step that needs a toolchain this machine does not have
//! says so loudly and is skipped.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::cli::Exit;
use crate::workspace;

/// Options of `cargo xtask ci`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Run only the steps with these names.
    #[arg(value_name = "STEP")]
    steps: Vec<String>,
    /// List the steps and what each runs.
    #[arg(long)]
    list: bool,
}

/// What a step runs.
enum Run {
    /// Cargo with these arguments, and one environment variable.
    Cargo(&'static [&'static str], (&'static str, &'static str)),
    /// The same on the nightly toolchain with Miri, where it is installed.
    Miri(&'static [&'static str]),
}

const NOTHING: (&str, &str) = ("CARGO_TERM_COLOR", "auto");
const DENY_DOC_WARNINGS: (&str, &str) = ("RUSTDOCFLAGS", "-D warnings");
const LOOM: (&str, &str) = ("RUSTFLAGS", "--cfg loom");

/// The steps, in order.
const STEPS: &[(&str, Run)] = &[
    ("fmt", Run::Cargo(&["fmt", "--all", "--check"], NOTHING)),
    ("tidy", Run::Cargo(&["xtask", "tidy"], NOTHING)),
    (
        "clippy",
        Run::Cargo(
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--all-features",
                "--",
                "-D",
                "warnings",
            ],
            NOTHING,
        ),
    ),
    (
        "rustdoc",
        Run::Cargo(
            &["doc", "--workspace", "--all-features", "--no-deps"],
            DENY_DOC_WARNINGS,
        ),
    ),
    (
        "doctests",
        Run::Cargo(&["test", "--workspace", "--doc", "--all-features"], NOTHING),
    ),
    ("loom", Run::Cargo(LOOM_MODELS, LOOM)),
    ("miri", Run::Miri(MIRI_CRATES)),
    ("demo", Run::Cargo(&["xtask", "demo", "--quick"], NOTHING)),
];

/// The models of each crate that shares state between threads. A folder of its own, because the
/// flag would rebuild everything in the usual one.
const LOOM_MODELS: &[&str] = &[
    "test",
    "--release",
    "--target-dir",
    "target/loom",
    "--package",
    "pool-core",
    "--package",
    "frame-pool",
    "--package",
    "grad-pool",
    "--package",
    "tls-pool",
    "--test",
    "loom",
];

/// The crates that have concurrency.
const MIRI_CRATES: &[&str] = &[
    "--package",
    "pool-core",
    "--package",
    "tls-pool",
    "--package",
    "grad-pool",
    "--package",
    "frame-pool",
    "--lib",
    "--tests",
];

/// Runs the steps.
///
/// # Errors
///
/// Names the first step that failed, or a step that does not exist.
#[expect(clippy::print_stdout, reason = "a program reports to its user")]
pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(unknown) = options
        .steps
        .iter()
        .find(|name| !STEPS.iter().any(|(step, _)| step == name))
    {
        let known: Vec<_> = STEPS.iter().map(|(name, _)| *name).collect();
        let cause = format!(
            "there is no step {unknown:?}; the steps are {}",
            known.join(", ")
        );
        return Err(Exit { code: 2, cause }.into());
    }
    let chosen = STEPS.iter().filter(|(name, _)| {
        options.steps.is_empty() || options.steps.iter().any(|step| step == name)
    });
    for (name, step) in chosen {
        if options.list {
            println!("{name:<12}{}", step.describe());
            continue;
        }
        println!("== {name}: {}", step.describe());
        let start = Instant::now();
        step.run().with_context(|| format!("step {name}"))?;
        println!("== {name}: {:.1} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}

impl Run {
    fn describe(&self) -> String {
        match self {
            Self::Cargo(arguments, variable) if *variable == NOTHING => {
                format!("cargo {}", arguments.join(" "))
            }
            Self::Cargo(arguments, (name, value)) => {
                format!("{name}={value:?} cargo {}", arguments.join(" "))
            }
            Self::Miri(arguments) => format!("cargo +nightly miri test {}", arguments.join(" ")),
        }
    }

    #[expect(clippy::print_stdout, reason = "a program reports to its user")]
    fn run(&self) -> Result<()> {
        match self {
            Self::Cargo(arguments, (name, value)) => finish(
                Command::new(workspace::cargo())
                    .args(*arguments)
                    .env(name, value),
            ),
            Self::Miri(arguments) => {
                if !miri_is_installed() {
                    println!(
                        "!!! SKIPPED: Miri is not installed; \
                         rustup component add miri rust-src --toolchain nightly"
                    );
                    return Ok(());
                }
                let flags = ("MIRIFLAGS", "-Zmiri-disable-isolation");
                finish(
                    rustup_cargo()
                        .args(["miri", "test"])
                        .args(*arguments)
                        .env(flags.0, flags.1),
                )
            }
        }
    }
}

/// The nightly cargo, chosen by rustup. The variables of the cargo that runs this program would
/// choose its own toolchain again.
fn rustup_cargo() -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]);
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    command
}

fn miri_is_installed() -> bool {
    let mut probe = rustup_cargo();
    probe
        .args(["miri", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

/// Runs a command to its end.
fn finish(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    if status.success() {
        return Ok(());
    }
    let cause = format!("{program} ended with {status}");
    Err(Exit { code: 1, cause }.into())
}
