//! A boxed slice of any plain-old-data element with its element type erased, at no copy.
//!
//! A pool that serves several element types keeps one kind of buffer. A [`Block`] is a boxed slice
//! of unsigned integers as wide as the element's alignment; bytemuck casts the same allocation
//! there and back and checks that size and alignment allow it, so nothing here is unsafe.
//!
//! - The allocation is never resized or copied: a cast keeps the pointer and the size in bytes.
//! - Its capacity is its length: a boxed slice has no spare room that the accounts could miss.
//! - What comes out has the layout that was asked for, or does not come out.
//! - Elements aligned to more than 16 bytes have no integer to stand for them;
//!   [`Block::from_slice`] gives them back, and their pool treats them as an ordinary allocation.

use std::fmt;

use bytemuck::{Pod, allocation::try_cast_slice_box};

use crate::Buffer;

/// A buffer whose element type was erased.
pub struct Block(Repr);

/// One kind of integer for each alignment.
enum Repr {
    Align1(Box<[u8]>),
    Align2(Box<[u16]>),
    Align4(Box<[u32]>),
    Align8(Box<[u64]>),
    Align16(Box<[u128]>),
}

impl Block {
    /// Whether elements of type `T` can be erased: they have a size, and one of the alignments.
    #[must_use]
    pub const fn can_hold<T: Pod>() -> bool {
        size_of::<T>() > 0 && align_of::<T>() <= 16
    }

    /// Erases the element type of `slice`.
    ///
    /// # Errors
    ///
    /// Gives `slice` back when its elements [can not be erased](Self::can_hold).
    ///
    /// # Examples
    ///
    /// ```
    /// use pool_core::Block;
    ///
    /// let block = Block::from_slice(vec![1.0_f64, 2.0].into_boxed_slice()).unwrap();
    /// assert_eq!(*block.into_slice::<f64>().unwrap(), [1.0, 2.0]);
    /// ```
    #[inline]
    pub fn from_slice<T: Pod>(slice: Box<[T]>) -> Result<Self, Box<[T]>> {
        if !Self::can_hold::<T>() {
            return Err(slice);
        }
        let repr = match align_of::<T>() {
            1 => try_cast_slice_box(slice).map(Repr::Align1),
            2 => try_cast_slice_box(slice).map(Repr::Align2),
            4 => try_cast_slice_box(slice).map(Repr::Align4),
            8 => try_cast_slice_box(slice).map(Repr::Align8),
            _ => try_cast_slice_box(slice).map(Repr::Align16),
        };
        repr.map(Self).map_err(|(_, slice)| slice)
    }

    /// Gives the allocation its element type back; `None`, freeing it, when its alignment is not
    /// that of `T` or when it is no whole number of `T`.
    #[inline]
    #[must_use]
    pub fn into_slice<T: Pod>(self) -> Option<Box<[T]>> {
        // One arm is left for each `T`, as its alignment is known when this is compiled.
        match (align_of::<T>(), self.0) {
            (1, Repr::Align1(slice)) => try_cast_slice_box(slice).ok(),
            (2, Repr::Align2(slice)) => try_cast_slice_box(slice).ok(),
            (4, Repr::Align4(slice)) => try_cast_slice_box(slice).ok(),
            (8, Repr::Align8(slice)) => try_cast_slice_box(slice).ok(),
            (16, Repr::Align16(slice)) => try_cast_slice_box(slice).ok(),
            _ => None,
        }
    }
}

impl Buffer for Block {
    #[inline]
    fn bytes(&self) -> usize {
        match &self.0 {
            Repr::Align1(slice) => size_of_val(&**slice),
            Repr::Align2(slice) => size_of_val(&**slice),
            Repr::Align4(slice) => size_of_val(&**slice),
            Repr::Align8(slice) => size_of_val(&**slice),
            Repr::Align16(slice) => size_of_val(&**slice),
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends `vec` through a [`Block`] and checks that the same allocation comes back.
    fn round_trip<T: Pod + PartialEq + fmt::Debug>(vec: Vec<T>) {
        let slice = vec.into_boxed_slice();
        let (pointer, copy) = (slice.as_ptr(), slice.clone());
        let block = Block::from_slice(slice).unwrap();
        assert_eq!(block.bytes(), size_of_val(&*copy));
        let back = block.into_slice::<T>().unwrap();
        assert_eq!(back.as_ptr(), pointer);
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
        round_trip(vec![[7_u32; 3]; 5]);
        round_trip(vec![1_u128, 2, 3]);
    }

    #[test]
    fn a_block_that_does_not_divide_into_elements_does_not_come_out() {
        let block = || Block::from_slice(vec![1.0_f64; 3].into_boxed_slice()).unwrap();
        assert!(block().into_slice::<[f64; 2]>().is_none());
        assert!(block().into_slice::<f32>().is_none());
        assert_eq!(*block().into_slice::<[f64; 3]>().unwrap(), [[1.0; 3]]);
    }

    #[test]
    fn elements_without_a_size_are_given_back() {
        let units = vec![(); 3].into_boxed_slice();
        assert_eq!(Block::from_slice(units).unwrap_err().len(), 3);
    }

    #[test]
    fn a_block_shows_its_size_and_not_its_contents() {
        let block = Block::from_slice(vec![1.0_f64; 3].into_boxed_slice()).unwrap();
        assert_eq!(format!("{block:?}"), "Block { bytes: 24, .. }");
    }
}
