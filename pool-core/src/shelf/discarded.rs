//! What a shelf gave up, until its lock is open.

/// What a shelf gave up; drop it after any lock is open.
///
/// The first buffer needs no allocation.
#[derive(Debug)]
#[must_use = "dropping frees the buffers, which belongs after the lock is open"]
pub struct Discarded<B> {
    first: Option<B>,
    more: Vec<B>,
}

impl<B> Default for Discarded<B> {
    fn default() -> Self {
        Self {
            first: None,
            more: Vec::new(),
        }
    }
}

impl<B> Discarded<B> {
    /// Adds one more.
    pub fn push(&mut self, buffer: B) {
        if self.first.is_none() {
            self.first = Some(buffer);
        } else {
            self.more.push(buffer);
        }
    }

    /// Number of buffers given up.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    /// Whether nothing was given up.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}
