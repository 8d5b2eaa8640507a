//! The entry of a program: one call that joins whatever world the environment describes.
//!
//! The environment alone decides (see [`crate::env`]): a launcher, a scheduler or
//! a person sets it, the program does not change.

use std::fmt::Display;
use std::os::fd::AsFd as _;

use crate::communicator::Communicator;
use crate::endpoint::{AtHub, Backend, Endpoint, Linked};
use crate::env::{Launch, RankLaunch};
use crate::error::{Error, Fault};
use crate::hub::Hub;
use crate::join::{self, Address, JoinError, Listener};
use crate::note::FaultNote;
use crate::options::Options;
use crate::world::{World, drive};

/// Runs `program` as this process's part of the world that the environment describes.
///
/// With `SPMD_THREADS=n` the program runs on `n` threads and rank 0's value is
/// returned; started by `spmdrun`, or with `SPMD_RANK` and its companions set by
/// hand, it runs once, as one rank; with nothing set it is a world of one.
///
/// # Errors
///
/// The program's own, after which every other rank's calls fail, too; an
/// environment that does not say how to join; a world that did not form; a world
/// that another rank ended.
pub fn run<T, E, F>(program: F) -> Result<T, E>
where
    F: Fn(&Communicator) -> Result<T, E> + Sync,
    T: Send,
    E: From<Error> + Display + Send,
{
    run_with(Options::default(), program)
}

/// Runs `program` as [`run`] does, with bounds and deadlines of the caller's.
///
/// # Errors
///
/// As [`run`].
pub fn run_with<T, E, F>(mut options: Options, program: F) -> Result<T, E>
where
    F: Fn(&Communicator) -> Result<T, E> + Sync,
    T: Send,
    E: From<Error> + Display + Send,
{
    let launch = match Launch::from_env().map_err(Error::from)? {
        Launch::Threads(size) => {
            let mut values = World::new(size).options(options).run(program)?;
            return Ok(values.swap_remove(0));
        }
        Launch::Rank(launch) => launch,
    };
    #[cfg(target_os = "linux")]
    if let Some(launcher) = launch.launcher {
        crate::watch::end_with(launcher, &launch);
    }
    options.fault_note = launch.fault.clone().map(FaultNote::new);
    let endpoint = match endpoint(&launch, &options) {
        Ok(endpoint) => endpoint,
        Err(error) => {
            if let Some(note) = &options.fault_note {
                note.write(&Fault::new(launch.rank, error.to_string()));
            }
            return Err(Error::from(error).into());
        }
    };
    let backend = match launch.hub {
        Address::Unix(_) => Backend::Unix,
        Address::Tcp(_) => Backend::Tcp,
    };
    let comm = Communicator::new(launch.rank, launch.size, backend, endpoint, options);
    drive(&comm, program)
}

fn endpoint(launch: &RankLaunch, options: &Options) -> Result<Box<dyn Endpoint>, JoinError> {
    let RankLaunch {
        rank,
        size,
        hub,
        secret,
        ..
    } = launch;
    if *rank > 0 {
        let socket = join::connect(hub, *rank, *size, secret, options)?;
        return Ok(Box::new(Linked::new(*rank, *size, socket, options)));
    }
    let start = |error: std::io::Error| JoinError::Start(error.to_string());
    let listener = if launch.listener_is_stdin {
        // The launcher bound it, so that a port in use is its error and port 0 has a number.
        let socket = std::io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .map_err(start)?;
        // From here on standard input is what it is for the other ranks, and the port closes with the listener.
        let nothing = std::fs::File::open("/dev/null").map_err(start)?;
        rustix::stdio::dup2_stdin(nothing).map_err(|error| start(error.into()))?;
        Listener::inherited(socket, hub)
    } else {
        Listener::bind(hub)?
    };
    let sockets = join::host(listener, *size, secret, options)?;
    let (hub, threads) = Hub::start(sockets, options).map_err(start)?;
    Ok(Box::new(AtHub::new(hub, threads)))
}
