//! One sweep's private tier.
//!
//! An arena holds what its sweep dropped, up to 256 arrays, and lends the one that came back last
//! first. It takes no lock unless it has nothing that fits, or is full.
//!
//! - An arena serves one thread: it holds a `RefCell`, so it is not `Sync`.
//! - A sweep's leftovers come home however the sweep ends: the flush is the arena's `Drop`, and
//!   no [`Grad`] outlives its arena.
//! - Empty arrays never touch the pool, and neither do arrays over its ceiling.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use pool_core::{
    Block, Bounded, Class as _, Counters, Discarded, ElementClass, Exact, Found, Refusal,
    Retention, Shelf, State,
};

use crate::GradPool;
use crate::element::{Element, Factor};
use crate::grad::Grad;
use crate::kernels::{self, LengthError};
use crate::limits::ARENA;

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
    shelf: Shelf<ElementClass, Block, Bounded, Exact<ElementClass>>,
    state: State,
}

impl Front {
    pub(crate) fn new(state: State) -> Self {
        Self {
            shelf: Shelf::new(ARENA, Exact::default()),
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

    /// Moves every array out.
    #[inline]
    pub(crate) fn pour(&mut self, each: impl FnMut(ElementClass, Block)) {
        self.shelf.pour(each);
    }
}

/// What a borrower is promised about the contents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contents {
    Zeroed,
    Unspecified,
    /// Unspecified, and this crate itself overwrites every element.
    Overwritten,
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
        self.lend(len, Contents::Zeroed)
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
        self.lend(len, Contents::Unspecified)
    }

    /// Borrows an array with a copy of `source`.
    ///
    /// # Panics
    ///
    /// If memory for a new array can not be had.
    #[inline]
    pub fn copy_of<T: Element>(&self, source: &[T]) -> Grad<'_, T, P> {
        let mut grad = self.lend(source.len(), Contents::Overwritten);
        kernels::copy(&mut grad, source);
        grad
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
        let mut grad = self.lend(source.len(), Contents::Overwritten);
        for (element, &first) in grad.iter_mut().zip(source) {
            *element = alpha.times(first);
        }
        grad
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
        let mut grad = self.lend(len, Contents::Overwritten);
        kernels::fill(&mut grad, value);
        grad
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

    /// The one way out: every door comes here.
    #[inline]
    fn lend<T: Element>(&self, len: usize, contents: Contents) -> Grad<'_, T, P> {
        let mut rides = true;
        let data = self.fetch(len, contents, &mut rides);
        Grad::new(data, rides.then_some(self))
    }

    /// An array of `len` elements. Clears `rides` when it does not ride the pool.
    #[inline(never)]
    fn fetch<T: Element>(&self, len: usize, contents: Contents, rides: &mut bool) -> Box<[T]> {
        let tier = self.tier.as_ref().filter(|_| len > 0);
        let found = tier.map_or(Found::Bypass, |tier| tier.take::<T>(len, contents));
        if let Found::Hit(mut data) = found {
            prepare(&mut data, contents);
            return data;
        }
        *rides = matches!(found, Found::Miss);
        let mut data = allocated(len);
        #[cfg(feature = "huge-pages")]
        if let Some(tier) = tier.filter(|_| *rides) {
            tier.pool.huge_pages().advise(&mut data);
        }
        poison(&mut data, contents);
        data
    }

    /// The one way back, for an array that rode the pool.
    #[inline(never)]
    pub(crate) fn take_back<T: Element>(&self, data: Box<[T]>) {
        // It can not be missing, as only an array that rides a tier has a way back.
        if let Some(tier) = &self.tier {
            tier.give(data);
        }
    }

    /// Counts an array that left for good.
    pub(crate) fn let_go(&self) {
        if let Some(tier) = &self.tier {
            tier.pool.let_go();
        }
    }
}

impl<P: Retention> Tier<P> {
    /// Looks for an array here, then behind.
    #[inline]
    fn take<T: Element>(&self, len: usize, contents: Contents) -> Found<Box<[T]>> {
        let class = ElementClass::of::<T>(len);
        let now = self.pool.state();
        let mut front = self.front.borrow_mut();
        front.renew(now);
        if !now.is_on() || self.pool.is_over_ceiling(len) {
            front.counters().bypass();
            return Found::Bypass;
        }
        let found = match front.shelf.try_take_with(class, retyped) {
            Some(data) => Found::Hit(data),
            None => self.look_behind(class),
        };
        if contents == Contents::Zeroed && !matches!(found, Found::Bypass) {
            front.counters().zeroed(class.bytes());
        }
        found
    }

    /// Asks the shared tier, under its lock.
    #[cold]
    #[inline(never)]
    fn look_behind<T: Element>(&self, class: ElementClass) -> Found<Box<[T]>> {
        match self.pool.request(class) {
            Found::Hit(block) => Found::Hit(retyped(block)),
            Found::Miss => Found::Miss,
            Found::Bypass => Found::Bypass,
        }
    }

    /// Takes an array back here, or hands it on to the shared tier.
    #[inline]
    fn give<T: Element>(&self, data: Box<[T]>) {
        let class = ElementClass::of::<T>(data.len());
        let now = self.pool.state();
        let mut front = self.front.borrow_mut();
        front.renew(now);
        if !now.is_on() {
            front.counters().refuse(Refusal::SwitchedOff);
            return;
        }
        if let Err(refused) = front.shelf.try_keep(class, || erased(data)) {
            self.pool.take_back(class, refused());
        }
    }
}

/// An array without its element type.
#[inline]
pub(crate) fn erased<T: Element>(data: Box<[T]>) -> Block {
    let Ok(block) = Block::from_slice(data) else {
        unreachable!("the four element types can be erased");
    };
    block
}

/// A new array of zeros, which come from the allocator.
#[cold]
#[inline(never)]
fn allocated<T: Element>(len: usize) -> Box<[T]> {
    bytemuck::allocation::try_zeroed_slice_box(len)
        .unwrap_or_else(|()| panic!("no memory for {len} elements of {} bytes", size_of::<T>()))
}

/// A retained array with its element type.
#[inline]
fn retyped<T: Element>(block: Block) -> Box<[T]> {
    block
        .into_slice()
        .expect("a class holds arrays of one element type")
}

/// Makes a retained array ready for its next borrower.
#[inline]
fn prepare<T: Element>(data: &mut [T], contents: Contents) {
    if contents == Contents::Zeroed {
        bytemuck::fill_zeroes(data);
    }
    poison(data, contents);
}

/// Makes unspecified contents visible as such, where that costs no release build anything.
#[inline]
fn poison<T: Element>(data: &mut [T], contents: Contents) {
    if cfg!(debug_assertions) && contents == Contents::Unspecified {
        // All bits set are a NaN in each element type.
        bytemuck::cast_slice_mut::<T, u8>(data).fill(0xFF);
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
