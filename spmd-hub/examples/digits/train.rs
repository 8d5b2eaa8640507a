//! The training loop of one rank.
//!
//! All ranks do the same number of steps: as many full batches as a shard has. The order of a
//! shard's images changes with every epoch, so what is left over is another epoch's batch.

use std::time::Instant;

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use sha2::{Digest as _, Sha256};
use spmd_hub::{Communicator, Sum};
use tensor_grad::optim::Adam;
use tensor_grad::{Array, Tensor, no_grad};

use crate::Options;
use crate::data::{self, PIXELS, ROW};
use crate::events::{Done, Epoch};
use crate::failure::Failure;
use crate::model::Model;
use crate::pools;
use crate::report::Report;

/// Images of one step, over all ranks.
const BATCH: usize = 64;

/// Step size of Adam.
const LEARNING_RATE: f64 = 1e-3;

/// The tag of a shard that moves on.
const SHARD: u32 = 1;

/// Trains, and lets rank 0 report.
///
/// # Errors
///
/// When the images can not be read or another rank ends the world.
pub(crate) fn run(comm: &Communicator, options: &Options, report: Report) -> Result<(), Failure> {
    pools::set_enabled(!options.without_pools);
    let (rank, ranks) = (comm.rank(), comm.size());
    let data::Shard {
        mut train,
        test,
        rows,
    } = data::shard(&options.data, rank, ranks)?;
    let test = Images::new(&test, (0..test.len() / ROW).collect())?;
    let batch = (BATCH / ranks).clamp(1, rows);
    let steps = rows / batch;

    let mut model = Model::new(options.seed)?;
    let mut adam = Adam::new(LEARNING_RATE)?;
    let mut gradient = Vec::new();
    let mut warm = pools::snapshot();
    let mut accuracy = 0.0;
    comm.barrier()?;
    let start = Instant::now();
    for epoch in 0..options.epochs {
        let mut order: Vec<usize> = (0..train.len() / ROW).collect();
        order.shuffle(&mut generator(options.seed, epoch, rank));
        let mut loss_sum = 0.0;
        for images in order.chunks_exact(batch).take(steps) {
            let images = Images::new(&train, images.to_vec())?;
            loss_sum += step(comm, &mut model, &mut adam, &mut gradient, &images)?;
        }

        // Sums over the ranks: the loss, test images that are right, test images.
        let right = test.right(&model)?;
        let mut sums = [loss_sum, right as f64, test.digits.len() as f64];
        comm.allreduce_into(&mut sums, Sum)?;
        accuracy = sums[1] / sums[2];
        if rank == 0 {
            let loss = sums[0] / (steps * ranks) as f64;
            report.epoch(Epoch {
                number: epoch + 1,
                of: options.epochs,
                loss,
                accuracy,
            })?;
        }

        let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        train = comm.sendrecv(&train, next, SHARD, previous, SHARD)?;
        if epoch == 0 {
            // Nobody is in the second epoch yet when the first one's counts are read.
            comm.barrier()?;
            warm = pools::snapshot();
            comm.barrier()?;
        }
    }
    let seconds = start.elapsed().as_secs_f64();

    let weights = agreed_weights(comm, &model)?;
    if let Some(pools) = pools::gather(comm, &warm)? {
        let images = options.epochs * steps * batch * ranks;
        report.done(Done {
            ranks,
            accuracy,
            images,
            seconds,
            weights,
            pools,
        })?;
    }
    Ok(())
}

/// Goes forward, back, and one step down the gradient of all ranks' images; returns the mean loss
/// of this rank's.
fn step(
    comm: &Communicator,
    model: &mut Model,
    adam: &mut Adam<f32>,
    gradient: &mut Vec<f32>,
    images: &Images,
) -> Result<f64, Failure> {
    let loss = model
        .logits(&images.pixels)?
        .cross_entropy(&images.digits)?;
    let mut gradients = loss.backward()?;
    gradients.flatten_into(&model.parameters, gradient);
    comm.allreduce_into(gradient, Sum)?;
    let share = 1.0 / comm.size() as f32;
    for sum in gradient.iter_mut() {
        *sum *= share;
    }
    gradients.unflatten_from(&model.parameters, gradient)?;
    let loss = loss.item()?;
    adam.step(&mut model.parameters, &gradients)?;
    Ok(f64::from(loss))
}

/// Images as the network takes them.
struct Images {
    pixels: Tensor<f32>,
    digits: Vec<usize>,
}

impl Images {
    /// Copies the rows with these numbers together.
    fn new(rows: &[f32], numbers: Vec<usize>) -> tensor_grad::Result<Self> {
        let row = |number: usize| &rows[number * ROW..(number + 1) * ROW];
        let pixels = numbers
            .iter()
            .flat_map(|&number| &row(number)[..PIXELS])
            .copied()
            .collect();
        let pixels = Tensor::constant(Array::from_vec(&[numbers.len(), PIXELS], pixels)?);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the reader let only whole numbers from 0 to 9 through"
        )]
        let digits = numbers
            .into_iter()
            .map(|number| row(number)[PIXELS] as usize)
            .collect();
        Ok(Self { pixels, digits })
    }

    /// How many of them the model classifies right.
    fn right(&self, model: &Model) -> tensor_grad::Result<usize> {
        let _not_recorded = no_grad();
        let guesses = model.logits(&self.pixels)?.value().argmax(1)?;
        let pairs = guesses.iter().zip(&self.digits);
        Ok(pairs.filter(|(guess, digit)| guess == digit).count())
    }
}

/// A generator of its own for every seed, epoch and rank.
fn generator(seed: u64, epoch: usize, rank: usize) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(((epoch as u64 + 1) << 32) | rank as u64);
    generator
}

/// Checks that all ranks have the same weights, and returns their digest.
fn agreed_weights(comm: &Communicator, model: &Model) -> Result<String, Failure> {
    let mut digest = Sha256::new();
    for parameter in &model.parameters {
        for weight in parameter.to_vec() {
            digest.update(weight.to_bits().to_le_bytes());
        }
    }
    let bytes: [u8; 32] = digest.finalize().into();
    if let Some(all) = comm.gather(&bytes, 0)? {
        let differs = all
            .chunks_exact(bytes.len())
            .position(|other| other != bytes);
        if let Some(rank) = differs {
            return Err(Failure::Weights(rank));
        }
    }
    Ok(hex::encode(bytes))
}
