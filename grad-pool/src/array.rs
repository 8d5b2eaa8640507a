//! The memory of one array: made, prepared for a borrower, and without its element type.
//!
//! - Contents are always initialised: what is promised to nobody is zeros from the start, and NaN
//!   in builds with debug assertions.
//! - The element type comes off and on at no copy; a class holds arrays of one type only, so what
//!   comes out of a shelf has the type that its class says.

use pool_core::Block;

use crate::element::Element;

/// Bytes up to which zeroing a new array here takes less time than asking the allocator for zeros.
const SMALL: usize = 1024;

/// What a borrower is promised about the contents.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    Zeroed,
    Unspecified,
    /// Unspecified, and this crate itself overwrites every element.
    Overwritten,
}

/// An array without its element type.
#[inline]
pub(crate) fn erased<T: Element>(data: Box<[T]>) -> Block {
    let Ok(block) = Block::from_slice(data) else {
        unreachable!("the four element types can be erased");
    };
    block
}

/// A new array of its own, which does not ride the pool.
pub(crate) fn fresh<T: Element>(len: usize, contents: Contents) -> Box<[T]> {
    let mut data = allocated(len);
    poison(&mut data, contents);
    data
}

/// A new array of zeros.
pub(crate) fn allocated<T: Element>(len: usize) -> Box<[T]> {
    if len <= SMALL / size_of::<T>() {
        let mut data = Vec::with_capacity(len);
        data.resize(len, T::zeroed());
        return data.into_boxed_slice();
    }
    // Large ones come from the allocator zeroed.
    bytemuck::allocation::try_zeroed_slice_box(len)
        .unwrap_or_else(|()| panic!("no memory for {len} elements of {} bytes", size_of::<T>()))
}

/// A retained array with its element type.
#[inline]
pub(crate) fn retyped<T: Element>(block: Block) -> Box<[T]> {
    block
        .into_slice()
        .expect("a class holds arrays of one element type")
}

/// Makes a retained array ready for its next borrower.
#[inline]
pub(crate) fn prepare<T: Element>(data: &mut [T], contents: Contents) {
    if contents == Contents::Zeroed {
        bytemuck::fill_zeroes(data);
    }
    poison(data, contents);
}

/// Makes unspecified contents visible as such, where that costs no release build anything.
#[inline]
pub(crate) fn poison<T: Element>(data: &mut [T], contents: Contents) {
    if cfg!(debug_assertions) && contents == Contents::Unspecified {
        // All bits set are a NaN in each element type.
        bytemuck::cast_slice_mut::<T, u8>(data).fill(0xFF);
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;

    #[test]
    fn a_new_array_is_zero_on_both_sides_of_the_size_up_to_which_it_is_zeroed_here() {
        for bytes in [0, 16, SMALL - 16, SMALL, SMALL + 16, 64 * SMALL] {
            let narrow = allocated::<f32>(bytes / 4);
            assert_eq!(narrow.len(), bytes / 4);
            assert!(narrow.iter().all(|element| element.to_bits() == 0));
            let wide = allocated::<Complex<f64>>(bytes / 16);
            assert_eq!(wide.len(), bytes / 16);
            assert!(wide.iter().all(|&element| element == Complex::default()));
        }
    }

    #[test]
    fn an_array_comes_out_of_a_block_as_it_went_in() {
        let array: Box<[_]> = Box::new([Complex::new(1.0_f32, 2.0), Complex::new(3.0, 4.0)]);
        let pointer = array.as_ptr();
        let back = retyped::<Complex<f32>>(erased(array));
        assert_eq!(back.as_ptr(), pointer);
        assert_eq!(back[1], Complex::new(3.0, 4.0));
    }
}
