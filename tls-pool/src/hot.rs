//! The buffers that a thread uses again and again: one of a class, lent without asking.
//!
//! A shelf asks its policy about every buffer that comes back. For a policy that
//! [is memoryless](pool_core::Retention::is_memoryless) the answer is known when nothing but this
//! buffer went out and came back. A [`Hot`] tier holds *places* that the shelf's policy granted
//! (see [`pool_core::Shelf::lend`]), at most one of a class, and lends the buffer that came back
//! last from its place: a small table of sets, two comparisons and two counters instead of a
//! question.
//!
//! - What is retained stays within what the policy granted: a place goes on counting while its
//!   buffer is out. Before a buffer is refused or another one evicted, all places go back to the
//!   shelf ([`Hot::flush`]), so that a place whose buffer is out costs nobody theirs.
//! - Last in, first out: a return goes to the place of its class, and what lay there goes to the
//!   shelf.
//! - What was used when is known to the shelf when it gets a place back, so that it evicts in the
//!   order that it would have without this tier.
//! - A full set gives up the place that was not lent since it was last looked over, so that classes
//!   nobody asks for any more do not stay.

use pool_core::{Block, Class as _, ElementClass, Exact, Retention, Shelf};

/// Sets of the table; a power of two.
const SETS: usize = 32;

/// Places of one set.
const WAYS: usize = 2;

/// Places of one class each.
#[derive(Default)]
pub(crate) struct Hot {
    /// As many as [`SETS`], or none yet.
    sets: Box<[[Place; WAYS]]>,
}

/// The place of one class, or of none.
struct Place {
    /// Without elements: of none.
    class: ElementClass,
    /// Nothing while it is lent.
    block: Option<Block>,
    /// When it was last lent or taken back, by the shelf's clock.
    used: u64,
    /// Whether it was lent since it was last looked over.
    lent: bool,
}

impl Place {
    fn vacant() -> Self {
        Self {
            class: ElementClass::of::<u8>(0),
            block: None,
            used: 0,
            lent: false,
        }
    }

    fn is_vacant(&self) -> bool {
        self.class.is_empty()
    }

    /// Gives the place back to the shelf, with the buffer if it is there.
    fn give_back<P: Retention>(&mut self, shelf: &mut Behind<P>) {
        match self.block.take() {
            Some(block) => shelf.restore_used(self.class, block, self.used),
            None => shelf.release_used(self.class, self.used),
        }
        *self = Self::vacant();
    }
}

/// The shelf whose policy granted the places.
type Behind<P> = Shelf<ElementClass, Block, P, Exact<ElementClass>>;

impl Hot {
    /// The set that a class belongs to.
    #[inline]
    fn set_of(class: ElementClass) -> usize {
        // Fibonacci hashing: the golden ratio's bits spread neighbouring sizes over the sets.
        let spread = (class.bytes() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "as many bits as there are sets"
        )]
        let set = (spread >> (u64::BITS - SETS.trailing_zeros())) as usize;
        set
    }

    /// Lends the buffer of `class` from its place, if it lies there.
    #[inline]
    pub(crate) fn take<P: Retention>(
        &mut self,
        class: ElementClass,
        shelf: &mut Behind<P>,
    ) -> Option<Block> {
        for place in self.sets.get_mut(Self::set_of(class))? {
            if place.class == class {
                let block = place.block.take()?;
                place.used = shelf.tick();
                place.lent = true;
                shelf.counters().lend(class.bytes());
                return Some(block);
            }
        }
        None
    }

    /// Takes a buffer of `class` back to the place that it, or another of its class, was lent from.
    ///
    /// # Errors
    ///
    /// Gives `block` back unmade if there is no such place, or its buffer is back already.
    #[inline]
    pub(crate) fn give<P: Retention, M: FnOnce() -> Block>(
        &mut self,
        class: ElementClass,
        block: M,
        shelf: &mut Behind<P>,
    ) -> Result<(), M> {
        if let Some(set) = self.sets.get_mut(Self::set_of(class)) {
            for place in set {
                if place.class == class {
                    if place.block.is_some() {
                        break;
                    }
                    place.block = Some(block());
                    place.used = shelf.tick();
                    shelf.counters().regain(class.bytes());
                    return Ok(());
                }
            }
        }
        Err(block)
    }

    /// Puts the buffer that came back last into the place of its class, and gives out the one that
    /// lay there, which came back before.
    pub(crate) fn exchange(&mut self, class: ElementClass, block: Block) -> Block {
        let set = self.sets.get_mut(Self::set_of(class));
        let place = set.into_iter().flatten().find(|place| place.class == class);
        match place.and_then(|place| place.block.as_mut()) {
            Some(older) => std::mem::replace(older, block),
            None => block,
        }
    }

    /// Moves the buffer of `class` that came back last from the shelf's stack to a place here, if
    /// the class has none and there is room.
    pub(crate) fn settle<P: Retention>(&mut self, class: ElementClass, shelf: &mut Behind<P>) {
        if self.sets.is_empty() {
            let vacant = |_| std::array::from_fn(|_| Place::vacant());
            self.sets = (0..SETS).map(vacant).collect();
        }
        let set = &mut self.sets[Self::set_of(class)];
        if set.iter().any(|place| place.class == class) {
            return;
        }
        let free = |place: &&mut Place| place.is_vacant() || !place.lent;
        let Some(place) = set
            .iter_mut()
            .filter(free)
            .min_by_key(|place| !place.is_vacant())
        else {
            // Who is not lent again before the next one comes makes room then.
            for place in set {
                place.lent = false;
            }
            return;
        };
        if !place.is_vacant() {
            place.give_back(shelf);
        }
        if let Some(block) = shelf.lend(class) {
            *place = Place {
                class,
                block: Some(block),
                used: shelf.tick(),
                lent: true,
            };
        }
    }

    /// Gives every place back to the shelf.
    pub(crate) fn flush<P: Retention>(&mut self, shelf: &mut Behind<P>) {
        let places = self.sets.iter_mut().flatten();
        places
            .filter(|place| !place.is_vacant())
            .for_each(|place| place.give_back(shelf));
    }
}
