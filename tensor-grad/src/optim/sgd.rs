//! Stochastic gradient descent, with momentum if wanted.

use super::{State, leaves_only, setting};
use crate::element::{Element, RealElement};
use crate::error::Result;
use crate::gradients::Gradients;
use crate::tensor::Tensor;

/// Gradient descent: `velocity = momentum * velocity + gradient`, `parameter -= rate * velocity`.
///
/// This is `PyTorch`'s form, in which the rate scales the whole velocity.
///
/// # Examples
///
/// ```
/// use tensor_grad::{Array, Tensor, optim::Sgd};
///
/// let mut parameters = [Tensor::leaf(Array::scalar(1.0_f64))];
/// let mut optimizer = Sgd::new(0.1)?;
/// let gradients = (&parameters[0] * &parameters[0]).backward()?;
/// optimizer.step(&mut parameters, &gradients)?;
/// assert_eq!(parameters[0].item()?, 0.8);
/// # Ok::<(), tensor_grad::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sgd<T: Element> {
    rate: f64,
    momentum: f64,
    velocity: State<T>,
}

impl<T: Element> Sgd<T> {
    /// Makes one without momentum.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`](crate::Error::Setting) unless `rate` is finite and not negative.
    pub fn new(rate: f64) -> Result<Self> {
        Self::with_momentum(rate, 0.0)
    }

    /// Makes one with momentum; 0 is none.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`](crate::Error::Setting) unless `rate` is finite and not
    /// negative and `momentum` is in `[0, 1)`.
    pub fn with_momentum(rate: f64, momentum: f64) -> Result<Self> {
        let positive = (0.0, f64::INFINITY);
        setting("sgd", "rate", rate, positive, "it must be finite and >= 0")?;
        setting(
            "sgd",
            "momentum",
            momentum,
            (0.0, 1.0),
            "it must be in [0, 1)",
        )?;
        Ok(Self {
            rate,
            momentum,
            velocity: State::new("sgd"),
        })
    }

    /// Changes the rate of the following steps, as a schedule does.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`](crate::Error::Setting) unless `rate` is finite and not negative.
    pub fn set_rate(&mut self, rate: f64) -> Result<()> {
        let positive = (0.0, f64::INFINITY);
        setting("sgd", "rate", rate, positive, "it must be finite and >= 0")?;
        self.rate = rate;
        Ok(())
    }

    /// Takes one step.
    ///
    /// # Errors
    ///
    /// [`Error::NotALeaf`](crate::Error::NotALeaf) if a parameter was computed;
    /// [`Error::Length`](crate::Error::Length) or [`Error::Unequal`](crate::Error::Unequal)
    /// if, with momentum, the list is not the one of earlier steps. Nothing was changed then.
    pub fn step(&mut self, parameters: &mut [Tensor<T>], gradients: &Gradients) -> Result<()> {
        leaves_only("sgd", parameters)?;
        let rate = T::Real::from_f64(self.rate);
        if self.momentum == 0.0 {
            for parameter in parameters {
                if let Some(g) = gradients.get(parameter) {
                    parameter.rewrite(g, |p, g| p - g.scale(rate));
                }
            }
            return Ok(());
        }
        self.velocity.prepare(parameters)?;
        let momentum = T::Real::from_f64(self.momentum);
        for (parameter, velocity) in parameters.iter_mut().zip(&mut self.velocity.arrays) {
            if let Some(g) = gradients.get(parameter) {
                let velocity = velocity.make_mut();
                for (v, &g) in velocity.iter_mut().zip(g) {
                    *v = v.scale(momentum) + g;
                }
                parameter.rewrite(velocity, |p, v| p - v.scale(rate));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::Array;

    use super::*;

    #[test]
    fn momentum_adds_up_what_earlier_gradients_left() {
        let mut parameters = [Tensor::leaf(Array::scalar(0.0_f64))];
        let mut optimizer = Sgd::with_momentum(1.0, 0.5).unwrap();
        let mut seen = Vec::new();
        for _ in 0..3 {
            let gradients = (&parameters[0] * 1.0).backward().unwrap();
            optimizer.step(&mut parameters, &gradients).unwrap();
            seen.push(parameters[0].item().unwrap());
        }
        // Velocities 1, 1.5, 1.75.
        assert_eq!(seen, [-1.0, -2.5, -4.25]);
    }

    #[test]
    fn a_live_graph_keeps_the_value_it_saw() {
        let mut parameters = [Tensor::leaf(Array::full(&[2], 3.0_f64).unwrap())];
        let loss = (&parameters[0] * &parameters[0]).sum();
        let gradients = loss.backward().unwrap();
        Sgd::new(0.5)
            .unwrap()
            .step(&mut parameters, &gradients)
            .unwrap();
        assert_eq!(parameters[0].to_vec(), [0.0, 0.0]);
        let again = loss.backward().unwrap();
        assert_eq!(again.get(&parameters[0]), Some(&[6.0, 6.0][..]));
    }

    #[test]
    fn a_parameter_that_nobody_shares_is_changed_in_place() {
        let mut parameters = [Tensor::leaf(Array::full(&[2], 3.0_f64).unwrap())];
        let gradients = (&parameters[0] * &parameters[0]).sum().backward().unwrap();
        let address = |t: &Tensor<f64>| t.value().as_slice().unwrap().as_ptr();
        let before = address(&parameters[0]);
        Sgd::new(0.5)
            .unwrap()
            .step(&mut parameters, &gradients)
            .unwrap();
        assert_eq!(address(&parameters[0]), before);
    }

    #[test]
    fn settings_out_of_range_and_computed_parameters_are_refused() {
        assert!(Sgd::<f32>::new(-1.0).is_err());
        assert!(Sgd::<f32>::new(f64::NAN).is_err());
        assert!(Sgd::<f32>::with_momentum(0.1, 1.0).is_err());
        let leaf = Tensor::leaf(Array::scalar(1.0_f32));
        let gradients = (&leaf * &leaf).backward().unwrap();
        let mut computed = [&leaf * &leaf];
        let mut sgd = Sgd::new(0.1).unwrap();
        assert!(sgd.step(&mut computed, &gradients).is_err());
    }
}
