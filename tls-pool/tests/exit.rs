//! Guards and pools in the destructors of an ending thread's locals, in either order.
//!
//! Each case runs in a process of its own, because what it must not do is abort.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that panics fails the test that called it"
)]

use std::cell::RefCell;
use std::process::Command;
use std::thread;

use tls_pool::{Scratch, TlsPool, global};

/// Names the case for the child process.
const CASE: &str = "TLS_POOL_EXIT_CASE";

thread_local! {
    /// A guard that is dropped by the thread's destructors.
    static STORED: RefCell<Option<Scratch<'static, f32>>> = const { RefCell::new(None) };
    /// Something whose destructor borrows and returns.
    static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
}

struct Late(TlsPool);

impl Drop for Late {
    fn drop(&mut self) {
        let scratch = self.0.zeroed::<f32>(&[100]).unwrap();
        assert!(scratch.iter().all(|&element| element == 0.0));
        drop(scratch);
        assert_eq!(self.0.zeroed::<f32>(&[100]).unwrap().detach().len(), 100);
        self.0.clear();
        assert_eq!(self.0.thread_stats(), self.0.thread_stats());
    }
}

/// Registers the destructors of this thread's own locals, before the pool's table has one.
fn touch_locals() {
    STORED.try_with(|_| ()).unwrap();
    LATE.try_with(|_| ()).unwrap();
}

fn store(scratch: Scratch<'static, f32>) {
    STORED
        .try_with(|stored| *stored.borrow_mut() = Some(scratch))
        .unwrap();
}

fn store_late(pool: &TlsPool) {
    LATE.try_with(|late| *late.borrow_mut() = Some(Late(pool.clone())))
        .unwrap();
}

/// One ending thread. Locals are destroyed in an order that the platform chooses, so each case
/// runs with the test's locals registered first and with the pool's table first.
fn end_a_thread(case: &str) {
    let pool = TlsPool::default();
    let thread_pool = pool.clone();
    let case = case.to_owned();
    let (order, what) = case.split_once('-').unwrap();
    let (locals_first, what) = (order == "locals", what.to_owned());
    thread::spawn(move || {
        let pool = thread_pool;
        if locals_first {
            touch_locals();
        }
        drop(pool.zeroed::<f32>(&[7]).unwrap());
        match what.as_str() {
            "guard" => store(pool.zeroed(&[100]).unwrap().into_owned()),
            "global" => store(global().zeroed(&[100]).unwrap()),
            _ => store_late(&pool),
        }
    })
    .join()
    .unwrap();
    let stats = pool.stats();
    assert_eq!(stats.live(), 0, "{stats}");
    assert_eq!(stats.returns + stats.detached, stats.acquires(), "{stats}");
    let global = global().stats();
    assert_eq!(global.live(), 0, "{global}");
}

const CASES: [&str; 6] = [
    "locals-guard",
    "locals-global",
    "locals-late",
    "table-guard",
    "table-global",
    "table-late",
];

#[test]
#[cfg_attr(miri, ignore = "starts processes; the cases themselves run below")]
fn a_guard_that_outlives_the_threads_shelf_ends_the_process_in_order() {
    for case in CASES {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_thread_ends_as_the_environment_says"])
            .env(CASE, case)
            .output()
            .unwrap();
        assert!(status.status.success(), "{case}: {status:?}");
    }
}

#[test]
fn a_thread_ends_as_the_environment_says() {
    match std::env::var(CASE) {
        Ok(case) => end_a_thread(&case),
        Err(_) => CASES.into_iter().for_each(end_a_thread),
    }
}
