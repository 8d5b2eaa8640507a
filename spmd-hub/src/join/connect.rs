//! A rank's side of joining.
//!
//! A hub that is not there yet, or that closes a connection before it has
//! answered because too many are pending, is tried again until the deadline.

use std::io;
use std::time::{Duration, Instant};

use super::hello::{Hello, Reply, send_all};
use super::secret::{Secret, Side};
use super::{Address, JoinError};
use crate::options::Options;
use crate::wire::Socket;

/// The pause before the first further attempt; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// Joins the world whose hub is at `address` as `rank` and waits until it is complete.
pub(crate) fn connect(
    address: &Address,
    rank: usize,
    size: usize,
    secret: &Secret,
    options: &Options,
) -> Result<Socket, JoinError> {
    let deadline = Instant::now() + options.join_timeout;
    let mut pause = FIRST_PAUSE;
    loop {
        let again = match attempt(address, rank, size, secret, deadline, options) {
            Ok(outcome) => return outcome,
            Err(error) => error,
        };
        if Instant::now() + pause >= deadline {
            let error = again.to_string();
            return Err(JoinError::NoHub {
                address: address.to_string(),
                waited: options.join_timeout,
                error,
            });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// One attempt: the outer error is worth another.
fn attempt(
    address: &Address,
    rank: usize,
    size: usize,
    secret: &Secret,
    deadline: Instant,
    options: &Options,
) -> io::Result<Result<Socket, JoinError>> {
    let broken = |doing: &'static str, error: &io::Error| {
        Err(JoinError::Broken {
            address: address.to_string(),
            doing,
            error: error.to_string(),
        })
    };
    let socket = address.connect()?;
    let wire = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let hello = Hello::new(wire(rank), wire(size));
    send_all(&socket, &hello.encode())?;
    let challenge = match Reply::receive(
        &socket,
        deadline.min(Instant::now() + options.handshake_timeout),
    ) {
        Ok(reply) => reply,
        Err(error)
            if error.kind() == io::ErrorKind::InvalidData
                || error.kind() == io::ErrorKind::TimedOut =>
        {
            return Ok(broken("waiting for the hub's challenge", &error));
        }
        Err(error) => return Err(error),
    };
    let nonce = match challenge {
        Reply::Challenge { nonce, proof } if secret.verify(&proof, Side::Hub, &hello, &nonce) => {
            nonce
        }
        Reply::Challenge { .. } => {
            return Ok(Err(JoinError::NotProved {
                address: address.to_string(),
            }));
        }
        Reply::Refusal(reason) => return Ok(Err(JoinError::Refused { rank, reason })),
        Reply::Welcome => {
            let error = io::Error::new(io::ErrorKind::InvalidData, "a welcome without a challenge");
            return Ok(broken("waiting for the hub's challenge", &error));
        }
    };
    if let Err(error) = send_all(&socket, &secret.prove(Side::Rank, &hello, &nonce)) {
        return Ok(broken("proving the world's secret", &error));
    }
    // The hub's own deadline comes first, so that its error with the missing ranks arrives.
    let patience = deadline + options.handshake_timeout;
    Ok(match Reply::receive(&socket, patience) {
        Ok(Reply::Welcome) => match socket.set_read_timeout(None) {
            Ok(()) => Ok(socket),
            Err(error) => broken("setting up the link", &error),
        },
        Ok(Reply::Refusal(reason)) => Err(JoinError::Refused { rank, reason }),
        Ok(Reply::Challenge { .. }) => {
            let error = io::Error::new(io::ErrorKind::InvalidData, "a second challenge");
            broken("waiting for the world to be complete", &error)
        }
        Err(error) => broken("waiting for the world to be complete", &error),
    })
}
