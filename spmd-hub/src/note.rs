//! A note of who is to blame, left for the launcher.
//!
//! When a world is aborted, every rank fails within milliseconds, and which
//! process exits first is chance. Whoever sees the cause first writes it to a
//! file that the launcher named; the first note stays.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use crate::error::Fault;

/// Where the note goes.
#[derive(Debug, Clone)]
pub(crate) struct FaultNote(PathBuf);

impl FaultNote {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Writes the note, unless there is one.
    pub(crate) fn write(&self, fault: &Fault) {
        // Err means that there is a note, or that the launcher is gone: both need no note.
        if let Ok(mut file) = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&self.0)
        {
            let _ = write!(file, "{}\n{}", fault.rank, fault.reason);
        }
    }

    /// Reads a note.
    #[cfg(feature = "launcher")]
    pub(crate) fn read(path: &std::path::Path) -> Option<Fault> {
        let text = std::fs::read_to_string(path).ok()?;
        let (rank, reason) = text.split_once('\n')?;
        Some(Fault::new(rank.parse().ok()?, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_note_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fault");
        let note = FaultNote::new(path.clone());
        note.write(&Fault::new(2, "first"));
        note.write(&Fault::new(1, "second"));
        assert_eq!(FaultNote::read(&path), Some(Fault::new(2, "first")));
    }
}
