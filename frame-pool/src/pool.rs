//! The pool: handles, presets, the switch, and the doors that lend.
//!
//! A [`FramePool`] is a handle; clones share one pool. Frames hold the shared state too, so that
//! they can come home after the last handle is gone; the pool is then off, holds nothing and frees
//! them.
//!
//! A new buffer is exactly as long as the request: best fit lets nearby lengths share already, and a
//! rounded buffer could pass the ceiling that its request kept to.

use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, OnceLock};

use pool_core::tenancy::Place;
use pool_core::{BestFit, Bounded, Found, Retention, Stats, WhenFull};

use crate::frame::Frame;
use crate::home::Home;
use crate::read;

/// A pool of payload buffers, shared by its clones.
///
/// # Examples
///
/// ```
/// use frame_pool::{Bounded, FramePool};
///
/// // At most a mebibyte in all, whatever the number of buffers.
/// let pool = FramePool::new(Bounded { pool_bytes: 1 << 20, ..Bounded::UNLIMITED });
/// drop(pool.take(1 << 20));
/// assert_eq!(pool.stats().held_bytes, 1 << 20);
/// drop(pool.take(100)); // a miss: the large buffer would waste too much
/// assert_eq!(pool.stats().held_bytes, 1 << 20);
/// ```
pub struct FramePool<P: Retention + 'static = Bounded>(Arc<Owner<P>>);

/// What the handles share and the frames do not: dropped with the last handle.
struct Owner<P: Retention + 'static> {
    home: Arc<Home<P>>,
    /// Rings as it is dropped: threads look for the tiers of pools that are gone.
    _bell: Place,
}

impl<P: Retention + 'static> Drop for Owner<P> {
    fn drop(&mut self) {
        // Frees what is held now, and each frame that is still out when it comes back.
        self.home.close();
    }
}

impl FramePool {
    /// A request is served by a buffer of up to this many times its length, unless
    /// [`with_fit`](Self::with_fit) says otherwise.
    pub const WASTE: usize = 4;

    /// The limits of the default pool: 64 MiB in all, 16 MiB in one buffer, 1024 buffers of at most
    /// 256 capacities. When full, the capacities used least recently make room, so that yesterday's
    /// lengths do not keep today's out.
    pub const LIMITS: Bounded = Bounded {
        buffer_bytes: 16 << 20,
        pool_buffers: 1024,
        pool_bytes: 64 << 20,
        classes: 256,
        when_full: WhenFull::Evict,
        ..Bounded::UNLIMITED
    };

    /// Makes a pool with tight limits: 32 buffers of up to 1 MiB, and no eviction.
    ///
    /// A burst of 32 tiny frames fills it until it is [cleared](Self::clear); the
    /// [default](Self::LIMITS) recovers by itself.
    #[must_use]
    pub fn conservative() -> Self {
        let limits = Bounded {
            buffer_bytes: 1 << 20,
            pool_buffers: 32,
            ..Bounded::UNLIMITED
        };
        Self::without_tiers(limits, BestFit::within(Self::WASTE))
    }

    /// The pool of the whole process, made on first use within the [default limits](Self::LIMITS).
    #[must_use]
    pub fn global() -> &'static Self {
        static GLOBAL: OnceLock<FramePool> = OnceLock::new();
        GLOBAL.get_or_init(Self::default)
    }
}

impl Default for FramePool {
    /// Makes a pool within [`FramePool::LIMITS`].
    fn default() -> Self {
        Self::new(Self::LIMITS)
    }
}

impl<P: Retention + 'static> FramePool<P> {
    /// Makes an empty pool under `policy`, with a waste factor of [`FramePool::WASTE`].
    #[must_use]
    pub fn new(policy: P) -> Self {
        Self::with_fit(policy, BestFit::within(FramePool::WASTE))
    }

    /// Makes an empty pool under `policy` whose requests find buffers by `fit`.
    ///
    /// # Examples
    ///
    /// ```
    /// use frame_pool::{BestFit, FramePool};
    ///
    /// let exact = FramePool::with_fit(FramePool::LIMITS, BestFit::within(1));
    /// drop(exact.take(100));
    /// drop(exact.take(99));
    /// assert_eq!(exact.stats().hits, 0);
    /// ```
    #[must_use]
    pub fn with_fit(policy: P, fit: BestFit) -> Self {
        Self::make(policy, fit, true)
    }

    /// Makes an empty pool under `policy`, whose requests find buffers by `fit`, that takes its lock
    /// for every frame.
    ///
    /// [`new`](Self::new) lets each thread have a few places of its own, if the policy
    /// [is memoryless](Retention::is_memoryless): they count for the policy while their thread may
    /// put buffers there, so another thread may be refused what one pool of so few buffers could
    /// still hold. Here the bounds can be used up to the last buffer from any thread.
    #[must_use]
    pub fn without_tiers(policy: P, fit: BestFit) -> Self {
        Self::make(policy, fit, false)
    }

    fn make(policy: P, fit: BestFit, tiered: bool) -> Self {
        Self(Arc::new(Owner {
            home: Arc::new(Home::new(policy, fit, tiered)),
            _bell: Place::find(),
        }))
    }

    /// Lends `len` bytes whose contents are unspecified: zeros, or what an earlier borrower left.
    ///
    /// In builds with debug assertions they read 0xFF, so that a reader of what it did not write
    /// is caught. An empty frame never touches the pool.
    ///
    /// # Panics
    ///
    /// When `len` is above `isize::MAX`. [`Self::read_from`] is the door for lengths that a peer
    /// announced.
    #[inline]
    pub fn take(&self, len: usize) -> Frame<P> {
        let mut frame = self.lend(len);
        if frame.len() < len {
            frame.supply(zeros(len));
        }
        frame.poison();
        frame
    }

    /// Lends a frame that holds a copy of `payload`.
    #[inline]
    pub fn copy_of(&self, payload: &[u8]) -> Frame<P> {
        let mut frame = self.lend(payload.len());
        if frame.len() < payload.len() {
            frame.supply(payload.into());
        } else {
            frame.copy_from_slice(payload);
        }
        frame
    }

    /// Lends a frame and reads exactly `len` bytes into it.
    ///
    /// Memory that the pool does not hold yet is allocated as the bytes arrive: at first
    /// [`READ_STEP`](crate::READ_STEP) at most, then never more than twice what came. A header
    /// that announces more than its sender delivers costs no more than that.
    ///
    /// # Errors
    ///
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) when the stream ends before `len` bytes,
    /// [`OutOfMemory`](io::ErrorKind::OutOfMemory) when a buffer can not grow, and what the reader
    /// reports. The buffer goes home in each case.
    pub fn read_from<R: Read + ?Sized>(&self, reader: &mut R, len: usize) -> io::Result<Frame<P>> {
        let mut frame = self.lend(len);
        if frame.len() < len {
            frame.supply_with(|bytes| read::grow(bytes, reader, len))?;
        } else {
            read::fill(&mut frame, reader)?;
        }
        Ok(frame)
    }

    /// Lends a retained buffer of `len` bytes, or an empty frame whose buffer is to be supplied.
    ///
    /// The guard is made here, in the caller's frame, as a guard that was returned would go
    /// through memory in pieces.
    #[inline]
    fn lend(&self, len: usize) -> Frame<P> {
        let mut home = None;
        let data = self.fetch(len, &mut home);
        let len = len.min(data.len());
        Frame::new(data, len, home)
    }

    /// A retained buffer of at least `len` bytes, or an empty one. Says where it belongs if it
    /// rides the pool.
    #[inline(never)]
    fn fetch(&self, len: usize, home: &mut Option<Arc<Home<P>>>) -> Box<[u8]> {
        let here = &self.0.home;
        if len == 0 {
            return Box::default();
        }
        // A hit comes out beside the answer, so that it needs no place in memory on the way.
        let mut data = Box::default();
        let at_hand = here.at_hand(len, |buffer, whose| {
            data = buffer;
            *home = Some(whose);
        });
        if at_hand {
            return data;
        }
        match here.request(len) {
            Found::Hit(parcel) => {
                *home = Some(parcel.home);
                parcel.data
            }
            Found::Miss => {
                *home = Some(Arc::clone(here));
                Box::default()
            }
            Found::Bypass => Box::default(),
        }
    }

    /// Frees every retained buffer, and goes on recycling.
    ///
    /// What another thread has in places of its own serves nobody from now on; it is freed, and is
    /// counted as held until then, when that thread next touches the pool, or ends.
    ///
    /// A frame that is out is not retained, so it is not given up: it comes back as usual.
    pub fn clear(&self) {
        self.0.home.clear();
    }

    /// Tells the policy that a round ended, and frees what it gives up.
    ///
    /// What a round is, the caller knows: a batch, a tick, an idle moment. Only policies that give
    /// memory back after quiet rounds, as [`Decaying`](crate::Decaying), do anything then. Linear in
    /// the number of capacities and in what is given up.
    ///
    /// # Examples
    ///
    /// ```
    /// use frame_pool::{Decaying, FramePool};
    ///
    /// let pool = FramePool::new(Decaying {
    ///     quiet_rounds: 1,
    ///     share: 1,
    ///     inner: FramePool::LIMITS,
    /// });
    /// drop(pool.take(4096));
    /// pool.end_round(); // it was taken in this round
    /// assert_eq!(pool.stats().held_buffers, 1);
    /// pool.end_round(); // nobody wanted it in this one
    /// assert_eq!(pool.stats().held_buffers, 0);
    /// ```
    pub fn end_round(&self) {
        self.0.home.end_round();
    }

    /// Turns recycling on or off, for every handle and thread at once.
    ///
    /// Off means plain allocation, which takes no lock. Turning it off frees what is retained, as
    /// [`clear`](Self::clear) does. A
    /// frame that is out meanwhile is ruled on when it comes back: off, it is freed, and counts as
    /// refused for [`Refusal::SwitchedOff`](crate::Refusal::SwitchedOff).
    pub fn set_enabled(&self, on: bool) {
        self.0.home.set_enabled(on);
    }

    /// Whether the pool recycles.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.0.home.is_enabled()
    }

    /// Reads the statistics. A thread's hit in a place of its own does not wait for it; its next
    /// visit to what the threads share may, for as long as it takes to add their counts up.
    ///
    /// What is held is exact at every moment; the counts fit together when no call is under way.
    /// `classes` and the high-water marks include places that were granted to a thread for buffers
    /// that it had out, so a mark may be above what was ever retained, and never above the bounds.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.0.home.stats()
    }
}

/// A new buffer.
#[cold]
#[inline(never)]
fn zeros(len: usize) -> Box<[u8]> {
    vec![0; len].into_boxed_slice()
}

impl<P: Retention + 'static> Clone for FramePool<P> {
    /// Makes another handle to the same pool.
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Retention + 'static> fmt::Debug for FramePool<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FramePool")
            .field("enabled", &self.is_enabled())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
