//! Optimizers: rules that change parameters by their gradients.
//!
//! An optimizer keeps its state in the order of the parameters it is given, which
//! must be the same list at every step. A parameter without a gradient is left
//! alone, and its state too.
//!
//! A step changes parameters in place. Where a graph recorded before still holds
//! a parameter's old value (because its loss is alive), the new value goes into a
//! recycled buffer and the graph keeps the old one: drop the loss before the step
//! and nothing is copied.

mod adam;
mod sgd;

pub use adam::Adam;
pub use sgd::Sgd;

use crate::array::Array;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// Arrays of state beside the parameters.
#[derive(Debug, Clone)]
struct State<T: Element> {
    op: &'static str,
    arrays: Vec<Array<T>>,
}

impl<T: Element> State<T> {
    fn new(op: &'static str) -> Self {
        Self {
            op,
            arrays: Vec::new(),
        }
    }

    /// Makes the state zero at the first step, and checks that later ones bring the same shapes.
    fn prepare(&mut self, parameters: &[Tensor<T>]) -> Result<()> {
        if self.arrays.is_empty() {
            let zeros = parameters.iter().map(|p| Array::zeros(p.shape()));
            self.arrays = zeros.collect::<Result<_>>()?;
        }
        if self.arrays.len() != parameters.len() {
            return Err(Error::Length {
                op: self.op,
                shape: [self.arrays.len()].into(),
                want: self.arrays.len(),
                got: parameters.len(),
            });
        }
        for (state, parameter) in self.arrays.iter().zip(parameters) {
            if state.shape() != parameter.shape() {
                return Err(Error::Unequal {
                    op: self.op,
                    left: state.shape().into(),
                    right: parameter.shape().into(),
                });
            }
        }
        Ok(())
    }
}

/// Refuses parameters that are not leaves, before any of them changes.
fn leaves_only<T: Element>(op: &'static str, parameters: &[Tensor<T>]) -> Result<()> {
    if parameters.iter().all(Tensor::is_leaf) {
        Ok(())
    } else {
        Err(Error::NotALeaf { op })
    }
}

/// Refuses a hyper-parameter outside `[low, high)`.
fn setting(
    op: &'static str,
    name: &'static str,
    value: f64,
    (low, high): (f64, f64),
    rule: &'static str,
) -> Result<()> {
    if (low..high).contains(&value) {
        Ok(())
    } else {
        Err(Error::Setting {
            op,
            name,
            value: value.to_string(),
            rule,
        })
    }
}
