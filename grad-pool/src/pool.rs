//! The shared tier: one shelf behind one lock, the switch, the sums.
//!
//! Arenas come here when they have nothing that fits, when they are full, and once when their
//! sweep ends. Leaves come home here from any thread.
//!
//! - Memory is allocated and freed while the lock is open: a request brings a buffer or nothing
//!   out, a return brings out what was refused.
//! - No count is lost: an arena's counters are listed while its tier exists, and its counts move
//!   here when it ends, so the sums are true while arenas live.
//! - No hit is from before a clear: whoever turns the switch then empties the shelf under the
//!   lock, and a return compares the state under the same lock.
//! - A sweep's tier is itself recycled: an arena's index and stacks are used by the next arena.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, LazyLock};

use pool_core::sync::Mutex;
use pool_core::{
    Block, Bounded, Counters, Discarded, Exact, Found, Refusal, Retention, Shelf, State, Stats,
    Switch,
};

use crate::arena::{Arena, Front};
use crate::class::ArrayClass;
#[cfg(feature = "huge-pages")]
use crate::huge::HugePages;
use crate::limits::{CONSERVATIVE, DEFAULT, Elements, Limited};

/// Tiers of ended sweeps that wait, emptied, for the next ones.
const SPARES: usize = 16;

/// A bounded pool of gradient arrays, shared by any number of sweeps. Cloning makes another
/// handle to it.
///
/// # Examples
///
/// ```
/// use grad_pool::GradPool;
///
/// let pool = GradPool::default();
/// for _sweep in 0..2 {
///     let arena = pool.arena();
///     for _node in 0..10 {
///         let mut gradient = arena.zeroed::<f32>(1000);
///         gradient[0] += 1.0;
///     }
/// }
/// assert_eq!((pool.stats().hits, pool.stats().misses), (19, 1));
/// ```
pub struct GradPool<P: Retention = Bounded> {
    shared: Arc<Shared<P>>,
}

/// What the handles of one pool share.
struct Shared<P> {
    switch: Switch,
    vault: Mutex<Vault<P>>,
    /// The shelf's counters, read without its lock; written under it.
    counters: Arc<Counters>,
    tiers: Mutex<Tiers>,
    /// Ceiling of one array, in elements.
    most_elements: usize,
    #[cfg(feature = "huge-pages")]
    huge_pages: HugePages,
}

/// What the lock guards.
struct Vault<P> {
    shelf: Shelf<ArrayClass, Block, Limited<P>, Exact<ArrayClass>>,
    /// The switch's state when it was last looked at under the lock.
    state: State,
    /// Emptied tiers of ended sweeps. Their counters stay listed.
    spare: Vec<Front>,
}

/// Counters of every arena's tier that exists, in use or spare. Locked when a tier is made or
/// given up and by readers of the sums, never by a borrow or a return.
#[derive(Default)]
struct Tiers {
    listed: Vec<Arc<Counters>>,
    /// The largest sums of high-water marks before a tier was unlisted.
    peak_buffers: u64,
    peak_bytes: u64,
}

/// The process-wide pool, under the default bounds.
///
/// # Examples
///
/// ```
/// let arena = grad_pool::global().arena();
/// assert_eq!(*arena.zeroed::<f32>(2), [0.0, 0.0]);
/// ```
#[must_use]
pub fn global() -> &'static GradPool {
    static GLOBAL: LazyLock<GradPool> = LazyLock::new(GradPool::default);
    &GLOBAL
}

impl Default for GradPool {
    /// A pool that holds up to 256 MiB, in at most 4096 arrays of at most 256 classes, and evicts
    /// the class that was used least recently when it is full.
    ///
    /// 256 MiB is the least power of two under which every sweep but the largest of
    /// `cargo run --release -p grad-pool --example default_bound` allocates nothing from its third
    /// time on; those sweeps leave 3 to 241 MiB between them, and the pool holds no more than a
    /// sweep left. Twelve transformer blocks of width 768 leave 1137 MiB: under the default 72 % of
    /// that sweep's borrows are served, under 2 GiB all of them.
    fn default() -> Self {
        Self::new(DEFAULT)
    }
}

impl GradPool {
    /// A pool that holds up to 2^20 elements, of whatever types, and up to 32 arrays of one class.
    ///
    /// Longer arrays bypass it and its arenas. Of the sweeps of the example `default_bound` it
    /// serves one in full, whose arrays are 2.8 MiB together, and 9 to 60 % of the others' borrows.
    /// When it is full it refuses, so one filled with lengths that no sweep asks for any more stays
    /// full of them until it is cleared.
    #[must_use]
    pub fn conservative() -> Self {
        Self::within(CONSERVATIVE, Elements::CONSERVATIVE)
    }
}

impl<P: Retention> GradPool<P> {
    /// Makes a pool whose shared tier retains what `policy` says.
    ///
    /// An arena is bounded by itself: it is private to its sweep, holds up to 256 arrays, and
    /// hands them over when the sweep ends. What the policy does not
    /// [admit](Retention::admit) rides neither.
    #[must_use]
    pub fn new(policy: P) -> Self {
        Self::within(policy, Elements::UNLIMITED)
    }

    fn within(policy: P, elements: Elements) -> Self {
        let shelf = Shelf::new(Limited::new(policy, elements.pool), Exact::default());
        let switch = Switch::default();
        Self {
            shared: Arc::new(Shared {
                counters: Arc::clone(shelf.counters()),
                vault: Mutex::new(Vault {
                    shelf,
                    state: switch.state(),
                    spare: Vec::with_capacity(SPARES),
                }),
                switch,
                tiers: Mutex::default(),
                most_elements: elements.array,
                #[cfg(feature = "huge-pages")]
                huge_pages: HugePages::default(),
            }),
        }
    }

    /// Begins a sweep: a private tier over this pool.
    #[must_use]
    pub fn arena(&self) -> Arena<P> {
        let spare = self.shared.vault.lock().spare.pop();
        let front = spare.unwrap_or_else(|| {
            let front = Front::new(self.state());
            let mut tiers = self.shared.tiers.lock();
            tiers.listed.push(Arc::clone(front.counters()));
            front
        });
        Arena::over(self.clone(), front)
    }

    /// Turns recycling on or off for every sweep at once. Off, a borrow is an ordinary allocation
    /// and a return an ordinary drop.
    ///
    /// The shared tier is emptied now, an arena when its sweep next touches it or ends. An array
    /// that comes back while the pool is off is freed.
    pub fn set_enabled(&self, on: bool) {
        self.shared.switch.set(on);
        self.renew();
    }

    /// Whether the pool recycles.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.state().is_on()
    }

    /// Turns huge pages on or off for the arrays of 2 MiB and more that this pool's sweeps make
    /// from now on; off at first.
    ///
    /// On Linux such an array is advised (`MADV_HUGEPAGE`) before it is touched, at no change to
    /// what it is: one ordinary allocation. If the kernel refuses the advice nothing else changes,
    /// and on other systems this has no effect.
    ///
    /// A pass over 64 MiB that was just made took 8.4 ms instead of 37, and later ones 0.8 to 0.9
    /// of the time (AMD EPYC, Linux 6.18; the command is `cargo run --release -p grad-pool
    /// --features huge-pages --example huge_pages`). Memory is used in steps of 2 MiB.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = grad_pool::GradPool::default();
    /// pool.set_huge_pages(true);
    /// let large = pool.arena().zeroed::<f64>(1 << 18).detach(); // a plain `Vec`, as ever
    /// assert_eq!(large.len(), 1 << 18);
    /// ```
    #[cfg(feature = "huge-pages")]
    pub fn set_huge_pages(&self, on: bool) {
        self.shared.huge_pages.set(on);
    }

    /// Gives every retained array up, and keeps recycling.
    ///
    /// The shared tier is emptied now, an arena when its sweep next touches it or ends. An array
    /// that is out is not retained, so it is not given up: it comes back as usual.
    pub fn clear(&self) {
        self.shared.switch.begin_epoch();
        self.renew();
    }

    /// Tells the policy that a round ended, and frees what it gives up.
    ///
    /// A round is what the caller says it is, as a sweep or a training step. Policies that watch
    /// rounds, as [`Decaying`](crate::Decaying), give memory back after some of them; the default
    /// one does not. What arenas hold is not looked at, so a round ends best between sweeps.
    ///
    /// # Examples
    ///
    /// ```
    /// use grad_pool::{Bounded, Decaying, GradPool};
    ///
    /// let pool = GradPool::new(Decaying {
    ///     quiet_rounds: 1,
    ///     share: 1,
    ///     inner: Bounded::UNLIMITED,
    /// });
    /// drop(pool.arena().zeroed::<f32>(100));
    /// pool.end_round(); // the round that the array came back in
    /// pool.end_round(); // one that nobody asked for it in
    /// assert_eq!(pool.stats().held_buffers, 0);
    /// ```
    pub fn end_round(&self) {
        let given_up = {
            let mut vault = self.shared.vault.lock();
            (vault.renew(self.state()), vault.shelf.end_round())
        };
        drop(given_up);
    }

    /// The sum over the shared tier and all arenas, ended ones included, without stopping any
    /// borrow or return.
    ///
    /// Each counter is exact when no call into the pool is under way. The high-water marks are
    /// sums over the tiers that existed together, so they are upper bounds.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.tiers.lock().total(&self.shared.counters)
    }

    /// The switch's state now.
    #[inline]
    pub(crate) fn state(&self) -> State {
        self.shared.switch.state()
    }

    /// Whether new arrays are to be advised.
    #[cfg(feature = "huge-pages")]
    pub(crate) fn huge_pages(&self) -> &HugePages {
        &self.shared.huge_pages
    }

    /// Whether an array of so many elements is over the pool's ceiling.
    #[inline]
    pub(crate) fn is_over_ceiling(&self, len: usize) -> bool {
        len > self.shared.most_elements
    }

    /// Looks for an array in the shared tier.
    pub(crate) fn request(&self, class: ArrayClass) -> Found<Block> {
        let mut stale = None;
        let found = {
            let mut vault = self.shared.vault.lock();
            let now = self.state();
            if vault.state != now {
                stale = vault.renew(now);
            }
            vault.request(class)
        };
        drop(stale);
        found
    }

    /// Takes back an array.
    pub(crate) fn take_back(&self, class: ArrayClass, block: Block) {
        let freed = {
            let mut vault = self.shared.vault.lock();
            // A guard is dropped here, perhaps while its thread unwinds already: a policy that
            // panics must not take the process along.
            let taken = panic::catch_unwind(AssertUnwindSafe(|| {
                let stale = vault.renew(self.state());
                (stale, vault.take_back(class, block))
            }));
            if taken.is_err() {
                self.shared.counters.refuse(Refusal::Other);
            }
            taken
        };
        drop(freed);
    }

    /// Counts an array that left for good.
    pub(crate) fn let_go(&self) {
        self.shared.counters.detach();
    }

    /// Ends a sweep: takes over what its tier holds and counted, under one lock.
    pub(crate) fn absorb(&self, front: Front) {
        let counters = Arc::clone(front.counters());
        let absorbed = {
            let mut vault = self.shared.vault.lock();
            let absorb = || vault.absorb(front, self.state());
            let absorbed = panic::catch_unwind(AssertUnwindSafe(absorb));
            if absorbed.is_err() {
                // Its policy panicked: what was not handed over is gone.
                counters.abandon();
                self.shared.counters.absorb(&counters.take());
            }
            absorbed
        };
        let surplus = match absorbed {
            Ok((surplus, freed)) => {
                drop(freed);
                surplus.is_some()
            }
            Err(_panic) => true,
        };
        if surplus {
            let mut tiers = self.shared.tiers.lock();
            tiers.unlist(&counters, &self.shared.counters);
        }
    }

    /// Frees what the shared tier holds from before now.
    fn renew(&self) {
        let stale = {
            let mut vault = self.shared.vault.lock();
            vault.renew(self.state())
        };
        drop(stale);
    }
}

/// What a sweep's end brings out of the lock, to be freed where it is open.
struct Freed {
    _stale: [Option<Discarded<Block>>; 2],
    refused: Vec<Block>,
}

impl<P: Retention> Vault<P> {
    /// Gives up what is from before `now`.
    fn renew(&mut self, now: State) -> Option<Discarded<Block>> {
        if self.state == now {
            return None;
        }
        self.state = now;
        self.shelf.policy_mut().emptied();
        Some(self.shelf.clear())
    }

    fn request(&mut self, class: ArrayClass) -> Found<Block> {
        if !self.state.is_on() {
            self.shelf.counters().bypass();
            return Found::Bypass;
        }
        let found = self.shelf.request(class);
        if matches!(found, Found::Hit(_)) {
            self.shelf.policy_mut().lent(class.len());
        }
        found
    }

    fn take_back(&mut self, class: ArrayClass, block: Block) -> Result<Discarded<Block>, Block> {
        if self.state.is_on() {
            self.shelf.policy_mut().offering(class.len());
            Ok(self.shelf.offer(class, block))
        } else {
            self.shelf.counters().refuse(Refusal::SwitchedOff);
            Err(block)
        }
    }

    /// Takes over a tier's counts and arrays, and the emptied tier too if it may wait here.
    fn absorb(&mut self, mut front: Front, now: State) -> (Option<Front>, Freed) {
        let mut freed = Freed {
            _stale: [self.renew(now), front.expel(now)],
            refused: Vec::new(),
        };
        self.shelf.counters().absorb(&front.counters().take());
        front.pour(|class, blocks| {
            self.shelf.policy_mut().offering(class.len());
            self.shelf
                .restock(class, blocks, |block| freed.refused.push(block));
        });
        if self.spare.len() < SPARES {
            self.spare.push(front);
            (None, freed)
        } else {
            (Some(front), freed)
        }
    }
}

impl Tiers {
    /// The sum over the shared tier and the arenas' tiers.
    fn total(&self, shared: &Counters) -> Stats {
        let listed: Stats = self.listed.iter().map(|counters| counters.snapshot()).sum();
        let mut total = listed + shared.snapshot();
        total.peak_buffers = total.peak_buffers.max(self.peak_buffers);
        total.peak_bytes = total.peak_bytes.max(self.peak_bytes);
        total
    }

    /// Forgets an emptied tier whose counts were absorbed.
    fn unlist(&mut self, counters: &Arc<Counters>, shared: &Counters) {
        let marks = self.total(shared);
        self.peak_buffers = marks.peak_buffers;
        self.peak_bytes = marks.peak_bytes;
        self.listed.retain(|listed| !Arc::ptr_eq(listed, counters));
    }
}

impl<P: Retention> Clone for GradPool<P> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<P: Retention> fmt::Debug for GradPool<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GradPool")
            .field("enabled", &self.is_enabled())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
