//! What `cargo xtask bench` runs: every speed claim of the workspace as a case with two sides.
//!
//! A [`Case`] is data: a name, a claim, our side, and the alternatives, each with the target that
//! its ratio has to meet. A *suite* is a list of cases; [`pools`] is one, and a further one is a
//! function that makes a [`Suite`] and a file in `benches/` that gives it to [`suite::main`].
//!
//! How a case is measured (`measure.rs`):
//!
//! - Both sides do a few rounds and must return the same digest before either is timed, and every
//!   timed pair of laps must agree again.
//! - Criterion warms up, chooses how many rounds a lap has, and reports each side. It can not
//!   interleave two sides, so its lap of an alternative runs a lap of ours right before or after,
//!   in turn, and the ratio is taken within each such pair: what slows the machine for a while
//!   slows both. The table shows the median of the ratios and their quartiles.
//! - The measuring thread is pinned to one core, a second thread to another.
//!
//! A side may live in another process, for an allocator of its own or for code that this workspace
//! does not want to build ([`process`]). It is asked lap by lap, so that it is interleaved too.

pub mod case;
pub mod cores;
pub mod forms;
pub mod gate;
pub mod lender;
pub mod machine;
mod measure;
pub mod pools;
pub mod process;
mod report;
pub mod side;
mod spread;
pub mod suite;

pub use case::{Against, Case, Count, Finding, Target};
pub use side::{Lap, Run, Side};
pub use suite::Suite;
