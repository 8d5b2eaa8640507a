//! Every bound, deadline and default of a world, in one place.

use std::time::Duration;

use frame_pool::FramePool;

use crate::note::FaultNote;

/// What a world may hold and how long it waits. [`Options::default`] documents the defaults.
///
/// ```
/// use std::time::Duration;
/// let mut options = spmd_hub::Options::default();
/// options.receive_timeout = Some(Duration::from_secs(5));
/// options.stash_bytes = 16 << 20;
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Unexpected messages that one rank holds, in bytes (128 counted per message beside its payload).
    /// A sender waits for room; a rank's messages to itself do not count against it. Default 256 MiB.
    pub stash_bytes: usize,
    /// Frames queued for one linked rank. Default 1024.
    pub outbox_frames: usize,
    /// Bytes queued for one linked rank. Default 64 MiB.
    pub outbox_bytes: usize,
    /// The largest message, in bytes. Default 16 GiB.
    pub frame_bytes: u64,
    /// How long the world may take to form. Default 30 s.
    pub join_timeout: Duration,
    /// How long one connection may take to prove itself. Default 5 s.
    pub handshake_timeout: Duration,
    /// Connections that may be proving themselves at once; others are closed and may come again. Default 64.
    pub pending_handshakes: usize,
    /// How long a leaving rank waits until the hub has taken its last frames. Default 30 s.
    pub leave_timeout: Duration,
    /// How long a receive or a collective waits before it is an error. Default: for ever.
    pub receive_timeout: Option<Duration>,
    /// The pool that carries routed frames, used by rank 0's hub. Default [`FramePool::global`].
    pub pool: FramePool,
    pub(crate) fault_note: Option<FaultNote>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            stash_bytes: 256 << 20,
            outbox_frames: 1024,
            outbox_bytes: 64 << 20,
            frame_bytes: 16 << 30,
            join_timeout: Duration::from_secs(30),
            handshake_timeout: Duration::from_secs(5),
            pending_handshakes: 64,
            leave_timeout: Duration::from_secs(30),
            receive_timeout: None,
            pool: FramePool::global().clone(),
            fault_note: None,
        }
    }
}
