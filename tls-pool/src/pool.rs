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

use std::fmt;
use std::sync::{Arc, LazyLock};

use bytemuck::Pod;
use pool_core::sync::Mutex;
use pool_core::tenancy::Place;
use pool_core::{
    Block, Bounded, Class, ElementClass, Exact, Found, Refusal, Retention, ShapeError, Stats,
    Switch, elements,
};

use crate::adopt::AdoptError;
use crate::depot::Depot;
use crate::policy::{CONSERVATIVE, DEFAULT};
use crate::register::Register;
use crate::scratch::{Lender, Scratch};
use crate::tenant::{self, Estate, Lodger, Shelf};

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
    depot: Option<Depot<P>>,
}

/// What a borrower is promised about the contents.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    Zeroed,
    Unspecified,
    /// The door writes every element before the borrower sees one.
    Overwritten,
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
    /// classes, and evicts the class that was used least recently when it is full. A
    /// [depot](TlsPool::with_depot) with the same bounds stands between the threads.
    fn default() -> Self {
        Self::with_depot(DEFAULT, DEFAULT)
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

    /// Makes a pool in which each thread's shelf has its own copy of `policy`, and a depot between
    /// the threads that is bounded by `depot`.
    ///
    /// A thread that returns more than it borrows leaves its surplus there, and a thread that has
    /// nothing looks there before it allocates, both a batch of up to 32 buffers at a time. So a
    /// thread that only borrows and one that only returns recycle through it. Threads that return
    /// what they borrow never come to it.
    ///
    /// # Examples
    ///
    /// ```
    /// use tls_pool::{Bounded, TlsPool};
    ///
    /// let few = Bounded { class_buffers: 8, ..Bounded::UNLIMITED };
    /// let many = Bounded { pool_bytes: 1 << 20, ..Bounded::UNLIMITED };
    /// let pool = TlsPool::with_depot(few, many);
    /// let (sender, receiver) = std::sync::mpsc::sync_channel(4); // holds four
    /// std::thread::scope(|scope| {
    ///     scope.spawn(move || receiver.iter().for_each(drop));
    ///     for _ in 0..1000 {
    ///         sender.send(pool.zeroed::<u8>(&[64]).unwrap()).unwrap();
    ///     }
    ///     drop(sender);
    /// });
    /// assert!(pool.stats().misses < 200);
    /// ```
    #[must_use]
    pub fn with_depot(policy: P, depot: P) -> Self
    where
        P: Clone + Send + Sync,
    {
        let switch = Switch::default();
        let depot = Depot::new(depot, switch.state());
        Self::assemble(switch, Box::new(move || policy.clone()), Some(depot))
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
        Self::assemble(Switch::default(), Box::new(policy), None)
    }

    fn assemble(
        switch: Switch,
        policy: Box<dyn Fn() -> P + Send + Sync>,
        depot: Option<Depot<P>>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                switch,
                register: Mutex::new(Register::default()),
                policy,
                place: Place::find(),
                depot,
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
    #[inline]
    pub fn zeroed<T: Pod>(&self, shape: &[usize]) -> Result<Scratch<'_, T, P>, ShapeError> {
        Ok(self.lend(elements(shape, size_of::<T>())?, Contents::Zeroed))
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
    #[inline]
    pub fn unspecified<T: Pod>(&self, shape: &[usize]) -> Result<Scratch<'_, T, P>, ShapeError> {
        Ok(self.lend(elements(shape, size_of::<T>())?, Contents::Unspecified))
    }

    /// Borrows a buffer that holds a copy of `source`.
    ///
    /// # Panics
    ///
    /// If memory for a new buffer can not be had.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = tls_pool::TlsPool::default();
    /// assert_eq!(*pool.copied(&[1.0, 2.0]), [1.0, 2.0]);
    /// ```
    pub fn copied<T: Pod>(&self, source: &[T]) -> Scratch<'_, T, P> {
        let mut scratch = self.lend(source.len(), Contents::Overwritten);
        scratch.copy_from_slice(source);
        scratch
    }

    /// Borrows a buffer whose elements are all `value`.
    ///
    /// # Panics
    ///
    /// If memory for a new buffer can not be had.
    ///
    /// # Errors
    ///
    /// [`ShapeError`] if the elements would take more than `isize::MAX` bytes.
    pub fn filled<T: Pod>(
        &self,
        shape: &[usize],
        value: T,
    ) -> Result<Scratch<'_, T, P>, ShapeError> {
        let len = elements(shape, size_of::<T>())?;
        let mut scratch = self.lend(len, Contents::Overwritten);
        scratch.fill(value);
        Ok(scratch)
    }

    /// Borrows a buffer whose elements are what `element` makes of their index, in ascending
    /// order.
    ///
    /// # Panics
    ///
    /// If memory for a new buffer can not be had. When `element` panics, the buffer comes back.
    ///
    /// # Errors
    ///
    /// [`ShapeError`] if the elements would take more than `isize::MAX` bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = tls_pool::TlsPool::default();
    /// let squares = pool.filled_with(&[4], |index| index * index)?;
    /// assert_eq!(*squares, [0, 1, 4, 9]);
    /// # Ok::<(), tls_pool::ShapeError>(())
    /// ```
    pub fn filled_with<T: Pod>(
        &self,
        shape: &[usize],
        mut element: impl FnMut(usize) -> T,
    ) -> Result<Scratch<'_, T, P>, ShapeError> {
        let len = elements(shape, size_of::<T>())?;
        let mut scratch = self.lend(len, Contents::Overwritten);
        for (index, place) in scratch.iter_mut().enumerate() {
            *place = element(index);
        }
        Ok(scratch)
    }

    /// Takes a vector into the pool's care, at no copy: the guard shows its elements, and
    /// dropping it returns them as any other.
    ///
    /// # Errors
    ///
    /// [`AdoptError`], with the vector, if it has spare capacity. The pool keeps exact accounts
    /// of what a buffer of some length costs, so it holds none that is larger than it looks.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = tls_pool::TlsPool::default();
    /// drop(pool.adopt(vec![7.0_f64; 6]).unwrap());
    /// // The memory serves any shape of six elements; the sevens are gone.
    /// assert_eq!(*pool.zeroed::<f64>(&[2, 3]).unwrap(), [0.0; 6]);
    /// assert_eq!(pool.stats().hits, 1);
    ///
    /// let mut roomy = Vec::with_capacity(100);
    /// roomy.push(1.0_f64);
    /// let refused = pool.adopt(roomy).unwrap_err();
    /// assert_eq!(refused.into_vec(), [1.0]);
    /// ```
    pub fn adopt<T: Pod>(&self, data: Vec<T>) -> Result<Scratch<'_, T, P>, AdoptError<T>> {
        if size_of::<T>() > 0 && data.capacity() != data.len() {
            return Err(AdoptError(data));
        }
        // It has no spare capacity, so this moves nothing.
        let data = data.into_boxed_slice();
        if data.is_empty() || !Block::can_hold::<T>() {
            return Ok(Scratch::new(data, Lender::Nobody));
        }
        let lender = self.with_shelf(|shelf| {
            if self.is_enabled() {
                shelf.counters().adopt();
                Lender::Borrowed(self)
            } else {
                shelf.counters().bypass();
                Lender::Nobody
            }
        });
        // None means that the thread is ending: its buffers are ordinary allocations.
        Ok(Scratch::new(data, lender.unwrap_or(Lender::Nobody)))
    }

    /// Tells this thread's policy that a round ended, and frees what it gives up.
    ///
    /// What a round is, the caller knows: a sweep, a batch, a tick. Only policies that give
    /// memory back after quiet rounds, as [`Decaying`](crate::Decaying), do anything then. Linear
    /// in the number of classes and in what is given up.
    pub fn end_round(&self) {
        let given_up = tenant::with_settled(&self.shared.place, |shelf: &mut Lodger<P>| {
            shelf.end_round()
        });
        drop(given_up);
    }

    /// Turns recycling on or off for every thread at once. Off, a borrow is an ordinary
    /// allocation and a return an ordinary drop.
    ///
    /// This thread's buffers and those that ended threads left are freed now; another thread's
    /// when it next touches the pool or ends. A buffer that is out meanwhile is ruled on when it
    /// comes back: off, it is freed.
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
    /// A buffer that is out is not retained, so it is not given up: it comes back as usual.
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
        let depot = self.shared.depot().map(|depot| depot.counters().snapshot());
        self.shared.register.lock().total() + depot.unwrap_or_default()
    }

    /// What this thread did. Its shelf may have been inherited from an ended thread: then what is
    /// held and the high-water marks are the shelf's, and the counts are this thread's own.
    #[must_use]
    pub fn thread_stats(&self) -> Stats {
        tenant::with_settled(&self.shared.place, |shelf: &mut Lodger<P>| shelf.own())
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
        if let Some(depot) = self.shared.depot() {
            depot.renew(&self.shared.switch);
        }
        // None means that this thread has no shelf to free.
        let _ = tenant::with_settled(&self.shared.place, |shelf: &mut Lodger<P>| {
            shelf.renew(self.shared.switch.state());
        });
    }

    /// Calls `work` with this thread's shelf.
    #[inline]
    fn with_shelf<R>(&self, work: impl FnOnce(&mut Lodger<P>) -> R) -> Option<R> {
        tenant::with(&self.shared, &self.shared.place, work)
    }

    /// The one way out: every door comes here.
    ///
    /// The guard is made here, in the caller's frame, as a guard that was returned would go
    /// through memory in pieces.
    #[inline]
    fn lend<T: Pod>(&self, len: usize, contents: Contents) -> Scratch<'_, T, P> {
        let mut rides = true;
        let data = self.fetch(len, contents, &mut rides);
        let lender = if rides {
            Lender::Borrowed(self)
        } else {
            Lender::Nobody
        };
        Scratch::new(data, lender)
    }

    /// A buffer of `len` elements. Clears `rides` when it does not ride the pool.
    #[inline(never)]
    fn fetch<T: Pod>(&self, len: usize, contents: Contents, rides: &mut bool) -> Box<[T]> {
        let class = ElementClass::of::<T>(len);
        if class.bytes() == 0 {
            *rides = false;
            return fresh(len, contents);
        }
        let found = self.with_shelf(|shelf| {
            if !Block::can_hold::<T>() {
                shelf.counters().bypass();
                return Found::Bypass;
            }
            // The state is read once the shelf is at hand: a shelf never goes back to an older one.
            let found = shelf.take(self.shared.switch.state(), class, retyped);
            if contents == Contents::Zeroed && !matches!(found, Found::Bypass) {
                shelf.counters().zeroed(class.bytes());
            }
            found
        });
        if let Some(Found::Hit(mut data)) = found {
            prepare(&mut data, contents);
            return data;
        }
        if found.is_none() {
            self.shared.stray_bypass();
        }
        *rides = matches!(found, Some(Found::Miss));
        fresh(len, contents)
    }

    /// The one way back, for a buffer that rode the pool.
    #[inline(never)]
    pub(crate) fn take_back<T: Pod>(&self, data: Box<[T]>) {
        let class = ElementClass::of_slice(&data);
        let returned = self.with_shelf(|shelf| {
            shelf.give(self.shared.switch.state(), class, || erased(data));
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
fn fresh<T: Pod>(len: usize, contents: Contents) -> Box<[T]> {
    let mut data = bytemuck::allocation::try_zeroed_slice_box(len)
        .unwrap_or_else(|()| panic!("no memory for {len} elements of {} bytes", size_of::<T>()));
    poison(&mut data, contents);
    data
}

/// A buffer without its element type.
#[inline]
fn erased<T: Pod>(data: Box<[T]>) -> Block {
    let Ok(block) = Block::from_slice(data) else {
        unreachable!("only what a block can hold was lent");
    };
    block
}

/// A retained buffer with its element type.
#[inline]
fn retyped<T: Pod>(block: Block) -> Box<[T]> {
    block
        .into_slice()
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
    /// What stands between the threads, if anything.
    pub(crate) fn depot(&self) -> Option<&Depot<P>> {
        self.depot.as_ref()
    }

    pub(crate) fn switch(&self) -> &Switch {
        &self.switch
    }

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
        register.stray().refuse(Refusal::Closed);
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
