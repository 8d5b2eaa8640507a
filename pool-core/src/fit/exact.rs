//! A request is served by its own class and no other.
//!
//! An open-addressed table of classes with linear probing. It is small enough to be inlined where
//! a shelf looks a class up, and asks for one multiplication and, mostly, one comparison.
//!
//! - A search ends: at least half of the places are free.
//! - A class is found wherever it was put: it lies on the first free place from its home on, and
//!   [`remove`](Fit::remove) moves those up that the gap would hide.

use std::hash::{Hash, Hasher as _};
use std::num::NonZeroU32;

use rustc_hash::FxHasher;

use super::Fit;

/// Places of the smallest index that lists anything.
const PLACES: usize = 16;

/// A request is served by its own class and no other. Constant time, by hashing.
#[derive(Debug, Clone)]
pub struct Exact<K> {
    /// A power of two of places, or none yet. Each that is taken has a class and one more than its
    /// slot.
    places: Box<[Option<(K, NonZeroU32)>]>,
    listed: usize,
}

impl<K> Default for Exact<K> {
    fn default() -> Self {
        Self {
            places: Box::default(),
            listed: 0,
        }
    }
}

/// So many free places.
fn free<T>(places: usize) -> Box<[Option<T>]> {
    (0..places).map(|_| None).collect()
}

impl<K: Copy + Eq + Hash> Exact<K> {
    /// The place where a search for `key` begins, before it is cut to the size of the table.
    #[inline]
    fn home(key: &K) -> usize {
        let mut hasher = FxHasher::default();
        key.hash(&mut hasher);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "any bits of a hash will do"
        )]
        let home = hasher.finish() as usize;
        home
    }

    #[inline]
    fn mask(&self) -> usize {
        self.places.len().wrapping_sub(1)
    }

    /// The place of `key`, or the free one where it belongs; there are places.
    fn place(&self, key: &K) -> usize {
        let mask = self.mask();
        let mut place = Self::home(key) & mask;
        while matches!(&self.places[place], Some((taken, _)) if taken != key) {
            place = (place + 1) & mask;
        }
        place
    }
}

impl<K: Copy + Eq + Hash> Fit<K> for Exact<K> {
    #[inline]
    fn find(&self, wanted: &K, stocked: impl Fn(usize) -> bool) -> Option<usize> {
        self.slot_of(wanted).filter(|&slot| stocked(slot))
    }

    #[inline]
    fn slot_of(&self, key: &K) -> Option<usize> {
        let mask = self.mask();
        let mut place = Self::home(key);
        loop {
            match self.places.get(place & mask)? {
                Some((taken, slot)) if taken == key => return Some(slot.get() as usize - 1),
                Some(_) => place = place.wrapping_add(1),
                None => return None,
            }
        }
    }

    fn insert(&mut self, key: K, slot: usize) {
        if 2 * self.listed >= self.places.len() {
            let twice = free(PLACES.max(2 * self.places.len()));
            for (key, slot) in std::mem::replace(&mut self.places, twice)
                .into_iter()
                .flatten()
            {
                let place = self.place(&key);
                self.places[place] = Some((key, slot));
            }
        }
        let slot = u32::try_from(slot + 1).ok().and_then(NonZeroU32::new);
        let slot = slot.expect("a shelf has fewer than 2^32 classes");
        let place = self.place(&key);
        self.listed += usize::from(self.places[place].is_none());
        self.places[place] = Some((key, slot));
    }

    fn remove(&mut self, key: &K) {
        if self.slot_of(key).is_none() {
            return;
        }
        let mask = self.mask();
        let mut gap = self.place(key);
        self.places[gap] = None;
        self.listed -= 1;
        let mut place = (gap + 1) & mask;
        while let Some((moved, _)) = &self.places[place] {
            // It is found from its home on: the gap must not come between.
            let (from_home, from_gap) = (
                place.wrapping_sub(Self::home(moved)) & mask,
                place.wrapping_sub(gap) & mask,
            );
            if from_home >= from_gap {
                self.places[gap] = self.places[place].take();
                gap = place;
            }
            place = (place + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// A class whose hash is only its lowest bits, so that many of them have one home.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Crowded(u64);

    impl Hash for Crowded {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            (self.0 % 5).hash(state);
        }
    }

    fn against_a_map<K: Copy + Eq + Hash + std::fmt::Debug>(key: impl Fn(u64) -> K, steps: u64) {
        let (mut exact, mut map) = (Exact::default(), HashMap::new());
        let mut random = 1_u64;
        for step in 0..steps {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (number, slot) = (random >> 58, usize::try_from(step).unwrap());
            if (random >> 40).is_multiple_of(4) {
                exact.remove(&key(number));
                map.remove(&number);
            } else {
                exact.insert(key(number), slot);
                map.insert(number, slot);
            }
            for number in 0..64 {
                let expected = map.get(&number).copied();
                assert_eq!(exact.slot_of(&key(number)), expected, "{number} at {step}");
            }
            assert_eq!(exact.listed, map.len());
            assert!(2 * exact.listed <= exact.places.len());
        }
    }

    #[test]
    fn it_finds_what_a_map_finds_through_insertions_and_removals() {
        let steps = if cfg!(miri) { 5 } else { 2000 };
        against_a_map(|number| number, steps);
        against_a_map(|number| number << 32, steps);
        against_a_map(Crowded, steps);
    }

    #[test]
    fn a_class_is_found_only_in_the_slot_it_was_listed_under_last() {
        let mut exact = Exact::default();
        exact.remove(&"a");
        assert_eq!(exact.slot_of(&"a"), None);
        exact.insert("a", 0);
        exact.insert("a", 7);
        assert_eq!((exact.slot_of(&"a"), exact.listed), (Some(7), 1));
        assert_eq!(exact.find(&"a", |slot| slot == 7), Some(7));
        assert_eq!(exact.find(&"a", |_| false), None, "not stocked");
        exact.remove(&"a");
        exact.remove(&"a");
        assert_eq!((exact.slot_of(&"a"), exact.listed), (None, 0));
    }
}
