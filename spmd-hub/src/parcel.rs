//! The elements of one message, owned, with their type erased but not their alignment.
//!
//! A [`Parcel`] is a `Vec` of words as wide as the elements are aligned. So a
//! `Vec<T>` becomes a parcel and a parcel a `Vec<T>` by a cast that copies
//! nothing, and a link reads a message straight into memory that its receiver
//! can keep. The memory of a parcel is the receiver's to keep for good: it never
//! comes from a pool.
//!
//! What must stay true: a parcel read from a link grows with the bytes that
//! arrive, not with the length that a header announces ([`Parcel::read_from`]).

use std::io::{self, Read};

use bytemuck::{Pod, allocation::try_cast_vec};

use crate::element::{Element, ElementType};

/// The first piece that is allocated for an announced length, in bytes.
const FIRST_PIECE: usize = 1 << 20;

/// An owned message body; the variants differ in alignment.
#[derive(Debug)]
pub(crate) enum Parcel {
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
    Eight(Vec<u64>),
    Sixteen(Vec<u128>),
}

impl Parcel {
    /// Takes over a vector; copies only when elements are aligned to more than 16 bytes.
    pub(crate) fn from_vec<T: Element>(elements: Vec<T>) -> Self {
        let cast = match align_of::<T>() {
            1 => try_cast_vec(elements).map(Self::One),
            2 => try_cast_vec(elements).map(Self::Two),
            4 => try_cast_vec(elements).map(Self::Four),
            8 => try_cast_vec(elements).map(Self::Eight),
            16 => try_cast_vec(elements).map(Self::Sixteen),
            _ => return Self::One(bytemuck::cast_slice(&elements).to_vec()),
        };
        cast.unwrap_or_else(|(_, elements)| Self::One(bytemuck::cast_slice(&elements).to_vec()))
    }

    /// Copies bytes into a parcel whose alignment suits `element`.
    pub(crate) fn copy_of(bytes: &[u8], element: ElementType) -> Self {
        fn words<W: Pod>(bytes: &[u8]) -> Vec<W> {
            bytemuck::allocation::pod_collect_to_vec(bytes)
        }
        match element.align_log2() {
            1 => Self::Two(words(bytes)),
            2 => Self::Four(words(bytes)),
            3 => Self::Eight(words(bytes)),
            4 => Self::Sixteen(words(bytes)),
            _ => Self::One(bytes.to_vec()),
        }
    }

    /// Reads exactly `length` bytes; holds at most twice what has arrived, or one piece.
    pub(crate) fn read_from(
        input: &mut impl Read,
        length: usize,
        element: ElementType,
    ) -> io::Result<Self> {
        Ok(match element.align_log2() {
            1 => Self::Two(read_words(input, length)?),
            2 => Self::Four(read_words(input, length)?),
            3 => Self::Eight(read_words(input, length)?),
            4 => Self::Sixteen(read_words(input, length)?),
            _ => Self::One(read_words(input, length)?),
        })
    }

    /// Returns the bytes of the elements.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::One(words) => words,
            Self::Two(words) => bytemuck::cast_slice(words),
            Self::Four(words) => bytemuck::cast_slice(words),
            Self::Eight(words) => bytemuck::cast_slice(words),
            Self::Sixteen(words) => bytemuck::cast_slice(words),
        }
    }

    /// Returns the elements as a vector: a cast, or a copy where the capacity cannot be one of `T`'s.
    pub(crate) fn into_vec<T: Element>(self) -> Vec<T> {
        let cast = match self {
            Self::One(words) => try_cast_vec(words).map_err(|(_, words)| Self::One(words)),
            Self::Two(words) => try_cast_vec(words).map_err(|(_, words)| Self::Two(words)),
            Self::Four(words) => try_cast_vec(words).map_err(|(_, words)| Self::Four(words)),
            Self::Eight(words) => try_cast_vec(words).map_err(|(_, words)| Self::Eight(words)),
            Self::Sixteen(words) => try_cast_vec(words).map_err(|(_, words)| Self::Sixteen(words)),
        };
        cast.unwrap_or_else(|this| bytemuck::allocation::pod_collect_to_vec(this.bytes()))
    }

    /// Calls `look` with the elements in place, or with a copy where they are not aligned for `T`.
    pub(crate) fn with_elements<T: Element, R>(&self, look: impl FnOnce(&[T]) -> R) -> R {
        match bytemuck::try_cast_slice(self.bytes()) {
            Ok(elements) => look(elements),
            Err(_) => look(&bytemuck::allocation::pod_collect_to_vec::<u8, T>(
                self.bytes(),
            )),
        }
    }
}

fn read_words<W: Pod>(input: &mut impl Read, length: usize) -> io::Result<Vec<W>> {
    let count = length / size_of::<W>();
    let mut words = vec![W::zeroed(); count.min(FIRST_PIECE / size_of::<W>())];
    let mut filled = 0;
    loop {
        input.read_exact(bytemuck::cast_slice_mut(&mut words[filled..]))?;
        filled = words.len();
        if filled == count {
            return Ok(words);
        }
        let next = count.min(filled.saturating_mul(2));
        words.reserve_exact(next - filled);
        words.resize(next, W::zeroed());
    }
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
