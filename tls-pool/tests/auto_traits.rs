//! Auto traits follow the parts: asserted both ways.

use std::rc::Rc;

use static_assertions::{assert_impl_all, assert_not_impl_any};
use tls_pool::{Held, Offer, Retention, Scratch, TlsPool, Verdict};

/// A policy that stays in its thread.
struct Local(Rc<()>);

impl Retention for Local {
    fn rule(&mut self, _: Offer, _: Held) -> Verdict {
        Verdict::Keep
    }
}

assert_impl_all!(TlsPool: Send, Sync, Clone);
assert_impl_all!(TlsPool<Box<dyn Retention + Send>>: Send, Sync);
assert_impl_all!(Scratch<'static, f32>: Send, Sync);
assert_not_impl_any!(Scratch<'static, f32>: Clone, Copy);
assert_not_impl_any!(TlsPool<Local>: Send, Sync);
assert_not_impl_any!(Scratch<'static, f32, Local>: Send, Sync);

#[test]
fn a_pool_whose_policy_stays_in_its_thread_works_there() {
    let pool = TlsPool::from_fn(|| Local(Rc::new(())));
    drop(pool.zeroed::<u8>(&[3]).unwrap());
    drop(pool.zeroed::<u8>(&[3]).unwrap());
    assert_eq!(pool.stats().hits, 1);
    // The field is what makes it local.
    assert_eq!(Rc::strong_count(&Local(Rc::new(())).0), 1);
}
