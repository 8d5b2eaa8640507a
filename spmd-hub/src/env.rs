//! What the environment says about this rank: the one place that reads it.
//!
//! | variable | meaning |
//! |---|---|
//! | `SPMD_THREADS` | this process is a world of so many threads; excludes the others |
//! | `SPMD_RANK`, `SPMD_SIZE` | this process's rank, the world's size |
//! | `SPMD_HUB` | `unix:/path` or `tcp:host:port`: where rank 0 listens and the others connect |
//! | `SPMD_SECRET` | the world's secret, 64 hexadecimal digits |
//! | `SPMD_LISTENER=stdin` | rank 0 finds its listening socket, bound by the launcher, as its standard input |
//! | `SPMD_LAUNCHER` | the launcher's process id: the rank ends when that process does |
//! | `SPMD_FAULT` | a file in which the first rank to see why the world ends says so |
//!
//! Nothing set is a world of one rank.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::join::{Address, Secret};

/// What is wrong with the environment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvError {
    /// A variable is needed beside another.
    #[error("{0} is not set, but {1} is; set both or neither")]
    Missing(&'static str, &'static str),
    /// A variable has a value that it cannot have.
    #[error("{variable}={value:?} is not {expected}")]
    Malformed {
        /// The variable.
        variable: &'static str,
        /// Its value; a secret's is not repeated.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A rank beyond the world.
    #[error("SPMD_RANK={rank} is not in a world of SPMD_SIZE={size}; ranks run from 0")]
    RankBeyondSize {
        /// The rank.
        rank: usize,
        /// The size.
        size: usize,
    },
    /// Two ways to run at once.
    #[error("SPMD_THREADS and {0} are both set; a world is of threads or of processes")]
    Both(&'static str),
}

/// How this process takes part in a world.
#[derive(Debug)]
pub(crate) enum Launch {
    /// A world of threads, or of one rank.
    Threads(usize),
    /// One rank of a world of processes.
    Rank(RankLaunch),
}

/// One rank's part in a world of processes.
#[derive(Debug)]
pub(crate) struct RankLaunch {
    pub(crate) rank: usize,
    pub(crate) size: usize,
    pub(crate) hub: Address,
    pub(crate) secret: Secret,
    pub(crate) listener_is_stdin: bool,
    pub(crate) launcher: Option<i32>,
    pub(crate) fault: Option<PathBuf>,
}

pub(crate) const THREADS: &str = "SPMD_THREADS";
pub(crate) const RANK: &str = "SPMD_RANK";
pub(crate) const SIZE: &str = "SPMD_SIZE";
pub(crate) const HUB: &str = "SPMD_HUB";
pub(crate) const SECRET: &str = "SPMD_SECRET";
pub(crate) const LISTENER: &str = "SPMD_LISTENER";
pub(crate) const LAUNCHER: &str = "SPMD_LAUNCHER";
pub(crate) const FAULT: &str = "SPMD_FAULT";

impl Launch {
    /// Reads this process's environment.
    pub(crate) fn from_env() -> Result<Self, EnvError> {
        Self::read(std::env::var_os)
    }

    fn read(get: impl Fn(&'static str) -> Option<OsString>) -> Result<Self, EnvError> {
        let number = |variable: &'static str, least: usize, expected: &'static str| {
            let Some(value) = get(variable) else {
                return Ok(None);
            };
            let value = value.to_string_lossy();
            match value.parse::<u32>() {
                Ok(number) if number as usize >= least => Ok(Some(number as usize)),
                _ => Err(EnvError::Malformed {
                    variable,
                    value: value.into_owned(),
                    expected,
                }),
            }
        };
        let threads = number(THREADS, 1, "a number of threads, 1 or more")?;
        let rank = number(RANK, 0, "a rank, 0 or more")?;
        let size = number(SIZE, 1, "a number of ranks, 1 or more")?;
        let (rank, size) = match (threads, rank, size) {
            (Some(_), Some(_), _) => return Err(EnvError::Both(RANK)),
            (Some(_), _, Some(_)) => return Err(EnvError::Both(SIZE)),
            (Some(threads), None, None) => return Ok(Self::Threads(threads)),
            (None, None, None) => {
                return match get(HUB) {
                    Some(_) => Err(EnvError::Missing(RANK, HUB)),
                    None => Ok(Self::Threads(1)),
                };
            }
            (None, Some(_), None) => return Err(EnvError::Missing(SIZE, RANK)),
            (None, None, Some(_)) => return Err(EnvError::Missing(RANK, SIZE)),
            (None, Some(rank), Some(size)) => (rank, size),
        };
        if rank >= size {
            return Err(EnvError::RankBeyondSize { rank, size });
        }
        if size == 1 {
            return Ok(Self::Threads(1));
        }
        let hub = get(HUB).ok_or(EnvError::Missing(HUB, RANK))?;
        let hub = hub.to_string_lossy();
        let hub = hub.parse().map_err(|_| EnvError::Malformed {
            variable: HUB,
            value: hub.into_owned(),
            expected: "unix:/path or tcp:host:port",
        })?;
        let secret = get(SECRET).ok_or(EnvError::Missing(SECRET, RANK))?;
        let secret = secret
            .to_str()
            .and_then(Secret::from_hex)
            .ok_or(EnvError::Malformed {
                variable: SECRET,
                value: "(not shown)".into(),
                expected: "64 hexadecimal digits",
            })?;
        let listener_is_stdin = match get(LISTENER) {
            None => false,
            Some(value) if value == "stdin" => true,
            Some(value) => {
                let value = value.to_string_lossy().into_owned();
                return Err(EnvError::Malformed {
                    variable: LISTENER,
                    value,
                    expected: "stdin",
                });
            }
        };
        let launcher = number(LAUNCHER, 1, "a process id")?.and_then(|id| i32::try_from(id).ok());
        let fault = get(FAULT).map(PathBuf::from);
        Ok(Self::Rank(RankLaunch {
            rank,
            size,
            hub,
            secret,
            listener_is_stdin,
            launcher,
            fault,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    fn read(variables: &[(&str, &str)]) -> Result<Launch, EnvError> {
        let find = |name: &str| variables.iter().find(|(variable, _)| *variable == name);
        Launch::read(|name| find(name).map(|(_, value)| OsString::from(value)))
    }

    #[test]
    fn nothing_set_is_a_world_of_one() {
        assert!(matches!(read(&[]), Ok(Launch::Threads(1))));
        assert!(matches!(
            read(&[("SPMD_THREADS", "3")]),
            Ok(Launch::Threads(3))
        ));
    }

    #[test]
    fn a_complete_environment_is_a_rank() {
        let variables = [
            ("SPMD_RANK", "2"),
            ("SPMD_SIZE", "4"),
            ("SPMD_HUB", "unix:/x"),
            ("SPMD_SECRET", HEX),
        ];
        let Ok(Launch::Rank(launch)) = read(&variables) else {
            panic!("not a rank")
        };
        assert_eq!(
            (launch.rank, launch.size, launch.hub.to_string()),
            (2, 4, "unix:/x".into())
        );
    }

    #[test]
    fn every_malformed_value_is_named_and_a_secret_is_never_repeated() {
        let good = [
            ("SPMD_RANK", "2"),
            ("SPMD_SIZE", "4"),
            ("SPMD_HUB", "unix:/x"),
            ("SPMD_SECRET", HEX),
        ];
        for (variable, value) in [
            ("SPMD_RANK", "-1"),
            ("SPMD_RANK", "4"),
            ("SPMD_RANK", "two"),
            ("SPMD_SIZE", "0"),
            ("SPMD_HUB", "nowhere"),
            ("SPMD_SECRET", "tooshort"),
        ] {
            let variables =
                good.map(|(name, old)| (name, if name == variable { value } else { old }));
            let text = read(&variables).unwrap_err().to_string();
            assert!(text.contains(variable), "{text}");
            assert!(variable != "SPMD_SECRET" || !text.contains(value), "{text}");
        }
        for missing in 0..good.len() {
            let mut variables = good.to_vec();
            let (name, _) = variables.remove(missing);
            assert!(read(&variables).unwrap_err().to_string().contains(name));
        }
        let both = [("SPMD_THREADS", "2"), ("SPMD_RANK", "0")];
        assert_eq!(read(&both).unwrap_err(), EnvError::Both("SPMD_RANK"));
    }
}
