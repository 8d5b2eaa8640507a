//! Results on disk: the last run of each suite in `target/bench`, and those kept in `bench/runs`,
//! which are made to be committed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::report::Report;
use crate::cli::Exit;

/// Checks a name that becomes part of a file's.
pub(super) fn name(text: &str) -> Result<String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if text.is_empty() || text.starts_with('.') || !text.chars().all(is_plain) {
        bail!("a name has letters, digits, '-', '_' and '.'");
    }
    Ok(text.into())
}

/// Where a suite's kept result of this name is.
pub(super) fn path(root: &Path, name: &str, suite: &str) -> PathBuf {
    let file = format!("{name}-{suite}.json");
    root.join("bench").join("runs").join(file)
}

/// Writes a result, readable for people too.
pub(super) fn write(path: &Path, report: &Report) -> Result<()> {
    let text = serde_json::to_string_pretty(report)? + "\n";
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::write(path, text).with_context(|| path.display().to_string())
}

/// Reads a kept result.
pub(super) fn read(root: &Path, name: &str, suite: &str) -> Result<Report> {
    let path = path(root, name, suite);
    let text = fs::read_to_string(&path).map_err(|error| Exit {
        code: 2,
        cause: format!("no result is kept as {name}: {}: {error}", path.display()),
    })?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_not_leave_the_folder() {
        assert!(name("2026-12-epyc").is_ok());
        for bad in ["", "../up", "a/b", ".hidden"] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }
}
