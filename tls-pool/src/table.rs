//! One thread's shelves, one for each pool that the thread touched.
//!
//! The table is a `thread_local!` indexed by a small number that each pool has while it lives; a
//! serial number beside it tells a pool from an earlier one with the same index. The table does
//! not know policies: a shelf stands in it as a [`Tenant`].
//!
//! - Nothing panics in a thread that is ending: the table is reached by `try_with` only, and a
//!   caller that gets `None` treats its buffer as an ordinary allocation.
//! - Nothing panics on re-entry: a policy or a destructor that calls into a pool while the table
//!   is in use gets `None` too.
//! - A dropped pool's shelf is freed when its thread next touches *any* pool, or ends: [`CLOSED`]
//!   counts pools that are gone, and one load tells a table that it missed some.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::tenant::Tenant;

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
        // Release, against the Acquire in `Table::tenant`: a table that sees this count also sees
        // that the pool has no handle left.
        CLOSED.fetch_add(1, Ordering::Release);
    }
}

/// Shelves by the index of their pool.
struct Table {
    tenants: Vec<Option<(u64, Box<dyn Tenant>)>>,
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

    /// The tenant at `place`, moved in by `make` if there is none yet.
    #[inline]
    fn tenant(&mut self, place: &Place, make: impl FnOnce() -> Box<dyn Tenant>) -> &mut dyn Tenant {
        let closed = CLOSED.load(Ordering::Acquire);
        if closed != self.closed {
            self.closed = closed;
            self.evict_orphans();
        }
        let settled = self
            .tenants
            .get(place.index)
            .and_then(Option::as_ref)
            .is_some_and(|(serial, _)| *serial == place.serial);
        if !settled {
            self.settle(place, make());
        }
        let Some((_, tenant)) = &mut self.tenants[place.index] else {
            unreachable!("the tenant has just moved in")
        };
        &mut **tenant
    }

    /// Moves a tenant in, and an earlier one out.
    #[cold]
    fn settle(&mut self, place: &Place, tenant: Box<dyn Tenant>) {
        if self.tenants.len() <= place.index {
            self.tenants.resize_with(place.index + 1, || None);
        }
        if let Some((_, earlier)) = self.tenants[place.index].replace((place.serial, tenant)) {
            earlier.close();
        }
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
pub(crate) fn with<R>(
    place: &Place,
    make: impl FnOnce() -> Box<dyn Tenant>,
    work: impl FnOnce(&mut dyn Tenant) -> R,
) -> Option<R> {
    let result = TABLE.try_with(|table| {
        let mut table = table.try_borrow_mut().ok()?;
        Some(work(table.tenant(place, make)))
    });
    result.ok().flatten()
}

/// Calls `work` with this thread's shelf of the pool at `place`, if there is one.
pub(crate) fn with_settled<R>(place: &Place, work: impl FnOnce(&mut dyn Tenant) -> R) -> Option<R> {
    let result = TABLE.try_with(|table| {
        let mut table = table.try_borrow_mut().ok()?;
        match table.tenants.get_mut(place.index)? {
            Some((serial, tenant)) if *serial == place.serial => Some(work(&mut **tenant)),
            _ => None,
        }
    });
    result.ok().flatten()
}
