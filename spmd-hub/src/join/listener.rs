//! Where a hub listens, and the listening socket.
//!
//! A Unix socket file belongs to whoever bound it: it is removed when the
//! listener goes. A stale file, one that nobody listens on, is found by
//! connecting to it and replaced; a live one is an error.

use std::fmt;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::JoinError;
use crate::wire::Socket;

/// A hub's address: `unix:/path/to/socket` or `tcp:host:port`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Address {
    /// A Unix socket at this path.
    Unix(PathBuf),
    /// A TCP port, `host:port`; a bare IPv6 host stands in brackets.
    Tcp(String),
}

/// The text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a hub's address; write unix:/path or tcp:host:port")]
pub struct AddressError(pub(crate) String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError(text.into());
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let place = text.strip_prefix("tcp:").ok_or_else(wrong)?;
        let (host, port) = place.rsplit_once(':').ok_or_else(wrong)?;
        let port_is_one = port.parse::<u16>().is_ok();
        if host.is_empty() || !port_is_one {
            Err(wrong())
        } else {
            Ok(Self::Tcp(place.into()))
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(place) => write!(f, "tcp:{place}"),
        }
    }
}

impl Address {
    /// Connects to whoever listens there.
    pub(super) fn connect(&self) -> io::Result<Socket> {
        match self {
            Self::Unix(path) => Ok(Socket::unix(UnixStream::connect(path)?)),
            Self::Tcp(place) => Socket::tcp(TcpStream::connect(place.as_str())?),
        }
    }
}

/// A listening socket, and the file to remove with it.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix(UnixListener, Option<PathBuf>),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at an address.
    pub(crate) fn bind(address: &Address) -> Result<Self, JoinError> {
        let bound = match address {
            Address::Unix(path) => {
                bind_unix(path).map(|listener| Self::Unix(listener, Some(path.clone())))
            }
            Address::Tcp(place) => TcpListener::bind(place.as_str()).map(Self::Tcp),
        };
        bound.map_err(|error| JoinError::Listen {
            address: address.to_string(),
            error: error.to_string(),
        })
    }

    /// Takes over a socket that someone else bound to `address`.
    pub(crate) fn inherited(socket: OwnedFd, address: &Address) -> Self {
        match address {
            Address::Unix(path) => Self::Unix(socket.into(), Some(path.clone())),
            Address::Tcp(_) => Self::Tcp(socket.into()),
        }
    }

    /// Returns the address with the port that was really bound.
    pub(crate) fn address(&self) -> io::Result<Address> {
        Ok(match self {
            Self::Unix(_, path) => Address::Unix(path.clone().unwrap_or_default()),
            Self::Tcp(listener) => Address::Tcp(listener.local_addr()?.to_string()),
        })
    }

    /// Gives the socket to someone else, whose the file is from then on.
    #[cfg(feature = "launcher")]
    pub(crate) fn hand_over(mut self) -> io::Result<OwnedFd> {
        let socket = self.as_fd().try_clone_to_owned()?;
        if let Self::Unix(_, path) = &mut self {
            *path = None;
        }
        Ok(socket)
    }

    pub(super) fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Unix(listener, _) => listener.set_nonblocking(true),
            Self::Tcp(listener) => listener.set_nonblocking(true),
        }
    }

    pub(super) fn accept(&self) -> io::Result<Socket> {
        match self {
            Self::Unix(listener, _) => {
                let stream = listener.accept()?.0;
                stream.set_nonblocking(false)?;
                Ok(Socket::unix(stream))
            }
            Self::Tcp(listener) => {
                let stream = listener.accept()?.0;
                stream.set_nonblocking(false)?;
                Socket::tcp(stream)
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(listener, _) => listener.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, Some(path)) = self {
            // Err means that it is gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => match UnixStream::connect(path) {
            // Connecting to a file that is no socket is refused, too; that file is somebody's.
            Err(stale) if stale.kind() == io::ErrorKind::ConnectionRefused && is_socket(path) => {
                std::fs::remove_file(path)?;
                UnixListener::bind(path)
            }
            _ => Err(error),
        },
        bound => bound,
    }
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes.txt");
        std::fs::write(&path, "mine").unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for place in [&path, &link] {
            assert_eq!(
                bind_unix(place).unwrap_err().kind(),
                io::ErrorKind::AddrInUse
            );
            assert_eq!(std::fs::read_to_string(place).unwrap(), "mine");
        }
    }

    #[test]
    fn addresses_are_read_as_they_are_written_and_others_are_refused() {
        for text in [
            "unix:/tmp/x y",
            "tcp:127.0.0.1:0",
            "tcp:[::1]:80",
            "tcp:host.example:65535",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "unix:",
            "tcp:",
            "tcp:host",
            "tcp::1",
            "tcp:h:65536",
            "tcp:h:x",
            "udp:h:1",
            "/tmp/x",
        ] {
            assert_eq!(text.parse::<Address>(), Err(AddressError(text.into())));
        }
    }

    #[test]
    fn a_stale_socket_file_is_replaced_and_a_live_one_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let address = Address::Unix(directory.path().join("hub"));
        let path = directory.path().join("hub");
        // A listener of the standard library leaves its file behind.
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let live = Listener::bind(&address).unwrap();
        assert!(matches!(
            Listener::bind(&address),
            Err(JoinError::Listen { .. })
        ));
        assert!(address.connect().is_ok(), "the live socket was disturbed");
        drop(live);
        assert!(!path.exists());
    }

    #[test]
    fn a_port_that_is_taken_is_one_clear_error() {
        let first = Listener::bind(&Address::Tcp("127.0.0.1:0".into())).unwrap();
        let address = first.address().unwrap();
        let error = Listener::bind(&address).unwrap_err().to_string();
        assert!(
            error.contains(&address.to_string()) && error.contains("in use"),
            "{error}"
        );
    }
}
