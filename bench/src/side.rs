//! One side of a comparison: how it is set up, and how a lap of it is run.

use std::fmt;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::cores;

/// Rounds that each thread of a lap does before the clock starts.
pub(crate) const WARM_ROUNDS: u64 = 64;

/// One lap: what it took, and what its work came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lap {
    /// From the first round to the last.
    pub time: Duration,
    /// Equal for all sides of a case that do the same number of rounds.
    pub digest: u64,
}

/// Runs a lap of so many rounds.
pub type Run = Box<dyn FnMut(u64) -> Result<Lap>>;

/// One side, not set up yet.
pub struct Side {
    /// Its name in the table.
    pub name: String,
    kind: Kind,
}

enum Kind {
    Here(Box<dyn Fn() -> Run>),
    /// In the process of that name; the name of the side there is the same.
    Peer(&'static str),
}

impl Side {
    /// A side in this process; `set_up` is called when its turn comes.
    pub fn new(name: impl Into<String>, set_up: impl Fn() -> Run + 'static) -> Self {
        Self {
            name: name.into(),
            kind: Kind::Here(Box::new(set_up)),
        }
    }

    /// A side that another process serves under the same name.
    pub fn peer(process: &'static str, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: Kind::Peer(process),
        }
    }

    /// The process that serves it, unless it is this one.
    #[must_use]
    pub fn process(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Here(_) => None,
            Kind::Peer(process) => Some(process),
        }
    }

    /// Sets it up, if it is one of this process.
    #[must_use]
    pub fn set_up(&self) -> Option<Run> {
        match &self.kind {
            Kind::Here(set_up) => Some(set_up()),
            Kind::Peer(_) => None,
        }
    }
}

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Side")
            .field("name", &self.name)
            .field("process", &self.process())
            .finish_non_exhaustive()
    }
}

/// A side that times `work`, which does so many rounds and returns their digest.
pub fn timed(mut work: impl FnMut(u64) -> u64 + 'static) -> Run {
    Box::new(move |rounds| {
        let start = Instant::now();
        let digest = work(rounds);
        Ok(Lap {
            time: start.elapsed(),
            digest,
        })
    })
}

/// A side that does its rounds on each of so many threads at once; the slowest one counts.
///
/// One thread means the measuring one. More are new in each lap, pinned and warmed up before the
/// clock starts.
pub fn on_threads(threads: usize, work: impl Fn(u64) -> u64 + Sync + 'static) -> Run {
    if threads == 1 {
        return timed(work);
    }
    Box::new(move |rounds| {
        let gate = Barrier::new(threads);
        let run = |thread| {
            cores::pin(thread);
            work(WARM_ROUNDS);
            gate.wait();
            let start = Instant::now();
            let digest = work(rounds);
            let time = start.elapsed();
            // What a thread holds is freed when it ends, which would slow the others.
            gate.wait();
            Lap { time, digest }
        };
        thread::scope(|scope| {
            let run = &run;
            let laps: Vec<_> = (0..threads)
                .map(|thread| scope.spawn(move || run(thread)))
                .collect();
            laps.into_iter().try_fold(Lap::EMPTY, |sum, lap| {
                let lap = lap
                    .join()
                    .map_err(|_| anyhow!("a measuring thread panicked"))?;
                Ok(sum.beside(lap))
            })
        })
    })
}

impl Lap {
    /// No round at all.
    pub const EMPTY: Self = Self {
        time: Duration::ZERO,
        digest: 0,
    };

    /// Two laps that ran at the same time.
    #[must_use]
    pub fn beside(self, other: Self) -> Self {
        Self {
            time: self.time.max(other.time),
            digest: self.digest.wrapping_add(other.digest),
        }
    }
}
