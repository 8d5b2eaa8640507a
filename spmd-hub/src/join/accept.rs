//! The hub's side of joining: who may come in, until the world is complete.
//!
//! One thread accepts; each connection proves itself on a thread of its own, under
//! a deadline. Beyond the bound on those, a connection is closed at once and may
//! come again. What must stay true: a rank is given to whoever proves the secret
//! for it first; nobody is welcomed before everybody has joined; when the world
//! is complete or the deadline passes, the listener is closed.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::hello::{HELLO_BYTES, Hello, Reply, read_within};
use super::secret::{PROOF_BYTES, Secret, Side, random_bytes};
use super::{JoinError, Listener};
use crate::options::Options;
use crate::wire::Socket;

/// How long accepting pauses when the system has no descriptor left to give.
const PAUSE: Duration = Duration::from_millis(50);

/// What every handshake needs to know.
#[derive(Debug)]
struct Door {
    size: usize,
    secret: Secret,
    deadline: Duration,
    /// By rank: proved and claimed. Rank 0 is the hub's own.
    taken: Vec<AtomicBool>,
    pending: AtomicUsize,
}

type Outcome = Result<(usize, Socket), String>;

/// Waits until ranks 1 to `size` - 1 have joined and returns their links in order.
pub(crate) fn host(
    listener: Listener,
    size: usize,
    secret: &Secret,
    options: &Options,
) -> Result<Vec<Socket>, JoinError> {
    let start = |error: std::io::Error| JoinError::Start(error.to_string());
    let begun = Instant::now();
    let door = Arc::new(Door {
        size,
        secret: secret.clone(),
        deadline: options.handshake_timeout,
        taken: (0..size).map(|rank| AtomicBool::new(rank == 0)).collect(),
        pending: AtomicUsize::new(0),
    });
    listener.set_nonblocking().map_err(start)?;
    let (mut wake, waker) = UnixStream::pair().map_err(start)?;
    wake.set_nonblocking(true).map_err(start)?;
    waker.set_nonblocking(true).map_err(start)?;
    let waker = Arc::new(waker);
    let (report, outcomes) = mpsc::channel::<Outcome>();
    let mut joined: Vec<Option<Socket>> = (1..size).map(|_| None).collect();
    let (mut refused, mut last_refusal) = (0, None);
    let mut pause = false;
    while joined.iter().any(Option::is_none) {
        let left = options.join_timeout.saturating_sub(begun.elapsed());
        if left.is_zero() {
            let missing = (1..)
                .zip(&joined)
                .filter_map(|(rank, socket)| socket.is_none().then_some(rank))
                .collect();
            let error = JoinError::Incomplete {
                size,
                missing,
                waited: options.join_timeout,
                refused,
                last_refusal,
            };
            for socket in joined.iter().flatten() {
                // Err means that the rank has given up itself.
                let _ = Reply::Refusal(error.to_string()).send(socket);
            }
            return Err(error);
        }
        let timeout = if pause { left.min(PAUSE) } else { left }.try_into().ok();
        let mut waits = [
            PollFd::new(&wake, PollFlags::IN),
            PollFd::new(&listener, PollFlags::IN),
        ];
        let watched = if pause { 1 } else { 2 };
        match poll(&mut waits[..watched], timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(start(error.into())),
        }
        // Every byte is a wake-up and no more; what woke is in the channel.
        while matches!(wake.read(&mut [0; 64]), Ok(1..)) {}
        for outcome in outcomes.try_iter() {
            match outcome {
                Ok((rank, socket)) => joined[rank - 1] = Some(socket),
                Err(reason) => {
                    refused += 1;
                    last_refusal = Some(reason);
                }
            }
        }
        pause = !accept_all(
            &listener,
            &door,
            options.pending_handshakes,
            &report,
            &waker,
        );
    }
    drop(listener);
    let links: Vec<Socket> = joined.into_iter().flatten().collect();
    for socket in &links {
        socket.set_read_timeout(None).map_err(start)?;
        // Err means that the rank died meanwhile; its pump is about to say so.
        let _ = Reply::Welcome.send(socket);
    }
    Ok(links)
}

/// Accepts what waits; `false` means that the system has no descriptor left.
fn accept_all(
    listener: &Listener,
    door: &Arc<Door>,
    limit: usize,
    report: &mpsc::Sender<Outcome>,
    waker: &Arc<UnixStream>,
) -> bool {
    loop {
        let socket = match listener.accept() {
            Ok(socket) => socket,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                // ENFILE 23, EMFILE 24, ENOMEM 12 and ENOBUFS 105 pass when others end; the rest concern one peer.
                return !matches!(error.raw_os_error(), Some(12 | 23 | 24 | 105));
            }
        };
        if door.pending.load(Ordering::Relaxed) >= limit {
            // Closed without a word: a rank that is turned away like this comes again.
            continue;
        }
        door.pending.fetch_add(1, Ordering::Relaxed);
        let (guests, report, waker) = (Arc::clone(door), report.clone(), Arc::clone(waker));
        let spawned = std::thread::Builder::new()
            .name("spmd-handshake".into())
            .spawn(move || {
                let outcome = guests.meet(socket);
                guests.pending.fetch_sub(1, Ordering::Relaxed);
                // Err means that the world is complete, or that its forming has ended.
                let _ = report.send(outcome);
                let _ = (&*waker).write(&[1]);
            });
        if spawned.is_err() {
            door.pending.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
    }
}

impl Door {
    /// Lets one connection prove itself.
    fn meet(&self, socket: Socket) -> Outcome {
        let refuse = |reason: String| -> Outcome {
            // Err means that the peer is gone, and needs no reason.
            let _ = Reply::Refusal(reason.clone()).send(&socket);
            Err(reason)
        };
        let deadline = Instant::now() + self.deadline;
        let silent = |error: std::io::Error| format!("it did not finish its handshake: {error}");
        let mut bytes = [0; HELLO_BYTES];
        read_within(&socket, &mut bytes, deadline).map_err(silent)?;
        let hello = match Hello::parse(&bytes) {
            Ok(hello) => hello,
            Err(reason) => return refuse(reason),
        };
        let nonce = random_bytes();
        let proof = self.secret.prove(Side::Hub, &hello, &nonce);
        Reply::Challenge { nonce, proof }
            .send(&socket)
            .map_err(silent)?;
        let mut proof = [0; PROOF_BYTES];
        read_within(&socket, &mut proof, deadline).map_err(silent)?;
        if !self.secret.verify(&proof, Side::Rank, &hello, &nonce) {
            return refuse(format!(
                "rank {} did not prove the world's secret",
                hello.rank
            ));
        }
        // From here on the peer is one of ours, and may be told about the world.
        let rank = hello.rank as usize;
        if hello.size as usize != self.size {
            return refuse(format!(
                "rank {rank} expects a world of {}, this one has {}",
                hello.size, self.size
            ));
        }
        let Some(taken) = self.taken.get(rank) else {
            return refuse(format!(
                "rank {rank} is not in this world of {}; ranks run from 0",
                self.size
            ));
        };
        if taken.swap(true, Ordering::Relaxed) {
            return refuse(format!("rank {rank} is taken"));
        }
        Ok((rank, socket))
    }
}
