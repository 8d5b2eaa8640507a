//! A rank's handle on its world: typed sends and receives.
//!
//! A concrete type over an internal, object-safe endpoint: generic methods over
//! [`Element`] cannot be called through a trait object, and a program should
//! not be generic over how it is launched. The typed half is here, the
//! collectives are in files of their own, the bytes are the endpoint's.
//!
//! Invariants, and what upholds each:
//!
//! - One thread drives a rank: a communicator is not `Sync`.
//! - A receive that fails for its element type or its buffer consumes nothing:
//!   the message is checked before it is taken apart and put back otherwise.
//! - A communicator that is dropped while its thread panics aborts the world and
//!   calls no collective; dropped otherwise it leaves in the normal way.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::time::Instant;

use crate::element::{Element, ElementType};
use crate::endpoint::{Backend, Endpoint, Payload};
use crate::error::{Error, Fault};
use crate::hub::HubStats;
use crate::matching::{Pattern, Source, Tag, USER_CONTEXT};
use crate::options::Options;
use crate::parcel::Parcel;
use crate::stash::Message;
use crate::wire::{CallFields, Envelope};

/// Where a received message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The sender.
    pub source: usize,
    /// The message's tag.
    pub tag: u32,
    /// How many elements it has.
    pub count: usize,
}

/// One rank's handle on its world.
///
/// Messages of one source and tag are received in the order in which they were
/// sent. A send returns when its slice may be reused; it waits for the receiver
/// only when that one's bounds are reached, so two ranks that both send without
/// receiving can wait for each other beyond the sum of the bounds in
/// [`Options`]. [`sendrecv`](Self::sendrecv) sends first, too.
pub struct Communicator {
    rank: usize,
    size: usize,
    backend: Backend,
    pub(crate) endpoint: RefCell<Box<dyn Endpoint>>,
    pub(crate) sequence: Cell<u32>,
    options: Options,
    over: Cell<bool>,
}

impl Communicator {
    pub(crate) fn new(
        rank: usize,
        size: usize,
        backend: Backend,
        endpoint: Box<dyn Endpoint>,
        options: Options,
    ) -> Self {
        Self {
            rank,
            size,
            backend,
            endpoint: RefCell::new(endpoint),
            sequence: Cell::new(0),
            options,
            over: Cell::new(false),
        }
    }

    /// Returns this rank's number, from 0.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns how the ranks are linked.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Returns the hub's numbers at the rank that hosts one, `None` elsewhere.
    #[must_use]
    pub fn hub_stats(&self) -> Option<HubStats> {
        self.endpoint.borrow().hub_stats()
    }

    /// Sends a slice to a rank, itself included.
    ///
    /// # Errors
    ///
    /// No such rank, a rank that has left, a message beyond the limit, a world that was aborted.
    pub fn send<T: Element>(&self, elements: &[T], dest: usize, tag: u32) -> Result<(), Error> {
        let payload = Payload::Lent(bytemuck::cast_slice(elements));
        self.post::<T>("send", payload, dest, tag)
    }

    /// Sends a vector to a rank, itself included. Between threads it moves: nothing is copied.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub fn send_vec<T: Element>(
        &self,
        elements: Vec<T>,
        dest: usize,
        tag: u32,
    ) -> Result<(), Error> {
        self.post::<T>(
            "send_vec",
            Payload::Given(Parcel::from_vec(elements)),
            dest,
            tag,
        )
    }

    /// Receives the first message that matches.
    ///
    /// ```
    /// # fn main() -> Result<(), spmd_hub::Error> {
    /// use spmd_hub::{Source, Tag, World};
    /// World::threads(2, |comm| {
    ///     if comm.rank() == 0 {
    ///         comm.send(&[1.5_f64, 2.5], 1, 7)?;
    ///     } else {
    ///         assert_eq!(comm.recv::<f64>(Source::Any, Tag::Any)?, [1.5, 2.5]);
    ///     }
    ///     Ok::<_, spmd_hub::Error>(())
    /// })?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// The message has other elements (it stays receivable), its sender has left,
    /// it is behind a full stash, the world was aborted, the time is up.
    pub fn recv<T: Element>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Vec<T>, Error> {
        Ok(self.recv_status(source, tag)?.0)
    }

    /// Receives as [`recv`](Self::recv) does and says where the message came from.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn recv_status<T: Element>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(Vec<T>, Status), Error> {
        let message = self.take::<T>("recv", source.into(), tag.into())?;
        let status = status(&message);
        Ok((message.parcel.into_vec(), status))
    }

    /// Receives into the front of a buffer; the status says how many elements came.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv), and the buffer is too short (the message stays receivable).
    pub fn recv_into<T: Element>(
        &self,
        buffer: &mut [T],
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status, Error> {
        let message = self.take::<T>("recv_into", source.into(), tag.into())?;
        let status = status(&message);
        let room = buffer.len();
        let Some(front) = buffer.get_mut(..status.count) else {
            self.endpoint.borrow_mut().restore(message);
            return Err(Error::TooShort {
                source_rank: status.source,
                tag: status.tag,
                sent: status.count,
                room,
            });
        };
        bytemuck::cast_slice_mut(front).copy_from_slice(message.parcel.bytes());
        Ok(status)
    }

    /// Sends to one rank and receives from another.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send) and [`recv`](Self::recv).
    pub fn sendrecv<T: Element, U: Element>(
        &self,
        elements: &[T],
        dest: usize,
        send_tag: u32,
        source: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> Result<Vec<U>, Error> {
        self.send(elements, dest, send_tag)?;
        self.recv(source, recv_tag)
    }

    /// Leaves the world in the normal way and says whether that went well.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        if self.over.replace(true) {
            return Ok(());
        }
        self.endpoint.borrow_mut().leave()
    }

    /// Ends the world for everyone, unless it has ended already.
    pub(crate) fn abort(&self, reason: impl Into<std::sync::Arc<str>>) {
        if self.over.replace(true) {
            return;
        }
        let mut endpoint = self.endpoint.borrow_mut();
        // A rank that fails because the world ended is not to blame.
        let fault = endpoint
            .fault()
            .unwrap_or_else(|| Fault::new(self.rank, reason));
        if let Some(note) = &self.options.fault_note {
            note.write(&fault);
        }
        endpoint.abort(&fault);
    }

    /// Returns the fault that ended the world, if one did.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.endpoint.borrow().fault()
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.options
            .receive_timeout
            .map(|timeout| Instant::now() + timeout)
    }

    /// The error of a call whose time is up.
    pub(crate) fn timed_out(&self, want: &Pattern) -> Error {
        let waited = self.options.receive_timeout.unwrap_or_default();
        Error::TimedOut {
            call: want.call,
            source_rank: want.source,
            tag: want.tag,
            waited,
        }
    }

    /// Sends any envelope after checking what only the communicator can check.
    pub(crate) fn post_envelope(
        &self,
        envelope: &Envelope,
        payload: Payload<'_>,
    ) -> Result<(), Error> {
        let (bytes, limit) = (payload.bytes().len(), self.options.frame_bytes);
        if bytes as u64 > limit {
            return Err(Error::TooLarge {
                bytes,
                dest: envelope.dest as usize,
                limit,
            });
        }
        self.endpoint.borrow_mut().send(envelope, payload)
    }

    /// Receives by any pattern.
    pub(crate) fn receive(&self, want: &Pattern) -> Result<Message, Error> {
        let deadline = self.deadline();
        let message = self.endpoint.borrow_mut().receive(want, deadline)?;
        message.ok_or_else(|| self.timed_out(want))
    }

    pub(crate) fn check_rank(&self, call: &'static str, rank: usize) -> Result<u32, Error> {
        let wire = u32::try_from(rank).ok().filter(|_| rank < self.size);
        wire.ok_or(Error::UnknownRank {
            call,
            rank,
            size: self.size,
        })
    }

    fn post<T: Element>(
        &self,
        call: &'static str,
        payload: Payload<'_>,
        dest: usize,
        tag: u32,
    ) -> Result<(), Error> {
        let dest = self.check_rank(call, dest)?;
        let source = self.check_rank(call, self.rank)?;
        let element = ElementType::of::<T>();
        let call = CallFields::default();
        self.post_envelope(
            &Envelope {
                source,
                dest,
                context: USER_CONTEXT,
                tag,
                element,
                call,
            },
            payload,
        )
    }

    fn take<T: Element>(
        &self,
        call: &'static str,
        source: Source,
        tag: Tag,
    ) -> Result<Message, Error> {
        if let Source::Rank(rank) = source {
            self.check_rank(call, rank)?;
        }
        let message = self.receive(&Pattern {
            call,
            context: USER_CONTEXT,
            source,
            tag,
        })?;
        let (sent, wanted) = (message.envelope.element, ElementType::of::<T>());
        if sent == wanted {
            return Ok(message);
        }
        let Status { source, tag, count } = status(&message);
        self.endpoint.borrow_mut().restore(message);
        Err(Error::ElementMismatch {
            source_rank: source,
            tag,
            count,
            sent,
            wanted,
        })
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Communicator(rank {} of {} over {})",
            self.rank, self.size, self.backend
        )
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.abort("its program panicked");
        } else {
            // Err was met by a call before, or nobody is left to tell.
            let _ = self.finish();
        }
    }
}

fn status(message: &Message) -> Status {
    let Envelope {
        source,
        tag,
        element,
        ..
    } = message.envelope;
    Status {
        source: source as usize,
        tag,
        count: message.parcel.bytes().len() / element.bytes(),
    }
}
