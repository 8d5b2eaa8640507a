//! Gather: every rank's elements, in rank order, at one rank.
//!
//! A root other than rank 0 gets the parts one frame each, as they came.

use super::{Call, GATHER, GATHER_VARYING, Round};
use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::parcel::Parcel;

impl Communicator {
    /// Returns all ranks' elements at `root`, joined in rank order, and `None` elsewhere.
    /// All slices must have one length.
    ///
    /// # Errors
    ///
    /// Another rank called another collective, another root, type or length, or has
    /// left; the world was aborted; the time is up.
    pub fn gather<T: Element>(&self, elements: &[T], root: usize) -> Result<Option<Vec<T>>, Error> {
        let round = Round::enter(self, Call::new::<T>(GATHER, root, elements.len(), ""));
        let Some(parts) = gather_parts(&round, elements)? else {
            return Ok(None);
        };
        let mut all = Vec::with_capacity(elements.len() * self.size());
        for part in parts {
            match part {
                None => all.extend_from_slice(elements),
                Some(part) => part.with_elements(|part| all.extend_from_slice(part)),
            }
        }
        Ok(Some(all))
    }

    /// Returns every rank's elements at `root`, by rank, and `None` elsewhere. Lengths may differ.
    ///
    /// # Errors
    ///
    /// Another rank called another collective, another root or type, or has left; the
    /// world was aborted; the time is up.
    pub fn gather_varying<T: Element>(
        &self,
        elements: &[T],
        root: usize,
    ) -> Result<Option<Vec<Vec<T>>>, Error> {
        let round = Round::enter(self, Call::new::<T>(GATHER_VARYING, root, 0, ""));
        let parts = gather_parts(&round, elements)?;
        let own = |part: Option<Parcel>| part.map_or_else(|| elements.to_vec(), Parcel::into_vec);
        Ok(parts.map(|parts| parts.into_iter().map(own).collect()))
    }
}

/// Returns the parts by rank at the root; its own is `None`.
fn gather_parts<T: Element>(
    round: &Round<'_>,
    own: &[T],
) -> Result<Option<Vec<Option<Parcel>>>, Error> {
    let comm = round.comm;
    let own: &[u8] = bytemuck::cast_slice(own);
    let root = round.call.fields.root as usize;
    if comm.rank() != 0 {
        if !round.is_root() {
            round.contribute(own)?;
            return round.verdict().map(|_| None);
        }
        round.contribute(&[])?;
        let part = |rank: usize| {
            if rank == root {
                Ok(None)
            } else {
                round.verdict().map(|part| Some(part.parcel))
            }
        };
        return (0..comm.size())
            .map(part)
            .collect::<Result<_, _>>()
            .map(Some);
    }
    let calls = round.collect()?;
    if round.is_root() {
        round.answer_all(&[])?;
        let parts = std::iter::once(None).chain(calls.into_iter().map(|call| Some(call.parcel)));
        return Ok(Some(parts.collect()));
    }
    round.answer(root, own)?;
    for (rank, call) in (1..).zip(&calls) {
        let (dest, part) = if rank == root {
            continue;
        } else {
            (root, call.parcel.bytes())
        };
        round.answer(dest, part)?;
        round.answer(rank, &[])?;
    }
    Ok(None)
}
