//! The pools' suite: every row of the pools' targets.
//!
//! One file for each pool; [`names`] has what the peers need to serve the same cases.

mod lenders;
pub mod tls;

use crate::Suite;
use crate::machine;

/// Makes the suite.
#[must_use]
pub fn suite() -> Suite {
    let mut cases = Vec::new();
    let mut counts = Vec::new();
    tls::add(&mut cases, &mut counts);
    let lock = include_str!("../../Cargo.lock");
    let compared = ["tls-pool", "grad-pool", "frame-pool", "crossbeam-queue"];
    let versions = compared
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), machine::locked(lock, name)?)));
    Suite {
        name: "pools",
        versions: versions.collect(),
        cases,
        counts,
    }
}
