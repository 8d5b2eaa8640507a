//! Barrier: nobody leaves before everybody has come.

use super::{BARRIER, Call, Round};
use crate::communicator::Communicator;
use crate::error::Error;

impl Communicator {
    /// Waits until every rank has called this.
    ///
    /// # Errors
    ///
    /// Another rank called another collective, or has left; the world was aborted; the time is up.
    pub fn barrier(&self) -> Result<(), Error> {
        let round = Round::enter(self, Call::new::<u8>(BARRIER, 0, 0, ""));
        if self.rank() == 0 {
            round.collect()?;
            return round.answer_all(&[]);
        }
        round.contribute(&[])?;
        round.verdict().map(drop)
    }
}
