//! A world whose ranks are all in this process: threads, over memory or over sockets.
//!
//! [`World::threads`] is how a program runs on the threads of one process and
//! how tests run it. The same world over [`Backend::Unix`] or [`Backend::Tcp`]
//! puts a real hub and real links between the threads.

use std::any::Any;
use std::fmt::Display;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::thread;

use crate::communicator::Communicator;
use crate::endpoint::{AtHub, Backend, Endpoint, Linked, ThreadRank, ThreadWorld};
use crate::error::Error;
use crate::hub::Hub;
use crate::join::{self, Address, JoinError, Listener, Secret};
use crate::options::Options;
use crate::wire::Socket;

/// A world of ranks that are threads of this process.
///
/// ```
/// # fn main() -> Result<(), spmd_hub::Error> {
/// use spmd_hub::{Backend, Sum, World};
/// let sums = World::new(3)
///     .backend(Backend::Unix)
///     .run(|comm| comm.allreduce(&[comm.rank() as u64], Sum))?;
/// assert_eq!(sums, [[3], [3], [3]]);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct World {
    size: usize,
    backend: Backend,
    options: Options,
}

impl World {
    /// Describes a world of `size` ranks, linked by memory.
    ///
    /// # Panics
    ///
    /// If `size` is 0 or does not fit into 32 bits.
    #[must_use]
    pub fn new(size: usize) -> Self {
        assert!(
            size > 0 && u32::try_from(size).is_ok(),
            "a world has 1 to 2^32 - 1 ranks, not {size}"
        );
        Self {
            size,
            backend: Backend::Threads,
            options: Options::default(),
        }
    }

    /// Chooses how the ranks are linked.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// Chooses bounds and deadlines.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Runs `program` on `size` threads and returns what each rank returned, by rank.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run), and if `size` is 0.
    pub fn threads<T, E, F>(size: usize, program: F) -> Result<Vec<T>, E>
    where
        F: Fn(&Communicator) -> Result<T, E> + Sync,
        T: Send,
        E: From<Error> + Display + Send,
    {
        Self::new(size).run(program)
    }

    /// Runs `program` on every rank and returns what each returned, by rank.
    ///
    /// # Errors
    ///
    /// The error of the rank that ended the world, which ends it for all others.
    ///
    /// # Panics
    ///
    /// If a rank panicked and thereby ended the world, its panic goes on here once all ranks have ended.
    pub fn run<T, E, F>(&self, program: F) -> Result<Vec<T>, E>
    where
        F: Fn(&Communicator) -> Result<T, E> + Sync,
        T: Send,
        E: From<Error> + Display + Send,
    {
        let endpoints = self.endpoints()?;
        let first_fault = Mutex::new(None);
        let outcomes: Vec<thread::Result<Result<T, E>>> = thread::scope(|scope| {
            let (program, first_fault) = (&program, &first_fault);
            let ranks: Vec<_> = (0..)
                .zip(endpoints)
                .map(|(rank, endpoint)| {
                    let options = self.options.clone();
                    let run = move || {
                        let comm =
                            Communicator::new(rank, self.size, self.backend, endpoint, options);
                        let outcome = catch_unwind(AssertUnwindSafe(|| drive(&comm, program)));
                        if let Some(fault) = comm.fault() {
                            let mut first = first_fault
                                .lock()
                                .unwrap_or_else(std::sync::PoisonError::into_inner);
                            first.get_or_insert(fault.rank);
                        }
                        outcome.unwrap_or_else(|panic| resume_unwind(panic))
                    };
                    thread::Builder::new()
                        .name(format!("rank-{rank}"))
                        .spawn_scoped(scope, run)
                })
                .collect();
            ranks
                .into_iter()
                .map(|rank| match rank {
                    Ok(rank) => rank.join(),
                    Err(error) => Ok(Err(JoinError::Start(error.to_string()).into())
                        .map_err(|e: Error| e.into())),
                })
                .collect()
        });
        let culprit = first_fault
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        verdict(outcomes, culprit)
    }

    /// Makes every rank's endpoint.
    fn endpoints(&self) -> Result<Vec<Box<dyn Endpoint>>, Error> {
        let start = |error: std::io::Error| Error::from(JoinError::Start(error.to_string()));
        let (size, options) = (self.size, &self.options);
        let (at_hub, at_ranks) = match self.backend {
            Backend::Threads => {
                let world = ThreadWorld::new(size, options.stash_bytes);
                let rank = |rank| {
                    Box::new(ThreadRank::new(rank, std::sync::Arc::clone(&world)))
                        as Box<dyn Endpoint>
                };
                return Ok((0..size).map(rank).collect());
            }
            Backend::Unix => {
                let pairs = (1..size).map(|_| UnixStream::pair());
                let pairs = pairs.collect::<Result<Vec<_>, _>>().map_err(start)?;
                pairs
                    .into_iter()
                    .map(|(hub, rank)| (Socket::unix(hub), Socket::unix(rank)))
                    .unzip()
            }
            Backend::Tcp => joined_over_tcp(size, options)?,
        };
        let (hub, threads) = Hub::start(at_hub, options).map_err(start)?;
        let hosting: Box<dyn Endpoint> = Box::new(AtHub::new(hub, threads));
        let link = |(rank, socket)| {
            Box::new(Linked::new(rank, size, socket, options)) as Box<dyn Endpoint>
        };
        Ok(std::iter::once(hosting)
            .chain((1..).zip(at_ranks).map(link))
            .collect())
    }
}

/// Lets all ranks of this process join a hub of this process.
fn joined_over_tcp(size: usize, options: &Options) -> Result<(Vec<Socket>, Vec<Socket>), Error> {
    let listener = Listener::bind(&Address::Tcp("127.0.0.1:0".into()))?;
    let address = listener
        .address()
        .map_err(|error| JoinError::Start(error.to_string()))?;
    let secret = Secret::random();
    thread::scope(|scope| {
        let (address, secret) = (&address, &secret);
        let ranks: Vec<_> = (1..size)
            .map(|rank| scope.spawn(move || join::connect(address, rank, size, secret, options)))
            .collect();
        let at_hub = join::host(listener, size, secret, options);
        let at_ranks = ranks
            .into_iter()
            .map(|rank| rank.join().unwrap_or_else(|panic| resume_unwind(panic)));
        let at_ranks = at_ranks.collect::<Result<_, _>>();
        Ok((at_hub?, at_ranks?))
    })
}

/// Runs one rank's program and ends its part in the world as the program ended.
pub(crate) fn drive<T, E>(
    comm: &Communicator,
    program: impl FnOnce(&Communicator) -> Result<T, E>,
) -> Result<T, E>
where
    E: From<Error> + Display,
{
    match catch_unwind(AssertUnwindSafe(|| program(comm))) {
        Ok(Ok(value)) => {
            comm.finish()?;
            Ok(value)
        }
        Ok(Err(error)) => {
            comm.abort(format!("its program failed: {error}"));
            Err(error)
        }
        Err(panic) => {
            comm.abort(format!("its program panicked: {}", panic_text(&*panic)));
            resume_unwind(panic)
        }
    }
}

/// Makes one outcome of all ranks': everybody's value, or what the culprit ended with.
pub(crate) fn verdict<T, E>(
    mut outcomes: Vec<thread::Result<Result<T, E>>>,
    culprit: Option<usize>,
) -> Result<Vec<T>, E> {
    if let Some(rank) =
        culprit.filter(|&rank| matches!(outcomes.get(rank), Some(Ok(Err(_)) | Err(_))))
    {
        // The culprit's own end is what the world ended with.
        outcomes.swap(0, rank);
    }
    let mut values = Vec::with_capacity(outcomes.len());
    for outcome in outcomes {
        values.push(outcome.unwrap_or_else(|panic| resume_unwind(panic))?);
    }
    Ok(values)
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("with a value that is no text")
}
