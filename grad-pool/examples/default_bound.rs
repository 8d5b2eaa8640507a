//! What the shared tier holds, and how often it serves, under several bounds in bytes.
//!
//! ```text
//! cargo run --release -p grad-pool --example default_bound
//! ```
//!
//! Each trace is the backward sweep of a network: the sizes in which an engine borrows gradients
//! of activations, two of which live at a time, and of weights, which leave the sweep and come home
//! when the optimiser is done with them. Nothing is computed and no array is touched, so the large
//! traces need address space and hardly any memory.
//!
//! Printed for each trace and bound, from the third sweep on: the share of borrows that found an
//! array, the MiB in a sweep that did not and were allocated anew, and the MiB that the pool holds
//! between two sweeps.
#![expect(clippy::print_stdout, reason = "an example reports to its user")]

use grad_pool::{Arena, Bounded, GradPool, Leaf, WhenFull};

/// What one layer's backward borrows, in elements: the gradient of its input, and of its weights.
#[derive(Clone, Copy)]
struct Layer {
    activation: usize,
    weights: usize,
}

/// Fully connected layers of these widths, each followed by a pointwise one.
fn dense(batch: usize, widths: &[usize]) -> Vec<Layer> {
    let layer = |pair: &[usize]| {
        let activation = batch * pair[1];
        [
            Layer {
                activation,
                weights: 0,
            },
            Layer {
                activation,
                weights: pair[0] * pair[1],
            },
            Layer {
                activation,
                weights: pair[1],
            },
        ]
    };
    widths.windows(2).flat_map(layer).collect()
}

/// Stages of 3 × 3 convolutions: channels, side of the image, how many. Each is followed by a
/// normalisation and a pointwise layer.
fn convolutions(batch: usize, stages: &[(usize, usize, usize)]) -> Vec<Layer> {
    let stage = |&(channels, side, layers): &(usize, usize, usize)| {
        let activation = batch * channels * side * side;
        let weights = [channels * channels * 9, channels, 0];
        let one = weights.map(|weights| Layer {
            activation,
            weights,
        });
        std::iter::repeat_n(one, layers).flatten()
    };
    stages.iter().flat_map(stage).collect()
}

/// Blocks of attention and a fourfold wider dense part, between an embedding and its transpose.
fn transformer(
    batch: usize,
    positions: usize,
    width: usize,
    blocks: usize,
    words: usize,
) -> Vec<Layer> {
    let row = batch * positions * width;
    let scores = batch * (width / 64).max(1) * positions * positions;
    let block = [
        Layer {
            activation: row,
            weights: width,
        },
        Layer {
            activation: 3 * row,
            weights: 3 * width * width,
        },
        Layer {
            activation: scores,
            weights: 0,
        },
        Layer {
            activation: row,
            weights: width * width,
        },
        Layer {
            activation: 4 * row,
            weights: 4 * width * width,
        },
        Layer {
            activation: 4 * row,
            weights: 0,
        },
        Layer {
            activation: row,
            weights: 4 * width * width,
        },
    ];
    let ends = Layer {
        activation: row,
        weights: words * width,
    };
    let mut layers = vec![ends];
    layers.extend(std::iter::repeat_n(block, blocks).flatten());
    layers.push(Layer {
        activation: batch * positions * words,
        ..ends
    });
    layers
}

/// What one sweep borrowed, and what of that was allocated anew.
#[derive(Default)]
struct Borrowed {
    arrays: usize,
    missed: usize,
    missed_bytes: usize,
}

impl Borrowed {
    fn take<'a>(
        &mut self,
        pool: &GradPool,
        arena: &'a Arena,
        len: usize,
    ) -> grad_pool::Grad<'a, f32> {
        let before = pool.stats();
        let array = arena.unspecified::<f32>(len);
        let found = pool.stats().since(&before).hits;
        self.arrays += 1;
        self.missed += usize::from(found == 0);
        self.missed_bytes += if found == 0 { 4 * len } else { 0 };
        array
    }
}

fn sweep(pool: &GradPool, layers: &[Layer]) -> Borrowed {
    let mut borrowed = Borrowed::default();
    let arena = pool.arena();
    let mut leaves: Vec<Leaf<f32>> = Vec::new();
    let mut upstream = None;
    for layer in layers.iter().rev() {
        let gradient = borrowed.take(pool, &arena, layer.activation);
        if layer.weights > 0 {
            leaves.push(borrowed.take(pool, &arena, layer.weights).into_leaf());
        }
        upstream = Some(gradient);
    }
    drop(upstream);
    drop(arena);
    borrowed
}

fn within(mib: usize) -> GradPool {
    GradPool::new(Bounded {
        buffer_bytes: mib << 20,
        pool_bytes: mib << 20,
        when_full: WhenFull::Evict,
        ..Bounded::UNLIMITED
    })
}

fn main() {
    let traces = [
        (
            "MLP 784-512-256-10, batch 128",
            dense(128, &[784, 512, 256, 10]),
        ),
        ("MLP of 8 × 2048, batch 256", dense(256, &[2048; 9])),
        (
            "18 convolutions, batch 16",
            convolutions(16, &[(64, 56, 5), (128, 28, 4), (256, 14, 4), (512, 7, 5)]),
        ),
        (
            "18 convolutions, batch 64",
            convolutions(64, &[(64, 56, 5), (128, 28, 4), (256, 14, 4), (512, 7, 5)]),
        ),
        (
            "6 blocks of width 256, batch 8",
            transformer(8, 256, 256, 6, 4096),
        ),
        (
            "12 blocks of width 768, batch 4",
            transformer(4, 512, 768, 12, 50_257),
        ),
    ];
    println!(
        "{:<34} {:>12} {:>8} {:>12} {:>10}",
        "trace", "bound", "hits", "anew in MiB", "held MiB"
    );
    for (name, layers) in traces {
        let bounds =
            [16, 64, 128, 256, 512, 1024, 2048].map(|mib| (format!("{mib} MiB"), within(mib)));
        let pools = [
            ("conservative".to_owned(), GradPool::conservative()),
            ("default".to_owned(), GradPool::default()),
        ];
        for (bound, pool) in pools.into_iter().chain(bounds) {
            sweep(&pool, &layers);
            sweep(&pool, &layers);
            let third = sweep(&pool, &layers);
            println!(
                "{name:<34} {bound:>12} {:>6.1} % {:>12.1} {:>10.1}",
                100.0 * (1.0 - third.missed as f64 / third.arrays as f64),
                third.missed_bytes as f64 / f64::from(1 << 20),
                pool.stats().held_bytes as f64 / f64::from(1 << 20)
            );
        }
        println!();
    }
}
