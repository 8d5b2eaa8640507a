//! How a launch can go wrong, and the exit code that says so.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use crate::join::JoinError;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// With this exit code.
    Code(u8),
    /// By this signal.
    Signal(u8),
}

impl Ended {
    pub(super) fn of(status: ExitStatus) -> Self {
        let byte = |number: i32| u8::try_from(number & 0xff).unwrap_or(u8::MAX);
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(byte(code)),
            (None, signal) => Self::Signal(byte(signal.unwrap_or_default())),
        }
    }

    pub(super) fn is_failure(self) -> bool {
        self != Self::Code(0)
    }

    /// Tells whether something from outside ended the process: a signal that is not the process's
    /// own answer to an error, as SIGABRT is.
    pub(super) fn is_blow(self) -> bool {
        matches!(self, Self::Signal(signal) if i32::from(signal) != signal_hook::consts::SIGABRT)
    }

    /// Returns the exit code a shell would show: 128 and the signal's number for a signal.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => signal.saturating_add(128),
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => f.write_str(&signal_name((*signal).into())),
        }
    }
}

/// The name of a signal, or its number where it has none.
fn signal_name(signal: i32) -> String {
    let name = signal_hook::low_level::signal_name(signal);
    name.map_or_else(|| format!("signal {signal}"), str::to_owned)
}

/// Why a launch did not end well. Every rank has ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A launch of no rank.
    #[error("a launch needs 1 or more ranks")]
    NoRanks,
    /// The hub's address cannot be listened on.
    #[error(transparent)]
    Listen(JoinError),
    /// What the launch itself needs is not to be had.
    #[error("cannot prepare the launch: {0}")]
    Prepare(std::io::Error),
    /// The program cannot be started.
    #[error("cannot start {program:?}: {error}")]
    Start {
        /// The program.
        program: String,
        /// The system's reason.
        error: std::io::Error,
    },
    /// A rank failed first, or was the reason that others failed.
    #[error(
        "rank {rank} ended with {ended}{}", reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default()
    )]
    Failed {
        /// The rank.
        rank: usize,
        /// How it ended.
        ended: Ended,
        /// What is known about why.
        reason: Option<String>,
    },
    /// The time was up.
    #[error("the ranks did not end within {0:?} and were ended")]
    TimedOut(Duration),
    /// A signal came.
    #[error("interrupted by {}; every rank was ended", signal_name(*.0))]
    Interrupted(i32),
}

impl LaunchError {
    /// Returns the exit code that stands for this: a rank's own, 2 for a launch that never was,
    /// 124 for time that was up, 128 and the number for a signal.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoRanks | Self::Listen(_) | Self::Prepare(_) | Self::Start { .. } => 2,
            Self::Failed { ended, .. } => ended.code(),
            Self::TimedOut(_) => 124,
            Self::Interrupted(signal) => u8::try_from(*signal).unwrap_or(127).saturating_add(128),
        }
    }
}
