//! One claim a test about what a shelf lends, keeps, counts and gives up.

use super::*;
use crate::fit::{BestFit, Exact};
use crate::policy::{Bounded, Unpooled, WhenFull};
use crate::stats::Stats;

type Bytes<P> = Shelf<usize, Box<[u8]>, P, Exact<usize>>;

fn shelf<P: Retention>(policy: P) -> Bytes<P> {
    Shelf::new(policy, Exact::default())
}

fn boxed(bytes: usize) -> Box<[u8]> {
    vec![0; bytes].into_boxed_slice()
}

fn give<P: Retention>(shelf: &mut Bytes<P>, bytes: usize) -> usize {
    shelf.offer(bytes, boxed(bytes)).len()
}

fn hits<P: Retention>(shelf: &mut Bytes<P>, bytes: usize) -> bool {
    matches!(shelf.request(bytes), Found::Hit(_))
}

fn stats<P: Retention>(shelf: &Bytes<P>) -> Stats {
    shelf.counters().snapshot()
}

#[test]
fn the_buffer_that_came_back_last_is_lent_first() {
    let mut shelf = shelf(Bounded::UNLIMITED);
    let (first, second) = (boxed(8), boxed(8));
    let warmest = second.as_ptr();
    drop(shelf.offer(8, first));
    drop(shelf.offer(8, second));
    assert!(matches!(shelf.request(8), Found::Hit(buffer) if buffer.as_ptr() == warmest));
}

#[test]
#[should_panic(expected = "a class has one capacity")]
#[cfg(debug_assertions)]
fn a_buffer_of_another_capacity_than_its_class_is_caught() {
    let mut shelf = shelf(Bounded::UNLIMITED);
    drop(shelf.offer(8, boxed(9)));
}

#[test]
fn a_policy_that_keeps_nothing_makes_every_request_a_bypass() {
    let mut shelf = shelf(Unpooled);
    assert!(matches!(shelf.request(8), Found::Bypass));
    assert_eq!(give(&mut shelf, 8), 1);
    assert_eq!(stats(&shelf).bypassed, 1);
    assert_eq!(stats(&shelf).refused_for(Refusal::Unpooled), 1);
}

#[test]
fn the_least_recently_used_class_makes_room_first() {
    let mut shelf = shelf(Bounded {
        pool_buffers: 2,
        when_full: WhenFull::Evict,
        ..Bounded::UNLIMITED
    });
    give(&mut shelf, 1);
    give(&mut shelf, 2);
    assert!(hits(&mut shelf, 1));
    give(&mut shelf, 1);
    assert_eq!(give(&mut shelf, 3), 1, "the buffer of class 2 makes room");
    assert!(!hits(&mut shelf, 2));
    assert!(hits(&mut shelf, 1) && hits(&mut shelf, 3));
    assert_eq!(stats(&shelf).evicted, 1);
}

#[test]
fn a_pool_full_of_tiny_buffers_recovers_when_it_evicts_and_does_not_when_it_refuses() {
    for (when_full, most_misses) in [(WhenFull::Evict, 1), (WhenFull::Refuse, 1000)] {
        let mut shelf = shelf(Bounded {
            pool_buffers: 32,
            when_full,
            ..Bounded::UNLIMITED
        });
        for _ in 0..32 {
            give(&mut shelf, 1);
        }
        for _ in 0..1000 {
            hits(&mut shelf, 65536);
            give(&mut shelf, 65536);
        }
        assert_eq!(stats(&shelf).misses, most_misses, "{when_full:?}");
    }
}

#[test]
fn ten_thousand_classes_that_ran_empty_leave_nothing_behind() {
    let mut shelf = shelf(Bounded {
        pool_buffers: 8,
        ..Bounded::UNLIMITED
    });
    for bytes in 1..if cfg!(miri) { 300 } else { 10_000 } {
        give(&mut shelf, bytes);
        assert!(hits(&mut shelf, bytes));
        assert!(
            shelf.slots.len() <= EMPTY_CLASSES + 8,
            "{} places",
            shelf.slots.len()
        );
    }
    assert_eq!(shelf.held(), Held::default());
}

#[test]
fn a_class_that_ran_empty_keeps_its_stack() {
    let mut shelf = shelf(Bounded::UNLIMITED);
    give(&mut shelf, 8);
    assert!(hits(&mut shelf, 8));
    let slot = &shelf.slots[0];
    assert!(slot.stack.is_empty() && slot.stack.capacity() > 0);
}

#[test]
fn a_front_tier_and_the_tier_behind_count_each_event_once() {
    let mut front = shelf(Bounded {
        pool_buffers: 1,
        ..Bounded::UNLIMITED
    });
    let mut back = shelf(Bounded {
        pool_buffers: 1,
        ..Bounded::UNLIMITED
    });
    // Three buffers go out and come back: one stays in front, one behind, one is refused.
    for _ in 0..3 {
        assert!(front.try_take(8).is_none());
        assert!(matches!(back.request(8), Found::Miss));
    }
    for _ in 0..3 {
        if let Err(buffer) = front.try_keep(8, || boxed(8)) {
            drop(back.offer(8, buffer()));
        }
    }
    // The front tier ends: its counts are absorbed, its buffers handed on.
    back.counters().absorb(&stats(&front));
    for (key, buffer) in front.drain() {
        back.restock(key, buffer, drop);
    }
    let stats = stats(&back);
    assert_eq!((stats.misses, stats.returns, stats.kept), (3, 3, 1));
    assert_eq!(stats.refused_for(Refusal::PoolFull), 2);
    assert_eq!(stats.held_buffers, 1);
    assert_eq!(stats.live(), 0);
}

#[test]
fn a_shelf_that_was_poured_out_holds_nothing_and_keeps_its_stacks() {
    let mut shelf = shelf(Bounded::UNLIMITED);
    give(&mut shelf, 8);
    give(&mut shelf, 8);
    give(&mut shelf, 9);
    let mut moved = Vec::new();
    shelf.pour(|class, buffer| moved.push((class, buffer.len())));
    moved.sort_unstable();
    assert_eq!(moved, [(8, 8), (8, 8), (9, 9)]);
    assert_eq!(shelf.held(), Held::default());
    assert_eq!(stats(&shelf).held_bytes, 0);
    assert!(shelf.slots[0].stack.capacity() >= 2);
    give(&mut shelf, 8);
    assert_eq!(shelf.held().bytes, 8);
    assert!(hits(&mut shelf, 8) && !hits(&mut shelf, 8));
}

#[test]
fn what_is_cleared_is_given_up_and_counted() {
    let mut shelf = shelf(Bounded::UNLIMITED);
    give(&mut shelf, 1);
    give(&mut shelf, 2);
    assert_eq!(shelf.clear().len(), 2);
    assert_eq!((stats(&shelf).cleared, stats(&shelf).held_buffers), (2, 0));
    assert!(!hits(&mut shelf, 1));
    give(&mut shelf, 1);
    assert!(hits(&mut shelf, 1));
}

#[test]
fn best_fit_lends_across_classes_and_takes_back_by_capacity() {
    let mut shelf = Shelf::new(Bounded::UNLIMITED, BestFit::within(4));
    drop(shelf.offer(256, boxed(256)));
    assert!(matches!(shelf.request(63), Found::Miss));
    assert!(matches!(shelf.request(64), Found::Hit(buffer) if buffer.len() == 256));
    assert!(
        matches!(shelf.request(64), Found::Miss),
        "the class is empty now"
    );
}
