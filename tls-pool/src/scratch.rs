//! The guard: a borrowed buffer, and the only way back and the only way out.
//!
//! - A buffer has one owner: [`Scratch`] is neither `Clone` nor `Copy`, and shows a slice only.
//! - It comes back once: dropping is the return, and [`Scratch::detach`] takes the buffer first.
//! - What does not ride the pool has no way back: its guard drops it.

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use pool_core::{Bounded, Retention};

use crate::TlsPool;

/// A borrowed buffer of `T`. Dropping it returns it to the shelf of the thread that drops it.
///
/// A guard whose pool lives long enough is `Scratch<'static, T>`: one from
/// [`global`](crate::global), or one that holds a handle of its own: [`Scratch::into_owned`].
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
/// let scratch = pool.zeroed::<f32>(&[3]).unwrap().into_owned();
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
    data: Box<[T]>,
    lender: Lender<'p, P>,
}

/// Where a buffer goes when its guard drops.
pub(crate) enum Lender<'p, P: Retention + 'static> {
    /// A pool that outlives the guard.
    Borrowed(&'p TlsPool<P>),
    /// A pool that the guard keeps alive.
    Owned(TlsPool<P>),
    /// The allocator: it does not ride a pool.
    Nobody,
}

impl<P: Retention> Lender<'_, P> {
    #[inline]
    fn pool(&self) -> Option<&TlsPool<P>> {
        match self {
            Self::Borrowed(pool) => Some(pool),
            Self::Owned(pool) => Some(pool),
            Self::Nobody => None,
        }
    }
}

impl<'p, T: Pod, P: Retention> Scratch<'p, T, P> {
    /// Makes a guard around a buffer that `lender` lent.
    #[inline]
    pub(crate) fn new(data: Box<[T]>, lender: Lender<'p, P>) -> Self {
        Self { data, lender }
    }

    /// Lets the guard outlive the handle that it was borrowed from: it holds one of its own.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = tls_pool::TlsPool::default();
    /// let scratch = pool.zeroed::<f32>(&[3])?.into_owned();
    /// let watch = pool.clone();
    /// std::thread::spawn(move || drop(scratch)).join().unwrap();
    /// assert_eq!(watch.stats().kept, 1);
    /// # Ok::<(), tls_pool::ShapeError>(())
    /// ```
    #[must_use = "dropping the guard returns the buffer"]
    pub fn into_owned(mut self) -> Scratch<'static, T, P> {
        let lender = match mem::replace(&mut self.lender, Lender::Nobody) {
            Lender::Borrowed(pool) => Lender::Owned(pool.clone()),
            Lender::Owned(pool) => Lender::Owned(pool),
            Lender::Nobody => Lender::Nobody,
        };
        Scratch::new(mem::take(&mut self.data), lender)
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
        let lender = mem::replace(&mut self.lender, Lender::Nobody);
        if let Some(pool) = lender.pool() {
            pool.let_go();
        }
        mem::take(&mut self.data).into_vec()
    }
}

impl<T: Pod, P: Retention> Drop for Scratch<'_, T, P> {
    #[inline]
    fn drop(&mut self) {
        if let Some(pool) = self.lender.pool() {
            pool.take_back(mem::take(&mut self.data));
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
