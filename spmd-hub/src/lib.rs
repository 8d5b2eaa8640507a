//! One program on many ranks; the crate's documentation is its README.

#![doc = include_str!("../README.md")]

mod collectives;
mod communicator;
mod element;
mod endpoint;
mod env;
mod error;
mod hub;
mod join;
#[cfg(feature = "launcher")]
pub mod launch;
mod mailbox;
mod matching;
mod note;
mod operator;
mod options;
mod parcel;
mod run;
mod stash;
#[cfg(target_os = "linux")]
mod watch;
pub mod wire;
mod words;
mod world;

pub use communicator::{Communicator, Status};
pub use element::{Element, ElementType};
pub use endpoint::Backend;
pub use env::EnvError;
pub use error::Error;
pub use hub::HubStats;
pub use join::{Address, AddressError, JoinError, Secret};
pub use matching::{Source, Tag};
pub use operator::{Max, Min, Operator, Product, Sum};
pub use options::Options;
pub use run::{run, run_with};
pub use world::World;
