//! The entry of `cargo xtask`; everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::cli::main()
}
