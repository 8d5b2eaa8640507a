//! The workspace as cargo describes it.

use std::ffi::OsString;

use anyhow::{Context as _, Result};
use cargo_metadata::{Metadata, MetadataCommand};

/// Reads the members, their edges and their targets; no dependency is resolved, nothing fetched.
pub(crate) fn metadata() -> Result<Metadata> {
    MetadataCommand::new()
        .no_deps()
        .exec()
        .context("cargo metadata failed")
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
