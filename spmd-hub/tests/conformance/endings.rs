//! How ranks end: leaving loses nothing, a panic or an error ends the world with its reason.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use spmd_hub::{Backend, Error, Source, Tag, World};

use crate::{on_every_backend, options, world};

on_every_backend! {
    everything_sent_before_leaving_arrives,
    a_rank_that_left_is_named_by_sends_and_receives,
    a_panic_ends_every_other_rank_within_a_second,
    an_error_ends_every_other_rank_with_its_reason,
    a_rank_may_leave_long_before_the_others,
}

fn everything_sent_before_leaving_arrives(backend: Backend) {
    const MESSAGES: u32 = 10_000;
    world(backend, 4, |comm| match comm.rank() {
        0 | 1 => (0..MESSAGES)
            .try_for_each(|number| comm.send(&[number; 20], 2 + number as usize % 2, 4)),
        receiver => {
            for source in [1, 0] {
                for number in (0..MESSAGES).filter(|number| 2 + *number as usize % 2 == receiver) {
                    assert_eq!(comm.recv::<u32>(source, 4)?, [number; 20]);
                }
            }
            let error = comm.recv::<u32>(0, 4).unwrap_err();
            assert!(matches!(error, Error::Departed { rank: 0, .. }), "{error}");
            Ok(())
        }
    });
}

fn a_rank_that_left_is_named_by_sends_and_receives(backend: Backend) {
    world(backend, 3, |comm| {
        if comm.rank() == 1 {
            return Ok(());
        }
        assert!(matches!(
            comm.recv::<u8>(1, Tag::Any),
            Err(Error::Departed { rank: 1, .. })
        ));
        let error = comm.send(&[1_u8], 1, 0).unwrap_err();
        assert!(matches!(error, Error::Departed { rank: 1, .. }), "{error}");
        if comm.rank() == 2 {
            comm.send(&[5_u8], 0, 0)?;
            return Ok(());
        }
        assert_eq!(comm.recv::<u8>(Source::Any, Tag::Any)?, [5]);
        assert!(matches!(
            comm.recv::<u8>(Source::Any, Tag::Any),
            Err(Error::Alone { .. })
        ));
        Ok(())
    });
}

fn a_panic_ends_every_other_rank_within_a_second(backend: Backend) {
    for culprit in 0..3 {
        let seen = Mutex::new(Vec::new());
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            World::new(3)
                .backend(backend)
                .options(options())
                .run(|comm| {
                    if comm.rank() == culprit {
                        // Let the others be in their calls, or nearly.
                        for other in (0..3).filter(|other| *other != culprit) {
                            comm.recv::<u8>(other, 0)?;
                        }
                        panic!("on purpose");
                    }
                    comm.send(&[0_u8], culprit, 0)?;
                    let begun = Instant::now();
                    let error = if comm.rank() == 2 {
                        comm.barrier()
                    } else {
                        comm.recv::<u8>(culprit, 1).map(drop)
                    };
                    let error = error.unwrap_err();
                    seen.lock()
                        .unwrap()
                        .push((error.to_string(), begun.elapsed()));
                    // Every later call fails, too.
                    assert!(comm.send(&[0_u8], culprit, 0).is_err() && comm.barrier().is_err());
                    Err::<(), _>(error)
                })
        }));
        let panic = outcome.expect_err("the culprit's panic goes on");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.len(), 2);
        for (text, waited) in seen {
            assert!(
                text.contains(&format!("rank {culprit}")) && text.contains("panicked: on purpose"),
                "{text}"
            );
            assert!(waited < Duration::from_secs(1), "{waited:?}");
        }
    }
}

fn an_error_ends_every_other_rank_with_its_reason(backend: Backend) {
    let outcome = World::new(3)
        .backend(backend)
        .options(options())
        .run(|comm| {
            if comm.rank() == 2 {
                return comm.send(&[1_u8], 77, 0);
            }
            let error = comm.recv::<u8>(2, 0).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("aborted by rank 2") && text.contains("rank 77"),
                "{text}"
            );
            Err(error)
        });
    assert!(
        matches!(outcome, Err(Error::UnknownRank { rank: 77, .. })),
        "{outcome:?}"
    );
}

fn a_rank_may_leave_long_before_the_others(backend: Backend) {
    world(backend, 4, |comm| {
        if comm.rank() < 2 {
            return Ok(());
        }
        let other = 5 - comm.rank();
        for number in 0..100_u64 {
            comm.send(&[number; 1000], other, 0)?;
            assert_eq!(comm.recv::<u64>(other, 0)?, [number; 1000]);
        }
        Ok(())
    });
}
