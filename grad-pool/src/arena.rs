//! One sweep's private tier.
//!
//! An arena holds what its sweep dropped, up to 256 arrays, and lends the one that came back last
//! first. It takes no lock unless it has nothing that fits, or is full.
//!
//! - An arena serves one thread: it holds a `RefCell`, so it is not `Sync`.
//! - A sweep's leftovers come home however the sweep ends: the flush is the arena's `Drop`, and
//!   no [`Grad`] outlives its arena.
//! - Empty arrays never touch the pool, and neither do arrays over its ceiling.
//! - No destructor panics: nothing that could touch the arena again runs while its `RefCell` is
//!   borrowed.
//!
//! A borrow and its return take 2.0 to 2.4 times what a bare thread-local stack of vectors takes,
//! whether 1 or 256 arrays are held and 1 or 32 lengths asked for in turn, and 2.8 times with 256
//! lengths: 12, 14 and 16 ns against 5.9 at the least
//! (`cargo bench -p grad-pool --bench sweep -- grad/pair`).
//! What made no difference, and is left out: classes that begin on a cache line, an index that is a
//! quarter full instead of a half. A table of hints before the index cost more than it saved as
//! soon as two of 32 lengths met in one place.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use pool_core::{
    Block, Bounded, Class as _, Counters, Discarded, Exact, Found, Refusal, Retention, Shelf, State,
};

use crate::GradPool;
use crate::array::{Contents, allocated, erased, fresh, poison, prepare, retyped};
use crate::class::ArrayClass;
use crate::element::{Element, Factor};
use crate::grad::Grad;
use crate::kernels::{self, LengthError};
use crate::limits::ArenaBound;

/// The arrays of one backward sweep, in one thread.
///
/// # Examples
///
/// ```
/// let pool = grad_pool::GradPool::default();
/// let arena = pool.arena();
/// let mut first = arena.zeroed::<f32>(3);
/// first[0] = 7.0;
/// drop(first);
/// // The memory came back; the seven did not.
/// assert_eq!(*arena.zeroed::<f32>(3), [0.0, 0.0, 0.0]);
/// ```
///
/// A sweep stays in its thread:
///
/// ```compile_fail,E0277
/// let arena = grad_pool::global().arena();
/// std::thread::scope(|scope| {
///     scope.spawn(|| arena.zeroed::<f32>(3)[0]); // error: an arena can not be shared
/// });
/// ```
pub struct Arena<P: Retention = Bounded> {
    /// `None` for a sweep without recycling, and during the drop.
    tier: Option<Tier<P>>,
}

/// A private tier and the shared one behind it.
struct Tier<P: Retention> {
    pool: GradPool<P>,
    front: RefCell<Front>,
}

/// The arrays that a sweep holds, and the state of the pool's switch when it last looked.
pub(crate) struct Front {
    shelf: Shelf<ArrayClass, Block, ArenaBound, Exact<ArrayClass>>,
    state: State,
}

impl Front {
    pub(crate) fn new(state: State) -> Self {
        Self {
            shelf: Shelf::new(ArenaBound, Exact::default()),
            state,
        }
    }

    pub(crate) fn counters(&self) -> &Arc<Counters> {
        self.shelf.counters()
    }

    /// Frees what is from before `now`.
    #[inline]
    fn renew(&mut self, now: State) {
        if self.state != now {
            drop(self.begin_anew(now));
        }
    }

    /// Gives up what is from before `now`, if it is from before.
    pub(crate) fn expel(&mut self, now: State) -> Option<Discarded<Block>> {
        (self.state != now).then(|| self.begin_anew(now))
    }

    #[cold]
    fn begin_anew(&mut self, now: State) -> Discarded<Block> {
        self.state = now;
        self.shelf.clear()
    }

    /// Moves every array out, class by class.
    pub(crate) fn pour(&mut self, each: impl FnMut(ArrayClass, &mut Vec<Block>)) {
        self.shelf.pour(each);
    }
}

impl Arena {
    /// A sweep without an arena: each borrow is an ordinary allocation, each return an ordinary
    /// drop, and nothing is counted.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = grad_pool::Arena::unpooled();
    /// assert_eq!(*arena.zeroed::<f64>(2), [0.0, 0.0]);
    /// ```
    #[must_use]
    pub fn unpooled() -> Self {
        Self { tier: None }
    }
}

impl<P: Retention> Arena<P> {
    pub(crate) fn over(pool: GradPool<P>, front: Front) -> Self {
        Self {
            tier: Some(Tier {
                pool,
                front: RefCell::new(front),
            }),
        }
    }

    /// Borrows an array of `len` zeros.
    ///
    /// # Panics
    ///
    /// If memory for a new array can not be had.
    #[inline]
    pub fn zeroed<T: Element>(&self, len: usize) -> Grad<'_, T, P> {
        self.lend(len, Contents::Zeroed, |_| ())
    }

    /// Borrows an array of `len` elements with unspecified but initialised contents, for a kernel
    /// that writes every element first.
    ///
    /// Builds with debug assertions fill it with NaN, so that a reader of what was there before
    /// is caught.
    ///
    /// # Panics
    ///
    /// If memory for a new array can not be had.
    #[inline]
    pub fn unspecified<T: Element>(&self, len: usize) -> Grad<'_, T, P> {
        self.lend(len, Contents::Unspecified, |_| ())
    }

    /// Borrows an array with a copy of `source`.
    ///
    /// # Panics
    ///
    /// If memory for a new array can not be had.
    #[inline]
    pub fn copy_of<T: Element>(&self, source: &[T]) -> Grad<'_, T, P> {
        self.lend(source.len(), Contents::Overwritten, |array| {
            kernels::copy(array, source);
        })
    }

    /// Borrows an array with `alpha` times `source`: a first contribution, which costs half of
    /// what zeroing and adding it would.
    ///
    /// # Panics
    ///
    /// If memory for a new array can not be had.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = grad_pool::global().arena();
    /// assert_eq!(*arena.scaled_copy_of(0.5, &[2.0_f64, 4.0]), [1.0, 2.0]);
    /// ```
    #[inline]
    pub fn scaled_copy_of<T: Element>(
        &self,
        alpha: impl Factor<T>,
        source: &[T],
    ) -> Grad<'_, T, P> {
        self.lend(source.len(), Contents::Overwritten, |array| {
            for (element, &first) in array.iter_mut().zip(source) {
                *element = alpha.times(first);
            }
        })
    }

    /// Borrows an array of `len` elements that all are `value`, real or complex.
    ///
    /// # Panics
    ///
    /// If memory for a new array can not be had.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = grad_pool::global().arena();
    /// assert_eq!(*arena.filled(2, 1.5_f32), [1.5, 1.5]);
    /// ```
    #[inline]
    pub fn filled<T: Element>(&self, len: usize, value: T) -> Grad<'_, T, P> {
        self.lend(len, Contents::Overwritten, |array| {
            kernels::fill(array, value);
        })
    }

    /// Folds a contribution into a gradient that may not exist yet: the first one becomes the
    /// gradient, at the cost of a copy, and later ones are added.
    ///
    /// # Errors
    ///
    /// [`LengthError`] if the gradient has another number of elements; nothing is added then.
    ///
    /// # Panics
    ///
    /// If memory for a new array can not be had.
    ///
    /// # Examples
    ///
    /// ```
    /// let arena = grad_pool::global().arena();
    /// let mut slot = None;
    /// arena.contribute(&mut slot, &[1.0_f32, 2.0])?;
    /// arena.contribute(&mut slot, &[10.0, 20.0])?;
    /// assert_eq!(slot.as_deref(), Some(&[11.0, 22.0][..]));
    /// # Ok::<(), grad_pool::LengthError>(())
    /// ```
    #[inline]
    pub fn contribute<'a, T: Element>(
        &'a self,
        slot: &mut Option<Grad<'a, T, P>>,
        contribution: &[T],
    ) -> Result<(), LengthError> {
        if let Some(sum) = slot {
            return sum.accumulate(contribution);
        }
        *slot = Some(self.copy_of(contribution));
        Ok(())
    }

    /// The pool behind, unless the sweep is [unpooled](Arena::unpooled).
    #[must_use]
    pub fn pool(&self) -> Option<&GradPool<P>> {
        self.tier.as_ref().map(|tier| &tier.pool)
    }

    /// The one way out: every door comes here, and fills the array before its guard is made.
    ///
    /// The guard is made here, in the caller's frame: one that was returned would go through memory
    /// in pieces, and cost 10 ns more where it is read back at once.
    #[inline]
    fn lend<T: Element>(
        &self,
        len: usize,
        contents: Contents,
        fill: impl FnOnce(&mut [T]),
    ) -> Grad<'_, T, P> {
        let mut rides = true;
        let mut data = self.obtain(len, contents, &mut rides);
        fill(&mut data);
        Grad::new(data, rides.then_some(self))
    }

    /// An array of `len` elements. Clears `rides` when it does not ride the pool.
    #[inline(never)]
    fn obtain<T: Element>(&self, len: usize, contents: Contents, rides: &mut bool) -> Box<[T]> {
        if let Some(mut data) = self.at_hand(len, contents) {
            prepare(&mut data, contents);
            return data;
        }
        let (data, home) = self.fetch(len, contents);
        *rides = home.is_some();
        data
    }

    /// An array that this sweep dropped before, as nearly every borrow finds one: without a lock
    /// or any call.
    #[inline]
    fn at_hand<T: Element>(&self, len: usize, contents: Contents) -> Option<Box<[T]>> {
        let tier = self.tier.as_ref()?;
        let class = ArrayClass::of::<T>(len)?;
        let mut front = tier.front.try_borrow_mut().ok()?;
        if front.state != tier.pool.state() {
            return None;
        }
        let data = front.shelf.take_at_hand(class, retyped)?;
        if contents == Contents::Zeroed {
            front.counters().zeroed(class.bytes());
        }
        Some(data)
    }

    /// An array from anywhere else, and where it goes back to, unless it does not ride the pool.
    #[cold]
    #[inline(never)]
    fn fetch<T: Element>(&self, len: usize, contents: Contents) -> (Box<[T]>, Option<&Self>) {
        let Some((tier, class)) = self.tier.as_ref().zip(ArrayClass::of::<T>(len)) else {
            return (fresh(len, contents), None);
        };
        match tier.take(class, contents) {
            Found::Hit(block) => {
                let mut data = retyped(block);
                prepare(&mut data, contents);
                (data, Some(self))
            }
            Found::Miss => {
                let mut data = allocated(len);
                #[cfg(feature = "huge-pages")]
                tier.pool.huge_pages().advise(&mut data);
                poison(&mut data, contents);
                (data, Some(self))
            }
            Found::Bypass => (fresh(len, contents), None),
        }
    }

    /// The one way back, for an array that rode the pool.
    #[inline]
    pub(crate) fn take_back<T: Element>(&self, data: Box<[T]>) {
        // Neither can be missing, as only an array that rides a tier has a way back.
        let (Some(tier), Some(class)) = (&self.tier, ArrayClass::of::<T>(data.len())) else {
            return;
        };
        match tier.keep_at_hand(class, data) {
            Ok(()) => {}
            Err(data) => tier.give(class, erased(data)),
        }
    }

    /// Counts an array that left for good.
    pub(crate) fn let_go(&self) {
        if let Some(tier) = &self.tier {
            tier.front.borrow().counters().detach_own();
        }
    }
}

impl<P: Retention> Tier<P> {
    /// Keeps an array here if there is nothing more to do for it, without a lock or any call.
    #[inline]
    fn keep_at_hand<T: Element>(&self, class: ArrayClass, data: Box<[T]>) -> Result<(), Box<[T]>> {
        // Off, no class is listed.
        match self.front.try_borrow_mut() {
            Ok(mut front) if front.state == self.pool.state() => {
                let mut data = data;
                let kept = front
                    .shelf
                    .keep_at_hand(class, || erased(std::mem::take(&mut data)));
                if kept.is_ok() { Ok(()) } else { Err(data) }
            }
            _ => Err(data),
        }
    }

    /// Looks for an array that is not [at hand](Arena::at_hand): behind, as the front holds none, or
    /// only ones from before the pool was cleared.
    fn take(&self, class: ArrayClass, contents: Contents) -> Found<Block> {
        let now = self.pool.state();
        let mut front = self.front.borrow_mut();
        front.renew(now);
        if !now.is_on() || self.pool.is_over_ceiling(class.len()) {
            front.counters().bypass();
            return Found::Bypass;
        }
        // The shared tier asks its policy, and nothing here is borrowed meanwhile.
        drop(front);
        let found = self.pool.request(class);
        if contents == Contents::Zeroed && !matches!(found, Found::Bypass) {
            self.front.borrow().counters().zeroed(class.bytes());
        }
        found
    }

    /// Takes an array back here, or hands it on to the shared tier.
    #[cold]
    #[inline(never)]
    fn give(&self, class: ArrayClass, block: Block) {
        let now = self.pool.state();
        let mut front = self.front.borrow_mut();
        front.renew(now);
        if !now.is_on() {
            front.counters().refuse(Refusal::SwitchedOff);
        } else if let Err(refused) = front.shelf.try_keep(class, || block) {
            drop(front);
            self.pool.take_back(class, refused());
        }
    }
}

impl<P: Retention> Drop for Arena<P> {
    fn drop(&mut self) {
        if let Some(Tier { pool, front }) = self.tier.take() {
            pool.absorb(front.into_inner());
        }
    }
}

impl<P: Retention> fmt::Debug for Arena<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("pooled", &self.tier.is_some())
            .finish_non_exhaustive()
    }
}
