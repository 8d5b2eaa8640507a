//! Huge pages for large arrays: an option, off by default.
//!
//! Linux maps memory in pages of 4 KiB unless it is advised otherwise. An array of 2 MiB and more
//! that a pool with the option makes is advised for huge ones before anything touches it. It stays
//! an ordinary allocation, so a detached array is an ordinary `Vec`, and the advice stays with the
//! memory through all its borrowers.
//!
//! - Correctness never depends on it: a kernel that does not know huge pages, or has them switched
//!   off in `/sys/kernel/mm/transparent_hugepage/enabled`, refuses the advice, which is ignored.
//!   Elsewhere than on Linux there is none.
//! - Only memory that was never touched gets huge pages at once. Where the allocator hands out
//!   memory that was in use before, the kernel may merge its pages later.
//! - The allocator gets the memory back with the advice still on it, for whatever it serves next.
//!
//! `cargo run --release -p grad-pool --features huge-pages --example huge_pages` measures an array
//! of 64 MiB without and with it.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::element::Element;

/// Bytes of the smallest array that is advised: one huge page of x86-64 and of most others.
const LEAST: usize = 2 << 20;

/// Whether a pool advises the arrays that it makes.
#[derive(Debug, Default)]
pub(crate) struct HugePages(AtomicBool);

impl HugePages {
    pub(crate) fn set(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }

    /// Advises a new array that nothing has touched, if the option is on and it is large enough.
    pub(crate) fn advise<T: Element>(&self, array: &mut [T]) {
        if size_of_val(array) >= LEAST && self.0.load(Ordering::Relaxed) {
            advise(bytemuck::cast_slice_mut(array));
        }
    }
}

/// Advises the pages that `array` lies on, first and last included.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise(array: &mut [u8]) {
    use rustix::mm::{Advice, madvise};

    let begin = array.as_mut_ptr();
    let before = begin.addr() % rustix::param::page_size();
    let (page, len) = (begin.wrapping_sub(before), before + array.len());
    #[expect(unsafe_code, reason = "the only way to ask for huge pages")]
    // SAFETY: `madvise` requires that the advice does no harm to memory that is in use.
    // `MADV_HUGEPAGE` changes neither contents nor mapping of any page, whoever owns what else
    // lies on the first and the last one.
    // Err means that this kernel has none to give, and the pages stay ordinary ones.
    let _ = unsafe { madvise(page.cast(), len, Advice::LinuxHugepage) };
}

/// There is no such advice here.
#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise(array: &mut [u8]) {
    let _ = array;
}
