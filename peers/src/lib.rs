//! What the programs of this folder have in common: each serves sides of the suites' cases to
//! `cargo xtask bench --peers`, from a process of its own.

use std::process::ExitCode;

use bench::{Case, Suite, machine};

/// Serves `cases`, whose own sides are what the suite compares with. `packages` are those whose
/// versions the report names.
#[must_use]
pub fn serve(packages: &[&str], cases: impl FnOnce() -> Vec<Case>) -> ExitCode {
    let lock = include_str!("../Cargo.lock");
    let versions = packages
        .iter()
        .filter_map(|&name| Some((name.to_owned(), machine::locked(lock, name)?)));
    bench::suite::main(|| Suite {
        name: "peers",
        cases: cases(),
        counts: Vec::new(),
        versions: versions.collect(),
    })
}
