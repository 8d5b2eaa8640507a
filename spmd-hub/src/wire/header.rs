//! The fixed header before every payload, and the one place that trusts none of it.
//!
//! 64 bytes, little-endian. [`Header::parse`] is a pure function of the bytes
//! and the limit: it indexes nothing that did not come, allocates nothing, and
//! returns either a header in which every field is one that this version
//! writes, or the field that is not.
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | magic `MPF1` |
//! | 4..6 | protocol version |
//! | 6 | kind |
//! | 7 | binary logarithm of the element's alignment |
//! | 8..12, 12..16 | source rank, destination rank |
//! | 16..20, 20..24 | context, tag |
//! | 24..28, 28..32 | element's name (fingerprint), element's bytes |
//! | 32..40 | payload's bytes |
//! | 40 | collective (0: none) |
//! | 41..44 | zero |
//! | 44..48, 48..56, 56..60 | the collective's root, count, operator |
//! | 60..64 | zero |

use crate::element::ElementType;

/// The bytes of a header.
pub const HEADER_BYTES: usize = 64;

/// The protocol that this build speaks; the handshake refuses every other.
pub const PROTOCOL_VERSION: u16 = 1;

const MAGIC: [u8; 4] = *b"MPF1";

/// What a frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A message from one rank to another.
    Data,
    /// The link's rank leaves and sends nothing more.
    Goodbye,
    /// From the hub: the source rank has left.
    Left,
    /// The world ends; the payload says why, the source is the rank to blame.
    Abort,
}

impl Kind {
    fn code(self) -> u8 {
        match self {
            Self::Data => 1,
            Self::Goodbye => 2,
            Self::Left => 3,
            Self::Abort => 4,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        [Self::Data, Self::Goodbye, Self::Left, Self::Abort]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

/// The collective that a frame belongs to; all zero outside of collectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallFields {
    /// The collective's code.
    pub collective: u8,
    /// The root rank, 0 where there is none.
    pub root: u32,
    /// The number of elements that every rank must agree on.
    pub count: u64,
    /// The fingerprint of the operator's name.
    pub operator: u32,
}

/// Where a message comes from, where it goes and what it is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// The sending rank.
    pub source: u32,
    /// The receiving rank.
    pub dest: u32,
    /// The communicator's context: user messages and collectives never share one.
    pub context: u32,
    /// The tag, entirely the user's within a user context.
    pub tag: u32,
    /// The element type.
    pub element: ElementType,
    /// The collective this belongs to.
    pub call: CallFields,
}

/// A checked header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What the frame is for.
    pub kind: Kind,
    /// Source, destination, matching and type.
    pub envelope: Envelope,
    /// The payload's length in bytes.
    pub length: u64,
}

/// The field of a header that this version does not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// Fewer bytes than a header has.
    #[error("a header of {have} bytes instead of {HEADER_BYTES}")]
    Truncated {
        /// The bytes there were.
        have: usize,
    },
    /// The first bytes are not the protocol's.
    #[error("a header that starts with {0:02x?} instead of the protocol's magic")]
    Magic([u8; 4]),
    /// Another version of the protocol.
    #[error("a header of protocol {0}; this build speaks {PROTOCOL_VERSION}")]
    Version(u16),
    /// A kind that this version does not know.
    #[error("a frame of unknown kind {0}")]
    Kind(u8),
    /// An element size and alignment that cannot belong together.
    #[error("elements of {bytes} bytes aligned to 2^{align_log2}")]
    Element {
        /// The element's bytes.
        bytes: u32,
        /// The binary logarithm of its alignment.
        align_log2: u8,
    },
    /// A payload beyond the limit.
    #[error("a payload of {length} bytes; the limit is {limit}")]
    Length {
        /// The announced length.
        length: u64,
        /// The limit of this world.
        limit: u64,
    },
    /// A payload that is not a whole number of elements.
    #[error("a payload of {length} bytes for elements of {bytes} bytes")]
    Count {
        /// The announced length.
        length: u64,
        /// The element's bytes.
        bytes: usize,
    },
    /// Bytes that this version writes as zero.
    #[error("reserved bytes that are not zero")]
    Reserved,
}

impl Header {
    /// Returns the header of a control frame, whose payload is text.
    pub(crate) fn control(kind: Kind, source: u32, dest: u32, length: usize) -> Self {
        let element = ElementType::of::<u8>();
        let call = CallFields::default();
        Self {
            kind,
            envelope: Envelope {
                source,
                dest,
                context: 0,
                tag: 0,
                element,
                call,
            },
            length: length as u64,
        }
    }

    /// Writes the header.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let Envelope {
            source,
            dest,
            context,
            tag,
            element,
            call,
        } = self.envelope;
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&PROTOCOL_VERSION.to_le_bytes());
        bytes[6] = self.kind.code();
        bytes[7] = element.align_log2();
        bytes[8..12].copy_from_slice(&source.to_le_bytes());
        bytes[12..16].copy_from_slice(&dest.to_le_bytes());
        bytes[16..20].copy_from_slice(&context.to_le_bytes());
        bytes[20..24].copy_from_slice(&tag.to_le_bytes());
        bytes[24..28].copy_from_slice(&element.fingerprint().to_le_bytes());
        // Lossless: an element's size is asserted to fit when its type is made.
        bytes[28..32].copy_from_slice(
            &u32::try_from(element.bytes())
                .unwrap_or(u32::MAX)
                .to_le_bytes(),
        );
        bytes[32..40].copy_from_slice(&self.length.to_le_bytes());
        bytes[40] = call.collective;
        bytes[44..48].copy_from_slice(&call.root.to_le_bytes());
        bytes[48..56].copy_from_slice(&call.count.to_le_bytes());
        bytes[56..60].copy_from_slice(&call.operator.to_le_bytes());
        bytes
    }

    /// Reads a header from the first 64 of `bytes`, with payloads up to `limit` bytes.
    ///
    /// # Errors
    ///
    /// The first field that this version does not write, by name.
    pub fn parse(bytes: &[u8], limit: u64) -> Result<Self, HeaderError> {
        let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(HeaderError::Truncated { have: bytes.len() });
        };
        let magic = take::<4>(bytes, 0);
        if magic != MAGIC {
            return Err(HeaderError::Magic(magic));
        }
        let version = u16::from_le_bytes(take(bytes, 4));
        if version != PROTOCOL_VERSION {
            return Err(HeaderError::Version(version));
        }
        let kind = Kind::from_code(bytes[6]).ok_or(HeaderError::Kind(bytes[6]))?;
        let word = |at| u32::from_le_bytes(take(bytes, at));
        let (align_log2, element_bytes) = (bytes[7], word(28));
        let element = ElementType::from_parts(word(24), element_bytes, align_log2).ok_or(
            HeaderError::Element {
                bytes: element_bytes,
                align_log2,
            },
        )?;
        let length = u64::from_le_bytes(take(bytes, 32));
        if length > limit {
            return Err(HeaderError::Length { length, limit });
        }
        if !length.is_multiple_of(u64::from(element_bytes)) {
            return Err(HeaderError::Count {
                length,
                bytes: element.bytes(),
            });
        }
        if take::<3>(bytes, 41) != [0; 3] || take::<4>(bytes, 60) != [0; 4] {
            return Err(HeaderError::Reserved);
        }
        let count = u64::from_le_bytes(take(bytes, 48));
        let call = CallFields {
            collective: bytes[40],
            root: word(44),
            count,
            operator: word(56),
        };
        let envelope = Envelope {
            source: word(8),
            dest: word(12),
            context: word(16),
            tag: word(20),
            element,
            call,
        };
        Ok(Self {
            kind,
            envelope,
            length,
        })
    }
}

fn take<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> Header {
        let call = CallFields {
            collective: 3,
            root: 2,
            count: 5,
            operator: 77,
        };
        let element = ElementType::of::<f64>();
        let envelope = Envelope {
            source: 1,
            dest: 2,
            context: 3,
            tag: u32::MAX,
            element,
            call,
        };
        Header {
            kind: Kind::Data,
            envelope,
            length: 40,
        }
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        assert_eq!(Header::parse(&sample().encode(), 40), Ok(sample()));
    }

    #[test]
    fn lengths_beyond_the_limit_are_refused_whatever_they_are() {
        for length in [48, 1 << 31, 1 << 46, u64::MAX - 37, u64::MAX] {
            let header = Header { length, ..sample() };
            assert_eq!(
                Header::parse(&header.encode(), 40),
                Err(HeaderError::Length { length, limit: 40 })
            );
        }
    }

    #[test]
    fn every_short_header_is_truncated_and_never_indexed() {
        for have in 0..HEADER_BYTES {
            assert_eq!(
                Header::parse(&sample().encode()[..have], 40),
                Err(HeaderError::Truncated { have })
            );
        }
    }

    #[test]
    fn a_payload_that_cuts_an_element_is_refused() {
        let header = Header {
            length: 39,
            ..sample()
        };
        assert_eq!(
            Header::parse(&header.encode(), 40),
            Err(HeaderError::Count {
                length: 39,
                bytes: 8
            })
        );
    }

    proptest! {
        #[test]
        fn what_parses_is_what_this_version_writes(
            at in 0..HEADER_BYTES, byte: u8, other in 0..HEADER_BYTES, second: u8,
        ) {
            let mut bytes = sample().encode();
            bytes[at] = byte;
            bytes[other] = second;
            if let Ok(header) = Header::parse(&bytes, u64::MAX) {
                prop_assert_eq!(header.encode(), bytes);
            }
        }

        #[test]
        fn any_bytes_at_all_parse_or_are_refused(bytes: Vec<u8>) {
            let _ = Header::parse(&bytes, 1 << 30);
        }
    }
}
