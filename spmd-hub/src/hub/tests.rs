//! A hub against links that break rules, held by the test as raw sockets.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::*;
use crate::element::ElementType;
use crate::matching::{Pattern, Source, Tag, USER_CONTEXT};
use crate::wire::{CallFields, Envelope, HEADER_BYTES, Header};

/// A hub of three ranks, with the raw ends of ranks 1 and 2.
struct Rig {
    hub: Arc<Hub>,
    threads: Option<Threads>,
    one: UnixStream,
    two: UnixStream,
}

fn rig(options: &Options) -> Rig {
    let (one, first) = UnixStream::pair().unwrap();
    let (two, second) = UnixStream::pair().unwrap();
    for end in [&one, &two] {
        end.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    }
    let sockets = vec![Socket::unix(first), Socket::unix(second)];
    let (hub, threads) = Hub::start(sockets, options).unwrap();
    Rig {
        hub,
        threads: Some(threads),
        one,
        two,
    }
}

fn options() -> Options {
    Options {
        pool: FramePool::default(),
        frame_bytes: 1 << 20,
        ..Options::default()
    }
}

fn header(source: u32, dest: u32, length: u64) -> Header {
    let element = ElementType::of::<u8>();
    let call = CallFields::default();
    let envelope = Envelope {
        source,
        dest,
        context: USER_CONTEXT,
        tag: 0,
        element,
        call,
    };
    Header {
        kind: Kind::Data,
        envelope,
        length,
    }
}

impl Rig {
    /// Returns what rank 0's receive fails with.
    fn fault(&self) -> String {
        let want = Pattern {
            call: "recv",
            context: USER_CONTEXT,
            source: Source::Any,
            tag: Tag::Any,
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        let outcome = self.hub.mailbox().receive(&want, Some(deadline));
        outcome.expect_err("the world stands").to_string()
    }

    /// Reads one frame at rank 2.
    fn frame(&mut self) -> (Header, Vec<u8>) {
        let mut bytes = [0; HEADER_BYTES];
        self.two.read_exact(&mut bytes).unwrap();
        let header = Header::parse(&bytes, 1 << 20).unwrap();
        let mut payload = vec![0; usize::try_from(header.length).unwrap()];
        self.two.read_exact(&mut payload).unwrap();
        (header, payload)
    }

    /// Ends the hub; its links are closed by then, or cut after the farewell.
    fn finish(mut self) -> Result<(), Error> {
        drop((self.one, self.two));
        self.hub.finish(self.threads.take().unwrap())
    }
}

/// Sends bytes on rank 1's link, closes it and checks what everybody is told.
fn broken(bytes: &[u8], reason: &str) {
    let options = options();
    let mut rig = rig(&options);
    rig.one.write_all(bytes).unwrap();
    rig.one.shutdown(std::net::Shutdown::Write).unwrap();
    let text = rig.fault();
    assert!(
        text.contains("rank 1") && text.contains(reason),
        "{text} is not {reason}"
    );
    let (farewell, told) = rig.frame();
    assert_eq!((farewell.kind, farewell.envelope.source), (Kind::Abort, 1));
    assert!(String::from_utf8(told).unwrap().contains(reason));
    rig.finish().unwrap_err();
    let stats = options.pool.stats();
    assert_eq!(
        stats.hits + stats.misses,
        stats.returns,
        "a buffer did not come home"
    );
}

#[test]
fn a_link_that_ends_between_frames_without_a_goodbye_is_lost() {
    broken(&[], "ended without a goodbye");
}

#[test]
fn a_link_that_ends_inside_a_header_is_torn() {
    let bytes = header(1, 0, 0).encode();
    for have in [1, 2, 31, 63] {
        broken(&bytes[..have], "cut inside a frame");
    }
}

#[test]
fn a_link_that_ends_inside_a_payload_is_torn_whoever_it_is_for() {
    for dest in [0, 2] {
        let mut bytes = header(1, dest, 1 << 20).encode().to_vec();
        bytes.extend([7; 10]);
        broken(&bytes, "cut inside a frame");
    }
}

#[test]
fn a_length_beyond_the_limit_ends_the_link_before_it_is_allocated() {
    for length in [(1 << 20) + 1, 1 << 31, 1 << 46, u64::MAX - 37, u64::MAX] {
        broken(&header(1, 2, length).encode(), "the limit is 1048576");
    }
}

#[test]
fn a_header_that_lies_about_ranks_ends_the_link() {
    broken(&header(2, 0, 0).encode(), "claims to come from rank 2");
    broken(
        &header(u32::MAX, 0, 0).encode(),
        "claims to come from rank 4294967295",
    );
    broken(&header(1, 3, 0).encode(), "for rank 3 of a world of 3");
    broken(&header(1, u32::MAX, 0).encode(), "for rank 4294967295");
    broken(&header(1, 1, 0).encode(), "for rank 1");
}

#[test]
fn what_this_version_does_not_write_ends_the_link() {
    let good = header(1, 0, 0).encode();
    for (at, byte, reason) in [
        (6, 99, "unknown kind 99"),
        (4, 2, "protocol 2"),
        (0, 0, "magic"),
        (42, 1, "reserved"),
    ] {
        let mut bytes = good;
        bytes[at] = byte;
        broken(&bytes, reason);
    }
    let left = Header::control(Kind::Left, 1, 0, 0);
    broken(&left.encode(), "only the hub may send");
}

#[test]
fn a_goodbye_is_no_fault_and_comes_after_what_was_sent() {
    let options = options();
    let mut rig = rig(&options);
    let mut bytes = header(1, 2, 3).encode().to_vec();
    bytes.extend(b"abc");
    bytes.extend(Header::control(Kind::Goodbye, 1, 0, 0).encode());
    rig.one.write_all(&bytes).unwrap();
    assert_eq!(rig.frame().1, b"abc");
    let (notice, _) = rig.frame();
    assert_eq!((notice.kind, notice.envelope.source), (Kind::Left, 1));
    // The link is closed by the hub, so that a leaving rank knows that everything was taken.
    assert_eq!(rig.one.read(&mut [0; 8]).unwrap(), 0);
    // Frames for a rank that has left are dropped, their buffers come home.
    let mut late = header(2, 1, 3).encode().to_vec();
    late.extend(b"xyz");
    late.extend(Header::control(Kind::Goodbye, 2, 0, 0).encode());
    rig.two.write_all(&late).unwrap();
    assert_eq!(rig.two.read(&mut [0; 8]).unwrap(), 0);
    let stats = rig.hub.stats();
    assert_eq!((stats.frames_routed, stats.frames_dropped), (1, 1));
    assert_eq!(stats.pool.hits + stats.pool.misses, stats.pool.returns);
    rig.finish().unwrap();
}

#[test]
fn a_receiver_that_never_reads_holds_no_more_than_its_outbox() {
    let mut options = options();
    (options.outbox_frames, options.outbox_bytes) = (1000, 1 << 20);
    let mut rig = rig(&options);
    rig.one
        .set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let mut bytes = header(1, 2, 64 << 10).encode().to_vec();
    bytes.resize(HEADER_BYTES + (64 << 10), 7);
    let mut taken = 0;
    // The timeout means that the hub takes no more: the bound has reached the sender.
    while rig.one.write_all(&bytes).is_ok() {
        taken += 1;
        assert!(
            taken < 1000,
            "the hub took {taken} frames for a rank that reads none"
        );
    }
    let stats = options.pool.stats();
    // The outbox, what was sent in part, and the frame that the pump waits with.
    assert!(stats.peak_bytes <= (1 << 20), "{stats}");
    let outstanding = (stats.hits + stats.misses - stats.returns) * (64 << 10);
    assert!(outstanding <= (1 << 20) + 3 * (64 << 10), "{stats}");
    // The rank that floods dies while its frame waits for room: everybody is told at once all the
    // same, and everything that was queued comes home.
    rig.one.shutdown(std::net::Shutdown::Both).unwrap();
    let text = rig.fault();
    assert!(text.contains("rank 1"), "{text}");
    rig.finish().unwrap_err();
    let stats = options.pool.stats();
    assert_eq!(
        stats.hits + stats.misses,
        stats.returns,
        "a buffer did not come home"
    );
}
