//! The named bounds of this crate. Each is a bound of one thread's shelf.

use pool_core::{Bounded, WhenFull};

/// 8 buffers of one class and thread, and no other bound.
pub(crate) const CONSERVATIVE: Bounded = Bounded {
    class_buffers: 8,
    ..Bounded::UNLIMITED
};

/// Bytes that a thread may hold under the default bounds.
const THREAD_BYTES: usize = 64 << 20;

/// Bounded in bytes, buffers and classes, so that no sequence of shapes pins more; evicting, so
/// that a thread full of shapes that nobody asks for any more recovers. A request above the
/// bound in bytes could never be kept and bypasses the pool.
pub(crate) const DEFAULT: Bounded = Bounded {
    buffer_bytes: THREAD_BYTES,
    pool_bytes: THREAD_BYTES,
    pool_buffers: 1024,
    classes: 256,
    when_full: WhenFull::Evict,
    ..Bounded::UNLIMITED
};
