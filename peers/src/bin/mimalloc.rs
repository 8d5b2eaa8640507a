//! Plain allocation with mimalloc as the process's allocator.

use std::process::ExitCode;

use bench::pools::{frame, sweep};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    peers::serve(&["mimalloc"], || {
        let mut cases = sweep::allocated("mimalloc");
        cases.extend(frame::allocated_crossings("mimalloc"));
        cases
    })
}
