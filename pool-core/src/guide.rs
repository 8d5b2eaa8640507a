//! How to choose a policy, and how to write one. No code of its own: every example is a test.
//!
//! - [`choosing_bounds`]: which of the built-in policies for which load, and what rounds, clearing
//!   and switching do.
//! - [`writing_a_policy`]: what a policy is told and may answer, one of one's own in all three pools,
//!   and its test.

pub mod choosing_bounds;
pub mod writing_a_policy;
