//! A ring on any backend: each rank passes a message on, then all sum a small model's gradients.
//!
//! `cargo run -p spmd-hub --example ring` is a world of one; with `SPMD_THREADS=4` it runs on
//! threads, and `spmdrun -n 4 target/debug/examples/ring` runs it on processes. The first argument
//! is the number of rounds (default 1000), the second the elements of a message (default 1).

use std::error::Error;
use std::io::Write as _;
use std::time::Instant;

use spmd_hub::{Communicator, Sum};

/// The gradients of a 64-64-10 perceptron, in elements.
const GRADIENTS: usize = 64 * 64 + 64 + 64 * 10 + 10;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|argument| argument.parse::<usize>());
    let rounds = arguments.next().transpose()?.unwrap_or(1000);
    let count = arguments.next().transpose()?.unwrap_or(1);
    spmd_hub::run(|comm| ring(comm, rounds, count))
}

fn ring(
    comm: &Communicator,
    rounds: usize,
    count: usize,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let (rank, size) = (comm.rank(), comm.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut elements = vec![0_u64; count];
    comm.barrier()?;
    let begun = Instant::now();
    for _ in 0..rounds {
        if rank == 0 {
            comm.send(&elements, right, 0)?;
            comm.recv_into(&mut elements, left, 0)?;
        } else {
            comm.recv_into(&mut elements, left, 0)?;
            for element in &mut elements {
                *element += 1;
            }
            comm.send(&elements, right, 0)?;
        }
    }
    let took = begun.elapsed();
    let visits = elements.first().copied().unwrap_or_default();
    let most = comm.allreduce(&[visits], spmd_hub::Max)?[0];
    let gradients = vec![1.0_f32; GRADIENTS];
    let mut sum = gradients.clone();
    let begun = Instant::now();
    for _ in 0..rounds {
        sum.copy_from_slice(&gradients);
        comm.allreduce_into(&mut sum, Sum)?;
    }
    let reduced = begun.elapsed().as_secs_f64() * 1e6 / rounds.max(1) as f64;
    if rounds > 0 && sum != vec![size as f32; GRADIENTS] {
        return Err("the sum of ones is not the number of ranks".into());
    }
    let mut out = std::io::stdout().lock();
    if rank == 0 {
        let hop = took.as_secs_f64() * 1e6 / (rounds.max(1) * size) as f64;
        let backend = comm.backend();
        writeln!(
            out,
            "{size} ranks over {backend}: {most} visits, {hop:.1} us per hop"
        )?;
        writeln!(out, "allreduce of {GRADIENTS} f32: {reduced:.1} us")?;
        if let Some(stats) = comm.hub_stats() {
            write!(out, "{stats}")?;
        }
    }
    Ok(())
}
