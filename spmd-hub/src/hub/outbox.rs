//! Where the hub's frames for one rank go: the single-owner chain of a routed frame.
//!
//! ```text
//! pump of the source's link ──► outbox of the destination ──► drain of its link
//!      owns the Frame              owns the Frame                owns the Frame, writes, drops it
//! ```
//!
//! A frame is moved along this chain and has one owner at each point of it;
//! where its owner drops it, its buffer goes home to the pool. That is after the
//! write, or in the outbox when the peer has left.
//!
//! The link's *writer* is a token: a lock whose holder is the only one that
//! writes to the socket. When nothing is queued, whoever posts takes the token and
//! offers the frame to the socket itself, without waiting; a frame that the
//! socket did not take whole goes to the drain with the rest of it. So an idle
//! destination costs no thread hand-over and a slow one costs its senders
//! nothing but the bound.
//!
//! Invariants, and what upholds each:
//!
//! - Frames of one source leave in the order they were posted: a frame passes
//!   the queue only while `queued` is zero, and `queued` counts a frame from
//!   before it is queued until after it is written.
//! - A frame that was sent in part is finished before anything else is written:
//!   it stays with the token ([`Writer::torn`]).
//! - The queue is bounded in frames by its channel and in bytes by its budget.
//! - Nobody waits for a peer that left: closing frees those that wait.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, SendTimeoutError, Sender};
use frame_pool::Frame;

use super::budget::{Budget, Closed};
use crate::error::Fault;
use crate::wire::{HEADER_BYTES, Header, Kind, Outgoing, Pace, Socket};

/// How long frames in flight may take once the world is aborted.
const ABORT_GRACE: Duration = Duration::from_millis(400);

/// How often a source that waits for room is looked at, whether it still stands.
const TICK: Duration = Duration::from_millis(100);

/// What a letter carries.
#[derive(Debug)]
pub(crate) enum Body {
    /// A routed frame's payload, in a buffer of the pool.
    Routed(Frame),
    /// A notice of the hub's own.
    Notice(Vec<u8>),
}

/// A frame on its way to one rank, owned by whoever holds it.
#[derive(Debug)]
pub(crate) struct Letter {
    outgoing: Outgoing,
    body: Body,
}

impl Letter {
    pub(crate) fn routed(header: &Header, frame: Frame) -> Self {
        Self {
            outgoing: Outgoing::new(header.encode()),
            body: Body::Routed(frame),
        }
    }

    pub(crate) fn notice(kind: Kind, source: usize, dest: usize, text: &str) -> Self {
        let (source, dest) = (
            u32::try_from(source).unwrap_or(u32::MAX),
            u32::try_from(dest).unwrap_or(u32::MAX),
        );
        let header = Header::control(kind, source, dest, text.len());
        Self {
            outgoing: Outgoing::new(header.encode()),
            body: Body::Notice(text.into()),
        }
    }

    fn bytes(&self) -> usize {
        let payload: &[u8] = match &self.body {
            Body::Routed(frame) => frame,
            Body::Notice(text) => text,
        };
        HEADER_BYTES + payload.len()
    }

    fn push(&mut self, socket: &Socket, pace: Pace<'_>) -> std::io::Result<bool> {
        match &self.body {
            Body::Routed(frame) => self.outgoing.push(socket, frame, pace),
            Body::Notice(text) => self.outgoing.push(socket, text, pace),
        }
    }
}

/// What the drain is told.
#[derive(Debug)]
pub(crate) enum Item {
    /// Write this; its bytes are claimed.
    Letter(Letter),
    /// Look at the writer and at whether the outbox is closed.
    Look,
}

/// The token of a link: its holder alone writes to the socket.
#[derive(Debug)]
pub(crate) struct Writer {
    socket: Socket,
    torn: Option<Letter>,
}

/// The hub's side of one rank's incoming traffic.
#[derive(Debug)]
pub(crate) struct Outbox {
    rank: usize,
    queue: Sender<Item>,
    queued: AtomicUsize,
    budget: Budget,
    writer: Mutex<Writer>,
    closed: AtomicBool,
    fault: OnceLock<(Fault, Instant)>,
}

/// What became of a letter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    Sent,
    Queued,
    /// The peer has left; the letter was dropped.
    Dropped,
    /// The source went while its letter waited for room; the letter was dropped.
    Abandoned,
}

impl Outbox {
    /// Creates the outbox of `rank`; the receiver is its drain's.
    pub(crate) fn new(
        rank: usize,
        socket: Socket,
        frames: usize,
        bytes: usize,
    ) -> (Self, Receiver<Item>) {
        let (queue, items) = crossbeam_channel::bounded(frames.max(1));
        let outbox = Self {
            rank,
            queue,
            queued: AtomicUsize::new(0),
            budget: Budget::new(bytes),
            writer: Mutex::new(Writer { socket, torn: None }),
            closed: AtomicBool::new(false),
            fault: OnceLock::new(),
        };
        (outbox, items)
    }

    /// Sends the letter if the peer is idle, else queues it, waiting for room while its source stands.
    pub(crate) fn post(&self, mut letter: Letter, source_stands: &dyn Fn() -> bool) -> Posted {
        if self.closed.load(Ordering::Acquire) {
            return Posted::Dropped;
        }
        if self.queued.load(Ordering::Acquire) == 0
            && let Ok(mut writer) = self.writer.try_lock()
            && self.queued.load(Ordering::Acquire) == 0
            && writer.torn.is_none()
        {
            match letter.push(&writer.socket, Pace::Now) {
                Ok(true) => return Posted::Sent,
                Ok(false) if letter.outgoing.is_torn() => {
                    writer.torn = Some(letter);
                    // Full means that the drain is awake, and it looks before each letter.
                    let _ = self.queue.try_send(Item::Look);
                    return Posted::Queued;
                }
                Ok(false) => {}
                Err(_) => {
                    // The pump sees the same end and reports it.
                    self.close();
                    return Posted::Dropped;
                }
            }
        }
        let bytes = letter.bytes();
        self.queued.fetch_add(1, Ordering::AcqRel);
        loop {
            match self.budget.claim(bytes, Some(TICK)) {
                Ok(true) => break,
                Ok(false) if source_stands() => {}
                Ok(false) => {
                    self.queued.fetch_sub(1, Ordering::AcqRel);
                    return Posted::Abandoned;
                }
                Err(Closed) => return Posted::Dropped,
            }
        }
        let mut item = Item::Letter(letter);
        loop {
            match self.queue.send_timeout(item, TICK) {
                Ok(()) => return Posted::Queued,
                Err(SendTimeoutError::Timeout(back)) if source_stands() => item = back,
                Err(SendTimeoutError::Timeout(_)) => {
                    self.budget.release(bytes);
                    self.queued.fetch_sub(1, Ordering::AcqRel);
                    return Posted::Abandoned;
                }
                Err(SendTimeoutError::Disconnected(_)) => return Posted::Dropped,
            }
        }
    }

    /// Sends a message of the hub's own rank from where it lies, waiting for the peer.
    pub(crate) fn send_lent(&self, header: &Header, payload: &[u8]) -> Posted {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if self.closed.load(Ordering::Acquire) {
            return Posted::Dropped;
        }
        let mut outgoing = Outgoing::new(header.encode());
        let sent = self.finish_torn(&mut writer).and_then(|done| {
            if done {
                outgoing.push(&writer.socket, payload, Pace::Until(&|| self.gives_up()))
            } else {
                Ok(false)
            }
        });
        if let Ok(true) = sent {
            return Posted::Sent;
        }
        // Given up inside a frame, or the peer is gone: nothing can follow on this link.
        self.close();
        writer.socket.shutdown(std::net::Shutdown::Both);
        Posted::Dropped
    }

    /// Writes one letter that was queued; `false` means that the link takes no more.
    pub(crate) fn write(&self, item: Item) -> bool {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if self.closed.load(Ordering::Acquire) {
            return false;
        }
        let given_up = || self.gives_up();
        let mut sent = self.finish_torn(&mut writer);
        if let Item::Letter(mut letter) = item {
            if let Ok(true) = sent {
                sent = letter.push(&writer.socket, Pace::Until(&given_up));
            }
            self.budget.release(letter.bytes());
            self.queued.fetch_sub(1, Ordering::AcqRel);
        }
        matches!(sent, Ok(true)) && !self.closed.load(Ordering::Acquire)
    }

    /// Says what there is to say to a peer that hears nothing more, and ends its direction.
    pub(crate) fn farewell(&self) {
        self.close();
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((fault, _)) = self.fault.get()
            && let Ok(true) = self.finish_torn(&mut writer)
        {
            let mut notice = Letter::notice(Kind::Abort, fault.rank, self.rank, &fault.reason);
            // Err means that the peer is gone and needs no notice.
            let _ = notice.push(&writer.socket, Pace::Until(&|| self.gives_up()));
        }
        writer.torn = None;
        writer.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Takes nothing more: what is queued is dropped, whoever waits is let go.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.budget.close();
        // Full means that the drain is awake, and it looks after each letter.
        let _ = self.queue.try_send(Item::Look);
    }

    /// Closes with a reason that the peer is told.
    pub(crate) fn abort(&self, fault: &Fault) {
        // The first fault stays.
        let _ = self.fault.set((fault.clone(), Instant::now()));
        self.close();
    }

    /// Ends the link at once, whatever is in flight.
    pub(crate) fn cut(&self, socket: &Socket) {
        self.close();
        socket.shutdown(std::net::Shutdown::Both);
    }

    fn finish_torn(&self, writer: &mut Writer) -> std::io::Result<bool> {
        let Some(letter) = &mut writer.torn else {
            return Ok(true);
        };
        let done = letter.push(&writer.socket, Pace::Until(&|| self.gives_up()))?;
        if done {
            writer.torn = None;
        }
        Ok(done)
    }

    /// Tells whether a write that waits should stop: the world ended a while ago.
    fn gives_up(&self) -> bool {
        self.fault
            .get()
            .is_some_and(|(_, since)| since.elapsed() > ABORT_GRACE)
    }
}
