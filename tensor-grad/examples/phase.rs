//! Finds the amplitude and phase of a tone in noise, by descent on one complex parameter.
//!
//! The signal is `c exp(i ω t)` plus noise, for a known frequency ω. The loss is
//! the mean square of what is left when the model is subtracted. The example
//! fails if it does not find the numbers it hid.

use tensor_grad::optim::Adam;
use tensor_grad::{Array, Complex, Result, Tensor};

const SAMPLES: usize = 256;

#[expect(clippy::print_stdout, reason = "an example reports what it found")]
fn main() -> Result<()> {
    let hidden = Complex::from_polar(1.7_f64, -2.1);
    let tone: Vec<Complex<f64>> = (0..SAMPLES)
        .map(|t| Complex::from_polar(1.0, 0.37 * t as f64))
        .collect();
    // Noise enough to see, from a fixed rule.
    let noise = |t: usize| Complex::from_polar(0.2, (t * t) as f64);
    let heard = tone.iter().enumerate().map(|(t, z)| hidden * z + noise(t));
    let heard = Tensor::constant(Array::from_vec(&[SAMPLES], heard.collect())?);
    let tone = Tensor::constant(Array::from_vec(&[SAMPLES], tone)?);

    let mut parameters = [Tensor::leaf(Array::scalar(Complex::new(0.1, 0.0)))];
    let mut optimizer = Adam::new(0.05)?;
    for step in 0..400 {
        let loss = (&parameters[0] * &tone).mse(&heard)?;
        if step % 100 == 0 {
            println!("step {step}: loss {:.4}", loss.item()?);
        }
        let gradients = loss.backward()?;
        drop(loss);
        optimizer.step(&mut parameters, &gradients)?;
    }

    let (amplitude, phase) = parameters[0].item()?.to_polar();
    println!("found amplitude {amplitude:.3} and phase {phase:.3}");
    println!(
        " hid  amplitude {:.3} and phase {:.3}",
        hidden.norm(),
        hidden.arg()
    );
    assert!((amplitude - hidden.norm()).abs() < 0.05);
    assert!((phase - hidden.arg()).abs() < 0.05);
    Ok(())
}
