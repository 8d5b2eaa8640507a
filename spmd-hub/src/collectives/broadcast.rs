//! Broadcast: one rank's elements on every rank.

use super::{BROADCAST, Call, Round};
use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;

impl Communicator {
    /// Replaces every rank's elements by those of `root`. All slices must have one length.
    ///
    /// # Errors
    ///
    /// Another rank called another collective, another root, type or length, or has
    /// left; the world was aborted; the time is up.
    pub fn broadcast<T: Element>(&self, elements: &mut [T], root: usize) -> Result<(), Error> {
        let round = Round::enter(self, Call::new::<T>(BROADCAST, root, elements.len(), ""));
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(elements);
        if self.rank() != 0 {
            let given: &[u8] = if round.is_root() { bytes } else { &[] };
            round.contribute(given)?;
            let verdict = round.verdict()?;
            if !round.is_root() {
                round.copy(&verdict, bytes)?;
            }
            return Ok(());
        }
        let calls = round.collect()?;
        if !round.is_root() {
            round.copy(&calls[root - 1], bytes)?;
        }
        (1..self.size())
            .try_for_each(|rank| round.answer(rank, if rank == root { &[] } else { bytes }))
    }
}
