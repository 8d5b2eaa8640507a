//! A warm borrow and its return allocate nothing, through every door: counted.
#![cfg(not(miri))] // Miri brings its own allocator.

use allocation_counter::measure;
use num_complex::Complex;
use tls_pool::TlsPool;

/// Calls the allocator gets from one warm round of `work`.
fn warm(mut work: impl FnMut()) -> u64 {
    work();
    work();
    measure(work).count_total
}

#[test]
fn a_warm_hit_allocates_nothing_through_any_door() {
    let pool = TlsPool::default();
    let shape = [16, 16];
    let doors = [
        warm(|| drop(pool.zeroed::<f64>(&shape).unwrap())),
        warm(|| drop(pool.unspecified::<f32>(&shape).unwrap())),
        warm(|| drop(pool.zeroed::<u8>(&shape).unwrap().into_owned())),
        warm(|| drop(pool.unspecified::<Complex<f64>>(&shape).unwrap())),
        warm(|| drop(pool.copied(&[1_u16; 40]))),
        warm(|| drop(pool.filled(&shape, 1.0_f32).unwrap())),
        warm(|| drop(pool.filled_with(&shape, |index| index).unwrap())),
        warm(|| drop(tls_pool::global().zeroed::<f64>(&shape).unwrap())),
        warm(|| {
            let both = [0, 1].map(|_| pool.zeroed::<i16>(&shape).unwrap());
            drop(both);
        }),
        warm(|| {
            for len in 1..=16 {
                drop(pool.zeroed::<f64>(&[len]).unwrap());
            }
        }),
    ];
    assert_eq!(doors, [0; 10]);
    assert_eq!(pool.stats().hits, pool.stats().acquires() - 8 - 16);
}

#[test]
fn an_empty_shape_and_reading_a_threads_statistics_allocate_nothing() {
    let pool = TlsPool::default();
    assert_eq!(warm(|| drop(pool.zeroed::<f64>(&[0]).unwrap())), 0);
    assert_eq!(warm(|| assert_eq!(pool.thread_stats().hits, 0)), 0);
    assert_eq!(warm(|| assert_eq!(pool.stats().hits, 0)), 0);
}

#[test]
fn a_miss_allocates_the_buffer_and_nothing_else_once_its_class_is_known() {
    let pool = TlsPool::default();
    let shape = [256];
    let once = || drop(pool.zeroed::<f64>(&shape).unwrap().detach());
    once();
    assert_eq!(warm(once), 1);
}
