//! A load like a backward sweep's: take an array, accumulate into every element, return nearly
//! last in, first out.
//!
//! All sides run the same loop over their arrays. The floor fills an array that it has at hand with
//! zeros and adds; an allocator may have zeros for nothing, from fresh pages, which it then pays
//! for as the loop touches them.

use std::cell::RefCell;
use std::fs;
use std::hint::black_box;
use std::ops::DerefMut;

use grad_pool::{Arena, Grad, GradPool};

use super::size_name;
use crate::case::{Case, Count, Finding, Target};
use crate::side::{Side, timed};

/// Elements of an array, and arrays that are alive at once.
const LOADS: [(usize, usize); 4] = [(16 << 10, 1), (16 << 10, 6), (1 << 20, 1), (1 << 20, 6)];

/// Where a sweep has its arrays from.
trait Arrays {
    type Array<'a>: DerefMut<Target = [f64]>
    where
        Self: 'a;

    /// An array that a first contribution went into.
    fn first(&self, contribution: &[f64]) -> Self::Array<'_>;

    fn give(&self, array: Self::Array<'_>) {
        drop(array);
    }
}

/// Zeros from the process's allocator.
struct Allocated;

impl Arrays for Allocated {
    type Array<'a> = Vec<f64>;

    fn first(&self, contribution: &[f64]) -> Vec<f64> {
        let mut array = vec![0.0; contribution.len()];
        add_to(&mut array, contribution);
        array
    }
}

/// Zeros from the arena.
struct Zeroed(Arena);

impl Arrays for Zeroed {
    type Array<'a> = Grad<'a, f64>;

    fn first(&self, contribution: &[f64]) -> Grad<'_, f64> {
        let mut array = self.0.zeroed(contribution.len());
        add_to(&mut array, contribution);
        array
    }
}

/// The first contribution assigned instead of added.
struct Assigned(Arena);

impl Arrays for Assigned {
    type Array<'a> = Grad<'a, f64>;

    fn first(&self, contribution: &[f64]) -> Grad<'_, f64> {
        self.0.copy_of(contribution)
    }
}

/// No pool's work at all: arrays at hand, filled with zeros.
#[derive(Default)]
struct AtHand(RefCell<Vec<Vec<f64>>>);

impl Arrays for AtHand {
    type Array<'a> = Vec<f64>;

    fn first(&self, contribution: &[f64]) -> Vec<f64> {
        let at_hand = self.0.borrow_mut().pop();
        let mut array = at_hand.unwrap_or_else(|| vec![0.0; contribution.len()]);
        array.fill(0.0);
        add_to(&mut array, contribution);
        array
    }

    fn give(&self, array: Vec<f64>) {
        self.0.borrow_mut().push(array);
    }
}

/// One loop for all sides.
#[inline(never)]
fn add_to(array: &mut [f64], contribution: &[f64]) {
    for (sum, more) in array.iter_mut().zip(contribution) {
        *sum += more;
    }
}

/// So many arrays, of which `live` are alive at any time.
fn sweep<A: Arrays>(arrays: &A, contribution: &[f64], live: usize, rounds: u64) -> u64 {
    let mut held = Vec::with_capacity(live);
    let mut digest = 0_u64;
    for round in 0..rounds {
        let array = arrays.first(black_box(contribution));
        let last = array[array.len() - 1];
        digest = digest.wrapping_add(array[0].to_bits() ^ last.to_bits());
        held.push(array);
        if held.len() == live {
            // The last one or the one before: nearly last in, first out.
            let older = usize::from(live > 1 && round % 2 == 1);
            arrays.give(held.remove(live - 1 - older));
        }
    }
    for array in held {
        arrays.give(array);
    }
    digest
}

fn side<A: Arrays + 'static>(
    name: &'static str,
    (len, live): (usize, usize),
    make: impl Fn() -> A + 'static,
) -> Side {
    Side::new(name, move || {
        let (arrays, contribution) = (make(), contribution(len));
        timed(move |rounds| sweep(&arrays, &contribution, live, rounds))
    })
}

fn contribution(len: usize) -> Vec<f64> {
    (0..len).map(|at| (at % 7) as f64 + 0.5).collect()
}

fn name(door: &str, (len, live): (usize, usize)) -> String {
    format!("sweep/{door}/{}/{live}-live", size_name(len * 8))
}

/// Adds the cases.
pub(super) fn add(cases: &mut Vec<Case>, counts: &mut Vec<Count>) {
    cases.extend(LOADS.map(zeroed));
    cases.extend(LOADS.map(assigned));
    counts.push(Count {
        name: "sweep/page-faults".into(),
        claim: "in steady state a sweep touches no fresh page",
        run: Box::new(page_faults),
    });
}

fn zeroed(load: (usize, usize)) -> Case {
    Case::new(
        name("zeroed", load),
        "a pooled array is never slower than one from the best allocator, and costs what filling \
         it with zeros and adding cost",
        side("grad-pool", load, || Zeroed(GradPool::default().arena())),
    )
    .against(side("malloc", load, || Allocated), Target::AtMost(1.0))
    .against(Side::peer("mimalloc", "mimalloc"), Target::AtMost(1.0))
    .against(Side::peer("jemalloc", "jemalloc"), Target::AtMost(1.0))
    // Equal, give or take what two laps of the same code differ by.
    .against(side("fill and add", load, AtHand::default), Target::AtMost(1.05))
}

fn assigned(load: (usize, usize)) -> Case {
    Case::new(
        name("assigned", load),
        "a first contribution that is assigned costs half of filling with zeros and adding",
        side("grad-pool", load, || Assigned(GradPool::default().arena())),
    )
    .against(
        side("fill and add", load, AtHand::default),
        Target::AtMost(0.5),
    )
}

/// The load on the process's allocator; what a peer serves.
#[must_use]
pub fn allocated(allocator: &'static str) -> Vec<Case> {
    LOADS
        .map(|load| {
            Case::new(
                name("zeroed", load),
                "",
                side(allocator, load, || Allocated),
            )
        })
        .into()
}

/// Fresh pages per hundred arrays of 8 MiB, after a warm-up.
fn page_faults() -> Vec<Finding> {
    fn count<A: Arrays>(arrays: &A) -> Option<u64> {
        let contribution = contribution(1 << 20);
        sweep(arrays, &contribution, 6, 50);
        let before = faults_so_far()?;
        sweep(arrays, &contribution, 6, 100);
        Some(faults_so_far()? - before)
    }
    let told =
        |count: Option<u64>| count.map_or("unknown".into(), |count| format!("{count} faults"));
    let ours = count(&Zeroed(GradPool::default().arena()));
    vec![
        Finding {
            side: "ours",
            value: told(ours),
            target: Some(("none".into(), ours == Some(0))),
        },
        Finding {
            side: "malloc",
            value: told(count(&Allocated)),
            target: None,
        },
    ]
}

/// Minor page faults of this thread, as the kernel counts them.
fn faults_so_far() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The name, in brackets, may hold anything; the count is the eighth field after it.
    let (_, fields) = text.rsplit_once(')')?;
    fields.split_whitespace().nth(7)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_page_is_counted_once() {
        let before = faults_so_far().unwrap();
        let mut fresh = vec![0_u8; 8 << 20];
        for at in (0..fresh.len()).step_by(4096) {
            fresh[at] = 1;
        }
        black_box(&fresh);
        let faults = faults_so_far().unwrap() - before;
        assert!(faults >= 4, "at least one for each huge page: {faults}");
    }
}
