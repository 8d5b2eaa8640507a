//! The arena that is usually written first: one list, searched from the back for the length.

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

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

/// What sweeps leave to the next ones.
pub type Shared<T> = Arc<Mutex<Vec<Vec<T>>>>;

/// An arena that moves every array into a shared list when it is dropped, under one lock.
#[derive(Debug)]
pub struct Flushing<T> {
    arena: LinearScan<T>,
    shared: Shared<T>,
}

impl<T> LinearScan<T> {
    /// An arena with what an earlier one left, which will leave it to the next.
    #[must_use]
    pub fn over(shared: Shared<T>) -> Flushing<T> {
        let arena = Self::default();
        arena
            .0
            .borrow_mut()
            .append(&mut shared.lock().unwrap_or_else(PoisonError::into_inner));
        Flushing { arena, shared }
    }
}

impl<T> Deref for Flushing<T> {
    type Target = LinearScan<T>;

    fn deref(&self) -> &LinearScan<T> {
        &self.arena
    }
}

impl<T> Drop for Flushing<T> {
    fn drop(&mut self) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.append(self.arena.0.get_mut());
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
