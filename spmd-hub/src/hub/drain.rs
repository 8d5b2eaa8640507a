//! The consumer of one outbox: writes each letter and drops it.
//!
//! Dropping is what sends a routed frame's buffer home, and it happens here
//! whether the write landed or the peer had left. When the drain ends, the queue
//! goes with it, and so does every letter still in it.

use crossbeam_channel::Receiver;

use super::Hub;
use super::outbox::Item;

/// Drains the outbox of `rank` until it is closed.
pub(super) fn run(hub: &Hub, rank: usize, items: Receiver<Item>) {
    let Some(outbox) = hub.outbox(rank) else {
        return;
    };
    while let Ok(item) = items.recv() {
        if !outbox.write(item) {
            break;
        }
    }
    outbox.farewell();
    let dropped = items
        .try_iter()
        .filter(|item| matches!(item, Item::Letter(_)))
        .count();
    hub.traffic().dropped(dropped);
    // A letter that is posted at this very moment is dropped with the queue.
    drop(items);
}
