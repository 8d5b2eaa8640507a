//! `spmdrun -n 4 PROGRAM ARGS...`: one program on many ranks of this machine.
//!
//! The command line over [`spmd_hub::launch`]. Lines of ranks go where the rank
//! wrote them, standard output or error, behind the rank's number.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use spmd_hub::launch::{Launch, Line, Listen, Ranks, Stream};

/// Runs one program on many ranks, linked by spmd-hub.
///
/// Ranks have nothing to read on standard input. The exit code is that of the first rank that failed (128 and the number for a signal), 2 for a
/// launch that could not start, 124 when the time was up.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    /// The number of ranks.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    ranks: u16,
    /// What the ranks are.
    #[arg(long, value_enum, default_value_t = Backend::Processes)]
    backend: Backend,
    /// Where the hub listens: unix, or tcp:HOST:PORT (port 0 takes a free one).
    #[arg(long, default_value = "unix", value_parser = listen)]
    listen: Listen,
    /// Ends all ranks after so many seconds.
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Forwards lines without the rank before them.
    #[arg(long)]
    no_prefix: bool,
    /// The program that every rank runs.
    program: OsString,
    /// The program's arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Backend {
    /// Threads of one process.
    Threads,
    /// Processes, linked through rank 0's hub.
    Processes,
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            // What is wrong, without the usage that follows after an empty line.
            let text = error.to_string();
            let lines = text
                .lines()
                .map(str::trim)
                .take_while(|line| !line.is_empty());
            let line = lines.collect::<Vec<_>>().join(" ");
            say(&format!(
                "{}; --help explains",
                line.trim_start_matches("error: ")
            ));
            return ExitCode::from(2);
        }
        Err(help) => {
            // Err means that nobody reads it.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    let mut launch = Launch::new(cli.program, cli.ranks.into())
        .args(cli.args)
        .listen(cli.listen);
    launch = launch.ranks(match cli.backend {
        Backend::Threads => Ranks::Threads,
        Backend::Processes => Ranks::Processes,
    });
    if let Some(timeout) = cli.timeout {
        launch = launch.timeout(timeout);
    }
    let prefixed = !cli.no_prefix && matches!(cli.backend, Backend::Processes);
    match launch.run(|line| forward(&line, prefixed)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.to_string());
            ExitCode::from(error.exit_code())
        }
    }
}

fn forward(line: &Line, prefixed: bool) {
    let text = if prefixed {
        format!("[{}] {}\n", line.rank, line.text)
    } else {
        format!("{}\n", line.text)
    };
    // Err means that nobody reads it; the ranks go on.
    let _ = match line.stream {
        Stream::Out => io::stdout().write_all(text.as_bytes()),
        Stream::Err => io::stderr().write_all(text.as_bytes()),
    };
}

fn say(text: &str) {
    // Err means that nobody reads it.
    let _ = writeln!(io::stderr(), "spmdrun: {text}");
}

fn listen(text: &str) -> Result<Listen, String> {
    match text {
        "unix" => Ok(Listen::Unix),
        _ => match text.parse::<spmd_hub::Address>() {
            Ok(spmd_hub::Address::Tcp(place)) => Ok(Listen::Tcp(place)),
            _ => Err("write unix or tcp:HOST:PORT".into()),
        },
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().map_err(|error| error.to_string())?;
    if seconds == 0.0 {
        return Err("the ranks need some time".into());
    }
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
