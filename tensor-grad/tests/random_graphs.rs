//! Random graphs: pooled sweeps bit for bit as unpooled ones, and all as a naive engine's.
//!
//! The naive engine works on whole matrices in plain `Vec`s, keeps everything and
//! adds every contribution to a gradient of zeros.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test, as tests do"
)]

use proptest::prelude::*;
use tensor_grad::{Tensor, pools};

const N: usize = 3;
type Matrix = Vec<f64>;

/// One instruction; operands are indices into the values so far, modulo their number.
#[derive(Debug, Clone, Copy)]
enum Step {
    Add(usize, usize),
    Sub(usize, usize),
    Mul(usize, usize),
    Matmul(usize, usize),
    Transpose(usize),
    Tanh(usize),
    Sin(usize),
    /// Adds the mean of the columns to every row.
    Shift(usize),
    /// Divides by the sum of squares of all elements, plus one.
    Normalise(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let at = || any::<prop::sample::Index>().prop_map(|i| i.index(1 << 20));
    let step = prop_oneof![
        (at(), at()).prop_map(|(a, b)| Step::Add(a, b)),
        (at(), at()).prop_map(|(a, b)| Step::Sub(a, b)),
        (at(), at()).prop_map(|(a, b)| Step::Mul(a, b)),
        (at(), at()).prop_map(|(a, b)| Step::Matmul(a, b)),
        at().prop_map(Step::Transpose),
        at().prop_map(Step::Tanh),
        at().prop_map(Step::Sin),
        at().prop_map(Step::Shift),
        at().prop_map(Step::Normalise),
    ];
    prop::collection::vec(step, 1..25)
}

fn start() -> [Matrix; 2] {
    let make = |seed: usize| (0..N * N).map(move |i| ((i * 7 + seed) % 11) as f64 / 11.0 - 0.4);
    [make(1).collect(), make(5).collect()]
}

/// The gradients of the two leaves, of the sum of all values.
fn engine(steps: &[Step]) -> [Matrix; 2] {
    let leaves = start().map(|data| Tensor::parameter(&[N, N], data).unwrap());
    let mut values = leaves.to_vec();
    for &step in steps {
        let of = |i: usize| &values[i % values.len()];
        let value = match step {
            Step::Add(a, b) => of(a) + of(b),
            Step::Sub(a, b) => of(a) - of(b),
            Step::Mul(a, b) => of(a) * of(b),
            Step::Matmul(a, b) => of(a).matmul(of(b)).unwrap(),
            Step::Transpose(a) => of(a).transpose(0, 1).unwrap(),
            Step::Tanh(a) => of(a).tanh(),
            Step::Sin(a) => of(a).sin(),
            Step::Shift(a) => of(a) + of(a).mean_over(&[0]).unwrap(),
            Step::Normalise(a) => of(a) / ((of(a) * of(a)).sum() + 1.0),
        };
        values.push(value);
    }
    let total = values.iter().map(Tensor::sum).reduce(|a, b| a + b).unwrap();
    let gradients = total.backward().unwrap();
    leaves.map(|leaf| gradients.get(&leaf).unwrap().to_vec())
}

fn each(f: impl Fn(usize, usize) -> f64) -> Matrix {
    (0..N * N).map(|at| f(at / N, at % N)).collect()
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    each(|i, j| (0..N).map(|k| a[i * N + k] * b[k * N + j]).sum())
}

fn transposed(a: &Matrix) -> Matrix {
    each(|i, j| a[j * N + i])
}

fn naive(steps: &[Step]) -> [Matrix; 2] {
    let mut values = start().to_vec();
    for &step in steps {
        let of = |i: usize| &values[i % values.len()];
        let value = match step {
            Step::Add(a, b) => each(|i, j| of(a)[i * N + j] + of(b)[i * N + j]),
            Step::Sub(a, b) => each(|i, j| of(a)[i * N + j] - of(b)[i * N + j]),
            Step::Mul(a, b) => each(|i, j| of(a)[i * N + j] * of(b)[i * N + j]),
            Step::Matmul(a, b) => product(of(a), of(b)),
            Step::Transpose(a) => transposed(of(a)),
            Step::Tanh(a) => of(a).iter().map(|x| x.tanh()).collect(),
            Step::Sin(a) => of(a).iter().map(|x| x.sin()).collect(),
            Step::Shift(a) => each(|i, j| {
                let mean = (0..N).map(|k| of(a)[k * N + j]).sum::<f64>() / N as f64;
                of(a)[i * N + j] + mean
            }),
            Step::Normalise(a) => {
                let squares: f64 = of(a).iter().map(|x| x * x).sum();
                of(a).iter().map(|x| x / (squares + 1.0)).collect()
            }
        };
        values.push(value);
    }
    let mut gradients = vec![vec![1.0; N * N]; values.len()];
    for (at, &step) in steps.iter().enumerate().rev() {
        let made = at + 2;
        let g = gradients[made].clone();
        let mut send = |to: usize, part: Matrix| {
            for (sum, part) in gradients[to % made].iter_mut().zip(part) {
                *sum += part;
            }
        };
        let of = |i: usize| &values[i % made];
        match step {
            Step::Add(a, b) => {
                send(a, g.clone());
                send(b, g);
            }
            Step::Sub(a, b) => {
                send(a, g.clone());
                send(b, g.iter().map(|g| -g).collect());
            }
            Step::Mul(a, b) => {
                send(a, each(|i, j| g[i * N + j] * of(b)[i * N + j]));
                send(b, each(|i, j| g[i * N + j] * of(a)[i * N + j]));
            }
            Step::Matmul(a, b) => {
                send(a, product(&g, &transposed(of(b))));
                send(b, product(&transposed(of(a)), &g));
            }
            Step::Transpose(a) => send(a, transposed(&g)),
            Step::Tanh(a) => send(
                a,
                each(|i, j| g[i * N + j] * (1.0 - of(a)[i * N + j].tanh().powi(2))),
            ),
            Step::Sin(a) => send(a, each(|i, j| g[i * N + j] * of(a)[i * N + j].cos())),
            Step::Shift(a) => send(
                a,
                each(|i, j| {
                    let column: f64 = (0..N).map(|k| g[k * N + j]).sum();
                    g[i * N + j] + column / N as f64
                }),
            ),
            Step::Normalise(a) => {
                let scale = 1.0 + of(a).iter().map(|x| x * x).sum::<f64>();
                let dot: f64 = g.iter().zip(of(a)).map(|(g, x)| g * x).sum();
                let along = 2.0 * dot / (scale * scale);
                send(
                    a,
                    each(|i, j| g[i * N + j] / scale - of(a)[i * N + j] * along),
                );
            }
        }
    }
    [gradients[0].clone(), gradients[1].clone()]
}

fn bits(gradients: &[Matrix; 2]) -> Vec<u64> {
    gradients.iter().flatten().map(|x| x.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    // The only test of this file: the pools' switch is the process's.
    #[test]
    fn random_graphs_have_the_gradients_of_the_naive_engine_whatever_the_pools_hold(steps in steps()) {
        let warm = engine(&steps);
        pools::clear();
        let cold = engine(&steps);
        pools::set_enabled(false);
        let off = engine(&steps);
        pools::set_enabled(true);
        // The bits of not-a-number are compared too.
        prop_assert_eq!(bits(&warm), bits(&cold));
        prop_assert_eq!(bits(&warm), bits(&off));
        for (got, want) in warm.iter().flatten().zip(naive(&steps).iter().flatten()) {
            let close = (got - want).abs() <= 1e-8 * want.abs().max(1.0);
            // Squares of squares overflow now and then, in both engines.
            prop_assert!(close || !want.is_finite(), "{} {}", got, want);
        }
    }
}
