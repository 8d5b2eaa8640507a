//! The endpoint of a rank with one link, to the hub.
//!
//! There is no reader thread: the rank's own thread reads the link when it
//! waits, and looks at it when it sends, so that a message costs no hand-over
//! between threads. A send that the socket does not take at once reads while it
//! waits, as far as the stash has room.
//!
//! What must stay true: the stash stays within its bound, but for a message that
//! is being asked for or that alone is larger; a frame whose header was read and
//! that found no room stays first in line (`pending`); once the link has ended
//! nothing is read from it again and every call says why.

use std::collections::BTreeSet;
use std::io;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::{Endpoint, Payload};
use crate::error::{Error, Fault};
use crate::hub::{REASON_BYTES, read_reason};
use crate::matching::{Pattern, Source};
use crate::options::Options;
use crate::parcel::Parcel;
use crate::stash::{Message, OVERHEAD, Stash};
use crate::wire::{Envelope, FrameReader, Header, Kind, LinkEnd, Outgoing, Pace, Socket};

/// How long an abort may take to leave, and its acknowledgement to come.
const ABORT_GRACE: Duration = Duration::from_millis(500);

/// A rank that reaches the others through its link to the hub.
#[derive(Debug)]
pub(crate) struct Linked {
    rank: usize,
    size: usize,
    reader: FrameReader,
    pending: Option<Header>,
    stash: Stash,
    stash_bytes: usize,
    leave_timeout: Duration,
    departed: BTreeSet<usize>,
    fault: Option<Fault>,
    left: bool,
}

impl Linked {
    pub(crate) fn new(rank: usize, size: usize, socket: Socket, options: &Options) -> Self {
        Self {
            rank,
            size,
            reader: FrameReader::new(socket, options.frame_bytes),
            pending: None,
            stash: Stash::default(),
            stash_bytes: options.stash_bytes,
            leave_timeout: options.leave_timeout,
            departed: BTreeSet::new(),
            fault: None,
            left: false,
        }
    }

    /// Reads one frame, waiting for it; `false` means that it has no room yet.
    fn read_one(&mut self, want: Option<&Pattern>) -> Result<bool, Error> {
        let read = self.try_read_one(want);
        let fault = match read {
            Ok(stored) => match &self.fault {
                None => return Ok(stored),
                Some(fault) => fault.clone(),
            },
            Err(LinkEnd::Lost) if self.left => return Ok(false),
            Err(end) => Fault::new(0, format!("the hub is gone, {end}")),
        };
        Err(self.fault.insert(fault).clone().into())
    }

    fn try_read_one(&mut self, want: Option<&Pattern>) -> Result<bool, LinkEnd> {
        let header = match self.pending.take() {
            Some(header) => header,
            None => self.reader.next()?,
        };
        let envelope = header.envelope;
        match header.kind {
            Kind::Data => {
                let length = usize::try_from(header.length).unwrap_or(usize::MAX);
                let (held, cost) = (self.stash.bytes(), length.saturating_add(OVERHEAD));
                let asked_for = want.is_some_and(|want| want.matches(&envelope));
                if !(asked_for
                    || self.left
                    || held == 0
                    || held.saturating_add(cost) <= self.stash_bytes)
                {
                    self.pending = Some(header);
                    return Ok(false);
                }
                let parcel = Parcel::read_from(self.reader.payload(), length, envelope.element)
                    .map_err(LinkEnd::inside_frame)?;
                if !self.left {
                    self.stash.push(Message::new(envelope, parcel));
                }
            }
            Kind::Left => {
                self.departed.insert(envelope.source as usize);
            }
            Kind::Abort => {
                let reason = read_reason(&header, &mut self.reader)?;
                self.fault = Some(Fault::new(envelope.source as usize, reason));
            }
            Kind::Goodbye => {}
        }
        Ok(true)
    }

    /// Takes in what has arrived already, so that a send knows who left and whether the world stands.
    fn look(&mut self) -> Result<(), Error> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone().into());
        }
        while self.pending.is_none()
            && (self.reader.has_buffered()
                || self
                    .reader
                    .socket()
                    .is_readable()
                    .map_err(|e| self.broken(&e))?)
        {
            self.read_one(None)?;
        }
        Ok(())
    }

    /// Writes a frame, reading meanwhile what stands in its way.
    fn write(&mut self, header: &Header, payload: &[u8]) -> Result<(), Error> {
        let mut outgoing = Outgoing::new(header.encode());
        loop {
            match outgoing.push(self.reader.socket(), payload, Pace::Now) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => return Err(self.why_broken(&error)),
            }
            let flags = if self.pending.is_some() {
                PollFlags::OUT
            } else {
                PollFlags::IN | PollFlags::OUT
            };
            let ready = self
                .reader
                .socket()
                .wait(flags, None)
                .map_err(|e| self.broken(&e))?;
            if ready.contains(PollFlags::IN) {
                self.read_one(None)?;
            }
        }
    }

    /// Finds out why the link takes no more: the hub may have said so before it ended.
    fn why_broken(&mut self, error: &io::Error) -> Error {
        let deadline = Instant::now() + ABORT_GRACE;
        self.left = true;
        self.pending = None;
        while self.reader.has_buffered() || self.readable_by(deadline) {
            match self.read_one(None) {
                Ok(true) => {}
                Ok(false) => break,
                Err(fault) => return fault,
            }
        }
        self.broken(error)
    }

    fn readable_by(&self, deadline: Instant) -> bool {
        matches!(self.reader.socket().wait(PollFlags::IN, Some(deadline)), Ok(ready) if !ready.is_empty())
    }

    fn broken(&self, error: &io::Error) -> Error {
        self.fault
            .clone()
            .unwrap_or_else(|| Fault::new(0, format!("the link to the hub failed: {error}")))
            .into()
    }

    /// Returns an error if what is waited for cannot come any more.
    fn look_for_hope(&self, want: &Pattern) -> Result<(), Error> {
        let call = want.call;
        match want.source {
            Source::Rank(rank) if rank == self.rank => Err(Error::OwnMessage { call, rank }),
            Source::Rank(rank) if self.departed.contains(&rank) => {
                Err(Error::Departed { call, rank })
            }
            Source::Any if self.departed.len() + 1 >= self.size => Err(Error::Alone { call }),
            _ => Ok(()),
        }
    }
}

impl Endpoint for Linked {
    fn send(&mut self, envelope: &Envelope, payload: Payload<'_>) -> Result<(), Error> {
        let dest = envelope.dest as usize;
        self.look()?;
        if dest == self.rank {
            self.stash.push(payload.into_message(*envelope));
            return Ok(());
        }
        if self.departed.contains(&dest) {
            return Err(Error::Departed {
                call: "send",
                rank: dest,
            });
        }
        let bytes = payload.bytes();
        self.write(
            &Header {
                kind: Kind::Data,
                envelope: *envelope,
                length: bytes.len() as u64,
            },
            bytes,
        )
    }

    fn receive(
        &mut self,
        want: &Pattern,
        deadline: Option<Instant>,
    ) -> Result<Option<Message>, Error> {
        loop {
            if let Some(fault) = &self.fault {
                return Err(fault.clone().into());
            }
            if let Some(message) = self.stash.take(want) {
                return Ok(Some(message));
            }
            self.look_for_hope(want)?;
            if let Some(deadline) = deadline
                && self.pending.is_none()
                && !self.reader.has_buffered()
                && !self.readable_by(deadline)
            {
                return Ok(None);
            }
            if !self.read_one(Some(want))? {
                // What is asked for is behind a message that has no room.
                return Err(self.stash.full(want));
            }
        }
    }

    fn restore(&mut self, message: Message) {
        self.stash.restore(message);
    }

    fn leave(&mut self) -> Result<(), Error> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone().into());
        }
        // From here on nothing is kept, so that the hub can empty what it has for this rank.
        self.left = true;
        self.stash = Stash::default();
        self.write(
            &Header::control(Kind::Goodbye, wire_rank(self.rank), 0, 0),
            &[],
        )?;
        self.reader.socket().shutdown(Shutdown::Write);
        let deadline = Instant::now() + self.leave_timeout;
        loop {
            if self.pending.is_none() && !self.reader.has_buffered() && !self.readable_by(deadline)
            {
                let reason = format!(
                    "the hub did not take the last frames within {:?}",
                    self.leave_timeout
                );
                return Err(Fault::new(0, reason).into());
            }
            if !self.read_one(None)? {
                return Ok(());
            }
        }
    }

    fn fault(&self) -> Option<Fault> {
        self.fault.clone()
    }

    fn abort(&mut self, fault: &Fault) {
        if self.fault.is_some() || self.left {
            return;
        }
        self.fault = Some(fault.clone());
        self.left = true;
        let deadline = Instant::now() + ABORT_GRACE;
        let mut end = fault.reason.len().min(REASON_BYTES);
        while !fault.reason.is_char_boundary(end) {
            end -= 1;
        }
        let text = &fault.reason.as_bytes()[..end];
        let header = Header::control(Kind::Abort, wire_rank(self.rank), 0, text.len());
        let mut outgoing = Outgoing::new(header.encode());
        let sent = outgoing.push(
            self.reader.socket(),
            text,
            Pace::Until(&|| Instant::now() > deadline),
        );
        self.reader.socket().shutdown(Shutdown::Write);
        // The hub's end of the link says that it has read the abort.
        while matches!(sent, Ok(true)) && self.readable_by(deadline) {
            let discarded = io::Read::read(self.reader.payload(), &mut [0; 4096]);
            if !matches!(discarded, Ok(1..)) {
                break;
            }
        }
    }
}

fn wire_rank(rank: usize) -> u32 {
    u32::try_from(rank).unwrap_or(u32::MAX)
}
