//! What several test files ask of a pool.

use frame_pool::{FramePool, Retention, Stats};

/// Asserts the identities of a quiet pool, with `live` pooled frames out.
pub(crate) fn assert_accounts<P: Retention + 'static>(pool: &FramePool<P>, live: u64) -> Stats {
    let stats = pool.stats();
    assert_eq!(
        stats.acquires(),
        stats.returns + stats.detached + live,
        "{stats}"
    );
    assert_eq!(
        stats.returns + stats.adopted,
        stats.kept + stats.refusals(),
        "{stats}"
    );
    assert_eq!(
        stats.kept,
        stats.hits + stats.evicted + stats.cleared + stats.held_buffers,
        "{stats}"
    );
    stats
}
