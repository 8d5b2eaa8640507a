//! Reverse-mode automatic differentiation on CPU arrays, real and complex, over recycled buffers.
//!
//! [`Array`] is an n-dimensional array with views that share storage. [`Tensor`]
//! is an array and, if some leaf's gradient depends on it, a node of a graph that
//! operations record as they run. [`Tensor::backward`] sweeps the graph once and
//! returns the leaves' [`Gradients`]; [`optim`] changes parameters by them.
//!
#![doc = include_str!("../README.md")]
//!
//! # Complex numbers
//!
//! The gradient of a real loss `L` with respect to a complex `z` is
//! `∂L/∂re(z) + i ∂L/∂im(z)`, twice the Wirtinger derivative by the conjugate.
//! It is the direction of steepest ascent: `z - rate * gradient` decreases the
//! loss, so optimizers need no case of their own. A holomorphic op multiplies the
//! incoming gradient by the conjugate of its derivative. The gradient of a real
//! leaf in a complex graph is real.
//!
//! `PyTorch` uses the same convention. `jax.grad` returns the conjugate of it:
//! conjugate either to get the other.
//!
//! ```
//! use tensor_grad::{Array, Complex, Tensor};
//!
//! let z = Tensor::leaf(Array::scalar(Complex::new(3.0_f64, 4.0)));
//! let square_of_magnitude = (&z * &z.conj()).real();
//! let gradients = square_of_magnitude.backward()?;
//! assert_eq!(gradients.get(&z), Some(&[Complex::new(6.0, 8.0)][..]));
//! # Ok::<(), tensor_grad::Error>(())
//! ```
//!
//! # Determinism
//!
//! The same inputs give the same bits on every run of one machine, with the
//! [`pools`] on, off, cold or warm, and whatever other threads do. Between
//! machines, products of matrices may differ in their last bits, where one fuses
//! multiplications with additions and the other does not.
//!
//! # Threads
//!
//! Tensors are `Send` and `Sync`. Sweeps on several threads may share leaves and
//! whole graphs: a sweep keeps what it computes to itself.

#![cfg_attr(
    test,
    expect(
        clippy::float_cmp,
        reason = "tests compare with numbers that are exact"
    )
)]

mod array;
mod broadcasting;
mod element;
mod error;
mod grad_check;
mod gradients;
mod graph;
mod inputs;
mod kernel;
mod lanes;
mod mode;
#[cfg(test)]
mod op_table;
mod operators;
mod ops;
pub mod optim;
mod plan;
pub mod pools;
mod reduction;
mod scratch;
mod shape;
mod slot;
mod store;
mod sweep;
mod tensor;
mod unary;

pub use array::Array;
pub use element::{Element, RealElement};
pub use error::{Dims, Error, Result};
pub use grad_check::{Tolerance, grad_check};
pub use gradients::Gradients;
pub use mode::{NoGrad, no_grad};
pub use num_complex::Complex;
pub use tensor::Tensor;
