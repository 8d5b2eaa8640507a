//! The graph's behaviour: depth, sharing, threads, scopes, errors, ownership of gradients.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test, as tests do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use tensor_grad::{Array, Complex, Error, Tensor, no_grad};

fn leaf(values: &[f64]) -> Tensor<f64> {
    Tensor::parameter(&[values.len()], values.to_vec()).unwrap()
}

fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(256 << 10);
    thread.spawn(work).unwrap().join().unwrap();
}

#[test]
fn a_chain_of_a_million_nodes_is_built_swept_and_dropped_on_a_small_stack() {
    on_a_small_stack(|| {
        let x = Tensor::leaf(Array::scalar(1.0_f64));
        let step = Tensor::leaf(Array::scalar(0.5_f64));
        let mut y = x.clone();
        for _ in 0..1_000_000 {
            y = y.try_add(&step).unwrap();
        }
        let gradients = y.backward().unwrap();
        assert_eq!(gradients.get(&x), Some(&[1.0][..]));
        assert_eq!(gradients.get(&step), Some(&[1e6][..]));
    });
}

#[test]
fn long_chains_drop_without_recursion_in_any_order() {
    on_a_small_stack(|| {
        let chain = || {
            let mut all = vec![Tensor::leaf(Array::scalar(1.0_f64))];
            for at in 0..100_000 {
                let next = &all[at] * 1.0;
                all.push(next);
            }
            all
        };
        // The end first, the start first, the middle first, the end alone last.
        let mut all = chain();
        while all.pop().is_some() {}
        for tensor in chain() {
            drop(tensor);
        }
        let mut all = chain();
        drop(all.drain(30_000..70_000));
        drop(all);
        let end = chain().pop();
        drop(end);
    });
}

#[test]
fn two_threads_that_drop_one_chain_do_not_recurse_either() {
    for _ in 0..20 {
        let mut y = Tensor::leaf(Array::scalar(1.0_f64));
        for _ in 0..20_000 {
            y = -&y;
        }
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let y = y.clone();
                let thread = thread::Builder::new().stack_size(256 << 10);
                thread.spawn(move || drop(y)).unwrap()
            })
            .collect();
        drop(y);
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

#[test]
fn a_tower_of_diamonds_is_swept_once_per_node() {
    let x = leaf(&[1.0]);
    let mut y = x.clone();
    for _ in 0..60 {
        y = &y + &y;
    }
    // Were each path walked, this would take 2^60 visits.
    let gradients = y.sum().backward().unwrap();
    assert_eq!(gradients.get(&x), Some(&[(1_u64 << 60) as f64][..]));
}

#[test]
fn a_node_used_at_several_depths_waits_for_all_its_users() {
    let x = leaf(&[2.0, 3.0]);
    let square = &x * &x;
    let deep = (&square * &x) + &square;
    let y = (&deep * &square).sum() + square.sum();
    // y = x^5 + x^4 + x^2
    let gradients = y.backward().unwrap();
    assert_eq!(gradients.get(&x), Some(&[116.0, 519.0][..]));
}

#[test]
fn a_graph_may_be_swept_again_with_the_same_result() {
    let x = leaf(&[0.3, -0.7]);
    let y = (x.exp() * x.sin()).sum();
    let first = y.backward().unwrap();
    let second = y.backward().unwrap();
    assert_eq!(first.get(&x), second.get(&x));
}

#[test]
fn a_gradient_that_the_caller_keeps_is_never_written_again() {
    let x = Tensor::leaf(Array::full(&[200], 3.0_f32).unwrap());
    let mut kept = (&x * &x).sum().backward().unwrap();
    let other = Tensor::leaf(Array::full(&[200], 5.0_f32).unwrap());
    for _ in 0..100 {
        drop((&other * &other).sum().backward().unwrap());
    }
    assert_eq!(kept.get(&x), Some(&[6.0; 200][..]));
    let taken = kept.take(&x).unwrap();
    drop(kept);
    for _ in 0..100 {
        drop((&other * &other).sum().backward().unwrap());
    }
    assert_eq!(taken.to_vec(), [6.0; 200]);
}

#[test]
fn sweeps_on_several_threads_over_shared_leaves_are_exact() {
    let weight = Tensor::leaf(Array::full(&[64], 2.0_f64).unwrap());
    let shared = (&weight * &weight).sum();
    thread::scope(|scope| {
        for at in 0..6 {
            let (weight, shared) = (&weight, &shared);
            scope.spawn(move || {
                let factor = f64::from(at) + 1.0;
                for _ in 0..300 {
                    let own = (weight * factor).sum();
                    let gradients = own.backward().unwrap();
                    assert_eq!(gradients.get(weight), Some(&[factor; 64][..]));
                    // A graph that all threads sweep at once, below one of this thread.
                    let total = shared * factor;
                    let gradients = total.backward().unwrap();
                    assert_eq!(gradients.get(weight), Some(&[4.0 * factor; 64][..]));
                }
            });
        }
    });
}

#[test]
fn recording_stops_for_a_scope_of_one_thread_even_if_it_panics() {
    let x = leaf(&[1.0]);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _outer = no_grad();
        let _inner = no_grad();
        assert!(!(&x + &x).needs_gradient());
        thread::scope(|scope| {
            scope.spawn(|| assert!((&x + &x).needs_gradient()));
        });
        panic!("inside the scope");
    }));
    assert!(panicked.is_err());
    assert!((&x + &x).needs_gradient());
}

#[test]
fn detaching_ends_the_flow() {
    let x = leaf(&[3.0]);
    let y = (&x * &x.detach()).sum();
    assert_eq!(y.backward().unwrap().get(&x), Some(&[3.0][..]));
}

#[test]
fn what_cannot_be_swept_is_an_error_that_says_what_to_do() {
    let x = leaf(&[1.0, 2.0]);
    let error = (&x + &x).backward().unwrap_err();
    assert_eq!(
        error.to_string(),
        "backward: shape [2] is not a single number; reduce it to one element first, or give a cotangent to backward_with"
    );
    let constant = Tensor::scalar(1.0_f64);
    assert_eq!(
        constant.backward().unwrap_err(),
        Error::NoGradient { op: "backward" }
    );
    let z = Tensor::leaf(Array::scalar(Complex::new(1.0_f64, 2.0)));
    assert_eq!((&z * &z).backward().unwrap_err(), Error::ComplexOutput);
    let wrong = Array::zeros(&[3]).unwrap();
    assert!((&x + &x).backward_with(&wrong).is_err());
}

#[test]
fn a_cotangent_of_any_layout_gives_the_same_gradient() {
    let data: Vec<f64> = (0..6).map(f64::from).collect();
    let x = Tensor::parameter(&[2, 3], data.clone()).unwrap();
    let y = x.exp();
    let strided = Array::from_vec(&[3, 2], data)
        .unwrap()
        .transpose(0, 1)
        .unwrap();
    let repeated = Array::scalar(2.0).broadcast_to(&[2, 3]).unwrap();
    for cotangent in [strided, repeated] {
        let dense = cotangent.contiguous();
        let a = y.backward_with(&cotangent).unwrap();
        let b = y.backward_with(&dense).unwrap();
        assert_eq!(a.get(&x), b.get(&x));
    }
}

#[test]
fn views_of_one_base_add_up_in_the_base() {
    let x = Tensor::parameter(&[2, 2], vec![1.0_f64, 2.0, 3.0, 4.0]).unwrap();
    let transposed = x.transpose(0, 1).unwrap();
    let flat = x.reshape(&[4]).unwrap();
    let wide = x
        .reshape(&[2, 1, 2])
        .unwrap()
        .broadcast_to(&[2, 3, 2])
        .unwrap();
    let y = (&transposed * &x).sum() + flat.sum() + wide.sum();
    // 2 x^T + 1 + 3
    let gradients = y.backward().unwrap();
    assert_eq!(gradients.get(&x), Some(&[6.0, 10.0, 8.0, 12.0][..]));
}

#[test]
fn the_sum_over_uses_does_not_depend_on_their_order() {
    let x = leaf(&[0.5, 2.0]);
    let a = x.exp().sum() + (&x * 3.0).sum();
    let b = (&x * 3.0).sum() + x.exp().sum();
    let (a, b) = (a.backward().unwrap(), b.backward().unwrap());
    for (a, b) in a.get(&x).unwrap().iter().zip(b.get(&x).unwrap()) {
        assert!((a - b).abs() < 1e-14);
    }
}

#[test]
fn a_real_leaf_in_a_complex_graph_has_a_real_gradient() {
    let x = Tensor::leaf(Array::scalar(2.0_f64));
    let z = Tensor::leaf(Array::scalar(Complex::new(0.0, 3.0)));
    let y = (&x.to_complex() * &z).imag();
    let gradients = y.backward().unwrap();
    assert_eq!(gradients.get(&x), Some(&[3.0][..]));
    assert_eq!(gradients.get(&z), Some(&[Complex::new(0.0, 2.0)][..]));
}

#[test]
fn a_step_against_the_complex_gradient_decreases_the_loss() {
    let loss = |z: &Tensor<Complex<f64>>| (z.exp() * z.conj().sin()).abs().sum();
    let z = Tensor::leaf(Array::scalar(Complex::new(0.4, -1.1)));
    let before = loss(&z);
    let gradients = before.backward().unwrap();
    let step = Array::from_slice(&[], gradients.get(&z).unwrap()).unwrap();
    let moved = &z - &(&Tensor::constant(step) * Complex::new(1e-3, 0.0));
    assert!(loss(&moved).item().unwrap() < before.item().unwrap());
}

#[test]
fn gradients_survive_a_round_trip_through_one_flat_vector() {
    let used = leaf(&[1.0, 2.0]);
    let unused = leaf(&[5.0]);
    let leaves = [used.clone(), unused.clone()];
    let mut gradients = (&used * &used).sum().backward().unwrap();
    let mut flat = Vec::new();
    gradients.flatten_into(&leaves, &mut flat);
    assert_eq!(flat, [2.0, 4.0, 0.0]);
    gradients.unflatten_from(&leaves, &[7.0, 8.0, 9.0]).unwrap();
    assert_eq!(gradients.get(&used), Some(&[7.0, 8.0][..]));
    assert_eq!(gradients.get(&unused), Some(&[9.0][..]));
    assert!(gradients.unflatten_from(&leaves, &[1.0]).is_err());
    let computed = [&used + &used];
    assert!(gradients.unflatten_from(&computed, &[1.0, 2.0]).is_err());
}

#[test]
fn computed_tensors_do_not_change_in_place_and_leaves_do() {
    let mut x = leaf(&[1.0]);
    let mut y = &x + &x;
    assert_eq!(
        y.make_mut().unwrap_err(),
        Error::NotALeaf { op: "make_mut" }
    );
    x.make_mut().unwrap()[0] = 10.0;
    // The graph recorded before keeps the value it saw; the leaf is the same leaf.
    assert_eq!(y.item(), Ok(2.0));
    assert_eq!(y.backward().unwrap().get(&x), Some(&[2.0][..]));
}
