//! Starting the ranks of one program on this machine, and seeing them to their end.
//!
//! The library behind `spmdrun`. [`Launch::run`] blocks until every rank has
//! ended; lines that ranks write reach the caller one by one, so that a caller
//! that draws a progress bar can place them.
//!
//! Invariants, and what upholds each:
//!
//! - No process is left behind: each rank is the leader of a process group of its
//!   own, which is swept when the rank has ended and before it is reaped, so that
//!   the group's number cannot be another's; when one rank fails, the time is up
//!   or a signal comes, the others get SIGTERM and a second later SIGKILL; when the
//!   launcher itself is killed, ranks see that and end.
//! - No file is left behind: socket and note are in a private directory (mode
//!   0700) that goes with the launch.
//! - A port in use is one error before any rank starts: the launcher binds, and
//!   rank 0 takes the listening socket over as its standard input, which is the one
//!   way to pass a descriptor that needs no unsafe code on either side.
//! - The secret is in the ranks' environment, never on a command line.

mod error;
mod output;
mod ranks;
mod signals;

use std::ffi::OsString;
use std::time::Duration;

pub use error::{Ended, LaunchError};
pub use output::{Line, Stream};

/// What ranks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Ranks {
    /// Processes, linked through the hub in rank 0.
    #[default]
    Processes,
    /// Threads of one process.
    Threads,
}

/// Where the hub of a world of processes listens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Listen {
    /// On a Unix socket in a private directory.
    #[default]
    Unix,
    /// On this `host:port`; port 0 takes a free one.
    Tcp(String),
}

/// One launch of one program.
///
/// ```no_run
/// use spmd_hub::launch::Launch;
/// let launched = Launch::new("target/release/examples/ring", 4).arg("--quick").run(|line| {
///     let _ = (line.rank, line.stream, line.text);
/// });
/// if let Err(error) = launched {
///     std::process::exit(error.exit_code().into());
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Launch {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    size: usize,
    ranks: Ranks,
    listen: Listen,
    timeout: Option<Duration>,
    catch_signals: bool,
}

impl Launch {
    /// Describes a launch of `size` ranks of `program`, which is found as a shell would find it.
    #[must_use]
    pub fn new(program: impl Into<OsString>, size: usize) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            size,
            ranks: Ranks::default(),
            listen: Listen::default(),
            timeout: None,
            catch_signals: true,
        }
    }

    /// Adds an argument of the program.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments of the program.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable in every rank's environment, beside those that this process has.
    #[must_use]
    pub fn env(mut self, variable: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((variable.into(), value.into()));
        self
    }

    /// Chooses what ranks are. Default: processes.
    #[must_use]
    pub fn ranks(mut self, ranks: Ranks) -> Self {
        self.ranks = ranks;
        self
    }

    /// Chooses where the hub listens. Default: on a Unix socket.
    #[must_use]
    pub fn listen(mut self, listen: Listen) -> Self {
        self.listen = listen;
        self
    }

    /// Ends all ranks after this time. Default: never.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Leaves SIGINT and SIGTERM to the caller; otherwise they end the ranks while the launch runs.
    #[must_use]
    pub fn leave_signals_alone(mut self) -> Self {
        self.catch_signals = false;
        self
    }

    /// Runs the ranks to their end; every line that one writes is given to `on_line`.
    ///
    /// # Errors
    ///
    /// The launch cannot be prepared or the program not be started; a rank failed,
    /// which ends the others; the time is up; a signal came. In each case every rank
    /// has ended when this returns.
    pub fn run(self, on_line: impl FnMut(Line)) -> Result<(), LaunchError> {
        ranks::run(&self, on_line)
    }
}
