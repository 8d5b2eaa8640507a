//! The guard that left its sweep: a leaf's gradient, in the caller's hands.
//!
//! - Its array goes home to the shared pool, from whatever thread, when the leaf drops; the return
//!   is counted there, as the borrow was counted in its sweep.
//! - A leaf keeps its pool alive, not its arena.

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};

use pool_core::{Bounded, Retention};

use crate::GradPool;
use crate::array::erased;
use crate::class::ArrayClass;
use crate::element::Element;

/// An array that left its sweep and comes home to the shared pool when dropped.
///
/// # Examples
///
/// ```
/// let pool = grad_pool::GradPool::default();
/// let leaf = {
///     let arena = pool.arena();
///     arena.copy_of(&[1.0_f64, 2.0]).into_leaf()
/// }; // the sweep is over
/// std::thread::spawn(move || assert_eq!(*leaf, [1.0, 2.0])).join().unwrap();
/// assert_eq!(pool.stats().held_buffers, 1);
/// ```
///
/// A leaf has one owner:
///
/// ```compile_fail,E0382
/// let leaf = grad_pool::global().arena().zeroed::<f32>(3).into_leaf();
/// drop(leaf);
/// drop(leaf); // error: it went home already
/// ```
pub struct Leaf<T: Element, P: Retention = Bounded> {
    data: Box<[T]>,
    /// Where it goes, unless it did not ride a pool.
    home: Option<GradPool<P>>,
}

impl<T: Element, P: Retention> Leaf<T, P> {
    pub(crate) fn new(data: Box<[T]>, home: Option<GradPool<P>>) -> Self {
        Self { data, home }
    }

    /// Takes the array out of the pool's care for good, at no copy.
    #[must_use = "dropping the array frees it, where dropping the leaf would recycle it"]
    pub fn detach(mut self) -> Vec<T> {
        if let Some(pool) = self.home.take() {
            pool.let_go();
        }
        mem::take(&mut self.data).into_vec()
    }
}

impl<T: Element, P: Retention> Drop for Leaf<T, P> {
    fn drop(&mut self) {
        if let Some(pool) = self.home.take() {
            // What rode a pool has a class.
            if let Some(class) = ArrayClass::of::<T>(self.data.len()) {
                pool.take_back(class, erased(mem::take(&mut self.data)));
            }
        }
    }
}

impl<T: Element, P: Retention> Deref for Leaf<T, P> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.data
    }
}

impl<T: Element, P: Retention> DerefMut for Leaf<T, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data
    }
}

impl<T: Element, P: Retention> fmt::Debug for Leaf<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Leaf").field(&self.data).finish()
    }
}
