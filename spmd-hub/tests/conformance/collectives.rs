//! Collectives: results, order of reduction, empty payloads, and calls that differ.

use spmd_hub::{Backend, Error, Max, Min, Product, Source, Sum, Tag};

use crate::{SIZES, on_every_backend, world};

on_every_backend! {
    every_collective_gives_every_rank_its_result,
    collectives_of_nothing_still_synchronise,
    reductions_go_in_rank_order_whatever_arrives_first,
    user_tags_never_meet_collectives,
    other_lengths_are_an_error_on_every_rank,
    other_collectives_are_an_error_on_every_rank,
    other_roots_types_and_operators_are_an_error_on_every_rank,
    a_root_beyond_the_world_is_an_error_on_every_rank,
    a_collective_without_one_rank_is_an_error_on_the_others,
}

fn every_collective_gives_every_rank_its_result(backend: Backend) {
    for size in SIZES {
        for count in [0, 1, 7, 4801] {
            world(backend, size, |comm| {
                let rank = comm.rank();
                let mine: Vec<f64> = (0..count).map(|at| (rank * 10 + at) as f64).collect();
                let of = |rank: usize| (0..count).map(move |at| (rank * 10 + at) as f64);
                let sum: Vec<f64> = (0..count)
                    .map(|at| (0..size).map(|rank| (rank * 10 + at) as f64).sum())
                    .collect();
                for root in 0..size {
                    let mut all = mine.clone();
                    comm.broadcast(&mut all, root)?;
                    assert!(all.iter().copied().eq(of(root)));
                    let folded = comm.reduce(&mine, Sum, root)?;
                    assert_eq!(folded, (rank == root).then(|| sum.clone()));
                    let gathered = comm.gather(&mine, root)?;
                    assert_eq!(
                        gathered,
                        (rank == root).then(|| (0..size).flat_map(of).collect())
                    );
                    let parts = comm.gather_varying(&vec![rank as u8; rank * count], root)?;
                    let expected = || {
                        (0..size)
                            .map(|rank| vec![rank as u8; rank * count])
                            .collect()
                    };
                    assert_eq!(parts, (rank == root).then(expected));
                }
                assert_eq!(comm.allreduce(&mine, Sum)?, sum);
                assert!(comm.allreduce(&mine, Max)?.into_iter().eq(of(size - 1)));
                assert!(comm.allreduce(&mine, Min)?.into_iter().eq(of(0)));
                assert_eq!(comm.allreduce(&[2_u32], Product)?, [1 << size]);
                assert_eq!(
                    comm.allreduce(&[rank as u64 + 1], |a, b| a * 10 + b)?[0],
                    (1..=size as u64).fold(0, |a, b| a * 10 + b)
                );
                comm.barrier()
            });
        }
    }
}

fn collectives_of_nothing_still_synchronise(backend: Backend) {
    for size in 1..=5 {
        world(backend, size, |comm| {
            for round in 0..20_u8 {
                if comm.rank() == size - 1 {
                    comm.send(&[round], 0, 1)?;
                }
                if round % 2 == 0 {
                    comm.barrier()?;
                } else {
                    comm.allreduce::<f32>(&[], Sum)?;
                }
                // After the collective the message must be there: waiting would be the receive timeout.
                if comm.rank() == 0 {
                    assert_eq!(comm.recv::<u8>(size - 1, 1)?, [round]);
                }
            }
            Ok(())
        });
    }
}

fn reductions_go_in_rank_order_whatever_arrives_first(backend: Backend) {
    let bits = world(backend, 3, |comm| {
        let mine = [1e16_f64, 1.0, -1e16][comm.rank()];
        let mut results = Vec::new();
        for round in 0..1000 {
            // Each round another rank is late by a message that it waits for.
            let late = round % 3;
            if comm.rank() == late {
                comm.recv::<u8>((late + 1) % 3, 0)?;
            } else if comm.rank() == (late + 1) % 3 {
                comm.send(&[0_u8], late, 0)?;
            }
            results.push(comm.allreduce(&[mine, f64::NAN.copysign(mine)], Sum)?[0].to_bits());
        }
        Ok(results)
    });
    let expected = ((1e16_f64 + 1.0) + -1e16).to_bits();
    assert!(bits.iter().flatten().all(|bits| *bits == expected));
}

fn user_tags_never_meet_collectives(backend: Backend) {
    world(backend, 3, |comm| {
        for round in 0..1000_u32 {
            // Rounds are tags of the collectives' own context.
            for tag in [round, u32::MAX - round] {
                comm.send(&[tag], (comm.rank() + 1) % 3, tag)?;
            }
            assert_eq!(comm.allreduce(&[round], Max)?, [round]);
            for tag in [u32::MAX - round, round] {
                assert_eq!(comm.recv::<u32>((comm.rank() + 2) % 3, tag)?, [tag]);
            }
        }
        assert!(
            comm.hub_stats()
                .is_none_or(|stats| stats.frames_dropped == 0)
        );
        Ok(())
    });
}

/// Runs calls that differ and checks that every rank's error names both sides, and that the world goes on.
fn differing(
    backend: Backend,
    parts: &[&str],
    call: impl Fn(&spmd_hub::Communicator) -> Result<(), Error> + Sync,
) {
    world(backend, 3, |comm| {
        let error = call(comm).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Collective(_)), "{text}");
        for part in parts {
            assert!(text.contains(part), "{text} does not name {part}");
        }
        assert_eq!(comm.allreduce(&[1_u8], Sum)?, [3]);
        Ok(())
    });
}

fn other_lengths_are_an_error_on_every_rank(backend: Backend) {
    differing(
        backend,
        &[
            "rank 0 called allreduce of 4",
            "rank 2 called allreduce of 8",
        ],
        |comm| {
            let count = if comm.rank() == 2 { 8 } else { 4 };
            comm.allreduce(&vec![0.0_f32; count], Sum).map(drop)
        },
    );
}

fn other_collectives_are_an_error_on_every_rank(backend: Backend) {
    differing(
        backend,
        &["rank 0 called broadcast", "rank 1 called barrier"],
        |comm| match comm.rank() {
            1 => comm.barrier(),
            _ => comm.broadcast(&mut [0_u8; 3], 2),
        },
    );
}

fn other_roots_types_and_operators_are_an_error_on_every_rank(backend: Backend) {
    differing(backend, &["root 0", "root 1"], |comm| {
        comm.gather(&[0_u8], usize::from(comm.rank() == 1))
            .map(drop)
    });
    differing(backend, &["of i32", "of f32"], |comm| match comm.rank() {
        0 => comm.allreduce(&[0_i32], Sum).map(drop),
        _ => comm.allreduce(&[0_f32], Sum).map(drop),
    });
    differing(backend, &["by sum", "by max"], |comm| match comm.rank() {
        2 => comm.allreduce(&[0_i32], Max).map(drop),
        _ => comm.allreduce(&[0_i32], Sum).map(drop),
    });
}

fn a_root_beyond_the_world_is_an_error_on_every_rank(backend: Backend) {
    differing(backend, &["root 3", "world of 3"], |comm| {
        comm.broadcast(&mut [0_u8; 3], 3)
    });
}

fn a_collective_without_one_rank_is_an_error_on_the_others(backend: Backend) {
    world(backend, 3, |comm| {
        if comm.rank() == 1 {
            return Ok(());
        }
        let text = comm.allreduce(&[1_u8], Sum).unwrap_err().to_string();
        assert!(
            text.contains("allreduce") && text.contains("rank 1 has left"),
            "{text}"
        );
        // The two that are left can still talk.
        let other = 2 - comm.rank();
        comm.send(&[1_u8], other, 0)?;
        assert_eq!(comm.recv::<u8>(Source::Any, Tag::Any)?, [1]);
        Ok(())
    });
}
