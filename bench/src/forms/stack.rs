//! The floor: a bare stack of vectors for each class, in a thread-local slot, by fixed index.
//!
//! No key, no guard, no policy, no count; a borrower that returns a buffer to another stack than
//! its own would go unnoticed.

use std::cell::RefCell;

use super::CLASSES;
use crate::lender::{Class, Element, Lender};

type Shelves<T> = RefCell<[Vec<Vec<T>>; CLASSES]>;

/// The calling thread's bare stacks. They are emptied when a value of this type is made or dropped.
#[derive(Debug)]
pub struct Stacks(());

/// Elements that have thread-local stacks.
pub trait Stacked: Element {
    /// Calls `work` with the calling thread's stacks, unless the thread is ending.
    fn with<R>(work: impl FnOnce(&Shelves<Self>) -> R) -> Option<R>;
}

macro_rules! stacked {
    ($element:ty) => {
        impl Stacked for $element {
            #[inline]
            fn with<R>(work: impl FnOnce(&Shelves<Self>) -> R) -> Option<R> {
                thread_local! {
                    static STACKS: Shelves<$element> =
                        const { RefCell::new([const { Vec::new() }; CLASSES]) };
                }
                STACKS.try_with(work).ok()
            }
        }
    };
}

stacked!(f64);
stacked!(u8);

impl Stacks {
    /// Empties the calling thread's stacks.
    fn clear() {
        // None means that the thread is ending, which frees them.
        let _ = f64::with(|stacks| stacks.borrow_mut().fill_with(Vec::new));
        let _ = u8::with(|stacks| stacks.borrow_mut().fill_with(Vec::new));
    }
}

impl Default for Stacks {
    fn default() -> Self {
        Self::clear();
        Self(())
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        Self::clear();
    }
}

impl<T: Stacked> Lender<T> for Stacks {
    type Buffer<'a> = Vec<T>;

    #[inline]
    fn take(&self, class: &Class) -> Vec<T> {
        T::with(|stacks| stacks.borrow_mut()[class.at].pop())
            .flatten()
            .unwrap_or_else(|| T::zeros(class.len()))
    }

    #[inline]
    fn give(&self, class: &Class, buffer: Vec<T>) {
        // None means that the thread is ending: the buffer is freed with the closure.
        let _ = T::with(|stacks| stacks.borrow_mut()[class.at].push(buffer));
    }
}
