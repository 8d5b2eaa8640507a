//! Reduce: every rank's elements folded, in rank order, at one rank.

use super::{Call, REDUCE, Round};
use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::operator::Operator;
use crate::stash::Message;

impl Communicator {
    /// Folds all ranks' elements by `operator` and returns the result at `root`, `None` elsewhere.
    ///
    /// # Errors
    ///
    /// Another rank called another collective, another root, type, length or operator,
    /// or has left; the world was aborted; the time is up.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a unit struct or a closure, written in place"
    )]
    pub fn reduce<T: Element>(
        &self,
        elements: &[T],
        operator: impl Operator<T>,
        root: usize,
    ) -> Result<Option<Vec<T>>, Error> {
        let round = Round::enter(
            self,
            Call::new::<T>(REDUCE, root, elements.len(), operator.name()),
        );
        if self.rank() != 0 {
            round.contribute(bytemuck::cast_slice(elements))?;
            let verdict = round.verdict()?;
            return Ok(round.is_root().then(|| verdict.parcel.into_vec()));
        }
        let calls = round.collect()?;
        let mut folded = elements.to_vec();
        fold_in_rank_order(&mut folded, &calls, &operator);
        for rank in 1..self.size() {
            let share: &[T] = if rank == root { &folded } else { &[] };
            round.answer(rank, bytemuck::cast_slice(share))?;
        }
        Ok(round.is_root().then_some(folded))
    }
}

/// Folds the contributions of ranks 1 and up into rank 0's.
pub(super) fn fold_in_rank_order<T: Element>(
    folded: &mut [T],
    calls: &[Message],
    operator: &impl Operator<T>,
) {
    for call in calls {
        call.parcel
            .with_elements(|next| operator.fold(folded, next));
    }
}
