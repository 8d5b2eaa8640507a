//! Every source file opens with `//!`: what it is, how it works, what must stay true.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// Files whose first line is not module documentation.
pub(super) fn faults(root: &Path, sources: &[PathBuf]) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for path in sources {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        if !text.starts_with("//!") {
            let path = path.strip_prefix(root).unwrap_or(path);
            faults.push(format!("{} does not open with //!", path.display()));
        }
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_opens_with_code_is_a_fault() {
        let dir = tempfile::tempdir().unwrap();
        let (good, bad) = (dir.path().join("good.rs"), dir.path().join("bad.rs"));
        fs::write(&good, "//! Prose.\n").unwrap();
        fs::write(&bad, "use std::fs;\n//! Too late.\n").unwrap();
        assert_eq!(
            faults(dir.path(), &[good, bad]).unwrap(),
            ["bad.rs does not open with //!"]
        );
    }
}
