//! Training steps with the pools on and off, and products of matrices.
//!
//! Before anything is timed, both sides of a comparison must give the same bits.
//!
//! `cargo bench -p tensor-grad --bench step`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tensor_grad::optim::Sgd;
use tensor_grad::{Array, Tensor, pools};

/// A perceptron with relu between its layers, its data and its optimizer.
struct Workload {
    x: Tensor<f32>,
    classes: Vec<usize>,
    parameters: Vec<Tensor<f32>>,
    optimizer: Sgd<f32>,
}

impl Workload {
    fn new(widths: &[usize], batch: usize) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut draw = |shape: &[usize], bound: f32| {
            let len = shape.iter().product();
            let data = (0..len)
                .map(|_| random.random_range(-bound..bound))
                .collect();
            Array::from_vec(shape, data).expect("as many as the shape holds")
        };
        let mut parameters = Vec::new();
        for pair in widths.windows(2) {
            let bound = 1.0 / (pair[0] as f32).sqrt();
            parameters.push(Tensor::leaf(draw(&[pair[1], pair[0]], bound)));
            parameters.push(Tensor::leaf(draw(&[pair[1]], bound)));
        }
        Self {
            x: Tensor::constant(draw(&[batch, widths[0]], 1.0)),
            classes: (0..batch)
                .map(|i| i * 3 % widths[widths.len() - 1])
                .collect(),
            parameters,
            optimizer: Sgd::new(0.01).expect("a valid rate"),
        }
    }

    fn step(&mut self) -> tensor_grad::Result<f32> {
        let mut y = self.x.clone();
        let layers = self.parameters.len() / 2;
        for (at, layer) in self.parameters.chunks_exact(2).enumerate() {
            y = y.linear(&layer[0], Some(&layer[1]))?;
            if at + 1 < layers {
                y = y.relu();
            }
        }
        let loss = y.cross_entropy(&self.classes)?;
        let value = loss.item()?;
        let gradients = loss.backward()?;
        drop((loss, y));
        self.optimizer.step(&mut self.parameters, &gradients)?;
        Ok(value)
    }

    /// The bits of all weights after a few steps.
    fn digest(mut self) -> Vec<u32> {
        for _ in 0..5 {
            self.step().expect("the shapes fit");
        }
        let weights = self.parameters.iter().flat_map(Tensor::to_vec);
        weights.map(f32::to_bits).collect()
    }
}

fn steps(criterion: &mut Criterion) {
    for (name, widths, batch) in [
        ("mlp 64-64-10, batch 16", &[64, 64, 10][..], 16),
        ("mlp 64-128-64-10, batch 64", &[64, 128, 64, 10][..], 64),
        (
            "mlp 784-512-256-10, batch 128",
            &[784, 512, 256, 10][..],
            128,
        ),
    ] {
        pools::set_enabled(true);
        let on = Workload::new(widths, batch).digest();
        pools::set_enabled(false);
        let off = Workload::new(widths, batch).digest();
        assert!(on == off, "the pools changed the result");
        for (pools_are, enabled) in [("on", true), ("off", false)] {
            pools::set_enabled(enabled);
            let mut workload = Workload::new(widths, batch);
            criterion.bench_function(&format!("step/{name}/pools {pools_are}"), |b| {
                b.iter(|| workload.step().expect("the shapes fit"));
            });
        }
        pools::set_enabled(true);
    }
}

fn chain(criterion: &mut Criterion) {
    let x = Tensor::leaf(Array::full(&[8], 1.0_f32).expect("a small shape"));
    let one = Tensor::constant(Array::full(&[8], 1.0_f32).expect("a small shape"));
    criterion.bench_function("chain/1000 ops on 8 elements", |b| {
        b.iter(|| {
            let mut y = &x + &one;
            for _ in 0..500 {
                y = &(&y * &one) + &one;
            }
            y.sum().backward().expect("one real number")
        });
    });
    criterion.bench_function("chain/100000 scalar adds", |b| {
        let x = Tensor::leaf(Array::scalar(1.0_f32));
        b.iter(|| {
            let mut y = x.clone();
            for _ in 0..100_000 {
                y = &y + &x;
            }
            y.backward().expect("one real number")
        });
    });
    let x = Tensor::leaf(Array::full(&[1 << 20], 0.5_f32).expect("a shape of 4 MiB"));
    criterion.bench_function("chain/10 ops on 2^20 elements", |b| {
        b.iter(|| {
            let mut y = &x * &x;
            for _ in 0..4 {
                y = (&y * &x).relu();
            }
            y.sum().backward().expect("one real number")
        });
    });
}

fn gemm(criterion: &mut Criterion) {
    for (m, k, n) in [
        (16, 64, 64),
        (64, 64, 128),
        (64, 128, 64),
        (128, 128, 128),
        (256, 256, 256),
        (128, 784, 512),
    ] {
        let make = |shape: &[usize]| Tensor::constant(Array::full(shape, 0.5_f32).expect("small"));
        let (a, b, t) = (make(&[m, k]), make(&[k, n]), make(&[n, k]));
        criterion.bench_function(&format!("gemm/{m}x{k}x{n}"), |bench| {
            bench.iter(|| black_box(a.matmul(&b).expect("the shapes fit")));
        });
        let t = t.transpose(0, 1).expect("two axes");
        criterion.bench_function(&format!("gemm/{m}x{k}x{n} transposed"), |bench| {
            bench.iter(|| black_box(a.matmul(&t).expect("the shapes fit")));
        });
    }
}

criterion_group!(benches, steps, chain, gemm);
criterion_main!(benches);
