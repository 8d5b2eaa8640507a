//! One thread's shelves, one for each pool that the thread touched.
//!
//! A pool that has something of its own in each thread (a shelf, a front tier) keeps it in a
//! [`Table`], which its crate puts into a `thread_local!`. The table is indexed by a small number
//! that each pool has while it lives, its [`Place`]; a serial number beside it tells a pool from an
//! earlier one with the same index. What is of the table's common type `H` stands in it as itself,
//! so that its type is known without asking it; everything else stands in it as a [`Tenant`].
//!
//! - Nothing panics in a thread that is ending: the table is reached by `try_with` only, and a
//!   caller that gets `None` treats its buffer as an ordinary allocation.
//! - Nothing panics on re-entry: a policy or a destructor that calls into a pool while the table
//!   is in use gets `None` too.
//! - A dropped pool's tenant is freed when its thread next touches *any* pool of that table, or
//!   ends: `CLOSED` counts pools that are gone, and one load tells a table that it missed some.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::sync::thread::LocalKey;

/// Pools that are gone, ever.
static CLOSED: AtomicUsize = AtomicUsize::new(0);

/// Pools that were made, ever.
static MADE: AtomicU64 = AtomicU64::new(NOBODY + 1);

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
pub struct Place {
    index: usize,
    serial: u64,
}

/// A [`Place`] by its numbers, for a caller who moves what owns the place meanwhile. It finds nobody
/// once the pool is gone.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    index: usize,
    serial: u64,
}

impl Place {
    /// Finds a place for a new pool.
    #[must_use]
    pub fn find() -> Self {
        let mut vacant = VACANT.lock().unwrap_or_else(PoisonError::into_inner);
        let index = vacant.indices.pop().unwrap_or_else(|| {
            vacant.next += 1;
            vacant.next - 1
        });
        let serial = MADE.fetch_add(1, Ordering::Relaxed);
        Self { index, serial }
    }

    /// The numbers of this place.
    #[must_use]
    #[inline]
    pub const fn key(&self) -> Key {
        Key {
            index: self.index,
            serial: self.serial,
        }
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

/// What a pool has in one thread, as the table sees it.
///
/// Its own pool knows the type and gets it back by a checked downcast, so that a borrow or return
/// is inlined and no virtual call.
pub trait Tenant: Any {
    /// Whether the pool is gone.
    fn is_orphan(&self) -> bool;

    /// Leaves the thread: buffers and counts go to the pool, if it is still there.
    fn close(self: Box<Self>);
}

/// The serial number of no pool.
const NOBODY: u64 = 0;

/// A place in the table: who lives there.
struct Room<H> {
    /// The pool's serial number, or [`NOBODY`].
    serial: u64,
    /// The tenant, if it is of the table's common type.
    common: Option<Box<H>>,
    /// The tenant, if it is of any other.
    other: Option<Box<dyn Tenant>>,
}

impl<H: Tenant> Room<H> {
    const EMPTY: Self = Self {
        serial: NOBODY,
        common: None,
        other: None,
    };

    #[cold]
    fn let_to<L: Tenant>(serial: u64, tenant: L) -> Self {
        let boxed: Box<dyn Any> = Box::new(tenant);
        let (common, other) = match boxed.downcast() {
            Ok(common) => (Some(common), None),
            Err(other) => (None, other.downcast::<L>().ok()),
        };
        Self {
            serial,
            common,
            other: other.map(|other| other as Box<dyn Tenant>),
        }
    }

    /// The tenant as what its own pool knows it to be. The common type is compared when this is
    /// compiled.
    #[inline]
    fn as_own<L: Tenant>(&mut self) -> Option<&mut L> {
        if TypeId::of::<L>() == TypeId::of::<H>() {
            (self.common.as_deref_mut()? as &mut dyn Any).downcast_mut()
        } else {
            (self.other.as_deref_mut()? as &mut dyn Any).downcast_mut()
        }
    }

    fn is_orphan(&self) -> bool {
        self.common
            .as_ref()
            .is_some_and(|tenant| tenant.is_orphan())
            || self.other.as_ref().is_some_and(|tenant| tenant.is_orphan())
    }

    /// Moves the tenant out.
    fn vacate(&mut self) {
        let Self { common, other, .. } = mem::replace(self, Self::EMPTY);
        if let Some(tenant) = common {
            tenant.close();
        }
        if let Some(tenant) = other {
            tenant.close();
        }
    }
}

/// Tenants of one thread by the index of their pool; `H` is the type of most of them.
pub struct Table<H: Tenant> {
    rooms: Vec<Room<H>>,
    /// How many pools were gone when orphans were last looked for.
    closed: usize,
}

impl<H: Tenant> Table<H> {
    /// A table without tenants.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            rooms: Vec::new(),
            closed: 0,
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
    fn settle<L: Tenant>(&mut self, place: &Place, make: impl FnOnce() -> L) -> &mut Room<H> {
        let tenant = make();
        if self.rooms.len() <= place.index {
            self.rooms.resize_with(place.index + 1, || Room::EMPTY);
        }
        let room = &mut self.rooms[place.index];
        room.vacate();
        *room = Room::let_to(place.serial, tenant);
        room
    }

    /// Frees what pools that are gone had here.
    #[cold]
    #[inline(never)]
    fn evict_orphans(&mut self) {
        for room in &mut self.rooms {
            if room.is_orphan() {
                room.vacate();
            }
        }
    }
}

impl<H: Tenant> Default for Table<H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: Tenant> fmt::Debug for Table<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("places", &self.rooms.len())
            .finish_non_exhaustive()
    }
}

impl<H: Tenant> Drop for Table<H> {
    fn drop(&mut self) {
        for mut room in self.rooms.drain(..) {
            room.vacate();
        }
    }
}

/// Calls `work` with this thread's tenant at `place`, moved in by `make` if need be.
///
/// `None` says that there is none: the thread is ending, or the call comes from within another.
#[inline]
pub fn with<H: Tenant, L: Tenant, R>(
    table: &'static LocalKey<RefCell<Table<H>>>,
    place: &Place,
    make: impl FnOnce() -> L,
    work: impl FnOnce(&mut L) -> R,
) -> Option<R> {
    let result = table.try_with(|table| {
        let mut table = table.try_borrow_mut().ok()?;
        table.keep_house();
        let table = &mut *table;
        let room = match table.rooms.get_mut(place.index) {
            Some(room) if room.serial == place.serial => room,
            _ => table.settle(place, make),
        };
        // `work` is called in one place only, so that it is inlined there.
        room.as_own().map(work)
    });
    result.ok().flatten()
}

/// Calls `work` with this thread's tenant at `place`, if there is one.
pub fn with_settled<H: Tenant, L: Tenant, R>(
    table: &'static LocalKey<RefCell<Table<H>>>,
    place: &Place,
    work: impl FnOnce(&mut L) -> R,
) -> Option<R> {
    let result = table.try_with(|table| {
        let mut table = table.try_borrow_mut().ok()?;
        let room = table.rooms.get_mut(place.index)?;
        (room.serial == place.serial).then_some(())?;
        room.as_own().map(work)
    });
    result.ok().flatten()
}

/// Calls `work` with this thread's tenant at the place of `key`, if there is one, after a look for
/// orphans.
#[inline]
pub fn with_key<H: Tenant, L: Tenant, R>(
    table: &'static LocalKey<RefCell<Table<H>>>,
    key: Key,
    work: impl FnOnce(&mut L) -> R,
) -> Option<R> {
    let result = table.try_with(|table| {
        let mut table = table.try_borrow_mut().ok()?;
        table.keep_house();
        let room = table.rooms.get_mut(key.index)?;
        (room.serial == key.serial).then_some(())?;
        room.as_own().map(work)
    });
    result.ok().flatten()
}
