//! Loops over elements: what ops are made of.
//!
//! A kernel knows slices, strides and closures, and neither tensors nor the
//! graph. Contiguous operands take paths over slices that the compiler
//! vectorises for the processor it finds at run time ([`simd`]); everything else
//! goes through one strided walk ([`walk`](walk::walk)). Whatever the path, an
//! element's value comes from the same expression and reductions add in an order
//! that depends on the shape alone, so results have the same bits on every run.

#![expect(
    clippy::inline_always,
    reason = "a loop gets wide instructions only if it is inlined into the function compiled for them"
)]

pub(crate) mod fold;
pub(crate) mod gemm;
pub(crate) mod map;
pub(crate) mod simd;
pub(crate) mod sum;
pub(crate) mod walk;

/// Whether a kernel overwrites its destination or adds to it.
///
/// A gradient's first contribution overwrites, later ones add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The destination's contents are unspecified; every element is written.
    Assign,
    /// Every element is added to what is there.
    Add,
}
