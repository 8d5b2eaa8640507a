//! One thread's buffers of one pool: what a frame is lent from without a lock.
//!
//! A lock that two threads want costs more than all else that a frame does, so a thread visits the
//! shared shelf for several frames at once. Its [`Tier`] has *places* that the pool's policy granted
//! under the lock; a buffer that is lent from a place may come back to it without asking again. A
//! thread that only takes fetches up to [`BATCH`] buffers per visit; one that only drops asks for up
//! to [`BATCH`] places, fills them, and hands the buffers on when all are full. Visits begin with one
//! place and double, so that a thread with one frame has one place.
//!
//! What else was tried, per frame with the channel's own cost, on two threads of a loaded machine,
//! so that only the order counts: at 1 KiB these tiers 93 ns, a lock-free queue of one length 109, one
//! lock around the shelf 315, plain allocation 504; at 16 KiB 95, 74, 450, 433; at 64 KiB 94, 97, 3670,
//! 4447. `cargo xtask bench pools --filter frame/across` measures the same beside each other.
//!
//! - The bounds hold exactly: what lies in a tier lies in a place that the policy counts, and a
//!   place is given up at the next visit for its class when its buffer did not come back.
//! - Nothing is refused, evicted or missed while this thread has spare places or buffers: the tier
//!   is [poured](Tier::pour) onto the shelf first.
//! - No thread serves a hit from before the pool was cleared or switched: each call brings the state
//!   of the switch, under the lock once more for a visit.
//! - The counters have one writer, the thread; whoever sums them up holds the home's lock, under
//!   which alone buffers move between a tier and the shelf, so none is counted twice.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use pool_core::tenancy::{self, Table, Tenant};
use pool_core::{Bounded, Counters, Discarded, Found, Refusal, Retention, State, Stats};

use crate::home::{Home, Parcel, Shared};

/// Most places of one class that one visit asks for.
const BATCH: usize = 16;

/// Larger buffers are not worth a place: writing one costs more than the lock.
const BUFFER_BYTES: usize = 64 << 10;

/// Bytes of the places of one tier, and classes, at which a visit pours it first.
const TIER_BYTES: usize = 1 << 20;
const CLASSES: usize = 32;

#[cfg(not(loom))]
thread_local! {
    static TABLE: RefCell<Table<Tier<Bounded>>> = const { RefCell::new(Table::new()) };
}

#[cfg(loom)]
loom::thread_local! {
    static TABLE: RefCell<Table<Tier<Bounded>>> = RefCell::new(Table::new());
}

/// A thread's places of one class.
struct Rack<P: Retention> {
    class: usize,
    stack: Vec<Parcel<P>>,
    /// Places, with their buffers here or out.
    places: usize,
    batch: usize,
}

/// One thread's places of one pool.
pub(crate) struct Tier<P: Retention> {
    home: Arc<Home<P>>,
    state: State,
    racks: Vec<Rack<P>>,
    recent: usize,
    counters: Arc<Counters>,
}

/// Calls `work` with this thread's tier of `home`; `None` if it can have none, as when it is ending.
#[inline]
pub(crate) fn with<P: Retention + 'static, R>(
    home: &Arc<Home<P>>,
    work: impl FnOnce(&mut Tier<P>) -> R,
) -> Option<R> {
    tenancy::with(&TABLE, home.place(), || Tier::arrive(home), work)
}

/// Gives a buffer to this thread's tier of its home, which may be new. `false` says that it can have
/// none: the buffer is still there.
#[inline]
pub(crate) fn give<P: Retention + 'static>(parcel: &mut Option<Parcel<P>>) -> bool {
    let Some(key) = parcel.as_ref().map(|parcel| parcel.home.place().key()) else {
        return false;
    };
    let given = tenancy::with_key(&TABLE, key, |tier| give_to(tier, parcel));
    given.is_some() || give_to_new(parcel)
}

#[inline]
fn give_to<P: Retention>(tier: &mut Tier<P>, parcel: &mut Option<Parcel<P>>) {
    if let Some(parcel) = parcel.take() {
        tier.give(parcel);
    }
}

#[cold]
#[inline(never)]
fn give_to_new<P: Retention + 'static>(parcel: &mut Option<Parcel<P>>) -> bool {
    let Some(home) = parcel.as_ref().map(|parcel| Arc::clone(&parcel.home)) else {
        return false;
    };
    with(&home, |tier| give_to(tier, parcel)).is_some()
}

/// Calls `work` with this thread's tier of `home`, if it has one.
pub(crate) fn with_settled<P: Retention + 'static, R>(
    home: &Home<P>,
    work: impl FnOnce(&mut Tier<P>) -> R,
) -> Option<R> {
    tenancy::with_settled(&TABLE, home.place(), work)
}

impl<P: Retention> Tier<P> {
    #[cold]
    fn arrive(home: &Arc<Home<P>>) -> Self {
        let counters = Arc::new(Counters::default());
        home.lock().list(&counters);
        Self {
            home: Arc::clone(home),
            state: home.state(),
            racks: Vec::new(),
            recent: 0,
            counters,
        }
    }

    /// Takes a buffer of exactly `len` bytes from the rack that was used last, where nearly every
    /// request finds one.
    #[inline]
    pub(crate) fn at_hand(&mut self, len: usize) -> Option<Parcel<P>> {
        if self.home.state() != self.state {
            return None;
        }
        let rack = self.racks.get_mut(self.recent)?;
        if rack.class != len {
            return None;
        }
        let Parcel { data, home } = rack.stack.pop()?;
        self.counters.lend(len);
        Some(Parcel { data, home })
    }

    /// Looks for a buffer of at least `len` bytes in the racks, and then on the shelf.
    #[inline(never)]
    pub(crate) fn take_elsewhere(&mut self, len: usize) -> Found<Parcel<P>> {
        self.renew();
        if !self.state.is_on() {
            self.counters.bypass();
            return Found::Bypass;
        }
        if let Some(at) = self.racks.iter().position(|rack| rack.class == len)
            && let Some(parcel) = self.racks[at].stack.pop()
        {
            self.recent = at;
            self.counters.lend(len);
            return Found::Hit(parcel);
        }
        self.fetch(len)
    }

    /// Visits the shelf for a buffer, and takes more of its class along.
    fn fetch(&mut self, len: usize) -> Found<Parcel<P>> {
        let home = Arc::clone(&self.home);
        let mut shared = home.lock();
        if home.state() != self.state {
            drop(shared);
            return self.take_elsewhere(len);
        }
        if !shared.shelf.policy().admit(len) {
            return shared.shelf.request(len);
        }
        self.make_way(&mut shared, len);
        let found = shared.shelf.try_take(len).or_else(|| {
            self.pour(&mut shared);
            shared.shelf.try_take(len)
        });
        let Some(parcel) = found else {
            return shared.shelf.request(len);
        };
        let class = parcel.data.len();
        if class <= BUFFER_BYTES {
            self.recent = self.rack_of(class);
            let rack = &mut self.racks[self.recent];
            for _ in rack.stack.len()..rack.places {
                shared.release(class);
            }
            rack.places = rack.stack.len();
            // The place of the buffer that is lent now.
            rack.places += usize::from(shared.reserve(class));
            for _ in 1..rack.batch {
                let Some(parcel) = shared.lend(class) else {
                    break;
                };
                self.counters.carry(class);
                rack.stack.push(parcel);
                rack.places += 1;
            }
            rack.batch = (2 * rack.batch).min(BATCH);
            shared.note_peak();
        }
        Found::Hit(parcel)
    }

    /// Takes a buffer back.
    #[inline]
    pub(crate) fn give(&mut self, parcel: Parcel<P>) {
        if self.home.state() == self.state
            && let Some(rack) = self.racks.get_mut(self.recent)
            && rack.class == parcel.data.len()
            && rack.stack.len() < rack.places
        {
            self.counters.regain(rack.class);
            rack.stack.push(parcel);
            return;
        }
        self.give_elsewhere(parcel);
    }

    /// Puts a buffer into another rack, or else onto the shelf.
    #[inline(never)]
    fn give_elsewhere(&mut self, parcel: Parcel<P>) {
        self.renew();
        if !self.state.is_on() {
            self.counters.refuse(Refusal::SwitchedOff);
            return;
        }
        let class = parcel.data.len();
        if let Some(at) = self.racks.iter().position(|rack| rack.class == class)
            && self.racks[at].stack.len() < self.racks[at].places
        {
            self.recent = at;
            self.counters.regain(class);
            self.racks[at].stack.push(parcel);
            return;
        }
        // A guard is dropped here, perhaps while its thread unwinds already.
        let handed_in = panic::catch_unwind(AssertUnwindSafe(|| self.hand_in(parcel)));
        if handed_in.is_err() {
            self.counters.refuse(Refusal::Other);
        }
    }

    /// Visits the shelf with a buffer that has no place here: hands the full rack on, and asks for
    /// new places.
    fn hand_in(&mut self, parcel: Parcel<P>) {
        let home = Arc::clone(&self.home);
        let mut shared = home.lock();
        if home.state() != self.state {
            drop(shared);
            return self.give_elsewhere(parcel);
        }
        let class = parcel.data.len();
        self.make_way(&mut shared, class);
        if class <= BUFFER_BYTES {
            self.recent = self.rack_of(class);
            let rack = &mut self.racks[self.recent];
            for parcel in rack.stack.drain(..) {
                self.counters.hand_on(class);
                shared.restore(class, parcel);
            }
            let mut granted = 0;
            while granted < rack.batch && shared.reserve(class) {
                granted += 1;
            }
            rack.places = granted;
            rack.batch = (2 * rack.batch).min(BATCH);
            if granted > 0 {
                self.counters.regain(class);
                rack.stack.push(parcel);
                shared.note_peak();
                return;
            }
        }
        // Nothing is refused or evicted for the sake of places that are empty here.
        self.pour(&mut shared);
        let given_up = shared.shelf.offer(class, parcel);
        shared.note_peak();
        drop(shared);
        drop(given_up);
    }

    /// The rack of a class, which is made if need be.
    fn rack_of(&mut self, class: usize) -> usize {
        let at = self.racks.iter().position(|rack| rack.class == class);
        at.unwrap_or_else(|| {
            self.racks.push(Rack {
                class,
                stack: Vec::new(),
                places: 0,
                batch: 1,
            });
            self.racks.len() - 1
        })
    }

    /// Pours the tier if it could grow past its bounds in a visit for `class`.
    fn make_way(&mut self, shared: &mut Shared<P>, class: usize) {
        let of = |rack: &Rack<P>| rack.class * rack.places;
        let bytes: usize = self.racks.iter().map(of).sum();
        let full = bytes + class.min(BUFFER_BYTES) > TIER_BYTES;
        let many = self.racks.len() >= CLASSES && self.racks.iter().all(|rack| rack.class != class);
        if full || many {
            self.pour(shared);
        }
        if many {
            self.racks.clear();
        }
    }

    /// Gives every place back, and hands the buffers in them on.
    fn pour(&mut self, shared: &mut Shared<P>) {
        for rack in &mut self.racks {
            for _ in rack.stack.len()..rack.places {
                shared.release(rack.class);
            }
            rack.places = 0;
            for parcel in rack.stack.drain(..) {
                self.counters.hand_on(rack.class);
                shared.restore(rack.class, parcel);
            }
        }
    }

    /// Frees what is from before the switch was last turned, or the pool cleared.
    #[inline]
    pub(crate) fn renew(&mut self) {
        if self.home.state() != self.state {
            self.begin_anew();
        }
    }

    #[cold]
    fn begin_anew(&mut self) {
        self.state = self.home.state();
        let home = Arc::clone(&self.home);
        let mut shared = home.lock();
        let given_up = self.give_up(&mut shared);
        drop(shared);
        drop(given_up);
        self.racks = Vec::new();
    }

    /// Gives every place back, and gives up the buffers in them.
    fn give_up(&mut self, shared: &mut Shared<P>) -> Discarded<Parcel<P>> {
        let mut given_up = Discarded::default();
        for rack in &mut self.racks {
            for _ in 0..rack.places {
                shared.release(rack.class);
            }
            rack.places = 0;
            for parcel in rack.stack.drain(..) {
                self.counters.hand_on(rack.class);
                given_up.push(parcel);
            }
        }
        self.counters.absorb(&Stats {
            cleared: given_up.len() as u64,
            ..Stats::default()
        });
        given_up
    }
}

impl<P: Retention + 'static> Tenant for Tier<P> {
    fn is_orphan(&self) -> bool {
        self.home.is_closed()
    }

    fn close(mut self: Box<Self>) {
        let home = Arc::clone(&self.home);
        let mut shared = home.lock();
        let given_up = if home.state() == self.state && self.state.is_on() {
            self.pour(&mut shared);
            Discarded::default()
        } else {
            self.give_up(&mut shared)
        };
        shared.unlist(&self.counters);
        drop(shared);
        drop(given_up);
    }
}
