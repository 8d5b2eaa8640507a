//! The plain ideas, written here as baselines: what is usually written first, and the floor that
//! nothing with a guard, a key, a policy and statistics can get under.
//!
//! Each is given its best case: the bare stacks and the queues know the number of a class without
//! looking for it, and nothing here keeps accounts that its original does not keep.

pub mod linear_scan;
pub mod locked_fit;
pub mod malloc;
pub mod queue;
pub mod stack;
pub mod string_keyed;

pub use linear_scan::LinearScan;
pub use locked_fit::LockedFit;
pub use malloc::{Filled, Malloc};
pub use queue::Queues;
pub use stack::Stacks;
pub use string_keyed::StringKeyed;

/// The most classes that a case asks for.
pub(crate) const CLASSES: usize = 32;
