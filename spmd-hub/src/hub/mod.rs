//! The hub: every linked rank's frames pass through it; rank 0's process hosts it.
//!
//! Per link there are two threads: a [`pump`] that reads and a [`drain`] that
//! writes what an [`outbox`] has queued. Frames for rank 0 go to its
//! [`Mailbox`]; frames for other ranks go to their outbox. See [`outbox`] for the
//! chain of owners that a routed frame passes along.
//!
//! Policy of this version: a link that ends without a goodbye aborts the world.
//! Every other rank is told whose link it was and why, queued frames are
//! dropped, and each link ends after its farewell.
//!
//! The threads are plain and few because the measured alternatives (readiness
//! loops, completion rings) gained nothing at this number of links.

mod budget;
mod drain;
mod outbox;
mod pump;
mod stats;
mod sync;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use frame_pool::FramePool;

pub(crate) use outbox::Posted;
pub(crate) use pump::{REASON_BYTES, read_reason};
pub use stats::HubStats;

use crate::error::{Error, Fault};
use crate::mailbox::Mailbox;
use crate::options::Options;
use crate::wire::{FrameReader, Kind, Socket};
use outbox::{Letter, Outbox};
use stats::Traffic;

/// How long links may take to say farewell once the world is aborted.
const FAREWELL: Duration = Duration::from_millis(600);

/// The centre of the star.
#[derive(Debug)]
pub(crate) struct Hub {
    mailbox: Mailbox,
    /// By rank; rank 0 has none.
    links: Vec<Option<Link>>,
    pool: FramePool,
    traffic: Traffic,
    fault: Mutex<Option<Fault>>,
    on_fault: Option<crate::note::FaultNote>,
    /// The links whose pump still reads.
    open: Mutex<usize>,
    changed: Condvar,
}

#[derive(Debug)]
struct Link {
    outbox: Outbox,
    socket: Socket,
}

/// A hub's threads, joined by the rank that hosts it.
#[derive(Debug)]
pub(crate) struct Threads {
    pumps: Vec<JoinHandle<()>>,
}

impl Hub {
    /// Starts a hub over the links of ranks 1 and up, in that order.
    pub(crate) fn start(
        sockets: Vec<Socket>,
        options: &Options,
    ) -> std::io::Result<(Arc<Self>, Threads)> {
        let size = sockets.len() + 1;
        let mut links = vec![None];
        let mut ends = Vec::new();
        for (rank, socket) in (1..).zip(sockets) {
            let reader = FrameReader::new(socket.try_clone()?, options.frame_bytes);
            let (outbox, items) = Outbox::new(
                rank,
                socket.try_clone()?,
                options.outbox_frames,
                options.outbox_bytes,
            );
            links.push(Some(Link { outbox, socket }));
            ends.push((rank, reader, items));
        }
        let hub = Arc::new(Self {
            mailbox: Mailbox::new(0, size, options.stash_bytes),
            links,
            pool: options.pool.clone(),
            traffic: Traffic::default(),
            fault: Mutex::default(),
            on_fault: options.fault_note.clone(),
            open: Mutex::new(ends.len()),
            changed: Condvar::new(),
        });
        let mut pumps = Vec::new();
        for (rank, mut reader, items) in ends {
            let drained = Arc::clone(&hub);
            let drain = std::thread::Builder::new()
                .name(format!("spmd-drain-{rank}"))
                .spawn(move || drain::run(&drained, rank, items))?;
            let pumped = Arc::clone(&hub);
            let pump = std::thread::Builder::new()
                .name(format!("spmd-pump-{rank}"))
                .spawn(move || {
                    // Counts the link as closed however the pump ends.
                    let _closing = Closing {
                        hub: &pumped,
                        rank,
                        drain: Some(drain),
                    };
                    pump::run(&pumped, rank, &mut reader);
                })?;
            pumps.push(pump);
        }
        Ok((hub, Threads { pumps }))
    }

    pub(crate) fn size(&self) -> usize {
        self.links.len()
    }

    pub(crate) fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    pub(crate) fn pool(&self) -> &FramePool {
        &self.pool
    }

    pub(crate) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    pub(crate) fn outbox(&self, rank: usize) -> Option<&Outbox> {
        self.links.get(rank)?.as_ref().map(|link| &link.outbox)
    }

    pub(crate) fn stats(&self) -> HubStats {
        self.traffic.snapshot(self.pool.stats())
    }

    /// Notes that a rank left in the normal way, after everything it had sent.
    pub(crate) fn depart(&self, rank: usize) {
        self.mailbox.depart(rank);
        if let Some(outbox) = self.outbox(rank) {
            outbox.close();
        }
        for (other, outbox) in self.outboxes().filter(|&(other, _)| other != rank) {
            outbox.post(Letter::notice(Kind::Left, rank, other, ""), &|| true);
        }
    }

    /// Ends the world for everyone; the first fault is the one that is told.
    pub(crate) fn abort(&self, fault: &Fault) {
        let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_some() {
            return;
        }
        *first = Some(fault.clone());
        drop(first);
        if let Some(note) = &self.on_fault {
            note.write(fault);
        }
        self.mailbox.fail(fault);
        self.outboxes().for_each(|(_, outbox)| outbox.abort(fault));
        // Under the lock, so that `finish` is either before its look at the fault or in its wait.
        let _open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.changed.notify_all();
    }

    /// Says why the link of `rank` takes nothing: its pump sees the same end a moment later.
    pub(crate) fn why_gone(&self, rank: usize) -> Error {
        self.mailbox
            .why_gone("send", rank, Instant::now() + FAREWELL)
            .unwrap_or_else(|| {
                let fault = Fault::new(rank, "its link takes no more frames");
                self.abort(&fault);
                fault.into()
            })
    }

    /// Returns the fault that ended the world, if one did.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until every link has ended: in its own time, or shortly after the world was aborted.
    pub(crate) fn finish(&self, threads: Threads) -> Result<(), Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut farewell: Option<Instant> = None;
        while *open > 0 {
            let Some(end) = farewell else {
                if self.fault().is_some() {
                    farewell = Some(Instant::now() + FAREWELL);
                } else {
                    open = self
                        .changed
                        .wait(open)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                continue;
            };
            let wait = end.saturating_duration_since(Instant::now());
            if wait.is_zero() {
                self.links
                    .iter()
                    .flatten()
                    .for_each(|link| link.outbox.cut(&link.socket));
                farewell = Some(Instant::now() + FAREWELL);
                continue;
            }
            open = self
                .changed
                .wait_timeout(open, wait)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        drop(open);
        for pump in threads.pumps {
            // A pump that panicked has closed its link by `Closing`; the panic was reported by its hook.
            let _ = pump.join();
        }
        self.fault().map_or(Ok(()), |fault| Err(fault.into()))
    }

    fn outboxes(&self) -> impl Iterator<Item = (usize, &Outbox)> {
        self.links
            .iter()
            .enumerate()
            .filter_map(|(rank, link)| Some((rank, &link.as_ref()?.outbox)))
    }
}

/// Ends a link when its pump ends: the drain first, so that what it writes arrives.
struct Closing<'h> {
    hub: &'h Hub,
    rank: usize,
    drain: Option<JoinHandle<()>>,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.hub.abort(&Fault::new(
                self.rank,
                "the hub's reader of its link panicked",
            ));
        }
        if let Some(Some(link)) = self.hub.links.get(self.rank) {
            link.outbox.close();
            if let Some(drain) = self.drain.take() {
                // The drain ends because its outbox is closed; a panic of it was reported by its hook.
                let _ = drain.join();
            }
            link.socket.shutdown(std::net::Shutdown::Both);
        }
        *self.hub.open.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.hub.changed.notify_all();
    }
}
