//! Whether operations are recorded: per thread, for the length of a scope.

use core::cell::Cell;
use core::marker::PhantomData;

thread_local! {
    static PAUSED: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread records.
///
/// A thread that is ending does not.
pub(crate) fn recording() -> bool {
    PAUSED.try_with(|paused| paused.get() == 0).unwrap_or(false)
}

/// Stops recording on this thread until the guard drops, even by a panic. Guards nest.
///
/// # Examples
///
/// ```
/// use tensor_grad::{Array, Tensor, no_grad};
///
/// let x = Tensor::leaf(Array::scalar(2.0_f64));
/// {
///     let _paused = no_grad();
///     assert!(!(&x * &x).needs_gradient());
/// }
/// assert!((&x * &x).needs_gradient());
/// ```
pub fn no_grad() -> NoGrad {
    let _ = PAUSED.try_with(|paused| paused.set(paused.get() + 1));
    NoGrad {
        this_thread: PhantomData,
    }
}

/// Recording is off on this thread while this lives; see [`no_grad`].
///
/// It cannot leave its thread:
///
/// ```compile_fail,E0277
/// let guard = tensor_grad::no_grad();
/// std::thread::spawn(move || drop(guard));
/// ```
#[derive(Debug)]
#[must_use = "recording is off only while the guard lives"]
pub struct NoGrad {
    this_thread: PhantomData<*const ()>,
}

impl Drop for NoGrad {
    fn drop(&mut self) {
        let _ = PAUSED.try_with(|paused| paused.set(paused.get() - 1));
    }
}
