//! The messages of a handshake, as bytes.
//!
//! The hello is 64 bytes, the proof 32; a reply is 12 bytes and up to 512 more.
//! Reading one never takes more than that, and never past the deadline.

use std::io::{self, Read as _};
use std::time::Instant;

use super::secret::{PROOF_BYTES, random_bytes};
use crate::wire::{PROTOCOL_VERSION, Socket};

pub(super) const NONCE_BYTES: usize = 32;
pub(super) const HELLO_BYTES: usize = 64;
const REPLY_BYTES: usize = 12;
/// The longest body of a reply.
const BODY_BYTES: usize = 512;
const MAGIC: [u8; 8] = *b"millpond";

/// Payloads travel in the byte order of whoever wrote them; both sides must share it.
const BYTE_ORDER: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };

/// What a rank says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) version: u16,
    pub(super) byte_order: u8,
    pub(super) rank: u32,
    pub(super) size: u32,
    pub(super) nonce: [u8; NONCE_BYTES],
}

impl Hello {
    pub(super) fn new(rank: u32, size: u32) -> Self {
        Self {
            version: PROTOCOL_VERSION,
            byte_order: BYTE_ORDER,
            rank,
            size,
            nonce: random_bytes(),
        }
    }

    pub(super) fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&self.version.to_le_bytes());
        bytes[10] = self.byte_order;
        bytes[12..16].copy_from_slice(&self.rank.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.size.to_le_bytes());
        bytes[32..64].copy_from_slice(&self.nonce);
        bytes
    }

    /// Reads a hello, or says what it is instead.
    pub(super) fn parse(bytes: &[u8; HELLO_BYTES]) -> Result<Self, String> {
        fn field<const N: usize>(bytes: &[u8; HELLO_BYTES], at: usize) -> [u8; N] {
            let mut field = [0; N];
            field.copy_from_slice(&bytes[at..at + N]);
            field
        }
        if field::<8>(bytes, 0) != MAGIC {
            return Err("it does not speak this protocol".into());
        }
        let version = u16::from_le_bytes(field(bytes, 8));
        if version != PROTOCOL_VERSION {
            return Err(format!(
                "it speaks protocol {version}, the hub speaks {PROTOCOL_VERSION}"
            ));
        }
        if bytes[10] != BYTE_ORDER {
            return Err("its machine's byte order is not the hub's".into());
        }
        let (rank, size) = (
            u32::from_le_bytes(field(bytes, 12)),
            u32::from_le_bytes(field(bytes, 16)),
        );
        let hello = Self {
            version,
            byte_order: BYTE_ORDER,
            rank,
            size,
            nonce: field(bytes, 32),
        };
        // What was proved must be all of what was sent.
        if hello.encode() == *bytes {
            Ok(hello)
        } else {
            Err("its hello has bytes set that are reserved".into())
        }
    }
}

/// What the hub says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Challenge {
        nonce: [u8; NONCE_BYTES],
        proof: [u8; PROOF_BYTES],
    },
    Welcome,
    Refusal(String),
}

impl Reply {
    /// Sends the reply; it is small enough for any socket's buffer.
    pub(super) fn send(&self, socket: &Socket) -> io::Result<()> {
        let (code, body): (u8, Vec<u8>) = match self {
            Self::Challenge { nonce, proof } => (1, [nonce.as_slice(), proof].concat()),
            Self::Welcome => (2, Vec::new()),
            Self::Refusal(reason) => (3, reason.bytes().take(BODY_BYTES).collect()),
        };
        let mut head = [0; REPLY_BYTES];
        head[0..8].copy_from_slice(&MAGIC);
        head[8] = code;
        // Lossless: a body has at most `BODY_BYTES`.
        head[10..12].copy_from_slice(&u16::try_from(body.len()).unwrap_or(u16::MAX).to_le_bytes());
        send_all(socket, &[&head[..], &body].concat())
    }

    /// Waits for the hub's next reply.
    pub(super) fn receive(socket: &Socket, deadline: Instant) -> io::Result<Self> {
        let mut head = [0; REPLY_BYTES];
        read_within(socket, &mut head, deadline)?;
        let length = usize::from(u16::from_le_bytes([head[10], head[11]]));
        if head[0..8] != MAGIC || length > BODY_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "whoever listens there is not a hub",
            ));
        }
        let mut body = vec![0; length];
        read_within(socket, &mut body, deadline)?;
        match (head[8], body.split_first_chunk::<NONCE_BYTES>()) {
            (1, Some((nonce, proof))) if proof.len() == PROOF_BYTES => {
                let mut own = [0; PROOF_BYTES];
                own.copy_from_slice(proof);
                Ok(Self::Challenge {
                    nonce: *nonce,
                    proof: own,
                })
            }
            (2, _) => Ok(Self::Welcome),
            (3, _) => Ok(Self::Refusal(String::from_utf8_lossy(&body).into_owned())),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a reply that no hub of this version gives",
            )),
        }
    }
}

/// Sends a few bytes.
pub(super) fn send_all(socket: &Socket, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let sent = socket.write_some(bytes, &[], true)?;
        bytes = bytes.get(sent..).unwrap_or_default();
    }
    Ok(())
}

/// Fills the buffer before the deadline, however slowly the bytes drip in.
pub(super) fn read_within(
    socket: &Socket,
    mut buffer: &mut [u8],
    deadline: Instant,
) -> io::Result<()> {
    while !buffer.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        let mut input = socket;
        match input.read(buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => buffer = &mut buffer[read..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_of_another_version_or_byte_order_is_refused_by_name() {
        let hello = Hello::new(3, 4);
        assert_eq!(Hello::parse(&hello.encode()), Ok(hello));
        let other = Hello {
            version: PROTOCOL_VERSION + 1,
            ..hello
        };
        let text = Hello::parse(&other.encode()).unwrap_err();
        assert!(
            text.contains(&(PROTOCOL_VERSION + 1).to_string())
                && text.contains(&PROTOCOL_VERSION.to_string())
        );
        let swapped = Hello {
            byte_order: 3 - BYTE_ORDER,
            ..hello
        };
        assert!(
            Hello::parse(&swapped.encode())
                .unwrap_err()
                .contains("byte order")
        );
        let mut magic = hello.encode();
        magic[..8].reverse();
        assert!(Hello::parse(&magic).unwrap_err().contains("protocol"));
        let mut reserved = hello.encode();
        reserved[25] = 1;
        assert!(Hello::parse(&reserved).is_err());
    }
}
