//! What makes two arrays interchangeable: element type and number of elements.
//!
//! Both fit into one word, so that a class is compared by one instruction and hashed by one
//! multiplication; with a type's identity and a length beside each other, a borrow and its return
//! took a third more instructions.

use pool_core::Class;

use crate::element::Element;

/// Bits of the word that say which of the four element types it is.
const KIND_BITS: u32 = 2;

/// The class of arrays of some number of elements of one type, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ArrayClass(usize);

impl ArrayClass {
    /// The class of `len` elements of `T`; `None` if there are none, or more than an allocation can
    /// have.
    #[inline]
    pub(crate) fn of<T: Element>(len: usize) -> Option<Self> {
        const {
            assert!(T::KIND >> KIND_BITS == 0);
            assert!(size_of::<T>() == 1 << shift(T::KIND));
        }
        // Four bytes and more each: the length leaves the lowest bits of a word to the kind.
        let most = isize::MAX as usize / size_of::<T>();
        (len.wrapping_sub(1) < most).then_some(Self(len << KIND_BITS | T::KIND))
    }

    /// Number of elements.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.0 >> KIND_BITS
    }
}

impl Class for ArrayClass {
    #[inline]
    fn bytes(&self) -> usize {
        self.len() << shift(self.0 & ((1 << KIND_BITS) - 1))
    }
}

/// The logarithm of an element's size: four bytes, twice that for each bit of the kind.
const fn shift(kind: usize) -> usize {
    2 + (kind & 1) + (kind >> 1)
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;

    #[test]
    fn neither_type_nor_length_alone_makes_a_class() {
        let all = [
            ArrayClass::of::<f32>(4),
            ArrayClass::of::<f32>(8),
            ArrayClass::of::<f64>(4),
            ArrayClass::of::<Complex<f32>>(4),
            ArrayClass::of::<Complex<f64>>(4),
        ]
        .map(Option::unwrap);
        for (at, class) in all.iter().enumerate() {
            assert!(!all[..at].contains(class));
        }
        assert_eq!(all.map(ArrayClass::len), [4, 8, 4, 4, 4]);
        assert_eq!(all.map(|class| class.bytes()), [16, 32, 32, 32, 64]);
    }

    #[test]
    fn no_class_has_no_elements_nor_more_than_an_allocation_can_have() {
        assert_eq!(ArrayClass::of::<f32>(0), None);
        assert_eq!(ArrayClass::of::<f32>(usize::MAX), None);
        let most = isize::MAX as usize / 16;
        assert_eq!(ArrayClass::of::<Complex<f64>>(most + 1), None);
        let class = ArrayClass::of::<Complex<f64>>(most).unwrap();
        assert_eq!((class.len(), class.bytes()), (most, most * 16));
    }
}
