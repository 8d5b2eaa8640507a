//! The pool: its doors, its switch, its sums.
//!
//! A borrow reads the switch, finds the thread's shelf through the thread's table, and asks it; a
//! miss allocates. A return goes the same way, in the thread where the guard is dropped, which
//! keeps the buffer, whichever thread had borrowed it.
//!
//! - A borrower gets exactly the length it asked for: a class is one element type and one number
//!   of elements, and a guard shows a slice, so nothing that comes back can have another length.
//! - A pool that is switched off or cleared is so for every thread at once: the state is one word
//!   that every borrow and return reads. What another thread holds at that moment is freed when
//!   that thread next touches the pool, or ends; until then it *is* held, and is counted as held.
//! - Zero-length shapes and elements without a size never touch the pool.

use std::any::TypeId;
use std::fmt;
use std::mem;
use std::sync::{Arc, LazyLock};

use bytemuck::Pod;
use pool_core::sync::Mutex;
use pool_core::{
    Bounded, Exact, Found, Refusal, Retention, ShapeError, State, Stats, Switch, Words, elements,
};

use crate::policy::{CONSERVATIVE, DEFAULT};
use crate::register::Register;
use crate::scratch::{Lender, Scratch};
use crate::table::{self, Place};
use crate::tenant::{Estate, Lodger, Shelf};

/// A pool of scratch buffers with one shelf per thread. Cloning makes another handle to it.
///
/// Every bound of the policy `P` is a bound of one thread's shelf.
///
/// # Examples
///
/// ```
/// use tls_pool::TlsPool;
///
/// let pool = TlsPool::default();
/// let mut first = pool.zeroed::<f64>(&[2, 3])?;
/// first[5] = 7.0;
/// drop(first);
/// // The memory came back; the seven did not.
/// assert_eq!(*pool.zeroed::<f64>(&[6])?, [0.0; 6]);
/// assert_eq!(pool.stats().hits, 1);
/// # Ok::<(), tls_pool::ShapeError>(())
/// ```
pub struct TlsPool<P: Retention + 'static = Bounded> {
    shared: Arc<Shared<P>>,
}

/// What the handles of one pool share.
pub(crate) struct Shared<P: Retention + 'static> {
    switch: Switch,
    register: Mutex<Register<P>>,
    policy: Box<dyn Fn() -> P + Send + Sync>,
    place: Place,
}

/// What a borrower is promised about the contents.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    Zeroed,
    Unspecified,
}

/// The process-wide pool, under the default bounds.
///
/// # Examples
///
/// ```
/// let scratch = tls_pool::global().zeroed::<u32>(&[4])?;
/// assert_eq!(*scratch, [0; 4]);
/// # Ok::<(), tls_pool::ShapeError>(())
/// ```
#[must_use]
pub fn global() -> &'static TlsPool {
    static GLOBAL: LazyLock<TlsPool> = LazyLock::new(TlsPool::default);
    &GLOBAL
}

impl Default for TlsPool {
    /// A pool that holds up to 64 MiB in each thread, in at most 1024 buffers of at most 256
    /// classes, and evicts the class that was used least recently when it is full.
    fn default() -> Self {
        Self::new(DEFAULT)
    }
}

impl TlsPool {
    /// A pool that keeps up to 8 buffers of one class and thread, without any other bound.
    ///
    /// There is no ceiling on one buffer and none on the number of classes: a thread that asks
    /// for ever new shapes holds ever more memory.
    #[must_use]
    pub fn conservative() -> Self {
        Self::new(CONSERVATIVE)
    }
}

impl<P: Retention> TlsPool<P> {
    /// Makes a pool in which each thread's shelf has its own copy of `policy`.
    #[must_use]
    pub fn new(policy: P) -> Self
    where
        P: Clone + Send + Sync,
    {
        Self::from_fn(move || policy.clone())
    }

    /// Makes a pool in which each thread's shelf has its own policy, made by `policy`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tls_pool::{Retention, TlsPool, Unpooled};
    ///
    /// let pool = TlsPool::from_fn(|| -> Box<dyn Retention + Send> { Box::new(Unpooled) });
    /// drop(pool.zeroed::<u8>(&[16])?);
    /// assert_eq!(pool.stats().bypassed, 1);
    /// # Ok::<(), tls_pool::ShapeError>(())
    /// ```
    #[must_use]
    pub fn from_fn(policy: impl Fn() -> P + Send + Sync + 'static) -> Self {
        Self {
            shared: Arc::new(Shared {
                switch: Switch::default(),
                register: Mutex::new(Register::default()),
                policy: Box::new(policy),
                place: Place::find(),
            }),
        }
    }

    /// Borrows a buffer of zeros with as many elements as `shape` has.
    ///
    /// # Panics
    ///
    /// If memory for a new buffer can not be had.
    ///
    /// # Errors
    ///
    /// [`ShapeError`] if the elements would take more than `isize::MAX` bytes.
    pub fn zeroed<T: Pod>(&self, shape: &[usize]) -> Result<Scratch<'_, T, P>, ShapeError> {
        self.lend(shape, Contents::Zeroed, || Lender::Borrowed(self))
    }

    /// Borrows a buffer with unspecified but initialised contents, for a borrower who is going to
    /// overwrite every element.
    ///
    /// Builds with debug assertions fill it with bytes of 0xFF, which for floats are NaN, so that
    /// a reader of what was there before is caught.
    ///
    /// # Panics
    ///
    /// If memory for a new buffer can not be had.
    ///
    /// # Errors
    ///
    /// [`ShapeError`] if the elements would take more than `isize::MAX` bytes.
    pub fn unspecified<T: Pod>(&self, shape: &[usize]) -> Result<Scratch<'_, T, P>, ShapeError> {
        self.lend(shape, Contents::Unspecified, || Lender::Borrowed(self))
    }

    /// Like [`zeroed`](Self::zeroed), but the guard holds a handle of its own and may outlive
    /// this one.
    ///
    /// # Panics
    ///
    /// If memory for a new buffer can not be had.
    ///
    /// # Errors
    ///
    /// [`ShapeError`] if the elements would take more than `isize::MAX` bytes.
    pub fn zeroed_owned<T: Pod>(
        &self,
        shape: &[usize],
    ) -> Result<Scratch<'static, T, P>, ShapeError> {
        self.lend(shape, Contents::Zeroed, || Lender::Owned(self.clone()))
    }

    /// Like [`unspecified`](Self::unspecified), but the guard holds a handle of its own and may
    /// outlive this one.
    ///
    /// # Panics
    ///
    /// If memory for a new buffer can not be had.
    ///
    /// # Errors
    ///
    /// [`ShapeError`] if the elements would take more than `isize::MAX` bytes.
    pub fn unspecified_owned<T: Pod>(
        &self,
        shape: &[usize],
    ) -> Result<Scratch<'static, T, P>, ShapeError> {
        self.lend(shape, Contents::Unspecified, || Lender::Owned(self.clone()))
    }

    /// Turns recycling on or off for every thread at once. Off, a borrow is an ordinary
    /// allocation and a return an ordinary drop.
    ///
    /// This thread's buffers and those that ended threads left are freed now; another thread's
    /// when it next touches the pool or ends. A buffer that is out while the pool is switched is
    /// freed when it comes back, even if the pool is on again by then.
    pub fn set_enabled(&self, on: bool) {
        self.shared.switch.set(on);
        self.renew();
    }

    /// Whether the pool recycles.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.shared.switch.state().is_on()
    }

    /// Gives every retained buffer up, in every thread, and keeps recycling.
    ///
    /// This thread's buffers and those that ended threads left are freed now; another thread
    /// serves none of its own from now on, and frees them when it next touches the pool or ends.
    /// A buffer that is out now is freed when it comes back.
    pub fn clear(&self) {
        self.shared.switch.begin_epoch();
        self.renew();
    }

    /// The sum over all threads, ended ones included, without stopping any.
    ///
    /// Each counter is exact when no call into the pool is under way. What is held is what lies
    /// on the shelves, be it of threads that live or left by ended ones. The high-water marks are
    /// sums over the shelves that existed together, so they are upper bounds.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.register.lock().total()
    }

    /// What this thread did. Its shelf may have been inherited from an ended thread: then what is
    /// held and the high-water marks are the shelf's, and the counts are this thread's own.
    #[must_use]
    pub fn thread_stats(&self) -> Stats {
        table::with_settled(&self.shared.place, |shelf: &mut Lodger<P>| shelf.own())
            .unwrap_or_default()
    }

    /// Frees what is from before now and can be reached from here.
    fn renew(&self) {
        let stale = {
            let mut register = self.shared.register.lock();
            // Read under the lock: a thread that retires later sees this state or a newer one.
            register.expel(self.shared.switch.state())
        };
        drop(stale);
        // None means that this thread has no shelf to free.
        let _ = table::with_settled(&self.shared.place, |shelf: &mut Lodger<P>| {
            shelf.renew(self.shared.switch.state());
        });
    }

    /// Calls `work` with this thread's shelf.
    #[inline]
    fn with_shelf<R>(&self, work: impl FnOnce(&mut Lodger<P>) -> R) -> Option<R> {
        table::with(&self.shared.place, || Lodger::arrive(&self.shared), work)
    }

    /// The one way out: every door comes here.
    #[inline]
    fn lend<'p, T: Pod>(
        &self,
        shape: &[usize],
        contents: Contents,
        lender: impl FnOnce() -> Lender<'p, P>,
    ) -> Result<Scratch<'p, T, P>, ShapeError> {
        let len = elements(shape, size_of::<T>())?;
        let bytes = len * size_of::<T>();
        if bytes == 0 {
            return Ok(Scratch::unpooled(fresh(len, contents)));
        }
        let class = (TypeId::of::<T>(), len);
        // A hit comes out beside the answer, so that the answer is a number.
        let mut data = Vec::new();
        let mut now = None;
        let found = self.with_shelf(|shelf| {
            // The state is read once the shelf is at hand: a shelf never goes back to an older one.
            let state = self.shared.switch.state();
            if !Words::can_hold::<T>() {
                shelf.counters().bypass();
                return Found::Bypass;
            }
            now = Some(state);
            shelf.take(state, class, bytes, contents, |words| {
                data = retyped(words);
            })
        });
        Ok(match (found, now) {
            (Some(Found::Hit(())), Some(now)) => {
                prepare(&mut data, contents);
                debug_assert_eq!(data.len(), len, "a class has one length");
                Scratch::new(data, lender(), now)
            }
            (Some(Found::Miss), Some(now)) => Scratch::new(fresh(len, contents), lender(), now),
            (Some(_), _) => Scratch::unpooled(fresh(len, contents)),
            (None, _) => {
                self.shared.stray_bypass();
                Scratch::unpooled(fresh(len, contents))
            }
        })
    }

    /// The one way back: takes a buffer that was lent in the state `lent`. What is not kept stays
    /// where it is, for its guard to free.
    #[inline]
    pub(crate) fn take_back<T: Pod>(&self, data: &mut Vec<T>, lent: State) {
        let class = (TypeId::of::<T>(), data.len());
        let bytes = data.capacity() * size_of::<T>();
        let returned = self.with_shelf(|shelf| {
            shelf.give(lent, self.shared.switch.state(), class, bytes, || {
                let words = Words::from_vec(mem::take(data)).ok();
                words.expect("only what words can hold was lent")
            });
        });
        if returned.is_none() {
            self.shared.stray_return();
        }
    }

    /// Counts a buffer that left for good.
    pub(crate) fn let_go(&self) {
        let counted = self.with_shelf(|shelf| shelf.counters().detach());
        if counted.is_none() {
            self.shared.register.lock().stray().detach();
        }
    }
}

/// A new buffer. Memory for zeros comes from the allocator zeroed.
#[cold]
#[inline(never)]
fn fresh<T: Pod>(len: usize, contents: Contents) -> Vec<T> {
    let mut data = bytemuck::allocation::try_zeroed_vec(len)
        .unwrap_or_else(|()| panic!("no memory for {len} elements of {} bytes", size_of::<T>()));
    poison(&mut data, contents);
    data
}

/// A retained buffer with its element type.
#[inline]
fn retyped<T: Pod>(words: Words) -> Vec<T> {
    words
        .into_vec::<T>()
        .expect("a class holds buffers of one element type")
}

/// Makes a retained buffer ready for its next borrower.
#[inline]
fn prepare<T: Pod>(data: &mut [T], contents: Contents) {
    if contents == Contents::Zeroed {
        bytemuck::fill_zeroes(data);
    }
    poison(data, contents);
}

/// Makes unspecified contents visible as such, where that costs no release build anything.
#[inline]
fn poison<T: Pod>(data: &mut [T], contents: Contents) {
    if cfg!(debug_assertions) && contents == Contents::Unspecified {
        bytemuck::cast_slice_mut::<T, u8>(data).fill(0xFF);
    }
}

impl<P: Retention> Shared<P> {
    /// A shelf for a thread that touches the pool for the first time.
    pub(crate) fn arrive(&self) -> Estate<P> {
        let inherited = self.register.lock().inherit();
        inherited.unwrap_or_else(|| {
            // The user's function runs without the lock.
            let shelf = Shelf::new((self.policy)(), Exact::default());
            self.register.lock().list(&shelf);
            Estate {
                shelf,
                state: self.switch.state(),
            }
        })
    }

    /// Counts a borrow in a thread that has no shelf.
    #[cold]
    fn stray_bypass(&self) {
        self.register.lock().stray().bypass();
    }

    /// Counts a return in a thread that has no shelf; the buffer was freed.
    #[cold]
    fn stray_return(&self) {
        let register = self.register.lock();
        register.stray().refuse_unseen(Refusal::Closed);
    }

    /// Takes over what an ending thread leaves.
    pub(crate) fn retire(&self, estate: Estate<P>) {
        let given_up = {
            let mut register = self.register.lock();
            register.retire(estate, self.switch.state())
        };
        drop(given_up);
    }
}

impl<P: Retention> Clone for TlsPool<P> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<P: Retention> fmt::Debug for TlsPool<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsPool")
            .field("enabled", &self.is_enabled())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
