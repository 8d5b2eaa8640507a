//! A `Vec` of any plain-old-data element with its element type erased, at no copy.
//!
//! A message body is kept without its type until its receiver names one. [`Words`] is a `Vec` of
//! unsigned integers as wide as the element's alignment; bytemuck casts the same allocation there
//! and back and checks that size and alignment allow it, so nothing here is unsafe.
//!
//! - The allocation is never resized or copied: a cast keeps the pointer, and length and capacity
//!   in bytes.
//! - What comes out has the layout that was asked for, or does not come out: [`Words::into_vec`]
//!   gives the words back when they do not divide into such elements.
//! - Elements aligned to more than 16 bytes have no integer to stand for them; [`Words::from_vec`]
//!   gives such a `Vec` back, and its elements are copied as bytes.

use std::fmt;

use bytemuck::{Pod, allocation::try_cast_vec};

/// Runs one expression on the `Vec` inside, whichever kind of word it holds.
macro_rules! each {
    ($repr:expr, $vec:ident => $run:expr) => {
        match $repr {
            Repr::Align1($vec) => $run,
            Repr::Align2($vec) => $run,
            Repr::Align4($vec) => $run,
            Repr::Align8($vec) => $run,
            Repr::Align16($vec) => $run,
        }
    };
}

/// A buffer whose element type was erased.
pub(crate) struct Words(Repr);

/// One kind of word for each alignment.
enum Repr {
    Align1(Vec<u8>),
    Align2(Vec<u16>),
    Align4(Vec<u32>),
    Align8(Vec<u64>),
    Align16(Vec<u128>),
}

impl Words {
    /// Whether elements of type `T` can be erased: they have a size, and one of the alignments.
    #[must_use]
    const fn can_hold<T: Pod>() -> bool {
        size_of::<T>() > 0 && align_of::<T>() <= 16
    }

    /// Erases the element type of `vec`.
    ///
    /// # Errors
    ///
    /// Gives `vec` back when its elements [can not be erased](Self::can_hold).
    #[inline]
    pub(crate) fn from_vec<T: Pod>(vec: Vec<T>) -> Result<Self, Vec<T>> {
        if !Self::can_hold::<T>() {
            return Err(vec);
        }
        let repr = match align_of::<T>() {
            1 => try_cast_vec(vec).map(Repr::Align1),
            2 => try_cast_vec(vec).map(Repr::Align2),
            4 => try_cast_vec(vec).map(Repr::Align4),
            8 => try_cast_vec(vec).map(Repr::Align8),
            _ => try_cast_vec(vec).map(Repr::Align16),
        };
        repr.map(Self).map_err(|(_, vec)| vec)
    }

    /// Makes `bytes` zero bytes, aligned for elements of `align`.
    ///
    /// `None` if no word has that alignment, or `bytes` are no whole number of words.
    ///
    /// # Panics
    ///
    /// If memory can not be had.
    #[must_use]
    pub(crate) fn zeroed(align: usize, bytes: usize) -> Option<Self> {
        if align == 0 || !bytes.is_multiple_of(align) {
            return None;
        }
        let words = bytes / align;
        Some(Self(match align {
            1 => Repr::Align1(vec![0; words]),
            2 => Repr::Align2(vec![0; words]),
            4 => Repr::Align4(vec![0; words]),
            8 => Repr::Align8(vec![0; words]),
            16 => Repr::Align16(vec![0; words]),
            _ => return None,
        }))
    }

    /// Grows to at least `bytes` in whole words; new bytes are zero, and the capacity grows to just
    /// what that takes. Does nothing when there are as many.
    ///
    /// # Panics
    ///
    /// If memory can not be had.
    pub(crate) fn grow(&mut self, bytes: usize) {
        fn resize<W: Pod>(vec: &mut Vec<W>, bytes: usize) {
            let words = bytes.div_ceil(size_of::<W>());
            if words > vec.len() {
                vec.reserve_exact(words - vec.len());
                vec.resize(words, W::zeroed());
            }
        }
        each!(&mut self.0, vec => resize(vec, bytes));
    }

    /// The bytes of the elements, as many as the `Vec` was long.
    #[must_use]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        each!(&self.0, vec => bytemuck::cast_slice(vec))
    }

    /// The bytes of the elements, for writing.
    #[must_use]
    pub(crate) fn as_bytes_mut(&mut self) -> &mut [u8] {
        each!(&mut self.0, vec => bytemuck::cast_slice_mut(vec))
    }

    /// Gives the allocation its element type back. Its length is what it had when it was erased.
    ///
    /// # Errors
    ///
    /// Gives the words back when their alignment is not that of `T`, or when length or capacity
    /// are no whole number of `T`.
    #[inline]
    pub(crate) fn into_vec<T: Pod>(self) -> Result<Vec<T>, Self> {
        // One arm is left for each `T`, as its alignment is known when this is compiled.
        match (align_of::<T>(), self.0) {
            (1, Repr::Align1(vec)) => cast(vec, Repr::Align1),
            (2, Repr::Align2(vec)) => cast(vec, Repr::Align2),
            (4, Repr::Align4(vec)) => cast(vec, Repr::Align4),
            (8, Repr::Align8(vec)) => cast(vec, Repr::Align8),
            (16, Repr::Align16(vec)) => cast(vec, Repr::Align16),
            (_, other) => Err(Self(other)),
        }
    }
}

/// Casts words to elements of the same alignment, or wraps them up again.
#[inline]
fn cast<W: Pod, T: Pod>(words: Vec<W>, wrap: impl FnOnce(Vec<W>) -> Repr) -> Result<Vec<T>, Words> {
    try_cast_vec(words).map_err(|(_, words)| Words(wrap(words)))
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words")
            .field("bytes", &self.as_bytes().len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends `vec` through [`Words`] and checks that the same allocation comes back.
    fn round_trip<T: Pod + PartialEq + fmt::Debug>(vec: Vec<T>) {
        let (pointer, capacity, copy) = (vec.as_ptr(), vec.capacity(), vec.clone());
        let words = Words::from_vec(vec).unwrap();
        assert_eq!(words.as_bytes().len(), size_of_val(&*copy));
        let back = words.into_vec::<T>().unwrap();
        assert_eq!((back.as_ptr(), back.capacity()), (pointer, capacity));
        assert_eq!(back, copy);
    }

    #[test]
    fn every_alignment_comes_back_as_the_same_allocation() {
        round_trip(vec![1_u8, 2, 3]);
        round_trip(vec![1_u16, 2, 3]);
        round_trip(vec![1.0_f32, 2.0, 3.0]);
        round_trip(vec![1.0_f64, 2.0, 3.0]);
        round_trip(vec![[1.0_f64, 2.0], [3.0, 4.0]]);
        round_trip(vec![[1_u8; 3]; 5]);
        round_trip(vec![1_u128, 2, 3]);
        let mut roomy = Vec::with_capacity(100);
        roomy.push([7_u32; 3]);
        round_trip(roomy);
    }

    #[test]
    fn words_that_do_not_divide_into_elements_are_given_back() {
        let words = Words::from_vec(vec![1.0_f64; 3]).unwrap();
        let words = words.into_vec::<[f64; 2]>().unwrap_err();
        let words = words.into_vec::<f32>().unwrap_err();
        assert_eq!(words.into_vec::<f64>().unwrap(), [1.0; 3]);
    }

    #[test]
    fn bytes_grow_in_whole_words_and_keep_what_they_held() {
        for align in [1, 2, 4, 8, 16] {
            let mut words = Words::zeroed(align, 16).unwrap();
            words.as_bytes_mut()[15] = 7;
            words.grow(33);
            assert_eq!(words.as_bytes().len(), 33_usize.next_multiple_of(align));
            assert_eq!(words.as_bytes()[15], 7);
            assert!(words.as_bytes()[16..].iter().all(|&byte| byte == 0));
            assert_eq!(words.as_bytes().as_ptr().align_offset(align), 0);
            words.grow(1);
            assert!(words.as_bytes().len() >= 33);
        }
        assert!(Words::zeroed(8, 12).is_none());
        assert!(Words::zeroed(3, 12).is_none());
        assert!(Words::zeroed(0, 12).is_none());
        assert!(Words::zeroed(32, 64).is_none());
    }

    #[test]
    fn elements_without_a_size_are_given_back() {
        assert_eq!(Words::from_vec(vec![(); 3]).unwrap_err().len(), 3);
    }
}
