//! The pools' suite: every row of the pools' targets.
//!
//! One file for each pool, one for the load of a sweep, one for how the policies recover. What is
//! public here is for the programs in `peers/`, which serve sides of the same cases.

pub mod frame;
mod grad;
mod lenders;
mod phases;
pub mod sweep;
pub mod tls;

use crate::Suite;
use crate::lender::{Class, Element, Lender, pairs};
use crate::machine;
use crate::side::{Side, timed};

/// Makes the suite.
#[must_use]
pub fn suite() -> Suite {
    let mut cases = Vec::new();
    let mut counts = Vec::new();
    tls::add(&mut cases, &mut counts);
    grad::add(&mut cases);
    sweep::add(&mut cases, &mut counts);
    frame::add(&mut cases);
    phases::add(&mut counts);
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

/// "8KiB".
fn size_name(bytes: usize) -> String {
    match bytes {
        0..0x400 => format!("{bytes}B"),
        0x400..0x10_0000 => format!("{}KiB", bytes >> 10),
        _ => format!("{}MiB", bytes >> 20),
    }
}

/// A pair of one class of so many bytes, on one thread.
fn one<T: Element, L: Lender<T> + 'static>(
    name: &str,
    bytes: usize,
    make: impl Fn() -> L + 'static,
) -> Side {
    let class = Class::of(0, bytes / size_of::<T>());
    Side::new(name, move || {
        let lender = make();
        timed(move |rounds| pairs(&lender, &[class], rounds))
    })
}
