//! Allreduce: every rank's elements folded, in rank order, on every rank.
//!
//! Folded once, at rank 0, and sent back: every rank gets the same bits.

use super::reduce::fold_in_rank_order;
use super::{ALLREDUCE, Call, Round};
use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::operator::Operator;

impl Communicator {
    /// Folds all ranks' elements by `operator` and returns the result on every rank.
    ///
    /// # Errors
    ///
    /// As [`allreduce_into`](Self::allreduce_into).
    pub fn allreduce<T: Element>(
        &self,
        elements: &[T],
        operator: impl Operator<T>,
    ) -> Result<Vec<T>, Error> {
        let mut folded = elements.to_vec();
        self.allreduce_into(&mut folded, operator)?;
        Ok(folded)
    }

    /// Replaces every rank's elements by the fold of all ranks' elements.
    ///
    /// After an error the elements are as they were, or at rank 0 perhaps the result.
    ///
    /// # Errors
    ///
    /// Another rank called another collective, another type, length or operator, or
    /// has left; the world was aborted; the time is up.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a unit struct or a closure, written in place"
    )]
    pub fn allreduce_into<T: Element>(
        &self,
        elements: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        let round = Round::enter(
            self,
            Call::new::<T>(ALLREDUCE, 0, elements.len(), operator.name()),
        );
        if self.rank() != 0 {
            round.contribute(bytemuck::cast_slice(elements))?;
            let verdict = round.verdict()?;
            return round.copy(&verdict, bytemuck::cast_slice_mut(elements));
        }
        let calls = round.collect()?;
        fold_in_rank_order(elements, &calls, &operator);
        round.answer_all(bytemuck::cast_slice(elements))
    }
}
