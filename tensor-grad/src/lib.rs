//! Reverse-mode automatic differentiation on CPU arrays, real and complex, over recycled buffers.
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
mod plan;
mod reduction;
mod shape;
mod slot;
mod standin;
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
