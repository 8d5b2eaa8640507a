//! Messages between two ranks: sizes, order, wildcards, and receives that fail.

use spmd_hub::{Backend, Element, Error, Source, Status, Tag};

use crate::{SIZES, on_every_backend, world};

on_every_backend! {
    every_size_and_type_arrives_as_it_was_sent,
    messages_of_one_source_and_tag_keep_their_order,
    a_wildcard_takes_the_first_arrival_and_says_whose_it_is,
    a_message_to_oneself_of_any_size_never_waits,
    other_elements_than_asked_for_are_an_error_and_stay_receivable,
    a_buffer_too_short_is_an_error_and_the_message_stays_receivable,
    an_unknown_rank_is_named,
    a_message_beyond_the_limit_is_refused_and_the_world_goes_on,
    a_full_stash_is_an_error_that_names_tag_and_count,
    a_slow_receiver_loses_nothing,
    all_ranks_send_large_messages_at_once,
    a_receive_that_nobody_serves_ends_with_its_time,
}

fn ring<T: Element + PartialEq + std::fmt::Debug>(
    backend: Backend,
    size: usize,
    make: impl Fn(usize, usize) -> T + Sync,
) {
    world(backend, size, |comm| {
        let (rank, right, left) = (
            comm.rank(),
            (comm.rank() + 1) % size,
            (comm.rank() + size - 1) % size,
        );
        for count in [0, 1, 3, 1000, 65_537, 700_001] {
            let mine: Vec<T> = (0..count).map(|at| make(rank, at)).collect();
            let theirs: Vec<T> = (0..count).map(|at| make(left, at)).collect();
            comm.send(&mine, right, 7)?;
            assert_eq!(comm.recv::<T>(left, 7)?, theirs);
            comm.send_vec(mine, right, u32::MAX)?;
            let mut buffer = vec![T::zeroed(); count + 1];
            let status = comm.recv_into(&mut buffer, left, u32::MAX)?;
            assert_eq!(
                status,
                Status {
                    source: left,
                    tag: u32::MAX,
                    count
                }
            );
            assert_eq!(buffer[..count], theirs);
        }
        Ok(())
    });
}

fn every_size_and_type_arrives_as_it_was_sent(backend: Backend) {
    for size in SIZES {
        ring::<f32>(backend, size, |rank, at| (rank * 1000 + at) as f32);
    }
    ring::<u8>(backend, 3, |rank, at| (rank + at).to_le_bytes()[0]);
    ring::<f64>(backend, 3, |rank, at| (rank * 1000 + at) as f64);
    ring::<[u16; 3]>(backend, 3, |rank, at| {
        [(rank + at).to_le_bytes()[0].into(), 2, 3]
    });
}

fn messages_of_one_source_and_tag_keep_their_order(backend: Backend) {
    const MESSAGES: u32 = 10_000;
    let counts = world(backend, 3, |comm| {
        if comm.rank() > 0 {
            for number in 0..MESSAGES {
                comm.send(&[number], (comm.rank() % 2) + 1, number % 3)?;
                comm.send(&[number], 0, number % 3)?;
            }
        }
        // Tag by tag, so that most messages wait in the stash, and from both sources at rank 0.
        let sources: &[usize] = [&[1, 2][..], &[2], &[1]][comm.rank()];
        let mut count = 0;
        for tag in [2, 0, 1] {
            for number in (0..MESSAGES).filter(|number| number % 3 == tag) {
                for source in sources {
                    assert_eq!(comm.recv::<u32>(*source, tag)?, [number]);
                    count += 1;
                }
            }
        }
        Ok(count)
    });
    assert_eq!(counts, [2 * MESSAGES, MESSAGES, MESSAGES]);
}

fn a_wildcard_takes_the_first_arrival_and_says_whose_it_is(backend: Backend) {
    world(backend, 3, |comm| {
        match comm.rank() {
            1 => {
                comm.send(&[1_u8], 0, 5)?;
                comm.send(&[2_u8], 0, 6)?;
                comm.send(&[9_u8], 2, 0)?;
            }
            2 => {
                // Rank 1's messages have left before this one does.
                comm.recv::<u8>(1, 0)?;
                comm.send(&[3_u8], 0, 5)?;
            }
            _ => {
                // Both of rank 2's are here now, and so are rank 1's, which were sent before.
                let (from_two, status) = comm.recv_status::<u8>(2, Tag::Any)?;
                assert_eq!(
                    (from_two, status),
                    (
                        vec![3],
                        Status {
                            source: 2,
                            tag: 5,
                            count: 1
                        }
                    )
                );
                assert_eq!(comm.recv::<u8>(Source::Any, 6)?, [2]);
                assert_eq!(comm.recv_status::<u8>(Source::Any, Tag::Any)?.1.source, 1);
            }
        }
        Ok(())
    });
}

fn a_message_to_oneself_of_any_size_never_waits(backend: Backend) {
    world(backend, 2, |comm| {
        let me = comm.rank();
        for bytes in [0, 1, 1000, 64 << 20] {
            comm.send_vec(vec![7_u8; bytes], me, 1)?;
            comm.send_vec(vec![8_u8; bytes], me, 1)?;
            assert_eq!(comm.recv::<u8>(me, 1)?, vec![7_u8; bytes]);
            assert_eq!(comm.recv::<u8>(me, Tag::Any)?, vec![8_u8; bytes]);
        }
        assert!(matches!(
            comm.recv::<u8>(me, 1),
            Err(Error::OwnMessage { .. })
        ));
        Ok(())
    });
}

fn other_elements_than_asked_for_are_an_error_and_stay_receivable(backend: Backend) {
    world(backend, 3, |comm| {
        if comm.rank() == 1 {
            comm.send(&[1.5_f64, 2.5], 2, 3)?;
            comm.send(&[1.5_f64, 2.5], 0, 3)?;
            return Ok(());
        }
        let error = comm.recv::<i32>(1, 3).unwrap_err().to_string();
        for part in ["rank 1", "2 elements of f64", "tag 3", "asks for i32"] {
            assert!(error.contains(part), "{error}");
        }
        assert!(matches!(
            comm.recv_into(&mut [0_u64; 2], 1, 3),
            Err(Error::ElementMismatch { .. })
        ));
        assert_eq!(comm.recv::<f64>(1, 3)?, [1.5, 2.5]);
        Ok(())
    });
}

fn a_buffer_too_short_is_an_error_and_the_message_stays_receivable(backend: Backend) {
    world(backend, 3, |comm| {
        if comm.rank() == 1 {
            for dest in [0, 2] {
                comm.send(&[1_u16; 10], dest, 0)?;
                comm.send(&[2_u16; 4], dest, 0)?;
            }
            return Ok(());
        }
        let mut four = [0_u16; 4];
        let error = comm
            .recv_into(&mut four, Source::Any, Tag::Any)
            .unwrap_err();
        assert!(
            matches!(
                error,
                Error::TooShort {
                    sent: 10,
                    room: 4,
                    source_rank: 1,
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(comm.recv_into(&mut [0_u16; 10], 1, 0)?.count, 10);
        assert_eq!(comm.recv_into(&mut four, 1, 0)?.count, 4);
        assert_eq!(four, [2; 4]);
        Ok(())
    });
}

fn an_unknown_rank_is_named(backend: Backend) {
    world(backend, 2, |comm| {
        let error = comm.send(&[1_u8], 2, 0).unwrap_err().to_string();
        assert!(
            error.contains("rank 2") && error.contains("world of 2"),
            "{error}"
        );
        assert!(matches!(
            comm.recv::<u8>(5, 0),
            Err(Error::UnknownRank {
                rank: 5,
                size: 2,
                ..
            })
        ));
        Ok(())
    });
}

fn a_message_beyond_the_limit_is_refused_and_the_world_goes_on(backend: Backend) {
    let mut options = crate::options();
    options.frame_bytes = 1000;
    let world = spmd_hub::World::new(3).backend(backend).options(options);
    let outcome = world.run(|comm| {
        let dest = (comm.rank() + 1) % 3;
        let error = comm.send(&[0_u8; 1001], dest, 0).unwrap_err();
        assert!(
            matches!(
                error,
                Error::TooLarge {
                    bytes: 1001,
                    limit: 1000,
                    ..
                }
            ),
            "{error}"
        );
        comm.send(&[0_u8; 1000], dest, 0)?;
        comm.recv::<u8>(Source::Any, 0).map(drop)
    });
    outcome.unwrap();
}

fn a_full_stash_is_an_error_that_names_tag_and_count(backend: Backend) {
    let mut options = crate::options();
    options.stash_bytes = 1 << 20;
    let world = spmd_hub::World::new(3).backend(backend).options(options);
    let outcome = world.run(|comm| {
        const FLOOD: usize = 4000;
        if comm.rank() == 1 {
            for dest in [0, 2] {
                (0..FLOOD).try_for_each(|_| comm.send(&[0_u8; 1024], dest, 7))?;
                comm.send(&[1_u8], dest, 8)?;
            }
            return Ok::<_, Error>(());
        }
        let error = comm.recv::<u8>(1, 8).unwrap_err();
        let Error::StashFull {
            bytes,
            queued,
            from: 1,
            queued_tag: 7,
            ..
        } = error
        else {
            panic!("{error}")
        };
        assert!(bytes <= 1 << 20 && queued > 800, "{error}");
        (0..FLOOD).try_for_each(|_| comm.recv::<u8>(1, 7).map(drop))?;
        assert_eq!(comm.recv::<u8>(1, 8)?, [1]);
        Ok(())
    });
    outcome.unwrap();
}

fn a_slow_receiver_loses_nothing(backend: Backend) {
    let mut options = crate::options();
    (
        options.stash_bytes,
        options.outbox_bytes,
        options.outbox_frames,
    ) = (200_000, 100_000, 4);
    let world = spmd_hub::World::new(3).backend(backend).options(options);
    let outcome = world.run(|comm| {
        for number in 0..300_u32 {
            if comm.rank() == 1 {
                comm.send_vec(vec![number; 5000], 2, 1)?;
                comm.send_vec(vec![number; 5000], 0, 1)?;
            } else {
                let numbers = comm.recv::<u32>(1, 1)?;
                assert_eq!(numbers, vec![number; 5000]);
                // Slower than the sender by some work, not by a clock.
                assert!(
                    numbers
                        .iter()
                        .map(|number| f64::from(*number).sqrt())
                        .sum::<f64>()
                        >= 0.0
                );
            }
        }
        Ok::<_, Error>(())
    });
    outcome.unwrap();
}

fn all_ranks_send_large_messages_at_once(backend: Backend) {
    world(backend, 4, |comm| {
        let me = comm.rank();
        for dest in (0..4).filter(|dest| *dest != me) {
            comm.send(&vec![me as u64; 500_000], dest, 0)?;
        }
        for source in (0..4).filter(|source| *source != me) {
            assert_eq!(comm.recv::<u64>(source, 0)?, vec![source as u64; 500_000]);
        }
        Ok(())
    });
}

fn a_receive_that_nobody_serves_ends_with_its_time(backend: Backend) {
    let mut options = crate::options();
    options.receive_timeout = Some(std::time::Duration::from_millis(50));
    let world = spmd_hub::World::new(2).backend(backend).options(options);
    let outcome = world.run(|comm| {
        let other = 1 - comm.rank();
        let error = comm.recv::<u8>(other, 9).unwrap_err();
        assert!(
            matches!(
                error,
                Error::TimedOut {
                    source_rank: Source::Rank(_),
                    tag: Tag::Is(9),
                    ..
                }
            ),
            "{error}"
        );
        comm.send(&[1_u8], other, 1)?;
        while comm.recv::<u8>(other, 1).is_err() {}
        Ok::<_, Error>(())
    });
    outcome.unwrap();
}
