//! Calls that every rank of a world makes together.
//!
//! One round is the same for all of them, through rank 0, which is at the hub:
//! every other rank sends its *call* (what it calls, with which root, type, count
//! and operator, and what it contributes), rank 0 compares the calls with its own
//! and folds or hands on the contributions in rank order, and sends each rank a
//! *verdict*: its share of the result, or why there is none. So no rank returns
//! from a collective that another rank called differently.
//!
//! Rounds are numbered. A rank whose earlier call timed out has a verdict, or
//! rank 0 a contribution, of an older round coming: those are dropped.
//!
//! What must stay true: collectives use a context of their own, so that no user's
//! tag can meet them; every rank counts every collective it calls, failed or not.

mod allreduce;
mod barrier;
mod broadcast;
mod gather;
mod reduce;

use std::fmt;
use std::sync::Arc;

use crate::communicator::Communicator;
use crate::element::{Element, ElementType};
use crate::endpoint::Payload;
use crate::error::Error;
use crate::matching::{COLLECTIVE_CONTEXT, Pattern, Source, Tag};
use crate::operator::named;
use crate::stash::Message;
use crate::wire::{CallFields, Envelope};

/// The collectives and their codes on the wire: one line registers one.
const COLLECTIVES: [(u8, &str); 6] = [
    (BARRIER, "barrier"),
    (BROADCAST, "broadcast"),
    (REDUCE, "reduce"),
    (ALLREDUCE, "allreduce"),
    (GATHER, "gather"),
    (GATHER_VARYING, "gather_varying"),
];
const BARRIER: u8 = 1;
const BROADCAST: u8 = 2;
const REDUCE: u8 = 3;
const ALLREDUCE: u8 = 4;
const GATHER: u8 = 5;
const GATHER_VARYING: u8 = 6;
/// A verdict that there is no result; the payload says why.
const FAILED: u8 = 255;

fn name(code: u8) -> &'static str {
    COLLECTIVES
        .iter()
        .find(|(known, _)| *known == code)
        .map_or("an unknown collective", |(_, name)| name)
}

/// What one rank called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Call {
    fields: CallFields,
    element: ElementType,
}

impl Call {
    fn new<T: Element>(collective: u8, root: usize, count: usize, operator: &str) -> Self {
        // A root that does not fit is not a rank of any world, and refused as such.
        let root = u32::try_from(root).unwrap_or(u32::MAX);
        let operator = if operator.is_empty() {
            0
        } else {
            crate::element::fingerprint(operator)
        };
        let fields = CallFields {
            collective,
            root,
            count: count as u64,
            operator,
        };
        Self {
            fields,
            element: ElementType::of::<T>(),
        }
    }

    fn name(self) -> &'static str {
        name(self.fields.collective)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CallFields {
            collective,
            root,
            count,
            operator,
        } = self.fields;
        write!(f, "{}", self.name())?;
        match collective {
            BARRIER => return Ok(()),
            GATHER_VARYING => write!(f, " of {}", self.element)?,
            _ => write!(f, " of {count} elements of {}", self.element)?,
        }
        if operator != 0 {
            write!(
                f,
                " by {}",
                named(operator).unwrap_or("an operator of its own")
            )?;
        }
        if matches!(collective, BROADCAST | REDUCE | GATHER | GATHER_VARYING) {
            write!(f, " with root {root}")?;
        }
        Ok(())
    }
}

/// One collective call of one rank, in progress.
struct Round<'c> {
    comm: &'c Communicator,
    call: Call,
    sequence: u32,
}

impl<'c> Round<'c> {
    fn enter(comm: &'c Communicator, call: Call) -> Self {
        let sequence = comm.sequence.get();
        comm.sequence.set(sequence.wrapping_add(1));
        Self {
            comm,
            call,
            sequence,
        }
    }

    /// At every rank but 0: sends the call with what this rank contributes.
    fn contribute(&self, bytes: &[u8]) -> Result<(), Error> {
        self.post(0, self.call.fields, bytes)
    }

    /// At every rank but 0: waits for a share of the result.
    fn verdict(&self) -> Result<Message, Error> {
        loop {
            let message = self.comm.receive(&self.pattern(Source::Rank(0)))?;
            if self.is_older(message.envelope.tag) {
                continue;
            }
            if message.envelope.call.collective == FAILED {
                let text = String::from_utf8_lossy(message.parcel.bytes());
                return Err(Error::Collective(Arc::from(&*text)));
            }
            return Ok(message);
        }
    }

    /// At rank 0: collects every other rank's call in rank order; if one differs, all are told.
    fn collect(&self) -> Result<Vec<Message>, Error> {
        let collected = self.try_collect();
        if let Err(error) = &collected
            && !matches!(error, Error::Aborted { .. })
        {
            self.fail(&error.to_string());
        }
        collected
    }

    fn try_collect(&self) -> Result<Vec<Message>, Error> {
        let others = self.comm.size() - 1;
        let every = self.pattern(Source::Any);
        if others > 0 {
            let deadline = self.comm.deadline();
            if !self
                .comm
                .endpoint
                .borrow_mut()
                .wait_for(&every, others, deadline)?
            {
                return Err(self.comm.timed_out(&every));
            }
        }
        let mut messages = Vec::with_capacity(others);
        let mut differing = None;
        for rank in 1..=others {
            let message = loop {
                let message = self.comm.receive(&self.pattern(Source::Rank(rank)))?;
                if !self.is_older(message.envelope.tag) {
                    break message;
                }
            };
            let Envelope {
                tag,
                call: fields,
                element,
                ..
            } = message.envelope;
            let call = Call { fields, element };
            if differing.is_none() && (call != self.call || tag != self.sequence) {
                differing = Some(format!(
                    "ranks met in different collectives: rank 0 called {} as its number {}, rank {rank} called {call} as its number {tag}",
                    self.call, self.sequence
                ));
            }
            let (sent, expected) = (
                message.parcel.bytes().len() as u64,
                self.expected_from(rank),
            );
            if differing.is_none() && expected.is_some_and(|expected| expected != sent) {
                differing = Some(format!(
                    "{}: rank {rank} contributed {sent} bytes",
                    self.call
                ));
            }
            messages.push(message);
        }
        if let Some(text) = differing {
            return Err(Error::Collective(text.into()));
        }
        let (root, size) = (self.call.fields.root as usize, self.comm.size());
        if root >= size {
            let text = format!(
                "{}: the root is not in this world of {size}; ranks run from 0",
                self.call
            );
            return Err(Error::Collective(text.into()));
        }
        Ok(messages)
    }

    /// Returns how many bytes a rank contributes, where that is fixed.
    fn expected_from(&self, rank: usize) -> Option<u64> {
        let Call {
            fields:
                CallFields {
                    collective,
                    root,
                    count,
                    ..
                },
            element,
        } = self.call;
        let all = count.saturating_mul(element.bytes() as u64);
        let is_root = root as usize == rank;
        match collective {
            GATHER_VARYING => None,
            BROADCAST => Some(if is_root { all } else { 0 }),
            GATHER => Some(if is_root { 0 } else { all }),
            _ => Some(all),
        }
    }

    /// Copies a share of the result to where it belongs.
    fn copy(&self, share: &Message, bytes: &mut [u8]) -> Result<(), Error> {
        let share = share.parcel.bytes();
        if share.len() != bytes.len() {
            let text = format!(
                "{}: {} bytes came instead of {}",
                self.call,
                share.len(),
                bytes.len()
            );
            return Err(Error::Collective(text.into()));
        }
        bytes.copy_from_slice(share);
        Ok(())
    }

    /// At rank 0: sends a rank its share of the result.
    fn answer(&self, rank: usize, bytes: &[u8]) -> Result<(), Error> {
        self.post(rank, self.call.fields, bytes)
    }

    /// At rank 0: sends every other rank the same.
    fn answer_all(&self, bytes: &[u8]) -> Result<(), Error> {
        (1..self.comm.size()).try_for_each(|rank| self.answer(rank, bytes))
    }

    /// At rank 0: tells every other rank why there is no result.
    fn fail(&self, text: &str) {
        let fields = CallFields {
            collective: FAILED,
            ..CallFields::default()
        };
        for rank in 1..self.comm.size() {
            // Err means that this rank has left and needs no verdict.
            let _ = self.send(rank, ElementType::of::<u8>(), fields, text.as_bytes());
        }
    }

    fn post(&self, dest: usize, fields: CallFields, bytes: &[u8]) -> Result<(), Error> {
        self.send(dest, self.call.element, fields, bytes)
    }

    fn send(
        &self,
        dest: usize,
        element: ElementType,
        call: CallFields,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let source = self.comm.check_rank(self.call.name(), self.comm.rank())?;
        let dest = self.comm.check_rank(self.call.name(), dest)?;
        let envelope = Envelope {
            source,
            dest,
            context: COLLECTIVE_CONTEXT,
            tag: self.sequence,
            element,
            call,
        };
        self.comm.post_envelope(&envelope, Payload::Lent(bytes))
    }

    fn pattern(&self, source: Source) -> Pattern {
        Pattern {
            call: self.call.name(),
            context: COLLECTIVE_CONTEXT,
            source,
            tag: Tag::Any,
        }
    }

    /// Tells whether a round's number comes before this one's, on a circle of numbers.
    fn is_older(&self, sequence: u32) -> bool {
        self.sequence.wrapping_sub(sequence).wrapping_sub(1) < u32::MAX / 2
    }

    fn is_root(&self) -> bool {
        self.call.fields.root as usize == self.comm.rank()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Error, World};

    #[test]
    fn calls_that_differ_are_an_error_on_every_rank_that_names_both_sides() {
        let errors = World::threads(3, |comm| {
            let outcome = match comm.rank() {
                2 => comm.broadcast(&mut [0.0_f32; 8], 1),
                _ => comm.allreduce(&[0.0_f32; 4], crate::Sum).map(drop),
            };
            // The world goes on: the next collective is in step.
            comm.barrier()?;
            Ok::<_, Error>(outcome.unwrap_err().to_string())
        })
        .unwrap();
        for text in errors {
            for side in [
                "rank 0 called allreduce of 4 elements of f32 by sum",
                "rank 2 called broadcast of 8 elements",
                "root 1",
            ] {
                assert!(text.contains(side), "{text}");
            }
        }
    }
}
