//! The main job: a digits classifier trained on several ranks, through every layer.
//!
//! Builds the rank program (the example `digits` of spmd-hub) in release, launches it, draws its
//! progress and ends with a table. The program runs alone too; see `spmd-hub/examples/digits`.

#[path = "../../spmd-hub/examples/digits/events.rs"]
mod events;
mod progress;
mod table;

use std::collections::VecDeque;
use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::Message;
use clap::{Args, ValueEnum};
use spmd_hub::launch::{Launch, LaunchError, Line, Listen, Ranks, Stream};

use self::events::{Done, Event};
use self::progress::Progress;
use crate::cli::Exit;
use crate::workspace;

/// Epochs of a full run and of a quick one.
const EPOCHS: u32 = 60;
const QUICK_EPOCHS: u32 = 5;

/// Lines of a failing run that are shown when nothing else says why it failed.
const LAST_WORDS: usize = 20;

/// Options of `cargo xtask demo`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Ranks to train on; each step's 64 images are shared out among them.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    ranks: u16,
    /// What a rank is.
    #[arg(long, value_enum, default_value_t = Backend::Processes)]
    backend: Backend,
    /// Whether buffers are recycled; the weights come out the same, bit for bit.
    #[arg(long, value_enum, default_value_t = Pools::On)]
    pools: Pools,
    /// Passes over the training images [default: 60, or 5 with --quick].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    epochs: Option<u32>,
    /// Seed of the initial weights and of the order of the images.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Train for 5 epochs only, as CI does.
    #[arg(long)]
    quick: bool,
    /// Let the hub listen on this TCP address instead of a private Unix socket; port 0 takes a
    /// free one.
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// The digits as a gzipped table [default: the copy in the repository].
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Launch this build of the rank program instead of building it.
    #[arg(long, value_name = "FILE", hide = true)]
    program: Option<PathBuf>,
}

/// What a rank is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// Threads of one process; no frame is routed, so frame-pool stays idle.
    Threads,
    /// Processes linked through the hub in rank 0.
    Processes,
}

/// Whether buffers are recycled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Pools {
    /// Recycle buffers.
    On,
    /// Allocate every buffer afresh.
    Off,
}

/// Trains, and shows what came of it.
///
/// # Errors
///
/// Says in one line what ended the training; the exit code is the failing rank's.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.backend == Backend::Threads && options.listen.is_some() {
        let cause = "--listen is for processes; threads have no hub that listens".to_owned();
        return Err(Exit { code: 2, cause }.into());
    }
    let program = match &options.program {
        Some(program) => program.clone(),
        None => build()?,
    };
    let epochs = options
        .epochs
        .unwrap_or(if options.quick { QUICK_EPOCHS } else { EPOCHS });
    let done = train(launch(options, program, epochs), epochs)?;
    writeln!(stdout(), "{}", table::render(&done)).context("cannot write the result")
}

/// Builds the rank program with cargo's own progress on the terminal, and says where it is.
fn build() -> Result<PathBuf> {
    let arguments = [
        "build",
        "--release",
        "--package",
        "spmd-hub",
        "--example",
        "digits",
    ];
    let output = Command::new(workspace::cargo())
        .args(arguments)
        .arg("--message-format=json-render-diagnostics")
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!(
            "the rank program does not build: cargo {}",
            arguments.join(" ")
        );
    }
    for message in Message::parse_stream(output.stdout.as_slice()) {
        if let Message::CompilerArtifact(artifact) = message?
            && let Some(executable) = artifact.executable
            && artifact.target.name == "digits"
        {
            return Ok(executable.into_std_path_buf());
        }
    }
    bail!("cargo built the rank program and did not say where it is")
}

/// Puts the options into a launch.
fn launch(options: &Options, program: PathBuf, epochs: u32) -> Launch {
    let mut launch = Launch::new(program, options.ranks.into()).args([
        "--json".to_owned(),
        format!("--epochs={epochs}"),
        format!("--seed={}", options.seed),
    ]);
    if options.pools == Pools::Off {
        launch = launch.arg("--without-pools");
    }
    if let Some(data) = &options.data {
        launch = launch.arg("--data").arg(data);
    }
    if let Some(address) = &options.listen {
        launch = launch.listen(Listen::Tcp(address.clone()));
    }
    launch.ranks(match options.backend {
        Backend::Threads => Ranks::Threads,
        Backend::Processes => Ranks::Processes,
    })
}

/// Runs the ranks to their end, and returns what rank 0 says came of it.
fn train(launch: Launch, epochs: u32) -> Result<Done> {
    let progress = Progress::new(epochs as usize);
    let mut done = None;
    let mut last_words = VecDeque::new();
    let ended = launch.run(|line| match event(&line) {
        Some(Event::Epoch(epoch)) => progress.show(epoch),
        Some(Event::Done(result)) => done = Some(result),
        None => {
            last_words.truncate(LAST_WORDS - 1);
            last_words.push_front(line);
        }
    });
    progress.finish();
    match ended {
        Ok(()) => done.context("the training ended without a result"),
        Err(error) => {
            if let LaunchError::Failed {
                rank, reason: None, ..
            } = &error
            {
                show(last_words.iter().rev().filter(|line| line.rank == *rank));
            }
            Err(Exit {
                code: error.exit_code(),
                cause: error.to_string(),
            }
            .into())
        }
    }
}

/// What a line says, if it is an event.
fn event(line: &Line) -> Option<Event> {
    if line.rank != 0 || line.stream != Stream::Out {
        return None;
    }
    serde_json::from_str(&line.text).ok()
}

/// Writes a failing rank's last words, when nothing else says why it failed.
#[expect(
    clippy::print_stderr,
    reason = "a program tells its user what went wrong"
)]
fn show<'l>(last_words: impl Iterator<Item = &'l Line>) {
    for Line { rank, text, .. } in last_words {
        eprintln!("[{rank}] {text}");
    }
}
