//! Which cores a measurement runs on.
//!
//! The highest core that this process may use carries the measuring thread, the next one below a
//! second thread: the lowest are where a machine's own chores tend to run. Processes that serve
//! sides pin themselves the same way, so the main thread of each is on the same core.

use std::sync::OnceLock;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

static CORES: OnceLock<Vec<usize>> = OnceLock::new();

/// The cores that this process could use when it first asked, highest first.
pub fn all() -> &'static [usize] {
    CORES.get_or_init(|| {
        let Ok(set) = sched_getaffinity(None) else {
            return Vec::new();
        };
        (0..CpuSet::MAX_CPU)
            .rev()
            .filter(|&core| set.is_set(core))
            .collect()
    })
}

/// Uses these cores instead of those that the process was started with: a parent that is pinned
/// itself would hand only one down.
pub fn choose(cores: Vec<usize>) {
    // A second choice would come too late for what is pinned already.
    let _ = CORES.set(cores);
}

/// Pins the calling thread, which is the `thread`-th of a measurement. Where that can not be had
/// it runs wherever the scheduler puts it.
pub fn pin(thread: usize) {
    if let Some(&core) = all().get(thread) {
        let mut set = CpuSet::new();
        set.set(core);
        // An error leaves the thread as it was; `is_pinned` tells.
        let _ = sched_setaffinity(None, &set);
    }
}

/// Whether the calling thread is bound to one core.
#[must_use]
pub fn is_pinned() -> bool {
    sched_getaffinity(None).is_ok_and(|set| set.count() == 1)
}
