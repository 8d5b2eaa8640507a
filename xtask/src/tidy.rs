//! The structure of the workspace, checked by a program.
//!
//! Each check is one file that turns the workspace into a list of faults, so that a run shows all
//! of them at once.

mod arrows;
mod modules;
mod prose;

use std::path::{Path, PathBuf};

use anyhow::Result;
use walkdir::{DirEntry, WalkDir};

use crate::cli::Exit;
use crate::workspace;

/// Runs every check.
///
/// # Errors
///
/// Lists the faults, or says why the workspace could not be read.
#[expect(clippy::print_stdout, reason = "a program reports to its user")]
pub(crate) fn run() -> Result<()> {
    let metadata = workspace::metadata()?;
    let root = metadata.workspace_root.as_std_path();
    let sources = sources(root)?;

    let mut faults = arrows::faults(&metadata);
    faults.extend(prose::faults(root, &sources)?);
    faults.extend(modules::faults(&metadata, &sources)?);

    for fault in &faults {
        println!("tidy: {fault}");
    }
    if faults.is_empty() {
        println!(
            "tidy: {} source files, {} members, no fault",
            sources.len(),
            metadata.packages.len()
        );
        return Ok(());
    }
    Err(Exit {
        code: 1,
        cause: format!("tidy found {} faults", faults.len()),
    }
    .into())
}

/// Every Rust file below `root`, in order, build output and hidden folders left out.
fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let is_ours = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !(name.starts_with('.') || name == "target")
    };
    let mut files = Vec::new();
    for entry in WalkDir::new(root)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(is_ours)
    {
        let entry = entry?;
        if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "rs")
        {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}
