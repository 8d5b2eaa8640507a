//! Mutants that may survive, each with its reason.

/// A change that no test notices.
pub(super) struct Accepted {
    /// The file, from the workspace's root.
    pub(super) file: &'static str,
    /// The change as cargo-mutants writes it, after line and column.
    pub(super) change: &'static str,
    /// Why no test is to notice it.
    pub(super) reason: &'static str,
}

/// The list, by file.
pub(super) const ACCEPTED: &[Accepted] = &[];
