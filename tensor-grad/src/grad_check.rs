//! Gradients against finite differences.
//!
//! The loss is `Σ re(conj(c) y)` for a fixed cotangent `c`, so every element of
//! the output counts, and for complex outputs both parts. Each input element is
//! moved along both of its parts; by the [convention](crate#complex-numbers) the
//! two slopes are the real and the imaginary part of its gradient. Differences
//! are central and extrapolated once (Richardson), so their error is of fourth
//! order in the step.

use crate::array::Array;
use crate::element::{Element, RealElement};
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// How far an input moves, and how far a gradient may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// The larger of the two steps; the smaller is half of it.
    pub step: f64,
    /// The greatest allowed difference per unit of the gradient's magnitude.
    pub relative: f64,
    /// The greatest allowed difference near zero.
    pub absolute: f64,
}

impl Tolerance {
    /// Returns what suits functions of order 1 in a given element type.
    #[must_use]
    pub fn of<T: Element>() -> Self {
        if size_of::<T::Real>() == size_of::<f32>() {
            Self {
                step: 0.06,
                relative: 5e-3,
                absolute: 5e-3,
            }
        } else {
            Self {
                step: 2e-3,
                relative: 1e-8,
                absolute: 1e-8,
            }
        }
    }
}

/// Checks the gradient of `f` at `inputs`, all of which become leaves.
///
/// Choose inputs away from kinks and poles: finite differences cannot see them.
///
/// # Examples
///
/// ```
/// use tensor_grad::{Array, Complex, Tolerance, grad_check};
///
/// let z = Array::from_vec(&[2], vec![Complex::new(0.5, 1.0), Complex::new(-0.3, 0.2)])?;
/// grad_check(|x| Ok((&x[0] * &x[0].conj()).exp()), &[z], &Tolerance::of::<Complex<f64>>())?;
/// # Ok::<(), tensor_grad::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Gradient`] with the first gradient that is off; whatever `f` and
/// [`Tensor::backward_with`] return.
pub fn grad_check<T: Element>(
    f: impl Fn(&[Tensor<T>]) -> Result<Tensor<T>>,
    inputs: &[Array<T>],
    tolerance: &Tolerance,
) -> Result<()> {
    let leaves: Vec<Tensor<T>> = inputs.iter().cloned().map(Tensor::leaf).collect();
    let out = f(&leaves)?;
    let cotangent = Array::from_vec(out.shape(), directions(out.len()))?;
    let gradients = out.backward_with(&cotangent)?;
    let weights = cotangent.dense();
    let loss = |values: &[Array<T>]| -> Result<f64> {
        let values: Vec<_> = values.iter().cloned().map(Tensor::constant).collect();
        let out = f(&values)?;
        let out = out.value().dense();
        let terms = out.iter().zip(&*weights);
        Ok(terms
            .map(|(y, c)| c.re().to_f64() * y.re().to_f64() + c.im().to_f64() * y.im().to_f64())
            .sum())
    };
    let parts = if T::IS_COMPLEX { 2 } else { 1 };
    let mut moved = inputs.to_vec();
    for (input, array) in inputs.iter().enumerate() {
        let origin = array.to_vec();
        for element in 0..array.len() {
            let mut finite = [0.0; 2];
            for (part, finite) in finite.iter_mut().enumerate().take(parts) {
                let mut central = |step: f64| -> Result<f64> {
                    let mut at = |step: f64| -> Result<(f64, f64)> {
                        let (re, im) = (origin[element].re(), origin[element].im());
                        let by = T::Real::from_f64(step);
                        let to = if part == 0 {
                            T::from_parts(re + by, im)
                        } else {
                            T::from_parts(re, im + by)
                        };
                        // The step as it came out after rounding.
                        let came = if part == 0 {
                            to.re().to_f64() - re.to_f64()
                        } else {
                            to.im().to_f64() - im.to_f64()
                        };
                        moved[input].make_mut()[element] = to;
                        Ok((came, loss(&moved)?))
                    };
                    let (up, above) = at(step)?;
                    let (down, below) = at(-step)?;
                    Ok((above - below) / (up - down))
                };
                let (coarse, fine) = (central(tolerance.step)?, central(tolerance.step / 2.0)?);
                *finite = (4.0 * fine - coarse) / 3.0;
            }
            moved[input].make_mut()[element] = origin[element];
            let sweep = gradients
                .get(&leaves[input])
                .map_or(T::zero(), |gradient| gradient[element]);
            let off = f64::hypot(
                sweep.re().to_f64() - finite[0],
                sweep.im().to_f64() - finite[1],
            );
            let size = f64::hypot(finite[0], finite[1]);
            // Written so that not-a-number is refused.
            let agrees = off <= tolerance.absolute + tolerance.relative * size;
            if !agrees {
                return Err(Error::Gradient {
                    input,
                    element,
                    sweep: sweep.to_string(),
                    finite: T::from_parts(
                        T::Real::from_f64(finite[0]),
                        T::Real::from_f64(finite[1]),
                    )
                    .to_string(),
                });
            }
        }
    }
    Ok(())
}

/// A fixed cotangent without symmetries.
fn directions<T: Element>(len: usize) -> Vec<T> {
    (0..len)
        .map(|i| {
            let angle = 0.7 + 1.9 * i as f64;
            T::from_parts(
                T::Real::from_f64(angle.cos()),
                T::Real::from_f64(angle.sin()),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::Complex;

    use super::*;

    #[test]
    fn a_wrong_gradient_is_refused_for_real_and_complex_inputs() {
        // A detached factor hides half of the slope of a square.
        fn wrong<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
            x[0].try_mul(&x[0].detach())
        }
        let x = Array::scalar(0.8_f64);
        let error = grad_check(wrong, &[x], &Tolerance::of::<f64>()).unwrap_err();
        assert!(matches!(
            error,
            Error::Gradient {
                input: 0,
                element: 0,
                ..
            }
        ));
        let z = Array::scalar(Complex::new(0.8_f64, -0.3));
        assert!(grad_check(wrong, &[z], &Tolerance::of::<Complex<f64>>()).is_err());
    }

    #[test]
    fn a_conjugated_gradient_is_refused() {
        // The value of f, the gradient of conj(f): what the other convention would give.
        fn wrong(x: &[Tensor<Complex<f64>>]) -> Result<Tensor<Complex<f64>>> {
            let right = x[0].try_mul(&x[0])?;
            let other = right.conj();
            let shift = right.detach().try_sub(&other.detach())?;
            other.try_add(&shift)
        }
        let z = Array::scalar(Complex::new(0.8, -0.3));
        assert!(grad_check(wrong, &[z], &Tolerance::of::<Complex<f64>>()).is_err());
    }
}
