//! A pool as the loops over it see one, and those loops.
//!
//! Every pool, every baseline and every peer implements [`Lender`], so each runs the same loop,
//! compiled for it. A borrower stamps the first element and reads it back: that is the least any
//! borrower does, and it gives the digest.

use std::hint::black_box;
use std::ops::DerefMut;
use std::thread;
use std::time::Instant;

use crate::cores;
use crate::side::{Lap, WARM_ROUNDS};

/// Frames under way between two threads.
const UNDER_WAY: usize = 64;

/// What buffers are made of here.
pub trait Element: Copy + Default + Send + Sync + 'static {
    /// A value that tells rounds apart.
    fn stamp(round: u64) -> Self;
    /// The value as a number.
    fn read(self) -> u64;
    /// So many zeros, which the allocator makes.
    fn zeros(len: usize) -> Vec<Self>;
}

impl Element for f64 {
    fn stamp(round: u64) -> Self {
        f64::from_bits(round)
    }

    fn read(self) -> u64 {
        self.to_bits()
    }

    fn zeros(len: usize) -> Vec<Self> {
        vec![0.0; len]
    }
}

impl Element for u8 {
    fn stamp(round: u64) -> Self {
        round.to_le_bytes()[0]
    }

    fn read(self) -> u64 {
        self.into()
    }

    fn zeros(len: usize) -> Vec<Self> {
        vec![0; len]
    }
}

/// What a borrower asks for.
#[derive(Debug, Clone, Copy)]
pub struct Class {
    /// The number of the class, for pools that have a fixed place for each.
    pub at: usize,
    /// The shape, for pools that are asked by one.
    pub shape: [usize; 2],
}

impl Class {
    /// The class of that number, for buffers of `len` elements.
    #[must_use]
    pub fn of(at: usize, len: usize) -> Self {
        Self {
            at,
            shape: [len, 1],
        }
    }

    /// Elements of a buffer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape[0] * self.shape[1]
    }

    /// Whether a buffer has no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A pool of buffers of `T`.
pub trait Lender<T: Element> {
    /// A buffer in a borrower's hands; it has exactly as many elements as its class.
    type Buffer<'a>: DerefMut<Target = [T]>
    where
        Self: 'a;

    /// Lends a buffer with any contents.
    fn take(&self, class: &Class) -> Self::Buffer<'_>;

    /// Takes it back. Where dropping it is the return, this is the whole of it.
    ///
    /// Inlined, as the end of a borrower's scope is: a guard that is handed to a function goes
    /// through memory in pieces, which costs 10 ns where it is read back at once.
    #[inline]
    fn give(&self, class: &Class, buffer: Self::Buffer<'_>) {
        let _ = class;
        drop(buffer);
    }
}

/// Takes and returns, `rounds` times, a buffer of each class in turn.
pub fn pairs<T: Element, L: Lender<T>>(lender: &L, classes: &[Class], rounds: u64) -> u64 {
    let mut digest = 0_u64;
    let mut next = classes.iter().cycle();
    for round in 0..rounds {
        let Some(class) = next.next() else {
            return 0;
        };
        let class = black_box(class);
        let mut buffer = lender.take(class);
        buffer[0] = T::stamp(round);
        black_box(&mut *buffer);
        digest = digest.wrapping_add(buffer[0].read() + buffer.len() as u64);
        lender.give(class, buffer);
    }
    digest
}

/// Takes `rounds` buffers and sends them to a second thread, which returns them. The time is that
/// of both threads, the channel's own cost included.
pub fn across<'l, T: Element, L>(lender: &'l L, class: Class, rounds: u64) -> Lap
where
    L: Lender<T, Buffer<'l>: Send> + Sync,
{
    let (outbox, inbox) = crossbeam_channel::bounded::<L::Buffer<'l>>(UNDER_WAY);
    thread::scope(|scope| {
        let far = scope.spawn(move || {
            cores::pin(1);
            let mut digest = 0_u64;
            for buffer in inbox {
                digest = digest.wrapping_add(buffer[0].read() + buffer.len() as u64);
                lender.give(&class, buffer);
            }
            digest
        });
        let mut start = Instant::now();
        for round in 0..WARM_ROUNDS + rounds {
            if round == WARM_ROUNDS {
                start = Instant::now();
            }
            let mut buffer = lender.take(&class);
            buffer[0] = T::stamp(round);
            if outbox.send(buffer).is_err() {
                break;
            }
        }
        drop(outbox);
        let digest = far.join().unwrap_or_default();
        Lap {
            time: start.elapsed(),
            digest,
        }
    })
}
