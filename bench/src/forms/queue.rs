//! A lock-free queue used as a pool: one for each class, which the borrower has to know.

use crossbeam_queue::ArrayQueue;

use super::CLASSES;
use crate::lender::{Class, Element, Lender};

/// Buffers that one queue holds.
const HELD: usize = 128;

/// A crossbeam `ArrayQueue` for each class. A full one frees what comes back.
#[derive(Debug)]
pub struct Queues<T>(Vec<ArrayQueue<Vec<T>>>);

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Self((0..CLASSES).map(|_| ArrayQueue::new(HELD)).collect())
    }
}

impl<T: Element> Lender<T> for Queues<T> {
    type Buffer<'a> = Vec<T>;

    #[inline]
    fn take(&self, class: &Class) -> Vec<T> {
        self.0[class.at]
            .pop()
            .unwrap_or_else(|| T::zeros(class.len()))
    }

    #[inline]
    fn give(&self, class: &Class, buffer: Vec<T>) {
        // Err gives the buffer back, which frees it.
        let _ = self.0[class.at].push(buffer);
    }
}
