//! A retention policy of one's own, in all three pools.
//!
//! [`Quota`] keeps a buffer only if what its class holds stays within a share of the pool, so that
//! one popular size can not crowd the others out. It is one method; the pools do the rest.
//!
//! Run it with `cargo run -p pool-core --example own_policy`.

use frame_pool::FramePool;
use grad_pool::GradPool;
use pool_core::{Held, Offer, Refusal, Retention, Verdict};
use tls_pool::TlsPool;

/// Gives every class at most a share of the pool's bytes.
#[derive(Debug, Clone, Copy)]
struct Quota {
    /// Bytes of capacity of the whole pool.
    pool_bytes: usize,
    /// A class may hold this part of them: 2 for a half, 4 for a quarter.
    parts: usize,
}

impl Retention for Quota {
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        if offer.bytes > (self.pool_bytes / self.parts).saturating_sub(offer.class_bytes) {
            Verdict::Refuse(Refusal::ClassFull)
        } else if offer.bytes > self.pool_bytes.saturating_sub(held.bytes) {
            Verdict::Refuse(Refusal::PoolFull)
        } else {
            Verdict::Keep
        }
    }
}

#[expect(clippy::print_stdout, reason = "an example shows what it did")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    // 64 KiB in all, 16 KiB a class.
    let quota = Quota {
        pool_bytes: 64 << 10,
        parts: 4,
    };

    let scratch = TlsPool::new(quota);
    let grads = GradPool::new(quota);
    let frames = FramePool::new(quota);

    // Three buffers of 8 KiB at once: two come to rest, the third is over its class's share.
    let three = [
        scratch.zeroed::<f64>(&[1024])?,
        scratch.zeroed(&[1024])?,
        scratch.zeroed(&[1024])?,
    ];
    drop(three);
    let arena = grads.arena();
    let three = [
        arena.zeroed::<f64>(1024),
        arena.zeroed(1024),
        arena.zeroed(1024),
    ];
    drop(three);
    drop(arena); // hands what it holds to the pool
    drop([frames.take(8192), frames.take(8192), frames.take(8192)]);

    for (pool, stats) in [
        ("tls-pool", scratch.stats()),
        ("grad-pool", grads.stats()),
        ("frame-pool", frames.stats()),
    ] {
        println!("{pool}\n{stats}\n");
        assert_eq!(
            stats.refused_for(Refusal::ClassFull),
            1,
            "{pool} keeps to the share"
        );
        assert_eq!(stats.held_bytes, 16 << 10, "{pool} holds the share");
    }

    // The same policy as an object, chosen at run time.
    let boxed: Box<dyn Retention + Send> = Box::new(quota);
    let frames = FramePool::new(boxed);
    drop(frames.take(8192));
    assert_eq!(frames.stats().kept, 1);
    Ok(())
}
