//! Auto traits follow the parts, asserted both ways.
#![cfg(not(loom))]

use std::cell::Cell;
use std::marker::PhantomData;
use std::rc::Rc;

use frame_pool::{Bounded, Frame, FramePool, Held, Offer, Retention, Unpooled, Verdict};
use static_assertions::{assert_impl_all, assert_not_impl_any};

/// A policy that can move to another thread but not be shared with one.
struct Counting(#[expect(dead_code, reason = "only its type matters")] Cell<u64>);

/// A policy that can do neither.
struct Local(PhantomData<Rc<()>>);

impl Retention for Counting {
    fn rule(&mut self, _: Offer, _: Held) -> Verdict {
        Verdict::Keep
    }
}

impl Retention for Local {
    fn rule(&mut self, _: Offer, _: Held) -> Verdict {
        Verdict::Keep
    }
}

assert_impl_all!(FramePool: Send, Sync, Clone, Default);
assert_impl_all!(Frame: Send, Sync, AsRef<[u8]>, AsMut<[u8]>);
assert_not_impl_any!(Frame: Clone, Copy, Default);
assert_impl_all!(FramePool<Unpooled>: Send, Sync);
assert_impl_all!(FramePool<Box<dyn Retention + Send>>: Send, Sync);

// The lock makes a policy that is only `Send` shareable.
assert_impl_all!(FramePool<Counting>: Send, Sync);
assert_impl_all!(Frame<Counting>: Send, Sync);

// It does not make a policy that is tied to its thread anything else.
assert_not_impl_any!(FramePool<Local>: Send, Sync);
assert_not_impl_any!(Frame<Local>: Send, Sync);
assert_not_impl_any!(FramePool<Box<dyn Retention>>: Send, Sync);

#[test]
fn a_frame_is_six_words_at_most() {
    assert!(size_of::<Frame<Bounded>>() <= 6 * size_of::<usize>());
}
