//! Sides that live in another process: served lap by lap over its standard streams.
//!
//! One line asks for a lap, one line answers. The asking process waits meanwhile, so the two share
//! the measuring core without running at the same time. The time is taken where the work is done.

use std::io::{BufRead as _, BufReader, Write as _, stdin, stdout};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use serde::{Deserialize, Serialize};

use crate::cores;
use crate::side::{Lap, Run, Side};

/// What a serving process says first.
#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    versions: Vec<(String, String)>,
    /// Cases and sides.
    sides: Vec<(String, String)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Ask {
    case: String,
    side: String,
    rounds: u64,
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Lap { nanos: u64, digest: u64 },
    Failed(String),
}

/// Serves `sides`, each beside the name of its case, until standard input ends. `versions` says
/// what they are made of.
///
/// # Errors
///
/// When the asking process can not be understood or is gone.
pub fn serve(versions: Vec<(String, String)>, sides: &[(String, Side)]) -> Result<()> {
    cores::pin(0);
    let names = sides
        .iter()
        .map(|(case, side)| (case.clone(), side.name.clone()));
    say(&Hello {
        versions,
        sides: names.collect(),
    })?;
    let mut current: Option<(usize, Run)> = None;
    for line in stdin().lines() {
        let ask: Ask = serde_json::from_str(&line?)?;
        let asked = |(case, side): &(String, Side)| *case == ask.case && side.name == ask.side;
        let Some(at) = sides.iter().position(asked) else {
            say(&Answer::Failed(format!(
                "no side {} in {}",
                ask.side, ask.case
            )))?;
            continue;
        };
        if current.as_ref().is_none_or(|(set_up, _)| *set_up != at) {
            // What the last side holds is freed before this one is set up.
            drop(current.take());
            current = sides[at].1.set_up().map(|run| (at, run));
        }
        let Some((_, run)) = &mut current else {
            bail!("a served side lives in this process");
        };
        say(&match run(ask.rounds) {
            Ok(Lap { time, digest }) => Answer::Lap {
                nanos: u64::try_from(time.as_nanos())?,
                digest,
            },
            Err(error) => Answer::Failed(format!("{error:#}")),
        })?;
    }
    Ok(())
}

fn say(message: &impl Serialize) -> Result<()> {
    let mut out = stdout().lock();
    serde_json::to_writer(&mut out, message)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// A process that serves sides. It ends when this is dropped.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    /// `None` once it is to end.
    ask: Option<ChildStdin>,
    answer: BufReader<ChildStdout>,
    hello: Hello,
}

impl Peer {
    /// Starts the program at `path`.
    ///
    /// # Errors
    ///
    /// When it can not be started or says something else than it should.
    pub fn start(path: &Path) -> Result<Self> {
        let cores: Vec<String> = cores::all().iter().map(ToString::to_string).collect();
        let mut child = Command::new(path)
            .args(["--serve", "--cores", &cores.join(",")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", path.display()))?;
        let ask = child.stdin.take();
        let answer = child.stdout.take().map(BufReader::new);
        let mut answer = answer.context("the process has no output")?;
        let hello = read(&mut answer).with_context(|| path.display().to_string())?;
        Ok(Self {
            child,
            ask,
            answer,
            hello,
        })
    }

    /// What its sides are made of.
    #[must_use]
    pub fn versions(&self) -> &[(String, String)] {
        &self.hello.versions
    }

    /// Whether it serves this side of this case.
    #[must_use]
    pub fn serves(&self, case: &str, side: &str) -> bool {
        let mut sides = self.hello.sides.iter();
        sides.any(|(a_case, a_side)| a_case == case && a_side == side)
    }

    /// Runs a lap of a side there.
    ///
    /// # Errors
    ///
    /// When the process does not know the side, or is gone.
    pub fn lap(&mut self, case: &str, side: &str, rounds: u64) -> Result<Lap> {
        let ask = self.ask.as_mut().context("the process was told to end")?;
        let question = Ask {
            case: case.into(),
            side: side.into(),
            rounds,
        };
        let mut line = serde_json::to_string(&question)?;
        line.push('\n');
        ask.write_all(line.as_bytes())?;
        match read(&mut self.answer)? {
            Answer::Lap { nanos, digest } => Ok(Lap {
                time: Duration::from_nanos(nanos),
                digest,
            }),
            Answer::Failed(reason) => Err(anyhow!(reason)),
        }
    }
}

fn read<T: for<'de> Deserialize<'de>>(answer: &mut BufReader<ChildStdout>) -> Result<T> {
    let mut line = String::new();
    if answer.read_line(&mut line)? == 0 {
        bail!("the process ended early");
    }
    serde_json::from_str(&line).context("the process said something unexpected")
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The end of its input ends it. An error means that it is gone already.
        self.ask = None;
        let _ = self.child.wait();
    }
}
