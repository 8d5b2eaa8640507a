//! Messages that arrived before anyone asked for them.
//!
//! One queue per (context, source, tag), so that a receive finds its message
//! without walking past others, however many wait; a receive with a wildcard
//! compares the heads of the queues by arrival.
//!
//! What must stay true: a message put back by [`Stash::restore`] is received
//! next, as if it had never been taken; [`Stash::bytes`] is what the messages
//! hold, headers and bookkeeping counted with [`OVERHEAD`] each.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::matching::{Pattern, Source, Tag};
use crate::parcel::Parcel;
use crate::wire::Envelope;

/// What a message costs beside its payload, in bytes, rounded up.
pub(crate) const OVERHEAD: usize = 128;

/// A message that has arrived. It owns its payload for good.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) envelope: Envelope,
    pub(crate) parcel: Parcel,
    arrival: u64,
}

impl Message {
    pub(crate) fn new(envelope: Envelope, parcel: Parcel) -> Self {
        Self {
            envelope,
            parcel,
            arrival: 0,
        }
    }

    /// Returns what the message counts for in a stash.
    pub(crate) fn cost(&self) -> usize {
        self.parcel.bytes().len().saturating_add(OVERHEAD)
    }
}

type Key = (u32, u32, u32);

/// The unexpected messages of one rank.
#[derive(Debug, Default)]
pub(crate) struct Stash {
    queues: FxHashMap<Key, VecDeque<Message>>,
    bytes: usize,
    arrivals: u64,
}

impl Stash {
    /// Puts an arriving message last.
    pub(crate) fn push(&mut self, mut message: Message) {
        self.arrivals += 1;
        message.arrival = self.arrivals;
        self.bytes += message.cost();
        self.queues
            .entry(key(&message.envelope))
            .or_default()
            .push_back(message);
    }

    /// Takes the first message that matches.
    pub(crate) fn take(&mut self, pattern: &Pattern) -> Option<Message> {
        let key = match (pattern.source, pattern.tag) {
            (Source::Rank(rank), Tag::Is(tag)) => (pattern.context, u32::try_from(rank).ok()?, tag),
            _ => self
                .queues
                .values()
                .filter_map(VecDeque::front)
                .filter(|message| pattern.matches(&message.envelope))
                .min_by_key(|message| message.arrival)
                .map(|message| key(&message.envelope))?,
        };
        let queue = self.queues.get_mut(&key)?;
        let message = queue.pop_front()?;
        if queue.is_empty() {
            self.queues.remove(&key);
        }
        self.bytes -= message.cost();
        Some(message)
    }

    /// Puts a message that was just taken back to where it was.
    pub(crate) fn restore(&mut self, message: Message) {
        self.bytes += message.cost();
        self.queues
            .entry(key(&message.envelope))
            .or_default()
            .push_front(message);
    }

    /// Returns the bytes that the waiting messages hold.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts the messages that match.
    pub(crate) fn count(&self, pattern: &Pattern) -> usize {
        if let (Source::Rank(rank), Tag::Is(tag)) = (pattern.source, pattern.tag) {
            let key = u32::try_from(rank).map(|rank| (pattern.context, rank, tag));
            return key
                .ok()
                .and_then(|key| self.queues.get(&key))
                .map_or(0, VecDeque::len);
        }
        let matching = |queue: &&VecDeque<Message>| {
            queue.front().is_some_and(|m| pattern.matches(&m.envelope))
        };
        self.queues
            .values()
            .filter(matching)
            .map(VecDeque::len)
            .sum()
    }

    /// Describes why a call that waits for `pattern` cannot be served.
    pub(crate) fn full(&self, pattern: &Pattern) -> Error {
        let fullest = self.queues.iter().max_by_key(|(_, queue)| queue.len());
        let (queued, from, queued_tag) = fullest.map_or((0, 0, 0), |(&(_, source, tag), queue)| {
            (queue.len(), source, tag)
        });
        Error::StashFull {
            call: pattern.call,
            source_rank: pattern.source,
            tag: pattern.tag,
            bytes: self.bytes,
            queued,
            from,
            queued_tag,
        }
    }
}

fn key(envelope: &Envelope) -> Key {
    (envelope.context, envelope.source, envelope.tag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;
    use crate::matching::USER_CONTEXT;
    use crate::wire::CallFields;

    fn message(source: u32, tag: u32, byte: u8) -> Message {
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
        Message::new(envelope, Parcel::from_vec(vec![byte]))
    }

    fn pattern(source: Source, tag: Tag) -> Pattern {
        Pattern {
            call: "recv",
            context: USER_CONTEXT,
            source,
            tag,
        }
    }

    fn byte(message: Option<Message>) -> Option<u8> {
        message.map(|message| message.parcel.bytes()[0])
    }

    #[test]
    fn a_wildcard_takes_the_first_arrival_and_a_restored_message_comes_next() {
        let mut stash = Stash::default();
        for (source, tag, byte) in [(2, 7, 1), (1, 7, 2), (2, 7, 3), (2, 8, 4)] {
            stash.push(message(source, tag, byte));
        }
        let taken = stash.take(&pattern(Source::Any, Tag::Any)).unwrap();
        assert_eq!(taken.parcel.bytes(), [1]);
        stash.restore(taken);
        assert_eq!(
            byte(stash.take(&pattern(Source::Rank(2), Tag::Any))),
            Some(1)
        );
        assert_eq!(byte(stash.take(&pattern(Source::Any, Tag::Is(8)))), Some(4));
        assert_eq!(
            byte(stash.take(&pattern(Source::Rank(2), Tag::Is(7)))),
            Some(3)
        );
        assert_eq!(byte(stash.take(&pattern(Source::Any, Tag::Any))), Some(2));
        assert_eq!(stash.bytes(), 0);
        assert!(stash.queues.is_empty());
    }

    #[test]
    fn a_full_stash_names_what_fills_it() {
        let mut stash = Stash::default();
        (0..5).for_each(|byte| stash.push(message(3, 9, byte)));
        let text = stash
            .full(&pattern(Source::Rank(1), Tag::Is(4)))
            .to_string();
        assert!(text.contains("5 messages of rank 3 with tag 9"), "{text}");
    }
}
