//! Chores of the millpond workspace.
//!
//! `cargo xtask demo` trains a classifier on several ranks, `cargo xtask tidy` checks the
//! structure, `cargo xtask ci` runs every check that a change must pass, `cargo xtask mutants` looks
//! for tests that are missing, `cargo xtask bench` measures. This crate uses all members and is used
//! by none.

mod bench;
mod ci;
pub mod cli;
mod demo;
mod mutants;
mod stress;
mod tidy;
mod workspace;

/// The examples of the workspace's README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
