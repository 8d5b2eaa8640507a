//! A thread-local pool keyed by a string that is built from the shape, as the thread-local manager
//! of the `tenrso-exec` crate is made: a `RefCell` around a `HashMap`, asked twice in a round.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::lender::{Class, Lender};

/// Buffers kept for one key.
const HELD: usize = 8;

/// One thread's buffers, by the text of their shape, and its counts.
#[derive(Debug, Default)]
struct Manager {
    free: HashMap<String, Vec<Vec<f64>>>,
    hits: usize,
    misses: usize,
    returns: usize,
}

thread_local! {
    static MANAGER: RefCell<Manager> = RefCell::default();
}

/// The calling thread's manager. It is emptied when a value of this type is made or dropped.
#[derive(Debug)]
pub struct StringKeyed(());

impl StringKeyed {
    fn clear() {
        // Err means that the thread is ending, which frees the buffers.
        let _ = MANAGER.try_with(RefCell::take);
    }
}

impl Default for StringKeyed {
    fn default() -> Self {
        Self::clear();
        Self(())
    }
}

impl Drop for StringKeyed {
    fn drop(&mut self) {
        Self::clear();
    }
}

impl Manager {
    fn key(shape: &[usize]) -> String {
        let sides: Vec<String> = shape.iter().map(ToString::to_string).collect();
        sides.join("x")
    }

    fn take(&mut self, shape: &[usize]) -> Vec<f64> {
        let warm = self.free.get_mut(&Self::key(shape)).and_then(Vec::pop);
        if let Some(buffer) = warm {
            self.hits += 1;
            return buffer;
        }
        self.misses += 1;
        vec![0.0; shape.iter().product()]
    }

    fn give(&mut self, shape: &[usize], buffer: Vec<f64>) {
        self.returns += 1;
        let stack = self.free.entry(Self::key(shape)).or_default();
        if stack.len() < HELD {
            stack.push(buffer);
        }
    }
}

impl Lender<f64> for StringKeyed {
    type Buffer<'a> = Vec<f64>;

    #[inline]
    fn take(&self, class: &Class) -> Vec<f64> {
        MANAGER
            .try_with(|manager| manager.borrow_mut().take(&class.shape))
            .unwrap_or_default()
    }

    #[inline]
    fn give(&self, class: &Class, buffer: Vec<f64>) {
        // Err means that the thread is ending: the buffer is freed with the closure.
        let _ = MANAGER.try_with(|manager| manager.borrow_mut().give(&class.shape, buffer));
    }
}
