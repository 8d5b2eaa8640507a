//! What a hub counts: frames and bytes by where they went.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A hub's numbers since it started, with those of the pool that carries its routed frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HubStats {
    /// Frames from one linked rank to another.
    pub frames_routed: u64,
    /// The payload bytes of those.
    pub bytes_routed: u64,
    /// Frames from a linked rank to rank 0.
    pub frames_delivered: u64,
    /// The payload bytes of those.
    pub bytes_delivered: u64,
    /// Frames from rank 0 to a linked rank.
    pub frames_sent: u64,
    /// The payload bytes of those.
    pub bytes_sent: u64,
    /// Frames for a rank that had left; their buffers came home unread.
    pub frames_dropped: u64,
    /// The frame pool's own numbers.
    pub pool: frame_pool::Stats,
}

impl fmt::Display for HubStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            frames_routed,
            bytes_routed,
            frames_delivered,
            bytes_delivered,
            ..
        } = self;
        let Self {
            frames_sent,
            bytes_sent,
            frames_dropped,
            pool,
            ..
        } = self;
        writeln!(
            f,
            "routed    {frames_routed:>12} frames {bytes_routed:>15} bytes"
        )?;
        writeln!(
            f,
            "delivered {frames_delivered:>12} frames {bytes_delivered:>15} bytes"
        )?;
        writeln!(
            f,
            "sent      {frames_sent:>12} frames {bytes_sent:>15} bytes"
        )?;
        writeln!(f, "dropped   {frames_dropped:>12} frames")?;
        write!(f, "{pool}")
    }
}

/// Counters that pumps share; each is a plain sum, read without stopping anyone.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    routed: Flow,
    delivered: Flow,
    sent: Flow,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct Flow {
    frames: AtomicU64,
    bytes: AtomicU64,
}

impl Flow {
    fn add(&self, bytes: u64) {
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Traffic {
    pub(crate) fn routed(&self, bytes: u64) {
        self.routed.add(bytes);
    }

    pub(crate) fn delivered(&self, bytes: u64) {
        self.delivered.add(bytes);
    }

    pub(crate) fn sent(&self, bytes: u64) {
        self.sent.add(bytes);
    }

    pub(crate) fn dropped(&self, frames: usize) {
        self.dropped.fetch_add(frames as u64, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self, pool: frame_pool::Stats) -> HubStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        HubStats {
            frames_routed: read(&self.routed.frames),
            bytes_routed: read(&self.routed.bytes),
            frames_delivered: read(&self.delivered.frames),
            bytes_delivered: read(&self.delivered.bytes),
            frames_sent: read(&self.sent.frames),
            bytes_sent: read(&self.sent.bytes),
            frames_dropped: read(&self.dropped),
            pool,
        }
    }
}
