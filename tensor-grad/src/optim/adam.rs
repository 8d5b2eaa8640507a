//! Adam, with bias correction: Kingma and Ba, "Adam: a method for stochastic optimization", 2015, algorithm 1.

use super::{State, leaves_only, setting};
use crate::element::{Element, RealElement};
use crate::error::Result;
use crate::gradients::Gradients;
use crate::tensor::Tensor;

/// Adam: steps of about `rate`, by the first two moments of each gradient.
///
/// For a complex parameter the second moment is that of the magnitude, so that
/// a step has the gradient's direction. (`PyTorch` instead treats both parts as
/// two real parameters.)
///
/// # Examples
///
/// ```
/// use tensor_grad::{Array, Tensor, optim::Adam};
///
/// let mut parameters = [Tensor::leaf(Array::scalar(1.0_f64))];
/// let mut optimizer = Adam::new(0.1)?;
/// let gradients = (&parameters[0] * &parameters[0]).backward()?;
/// optimizer.step(&mut parameters, &gradients)?;
/// // The first step has the length of the rate.
/// assert!((parameters[0].item()? - 0.9).abs() < 1e-8);
/// # Ok::<(), tensor_grad::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Adam<T: Element> {
    rate: f64,
    betas: (f64, f64),
    epsilon: f64,
    steps: u64,
    mean: State<T>,
    square: State<T::Real>,
}

impl<T: Element> Adam<T> {
    /// Makes one with the paper's decay rates, 0.9 and 0.999, and its epsilon, 1e-8.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`](crate::Error::Setting) unless `rate` is finite and not negative.
    pub fn new(rate: f64) -> Result<Self> {
        Self::with(rate, (0.9, 0.999), 1e-8)
    }

    /// Makes one with given decay rates and epsilon.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`](crate::Error::Setting) unless `rate` and `epsilon` are
    /// finite and not negative and both decay rates are in `[0, 1)`.
    pub fn with(rate: f64, betas: (f64, f64), epsilon: f64) -> Result<Self> {
        let positive = (0.0, f64::INFINITY);
        setting("adam", "rate", rate, positive, "it must be finite and >= 0")?;
        setting(
            "adam",
            "epsilon",
            epsilon,
            positive,
            "it must be finite and >= 0",
        )?;
        for (name, beta) in [("the first beta", betas.0), ("the second beta", betas.1)] {
            setting("adam", name, beta, (0.0, 1.0), "it must be in [0, 1)")?;
        }
        Ok(Self {
            rate,
            betas,
            epsilon,
            steps: 0,
            mean: State::new("adam"),
            square: State::new("adam"),
        })
    }

    /// Changes the rate of the following steps, as a schedule does.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`](crate::Error::Setting) unless `rate` is finite and not negative.
    pub fn set_rate(&mut self, rate: f64) -> Result<()> {
        let positive = (0.0, f64::INFINITY);
        setting("adam", "rate", rate, positive, "it must be finite and >= 0")?;
        self.rate = rate;
        Ok(())
    }

    /// Takes one step.
    ///
    /// # Errors
    ///
    /// [`Error::NotALeaf`](crate::Error::NotALeaf) if a parameter was computed;
    /// [`Error::Length`](crate::Error::Length) or [`Error::Unequal`](crate::Error::Unequal)
    /// if the list is not the one of earlier steps. Nothing was changed then.
    pub fn step(&mut self, parameters: &mut [Tensor<T>], gradients: &Gradients) -> Result<()> {
        leaves_only("adam", parameters)?;
        self.mean.prepare(parameters)?;
        if self.square.arrays.is_empty() {
            let zeros = parameters.iter().map(|p| crate::Array::zeros(p.shape()));
            self.square.arrays = zeros.collect::<Result<_>>()?;
        }
        self.steps += 1;
        let (first, second) = self.betas;
        // The corrections in double precision, where the powers stay exact for long.
        let steps = self.steps as f64;
        let mean_scale = 1.0 / (1.0 - first.powf(steps));
        let square_scale = 1.0 / (1.0 - second.powf(steps));
        let real = T::Real::from_f64;
        let (b1, b2) = (real(first), real(second));
        let (c1, c2) = (real(1.0 - first), real(1.0 - second));
        let step = real(self.rate * mean_scale);
        let square_scale = real(square_scale);
        let epsilon = real(self.epsilon);
        let states = self.mean.arrays.iter_mut().zip(&mut self.square.arrays);
        for (parameter, (mean, square)) in parameters.iter_mut().zip(states) {
            let Some(g) = gradients.get(parameter) else {
                continue;
            };
            let (mean, square) = (mean.make_mut(), square.make_mut());
            crate::kernel::simd::wide(g.len(), || {
                for ((m, v), &g) in mean.iter_mut().zip(square.iter_mut()).zip(g) {
                    *m = m.scale(b1) + g.scale(c1);
                    *v = *v * b2 + (g.re() * g.re() + g.im() * g.im()) * c2;
                }
            });
            parameter.rewrite2((mean, square), |p, m, v| {
                let root = (v * square_scale).sqrt() + epsilon;
                p - m.scale(step / root)
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Array, Complex};

    use super::*;

    #[test]
    fn the_first_steps_are_those_of_the_paper_computed_by_hand() {
        let mut parameters = [Tensor::leaf(Array::scalar(0.0_f64))];
        let mut adam = Adam::with(0.1, (0.5, 0.5), 0.0).unwrap();
        // Gradients 1, then 3.
        for slope in [1.0, 3.0] {
            let gradients = (&parameters[0] * slope).backward().unwrap();
            adam.step(&mut parameters, &gradients).unwrap();
        }
        // m = 1.75 / 0.75, v = 4.75 / 0.75.
        let second = 0.1 * (1.75 / 0.75) / (4.75_f64 / 0.75).sqrt();
        assert!((parameters[0].item().unwrap() + 0.1 + second).abs() < 1e-15);
    }

    #[test]
    fn a_complex_parameter_walks_downhill() {
        let goal = Tensor::scalar(Complex::new(2.0_f64, -1.0));
        let mut parameters = [Tensor::leaf(Array::scalar(Complex::new(0.0, 0.0)))];
        let mut adam = Adam::new(0.05).unwrap();
        let mut last = f64::INFINITY;
        for _ in 0..300 {
            let loss = parameters[0].mse(&goal).unwrap();
            last = loss.item().unwrap();
            let gradients = loss.backward().unwrap();
            drop(loss);
            adam.step(&mut parameters, &gradients).unwrap();
        }
        assert!(last < 1e-4, "{last}");
    }

    #[test]
    fn a_list_of_other_shapes_is_refused_before_anything_changes() {
        let mut adam = Adam::new(0.1).unwrap();
        let mut parameters = [Tensor::leaf(Array::scalar(1.0_f32))];
        let gradients = (&parameters[0] * 2.0).backward().unwrap();
        adam.step(&mut parameters, &gradients).unwrap();
        let mut other = [Tensor::leaf(Array::full(&[2], 1.0_f32).unwrap())];
        assert!(adam.step(&mut other, &gradients).is_err());
        assert!(adam.step(&mut [], &gradients).is_err());
        assert!(Adam::<f32>::with(0.1, (1.0, 0.9), 1e-8).is_err());
    }
}
