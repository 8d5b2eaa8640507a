//! The guard within a sweep: a borrowed array, and the ways back and out.
//!
//! - An array has one owner: [`Grad`] is neither `Clone` nor `Copy`, and shows a slice only.
//! - It comes back once: dropping is the return; [`Grad::detach`] and [`Grad::into_leaf`] take the
//!   array first.

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};

use pool_core::{Bounded, Retention};

use crate::element::{Element, Factor};
use crate::kernels::{self, LengthError};
use crate::{Arena, Leaf};

/// An array borrowed from an [`Arena`]. Dropping it returns it there.
///
/// # Examples
///
/// Use after return does not compile, and neither does a second return:
///
/// ```compile_fail,E0382
/// let arena = grad_pool::global().arena();
/// let gradient = arena.zeroed::<f32>(3);
/// drop(gradient);
/// let _first = gradient[0]; // error: `gradient` was moved into the arena
/// ```
///
/// ```compile_fail,E0382
/// let arena = grad_pool::global().arena();
/// let gradient = arena.zeroed::<f32>(3);
/// drop(gradient);
/// drop(gradient); // error: it was returned already
/// ```
///
/// Nor does a gradient that outlives its sweep:
///
/// ```compile_fail,E0505
/// let arena = grad_pool::global().arena();
/// let gradient = arena.zeroed::<f32>(3);
/// drop(arena); // error: `gradient` is borrowed from it
/// println!("{gradient:?}");
/// ```
///
/// Nor one that is sent to another thread; a [`Leaf`] can be:
///
/// ```compile_fail,E0277
/// let arena = grad_pool::global().arena();
/// let gradient = arena.zeroed::<f32>(3);
/// std::thread::scope(|scope| {
///     scope.spawn(move || gradient[0]); // error: its arena serves one thread
/// });
/// ```
///
/// Nor a second owner:
///
/// ```compile_fail,E0599
/// let arena = grad_pool::global().arena();
/// let gradient = arena.zeroed::<f32>(3);
/// let _second: grad_pool::Grad<'_, f32> = gradient.clone(); // error: no such method
/// ```
pub struct Grad<'a, T: Element, P: Retention = Bounded> {
    data: Box<[T]>,
    /// Where it goes back to, unless it did not ride the pool.
    home: Option<&'a Arena<P>>,
}

impl<'a, T: Element, P: Retention> Grad<'a, T, P> {
    #[inline]
    pub(crate) fn new(data: Box<[T]>, home: Option<&'a Arena<P>>) -> Self {
        Self { data, home }
    }

    /// Adds a contribution, element by element.
    ///
    /// # Errors
    ///
    /// [`LengthError`] if it has another number of elements; nothing is added then.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = grad_pool::global().arena();
    /// let mut gradient = arena.copy_of(&[1.0_f32, 2.0]);
    /// gradient.accumulate(&[10.0, 20.0])?;
    /// assert_eq!(*gradient, [11.0, 22.0]);
    /// assert!(gradient.accumulate(&[1.0]).is_err());
    /// # Ok::<(), grad_pool::LengthError>(())
    /// ```
    #[inline]
    pub fn accumulate(&mut self, contribution: &[T]) -> Result<(), LengthError> {
        kernels::add(&mut self.data, contribution)
    }

    /// Adds `alpha` times a contribution, element by element.
    ///
    /// # Errors
    ///
    /// As for [`accumulate`](Self::accumulate).
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = grad_pool::global().arena();
    /// let mut gradient = arena.copy_of(&[1.0_f32, 2.0]);
    /// gradient.accumulate_scaled(0.5, &[10.0, 20.0])?;
    /// assert_eq!(*gradient, [6.0, 12.0]);
    /// # Ok::<(), grad_pool::LengthError>(())
    /// ```
    #[inline]
    pub fn accumulate_scaled(
        &mut self,
        alpha: impl Factor<T>,
        contribution: &[T],
    ) -> Result<(), LengthError> {
        kernels::add_scaled(&mut self.data, alpha, contribution)
    }

    /// Takes the array out of the pool's care for good, at no copy, as a result handed to the
    /// caller.
    #[must_use = "dropping the array frees it, where dropping the guard would recycle it"]
    pub fn detach(mut self) -> Vec<T> {
        if let Some(arena) = self.home.take() {
            arena.let_go();
        }
        mem::take(&mut self.data).into_vec()
    }

    /// Takes the array out of the sweep; it goes home to the shared pool when the leaf drops.
    #[must_use = "dropping a leaf takes the pool's lock, where dropping the guard would not"]
    pub fn into_leaf(mut self) -> Leaf<T, P> {
        let home = self.home.take().and_then(|arena| arena.pool().cloned());
        Leaf::new(mem::take(&mut self.data), home)
    }
}

impl<T: Element, P: Retention> Drop for Grad<'_, T, P> {
    #[inline]
    fn drop(&mut self) {
        if let Some(arena) = self.home {
            arena.take_back(mem::take(&mut self.data));
        }
    }
}

impl<T: Element, P: Retention> Deref for Grad<'_, T, P> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.data
    }
}

impl<T: Element, P: Retention> DerefMut for Grad<'_, T, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data
    }
}

impl<T: Element, P: Retention> fmt::Debug for Grad<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Grad").field(&self.data).finish()
    }
}
