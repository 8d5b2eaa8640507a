//! Bytes on a link: the header, the socket, and frames in and out of it.
//!
//! Public is the pure part, [`Header::parse`] and what it returns, so that it can
//! be fuzzed and inspected; how sockets are read and written is the crate's own.

mod header;
mod outgoing;
mod reader;
mod socket;

pub use header::{CallFields, Envelope, HEADER_BYTES, Header, HeaderError, Kind, PROTOCOL_VERSION};
pub(crate) use outgoing::{Outgoing, Pace};
pub(crate) use reader::{FrameReader, LinkEnd};
pub(crate) use socket::Socket;
