//! Ranks that are threads of one process: a send is a delivery into the other's mailbox.
//!
//! A payload that is given away moves; one that is lent is copied once.

use std::sync::Arc;
use std::time::Instant;

use super::{Endpoint, Payload};
use crate::error::{Error, Fault};
use crate::mailbox::{Mailbox, Refused};
use crate::matching::Pattern;
use crate::stash::Message;
use crate::wire::Envelope;

/// The mailboxes of a world of threads.
#[derive(Debug)]
pub(crate) struct ThreadWorld {
    mailboxes: Vec<Mailbox>,
}

impl ThreadWorld {
    pub(crate) fn new(size: usize, stash_bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            mailboxes: (0..size)
                .map(|rank| Mailbox::new(rank, size, stash_bytes))
                .collect(),
        })
    }
}

/// One thread's endpoint.
#[derive(Debug)]
pub(crate) struct ThreadRank {
    rank: usize,
    world: Arc<ThreadWorld>,
}

impl ThreadRank {
    pub(crate) fn new(rank: usize, world: Arc<ThreadWorld>) -> Self {
        Self { rank, world }
    }

    fn mailbox(&self) -> &Mailbox {
        &self.world.mailboxes[self.rank]
    }
}

impl Endpoint for ThreadRank {
    fn send(&mut self, envelope: &Envelope, payload: Payload<'_>) -> Result<(), Error> {
        let dest = envelope.dest as usize;
        let message = payload.into_message(*envelope);
        self.world.mailboxes[dest]
            .deliver(message)
            .map_err(|refused| match refused {
                Refused::Closed => Error::Departed {
                    call: "send",
                    rank: dest,
                },
                Refused::Failed(fault) => fault.into(),
            })
    }

    fn receive(
        &mut self,
        want: &Pattern,
        deadline: Option<Instant>,
    ) -> Result<Option<Message>, Error> {
        self.mailbox().receive(want, deadline)
    }

    fn wait_for(
        &mut self,
        want: &Pattern,
        count: usize,
        deadline: Option<Instant>,
    ) -> Result<bool, Error> {
        self.mailbox().wait_for(want, count, deadline)
    }

    fn restore(&mut self, message: Message) {
        self.mailbox().restore(message);
    }

    fn leave(&mut self) -> Result<(), Error> {
        self.mailbox().close();
        self.world
            .mailboxes
            .iter()
            .for_each(|mailbox| mailbox.depart(self.rank));
        self.mailbox()
            .fault()
            .map_or(Ok(()), |fault| Err(fault.into()))
    }

    fn fault(&self) -> Option<Fault> {
        self.mailbox().fault()
    }

    fn abort(&mut self, fault: &Fault) {
        self.world
            .mailboxes
            .iter()
            .for_each(|mailbox| mailbox.fail(fault));
    }
}
