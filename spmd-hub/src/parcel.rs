//! The elements of one message, owned, with their type erased but not their alignment.
//!
//! A [`Parcel`] is [`Words`] with what a message needs: a `Vec<T>` becomes a parcel and a parcel a
//! `Vec<T>` by a cast that copies nothing, and a link reads a message straight into memory that its
//! receiver can keep. The memory of a parcel is the receiver's to keep for good: it never comes
//! from a pool.
//!
//! What must stay true: a parcel read from a link grows with the bytes that arrive, not with the
//! length that a header announces ([`Parcel::read_from`]).

use std::io::{self, Read};

use crate::words::Words;
use bytemuck::allocation::pod_collect_to_vec;

use crate::element::{Element, ElementType};

/// The first piece that is allocated for an announced length, in bytes.
const FIRST_PIECE: usize = 1 << 20;

/// An owned message body.
#[derive(Debug)]
pub(crate) struct Parcel(Words);

impl Parcel {
    /// Takes over a vector; copies only when elements are aligned to more than 16 bytes.
    pub(crate) fn from_vec<T: Element>(elements: Vec<T>) -> Self {
        Words::from_vec(elements).map_or_else(
            |elements| Self::copy_of(bytemuck::cast_slice(&elements), ElementType::of::<T>()),
            Self,
        )
    }

    /// Copies bytes into a parcel whose alignment suits `element`.
    pub(crate) fn copy_of(bytes: &[u8], element: ElementType) -> Self {
        let mut words = empty(element);
        words.grow(bytes.len());
        words.as_bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        Self(words)
    }

    /// Reads exactly `length` bytes; holds at most twice what has arrived, or one piece.
    pub(crate) fn read_from(
        input: &mut impl Read,
        length: usize,
        element: ElementType,
    ) -> io::Result<Self> {
        let mut words = empty(element);
        let mut filled = 0;
        while filled < length {
            let next = length.min(filled.saturating_mul(2).max(FIRST_PIECE));
            words.grow(next);
            input.read_exact(&mut words.as_bytes_mut()[filled..next])?;
            filled = next;
        }
        Ok(Self(words))
    }

    /// Returns the bytes of the elements.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Returns the elements as a vector: a cast, or a copy where the capacity cannot be one of `T`'s.
    pub(crate) fn into_vec<T: Element>(self) -> Vec<T> {
        self.0
            .into_vec()
            .unwrap_or_else(|words| pod_collect_to_vec(words.as_bytes()))
    }

    /// Calls `look` with the elements in place, or with a copy where they are not aligned for `T`.
    pub(crate) fn with_elements<T: Element, R>(&self, look: impl FnOnce(&[T]) -> R) -> R {
        match bytemuck::try_cast_slice(self.bytes()) {
            Ok(elements) => look(elements),
            Err(_) => look(&pod_collect_to_vec::<u8, T>(self.bytes())),
        }
    }
}

/// No bytes, aligned for `element` or, beyond 16 bytes, for none.
fn empty(element: ElementType) -> Words {
    Words::zeroed(1 << element.align_log2(), 0)
        .or_else(|| Words::zeroed(1, 0))
        .expect("bytes need no alignment")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_goes_in_and_comes_out_without_a_copy() {
        let vector = vec![1.5_f32, 2.5];
        let address = vector.as_ptr();
        let back = Parcel::from_vec(vector).into_vec::<f32>();
        assert_eq!(
            (back.as_ptr(), back.as_slice()),
            (address, [1.5, 2.5].as_slice())
        );
        let triples = vec![[1_u16, 2, 3]; 3];
        let address = triples.as_ptr();
        let back = Parcel::from_vec(triples).into_vec::<[u16; 3]>();
        assert_eq!((back.as_ptr(), back.len()), (address, 3));
    }

    #[test]
    fn a_parcel_read_from_a_link_is_aligned_for_its_elements() {
        let source: Vec<f64> = (0..300_000).map(f64::from).collect();
        let mut bytes: &[u8] = bytemuck::cast_slice(&source);
        let parcel = Parcel::read_from(&mut bytes, 2_400_000, ElementType::of::<f64>()).unwrap();
        let before = parcel.bytes().as_ptr();
        let elements = parcel.into_vec::<f64>();
        assert_eq!(elements.as_ptr().cast::<u8>(), before);
        assert_eq!(elements, source);
    }

    #[test]
    fn an_announced_length_is_not_allocated_before_it_arrives() {
        let mut short: &[u8] = &[1, 2, 3];
        let error = Parcel::read_from(&mut short, 1 << 50, ElementType::of::<u8>()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn elements_of_any_alignment_survive_a_copy() {
        for count in [0_usize, 1, 3, 7] {
            let numbers: Vec<u128> = (0..count as u128).collect();
            let parcel = Parcel::copy_of(bytemuck::cast_slice(&numbers), ElementType::of::<u128>());
            parcel.with_elements(|seen: &[u128]| assert_eq!(seen, numbers));
            assert_eq!(parcel.into_vec::<u128>(), numbers);
        }
    }
}
