//! Why a training ended early, and the exit code that says so.

use std::process::ExitCode;

use crate::data::DataError;

/// Why a rank did not finish.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The images could not be had: whoever called has to change the call.
    #[error(transparent)]
    Data(#[from] DataError),
    /// An op was called wrongly.
    #[error(transparent)]
    Tensor(#[from] tensor_grad::Error),
    /// Another rank ended the world, or the world did not form.
    #[error(transparent)]
    Hub(#[from] spmd_hub::Error),
    /// Statistics of another rank could not be read.
    #[error("the statistics of a rank are unreadable: {0}")]
    Statistics(#[from] serde_json::Error),
    /// The ranks' weights are not the same.
    #[error("rank {0} has other weights than rank 0")]
    Weights(usize),
}

impl Failure {
    /// Writes one line, and picks the exit code: 2 for a call that has to change, 1 otherwise.
    #[expect(
        clippy::print_stderr,
        reason = "a program tells its user what went wrong"
    )]
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("error: {self}");
        ExitCode::from(if matches!(self, Self::Data(_)) { 2 } else { 1 })
    }
}
