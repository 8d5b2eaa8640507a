//! Random programs of sends and receives, checked against a model.
//!
//! A program is a list of messages. Each rank sends its own in program order, then
//! receives what the model says it gets, in an order that the program chose: by
//! exact source and tag, by source alone or by tag alone.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use spmd_hub::{Backend, Communicator, Error, Source, Tag};

use crate::{on_every_backend, world};

on_every_backend! {
    a_random_program_receives_what_the_model_says,
}

#[derive(Debug, Clone)]
struct Message {
    source: usize,
    dest: usize,
    tag: u32,
    count: usize,
}

fn message(size: usize) -> impl Strategy<Value = Message> {
    let count = prop_oneof![Just(0_usize), 1..40_usize, Just(30_000)];
    (0..size, 0..size, 0..3_u32, count).prop_map(|(source, dest, tag, count)| Message {
        source,
        dest,
        tag,
        count,
    })
}

fn a_random_program_receives_what_the_model_says(backend: Backend) {
    let programs = (1..5_usize).prop_flat_map(|size| {
        (
            Just(size),
            prop::collection::vec(message(size), 0..60),
            prop::collection::vec(any::<(u8, u8)>(), 60),
        )
    });
    let config = Config {
        cases: 12,
        failure_persistence: None,
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(&programs, |(size, messages, choices)| {
        world(backend, size, |comm| rank(comm, &messages, &choices));
        Ok(())
    });
    outcome.unwrap();
}

fn rank(comm: &Communicator, messages: &[Message], choices: &[(u8, u8)]) -> Result<(), Error> {
    let me = comm.rank();
    for (number, message) in messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message.source == me)
    {
        comm.send(
            &vec![number as u32; message.count],
            message.dest,
            message.tag,
        )?;
    }
    // The model: per source, in order, what is still to come.
    let mut coming: Vec<(usize, &Message)> = messages
        .iter()
        .enumerate()
        .filter(|(_, m)| m.dest == me)
        .collect();
    for (pick, how) in choices {
        if coming.is_empty() {
            break;
        }
        let wanted = coming[usize::from(*pick) % coming.len()].1;
        let (source, tag) = match how % 4 {
            0 | 1 => (Source::Rank(wanted.source), Tag::Is(wanted.tag)),
            2 => (Source::Rank(wanted.source), Tag::Any),
            _ => (Source::Any, Tag::Is(wanted.tag)),
        };
        let (elements, status) = comm.recv_status::<u32>(source, tag)?;
        // Whichever source it is, it is that source's first message that matches.
        let matches =
            |m: &Message| m.source == status.source && (tag == Tag::Any || m.tag == wanted.tag);
        let at = coming
            .iter()
            .position(|(_, message)| matches(message))
            .expect("the message is one to come");
        let (number, message) = coming.remove(at);
        assert_eq!(
            (status.tag, elements),
            (message.tag, vec![number as u32; message.count])
        );
    }
    Ok(())
}
