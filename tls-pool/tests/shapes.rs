//! Shapes at their edges, and bounds under sequences of shapes that real programs make.

use num_complex::Complex;
use tls_pool::{Bounded, TlsPool, WhenFull};

#[test]
fn a_shape_whose_product_overflows_is_an_error_that_names_it() {
    let pool = TlsPool::default();
    let wide: [&[usize]; 4] = [
        &[1 << 33, 1 << 33],
        &[usize::MAX, 2],
        &[1 << 61],
        &[1 << 60],
    ];
    for shape in wide {
        for error in [
            pool.zeroed::<f64>(shape).unwrap_err(),
            pool.unspecified::<f64>(shape).unwrap_err(),
            pool.zeroed::<f64>(shape).unwrap_err(),
            pool.unspecified::<f64>(shape).unwrap_err(),
        ] {
            assert!(error.to_string().contains(&format!("{shape:?}")), "{error}");
        }
    }
    assert_eq!(pool.stats(), TlsPool::default().stats());
}

#[test]
fn an_empty_shape_never_touches_the_pool() {
    let pool = TlsPool::default();
    for shape in [
        &[0][..],
        &[3, 0],
        &[0, usize::MAX, usize::MAX],
        &[usize::MAX, usize::MAX, 0],
    ] {
        let scratch = pool.zeroed::<f64>(shape).unwrap();
        assert!(scratch.is_empty());
        assert!(scratch.detach().is_empty());
        drop(pool.unspecified::<f64>(shape).unwrap());
    }
    // Elements without a size make no buffer either, however many there are.
    assert_eq!(pool.zeroed::<()>(&[7]).unwrap().len(), 7);
    drop(pool.zeroed::<[f32; 0]>(&[usize::MAX]).unwrap());
    assert_eq!(pool.stats(), TlsPool::default().stats());
}

#[test]
fn rank_zero_is_one_element_and_rides_the_pool() {
    let pool = TlsPool::default();
    assert_eq!(*pool.zeroed::<f64>(&[]).unwrap(), [0.0]);
    assert_eq!(*pool.zeroed::<f64>(&[1, 1]).unwrap(), [0.0]);
    assert_eq!((pool.stats().hits, pool.stats().misses), (1, 1));
}

#[test]
fn shapes_of_one_product_share_a_class_and_element_types_do_not() {
    let pool = TlsPool::default();
    drop(pool.zeroed::<f64>(&[2, 6]).unwrap());
    drop(pool.zeroed::<f64>(&[3, 4]).unwrap());
    assert_eq!(pool.stats().hits, 1);
    // As many bytes and the same alignment, but not the same type.
    drop(pool.zeroed::<u64>(&[12]).unwrap());
    drop(pool.zeroed::<Complex<f64>>(&[6]).unwrap());
    assert_eq!((pool.stats().hits, pool.stats().misses), (1, 3));
    assert_eq!(pool.stats().classes, 3);
}

#[test]
fn a_shorter_and_a_longer_borrow_read_no_stale_byte() {
    let pool = TlsPool::default();
    for len in [100, 10, 100, 99, 101, 100] {
        let mut scratch = pool.zeroed::<u8>(&[len]).unwrap();
        assert!(scratch.iter().all(|&byte| byte == 0));
        scratch.fill(0xA5);
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn elements_aligned_past_what_can_be_erased_bypass_the_pool() {
    use std::arch::x86_64::__m256;

    let pool = TlsPool::default();
    // Sixteen bytes is the widest alignment of a standard integer, and rides.
    drop(pool.zeroed::<u128>(&[3]).unwrap());
    assert_eq!(*pool.zeroed::<u128>(&[3]).unwrap(), [0; 3]);
    for _ in 0..2 {
        assert_eq!(pool.zeroed::<__m256>(&[3]).unwrap().len(), 3);
    }
    let stats = pool.stats();
    assert_eq!((stats.hits, stats.bypassed, stats.live()), (1, 2, 0));
}

#[test]
fn one_giant_buffer_does_not_pin_memory() {
    let budget = 1 << 20;
    let pool = TlsPool::new(Bounded {
        pool_bytes: budget,
        when_full: WhenFull::Evict,
        ..Bounded::UNLIMITED
    });
    drop(pool.unspecified::<u8>(&[4 * budget]).unwrap());
    assert_eq!(pool.stats().held_bytes, 0);
    for round in 0..if cfg!(miri) { 100 } else { 10_000 } {
        drop(pool.unspecified::<u8>(&[1024 + round % 7]).unwrap());
        assert!(pool.stats().held_bytes <= budget as u64);
    }
}

#[test]
fn ten_thousand_distinct_shapes_stay_within_the_default_bounds() {
    let pool = TlsPool::default();
    for len in 1..=if cfg!(miri) { 70 } else { 10_000 } {
        drop(pool.unspecified::<u8>(&[len]).unwrap());
        let stats = pool.stats();
        assert!(stats.classes <= 256 && stats.held_buffers <= 256);
    }
}

#[test]
fn a_pool_full_of_tiny_buffers_recovers_when_it_evicts_and_does_not_when_it_refuses() {
    let rounds = if cfg!(miri) { 10 } else { 1000 };
    for (when_full, most_misses) in [(WhenFull::Evict, 1), (WhenFull::Refuse, rounds)] {
        let pool = TlsPool::new(Bounded {
            pool_buffers: 32,
            when_full,
            ..Bounded::UNLIMITED
        });
        let tiny: Vec<_> = (0..32).map(|_| pool.zeroed::<u8>(&[1]).unwrap()).collect();
        drop(tiny);
        let before = pool.stats();
        for _ in 0..rounds {
            drop(pool.zeroed::<u8>(&[65_536]).unwrap());
        }
        assert_eq!(pool.stats().since(&before).misses, most_misses);
    }
}

#[test]
fn the_conservative_bounds_keep_eight_buffers_of_one_class_and_no_ninth() {
    let pool = TlsPool::conservative();
    for shape in [[4], [5]] {
        let out: Vec<_> = (0..9)
            .map(|_| pool.zeroed::<f32>(&shape).unwrap())
            .collect();
        drop(out);
    }
    assert_eq!(pool.stats().held_buffers, 16);
    assert_eq!(pool.stats().refusals(), 2);
    // There is no ceiling: what the default bypasses is kept.
    let large = if cfg!(miri) { 1 << 12 } else { 65 << 20 };
    drop(pool.unspecified::<u8>(&[large]).unwrap());
    assert!(pool.stats().held_bytes >= large as u64);
}

#[test]
fn eight_pools_in_turn_are_each_as_good_as_alone() {
    let pools: Vec<_> = (0..8).map(|_| TlsPool::default()).collect();
    let rounds = if cfg!(miri) { 10 } else { 1000 };
    for _ in 0..rounds {
        for pool in &pools {
            drop(pool.zeroed::<f32>(&[100]).unwrap());
        }
    }
    for pool in &pools {
        assert_eq!((pool.stats().hits, pool.stats().misses), (rounds - 1, 1));
    }
}
