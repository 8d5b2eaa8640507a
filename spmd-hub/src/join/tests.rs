//! A forming world against those who should not get in, and those who come late or never.

use std::io::Write as _;
use std::net::TcpStream;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::hello::{HELLO_BYTES, Hello, Reply, send_all};
use super::secret::Side;
use super::*;
use crate::options::Options;
use crate::wire::{PROTOCOL_VERSION, Socket};

struct Forming {
    address: Address,
    secret: Secret,
    options: Options,
    hub: JoinHandle<Result<Vec<Socket>, JoinError>>,
}

fn forming(size: usize, options: &Options) -> Forming {
    let listener = Listener::bind(&Address::Tcp("127.0.0.1:0".into())).unwrap();
    let address = listener.address().unwrap();
    let secret = Secret::random();
    let (key, bounds) = (secret.clone(), options.clone());
    let hub = thread::spawn(move || host(listener, size, &key, &bounds));
    Forming {
        address,
        secret,
        options: options.clone(),
        hub,
    }
}

fn options() -> Options {
    Options {
        join_timeout: Duration::from_secs(10),
        handshake_timeout: Duration::from_secs(2),
        ..Options::default()
    }
}

impl Forming {
    fn raw(&self) -> Socket {
        self.address.connect().unwrap()
    }

    fn join(&self, rank: usize, size: usize) -> JoinHandle<Result<Socket, JoinError>> {
        let (address, secret, options) = (
            self.address.clone(),
            self.secret.clone(),
            self.options.clone(),
        );
        thread::spawn(move || connect(&address, rank, size, &secret, &options))
    }

    /// Sends a hello and returns the hub's reply.
    fn greet(socket: &Socket, hello: &Hello) -> Reply {
        send_all(socket, &hello.encode()).unwrap();
        Reply::receive(socket, Instant::now() + Duration::from_secs(5)).unwrap()
    }

    /// Proves whatever bytes and returns what the hub says to them.
    fn prove(socket: &Socket, proof: &[u8]) -> Reply {
        send_all(socket, proof).unwrap();
        Reply::receive(socket, Instant::now() + Duration::from_secs(5)).unwrap()
    }

    /// Lets the missing ranks of a world of `size` join and checks that the world is complete.
    fn completes(self, size: usize) {
        let ranks: Vec<_> = (1..size).map(|rank| self.join(rank, size)).collect();
        assert_eq!(self.hub.join().unwrap().unwrap().len(), size - 1);
        for rank in ranks {
            rank.join().unwrap().unwrap();
        }
    }
}

fn refusal(reply: Reply) -> String {
    match reply {
        Reply::Refusal(reason) => reason,
        other => panic!("not refused but {other:?}"),
    }
}

#[test]
fn junk_leaves_a_forming_world_undisturbed() {
    let world = forming(3, &options());
    let Address::Tcp(place) = &world.address else {
        unreachable!()
    };
    let mut junk = Vec::new();
    for bytes in [
        &b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"[..],
        b"",
        b"m",
        &[0xa5; 1024],
    ] {
        let mut stream = TcpStream::connect(place.as_str()).unwrap();
        stream.write_all(bytes).unwrap();
        junk.push(stream);
    }
    world.completes(3);
}

#[test]
fn a_wrong_empty_replayed_or_reflected_proof_is_refused() {
    let world = forming(2, &options());
    let stranger = Secret::random();
    let hello = Hello::new(1, 2);
    let mut seen = None;
    for attack in ["wrong", "zeros", "reflected", "replayed"] {
        let socket = world.raw();
        let Reply::Challenge { nonce, proof } = Forming::greet(&socket, &hello) else {
            panic!("no challenge")
        };
        assert!(world.secret.verify(&proof, Side::Hub, &hello, &nonce));
        let bytes = match attack {
            "wrong" => stranger.prove(Side::Rank, &hello, &nonce),
            "zeros" => [0; 32],
            "reflected" => proof,
            // What would have been right for an earlier nonce.
            _ => world.secret.prove(Side::Rank, &hello, &seen.unwrap()),
        };
        seen = Some(nonce);
        let reason = refusal(Forming::prove(&socket, &bytes));
        assert!(reason.contains("did not prove"), "{attack}: {reason}");
    }
    let liar = connect(&world.address, 1, 2, &stranger, &world.options).unwrap_err();
    assert!(matches!(liar, JoinError::NotProved { .. }), "{liar}");
    world.completes(2);
}

#[test]
fn a_second_rank_of_one_number_is_refused_and_the_first_undisturbed() {
    let world = forming(3, &options());
    let hello = Hello::new(1, 3);
    let first = world.raw();
    let Reply::Challenge { nonce, .. } = Forming::greet(&first, &hello) else {
        panic!("no challenge")
    };
    send_all(&first, &world.secret.prove(Side::Rank, &hello, &nonce)).unwrap();
    // Either may be the first to be served; exactly one is told that the rank is taken.
    let second = world.join(1, 3).join().unwrap();
    let Err(JoinError::Refused { rank: 1, reason }) = second else {
        panic!("two of one rank: {second:?}")
    };
    assert!(reason.contains("rank 1 is taken"), "{reason}");
    let other = world.join(2, 3);
    assert_eq!(world.hub.join().unwrap().unwrap().len(), 2);
    assert_eq!(
        Reply::receive(&first, Instant::now() + Duration::from_secs(5)).unwrap(),
        Reply::Welcome
    );
    other.join().unwrap().unwrap();
}

#[test]
fn a_rank_or_size_that_is_not_the_worlds_is_refused_by_name() {
    let world = forming(2, &options());
    for (rank, size, part) in [
        (2, 2, "rank 2 is not"),
        (0, 2, "rank 0 is taken"),
        (1, 3, "world of 3, this one has 2"),
    ] {
        let error = world
            .join(rank, size)
            .join()
            .unwrap()
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    }
    world.completes(2);
}

#[test]
fn another_version_is_refused_with_both_versions() {
    let world = forming(2, &options());
    let hello = Hello {
        version: PROTOCOL_VERSION + 1,
        ..Hello::new(1, 2)
    };
    let reason = refusal(Forming::greet(&world.raw(), &hello));
    assert!(
        reason.contains("protocol 2") && reason.contains("speaks 1"),
        "{reason}"
    );
    let socket = world.raw();
    let mut swapped = Hello::new(1, 2).encode();
    swapped[..8].reverse();
    assert_eq!(swapped.len(), HELLO_BYTES);
    send_all(&socket, &swapped).unwrap();
    let reply = Reply::receive(&socket, Instant::now() + Duration::from_secs(5)).unwrap();
    assert!(refusal(reply).contains("does not speak this protocol"));
    world.completes(2);
}

#[test]
fn a_rank_that_never_comes_is_named_to_everyone_who_waits() {
    let mut bounds = options();
    bounds.join_timeout = Duration::from_millis(500);
    let world = forming(4, &bounds);
    let waiting = world.join(2, 4);
    let error = world.hub.join().unwrap().unwrap_err();
    assert!(
        matches!(&error, JoinError::Incomplete { missing, .. } if *missing == [1, 3]),
        "{error}"
    );
    let told = waiting.join().unwrap().unwrap_err().to_string();
    assert!(told.contains("missing [1, 3]"), "{told}");
}

#[test]
fn nobody_is_welcome_before_everybody_has_come() {
    let world = forming(3, &options());
    let hello = Hello::new(1, 3);
    let early = world.raw();
    let Reply::Challenge { nonce, .. } = Forming::greet(&early, &hello) else {
        panic!("no challenge")
    };
    send_all(&early, &world.secret.prove(Side::Rank, &hello, &nonce)).unwrap();
    let waited = Reply::receive(&early, Instant::now() + Duration::from_millis(200)).unwrap_err();
    assert_eq!(waited.kind(), std::io::ErrorKind::TimedOut);
    let late = world.join(2, 3);
    assert_eq!(
        Reply::receive(&early, Instant::now() + Duration::from_secs(5)).unwrap(),
        Reply::Welcome
    );
    late.join().unwrap().unwrap();
    world.hub.join().unwrap().unwrap();
}

#[test]
fn a_flood_of_silent_connections_keeps_nobody_out_for_long() {
    let mut bounds = options();
    bounds.pending_handshakes = 4;
    bounds.handshake_timeout = Duration::from_millis(300);
    let world = forming(3, &bounds);
    let _silent: Vec<Socket> = (0..200).map(|_| world.raw()).collect();
    world.completes(3);
}

#[test]
fn the_listener_is_closed_once_the_world_is_complete() {
    let world = forming(2, &options());
    let address = world.address.clone();
    world.completes(2);
    let error = address.connect().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_hub_that_does_not_exist_is_named_with_its_address() {
    let mut bounds = options();
    bounds.join_timeout = Duration::from_millis(50);
    let address = Address::Unix("/nonexistent/hub".into());
    let error = connect(&address, 1, 2, &Secret::random(), &bounds)
        .unwrap_err()
        .to_string();
    assert!(error.contains("unix:/nonexistent/hub"), "{error}");
}
