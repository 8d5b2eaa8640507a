//! One thread's shelves, one for each pool that the thread touched.
//!
//! The table is a `thread_local!` indexed by a small number that each pool has while it lives; a
//! serial number beside it tells a pool from an earlier one with the same index. A shelf of the
//! default policy stands in the table as itself, so that its type is known without asking it;
//! one of any other policy stands in it as a [`Tenant`].
//!
//! - Nothing panics in a thread that is ending: the table is reached by `try_with` only, and a
//!   caller that gets `None` treats its buffer as an ordinary allocation.
//! - Nothing panics on re-entry: a policy or a destructor that calls into a pool while the table
//!   is in use gets `None` too.
//! - A dropped pool's shelf is freed when its thread next touches *any* pool, or ends: [`CLOSED`]
//!   counts pools that are gone, and one load tells a table that it missed some.

use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use pool_core::Bounded;

use crate::tenant::Lodger;

/// Pools that are gone, ever.
static CLOSED: AtomicUsize = AtomicUsize::new(0);

/// Pools that were made, ever.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Indices below the highest ever used that no pool has now.
static VACANT: Mutex<Vacant> = Mutex::new(Vacant {
    indices: Vec::new(),
    next: 0,
});

struct Vacant {
    indices: Vec<usize>,
    next: usize,
}

/// Where a pool's shelf stands in every thread's table.
#[derive(Debug)]
pub(crate) struct Place {
    index: usize,
    serial: u64,
}

impl Place {
    /// Finds a place for a new pool.
    pub(crate) fn find() -> Self {
        let mut vacant = VACANT.lock().unwrap_or_else(PoisonError::into_inner);
        let index = vacant.indices.pop().unwrap_or_else(|| {
            vacant.next += 1;
            vacant.next - 1
        });
        let serial = MADE.fetch_add(1, Ordering::Relaxed);
        Self { index, serial }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut vacant = VACANT.lock().unwrap_or_else(PoisonError::into_inner);
        vacant.indices.push(self.index);
        // Release, against the Acquire in `Table::keep_house`: a table that sees this count also sees
        // that the pool has no handle left.
        CLOSED.fetch_add(1, Ordering::Release);
    }
}

/// A shelf as the table sees it, whatever its policy.
///
/// Its own pool knows the type and gets it back by a checked downcast, so that a borrow or return
/// is inlined and no virtual call.
pub(crate) trait Tenant: Any {
    /// Whether the pool is gone.
    fn is_orphan(&self) -> bool;

    /// Leaves the thread: buffers and counts go to the pool, if it is still there.
    fn close(self: Box<Self>);
}

/// A shelf in its thread.
enum Resident {
    /// Of the default policy.
    Bounded(Box<Lodger<Bounded>>),
    /// Of any other.
    Other(Box<dyn Tenant>),
}

impl Resident {
    #[cold]
    fn new<L: Tenant>(lodger: L) -> Self {
        let boxed: Box<dyn Any> = Box::new(lodger);
        match boxed.downcast() {
            Ok(bounded) => Self::Bounded(bounded),
            Err(other) => match other.downcast::<L>() {
                Ok(other) => Self::Other(other),
                Err(_) => unreachable!("it is what it was"),
            },
        }
    }

    /// The shelf as what its own pool knows it to be. The type of a shelf of the default policy is
    /// compared when this is compiled.
    #[inline]
    fn as_own<L: Tenant>(&mut self) -> Option<&mut L> {
        let lodger: &mut dyn Any = match self {
            Self::Bounded(lodger) => return (&mut **lodger as &mut dyn Any).downcast_mut(),
            Self::Other(lodger) => &mut **lodger,
        };
        lodger.downcast_mut()
    }

    fn is_orphan(&self) -> bool {
        match self {
            Self::Bounded(lodger) => lodger.is_orphan(),
            Self::Other(lodger) => lodger.is_orphan(),
        }
    }

    fn close(self) {
        match self {
            Self::Bounded(lodger) => lodger.close(),
            Self::Other(lodger) => lodger.close(),
        }
    }
}

/// Shelves by the index of their pool.
struct Table {
    tenants: Vec<Option<(u64, Resident)>>,
    /// How many pools were gone when orphans were last looked for.
    closed: usize,
}

#[cfg(not(loom))]
thread_local! {
    static TABLE: RefCell<Table> = const { RefCell::new(Table::new()) };
}

#[cfg(loom)]
loom::thread_local! {
    static TABLE: RefCell<Table> = RefCell::new(Table::new());
}

impl Table {
    const fn new() -> Self {
        Self {
            tenants: Vec::new(),
            closed: 0,
        }
    }

    /// The tenant at `place`, if it has moved in.
    #[inline]
    fn find<L: Tenant>(&mut self, place: &Place) -> Option<&mut L> {
        match self.tenants.get_mut(place.index)? {
            Some((serial, tenant)) if *serial == place.serial => tenant.as_own(),
            _ => None,
        }
    }

    /// Looks for orphans if there may be some.
    #[inline]
    fn keep_house(&mut self) {
        let closed = CLOSED.load(Ordering::Acquire);
        if closed != self.closed {
            self.closed = closed;
            self.evict_orphans();
        }
    }

    /// Moves a tenant in, and an earlier one out.
    #[cold]
    #[inline(never)]
    fn settle<L: Tenant>(&mut self, place: &Place, make: impl FnOnce() -> L) -> &mut Resident {
        let tenant = Resident::new(make());
        if self.tenants.len() <= place.index {
            self.tenants.resize_with(place.index + 1, || None);
        }
        let room = &mut self.tenants[place.index];
        if let Some((_, earlier)) = room.take() {
            earlier.close();
        }
        &mut room.insert((place.serial, tenant)).1
    }

    /// Frees the shelves of pools that are gone.
    #[cold]
    fn evict_orphans(&mut self) {
        for place in &mut self.tenants {
            if let Some((_, orphan)) = place.take_if(|(_, tenant)| tenant.is_orphan()) {
                orphan.close();
            }
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        for (_, tenant) in self.tenants.drain(..).flatten() {
            tenant.close();
        }
    }
}

/// Calls `work` with this thread's shelf of the pool at `place`, moved in by `make` if need be.
///
/// `None` says that there is none: the thread is ending, or the call comes from within another.
#[inline]
pub(crate) fn with<L: Tenant, R>(
    place: &Place,
    make: impl FnOnce() -> L,
    work: impl FnOnce(&mut L) -> R,
) -> Option<R> {
    let result = TABLE.try_with(|table| {
        let mut table = table.try_borrow_mut().ok()?;
        table.keep_house();
        let table = &mut *table;
        let tenant = match table.tenants.get_mut(place.index) {
            Some(Some((serial, tenant))) if *serial == place.serial => tenant,
            _ => table.settle(place, make),
        };
        // `work` is called in one place only, so that it is inlined there.
        tenant.as_own().map(work)
    });
    result.ok().flatten()
}

/// Calls `work` with this thread's shelf of the pool at `place`, if there is one.
pub(crate) fn with_settled<L: Tenant, R>(
    place: &Place,
    work: impl FnOnce(&mut L) -> R,
) -> Option<R> {
    let result = TABLE.try_with(|table| table.try_borrow_mut().ok()?.find(place).map(work));
    result.ok().flatten()
}
