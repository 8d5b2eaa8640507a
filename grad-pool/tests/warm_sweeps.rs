//! A warm sweep allocates nothing, scratch and flush included: counted.
#![cfg(not(miri))] // Miri brings its own allocator.

use std::sync::Arc;

use allocation_counter::measure;
use grad_pool::{Grad, GradPool, ScratchPool, emptied};
use num_complex::Complex;

/// Calls the allocator gets from one warm round of `work`.
fn warm(mut work: impl FnMut()) -> u64 {
    work();
    work();
    measure(work).count_total
}

#[test]
fn a_warm_borrow_allocates_nothing_through_any_door() {
    let pool = GradPool::default();
    let arena = pool.arena();
    let doors = [
        warm(|| drop(arena.zeroed::<f32>(100))),
        warm(|| drop(arena.unspecified::<f64>(100))),
        warm(|| drop(arena.copy_of(&[1.0_f64; 50]))),
        warm(|| drop(arena.scaled_copy_of(0.5, &[1.0_f64; 50]))),
        warm(|| drop(arena.filled(100, 0.5_f32))),
        warm(|| {
            let mut slot = None;
            let added = (0..3).map(|_| arena.contribute(&mut slot, &[1.0_f64; 50]));
            assert!(added.into_iter().all(|added| added.is_ok()));
        }),
        warm(|| drop(arena.zeroed::<Complex<f64>>(100).into_leaf())),
    ];
    assert_eq!(doors, [0; 7]);
}

#[test]
fn a_whole_warm_sweep_allocates_nothing() {
    struct Node {
        inputs: Vec<Arc<Node>>,
        len: usize,
    }
    let leaf = Arc::new(Node {
        inputs: Vec::new(),
        len: 10,
    });
    let root = (11..40).fold(leaf, |input, len| {
        let inputs = vec![Arc::clone(&input), input];
        Arc::new(Node { inputs, len })
    });

    let pool = GradPool::default();
    let scratches = ScratchPool::<Arc<Node>>::default();
    let mut idle: Vec<Option<Grad<'static, f32>>> = Vec::new();
    let sweep = || {
        let mut scratch = scratches.take();
        let scratch = &mut *scratch;
        scratch.stack.push((Arc::clone(&root), 0));
        while let Some((node, next)) = scratch.stack.pop() {
            if next == 0 && !scratch.seen.insert(Arc::as_ptr(&node).addr()) {
                continue;
            }
            if let Some(input) = node.inputs.get(next).map(Arc::clone) {
                scratch.stack.push((node, next + 1));
                scratch.stack.push((input, 0));
            } else {
                scratch.order.push(node);
            }
        }
        assert_eq!(scratch.order.len(), 30);

        let arena = pool.arena();
        let mut pending = emptied(std::mem::take(&mut idle));
        for node in scratch.order.drain(..).rev() {
            pending.push(Some(arena.zeroed::<f32>(node.len)));
            if pending.len() > 3 {
                let done = pending.len() - 3;
                pending[done] = None;
            }
        }
        let last = pending.pop().flatten().map(Grad::into_leaf);
        idle = emptied(pending);
        drop(arena);
        drop(last);
    };
    assert_eq!(warm(sweep), 0);
    assert!(pool.stats().hits > 0);
}

#[test]
fn reading_statistics_allocates_nothing() {
    let pool = GradPool::default();
    drop(pool.arena().zeroed::<f32>(3));
    assert_eq!(warm(|| assert_eq!(pool.stats().misses, 1)), 0);
}
