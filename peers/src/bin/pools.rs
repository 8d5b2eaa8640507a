//! Other crates' shared pools, each in the way that its documentation shows.
//!
//! They know no classes: each case that asks for sixteen has sixteen of them, chosen by index.
//! What comes back is neither reset nor checked.

use std::ops::{Deref, DerefMut};
use std::process::ExitCode;

use bench::lender::{Class, Lender};
use bench::pools::tls;
use bench::{Case, Side};
use lockfree_object_pool::{LinearObjectPool, LinearReusable};
use opool::{PoolAllocator, RefGuard};
use sharded_slab::Clear;

/// Pools for so many classes.
const CLASSES: usize = 16;

/// Buffers that a pool of bounded size holds.
const HELD: usize = 128;

fn main() -> ExitCode {
    let packages = [
        "opool",
        "object-pool",
        "lockfree-object-pool",
        "sharded-slab",
    ];
    peers::serve(&packages, || {
        let specs = tls::pair_specs();
        let sides = specs.iter().flat_map(|spec| {
            let case = |side: Side| Case::new(&spec.name, "", side);
            let lens = spec.lens();
            [
                case(spec.side("opool", {
                    let lens = lens.clone();
                    move || Opool::new(&lens)
                })),
                case(spec.side("object-pool", {
                    let lens = lens.clone();
                    move || ObjectPool::new(&lens)
                })),
                case(spec.side("lockfree-object-pool", {
                    let lens = lens.clone();
                    move || LockfreeObjectPool::new(&lens)
                })),
                case(spec.side("sharded-slab", ShardedSlab::default)),
            ]
        });
        sides.collect()
    })
}

/// Makes buffers of one length.
struct Zeros(usize);

impl PoolAllocator<Vec<f64>> for Zeros {
    fn allocate(&self) -> Vec<f64> {
        vec![0.0; self.0]
    }
}

struct Opool(Vec<opool::Pool<Zeros, Vec<f64>>>);

impl Opool {
    fn new(lens: &[usize]) -> Self {
        Self(
            lens.iter()
                .map(|&len| opool::Pool::new(HELD, Zeros(len)))
                .collect(),
        )
    }
}

/// A guard of a vector, as a guard of its elements.
struct Elements<G>(G);

impl<G: Deref<Target = Vec<f64>>> Deref for Elements<G> {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl<G: DerefMut<Target = Vec<f64>>> DerefMut for Elements<G> {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.0
    }
}

impl Lender<f64> for Opool {
    type Buffer<'a> = Elements<RefGuard<'a, Zeros, Vec<f64>>>;

    #[inline]
    fn take(&self, class: &Class) -> Self::Buffer<'_> {
        Elements(self.0[class.at].get())
    }
}

struct ObjectPool(Vec<object_pool::Pool<Vec<f64>>>);

impl ObjectPool {
    fn new(lens: &[usize]) -> Self {
        let pool = |&len: &usize| object_pool::Pool::new(2, || vec![0.0; len]);
        Self(lens.iter().map(pool).collect())
    }
}

impl Lender<f64> for ObjectPool {
    type Buffer<'a> = Elements<object_pool::Reusable<'a, Vec<f64>>>;

    #[inline]
    fn take(&self, class: &Class) -> Self::Buffer<'_> {
        Elements(self.0[class.at].pull(|| vec![0.0; class.len()]))
    }
}

struct LockfreeObjectPool(Vec<LinearObjectPool<Vec<f64>>>);

impl LockfreeObjectPool {
    fn new(lens: &[usize]) -> Self {
        let pool = |&len: &usize| LinearObjectPool::new(move || vec![0.0; len], |_| {});
        Self(lens.iter().map(pool).collect())
    }
}

impl Lender<f64> for LockfreeObjectPool {
    type Buffer<'a> = Elements<LinearReusable<'a, Vec<f64>>>;

    #[inline]
    fn take(&self, class: &Class) -> Self::Buffer<'_> {
        Elements(self.0[class.at].pull())
    }
}

/// A slot's vector, which keeps its contents when the slot is cleared.
#[derive(Default)]
struct Kept(Vec<f64>);

impl Clear for Kept {
    fn clear(&mut self) {}
}

struct ShardedSlab(Vec<sharded_slab::Pool<Kept>>);

impl Default for ShardedSlab {
    fn default() -> Self {
        Self((0..CLASSES).map(|_| sharded_slab::Pool::new()).collect())
    }
}

/// A slot in a borrower's hands.
struct Slot<'a>(sharded_slab::pool::RefMut<'a, Kept>);

impl Deref for Slot<'_> {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0.0
    }
}

impl DerefMut for Slot<'_> {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.0.0
    }
}

impl Lender<f64> for ShardedSlab {
    type Buffer<'a> = Slot<'a>;

    #[inline]
    fn take(&self, class: &Class) -> Slot<'_> {
        let mut slot = self.0[class.at].create().expect("a slot is free");
        if slot.0.is_empty() {
            slot.0 = vec![0.0; class.len()];
        }
        Slot(slot)
    }

    #[inline]
    fn give(&self, class: &Class, buffer: Slot<'_>) {
        let key = buffer.0.key();
        drop(buffer);
        self.0[class.at].clear(key);
    }
}
