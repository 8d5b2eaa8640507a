//! What a call on a communicator can fail with.
//!
//! One type, because a program that calls a dozen communicator functions in a
//! row wants one `?`. Each variant names the ranks concerned and what to do.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::element::ElementType;
use crate::env::EnvError;
use crate::join::JoinError;
use crate::matching::{Source, Tag};

/// An error of a world or of one of its calls.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such rank in this world.
    #[error("{call}: rank {rank} is not in this world of {size}; ranks run from 0")]
    UnknownRank {
        /// The call that named the rank.
        call: &'static str,
        /// The rank.
        rank: usize,
        /// The world's size.
        size: usize,
    },
    /// A message of other elements than the call asks for; it stays receivable.
    #[error(
        "recv: rank {source_rank} sent {count} elements of {sent} with tag {tag}, the call asks for {wanted}; \
         the message is still there, receive it as {sent}"
    )]
    ElementMismatch {
        /// The sender.
        source_rank: usize,
        /// The message's tag.
        tag: u32,
        /// How many elements it has.
        count: usize,
        /// What was sent.
        sent: ElementType,
        /// What the call asked for.
        wanted: ElementType,
    },
    /// A buffer too short for the message; it stays receivable.
    #[error(
        "recv_into: rank {source_rank} sent {sent} elements with tag {tag}, the buffer has room for {room}; \
         the message is still there, receive it into a longer buffer"
    )]
    TooShort {
        /// The sender.
        source_rank: usize,
        /// The message's tag.
        tag: u32,
        /// The elements sent.
        sent: usize,
        /// The elements there is room for.
        room: usize,
    },
    /// The rank left the world in the normal way and sends and receives no more.
    #[error("{call}: rank {rank} has left the world")]
    Departed {
        /// The call that depends on the rank.
        call: &'static str,
        /// The rank that left.
        rank: usize,
    },
    /// Every other rank has left, so nothing can arrive.
    #[error("{call}: every other rank has left the world, nothing can arrive any more")]
    Alone {
        /// The call that would wait for ever.
        call: &'static str,
    },
    /// The world was ended by a rank that died, panicked, failed or broke the protocol.
    #[error("the world was aborted by rank {rank}: {reason}")]
    Aborted {
        /// The rank to blame.
        rank: usize,
        /// Its reason, or what was seen of its end.
        reason: Arc<str>,
    },
    /// The call waits for a message that cannot come in before others are received.
    #[error(
        "{call}: waits for {source_rank} and {tag}, but the stash of unexpected messages is full ({bytes} bytes; \
         most are {queued} messages of rank {from} with tag {queued_tag}); \
         receive those first or raise the options' `stash_bytes`"
    )]
    StashFull {
        /// The call that waits.
        call: &'static str,
        /// Whom it waits for.
        source_rank: Source,
        /// Which tag it waits for.
        tag: Tag,
        /// The bytes in the stash.
        bytes: usize,
        /// How many messages the fullest queue holds.
        queued: usize,
        /// Who sent them.
        from: u32,
        /// Their tag.
        queued_tag: u32,
    },
    /// The rank waits for a message from itself that it has not sent.
    #[error("{call}: rank {rank} would wait for itself for ever; send the message first")]
    OwnMessage {
        /// The call that would wait.
        call: &'static str,
        /// The rank.
        rank: usize,
    },
    /// The message is beyond the world's limit.
    #[error(
        "send: a message of {bytes} bytes to rank {dest}; the limit is {limit}, raise the options' `frame_bytes`"
    )]
    TooLarge {
        /// The message's bytes.
        bytes: usize,
        /// The receiver.
        dest: usize,
        /// The limit.
        limit: u64,
    },
    /// Nothing arrived within the options' `receive_timeout`.
    #[error("{call}: nothing from {source_rank} with {tag} within {waited:?}")]
    TimedOut {
        /// The call that waited.
        call: &'static str,
        /// Whom it waited for.
        source_rank: Source,
        /// Which tag it waited for.
        tag: Tag,
        /// How long it waited.
        waited: Duration,
    },
    /// Ranks met in different collectives; every rank gets this text.
    #[error("{0}")]
    Collective(Arc<str>),
    /// The world did not form.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// The environment does not say how to join.
    #[error(transparent)]
    Environment(#[from] EnvError),
}

/// Why a world ended abnormally: whose fault, and what is known about it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) rank: usize,
    pub(crate) reason: Arc<str>,
}

impl Fault {
    pub(crate) fn new(rank: usize, reason: impl Into<Arc<str>>) -> Self {
        let mut reason = reason.into();
        if reason.contains(['\n', '\r']) {
            // An assertion's text has several lines, an error has one.
            let lines = reason
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty());
            reason = lines.collect::<Vec<_>>().join("; ").into();
        }
        Self { rank, reason }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Aborted {
            rank: fault.rank,
            reason: fault.reason,
        }
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fault(rank {}: {})", self.rank, self.reason)
    }
}
