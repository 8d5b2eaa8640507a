//! The arena that is usually written first: one list, searched from the back for the length.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use crate::lender::{Class, Element, Lender};

/// Arrays that the arena holds.
const HELD: usize = 256;

/// One sweep's list of arrays.
#[derive(Debug)]
pub struct LinearScan<T>(RefCell<Vec<Vec<T>>>);

impl<T> Default for LinearScan<T> {
    fn default() -> Self {
        Self(RefCell::new(Vec::with_capacity(HELD)))
    }
}

impl<T> LinearScan<T> {
    /// Moves every array into a shared list, under one lock, as the end of a sweep does.
    pub fn flush(&self, shared: &Mutex<Vec<Vec<T>>>) {
        let mut held = self.0.borrow_mut();
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.append(&mut held);
    }
}

impl<T: Element> Lender<T> for LinearScan<T> {
    type Buffer<'a> = Vec<T>;

    #[inline]
    fn take(&self, class: &Class) -> Vec<T> {
        let mut held = self.0.borrow_mut();
        match held.iter().rposition(|array| array.len() == class.len()) {
            // Removed in order, so that the array that came back last stays the first found.
            Some(at) => held.remove(at),
            None => T::zeros(class.len()),
        }
    }

    #[inline]
    fn give(&self, _class: &Class, buffer: Vec<T>) {
        let mut held = self.0.borrow_mut();
        if held.len() < HELD {
            held.push(buffer);
        }
    }
}
