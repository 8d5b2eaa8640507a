//! Trains a digits classifier data-parallel: the same program on every rank.
//!
//! Each rank computes the gradients of its shard's batch, an allreduce sums them, and every rank
//! takes the same step, so the weights stay the same everywhere, bit for bit. After each epoch
//! every rank passes its shard to the next rank, a message of some 90 KB that the hub routes.
//!
//! ```sh
//! cargo build --release -p spmd-hub --bin spmdrun --example digits
//! target/release/spmdrun -n 4 target/release/examples/digits
//! ```
//!
//! `cargo xtask demo` launches it with `--json` and draws the progress itself.

mod data;
mod events;
mod failure;
mod model;
mod pools;
mod report;
mod train;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::report::Report;

/// Trains a digits classifier on the ranks of this world.
#[derive(Debug, Parser)]
struct Options {
    /// Passes over the training images.
    #[arg(long, default_value_t = 60)]
    epochs: usize,
    /// Seed of the initial weights and of the order of the images.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Allocate every buffer afresh; the weights come out the same.
    #[arg(long)]
    without_pools: bool,
    /// The digits, as a gzipped table.
    #[arg(long, value_name = "FILE", default_value = DIGITS)]
    data: PathBuf,
    /// Report events as JSON lines.
    #[arg(long)]
    json: bool,
}

/// Where the digits are in a checkout of the workspace.
const DIGITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/digits/digits.csv.gz");

fn main() -> ExitCode {
    let options = Options::parse();
    let report = Report::new(options.json);
    match spmd_hub::run(|comm| train::run(comm, &options, report)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
