//! What a training step allocates, by a counting allocator.
//!
//! The allocator counts per thread, so other tests do not disturb it.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test, as tests do"
)]

use allocation_counter::measure;
use tensor_grad::optim::{Adam, Sgd};
use tensor_grad::{Array, Tensor};

const BATCH: usize = 64;

fn parameters() -> Vec<Tensor<f32>> {
    let make = |shape: &[usize]| {
        let len: usize = shape.iter().product();
        let data = (0..len)
            .map(|i| ((i * 37 % 101) as f32 - 50.0) / 500.0)
            .collect();
        Tensor::parameter(shape, data).unwrap()
    };
    let shapes: [&[usize]; 6] = [&[128, 64], &[128], &[64, 128], &[64], &[10, 64], &[10]];
    shapes.map(make).into()
}

fn loss(x: &Tensor<f32>, classes: &[usize], p: &[Tensor<f32>]) -> Tensor<f32> {
    let first = x.linear(&p[0], Some(&p[1])).unwrap().relu();
    let second = first.linear(&p[2], Some(&p[3])).unwrap().relu();
    let scores = second.linear(&p[4], Some(&p[5])).unwrap();
    scores.cross_entropy(classes).unwrap()
}

#[test]
fn a_warm_training_step_allocates_nothing_in_the_sweep_and_no_payload_at_all() {
    let pixels = (0..BATCH * 64)
        .map(|i| (i * 13 % 17) as f32 / 16.0)
        .collect();
    let x = Tensor::constant(Array::from_vec(&[BATCH, 64], pixels).unwrap());
    let classes: Vec<usize> = (0..BATCH).map(|i| i * 3 % 10).collect();
    let mut parameters = parameters();
    let mut sgd = Sgd::with_momentum(0.01, 0.9).unwrap();
    let mut adam = Adam::new(0.001).unwrap();
    for step in 0..5 {
        let mut value = None;
        let forward = measure(|| value = Some(loss(&x, &classes, &parameters)));
        let mut gradients = None;
        let sweep = measure(|| gradients = value.as_ref().map(|v| v.backward().unwrap()));
        let gradients = gradients.unwrap();
        let drops = measure(|| value = None);
        let update = measure(|| {
            sgd.step(&mut parameters, &gradients).unwrap();
            adam.step(&mut parameters, &gradients).unwrap();
        });
        if step < 2 {
            continue;
        }
        // The smallest payload of a hidden layer is 16 KiB.
        assert_eq!(sweep.count_total, 0, "{sweep:?}");
        assert_eq!(update.count_total, 0, "{update:?}");
        assert_eq!(drops.count_total, 0, "{drops:?}");
        assert!(forward.count_total <= 20, "{forward:?}");
        assert!(forward.bytes_total < 8 << 10, "{forward:?}");
    }
}

#[test]
fn a_step_while_the_loss_lives_copies_into_recycled_memory() {
    let mut parameters = [Tensor::leaf(Array::full(&[10_000], 1.0_f32).unwrap())];
    let mut sgd = Sgd::new(0.1).unwrap();
    for step in 0..5 {
        let loss = (&parameters[0] * &parameters[0]).sum();
        let gradients = loss.backward().unwrap();
        let update = measure(|| sgd.step(&mut parameters, &gradients).unwrap());
        drop(loss);
        if step >= 2 {
            // The handle of the new value; its 40 KB are those of the value before last.
            assert!(update.bytes_total < 256, "{update:?}");
        }
    }
}

#[test]
fn graphs_that_are_never_swept_leave_nothing_behind() {
    let x = Tensor::leaf(Array::full(&[100], 0.5_f32).unwrap());
    let forward = || drop((&x * &x).exp().sum());
    forward();
    let steps = measure(|| (0..10_000).for_each(|_| forward()));
    assert_eq!(steps.count_current, 0, "{steps:?}");
    assert!(steps.count_max <= 10, "{steps:?}");
}

#[test]
fn leaves_that_are_dropped_take_their_graph_along() {
    let build = || {
        let x = Tensor::leaf(Array::full(&[100], 0.5_f32).unwrap());
        drop((&x * &x).sum().backward().unwrap());
    };
    build();
    let steps = measure(|| (0..1_000).for_each(|_| build()));
    assert_eq!(steps.count_current, 0, "{steps:?}");
}
