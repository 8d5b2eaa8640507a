//! Rank 0's endpoint: it hosts the hub, so its messages are one hop from anyone.
//!
//! What it receives was read by a pump into memory of its own. What it sends it
//! writes itself, from where the user's slice lies, holding the link's writer.

use std::sync::Arc;
use std::time::Instant;

use super::{Endpoint, Payload};
use crate::error::{Error, Fault};
use crate::hub::{Hub, HubStats, Posted, Threads};
use crate::mailbox::Refused;
use crate::matching::Pattern;
use crate::stash::Message;
use crate::wire::{Envelope, Header, Kind};

/// The endpoint of the rank that hosts the hub.
#[derive(Debug)]
pub(crate) struct AtHub {
    hub: Arc<Hub>,
    threads: Option<Threads>,
}

impl AtHub {
    pub(crate) fn new(hub: Arc<Hub>, threads: Threads) -> Self {
        Self {
            hub,
            threads: Some(threads),
        }
    }
}

impl Endpoint for AtHub {
    fn send(&mut self, envelope: &Envelope, payload: Payload<'_>) -> Result<(), Error> {
        let dest = envelope.dest as usize;
        if let Some(fault) = self.hub.fault() {
            return Err(fault.into());
        }
        let Some(outbox) = self.hub.outbox(dest) else {
            let message = payload.into_message(*envelope);
            return self
                .hub
                .mailbox()
                .deliver(message)
                .map_err(|refused| match refused {
                    Refused::Closed => Error::Departed {
                        call: "send",
                        rank: dest,
                    },
                    Refused::Failed(fault) => fault.into(),
                });
        };
        let bytes = payload.bytes();
        let header = Header {
            kind: Kind::Data,
            envelope: *envelope,
            length: bytes.len() as u64,
        };
        match outbox.send_lent(&header, bytes) {
            Posted::Sent | Posted::Queued => {
                self.hub.traffic().sent(header.length);
                Ok(())
            }
            Posted::Dropped | Posted::Abandoned => {
                self.hub.traffic().dropped(1);
                // The link is gone: by a goodbye, or by a fault that its pump is about to report.
                Err(self.hub.why_gone(dest))
            }
        }
    }

    fn receive(
        &mut self,
        want: &Pattern,
        deadline: Option<Instant>,
    ) -> Result<Option<Message>, Error> {
        self.hub.mailbox().receive(want, deadline)
    }

    fn wait_for(
        &mut self,
        want: &Pattern,
        count: usize,
        deadline: Option<Instant>,
    ) -> Result<bool, Error> {
        self.hub.mailbox().wait_for(want, count, deadline)
    }

    fn restore(&mut self, message: Message) {
        self.hub.mailbox().restore(message);
    }

    fn leave(&mut self) -> Result<(), Error> {
        let Some(threads) = self.threads.take() else {
            return Ok(());
        };
        self.hub.mailbox().close();
        self.hub.depart(0);
        self.hub.finish(threads)
    }

    fn fault(&self) -> Option<Fault> {
        self.hub.fault()
    }

    fn abort(&mut self, fault: &Fault) {
        self.hub.abort(fault);
        if let Some(threads) = self.threads.take() {
            // Err is the fault that the caller knows.
            let _ = self.hub.finish(threads);
        }
    }

    fn hub_stats(&self) -> Option<HubStats> {
        Some(self.hub.stats())
    }
}
