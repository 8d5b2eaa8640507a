//! The three pools of this process: their switch, and their statistics summed over the ranks.

use frame_pool::FramePool;
use pool_core::Stats;
use spmd_hub::{Backend, Communicator};

use crate::events::Pool;
use crate::failure::Failure;

/// The pools' names, in the order of [`Snapshot`].
const NAMES: [&str; 3] = ["tls-pool", "grad-pool", "frame-pool"];

/// What each pool counted so far in this process.
pub(crate) type Snapshot = [Stats; 3];

/// Turns all three on or off.
pub(crate) fn set_enabled(on: bool) {
    tensor_grad::pools::set_enabled(on);
    FramePool::global().set_enabled(on);
}

/// Reads all three.
pub(crate) fn snapshot() -> Snapshot {
    [
        tensor_grad::pools::forward_stats(),
        tensor_grad::pools::sweep_stats(),
        FramePool::global().stats(),
    ]
}

/// Sums what each process counted, since the start and since `warm`; rank 0 gets the sums.
///
/// # Errors
///
/// When another rank is gone.
pub(crate) fn gather(comm: &Communicator, warm: &Snapshot) -> Result<Option<Vec<Pool>>, Failure> {
    // Ranks that are threads share one process, whose pools rank 0 speaks for.
    let speaks = comm.rank() == 0 || comm.backend() != Backend::Threads;
    let mine: Vec<(Stats, Stats)> = if speaks {
        let now = snapshot();
        now.iter()
            .zip(warm)
            .map(|(now, warm)| (*now, now.since(warm)))
            .collect()
    } else {
        vec![<(Stats, Stats)>::default(); NAMES.len()]
    };
    let Some(ranks) = comm.gather_varying(&serde_json::to_vec(&mine)?, 0)? else {
        return Ok(None);
    };
    let mut pools: Vec<Pool> = NAMES
        .iter()
        .map(|name| Pool {
            name: (*name).into(),
            total: Stats::default(),
            steady: Stats::default(),
        })
        .collect();
    for rank in ranks {
        let theirs: Vec<(Stats, Stats)> = serde_json::from_slice(&rank)?;
        for (pool, (total, steady)) in pools.iter_mut().zip(theirs) {
            pool.total += total;
            pool.steady += steady;
        }
    }
    Ok(Some(pools))
}
