//! Which message a receive takes: sources, tags and contexts.
//!
//! A message matches when its context is the pattern's and its source and tag
//! are the ones asked for, or anything was asked for. Among matching messages
//! the one that arrived first is taken, so messages of one source, context and
//! tag are received in the order in which they were sent.

use std::fmt;

use crate::wire::Envelope;

/// The context of a user's messages.
pub(crate) const USER_CONTEXT: u32 = 0;
/// The context of collectives, which no user tag can meet.
pub(crate) const COLLECTIVE_CONTEXT: u32 = 1;

/// From whom a receive takes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From whoever's message arrived first.
    Any,
    /// From this rank.
    Rank(usize),
}

impl From<usize> for Source {
    fn from(rank: usize) -> Self {
        Self::Rank(rank)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any rank"),
            Self::Rank(rank) => write!(f, "rank {rank}"),
        }
    }
}

/// With which tag a receive takes a message. Every `u32` is a user's to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// With whatever tag.
    Any,
    /// With this tag.
    Is(u32),
}

impl From<u32> for Tag {
    fn from(tag: u32) -> Self {
        Self::Is(tag)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any tag"),
            Self::Is(tag) => write!(f, "tag {tag}"),
        }
    }
}

/// What a waiting receive asks for, and in which call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern {
    pub(crate) call: &'static str,
    pub(crate) context: u32,
    pub(crate) source: Source,
    pub(crate) tag: Tag,
}

impl Pattern {
    pub(crate) fn matches(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.allows(envelope.source)
            && match self.tag {
                Tag::Any => true,
                Tag::Is(tag) => tag == envelope.tag,
            }
    }

    /// Tells whether a message of this rank could match.
    pub(crate) fn allows(&self, source: u32) -> bool {
        match self.source {
            Source::Any => true,
            Source::Rank(rank) => rank == source as usize,
        }
    }
}
