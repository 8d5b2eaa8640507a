//! Values, gradients and training runs against `PyTorch`'s, from `fixtures/cases.json`.
//!
//! Both sides compute in double precision. Values and gradients of single ops must
//! agree to 1e-12, losses and weights of 30 training steps to 1e-10, each per unit
//! of magnitude: what rounding in another order leaves.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test, as tests do"
)]

use serde::Deserialize;
use tensor_grad::optim::{Adam, Sgd};
use tensor_grad::{Array, Complex, Element, Gradients, RealElement, Result, Tensor};

type C64 = Complex<f64>;

#[derive(Deserialize)]
struct Fixtures {
    cases: Vec<Case>,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Case {
    op: String,
    setting: Option<f64>,
    inputs: Vec<Numbers>,
    output: Numbers,
    cotangent: Numbers,
    gradients: Vec<Numbers>,
}

#[derive(Deserialize)]
struct Run {
    name: String,
    x: Numbers,
    classes: Vec<usize>,
    start: Vec<Numbers>,
    losses: Vec<f64>,
    end: Vec<Numbers>,
}

#[derive(Deserialize)]
struct Numbers {
    shape: Vec<usize>,
    complex: bool,
    data: Vec<f64>,
}

impl Numbers {
    fn array<T: Element<Real = f64>>(&self) -> Array<T> {
        assert_eq!(self.complex, T::IS_COMPLEX);
        let data = if self.complex {
            let pairs = self.data.chunks_exact(2);
            pairs.map(|z| T::from_parts(z[0], z[1])).collect()
        } else {
            self.data.iter().map(|&x| T::from_real(x)).collect()
        };
        Array::from_vec(&self.shape, data).unwrap()
    }

    fn assert_close<T: Element<Real = f64>>(
        &self,
        what: &str,
        shape: &[usize],
        got: &[T],
        tolerance: f64,
    ) {
        assert_eq!(self.shape, shape, "{what}: shape");
        let want = self.array::<T>().to_vec();
        assert_eq!(want.len(), got.len());
        for (i, (&got, &want)) in got.iter().zip(&want).enumerate() {
            let off = (got - want).magnitude();
            let bound = tolerance * want.magnitude().max(1.0);
            assert!(
                off <= bound,
                "{what}: element {i} is {got}, PyTorch has {want}"
            );
        }
    }
}

fn fixtures() -> Fixtures {
    serde_json::from_str(include_str!("fixtures/cases.json")).unwrap()
}

/// The ops that keep their element type.
fn apply<T: Element<Real = f64>>(case: &Case, x: &[Tensor<T>]) -> Option<Result<Tensor<T>>> {
    #[expect(clippy::cast_possible_truncation, reason = "small integers, exact")]
    let integer = case.setting.unwrap_or(0.0) as i32;
    Some(match case.op.as_str() {
        "add" => x[0].try_add(&x[1]),
        "sub" => x[0].try_sub(&x[1]),
        "mul" => x[0].try_mul(&x[1]),
        "div" => x[0].try_div(&x[1]),
        "neg" => Ok(-&x[0]),
        "exp" => Ok(x[0].exp()),
        "log" => Ok(x[0].log()),
        "sqrt" => Ok(x[0].sqrt()),
        "tanh" => Ok(x[0].tanh()),
        "sigmoid" => Ok(x[0].sigmoid()),
        "sin" => Ok(x[0].sin()),
        "cos" => Ok(x[0].cos()),
        "conj" => Ok(x[0].conj()),
        "powi" => Ok(x[0].powi(integer)),
        "powf" => Ok(x[0].powf(case.setting.unwrap())),
        "sum" => Ok(x[0].sum()),
        "mean" => Ok(x[0].mean()),
        "sum_over_1" => x[0].sum_over(&[1]),
        "mean_over_0_2" => x[0].mean_over(&[0, 2]),
        "transpose" => x[0].transpose(0, 1),
        "permute" => x[0].permute(&[1, 2, 0]),
        "reshape" => x[0].reshape(&[3, 2]),
        "broadcast_to" => x[0].broadcast_to(&[2, 3, 2]),
        "matmul" => x[0].matmul(&x[1]),
        "linear" => x[0].linear(&x[1], Some(&x[2])),
        _ => return None,
    })
}

/// The ops of real tensors.
fn apply_real(case: &Case, x: &[Tensor<f64>]) -> Result<Tensor<f64>> {
    let axis = usize::from(case.setting == Some(1.0));
    match case.op.as_str() {
        "abs" => Ok(x[0].abs()),
        "relu" => Ok(x[0].relu()),
        "max" => x[0].max(),
        "max_over_1" => x[0].max_over(&[1]),
        "softmax" => x[0].softmax(axis),
        "log_softmax" => x[0].log_softmax(axis),
        "cross_entropy" => x[0].cross_entropy(&[1, 0, 3]),
        "mse" => x[0].mse(&x[1]),
        other => panic!("the fixtures have an op that this test does not know: {other}"),
    }
}

/// The ops from complex tensors to real ones.
fn apply_down(case: &Case, z: &[Tensor<C64>]) -> Tensor<f64> {
    match case.op.as_str() {
        "abs" => z[0].abs(),
        "real" => z[0].real(),
        "imag" => z[0].imag(),
        "square_of_magnitude" => (&z[0] * &z[0].conj()).real(),
        "real_of_square" => (&z[0] * &z[0]).real(),
        other => panic!("the fixtures have an op that this test does not know: {other}"),
    }
}

fn leaves<T: Element<Real = f64>>(case: &Case) -> Vec<Tensor<T>> {
    let inputs = case.inputs.iter();
    inputs.map(|input| Tensor::leaf(input.array())).collect()
}

fn check<T, U>(case: &Case, leaves: &[Tensor<T>], out: &Tensor<U>)
where
    T: Element<Real = f64>,
    U: Element<Real = f64>,
{
    let gradients = out.backward_with(&case.cotangent.array()).unwrap();
    case.output
        .assert_close(&case.op, out.shape(), &out.to_vec(), 1e-12);
    for (leaf, want) in leaves.iter().zip(&case.gradients) {
        let what = format!("gradient of {}", case.op);
        want.assert_close(&what, leaf.shape(), gradients.get(leaf).unwrap(), 1e-12);
    }
}

#[test]
fn every_op_agrees_with_pytorch() {
    let fixtures = fixtures();
    assert!(fixtures.cases.len() >= 60);
    for case in &fixtures.cases {
        match (case.inputs[0].complex, case.output.complex) {
            (false, false) => {
                let x = leaves::<f64>(case);
                let out = apply(case, &x).unwrap_or_else(|| apply_real(case, &x));
                check(case, &x, &out.unwrap());
            }
            (true, true) => {
                let z = leaves::<C64>(case);
                check(case, &z, &apply(case, &z).unwrap().unwrap());
            }
            (true, false) => {
                let z = leaves::<C64>(case);
                check(case, &z, &apply_down(case, &z));
            }
            (false, true) => {
                let x = leaves::<f64>(case);
                check(case, &x, &x[0].to_complex());
            }
        }
    }
}

#[test]
fn thirty_training_steps_agree_with_pytorch() {
    for run in &fixtures().runs {
        let x = Tensor::constant(run.x.array::<f64>());
        let start = run.start.iter();
        let mut parameters: Vec<_> = start.map(|p| Tensor::leaf(p.array::<f64>())).collect();
        let mut sgd = Sgd::with_momentum(0.1, 0.9).unwrap();
        let mut adam = Adam::new(0.01).unwrap();
        let mut step =
            |parameters: &mut [Tensor<f64>], gradients: &Gradients| match run.name.as_str() {
                "sgd" => sgd.step(parameters, gradients),
                _ => adam.step(parameters, gradients),
            };
        for (at, &want) in run.losses.iter().enumerate() {
            let [w1, b1, w2, b2] = &parameters[..] else {
                panic!("four parameters");
            };
            let hidden = x.linear(w1, Some(b1)).unwrap().relu();
            let scores = hidden.linear(w2, Some(b2)).unwrap();
            let loss = scores.cross_entropy(&run.classes).unwrap();
            let got = loss.item().unwrap();
            assert!(
                (got - want).to_f64().abs() < 1e-10,
                "{} step {at}: {got} {want}",
                run.name
            );
            let gradients = loss.backward().unwrap();
            drop((loss, scores, hidden));
            step(&mut parameters, &gradients).unwrap();
        }
        for (parameter, want) in parameters.iter().zip(&run.end) {
            want.assert_close(&run.name, parameter.shape(), &parameter.to_vec(), 1e-10);
        }
    }
}
