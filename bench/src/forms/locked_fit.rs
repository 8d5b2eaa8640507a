//! The frame pool that is usually written first: one lock, one list, the best fit by a search.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use crate::lender::{Class, Element, Lender};

/// Buffers that the list holds, and the most that a buffer may waste.
const HELD: usize = 32;
const WASTE: usize = 4;

/// A locked list of buffers.
#[derive(Debug)]
pub struct LockedFit<T>(Mutex<Vec<Vec<T>>>);

/// A buffer of which only the length asked for is shown.
pub struct Cut<T> {
    data: Vec<T>,
    len: usize,
}

impl<T> Default for LockedFit<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::with_capacity(HELD)))
    }
}

impl<T: Element> Lender<T> for LockedFit<T> {
    type Buffer<'a> = Cut<T>;

    #[inline]
    fn take(&self, class: &Class) -> Cut<T> {
        let len = class.len();
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let best = (0..held.len())
            .filter(|&at| (len..=WASTE * len).contains(&held[at].len()))
            .min_by_key(|&at| held[at].len());
        let found = best.map(|at| held.swap_remove(at));
        drop(held);
        Cut {
            data: found.unwrap_or_else(|| T::zeros(len)),
            len,
        }
    }

    #[inline]
    fn give(&self, _class: &Class, buffer: Cut<T>) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() < HELD {
            held.push(buffer.data);
        }
    }
}

impl<T> Deref for Cut<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.data[..self.len]
    }
}

impl<T> DerefMut for Cut<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data[..self.len]
    }
}

impl<T> fmt::Debug for Cut<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cut")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
