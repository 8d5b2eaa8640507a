//! The demo as its user meets it: the same weights whatever carries the buffers and the ranks, and
//! one line and an end for everything that goes wrong.
//!
//! The rank program is built once in the profile of these tests; the demo is told where it is.

#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// In what time every process must be gone after something went wrong.
const END: Duration = Duration::from_secs(5);

/// The rank program, built on first use.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            .args([
                "build",
                "--quiet",
                "--package",
                "spmd-hub",
                "--example",
                "digits",
            ])
            .status()
            .unwrap();
        assert!(built.success());
        let debug = Path::new(env!("CARGO_BIN_EXE_xtask")).parent().unwrap();
        debug.join("examples").join("digits")
    })
}

/// The demo with these arguments, its output caught.
fn demo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .arg("demo")
        .arg("--program")
        .arg(program())
        .args(arguments);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn finish(arguments: &[&str]) -> Output {
    demo(arguments).output().unwrap()
}

/// The line of the result's table that begins with `label`.
fn row(output: &Output, label: &str) -> Vec<String> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let lines = text.lines().map(|line| line.replace(['│', '┆'], " "));
    let line = lines
        .clone()
        .find(|line| line.trim_start().starts_with(label));
    let line = line.unwrap_or_else(|| panic!("no {label:?} in\n{text}"));
    line.trim_start()[label.len()..]
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// What a failed call wrote to standard error, which must be one line.
fn one_line(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn the_weights_are_the_same_bits_with_pools_and_without_as_threads_and_as_processes() {
    let digest = |arguments: &[&str]| {
        let output = finish(&[&["--epochs", "3"], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        row(&output, "weights (SHA-256)")
    };
    let first = digest(&[]);
    for again in [
        &[][..],
        &["--pools", "off"],
        &["--backend", "threads"],
        &["--backend", "threads", "--pools", "off"],
        &["--listen", "127.0.0.1:0"],
    ] {
        assert_eq!(digest(again), first, "{again:?}");
    }
    assert_ne!(digest(&["--seed", "2"]), first);
}

#[test]
fn a_full_run_learns_the_digits_and_hits_every_pool() {
    let output = finish(&[]);
    assert!(output.status.success(), "{output:?}");
    let accuracy: f64 = row(&output, "test accuracy")[0].parse().unwrap();
    assert!(accuracy >= 95.0, "{accuracy} %");
    let rates = row(&output, "steady hit rate");
    assert_eq!(
        rates.len(),
        6,
        "three pools, a number and a sign each: {rates:?}"
    );
    for rate in rates.iter().step_by(2) {
        assert!(rate.parse::<f64>().unwrap() >= 99.0, "{rates:?}");
    }
}

#[test]
fn a_wrong_call_is_one_line_and_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.into_os_string().into_string().unwrap()
    };
    let digits = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../spmd-hub/examples/digits/digits.csv.gz"
    );
    let cut = file("cut.gz", &fs::read(digits).unwrap()[..1000]);
    let text = file("text.gz", b"these are no digits\n");
    let missing = dir
        .path()
        .join("missing.gz")
        .into_os_string()
        .into_string()
        .unwrap();
    for (arguments, part) in [
        (["--data", &missing], "missing.gz"),
        (["--data", &cut], "corrupt"),
        (["--data", &text], "corrupt"),
        (["--ranks", "0"], "0 is not in 1..=64"),
        (
            ["--backend", "clouds"],
            "possible values: threads, processes",
        ),
        (["--no-such-option", "1"], "--no-such-option"),
    ] {
        let output = finish(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        let line = one_line(&output);
        assert!(
            line.starts_with("error: ") && line.contains(part),
            "{arguments:?}: {line}"
        );
    }
}

#[test]
fn a_port_in_use_is_named() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = holder.local_addr().unwrap().to_string();
    let start = Instant::now();
    let output = finish(&["--listen", &address]);
    assert!(start.elapsed() < END);
    assert!(!output.status.success());
    assert!(one_line(&output).contains(&address), "{output:?}");
}

/// When something goes wrong.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// The ranks have started, and may or may not have met.
    Forming,
    /// Epochs have ended.
    Training,
}

/// A demo that would run for a long time, and its four ranks' processes.
fn endless(moment: Moment) -> (Child, Vec<Pid>) {
    // Plain progress is ten lines a run, so the first comes after 20 of these epochs.
    let epochs = if let Moment::Training = moment {
        "200"
    } else {
        "100000"
    };
    let mut demo = demo(&["--epochs", epochs]).spawn().unwrap();
    let ranks = loop {
        let ranks = children(demo.id());
        if ranks.len() == 4 {
            break ranks;
        }
        assert!(
            demo.try_wait().unwrap().is_none(),
            "the demo ended before its ranks began"
        );
        std::thread::yield_now();
    };
    if let Moment::Training = moment {
        let mut byte = [0];
        while byte != *b"\n" {
            demo.stderr.as_mut().unwrap().read_exact(&mut byte).unwrap();
        }
    }
    (demo, ranks)
}

fn children(process: u32) -> Vec<Pid> {
    let path = format!("/proc/{process}/task/{process}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .map(|id| Pid::from_raw(id.parse().unwrap()).unwrap())
        .collect()
}

/// Waits for the end of the demo and of its ranks, and returns what the demo wrote.
fn ended(demo: Child, ranks: &[Pid]) -> Output {
    let start = Instant::now();
    let output = demo.wait_with_output().unwrap();
    while ranks
        .iter()
        .any(|rank| Path::new(&format!("/proc/{}", rank.as_raw_nonzero())).exists())
    {
        assert!(start.elapsed() < END, "a rank was left behind");
        std::thread::yield_now();
    }
    assert!(start.elapsed() < END, "the end took {:?}", start.elapsed());
    output
}

/// The last line on standard error, below any progress.
fn last_line(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with("epoch "));
    let line = lines.next().unwrap_or_default().to_owned();
    assert_eq!(lines.next(), None, "{text}");
    line
}

#[test]
fn an_interrupt_ends_every_process_with_its_name() {
    for moment in [Moment::Forming, Moment::Training] {
        let (demo, ranks) = endless(moment);
        kill_process(Pid::from_child(&demo), Signal::INT).unwrap();
        let output = ended(demo, &ranks);
        assert_eq!(output.status.code(), Some(130));
        assert!(last_line(&output).contains("SIGINT"), "{output:?}");
    }
}

#[test]
fn a_killed_rank_ends_every_process_and_is_named() {
    for (rank, moment) in
        (0..4).flat_map(|rank| [(rank, Moment::Forming), (rank, Moment::Training)])
    {
        let (demo, ranks) = endless(moment);
        kill_process(ranks[rank], Signal::KILL).unwrap();
        let output = ended(demo, &ranks);
        let line = last_line(&output);
        assert!(
            line.contains(&format!("rank {rank} ended with SIGKILL")),
            "{moment:?}: {line}"
        );
        assert_eq!(output.status.code(), Some(137));
    }
}

#[test]
fn a_killed_launcher_leaves_no_rank_behind() {
    for moment in [Moment::Forming, Moment::Training] {
        let (mut demo, ranks) = endless(moment);
        demo.kill().unwrap();
        ended(demo, &ranks);
    }
}
