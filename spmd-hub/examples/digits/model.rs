//! The classifier: a perceptron of 64 inputs, 64 hidden units and 10 outputs.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tensor_grad::{Result, Tensor};

use crate::data::{DIGITS, PIXELS};

/// Hidden units.
const HIDDEN: usize = 64;

/// Weights and biases: hidden weights `[HIDDEN, PIXELS]` and biases, output weights
/// `[DIGITS, HIDDEN]` and biases.
#[derive(Debug)]
pub(crate) struct Model {
    /// In the order in which gradients are laid out for the allreduce.
    pub(crate) parameters: [Tensor<f32>; 4],
}

impl Model {
    /// Draws the initial values, the same on every rank: uniform within ±1/√inputs.
    ///
    /// # Errors
    ///
    /// None, as the shapes are constants.
    pub(crate) fn new(seed: u64) -> Result<Self> {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        let mut draw = |shape: &[usize], inputs: usize| {
            let bound = 1.0 / (inputs as f32).sqrt();
            let values = (0..shape.iter().product())
                .map(|_| generator.random_range(-bound..bound))
                .collect();
            Tensor::parameter(shape, values)
        };
        Ok(Self {
            parameters: [
                draw(&[HIDDEN, PIXELS], PIXELS)?,
                draw(&[HIDDEN], PIXELS)?,
                draw(&[DIGITS, HIDDEN], HIDDEN)?,
                draw(&[DIGITS], HIDDEN)?,
            ],
        })
    }

    /// Scores of every digit, `[images, DIGITS]`, for pixels `[images, PIXELS]`.
    ///
    /// # Errors
    ///
    /// When the pixels have another shape.
    pub(crate) fn logits(&self, pixels: &Tensor<f32>) -> Result<Tensor<f32>> {
        let [hidden, hidden_bias, output, output_bias] = &self.parameters;
        pixels
            .linear(hidden, Some(hidden_bias))?
            .relu()
            .linear(output, Some(output_bias))
    }
}
