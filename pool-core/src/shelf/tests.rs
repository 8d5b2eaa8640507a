//! One claim a test about what a shelf lends, keeps, counts and gives up.

use super::*;
use crate::fit::{BestFit, Exact};
use crate::policy::{Bounded, Offer, Unpooled, WhenFull};
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
    front.pour(|class, buffers| back.restock(class, buffers, drop));
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
    shelf.pour(|class, buffers| moved.push((class, buffers.len())));
    assert_eq!(moved, [(8, 2), (9, 1)]);
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

/// Keeps, refuses and evicts in turn, and notes what it was told.
#[derive(Default)]
struct Notes {
    told: Vec<(Offer, Held)>,
    left: Vec<usize>,
}

impl Retention for Notes {
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        self.told.push((offer, held));
        match self.told.len() % 5 {
            2 => Verdict::MakeRoom,
            4 => Verdict::Refuse(Refusal::Other),
            _ => Verdict::Keep,
        }
    }

    fn on_leave(&mut self, bytes: usize) {
        self.left.push(bytes);
    }
}

#[test]
fn a_class_that_is_handed_over_whole_is_ruled_on_buffer_by_buffer() {
    for buffers in 0..20 {
        let mut shelves = [(); 2].map(|()| {
            let mut shelf =
                Shelf::<usize, Box<[u8]>, _, _>::new(Notes::default(), Exact::default());
            for class in [5, 8, 8, 6] {
                drop(shelf.offer(class, boxed(class)));
            }
            shelf
        });
        let [one_by_one, whole] = &mut shelves;
        let mut freed = 0;
        for _ in 0..buffers {
            freed += one_by_one.offer(8, boxed(8)).len();
        }
        let mut arrays: Vec<_> = (0..buffers).map(|_| boxed(8)).collect();
        let mut given_up = 0;
        // As if a front tier had kept them.
        let kept = Stats {
            kept: buffers,
            ..Stats::default()
        };
        whole.counters().absorb(&kept);
        whole.restock(8, &mut arrays, |_| given_up += 1);
        assert!(arrays.is_empty());
        assert_eq!(given_up, freed, "{buffers} buffers");
        assert_eq!(whole.policy().told, one_by_one.policy().told);
        assert_eq!(whole.policy().left, one_by_one.policy().left);
        assert_eq!(stats(whole), stats(one_by_one), "{buffers} buffers");
        let found = |shelf: &mut Shelf<_, _, _, _>| (0..40).filter(|_| hits(shelf, 8)).count();
        assert_eq!(found(whole), found(one_by_one));
    }
}

#[test]
fn what_is_not_at_hand_is_neither_taken_nor_kept_nor_counted() {
    let mut shelf = shelf(Bounded {
        class_buffers: 4,
        ..Bounded::UNLIMITED
    });
    assert!(shelf.take_at_hand(8, |buffer| buffer).is_none());
    assert!(shelf.keep_at_hand(8, || boxed(8)).is_err(), "not listed");
    assert_eq!(stats(&shelf), Stats::default());
    // The first return lists the class and makes room on its stack.
    assert!(shelf.try_keep(8, || boxed(8)).is_ok());
    let mut kept = 1;
    while shelf.keep_at_hand(8, || boxed(8)).is_ok() {
        kept += 1;
    }
    assert_eq!(kept, 4, "to the policy's last buffer");
    assert_eq!((stats(&shelf).kept, shelf.held().buffers), (4, 4));
    while shelf
        .take_at_hand(8, |buffer| assert_eq!(buffer.len(), 8))
        .is_some()
    {
        kept -= 1;
    }
    assert_eq!((kept, stats(&shelf).hits, shelf.held().buffers), (0, 4, 0));
    assert_eq!(shelf.held().classes, 0);
    assert_eq!(stats(&shelf).peak_buffers, 4);
}

const TWO: Bounded = Bounded {
    pool_buffers: 2,
    ..Bounded::UNLIMITED
};

#[test]
fn a_lent_place_counts_for_the_policy_until_it_is_given_back() {
    let mut shelf = shelf(TWO);
    give(&mut shelf, 8);
    let lent = shelf.lend(8).unwrap();
    assert_eq!(shelf.held().buffers, 1, "it lies elsewhere, and is held");
    assert_eq!(stats(&shelf).classes, 1);
    assert_eq!(give(&mut shelf, 9), 0);
    assert_eq!(give(&mut shelf, 9), 1, "two places are taken");
    shelf.restore(8, lent);
    assert_eq!(shelf.held().buffers, 2);
    assert!(hits(&mut shelf, 8));
    assert_eq!(give(&mut shelf, 9), 0);
}

#[test]
fn a_place_that_is_given_up_is_free_for_others() {
    let mut shelf = shelf(TWO);
    assert!(shelf.reserve(8) && shelf.reserve(8));
    assert!(!shelf.reserve(8) && !shelf.reserve(9), "two were granted");
    shelf.release(8);
    assert_eq!((shelf.room(9, 5), shelf.room(8, 0)), (1, 0));
    assert!(shelf.reserve(9));
    shelf.release(8);
    shelf.release(9);
    assert_eq!(stats(&shelf).classes, 0);
    assert_eq!(shelf.lend(8), None);
    assert_eq!(stats(&shelf), Stats::default());
}

#[test]
fn a_place_outlives_a_clear_and_the_sweep_of_empty_classes() {
    let mut shelf = shelf(TWO);
    give(&mut shelf, 8);
    let lent = shelf.lend(8).unwrap();
    shelf.counters().hand_on(8);
    assert!(shelf.clear().is_empty());
    for bytes in 100..if cfg!(miri) { 180 } else { 1000 } {
        give(&mut shelf, bytes);
        assert!(hits(&mut shelf, bytes));
    }
    assert_eq!(stats(&shelf).classes, 1);
    shelf.counters().carry(8);
    shelf.restore(8, lent);
    assert!(hits(&mut shelf, 8));
    assert_eq!(stats(&shelf).classes, 0);
}

#[test]
fn a_budget_of_bytes_includes_what_is_lent() {
    let mut shelf = shelf(Bounded {
        pool_bytes: 20,
        class_bytes: 16,
        ..Bounded::UNLIMITED
    });
    assert!(shelf.reserve(8) && shelf.reserve(8));
    assert!(!shelf.reserve(8), "the class has its 16 bytes");
    assert!(!shelf.reserve(5), "only 4 bytes are left");
    assert!(shelf.reserve(4));
}

#[test]
fn a_buffer_costs_what_its_capacity_takes() {
    assert_eq!(Buffer::bytes(&Vec::<u64>::with_capacity(3)), 24);
    assert_eq!(Buffer::bytes(&vec![0_u64; 3].into_boxed_slice()), 24);
}

#[test]
fn a_front_tier_lends_what_it_kept() {
    let mut front = shelf(Bounded::UNLIMITED);
    assert!(front.try_take(8).is_none());
    assert!(front.try_keep(8, || vec![7; 8].into()).is_ok());
    assert_eq!(front.try_take(8), Some(vec![7; 8].into()));
    assert_eq!((stats(&front).hits, stats(&front).misses), (1, 0));
}

#[test]
fn what_is_given_up_says_whether_it_is_anything() {
    let mut shelf = shelf(Unpooled);
    assert!(!shelf.offer(8, vec![0; 8].into()).is_empty());
    assert!(shelf.clear().is_empty());
}
