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

/// One check.
struct Step {
    name: &'static str,
    with: Toolchain,
    /// Arguments of cargo, without any that holds a space.
    arguments: &'static str,
    /// An environment variable and its value.
    variable: Option<(&'static str, &'static str)>,
}

/// Which cargo runs a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Toolchain {
    /// The one that runs this program.
    Current,
    /// Nightly with Miri, where it is installed.
    Miri,
}

impl Step {
    const fn new(name: &'static str, arguments: &'static str) -> Self {
        Self {
            name,
            with: Toolchain::Current,
            arguments,
            variable: None,
        }
    }

    const fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.variable = Some((name, value));
        self
    }

    const fn miri(mut self) -> Self {
        self.with = Toolchain::Miri;
        self.env("MIRIFLAGS", "-Zmiri-disable-isolation")
    }
}

/// The steps, in order. Loom's flag would rebuild everything in the usual folder, so its models
/// have one of their own; the hub's are of parts that no other crate sees, hence unit tests. Miri
/// runs what has concurrency and no socket, and leaves the long random histories out.
const STEPS: &[Step] = &[
    Step::new("fmt", "fmt --all --check"),
    Step::new("tidy", "xtask tidy"),
    Step::new(
        "clippy",
        "clippy --workspace --all-targets --all-features -- -D warnings",
    ),
    Step::new("rustdoc", "doc --workspace --all-features --no-deps")
        .env("RUSTDOCFLAGS", "-D warnings"),
    Step::new("doctests", "test --workspace --doc --all-features"),
    // Tests of what a feature adds; the README's test command builds without them.
    Step::new("features", "test -p pool-core --all-features --lib"),
    Step::new(
        "loom",
        "test --release --target-dir target/loom -p pool-core -p frame-pool -p grad-pool \
         -p tls-pool --test loom",
    )
    .env("RUSTFLAGS", "--cfg loom"),
    Step::new(
        "loom-hub",
        "test --release --target-dir target/loom -p spmd-hub --lib models",
    )
    .env("RUSTFLAGS", "--cfg loom"),
    Step::new(
        "miri",
        "miri test -p pool-core -p tls-pool -p grad-pool -p frame-pool --lib --test behaviour \
         --test exit --test read --test shapes --test stress --test sweeps --test threads",
    )
    .miri(),
    Step::new(
        "miri-engine",
        "miri test -p tensor-grad --lib -- array:: operators:: optim:: plan:: tensor::",
    )
    .miri(),
    Step::new(
        "miri-hub",
        "miri test -p spmd-hub --lib -- element:: mailbox:: matching:: operator:: stash::",
    )
    .miri(),
    // Both say themselves that they are skipped where valgrind is not installed.
    Step::new("memcheck", "xtask stress --memcheck"),
    Step::new("gate", "xtask bench --gate"),
    Step::new("demo", "xtask demo --quick"),
];

/// Runs the steps.
///
/// # Errors
///
/// Names the first step that failed, or a step that does not exist.
#[expect(clippy::print_stdout, reason = "a program reports to its user")]
pub(crate) fn run(options: &Options) -> Result<()> {
    let is_step = |name: &String| STEPS.iter().any(|step| step.name == name);
    if let Some(unknown) = options.steps.iter().find(|name| !is_step(name)) {
        let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        let cause = format!(
            "there is no step {unknown:?}; the steps are {}",
            known.join(", ")
        );
        return Err(Exit { code: 2, cause }.into());
    }
    let is_chosen = |step: &&Step| {
        options.steps.is_empty() || options.steps.iter().any(|name| step.name == name)
    };
    for step in STEPS.iter().filter(is_chosen) {
        if options.list {
            println!("{:<13}{}", step.name, step.describe());
            continue;
        }
        println!("== {}: {}", step.name, step.describe());
        let start = Instant::now();
        step.run().with_context(|| format!("step {}", step.name))?;
        println!("== {}: {:.1} s", step.name, start.elapsed().as_secs_f64());
    }
    Ok(())
}

impl Step {
    fn describe(&self) -> String {
        let variable = self
            .variable
            .map(|(name, value)| format!("{name}={value:?} "));
        let toolchain = if self.with == Toolchain::Miri {
            " +nightly"
        } else {
            ""
        };
        format!(
            "{}cargo{toolchain} {}",
            variable.unwrap_or_default(),
            self.arguments
        )
    }

    #[expect(clippy::print_stdout, reason = "a program reports to its user")]
    fn run(&self) -> Result<()> {
        let mut cargo = match self.with {
            Toolchain::Current => Command::new(workspace::cargo()),
            Toolchain::Miri if miri_is_installed() => nightly_cargo(),
            Toolchain::Miri => {
                println!(
                    "!!! SKIPPED: Miri is not installed; \
                     rustup component add miri rust-src --toolchain nightly"
                );
                return Ok(());
            }
        };
        let status = cargo
            .args(self.arguments.split_whitespace())
            .envs(self.variable)
            .status()
            .context("cannot start cargo")?;
        if status.success() {
            return Ok(());
        }
        Err(Exit {
            code: 1,
            cause: format!("{} ended with {status}", self.describe()),
        }
        .into())
    }
}

/// The nightly cargo, chosen by rustup. The variables of the cargo that runs this program would
/// choose its own toolchain again.
fn nightly_cargo() -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]);
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    command
}

fn miri_is_installed() -> bool {
    let mut probe = nightly_cargo();
    probe
        .args(["miri", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}
