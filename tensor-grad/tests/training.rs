//! Training over recycled buffers: the same bits with and without them, and nearly nothing but hits.
//!
//! The pools' switch and counts are the process's, so all of it runs in one test after the other.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test, as tests do"
)]

use std::sync::{Mutex, PoisonError};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tensor_grad::optim::{Adam, Sgd};
use tensor_grad::{Array, Result, Tensor, pools};

static POOLS: Mutex<()> = Mutex::new(());

const SAMPLES: usize = 16;

struct Model {
    parameters: Vec<Tensor<f32>>,
}

impl Model {
    /// A 64-64-10 perceptron from a seed.
    fn new(random: &mut ChaCha8Rng) -> Self {
        let mut draw = |shape: &[usize], bound: f32| {
            let len = shape.iter().product();
            let data = (0..len)
                .map(|_| random.random_range(-bound..bound))
                .collect();
            Tensor::parameter(shape, data).unwrap()
        };
        Self {
            parameters: vec![
                draw(&[64, 64], 0.125),
                draw(&[64], 0.125),
                draw(&[10, 64], 0.125),
                draw(&[10], 0.125),
            ],
        }
    }

    fn scores(&self, x: &Tensor<f32>) -> Result<Tensor<f32>> {
        let [w1, b1, w2, b2] = &self.parameters[..] else {
            panic!("four parameters");
        };
        x.linear(w1, Some(b1))?.relu().linear(w2, Some(b2))
    }
}

/// A step as a data-parallel rank takes it, with an allreduce of one rank.
fn train(steps: usize, mut each: impl FnMut(usize, f32)) -> Vec<u32> {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut model = Model::new(&mut random);
    let mut adam = Adam::new(0.01).unwrap();
    let pixels = (0..SAMPLES * 64)
        .map(|_| random.random_range(0.0..1.0))
        .collect();
    let x = Tensor::constant(Array::from_vec(&[SAMPLES, 64], pixels).unwrap());
    let classes: Vec<usize> = (0..SAMPLES).map(|i| i * 3 % 10).collect();
    let mut flat = Vec::new();
    for step in 0..steps {
        let loss = model.scores(&x).unwrap().cross_entropy(&classes).unwrap();
        let value = loss.item().unwrap();
        let mut gradients = loss.backward().unwrap();
        drop(loss);
        gradients.flatten_into(&model.parameters, &mut flat);
        gradients.unflatten_from(&model.parameters, &flat).unwrap();
        adam.step(&mut model.parameters, &gradients).unwrap();
        drop(gradients);
        each(step, value);
    }
    let all = model.parameters.iter().flat_map(Tensor::to_vec);
    all.map(f32::to_bits).collect()
}

#[test]
fn weights_have_the_same_bits_with_pools_on_off_cold_and_warm() {
    let _guard = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    pools::clear();
    let cold = train(20, |_, _| ());
    let warm = train(20, |_, _| ());
    let cleared_on_the_way = train(20, |_, _| pools::clear());
    pools::set_enabled(false);
    assert!(!pools::is_enabled());
    let off = train(20, |_, _| ());
    pools::set_enabled(true);
    let switched_on_the_way = train(20, |step, _| pools::set_enabled(step % 3 == 0));
    pools::set_enabled(true);
    assert!(cold == warm && cold == cleared_on_the_way);
    assert!(cold == off && cold == switched_on_the_way);
}

#[test]
fn after_warming_up_at_least_99_percent_of_borrows_are_hits_and_memory_is_flat() {
    let _guard = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut marks = Vec::new();
    train(1000, |step, _| {
        if step == 10 || step == 999 {
            marks.push((pools::forward_stats(), pools::sweep_stats()));
        }
    });
    for (before, after) in [(marks[0].0, marks[1].0), (marks[0].1, marks[1].1)] {
        let (hits, misses) = (after.hits - before.hits, after.misses - before.misses);
        assert!(hits > 2 * 989, "only {hits} borrows");
        assert!(misses * 100 <= hits, "{misses} misses beside {hits} hits");
        assert_eq!(after.held_bytes, before.held_bytes);
    }
}

#[test]
fn the_loss_falls_with_either_optimizer() {
    let _guard = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut losses = Vec::new();
    train(60, |_, loss| losses.push(loss));
    assert!(
        losses[59] < 0.1 * losses[0],
        "{} to {}",
        losses[0],
        losses[59]
    );

    let target = Tensor::constant(Array::full(&[8], 3.0_f32).unwrap());
    let mut parameters = [Tensor::leaf(Array::zeros(&[8]).unwrap())];
    let mut sgd = Sgd::with_momentum(0.2, 0.8).unwrap();
    for _ in 0..200 {
        let gradients = parameters[0].mse(&target).unwrap().backward().unwrap();
        sgd.step(&mut parameters, &gradients).unwrap();
    }
    let off = parameters[0].mse(&target).unwrap().item().unwrap();
    assert!(off < 1e-6, "{off}");
}
