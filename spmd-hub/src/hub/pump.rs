//! The reader of one link: every frame is checked, then delivered or routed.
//!
//! A frame for rank 0 is read into memory of its own, because it stays: in a
//! stash, in a collective, with the user. A frame for another rank is read into a
//! buffer of the pool and moves to that rank's outbox.
//!
//! What must stay true: nothing in a header is believed before it is checked;
//! a link that breaks a rule ends with a reason that names the rule, and ends
//! nothing but itself and, by the world's policy, the world.

use std::io::Read;

use super::Hub;
use super::outbox::{Letter, Posted};
use crate::error::Fault;
use crate::mailbox::Refused;
use crate::parcel::Parcel;
use crate::stash::Message;
use crate::wire::{FrameReader, Header, Kind, LinkEnd};

/// The longest reason that an abort may carry, in bytes.
pub(crate) const REASON_BYTES: usize = 4096;

/// Why a pump ends.
#[derive(Debug)]
enum End {
    Goodbye,
    /// The rank aborts the world, for a reason of its own or one it has seen.
    Abort(Fault),
    Lost(LinkEnd),
    Rule(String),
}

impl From<LinkEnd> for End {
    fn from(end: LinkEnd) -> Self {
        Self::Lost(end)
    }
}

/// Reads the link of `rank` until it ends, then says how it ended.
pub(super) fn run(hub: &Hub, rank: usize, reader: &mut FrameReader) {
    let end = loop {
        if let Err(end) = step(hub, rank, reader) {
            break end;
        }
    };
    let fault = match end {
        End::Goodbye => return hub.depart(rank),
        End::Abort(fault) => fault,
        End::Lost(end) => Fault::new(rank, end.to_string()),
        End::Rule(rule) => Fault::new(rank, rule),
    };
    hub.abort(&fault);
    // The link takes its farewell in peace: what the peer still sends is read and dropped.
    let _ = std::io::copy(reader.payload(), &mut std::io::sink());
}

fn step(hub: &Hub, rank: usize, reader: &mut FrameReader) -> Result<(), End> {
    let header = reader.next()?;
    let envelope = header.envelope;
    if envelope.source as usize != rank {
        return Err(End::Rule(format!(
            "it sent a frame that claims to come from rank {}",
            envelope.source
        )));
    }
    match header.kind {
        Kind::Data => {
            let dest = envelope.dest as usize;
            if dest >= hub.size() || dest == rank {
                return Err(End::Rule(format!(
                    "it sent a frame for rank {dest} of a world of {}",
                    hub.size()
                )));
            }
            if dest == 0 {
                deliver(hub, &header, reader)
            } else {
                route(hub, &header, dest, reader)
            }
        }
        Kind::Goodbye => Err(End::Goodbye),
        Kind::Abort => {
            let reason = read_reason(&header, reader)?;
            Err(End::Abort(Fault::new(rank, reason)))
        }
        Kind::Left => Err(End::Rule(
            "it sent a notice that only the hub may send".into(),
        )),
    }
}

fn deliver(hub: &Hub, header: &Header, reader: &mut FrameReader) -> Result<(), End> {
    let length = payload_bytes(header)?;
    let parcel = Parcel::read_from(reader.payload(), length, header.envelope.element)
        .map_err(LinkEnd::inside_frame)?;
    match hub.mailbox().deliver(Message::new(header.envelope, parcel)) {
        Ok(()) => hub.traffic().delivered(header.length),
        // Rank 0 has left; the world may go on without it.
        Err(Refused::Closed) => hub.traffic().dropped(1),
        Err(Refused::Failed(fault)) => return Err(End::Abort(fault)),
    }
    Ok(())
}

fn route(hub: &Hub, header: &Header, dest: usize, reader: &mut FrameReader) -> Result<(), End> {
    let length = payload_bytes(header)?;
    let frame = hub
        .pool()
        .read_from(reader.payload(), length)
        .map_err(LinkEnd::inside_frame)?;
    let Some(outbox) = hub.outbox(dest) else {
        return Err(End::Rule(format!(
            "it sent a frame for rank {dest}, which has no link"
        )));
    };
    let source_stands = || !reader.socket().is_hung_up();
    match outbox.post(Letter::routed(header, frame), &source_stands) {
        Posted::Sent | Posted::Queued => hub.traffic().routed(header.length),
        Posted::Dropped => hub.traffic().dropped(1),
        Posted::Abandoned => return Err(End::Lost(LinkEnd::Lost)),
    }
    Ok(())
}

/// Reads the text of an abort.
pub(crate) fn read_reason(header: &Header, reader: &mut FrameReader) -> Result<String, LinkEnd> {
    let limit = REASON_BYTES as u64;
    let mut text = Vec::new();
    reader
        .payload()
        .take(header.length.min(limit))
        .read_to_end(&mut text)
        .map_err(LinkEnd::inside_frame)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// A payload's length as this machine counts; parsing has checked it against the limit.
fn payload_bytes(header: &Header) -> Result<usize, End> {
    usize::try_from(header.length)
        .map_err(|_| End::Rule(format!("it sent a payload of {} bytes", header.length)))
}
