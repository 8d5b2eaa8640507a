//! The ranks of one launch as processes: started, watched, ended, reaped.
//!
//! One thread decides and alone reaps; a thread per rank only tells when its
//! process has ended, a thread per stream brings its lines. When a rank fails, the
//! others fail because of it within moments, so the launch waits a little for
//! whoever the ranks' own note blames before it names a rank.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tempfile::TempDir;

use super::output::{Line, Stream, forward};
use super::signals::Catching;
use super::{Ended, Launch, LaunchError, Listen, Ranks};
use crate::env;
use crate::join::{Address, Listener, Secret};
use crate::note::FaultNote;

/// How long ranks may take to end by themselves, with an error of their own, once they are told why
/// the world ends; the rank that the note blames is among them.
const JUDGE: Duration = Duration::from_secs(1);
/// How long it waits for a note.
const NOTE: Duration = Duration::from_millis(150);
/// The time between SIGTERM and SIGKILL.
const TERM: Duration = Duration::from_secs(1);
/// How long output may still come after the last rank has ended.
const LAST_LINES: Duration = Duration::from_millis(300);

/// What a launch waits for.
#[derive(Debug)]
pub(super) enum Event {
    Line(Line),
    StreamEnded,
    /// The process of this index has ended and is not reaped.
    Exited(usize),
    Signal(i32),
}

/// One process.
#[derive(Debug)]
struct Rank {
    child: Child,
    ended: Option<Ended>,
}

/// Why the ranks are being ended.
#[derive(Debug, Clone, Copy)]
enum Cause {
    Failure,
    Timeout(Duration),
    Signal(i32),
}

/// How far the launch is.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Running,
    /// A rank has failed; who is to blame shows until then.
    Judging {
        since: Instant,
    },
    /// SIGTERM was sent; SIGKILL follows then.
    Terminating {
        until: Instant,
    },
    Killing,
}

struct Running {
    ranks: Vec<Rank>,
    phase: Phase,
    cause: Option<Cause>,
    first_failure: Option<usize>,
    /// The first rank that a signal ended which the launch had not sent.
    struck: Option<usize>,
    directory: TempDir,
    open_streams: usize,
}

/// Runs a launch.
pub(super) fn run(launch: &Launch, mut on_line: impl FnMut(Line)) -> Result<(), LaunchError> {
    if launch.size == 0 || u32::try_from(launch.size).is_err() {
        return Err(LaunchError::NoRanks);
    }
    let (events, happenings) = mpsc::channel();
    // Before the first rank, so that no signal finds ranks and nobody to end them.
    let catching = launch
        .catch_signals
        .then(|| Catching::start(events.clone()))
        .transpose();
    let _catching = catching.map_err(LaunchError::Prepare)?;
    let directory = tempfile::Builder::new()
        .prefix("spmd-")
        .tempdir()
        .map_err(LaunchError::Prepare)?;
    let phase = Phase::Running;
    let mut running = Running {
        ranks: Vec::new(),
        phase,
        cause: None,
        first_failure: None,
        struck: None,
        directory,
        open_streams: 0,
    };
    running.start(launch, &events)?;
    drop(events);
    let time_is_up = launch.timeout.map(|timeout| Instant::now() + timeout);
    let mut silent_since = None;
    loop {
        let all_ended = running.ranks.iter().all(|rank| rank.ended.is_some());
        if all_ended {
            let since = *silent_since.get_or_insert_with(Instant::now);
            if running.open_streams == 0 || since.elapsed() > LAST_LINES {
                return running.verdict();
            }
        }
        let deadline = match running.phase {
            _ if all_ended => Some(Instant::now() + LAST_LINES),
            Phase::Running => time_is_up,
            Phase::Judging { since } => Some(since + running.patience()),
            Phase::Terminating { until } => Some(until),
            Phase::Killing => None,
        };
        let event = match deadline {
            None => happenings
                .recv()
                .map_err(|_| RecvTimeoutError::Disconnected),
            Some(deadline) => {
                happenings.recv_timeout(deadline.saturating_duration_since(Instant::now()))
            }
        };
        match event {
            Ok(Event::Line(line)) => on_line(line),
            Ok(Event::StreamEnded) => running.open_streams -= 1,
            Ok(Event::Exited(rank)) => running.reap(rank),
            Ok(Event::Signal(signal)) => running.interrupt(signal),
            Err(RecvTimeoutError::Timeout) if all_ended => {}
            Err(RecvTimeoutError::Timeout) => running.time_passed(launch.timeout),
            // Every thread that could tell has ended, and so has every rank.
            Err(RecvTimeoutError::Disconnected) => return running.verdict(),
        }
        running.judge();
    }
}

impl Running {
    /// Starts every process; if one cannot be started, none is left.
    fn start(&mut self, launch: &Launch, events: &Sender<Event>) -> Result<(), LaunchError> {
        let started = match launch.ranks {
            Ranks::Threads => {
                let mut command = self.command(launch);
                command
                    .env(env::THREADS, launch.size.to_string())
                    .stdin(Stdio::null());
                self.spawn(launch, command, events)
            }
            Ranks::Processes => self.start_processes(launch, events),
        };
        if started.is_err() {
            self.signal(Signal::KILL);
            for rank in &mut self.ranks {
                // Err means that it is reaped already.
                let _ = rank.child.wait();
            }
        }
        started
    }

    fn start_processes(
        &mut self,
        launch: &Launch,
        events: &Sender<Event>,
    ) -> Result<(), LaunchError> {
        let address = match &launch.listen {
            Listen::Unix => Address::Unix(self.directory.path().join("hub")),
            Listen::Tcp(place) => {
                let text = format!("tcp:{place}");
                let wrong = |error: crate::AddressError| {
                    let error = io::Error::new(io::ErrorKind::InvalidInput, error.to_string());
                    LaunchError::Prepare(error)
                };
                text.parse().map_err(wrong)?
            }
        };
        let listener = Listener::bind(&address).map_err(LaunchError::Listen)?;
        let address = listener
            .address()
            .map_err(LaunchError::Prepare)?
            .to_string();
        let secret = Secret::random().to_hex();
        let mut listener = Some(listener.hand_over().map_err(LaunchError::Prepare)?);
        for rank in 0..launch.size {
            let mut command = self.command(launch);
            command
                .env(env::RANK, rank.to_string())
                .env(env::SIZE, launch.size.to_string());
            command.env(env::HUB, &address).env(env::SECRET, &secret);
            match listener.take() {
                Some(socket) => command
                    .env(env::LISTENER, "stdin")
                    .stdin(Stdio::from(socket)),
                None => command.stdin(Stdio::null()),
            };
            self.spawn(launch, command, events)?;
        }
        Ok(())
    }

    /// Prepares what every process has in common.
    fn command(&self, launch: &Launch) -> Command {
        let mut command = Command::new(&launch.program);
        command
            .args(&launch.args)
            .envs(launch.env.iter().map(|(variable, value)| (variable, value)));
        for variable in [
            env::THREADS,
            env::RANK,
            env::SIZE,
            env::HUB,
            env::SECRET,
            env::LISTENER,
        ] {
            command.env_remove(variable);
        }
        command
            .env(env::LAUNCHER, std::process::id().to_string())
            .env(env::FAULT, self.note());
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command
    }

    fn spawn(
        &mut self,
        launch: &Launch,
        mut command: Command,
        events: &Sender<Event>,
    ) -> Result<(), LaunchError> {
        let started = |error| {
            let program = launch.program.to_string_lossy().into_owned();
            LaunchError::Start { program, error }
        };
        let mut child = command.spawn().map_err(started)?;
        let rank = self.ranks.len();
        let pid = Pid::from_child(&child);
        let (out, err) = (child.stdout.take(), child.stderr.take());
        self.ranks.push(Rank { child, ended: None });
        let thread = |name: &str| thread::Builder::new().name(format!("{name}-{rank}"));
        if let Some(out) = out {
            let events = events.clone();
            thread("out")
                .spawn(move || forward(rank, Stream::Out, out, &events))
                .map_err(LaunchError::Prepare)?;
            self.open_streams += 1;
        }
        if let Some(err) = err {
            let events = events.clone();
            thread("err")
                .spawn(move || forward(rank, Stream::Err, err, &events))
                .map_err(LaunchError::Prepare)?;
            self.open_streams += 1;
        }
        let events = events.clone();
        let wait = move || {
            // Looks without reaping: until the launch reaps it, the number is this process's own.
            while matches!(
                waitid(
                    WaitId::Pid(pid),
                    WaitIdOptions::EXITED | WaitIdOptions::NOWAIT
                ),
                Err(rustix::io::Errno::INTR)
            ) {}
            // Err means that the launch is over.
            let _ = events.send(Event::Exited(rank));
        };
        thread("wait").spawn(wait).map_err(LaunchError::Prepare)?;
        Ok(())
    }

    fn note(&self) -> std::path::PathBuf {
        self.directory.path().join("fault")
    }

    /// Reaps a process that has ended, after whatever it has left in its group.
    fn reap(&mut self, index: usize) {
        let rank = &mut self.ranks[index];
        // Err means that the group is empty.
        let _ = kill_process_group(Pid::from_child(&rank.child), Signal::KILL);
        let ended = rank.child.wait().map_or(Ended::Code(u8::MAX), Ended::of);
        rank.ended = Some(ended);
        if ended.is_blow() && matches!(self.phase, Phase::Running | Phase::Judging { .. }) {
            self.struck.get_or_insert(index);
        }
        if ended.is_failure() && self.first_failure.is_none() {
            self.first_failure = Some(index);
            if matches!(self.phase, Phase::Running) {
                self.phase = Phase::Judging {
                    since: Instant::now(),
                };
                self.cause.get_or_insert(Cause::Failure);
            }
        }
    }

    /// Returns how long to wait for a rank to blame.
    fn patience(&self) -> Duration {
        if FaultNote::read(&self.note()).is_some() {
            JUDGE
        } else {
            NOTE
        }
    }

    /// Goes on to ending the others when their time to end by themselves is over.
    fn judge(&mut self) {
        if let Phase::Judging { since } = self.phase
            && since.elapsed() >= self.patience()
        {
            self.terminate();
        }
    }

    fn failed(&self, rank: usize) -> bool {
        self.ranks
            .get(rank)
            .and_then(|rank| rank.ended)
            .is_some_and(Ended::is_failure)
    }

    fn interrupt(&mut self, signal: i32) {
        self.cause.get_or_insert(Cause::Signal(signal));
        match self.phase {
            Phase::Running | Phase::Judging { .. } => self.terminate(),
            // Someone is in a hurry.
            Phase::Terminating { .. } | Phase::Killing => self.kill(),
        }
    }

    fn time_passed(&mut self, timeout: Option<Duration>) {
        match (self.phase, timeout) {
            (Phase::Running, Some(timeout)) => {
                self.cause.get_or_insert(Cause::Timeout(timeout));
                self.terminate();
            }
            (Phase::Terminating { .. }, _) => self.kill(),
            _ => {}
        }
    }

    fn terminate(&mut self) {
        self.signal(Signal::TERM);
        self.phase = Phase::Terminating {
            until: Instant::now() + TERM,
        };
    }

    fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.phase = Phase::Killing;
    }

    /// Signals every process group whose leader is not reaped.
    fn signal(&self, signal: Signal) {
        for rank in self.ranks.iter().filter(|rank| rank.ended.is_none()) {
            // Err means that the group is empty.
            let _ = kill_process_group(Pid::from_child(&rank.child), signal);
        }
    }

    fn verdict(&self) -> Result<(), LaunchError> {
        match self.cause {
            None => Ok(()),
            Some(Cause::Timeout(timeout)) => Err(LaunchError::TimedOut(timeout)),
            Some(Cause::Signal(signal)) => Err(LaunchError::Interrupted(signal)),
            Some(Cause::Failure) => {
                let note = FaultNote::read(&self.note()).filter(|fault| self.failed(fault.rank));
                // A rank that was struck down while the world formed is noted by nobody, or as
                // somebody else's failure to join.
                let note = note.filter(|fault| self.struck.is_none_or(|rank| rank == fault.rank));
                let noted = note.as_ref().map(|fault| fault.rank);
                let rank = noted
                    .or(self.struck)
                    .or(self.first_failure)
                    .unwrap_or_default();
                let ended = self.ranks[rank].ended.unwrap_or(Ended::Code(u8::MAX));
                Err(LaunchError::Failed {
                    rank,
                    ended,
                    reason: note.map(|fault| fault.reason.to_string()),
                })
            }
        }
    }
}

impl Drop for Running {
    /// Leaves no process behind when `on_line` panics.
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        for rank in self.ranks.iter_mut().filter(|rank| rank.ended.is_none()) {
            // Err means that it is reaped already.
            let _ = rank.child.wait();
        }
    }
}
