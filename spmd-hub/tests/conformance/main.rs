//! One suite, written once, run against every way of linking ranks.
//!
//! Each test is a function of a backend; [`on_every_backend`] makes one test per
//! backend of it. A world has a receive timeout and each test a watchdog, so that
//! what would hang fails instead.

#![expect(clippy::unwrap_used, reason = "a test's unwrap is an assertion")]
#![expect(
    clippy::cast_possible_truncation,
    reason = "ranks and counts here are small"
)]

mod collectives;
mod endings;
mod messages;
mod programs;

use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use spmd_hub::{Backend, Communicator, Error, Options, World};

/// The sizes of world that the suite tries.
const SIZES: [usize; 5] = [1, 2, 3, 4, 8];

/// Runs a test under a watchdog.
fn within_a_minute(test: impl FnOnce() + Send + 'static) {
    let (done, outcome) = mpsc::channel();
    let runner = thread::spawn(move || {
        test();
        // Err means that the watchdog has given up.
        let _ = done.send(());
    });
    match outcome.recv_timeout(Duration::from_mins(1)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the test hangs"),
        _ => runner.join().unwrap_or_else(|panic| resume_unwind(panic)),
    }
}

fn options() -> Options {
    let mut options = Options::default();
    options.receive_timeout = Some(Duration::from_secs(20));
    options
}

/// Runs a program whose every rank succeeds.
fn world<T: Send>(
    backend: Backend,
    size: usize,
    program: impl Fn(&Communicator) -> Result<T, Error> + Sync,
) -> Vec<T> {
    World::new(size)
        .backend(backend)
        .options(options())
        .run(program)
        .expect("every rank succeeds")
}

/// Makes one test per backend of each function.
macro_rules! on_every_backend {
    ($($test:ident),+ $(,)?) => {
        $(mod $test {
            #[test]
            fn threads() {
                crate::within_a_minute(|| super::$test(spmd_hub::Backend::Threads));
            }

            #[test]
            fn unix() {
                crate::within_a_minute(|| super::$test(spmd_hub::Backend::Unix));
            }

            #[test]
            fn tcp() {
                crate::within_a_minute(|| super::$test(spmd_hub::Backend::Tcp));
            }
        })+
    };
}
pub(crate) use on_every_backend;
