//! The guard: a borrowed buffer, and the only way back and the only way out.
//!
//! - A buffer has one owner: [`Scratch`] is neither `Clone` nor `Copy`, and shows a slice only.
//! - It comes back once: dropping is the return, and [`Scratch::detach`] takes the buffer first.
//! - What does not ride the pool has no way back: its guard drops it.

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use pool_core::{Bounded, Retention, State};

use crate::TlsPool;

/// A borrowed buffer of `T`. Dropping it returns it to the shelf of the thread that drops it.
///
/// A guard whose pool lives long enough is `Scratch<'static, T>`: one from
/// [`global`](crate::global), or from an owned door as [`TlsPool::zeroed_owned`].
///
/// # Examples
///
/// Use after return does not compile, and neither does a second return:
///
/// ```compile_fail,E0382
/// let pool = tls_pool::TlsPool::default();
/// let scratch = pool.zeroed::<f32>(&[3]).unwrap();
/// drop(scratch);
/// let _first = scratch[0]; // error: `scratch` was moved into the pool
/// ```
///
/// ```compile_fail,E0382
/// let pool = tls_pool::TlsPool::default();
/// let scratch = pool.zeroed::<f32>(&[3]).unwrap();
/// drop(scratch);
/// drop(scratch); // error: it was returned already
/// ```
///
/// Nor does a return while a reference to the contents lives:
///
/// ```compile_fail,E0505
/// let pool = tls_pool::TlsPool::default();
/// let scratch = pool.zeroed::<f32>(&[3]).unwrap();
/// let first = &scratch[0];
/// drop(scratch); // error: `first` still points into it
/// println!("{first}");
/// ```
///
/// Nor does a second owner:
///
/// ```compile_fail,E0599
/// let pool = tls_pool::TlsPool::default();
/// let scratch = pool.zeroed_owned::<f32>(&[3]).unwrap();
/// let _second: tls_pool::Scratch<'static, f32> = scratch.clone(); // error: no such method
/// ```
///
/// Nor do two threads write through one guard:
///
/// ```compile_fail,E0499
/// let pool = tls_pool::TlsPool::default();
/// let mut scratch = pool.zeroed::<f32>(&[3]).unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(|| scratch[0] = 1.0);
///     scope.spawn(|| scratch[1] = 1.0); // error: borrowed mutably twice
/// });
/// ```
pub struct Scratch<'p, T: Pod, P: Retention + 'static = Bounded> {
    data: Vec<T>,
    /// Where it goes back to, and the state of the pool's switch when it was lent; unless it did
    /// not ride the pool.
    lent: Option<(Lender<'p, P>, State)>,
}

/// Where a buffer goes when its guard drops.
pub(crate) enum Lender<'p, P: Retention + 'static> {
    /// A pool that outlives the guard.
    Borrowed(&'p TlsPool<P>),
    /// A pool that the guard keeps alive.
    Owned(TlsPool<P>),
}

impl<P: Retention> Deref for Lender<'_, P> {
    type Target = TlsPool<P>;

    #[inline]
    fn deref(&self) -> &TlsPool<P> {
        match self {
            Self::Borrowed(pool) => pool,
            Self::Owned(pool) => pool,
        }
    }
}

impl<'p, T: Pod, P: Retention> Scratch<'p, T, P> {
    /// Makes a guard around a buffer that `lender` lent in the state `lent`.
    #[inline]
    pub(crate) fn new(data: Vec<T>, lender: Lender<'p, P>, lent: State) -> Self {
        let lent = Some((lender, lent));
        Self { data, lent }
    }

    /// Makes a guard around a buffer that does not ride the pool.
    pub(crate) fn unpooled(data: Vec<T>) -> Self {
        Self { data, lent: None }
    }

    /// Takes the buffer out of the pool's care for good, at no copy.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = tls_pool::TlsPool::default();
    /// let result: Vec<f32> = pool.zeroed(&[3])?.detach();
    /// drop(pool); // the result outlives it
    /// assert_eq!(result, [0.0; 3]);
    /// # Ok::<(), tls_pool::ShapeError>(())
    /// ```
    #[must_use = "dropping the buffer frees it, where dropping the guard would recycle it"]
    pub fn detach(mut self) -> Vec<T> {
        if let Some((pool, _)) = self.lent.take() {
            pool.let_go();
        }
        mem::take(&mut self.data)
    }
}

impl<T: Pod, P: Retention> Drop for Scratch<'_, T, P> {
    #[inline]
    fn drop(&mut self) {
        if let Some((pool, lent)) = &self.lent {
            pool.take_back(&mut self.data, *lent);
        }
    }
}

impl<T: Pod, P: Retention> Deref for Scratch<'_, T, P> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.data
    }
}

impl<T: Pod, P: Retention> DerefMut for Scratch<'_, T, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data
    }
}

impl<T: Pod + fmt::Debug, P: Retention> fmt::Debug for Scratch<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scratch").field(&self.data).finish()
    }
}
