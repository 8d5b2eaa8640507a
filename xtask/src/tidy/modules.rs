//! Every source file belongs to a target: a test file that nothing includes never runs.
//!
//! The compiler itself says what it read: a check of all targets leaves a list of source files
//! beside each artifact, in the format of a makefile. What stands in none of them is a fault. That
//! covers modules that a macro declares, `#[path]` and `include!`, which a search of the text
//! would miss. Files of a workspace apart, as `peers/` is, are not this one's.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{Artifact, Message, Metadata};

use crate::workspace;

/// Files that no target includes.
pub(super) fn faults(metadata: &Metadata, sources: &[PathBuf]) -> Result<Vec<String>> {
    let root = metadata.workspace_root.as_std_path();
    let mut reached = HashSet::new();
    for artifact in artifacts(metadata)? {
        if let Some(list) = source_list(&artifact) {
            let text = fs::read_to_string(&list).with_context(|| list.display().to_string())?;
            reached.extend(source_files(&text).map(|file| root.join(file)));
        }
    }
    Ok(sources
        .iter()
        .filter(|path| !reached.contains(*path) && !is_apart(root, path))
        .map(|path| path.strip_prefix(root).unwrap_or(path))
        .map(|path| format!("{} is included by no target", path.display()))
        .collect())
}

/// Whether a folder between the root and the file begins a workspace of its own.
fn is_apart(root: &Path, path: &Path) -> bool {
    let folders = path.ancestors().skip(1);
    let mut between = folders.take_while(|folder| *folder != root);
    between.any(|folder| {
        fs::read_to_string(folder.join("Cargo.toml"))
            .is_ok_and(|manifest| manifest.lines().any(|line| line == "[workspace]"))
    })
}

/// What a check of every target of every member makes.
fn artifacts(metadata: &Metadata) -> Result<Vec<Artifact>> {
    let output = Command::new(workspace::cargo())
        .args([
            "check",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--all-features",
        ])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(&metadata.workspace_root)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the workspace does not compile");
    }
    let mut artifacts = Vec::new();
    for message in Message::parse_stream(output.stdout.as_slice()) {
        if let Message::CompilerArtifact(artifact) = message?
            && metadata.workspace_members.contains(&artifact.package_id)
        {
            artifacts.push(artifact);
        }
    }
    Ok(artifacts)
}

/// The list of source files beside an artifact: `libname-hash.rmeta` has `name-hash.d`.
fn source_list(artifact: &Artifact) -> Option<PathBuf> {
    let made = artifact
        .filenames
        .iter()
        .find(|file| file.extension() == Some("rmeta"))?;
    let name = made.file_stem()?.strip_prefix("lib")?;
    Some(made.with_file_name(format!("{name}.d")).into_std_path_buf())
}

/// The Rust files that a makefile's rules name, where `\ ` is a space in a name.
fn source_files(rules: &str) -> impl Iterator<Item = PathBuf> {
    rules
        .lines()
        .filter_map(|line| line.split_once(": "))
        .flat_map(|(_, files)| {
            let files = files.replace("\\ ", "\0");
            let files: Vec<_> = files
                .split_whitespace()
                .map(|file| file.replace('\0', " "))
                .collect();
            let files = files.into_iter().map(PathBuf::from);
            files.filter(|file| {
                Path::new(file)
                    .extension()
                    .is_some_and(|extension| extension == "rs")
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_names_its_sources_even_with_spaces() {
        let rules = "out/lib.rmeta: src/lib.rs src/a\\ b.rs data.csv\n\nsrc/lib.rs:\n# env: X\n";
        let files: Vec<_> = source_files(rules).collect();
        assert_eq!(files, [Path::new("src/lib.rs"), Path::new("src/a b.rs")]);
    }

    #[test]
    fn a_file_that_no_rule_names_is_a_fault() {
        let metadata = workspace::metadata().unwrap();
        let root = metadata.workspace_root.as_std_path();
        let known = root.join(file!());
        let stray = root.join("xtask/tests/stray.rs");
        assert_eq!(
            faults(&metadata, &[known, stray]).unwrap(),
            ["xtask/tests/stray.rs is included by no target"]
        );
    }

    #[test]
    fn only_a_folder_below_the_root_can_be_a_workspace_apart() {
        let metadata = workspace::metadata().unwrap();
        let root = metadata.workspace_root.as_std_path();
        assert!(is_apart(root, &root.join("peers/src/bin/any.rs")));
        assert!(!is_apart(root, &root.join(file!())));
        assert!(!is_apart(root, &root.join("stray.rs")));
    }
}
