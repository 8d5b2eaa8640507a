//! Plain allocation with jemalloc as the process's allocator.

use std::process::ExitCode;

use bench::pools::{frame, sweep};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    peers::serve(&["tikv-jemallocator"], || {
        let mut cases = sweep::allocated("jemalloc");
        cases.extend(frame::allocated_crossings("jemalloc"));
        cases
    })
}
