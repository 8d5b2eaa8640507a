//! Builds the programs: a suite, and what it is compared with.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use cargo_metadata::Message;

use crate::workspace;

/// Programs of `peers/`, each with the feature that its name is.
const PEERS: &[&str] = &["pools", "mimalloc", "jemalloc"];

/// What a suite is told of a program that it may compare with.
#[derive(Debug)]
pub(super) struct Peer {
    name: &'static str,
    /// Where it is, or why it is not there.
    found: Result<PathBuf, String>,
}

impl Peer {
    /// The suite's arguments for it.
    pub(super) fn arguments(&self) -> [String; 2] {
        let name = self.name;
        match &self.found {
            Ok(path) => ["--peer".into(), format!("{name}={}", path.display())],
            Err(reason) => ["--missing".into(), format!("{name}={reason}")],
        }
    }
}

/// Builds a suite with cargo's own progress on the terminal, and says where it is.
pub(super) fn suite(name: &str) -> Result<PathBuf> {
    let mut cargo = Command::new(workspace::cargo());
    cargo.args(["bench", "--no-run", "--package", "bench", "--bench", name]);
    executable(cargo, name)
}

/// Builds what the suites are compared with.
pub(super) fn peers(root: &Path, target: &Path) -> Vec<Peer> {
    let build = |&name: &&'static str| {
        let mut cargo = Command::new(workspace::cargo());
        cargo
            .args(["build", "--release", "--features", name, "--bin", name])
            .arg("--manifest-path")
            .arg(root.join("peers").join("Cargo.toml"))
            .arg("--target-dir")
            .arg(target.join("peers"));
        let found =
            executable(cargo, name).map_err(|error| format!("it does not build here: {error:#}"));
        Peer { name, found }
    };
    let mut peers: Vec<_> = PEERS.iter().map(build).collect();
    peers.push(uncounted(target));
    peers
}

/// The pools' suite over pools whose statistics are compiled out.
fn uncounted(target: &Path) -> Peer {
    let mut cargo = Command::new(workspace::cargo());
    cargo
        .args([
            "bench",
            "--no-run",
            "--package",
            "bench",
            "--bench",
            "pools",
        ])
        .arg("--target-dir")
        .arg(target.join("uncounted"))
        .env("RUSTFLAGS", "--cfg millpond_uncounted");
    Peer {
        name: "uncounted",
        found: executable(cargo, "pools")
            .map_err(|error| format!("it does not build here: {error:#}")),
    }
}

fn executable(mut cargo: Command, name: &str) -> Result<PathBuf> {
    let output = cargo
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("cargo ended with {}", output.status);
    }
    for message in Message::parse_stream(output.stdout.as_slice()) {
        if let Message::CompilerArtifact(artifact) = message?
            && let Some(executable) = artifact.executable
            && artifact.target.name == name
        {
            return Ok(executable.into_std_path_buf());
        }
    }
    bail!("cargo built {name} and did not say where it is")
}
