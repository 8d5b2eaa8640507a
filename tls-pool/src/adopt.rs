//! A vector that the pool would not take into its care.

use std::fmt;

/// A vector with spare capacity, which a pool does not adopt. It gives the vector back.
#[derive(thiserror::Error)]
#[error(
    "a vector of {} elements with room for {} can not be adopted; \
     shrink it to fit, or fill it up, before",
    .0.len(), .0.capacity()
)]
pub struct AdoptError<T>(pub(crate) Vec<T>);

impl<T> AdoptError<T> {
    /// The vector, untouched.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T> fmt::Debug for AdoptError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdoptError")
            .field("len", &self.0.len())
            .field("capacity", &self.0.capacity())
            .finish()
    }
}
