//! How a rank reaches the others: one object-safe trait, one file per way.
//!
//! [`Communicator`](crate::Communicator) turns typed calls into envelopes and
//! bytes; an endpoint carries those. It knows nothing of collectives or
//! operators. Threads, the hub and a link to the hub are endpoints; a foreign
//! message-passing library can become one by implementing the same trait.

mod at_hub;
mod linked;
mod threads;

use std::fmt;
use std::time::Instant;

pub(crate) use at_hub::AtHub;
pub(crate) use linked::Linked;
pub(crate) use threads::{ThreadRank, ThreadWorld};

use crate::error::{Error, Fault};
use crate::hub::HubStats;
use crate::matching::Pattern;
use crate::parcel::Parcel;
use crate::stash::Message;
use crate::wire::Envelope;

/// What the ranks of a world are and how they are linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// Threads of one process, which hand messages over in memory.
    Threads,
    /// Ranks linked to rank 0's hub by Unix sockets.
    Unix,
    /// Ranks linked to rank 0's hub by TCP.
    Tcp,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Threads => "threads",
            Self::Unix => "unix",
            Self::Tcp => "tcp",
        })
    }
}

/// A message's payload on its way in: lent, or given away.
#[derive(Debug)]
pub(crate) enum Payload<'a> {
    Lent(&'a [u8]),
    Given(Parcel),
}

impl Payload<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Lent(bytes) => bytes,
            Self::Given(parcel) => parcel.bytes(),
        }
    }

    /// Returns a parcel of the payload: itself if it was given, else a copy.
    pub(crate) fn into_message(self, envelope: Envelope) -> Message {
        let parcel = match self {
            Self::Lent(bytes) => Parcel::copy_of(bytes, envelope.element),
            Self::Given(parcel) => parcel,
        };
        Message::new(envelope, parcel)
    }
}

/// One rank's way to all others. Ranks in envelopes are checked by the caller.
pub(crate) trait Endpoint: Send + fmt::Debug {
    /// Sends a message; returns when the payload may be reused.
    fn send(&mut self, envelope: &Envelope, payload: Payload<'_>) -> Result<(), Error>;

    /// Takes the first message that matches; `Ok(None)` means that the deadline passed.
    fn receive(
        &mut self,
        want: &Pattern,
        deadline: Option<Instant>,
    ) -> Result<Option<Message>, Error>;

    /// Waits until `count` messages match, so that a rank that needs one of each wakes once.
    fn wait_for(
        &mut self,
        want: &Pattern,
        count: usize,
        deadline: Option<Instant>,
    ) -> Result<bool, Error> {
        let _ = (want, count, deadline);
        Ok(true)
    }

    /// Puts a message that was just received back to where it was.
    fn restore(&mut self, message: Message);

    /// Leaves in the normal way: what was sent before arrives.
    fn leave(&mut self) -> Result<(), Error>;

    /// Ends the world for everyone, unless it has ended already.
    fn abort(&mut self, fault: &Fault);

    /// Returns the fault that ended the world, if one did.
    fn fault(&self) -> Option<Fault>;

    /// Returns the hub's numbers at the rank that hosts it.
    fn hub_stats(&self) -> Option<HubStats> {
        None
    }
}
