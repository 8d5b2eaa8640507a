//! The stash of a rank that other threads deliver to, and what they know of each other.
//!
//! A rank of a thread world, and rank 0 of a hub, has one mailbox: other threads
//! deliver into it, its own thread receives from it. A deliverer that finds the
//! stash full waits, so a slow receiver slows its senders instead of growing. It
//! does not wait when its message is the one that the receiver asks for.
//!
//! Invariants, and what upholds each:
//!
//! - A receiver never waits for a message that is stuck behind a full stash: it
//!   sees which sources are blocked and with what in hand, and gets an error that
//!   names what fills the stash.
//! - Nobody waits on a mailbox whose rank left or whose world was aborted:
//!   [`close`](Mailbox::close), [`depart`](Mailbox::depart) and
//!   [`fail`](Mailbox::fail) wake everyone concerned, and each wait looks again.
//! - A thread that panicked elsewhere does not take the mailbox with it: a
//!   poisoned lock is used as it is, because no update is left half done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::error::{Error, Fault};
use crate::matching::{Pattern, Source};
use crate::stash::{Message, Stash};
use crate::wire::Envelope;

/// Why a mailbox takes no message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Its rank has left.
    Closed,
    /// The world was aborted.
    Failed(Fault),
}

/// One rank's place to receive from.
#[derive(Debug)]
pub(crate) struct Mailbox {
    rank: usize,
    size: usize,
    limit: usize,
    state: Mutex<State>,
    arrived: Condvar,
    room: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stash: Stash,
    /// What the receiver waits for, and how many messages are missing.
    waiting: Option<(Pattern, usize)>,
    /// Sources that wait for room, with the message in hand.
    blocked: BTreeMap<u32, Envelope>,
    departed: BTreeSet<usize>,
    fault: Option<Fault>,
    closed: bool,
}

impl Mailbox {
    /// Creates the mailbox of `rank`, whose stash holds up to `limit` bytes.
    pub(crate) fn new(rank: usize, size: usize, limit: usize) -> Self {
        let state = Mutex::default();
        Self {
            rank,
            size,
            limit,
            state,
            arrived: Condvar::new(),
            room: Condvar::new(),
        }
    }

    /// Delivers a message, waiting for room if need be. The rank's own messages never wait.
    pub(crate) fn deliver(&self, message: Message) -> Result<(), Refused> {
        let source = message.envelope.source;
        let own = source as usize == self.rank;
        let mut state = self.lock();
        loop {
            if let Some(fault) = &state.fault {
                return Err(Refused::Failed(fault.clone()));
            }
            if state.closed {
                return Err(Refused::Closed);
            }
            let asked_for = state
                .waiting
                .as_ref()
                .is_some_and(|(want, missing)| *missing > 0 && want.matches(&message.envelope));
            let held = state.stash.bytes();
            if asked_for || own || held == 0 || held.saturating_add(message.cost()) <= self.limit {
                state.stash.push(message);
                if let Some((_, missing)) = state.waiting.as_mut().filter(|_| asked_for) {
                    *missing -= 1;
                    if *missing == 0 {
                        self.arrived.notify_all();
                    }
                }
                return Ok(());
            }
            state.blocked.insert(source, message.envelope);
            if state.waiting.is_some() {
                self.arrived.notify_all();
            }
            state = self
                .room
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.blocked.remove(&source);
        }
    }

    /// Takes the first message that matches, waiting for it until the deadline.
    ///
    /// `Ok(None)` means that the deadline passed.
    pub(crate) fn receive(
        &self,
        want: &Pattern,
        deadline: Option<Instant>,
    ) -> Result<Option<Message>, Error> {
        if !self.wait_for(want, 1, deadline)? {
            return Ok(None);
        }
        let mut state = self.lock();
        let message = state.stash.take(want);
        self.make_room(&state);
        Ok(message)
    }

    /// Waits until at least `count` messages match; `Ok(false)` means that the deadline passed.
    pub(crate) fn wait_for(
        &self,
        want: &Pattern,
        count: usize,
        deadline: Option<Instant>,
    ) -> Result<bool, Error> {
        let mut state = self.lock();
        loop {
            if let Some(fault) = &state.fault {
                return Err(fault.clone().into());
            }
            let missing = count.saturating_sub(state.stash.count(want));
            if missing == 0 {
                return Ok(true);
            }
            self.look_for_hope(&state, want, count)?;
            state.waiting = Some((*want, missing));
            if !state.blocked.is_empty() {
                // A blocked deliverer may hold what is wanted now.
                self.room.notify_all();
            }
            let timed_out;
            (state, timed_out) = match deadline {
                None => (
                    self.arrived
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner),
                    false,
                ),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    let (state, outcome) = self
                        .arrived
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner);
                    (state, outcome.timed_out())
                }
            };
            state.waiting = None;
            if timed_out && state.fault.is_none() && state.stash.count(want) < count {
                return Ok(false);
            }
        }
    }

    /// Puts a message that was just received back to where it was.
    pub(crate) fn restore(&self, message: Message) {
        self.lock().stash.restore(message);
    }

    /// Notes that a rank has left: whoever waits for it gets an error.
    pub(crate) fn depart(&self, rank: usize) {
        self.lock().departed.insert(rank);
        self.arrived.notify_all();
    }

    /// Ends the world as this rank sees it; the first fault stays.
    pub(crate) fn fail(&self, fault: &Fault) {
        self.lock().fault.get_or_insert_with(|| fault.clone());
        self.arrived.notify_all();
        self.room.notify_all();
    }

    /// Waits until it is known how `rank` ended; `None` means that the deadline passed.
    pub(crate) fn why_gone(
        &self,
        call: &'static str,
        rank: usize,
        deadline: Instant,
    ) -> Option<Error> {
        let mut state = self.lock();
        loop {
            if let Some(fault) = &state.fault {
                return Some(fault.clone().into());
            }
            if state.departed.contains(&rank) {
                return Some(Error::Departed { call, rank });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            state = self
                .arrived
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Returns the fault that ended the world, if one did.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.lock().fault.clone()
    }

    /// Takes no further message and frees those that wait; their number is returned.
    pub(crate) fn close(&self) -> usize {
        let mut state = self.lock();
        state.closed = true;
        let stash = std::mem::take(&mut state.stash);
        drop(state);
        self.room.notify_all();
        let everything = |context| Pattern {
            call: "close",
            context,
            source: Source::Any,
            tag: crate::Tag::Any,
        };
        (0..=crate::matching::COLLECTIVE_CONTEXT)
            .map(|context| stash.count(&everything(context)))
            .sum()
    }

    /// Returns an error if what is waited for cannot come any more, or cannot come in.
    fn look_for_hope(&self, state: &State, want: &Pattern, count: usize) -> Result<(), Error> {
        let call = want.call;
        // Each of these would have to bring one of the missing messages.
        let others = (0..self.size).filter(|&rank| rank != self.rank);
        let holds = |rank: &u32| {
            state
                .blocked
                .get(rank)
                .is_some_and(|envelope| want.matches(envelope))
        };
        let stuck = |rank: u32| state.blocked.contains_key(&rank) && !holds(&rank);
        match want.source {
            Source::Rank(rank) if rank == self.rank => Err(Error::OwnMessage { call, rank }),
            Source::Rank(rank) if state.departed.contains(&rank) => {
                Err(Error::Departed { call, rank })
            }
            Source::Rank(rank) if u32::try_from(rank).is_ok_and(stuck) => {
                Err(state.stash.full(want))
            }
            Source::Rank(_) => Ok(()),
            Source::Any => {
                let sent = |rank: usize| {
                    state.stash.count(&Pattern {
                        source: Source::Rank(rank),
                        ..*want
                    }) > 0
                };
                let mut hopeful = 0;
                let (mut gone, mut full) = (None, false);
                for rank in others.filter(|&rank| count == 1 || !sent(rank)) {
                    if state.departed.contains(&rank) {
                        gone = gone.or(Some(rank));
                    } else if u32::try_from(rank).is_ok_and(stuck) {
                        full = true;
                    } else {
                        hopeful += 1;
                    }
                }
                // For one message one rank is enough; for one of each, all are needed.
                let needs_all = count > 1;
                match gone {
                    Some(rank) if needs_all => Err(Error::Departed { call, rank }),
                    _ if full && (needs_all || hopeful == 0) => Err(state.stash.full(want)),
                    _ if hopeful == 0 => Err(Error::Alone { call }),
                    _ => Ok(()),
                }
            }
        }
    }

    fn make_room(&self, state: &State) {
        if !state.blocked.is_empty() {
            self.room.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc;

    use super::*;
    use crate::element::ElementType;
    use crate::matching::{Tag, USER_CONTEXT};
    use crate::parcel::Parcel;
    use crate::wire::CallFields;

    fn message(source: u32, tag: u32, bytes: usize) -> Message {
        let element = ElementType::of::<u8>();
        let call = CallFields::default();
        let envelope = Envelope {
            source,
            dest: 0,
            context: USER_CONTEXT,
            tag,
            element,
            call,
        };
        Message::new(envelope, Parcel::from_vec(vec![0_u8; bytes]))
    }

    fn want(source: Source, tag: Tag) -> Pattern {
        Pattern {
            call: "recv",
            context: USER_CONTEXT,
            source,
            tag,
        }
    }

    fn full_mailbox() -> (Arc<Mailbox>, mpsc::Receiver<Result<(), Refused>>) {
        let mailbox = Arc::new(Mailbox::new(0, 3, 1000));
        mailbox.deliver(message(1, 7, 900)).unwrap();
        let (done, outcome) = mpsc::channel();
        let sender = Arc::clone(&mailbox);
        std::thread::spawn(move || done.send(sender.deliver(message(1, 8, 900))));
        while mailbox.lock().blocked.is_empty() {
            std::thread::yield_now();
        }
        (mailbox, outcome)
    }

    #[test]
    fn a_full_stash_blocks_its_sender_until_a_message_is_taken() {
        let (mailbox, outcome) = full_mailbox();
        assert!(outcome.try_recv().is_err());
        assert!(
            mailbox
                .receive(&want(Source::Rank(1), Tag::Is(7)), None)
                .unwrap()
                .is_some()
        );
        assert_eq!(outcome.recv().unwrap(), Ok(()));
    }

    #[test]
    fn a_blocked_sender_gets_past_a_full_stash_with_what_is_waited_for() {
        let (mailbox, outcome) = full_mailbox();
        let wanted = mailbox
            .receive(&want(Source::Rank(1), Tag::Is(8)), None)
            .unwrap();
        assert_eq!(wanted.map(|message| message.envelope.tag), Some(8));
        assert_eq!(outcome.recv().unwrap(), Ok(()));
    }

    #[test]
    fn waiting_behind_a_full_stash_is_an_error_that_names_what_fills_it() {
        let (mailbox, _outcome) = full_mailbox();
        let error = mailbox
            .receive(&want(Source::Rank(1), Tag::Is(9)), None)
            .unwrap_err();
        assert!(
            matches!(
                error,
                Error::StashFull {
                    from: 1,
                    queued_tag: 7,
                    queued: 1,
                    ..
                }
            ),
            "{error}"
        );
        // Rank 2 is not behind it, and may still send.
        let deadline = Some(Instant::now());
        assert!(
            mailbox
                .receive(&want(Source::Rank(2), Tag::Any), deadline)
                .unwrap()
                .is_none()
        );
        mailbox.fail(&Fault::new(2, "test over"));
    }

    #[test]
    fn whoever_waits_for_a_rank_that_leaves_is_told() {
        let mailbox = Arc::new(Mailbox::new(0, 2, 1000));
        let receiver = Arc::clone(&mailbox);
        let waiter =
            std::thread::spawn(move || receiver.receive(&want(Source::Rank(1), Tag::Any), None));
        while mailbox.lock().waiting.is_none() {
            std::thread::yield_now();
        }
        mailbox.depart(1);
        assert!(matches!(
            waiter.join().unwrap(),
            Err(Error::Departed { rank: 1, .. })
        ));
        assert!(matches!(
            mailbox.receive(&want(Source::Any, Tag::Any), None),
            Err(Error::Alone { .. })
        ));
    }

    #[test]
    fn a_closed_mailbox_frees_its_blocked_sender() {
        let (mailbox, outcome) = full_mailbox();
        assert_eq!(mailbox.close(), 1);
        assert_eq!(outcome.recv().unwrap(), Err(Refused::Closed));
    }
}
