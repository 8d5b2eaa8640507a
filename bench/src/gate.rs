//! Hot paths whose instructions are counted: a program that runs one of them so many rounds.
//!
//! `cargo xtask bench --gate` runs it under callgrind, twice with different numbers of rounds; the
//! difference, by the rounds between, is what one round takes, whatever the start of the program
//! took. Buffers are small, so that a count is the pool's work and not the fill's.

use std::hint::black_box;
use std::io::{Write as _, stdout};
use std::process::ExitCode;

use frame_pool::FramePool;
use grad_pool::GradPool;
use tls_pool::TlsPool;

use crate::lender::{Class, pairs};

/// A path: its name, and what does so many rounds of it.
type Path = (&'static str, fn(u64));

/// Elements or bytes of a buffer.
const LEN: usize = 1 << 10;

const PATHS: &[Path] = &[
    ("tls/unspecified", |rounds| {
        pairs(&TlsPool::default(), &classes(1), rounds);
    }),
    ("tls/16-shapes", |rounds| {
        pairs(&TlsPool::default(), &classes(16), rounds);
    }),
    ("tls/zeroed", |rounds| {
        let pool = TlsPool::default();
        for _ in 0..rounds {
            drop(black_box(pool.zeroed::<f64>(&[64])));
        }
    }),
    ("tls/into-owned", |rounds| {
        let pool = TlsPool::default();
        for _ in 0..rounds {
            drop(black_box(
                pool.unspecified::<f64>(&[LEN])
                    .map(tls_pool::Scratch::into_owned),
            ));
        }
    }),
    ("tls/miss", |rounds| {
        let pool = TlsPool::default();
        for _ in 0..rounds {
            drop(black_box(
                pool.unspecified::<f64>(&[64])
                    .map(tls_pool::Scratch::detach),
            ));
        }
    }),
    ("grad/unspecified", |rounds| {
        pairs(&GradPool::default().arena(), &classes(1), rounds);
    }),
    ("grad/32-lengths", |rounds| {
        pairs(&GradPool::default().arena(), &classes(32), rounds);
    }),
    ("grad/copy", |rounds| {
        let (pool, source) = (GradPool::default(), [1.5; 64]);
        let arena = pool.arena();
        for _ in 0..rounds {
            drop(black_box(arena.copy_of::<f64>(black_box(&source))));
        }
    }),
    ("grad/sweep-of-16", |rounds| {
        let pool = GradPool::default();
        for _ in 0..rounds {
            let arena = pool.arena();
            let all: Vec<_> = (1..=16)
                .map(|len| arena.unspecified::<f64>(8 * len))
                .collect();
            drop(black_box(all));
        }
    }),
    ("frame/take", |rounds| {
        pairs(&FramePool::default(), &classes(1), rounds);
    }),
    ("frame/32-lengths", |rounds| {
        pairs(&FramePool::default(), &classes(32), rounds);
    }),
    ("frame/copy", |rounds| {
        let (pool, source) = (FramePool::default(), [1; LEN]);
        for _ in 0..rounds {
            drop(black_box(pool.copy_of(black_box(&source))));
        }
    }),
    ("frame/small", |rounds| {
        let pool = FramePool::default();
        for _ in 0..rounds {
            drop(black_box(pool.take(black_box(64))));
        }
    }),
];

fn classes(count: usize) -> Vec<Class> {
    (0..count).map(|at| Class::of(at, LEN + 8 * at)).collect()
}

/// Runs the path that the command line names so many rounds, or lists the paths.
#[must_use]
pub fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    if let [name, rounds] = words.as_slice()
        && let Some((_, run)) = PATHS.iter().find(|(path, _)| path == name)
        && let Ok(rounds) = rounds.parse()
    {
        run(rounds);
        return ExitCode::SUCCESS;
    }
    let names: Vec<_> = PATHS.iter().map(|(name, _)| *name).collect();
    // A reader that is gone needs no list.
    let _ = writeln!(stdout(), "{}", names.join("\n"));
    ExitCode::SUCCESS
}
