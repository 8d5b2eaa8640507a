//! Models of what threads share: a locked shelf, counters that are read without the lock, a switch,
//! a budget.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p pool-core --test loom`
#![cfg(loom)]

use std::sync::Arc;

use loom::thread;
use pool_core::sync::Mutex;
use pool_core::{
    Bounded, Budget, Exact, Found, Held, Offer, Refusal, Retention, Share, Shelf, Switch, Verdict,
    WhenFull,
};

type Shared = Mutex<Shelf<usize, Vec<u8>, Bounded, Exact<usize>>>;

const ONE: Bounded = Bounded {
    pool_buffers: 1,
    ..Bounded::UNLIMITED
};

fn shared(policy: Bounded) -> Arc<Shared> {
    Arc::new(Mutex::new(Shelf::new(policy, Exact::default())))
}

fn offer(shelf: &Shared) {
    let discarded = shelf.lock().offer(8, vec![0; 8]);
    drop(discarded);
}

#[test]
fn a_reader_without_the_lock_never_sees_more_held_than_the_bound() {
    loom::model(|| {
        let shelf = shared(ONE);
        let counters = Arc::clone(shelf.lock().counters());
        let writer = Arc::clone(&shelf);
        let other = thread::spawn(move || {
            offer(&writer);
            offer(&writer);
        });
        let seen = counters.snapshot();
        assert!(seen.held_buffers <= 1 && seen.peak_buffers <= 1, "{seen}");
        assert!(seen.held_bytes <= 8 && seen.peak_bytes <= 8, "{seen}");
        other.join().unwrap();
        assert_eq!(counters.snapshot().held_buffers, 1);
    });
}

#[test]
fn two_writers_under_the_lock_lose_no_count() {
    loom::model(|| {
        let shelf = shared(ONE);
        let writer = Arc::clone(&shelf);
        let other = thread::spawn(move || {
            let found = writer.lock().request(8);
            offer(&writer);
            matches!(found, Found::Hit(_))
        });
        offer(&shelf);
        let hit = other.join().unwrap();
        let stats = shelf.lock().counters().snapshot();
        assert_eq!(
            (stats.hits, stats.misses),
            (u64::from(hit), u64::from(!hit))
        );
        assert_eq!(stats.returns, 2);
        assert_eq!(stats.kept + stats.refused_for(Refusal::PoolFull), 2);
        assert_eq!(stats.kept, stats.hits + stats.held_buffers);
    });
}

#[test]
fn a_detach_beside_the_writer_is_counted() {
    loom::model(|| {
        let shelf = shared(ONE);
        let counters = Arc::clone(shelf.lock().counters());
        let other = thread::spawn(move || counters.detach());
        shelf.lock().counters().detach();
        offer(&shelf);
        other.join().unwrap();
        let stats = shelf.lock().counters().snapshot();
        assert_eq!((stats.detached, stats.returns), (2, 1));
    });
}

#[test]
fn a_set_and_a_clear_at_once_both_begin_an_epoch() {
    loom::model(|| {
        let switch = Arc::new(Switch::default());
        let before = switch.state();
        let setter = Arc::clone(&switch);
        let other = thread::spawn(move || setter.set(false));
        switch.begin_epoch();
        let cleared = switch.state();
        assert_ne!(cleared, before);
        other.join().unwrap();
        assert!(!switch.state().is_on(), "the clear undid the switch");
        assert_ne!(switch.state(), before);
        switch.set(true);
        assert_ne!(switch.state(), before);
    });
}

#[test]
fn two_threads_that_switch_off_turn_it_once() {
    loom::model(|| {
        let switch = Arc::new(Switch::default());
        let setter = Arc::clone(&switch);
        let other = thread::spawn(move || setter.set(false));
        switch.set(false);
        let off = switch.state();
        assert!(!off.is_on());
        other.join().unwrap();
        assert_eq!(switch.state(), off, "the second call found it so");
    });
}

#[test]
fn a_state_read_under_the_lock_stands_still_when_it_is_set_under_the_lock() {
    loom::model(|| {
        let shelf = shared(ONE);
        let switch = Arc::new(Switch::default());
        let lent_in = switch.state();
        let (returner, reader) = (Arc::clone(&shelf), Arc::clone(&switch));
        let other = thread::spawn(move || {
            let mut shelf = returner.lock();
            if reader.state() == lent_in {
                drop(shelf.offer(8, vec![0; 8]));
            } else {
                shelf.counters().refuse(Refusal::SwitchedOff);
            }
        });
        let mut held = shelf.lock();
        switch.set(false);
        drop(held.clear());
        drop(held);
        assert_eq!(shelf.lock().held().buffers, 0);
        other.join().unwrap();
        let stats = shelf.lock().counters().snapshot();
        assert_eq!(stats.held_buffers, 0);
        assert_eq!(stats.cleared + stats.refused_for(Refusal::SwitchedOff), 1);
    });
}

/// Offers one buffer to a share of the budget, looks at the sum, and lends it again.
fn keep_and_lend(budget: &Budget, share: &mut Share, bytes: usize) -> bool {
    let kept = share.rule(Offer::of(bytes), Held::default()) == Verdict::Keep;
    assert!(budget.used() <= 10, "more than the budget, for a moment");
    assert!(!kept || budget.used() >= bytes, "a reservation was lost");
    if kept {
        share.on_leave(bytes);
    }
    kept
}

#[test]
fn two_shares_never_exceed_their_budget_not_even_for_a_moment() {
    loom::model(|| {
        let budget = Budget::new(10);
        let theirs = budget.clone();
        let other = thread::spawn(move || {
            let mut share = theirs.share();
            keep_and_lend(&theirs, &mut share, 6);
            // Kept and never lent: the share gives it back when it is dropped.
            share.rule(Offer::of(6), Held::default()) == Verdict::Keep
        });
        let mut share = budget.share();
        keep_and_lend(&budget, &mut share, 6);
        let kept = share.rule(Offer::of(6), Held::default()) == Verdict::Keep;
        assert!(budget.used() <= 10);
        drop(share);
        let other_kept = other.join().unwrap();
        assert!(kept || other_kept, "both were refused, though one fits");
        assert_eq!(budget.used(), 0, "dropped shares gave everything back");
    });
}

#[test]
fn three_shares_never_exceed_their_budget_and_give_everything_back() {
    loom::model(|| {
        let budget = Budget::new(10);
        let keeps = |share: &mut Share, bytes| {
            share.rule(Offer::of(bytes), Held::default()) == Verdict::Keep
        };
        let others = [6, 5].map(|bytes| {
            let mut share = budget.share();
            thread::spawn(move || keeps(&mut share, bytes))
        });
        let mut share = budget.share();
        assert!(keeps(&mut share, 4), "there is always room for four");
        assert!(budget.used() <= 10, "more than the budget, for a moment");
        let kept = others.map(|other| other.join().unwrap());
        assert!(kept[0] || kept[1], "both were refused, though one fits");
        assert_eq!(budget.used(), 4, "dropped shares gave everything back");
    });
}

#[test]
fn an_evicting_share_makes_room_in_its_own_pool_while_another_takes_what_is_left() {
    loom::model(|| {
        let budget = Budget::new(10);
        let shelf = |when_full| {
            let share = budget.share().when_full(when_full);
            Shelf::<usize, Vec<u8>, _, _>::new(share, Exact::default())
        };
        let (mut mine, mut theirs) = (shelf(WhenFull::Evict), shelf(WhenFull::Refuse));
        drop(mine.offer(3, vec![0; 3]));
        let watch = budget.clone();
        let other = thread::spawn(move || {
            drop(theirs.offer(5, vec![0; 5]));
            assert!(watch.used() <= 10);
            theirs.held().bytes
        });
        drop(mine.offer(4, vec![0; 4]));
        assert!(budget.used() <= 10);
        assert!(mine.held().bytes >= 4, "there is always room for four");
        let kept = other.join().unwrap();
        assert!(kept == 0 || kept == 5);
        assert_eq!(budget.used(), mine.held().bytes);
    });
}
