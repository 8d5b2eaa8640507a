//! SIGINT and SIGTERM, while a launch runs.
//!
//! A handler stays installed once it was; outside of launches it does what the
//! system would have done without it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use super::ranks::Event;

const CAUGHT: [i32; 2] = [SIGINT, SIGTERM];

/// Whether no launch runs, and how many do.
struct Launches {
    none: Arc<AtomicBool>,
    running: Mutex<usize>,
}

static LAUNCHES: OnceLock<Launches> = OnceLock::new();

/// Signals become events for as long as this lives.
#[derive(Debug)]
pub(super) struct Catching {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Catching {
    pub(super) fn start(events: Sender<Event>) -> std::io::Result<Self> {
        let launches = LAUNCHES.get_or_init(|| {
            let none = Arc::new(AtomicBool::new(true));
            for signal in CAUGHT {
                // Err leaves a signal that is caught but does nothing between launches.
                let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&none));
            }
            Launches {
                none,
                running: Mutex::default(),
            }
        });
        let mut signals = Signals::new(CAUGHT)?;
        let handle = signals.handle();
        let thread = std::thread::Builder::new()
            .name("spmd-signals".into())
            .spawn(move || {
                for signal in signals.forever() {
                    // Err means that the launch is over.
                    let _ = events.send(Event::Signal(signal));
                }
            })?;
        *launches
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner) += 1;
        launches.none.store(false, Ordering::SeqCst);
        Ok(Self {
            handle,
            thread: Some(thread),
        })
    }
}

impl Drop for Catching {
    fn drop(&mut self) {
        if let Some(launches) = LAUNCHES.get() {
            let mut running = launches
                .running
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *running -= 1;
            launches.none.store(*running == 0, Ordering::SeqCst);
        }
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // A panic of it was reported by its hook.
            let _ = thread.join();
        }
    }
}
