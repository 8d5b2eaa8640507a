//! Sweeps as engines make them: flush, overflow, panic, switch, bounds.

use std::panic::{AssertUnwindSafe, catch_unwind};

use grad_pool::{
    Arena, Bounded, Decaying, Element, GradPool, Refusal, Retention, Stats, Unpooled, WhenFull,
};
use num_complex::Complex;

/// The identities that hold at every quiet moment.
fn check_identities(stats: Stats, live: u64) {
    assert_eq!(
        stats.hits + stats.misses,
        stats.returns + stats.detached + live,
        "{stats}"
    );
    assert_eq!(
        stats.returns + stats.adopted,
        stats.kept + stats.refusals(),
        "{stats}"
    );
    assert_eq!(
        stats.kept,
        stats.hits + stats.evicted + stats.cleared + stats.held_buffers,
        "{stats}"
    );
}

/// Borrows so many arrays of `len` at once, and returns them.
fn burst<T: Element>(arena: &Arena<impl Retention>, arrays: usize, len: usize) {
    let out: Vec<_> = (0..arrays).map(|_| arena.unspecified::<T>(len)).collect();
    drop(out);
}

#[test]
fn an_arena_keeps_256_arrays_and_overflows_to_the_pool() {
    let pool = GradPool::new(Bounded {
        pool_buffers: 10,
        ..Bounded::UNLIMITED
    });
    let arena = pool.arena();
    burst::<f32>(&arena, 256 + 15, 4);
    let stats = pool.stats();
    assert_eq!(stats.held_buffers, 256 + 10);
    assert_eq!(stats.refused_for(Refusal::PoolFull), 5);
    check_identities(stats, 0);
    // All of them are found again: first those of the arena, then those of the pool.
    burst::<f32>(&arena, 256 + 10, 4);
    assert_eq!(pool.stats().hits, 256 + 10);
    drop(arena);
    let stats = pool.stats();
    assert_eq!(
        stats.held_buffers, 10,
        "the pool's bound holds after the flush"
    );
    assert_eq!(stats.refused_for(Refusal::PoolFull), 5 + 256);
    check_identities(stats, 0);
}

#[test]
fn what_a_sweep_leaves_serves_the_next() {
    let pool = GradPool::default();
    for sweep in 0..3 {
        let arena = pool.arena();
        burst::<f64>(&arena, 6, 100);
        burst::<Complex<f64>>(&arena, 2, 50);
        drop(arena);
        assert_eq!(pool.stats().misses, 8, "sweep {sweep}");
    }
    check_identities(pool.stats(), 0);
}

#[test]
fn a_sweep_that_ends_by_panic_leaves_its_arrays_to_the_next() {
    let pool = GradPool::default();
    let result = catch_unwind(AssertUnwindSafe(|| {
        let arena = pool.arena();
        let _live = arena.zeroed::<f32>(10);
        drop(arena.zeroed::<f32>(20));
        panic!("in the middle of the sweep");
    }));
    assert!(result.is_err());
    let stats = pool.stats();
    assert_eq!(stats.held_buffers, 2);
    check_identities(stats, 0);
    let arena = pool.arena();
    assert_eq!(*arena.zeroed::<f32>(10), [0.0; 10]);
    assert_eq!(*arena.zeroed::<f32>(20), [0.0; 20]);
    assert_eq!(pool.stats().hits, 2);
}

#[test]
fn an_empty_array_never_touches_the_pool() {
    let pool = GradPool::default();
    let arena = pool.arena();
    assert!(arena.zeroed::<f32>(0).is_empty());
    assert!(arena.unspecified::<f64>(0).detach().is_empty());
    assert!(arena.copy_of::<f32>(&[]).into_leaf().is_empty());
    assert_eq!(pool.stats(), Stats::default());
}

#[test]
fn an_unpooled_sweep_allocates_as_if_no_pool_existed() {
    let arena = Arena::unpooled();
    assert!(arena.pool().is_none());
    assert_eq!(*arena.zeroed::<f32>(3), [0.0; 3]);
    let leaf = arena.copy_of(&[1.0_f64]).into_leaf();
    drop(arena);
    assert_eq!(leaf.detach(), [1.0]);
    let pool = GradPool::new(Unpooled);
    burst::<f32>(&pool.arena(), 3, 4);
    let stats = pool.stats();
    assert_eq!((stats.bypassed, stats.acquires()), (3, 0));
    check_identities(stats, 0);
}

#[test]
fn element_types_of_one_size_do_not_share_a_class() {
    let pool = GradPool::default();
    let arena = pool.arena();
    drop(arena.zeroed::<Complex<f32>>(10));
    drop(arena.zeroed::<f64>(10));
    drop(arena.zeroed::<Complex<f64>>(5));
    assert_eq!((pool.stats().hits, pool.stats().misses), (0, 3));
}

#[cfg(debug_assertions)]
#[test]
fn unspecified_contents_read_as_nan_in_debug_builds() {
    let pool = GradPool::default();
    let arena = pool.arena();
    for _ in 0..2 {
        assert!(arena.unspecified::<f32>(3).iter().all(|each| each.is_nan()));
        let complex = arena.unspecified::<Complex<f64>>(3);
        assert!(
            complex
                .iter()
                .all(|each| each.re.is_nan() && each.im.is_nan())
        );
    }
}

#[test]
fn a_contribution_of_another_length_is_an_error_and_adds_nothing() {
    let arena = Arena::unpooled();
    let mut gradient = arena.copy_of(&[1.0_f32, 2.0]);
    let error = gradient.accumulate(&[1.0; 3]).unwrap_err();
    assert_eq!((error.gradient, error.contribution), (2, 3));
    assert_eq!(*gradient, [1.0, 2.0]);
    gradient.accumulate(&[0.5, 0.25]).unwrap();
    assert_eq!(*gradient, [1.5, 2.25]);
}

#[test]
fn the_first_contribution_becomes_the_gradient_and_later_ones_are_added() {
    let pool = GradPool::default();
    let arena = pool.arena();
    // Old contents must not show: neither of them is what is asked for.
    let mut old = arena.zeroed::<Complex<f64>>(3);
    old.fill(Complex::new(f64::NAN, 7.0));
    drop(old);
    let first = [Complex::new(1.0, -0.0); 3];
    let mut slot = None;
    arena.contribute(&mut slot, &first).unwrap();
    let zeroed = pool.stats().zeroed_bytes;
    let bits = |array: &[Complex<f64>]| bytemuck::cast_slice::<_, u64>(array).to_vec();
    assert_eq!(bits(slot.as_deref().unwrap()), bits(&first), "-0 is kept");
    arena.contribute(&mut slot, &first).unwrap();
    assert!(arena.contribute(&mut slot, &first[..2]).is_err());
    assert_eq!(*slot.unwrap(), [Complex::new(2.0, 0.0); 3]);
    assert_eq!(
        pool.stats().zeroed_bytes,
        zeroed,
        "nothing was zeroed for it"
    );
}

#[test]
fn every_filling_door_overwrites_what_was_there() {
    let arena = GradPool::default().arena();
    for _ in 0..2 {
        let mut old = arena.unspecified::<f32>(100);
        old.fill(f32::NAN);
        drop(old);
        assert_eq!(*arena.zeroed::<f32>(100), [0.0; 100]);
        assert_eq!(*arena.filled(100, 2.5_f32), [2.5; 100]);
        assert_eq!(*arena.copy_of(&[1.5_f32; 100]), [1.5; 100]);
        assert_eq!(*arena.scaled_copy_of(2.0, &[1.5_f32; 100]), [3.0; 100]);
    }
}

/// The conservative bounds with one element type, to the last element.
fn conservative_bounds<T: Element>() {
    let most = if cfg!(miri) { return } else { 1 << 20 };
    let pool = GradPool::conservative();

    // The ceiling of one array.
    drop(pool.arena().unspecified::<T>(most + 1));
    assert_eq!((pool.stats().bypassed, pool.stats().acquires()), (1, 0));
    drop(pool.arena().unspecified::<T>(most));
    assert_eq!(pool.stats().held_bytes, (most * size_of::<T>()) as u64);
    // The pool is full to the last element.
    drop(pool.arena().unspecified::<T>(1));
    assert_eq!(pool.stats().refused_for(Refusal::PoolFull), 1);
    pool.clear();

    // The bound of the pool, over arrays of several lengths and of another type.
    let (half, rest) = (most / 2, most / 2 - 3);
    drop(pool.arena().unspecified::<T>(half));
    drop(pool.arena().unspecified::<f64>(rest));
    // Three elements are left.
    for (len, fits) in [(4, false), (2, true), (3, false), (1, true), (5, false)] {
        let before = pool.stats();
        drop(pool.arena().unspecified::<Complex<f32>>(len));
        let refused = pool.stats().since(&before).refused_for(Refusal::PoolFull);
        assert_eq!(refused == 0, fits, "{len} more elements");
    }
    check_identities(pool.stats(), 0);

    // An array that is lent makes room for as many elements as it has.
    pool.clear();
    drop(pool.arena().unspecified::<T>(most));
    let arena = pool.arena();
    let lent = arena.unspecified::<T>(most);
    drop(pool.arena().unspecified::<f32>(most));
    assert_eq!(pool.stats().held_bytes, (4 * most) as u64);
    drop(lent);
    drop(arena);
    assert_eq!(
        pool.stats().held_buffers,
        1,
        "the other one is over the bound now"
    );

    // 32 arrays of one class.
    pool.clear();
    burst::<T>(&pool.arena(), 40, 2);
    burst::<T>(&pool.arena(), 40, 3);
    let stats = pool.stats();
    assert_eq!(stats.held_buffers, 64);
    assert_eq!(stats.refused_for(Refusal::ClassFull), 16);
    check_identities(stats, 0);
}

#[test]
fn the_conservative_bounds_hold_to_the_last_f32() {
    conservative_bounds::<f32>();
}

#[test]
fn the_conservative_bounds_hold_to_the_last_f64() {
    conservative_bounds::<f64>();
}

#[test]
fn the_conservative_bounds_hold_to_the_last_complex_f32() {
    conservative_bounds::<Complex<f32>>();
}

#[test]
fn the_conservative_bounds_hold_to_the_last_complex_f64() {
    conservative_bounds::<Complex<f64>>();
}

#[test]
fn one_giant_array_does_not_pin_memory() {
    let budget = 1 << 20;
    let pool = GradPool::new(Bounded {
        pool_bytes: budget,
        when_full: WhenFull::Evict,
        ..Bounded::UNLIMITED
    });
    drop(pool.arena().unspecified::<f64>(budget));
    assert_eq!(pool.stats().held_bytes, 0);
    for round in 0..if cfg!(miri) { 30 } else { 10_000 } {
        drop(pool.arena().unspecified::<f32>(256 + round % 7));
        assert!(pool.stats().held_bytes <= budget as u64);
    }
}

#[test]
fn ten_thousand_lengths_stay_within_the_default_bounds() {
    let pool = GradPool::default();
    for len in 1..=if cfg!(miri) { 70 } else { 10_000 } {
        drop(pool.arena().unspecified::<f32>(len));
        assert!(pool.stats().classes <= 256 && pool.stats().held_buffers <= 256);
    }
}

#[test]
fn a_pool_full_of_tiny_arrays_recovers_when_it_evicts_and_does_not_when_it_refuses() {
    let rounds = if cfg!(miri) { 10 } else { 1000 };
    for (when_full, most_misses) in [(WhenFull::Evict, 1), (WhenFull::Refuse, rounds)] {
        let pool = GradPool::new(Bounded {
            pool_buffers: 32,
            when_full,
            ..Bounded::UNLIMITED
        });
        burst::<f32>(&pool.arena(), 32, 1);
        let before = pool.stats();
        for _ in 0..rounds {
            drop(pool.arena().unspecified::<f32>(16_384));
        }
        assert_eq!(pool.stats().since(&before).misses, most_misses);
    }
}

#[test]
fn after_a_burst_quiet_rounds_bring_the_pool_down_to_what_a_sweep_needs() {
    let pool = GradPool::new(Decaying {
        quiet_rounds: 1,
        share: 2,
        inner: Bounded::UNLIMITED,
    });
    burst::<f32>(&pool.arena(), 100, 8);
    let mut held = Vec::new();
    for _ in 0..10 {
        burst::<f32>(&pool.arena(), 2, 8);
        pool.end_round();
        held.push(pool.stats().held_buffers);
    }
    assert_eq!((held[0], held[9]), (100, 2), "{held:?}");
    assert!(
        held.is_sorted_by(|before, after| before >= after),
        "{held:?}"
    );
    let stats = pool.stats();
    assert_eq!(stats.misses, 100, "what the sweeps need is never given up");
    assert_eq!(stats.evicted, 98);
    check_identities(stats, 0);
    for _ in 0..4 {
        pool.end_round();
    }
    assert_eq!(pool.stats().held_buffers, 0);
}

#[test]
fn a_clear_frees_the_shared_tier_now_and_an_arena_at_its_next_touch() {
    let pool = GradPool::default();
    drop(pool.arena().zeroed::<f32>(10));
    let arena = pool.arena();
    drop(arena.zeroed::<f32>(20));
    let across = arena.zeroed::<f32>(30);
    let leaf = arena.zeroed::<f32>(40).into_leaf();
    pool.clear();
    assert_eq!(
        pool.stats().held_bytes,
        80,
        "the arena holds its array still"
    );
    drop(across);
    assert_eq!(
        pool.stats().held_bytes,
        120,
        "what was out meanwhile comes back as usual"
    );
    drop(leaf);
    let stats = pool.stats();
    assert_eq!(stats.held_bytes, 280);
    assert_eq!((stats.cleared, stats.hits, stats.refusals()), (2, 0, 0));
    check_identities(stats, 0);
    drop(arena.zeroed::<f32>(20));
    drop(arena.zeroed::<f32>(20));
    assert_eq!(pool.stats().hits, 1);
}

#[test]
fn switched_off_means_plain_allocation_at_once() {
    let pool = GradPool::default();
    let arena = pool.arena();
    burst::<f32>(&arena, 3, 10);
    pool.set_enabled(false);
    assert!(!pool.is_enabled());
    burst::<f32>(&arena, 3, 10);
    let leaf = arena.zeroed::<f32>(10).into_leaf();
    drop(arena);
    drop(leaf);
    let stats = pool.stats();
    assert_eq!((stats.hits, stats.misses, stats.bypassed), (0, 3, 4));
    assert_eq!(stats.held_buffers, 0);
    check_identities(stats, 0);
    pool.set_enabled(true);
    let arena = pool.arena();
    burst::<f32>(&arena, 1, 10);
    burst::<f32>(&arena, 1, 10);
    assert_eq!(pool.stats().hits, 1);
}

#[test]
fn more_arenas_at_once_than_wait_as_spares_lose_no_count() {
    let pool = GradPool::default();
    let arenas: Vec<_> = (0..40).map(|_| pool.arena()).collect();
    for arena in &arenas {
        burst::<f32>(arena, 1, 10);
    }
    assert_eq!(pool.stats().misses, 40);
    drop(arenas);
    let stats = pool.stats();
    assert_eq!((stats.misses, stats.held_buffers), (40, 40));
    assert!(stats.peak_buffers >= 40);
    check_identities(stats, 0);
}

#[cfg(all(feature = "huge-pages", not(miri)))]
#[test]
fn an_array_on_huge_pages_is_as_any_other_and_detaches_as_a_plain_vec() {
    let pool = GradPool::default();
    pool.set_huge_pages(true);
    let arena = pool.arena();
    // Under the least size, at it, and over it by a part of a page.
    for len in [(1 << 18) - 1, 1 << 18, (1 << 18) + 3, 5 << 18] {
        let mut made = arena.zeroed::<f64>(len);
        assert!(made.iter().all(|&element| element == 0.0));
        made.fill(1.0);
        drop(made);
        let again = arena.zeroed::<f64>(len);
        assert!(again.iter().all(|&element| element == 0.0));
        let mut detached = again.detach();
        detached.push(2.0);
        assert_eq!(detached.len(), len + 1);
    }
    check_identities(pool.stats(), 0);
}

#[cfg(all(feature = "huge-pages", target_os = "linux", not(miri)))]
#[test]
fn the_pages_of_a_large_array_are_advised_only_with_the_option() {
    // What Linux says of the mapping that holds an address: `hg` stands for advised.
    fn is_advised(address: usize) -> Option<bool> {
        let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let mut inside = false;
        for line in maps.lines() {
            let first = line.split_whitespace().next()?;
            if let Some((begin, end)) = first.split_once('-') {
                let ends = [begin, end].map(|end| usize::from_str_radix(end, 16));
                inside = matches!(ends, [Ok(begin), Ok(end)] if (begin..end).contains(&address));
            } else if inside && first == "VmFlags:" {
                return Some(line.split_whitespace().any(|flag| flag == "hg"));
            }
        }
        None
    }
    for on in [false, true] {
        let pool = GradPool::default();
        pool.set_huge_pages(on);
        let arena = pool.arena();
        let large = arena.zeroed::<f64>(1 << 22);
        for element in [&large[0], &large[1 << 21], &large[(1 << 22) - 1]] {
            // None on a kernel that does not say.
            if let Some(advised) = is_advised(std::ptr::from_ref(element).addr()) {
                assert_eq!(advised, on);
            }
        }
    }
}
