//! Worlds of real processes, and the launcher that starts and ends them.
//!
//! A rank is this test program itself, run again for the one test
//! [`one_rank_of_a_launched_world`], which does nothing unless a launch says what.

#![expect(clippy::unwrap_used, reason = "a test's unwrap is an assertion")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use spmd_hub::launch::{Ended, Launch, LaunchError, Line, Listen, Ranks};
use spmd_hub::{Communicator, Error, Sum, World};

const PART: &str = "SPMD_TEST_PART";

/// What the ranks of a launched world do.
#[test]
fn one_rank_of_a_launched_world() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let outcome = spmd_hub::run(|comm| match part.as_str() {
        "digest" => {
            let digest = digest(comm)?;
            say(&format!("digest {digest:016x}"));
            Ok(())
        }
        "victim" => victim(comm),
        "panic" => {
            assert_ne!(comm.rank(), 1, "on purpose");
            comm.barrier()
        }
        "exit" => {
            if comm.rank() == 2 {
                std::process::exit(7);
            }
            comm.barrier()
        }
        "wait" => {
            say(&format!("pid {}", std::process::id()));
            comm.recv::<u8>((comm.rank() + 1) % comm.size(), 0)
                .map(drop)
        }
        other => panic!("no part {other}"),
    });
    if let Err(error) = outcome {
        say(&format!("error {error}"));
        std::process::exit(3);
    }
    std::process::exit(0);
}

fn say(text: &str) {
    // A line by one write, so that the harness's own output cannot cut it.
    std::io::stdout()
        .write_all(format!("\n{text}\n").as_bytes())
        .unwrap();
}

/// Every call there is, folded into one number.
fn digest(comm: &Communicator) -> Result<u64, Error> {
    let (rank, size) = (comm.rank(), comm.size());
    let mine: Vec<f32> = (0..4810_u16)
        .map(|at| f32::from(at).sin() / (rank as f32 + 1.3))
        .collect();
    let mut bits = 0_u64;
    let mut mix = |elements: &[f32]| {
        for element in elements {
            bits = bits.rotate_left(5) ^ u64::from(element.to_bits());
        }
    };
    mix(&comm.allreduce(&mine, Sum)?);
    let left = (rank + size - 1) % size;
    mix(&comm.sendrecv::<f32, f32>(&mine, (rank + 1) % size, 9, left, 9)?);
    let mut from_root = mine.clone();
    comm.broadcast(&mut from_root, size - 1)?;
    mix(&from_root);
    mix(&comm.gather(&mine, 1)?.unwrap_or_default());
    mix(&comm
        .reduce(&mine, |a, b| a * 0.5 + b, 2)?
        .unwrap_or_default());
    comm.barrier()?;
    Ok(comm.allreduce(&[bits], |a: u64, b: u64| a.rotate_left(9) ^ b)?[0])
}

/// Rank 2 kills itself once the others wait for it.
fn victim(comm: &Communicator) -> Result<(), Error> {
    if comm.rank() == 2 {
        for other in [0, 1] {
            comm.recv::<u8>(other, 0)?;
        }
        let me = Pid::from_raw(i32::try_from(std::process::id()).unwrap()).unwrap();
        kill_process(me, Signal::KILL).unwrap();
    }
    comm.send(&[1_u8], 2, 0)?;
    let begun = Instant::now();
    let error = if comm.rank() == 0 {
        comm.barrier()
    } else {
        comm.recv::<u8>(2, 1).map(drop)
    };
    let error = error.unwrap_err();
    say(&format!(
        "told after {} ms: {error}",
        begun.elapsed().as_millis()
    ));
    Err(error)
}

fn launch(part: &str, size: usize) -> Launch {
    Launch::new(std::env::current_exe().unwrap(), size)
        .args(["--exact", "one_rank_of_a_launched_world", "--nocapture"])
        .env(PART, part)
        .timeout(Duration::from_mins(1))
}

fn run(launch: Launch) -> (Result<(), LaunchError>, Vec<Line>) {
    let mut lines = Vec::new();
    let outcome = launch.run(|line| lines.push(line));
    (outcome, lines)
}

fn digests(lines: &[Line]) -> Vec<&str> {
    lines
        .iter()
        .filter_map(|line| line.text.strip_prefix("digest "))
        .collect()
}

#[test]
fn threads_and_processes_over_unix_and_tcp_give_the_same_bits() {
    let threads = World::threads(4, digest).unwrap();
    let expected = vec![format!("{:016x}", threads[0]); 4];
    for listen in [Listen::Unix, Listen::Tcp("127.0.0.1:0".into())] {
        let (outcome, lines) = run(launch("digest", 4).listen(listen));
        outcome.unwrap();
        assert_eq!(digests(&lines), expected);
    }
    let (outcome, lines) = run(launch("digest", 4).ranks(Ranks::Threads));
    outcome.unwrap();
    assert_eq!(digests(&lines), expected);
}

#[test]
fn a_killed_rank_is_named_to_the_others_within_a_second_and_by_the_launch() {
    for listen in [Listen::Unix, Listen::Tcp("127.0.0.1:0".into())] {
        let (outcome, lines) = run(launch("victim", 3).listen(listen));
        let told: Vec<_> = lines
            .iter()
            .filter_map(|line| line.text.strip_prefix("told after "))
            .collect();
        assert_eq!(told.len(), 2, "{lines:?}");
        for text in told {
            let (waited, error) = text.split_once(" ms: ").unwrap();
            assert!(waited.parse::<u32>().unwrap() < 1000, "{text}");
            assert!(
                error.contains("rank 2") && error.contains("without a goodbye"),
                "{text}"
            );
        }
        let Err(LaunchError::Failed {
            rank: 2,
            ended: Ended::Signal(9),
            reason: Some(_),
        }) = outcome
        else {
            panic!("{outcome:?}")
        };
    }
}

#[test]
fn a_panicking_rank_ends_the_launch_by_name() {
    let (outcome, lines) = run(launch("panic", 3));
    let Err(LaunchError::Failed {
        rank: 1,
        ended: Ended::Code(101),
        reason,
    }) = outcome
    else {
        panic!("{outcome:?}")
    };
    assert!(reason.unwrap().contains("on purpose"));
    let errors = lines
        .iter()
        .filter(|line| line.text.starts_with("error "))
        .count();
    assert_eq!(errors, 2, "{lines:?}");
}

#[test]
fn a_rank_that_exits_without_a_word_gives_the_launch_its_code() {
    let (outcome, _) = run(launch("exit", 4));
    assert!(
        matches!(
            outcome,
            Err(LaunchError::Failed {
                rank: 2,
                ended: Ended::Code(7),
                ..
            })
        ),
        "{outcome:?}"
    );
}

#[test]
fn a_port_in_use_is_an_error_before_any_rank_starts() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = taken.local_addr().unwrap().to_string();
    let (outcome, lines) = run(launch("digest", 2).listen(Listen::Tcp(place.clone())));
    let error = outcome.unwrap_err();
    assert!(
        error.to_string().contains(&place) && error.exit_code() == 2,
        "{error}"
    );
    assert_eq!(lines, []);
}

/// `spmdrun` with a temporary directory of its own, in which nothing may be left.
struct Spmdrun {
    command: Command,
    directory: tempfile::TempDir,
}

fn spmdrun(args: &[&str]) -> Spmdrun {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_spmdrun"));
    command.args(args).env("TMPDIR", directory.path());
    Spmdrun { command, directory }
}

impl Spmdrun {
    fn output(mut self) -> Output {
        let output = self.command.output().unwrap();
        self.check_clean();
        output
    }

    fn check_clean(&self) {
        let left: Vec<_> = std::fs::read_dir(self.directory.path()).unwrap().collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    /// Starts ranks that tell their process ids and waits for those.
    fn start_ranks(&mut self, size: usize) -> (Child, Vec<Pid>) {
        let mut child = self
            .command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (found, pids) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if let Some((_, pid)) = line.split_once("pid ") {
                    // Err means that the test has what it needs.
                    let _ = found.send(Pid::from_raw(pid.trim().parse().unwrap()).unwrap());
                }
            }
        });
        let pids = (0..size)
            .map(|_| pids.recv_timeout(Duration::from_secs(30)).unwrap())
            .collect();
        (child, pids)
    }
}

/// Waits until a process has ended, and fails after some seconds.
fn ends_within(pid: Pid, seconds: u64) {
    // Err means that it has ended already.
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    let timeout = Duration::from_secs(seconds).try_into().unwrap();
    let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout)).unwrap();
    assert_eq!(ended, 1, "process {pid:?} is still there");
}

fn self_as_rank(args: &[&str], part: &str) -> Spmdrun {
    let exe = std::env::current_exe().unwrap();
    let rank = [
        exe.to_str().unwrap(),
        "--exact",
        "one_rank_of_a_launched_world",
        "--nocapture",
    ];
    let mut spmdrun = spmdrun(&[args, &rank].concat());
    spmdrun.command.env(PART, part);
    spmdrun
}

#[test]
fn lines_carry_their_rank_and_go_where_they_were_written() {
    let script = "echo out $SPMD_RANK of $SPMD_SIZE; echo err >&2";
    let output = spmdrun(&["-n", "2", "sh", "-c", script]).output();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[0] out 0 of 2", "[1] out 1 of 2"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors.lines().count(), 2);
    assert!(errors.contains("[0] err") && errors.contains("[1] err"));
    let plain = spmdrun(&["-n", "1", "--no-prefix", "echo", "--not-an-option"]).output();
    assert_eq!(
        String::from_utf8(plain.stdout).unwrap(),
        "--not-an-option\n"
    );
}

#[test]
fn the_secret_is_on_no_command_line() {
    let script =
        "cat /proc/$$/cmdline /proc/$PPID/cmdline | tr '\\0' ' ' | grep -c \"$SPMD_SECRET\"";
    let output = spmdrun(&[
        "-n",
        "2",
        "--no-prefix",
        "sh",
        "-c",
        &format!("{script}; true"),
    ])
    .output();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "0\n0\n");
}

#[test]
fn usage_errors_are_one_line_and_code_2() {
    for (args, part) in [
        (&["-n", "0", "true"][..], "0 is not in"),
        (&["-n", "2", "--bogus", "true"], "--bogus"),
        (&["-n", "2"], "PROGRAM"),
        (&["-n", "2", "--listen", "nowhere", "true"], "tcp:HOST:PORT"),
        (&["-n", "2", "/nonexistent/program"], "/nonexistent/program"),
    ] {
        let output = spmdrun(args).output();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(
            text.lines().count() == 1 && text.contains(part),
            "{args:?}: {text}"
        );
    }
}

#[test]
fn the_first_failing_rank_gives_the_exit_code_and_is_named() {
    let script = "if [ $SPMD_RANK = 2 ]; then exit 9; fi; exec sleep 60";
    let output = spmdrun(&["-n", "4", "sh", "-c", script]).output();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(9), "{text}");
    assert!(
        text.contains("rank 2") && text.contains("exit code 9"),
        "{text}"
    );
    let script = "if [ $SPMD_RANK = 1 ]; then kill -9 $$; fi; exec sleep 60";
    let output = spmdrun(&["-n", "3", "sh", "-c", script]).output();
    assert_eq!(output.status.code(), Some(137));
}

#[test]
fn time_that_is_up_ends_even_ranks_that_ignore_sigterm_and_their_children() {
    let begun = Instant::now();
    let script = "trap '' TERM; sleep 60 & echo pid $!; while :; do sleep 60; done";
    let mut run = spmdrun(&["-n", "2", "--timeout", "0.5", "sh", "-c", script]);
    let (mut child, pids) = run.start_ranks(2);
    assert_eq!(child.wait().unwrap().code(), Some(124));
    assert!(begun.elapsed() < Duration::from_secs(10));
    for pid in pids {
        ends_within(pid, 3);
    }
    run.check_clean();
}

#[test]
fn a_signal_to_the_launcher_ends_every_rank() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut run = self_as_rank(&["-n", "3"], "wait");
        let (mut child, pids) = run.start_ranks(3);
        let begun = Instant::now();
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert!(
            begun.elapsed() < Duration::from_secs(3),
            "{:?}",
            begun.elapsed()
        );
        for pid in pids {
            ends_within(pid, 3);
        }
        run.check_clean();
    }
}

#[test]
fn ranks_end_with_a_launcher_that_is_killed() {
    let mut run = self_as_rank(&["-n", "3"], "wait");
    let (mut child, pids) = run.start_ranks(3);
    child.kill().unwrap();
    child.wait().unwrap();
    for pid in pids {
        ends_within(pid, 3);
    }
    run.check_clean();
}
