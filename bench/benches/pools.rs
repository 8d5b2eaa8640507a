//! The pools' suite: `cargo xtask bench pools`, or `cargo bench -p bench --bench pools` for
//! criterion's own lines.

use std::process::ExitCode;

fn main() -> ExitCode {
    bench::suite::main(bench::pools::suite)
}
