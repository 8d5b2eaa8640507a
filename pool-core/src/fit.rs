//! How a request finds a class of retained buffers.
//!
//! This is the second choice of a pool beside its policy. An index maps class keys to slots of the
//! shelf; a class may be listed while it holds nothing, so a search asks the shelf which slots are
//! stocked.

mod exact;

pub use exact::Exact;

/// An index over the classes of one shelf.
pub trait Fit<K> {
    /// The slot of the class that serves a request of class `wanted`, among slots that are
    /// `stocked`.
    fn find(&self, wanted: &K, stocked: impl Fn(usize) -> bool) -> Option<usize>;

    /// The slot of exactly the class `key`, stocked or not.
    fn slot_of(&self, key: &K) -> Option<usize>;

    /// Lists `key` under `slot`, and nowhere else.
    fn insert(&mut self, key: K, slot: usize);

    /// Unlists `key`.
    fn remove(&mut self, key: &K);
}

/// A request for `n` bytes is served by the smallest class that holds it and wastes no more than a
/// stated factor, so that a request for one byte does not walk off with a megabyte.
///
/// The search is a binary one over the listed sizes, then a step past each that is not stocked.
#[derive(Debug, Clone)]
pub struct BestFit {
    /// Capacity in bytes and slot, in ascending order of capacity.
    sizes: Vec<(usize, usize)>,
    waste: usize,
}

impl BestFit {
    /// Serves `n` bytes from buffers of `n` to `n × waste` bytes of capacity.
    ///
    /// A `waste` of 0 counts as 1, which is an exact fit.
    #[must_use]
    pub const fn within(waste: usize) -> Self {
        Self {
            sizes: Vec::new(),
            waste: if waste == 0 { 1 } else { waste },
        }
    }

    /// The first place in the order whose capacity is at least `bytes`.
    #[inline]
    fn lower_bound(&self, bytes: usize) -> usize {
        self.sizes
            .partition_point(|&(capacity, _)| capacity < bytes)
    }
}

impl Fit<usize> for BestFit {
    #[inline]
    fn find(&self, wanted: &usize, stocked: impl Fn(usize) -> bool) -> Option<usize> {
        let most = wanted.saturating_mul(self.waste);
        self.sizes[self.lower_bound(*wanted)..]
            .iter()
            .take_while(|&&(capacity, _)| capacity <= most)
            .find(|&&(_, slot)| stocked(slot))
            .map(|&(_, slot)| slot)
    }

    #[inline]
    fn slot_of(&self, key: &usize) -> Option<usize> {
        let place = self.lower_bound(*key);
        self.sizes
            .get(place)
            .filter(|(capacity, _)| capacity == key)
            .map(|&(_, slot)| slot)
    }

    fn insert(&mut self, key: usize, slot: usize) {
        let place = self.lower_bound(key);
        match self.sizes.get_mut(place) {
            Some(listed) if listed.0 == key => listed.1 = slot,
            _ => self.sizes.insert(place, (key, slot)),
        }
    }

    fn remove(&mut self, key: &usize) {
        let place = self.lower_bound(*key);
        if self
            .sizes
            .get(place)
            .is_some_and(|(capacity, _)| capacity == key)
        {
            self.sizes.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(waste: usize, sizes: &[usize]) -> BestFit {
        let mut fit = BestFit::within(waste);
        for (slot, &size) in sizes.iter().enumerate() {
            fit.insert(size, slot);
        }
        fit
    }

    #[test]
    fn the_smallest_class_that_holds_the_request_serves_it() {
        let fit = best(4, &[300, 100, 200]);
        assert_eq!(fit.find(&90, |_| true), Some(1));
        assert_eq!(fit.find(&100, |_| true), Some(1));
        assert_eq!(fit.find(&101, |_| true), Some(2));
        assert_eq!(fit.find(&301, |_| true), None);
    }

    #[test]
    fn a_class_that_would_waste_more_than_the_factor_does_not_serve() {
        let fit = best(4, &[1 << 20]);
        assert_eq!(fit.find(&64, |_| true), None);
        assert_eq!(fit.find(&(1 << 18), |_| true), Some(0));
        assert_eq!(fit.find(&((1 << 18) - 1), |_| true), None);
        assert_eq!(best(usize::MAX, &[1 << 20]).find(&2, |_| true), Some(0));
    }

    #[test]
    fn a_class_that_is_not_stocked_is_stepped_over() {
        let fit = best(4, &[100, 200]);
        assert_eq!(fit.find(&100, |slot| slot == 1), Some(1));
        assert_eq!(fit.find(&100, |_| false), None);
    }

    #[test]
    fn a_removed_class_is_found_no_more() {
        let mut fit = best(4, &[100, 200]);
        fit.remove(&100);
        fit.remove(&150);
        assert_eq!(fit.slot_of(&100), None);
        assert_eq!(fit.find(&100, |_| true), Some(1));
    }

    #[test]
    fn a_class_that_is_listed_again_has_one_place() {
        let mut fit = best(4, &[100]);
        fit.insert(100, 7);
        assert_eq!(fit.slot_of(&100), Some(7));
        fit.remove(&100);
        assert_eq!(fit.slot_of(&100), None, "the earlier place is gone as well");
        fit.insert(100, 8);
        fit.insert(50, 9);
        assert_eq!((fit.slot_of(&50), fit.slot_of(&100)), (Some(9), Some(8)));
    }
}
