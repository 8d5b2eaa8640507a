//! Auto traits follow the parts: asserted both ways.

use std::rc::Rc;
use std::sync::Arc;

use grad_pool::{
    Arena, Grad, GradPool, Held, Leaf, Offer, Retention, ScratchPool, SweepScratch, Verdict,
};
use static_assertions::{assert_impl_all, assert_not_impl_any};

/// A policy that stays in its thread.
struct Local(Rc<()>);

impl Retention for Local {
    fn rule(&mut self, _: Offer, _: Held) -> Verdict {
        Verdict::Keep
    }
}

assert_impl_all!(GradPool: Send, Sync, Clone);
assert_impl_all!(GradPool<Box<dyn Retention + Send>>: Send, Sync);
assert_not_impl_any!(GradPool<Local>: Send, Sync);

assert_impl_all!(Arena: Send);
assert_not_impl_any!(Arena: Sync, Clone);

assert_not_impl_any!(Grad<'static, f32>: Send, Clone, Copy);
assert_impl_all!(Leaf<f32>: Send, Sync);
assert_not_impl_any!(Leaf<f32>: Clone, Copy);
assert_not_impl_any!(Leaf<f32, Local>: Send, Sync);

assert_impl_all!(ScratchPool<Arc<u8>>: Send, Sync);
assert_not_impl_any!(ScratchPool<Rc<u8>>: Send, Sync);
assert_impl_all!(SweepScratch<Arc<u8>>: Send, Sync);

#[test]
fn a_pool_whose_policy_stays_in_its_thread_works_there() {
    let pool = GradPool::new(Local(Rc::new(())));
    for _ in 0..2 {
        drop(pool.arena().zeroed::<f32>(3));
    }
    assert_eq!(pool.stats().hits, 1);
    // The field is what makes it local.
    assert_eq!(Rc::strong_count(&Local(Rc::new(())).0), 1);
}
