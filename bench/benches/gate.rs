//! The program whose instructions `cargo xtask bench --gate` counts; alone it lists its paths.

use std::process::ExitCode;

fn main() -> ExitCode {
    bench::gate::main()
}
