//! What the elements of a message are, as both sides of it see them.
//!
//! A message carries its element type as three numbers: a fingerprint of the
//! type's name, its size and its alignment. A receiver that asks for another
//! type gets an error instead of reinterpreted bytes.
//!
//! What must stay true: two ranks of one world run the same program, so a type
//! has the same name on both. The standard library promises no more than that a
//! name is a best effort, hence the size beside it; two types of one size and one
//! name are taken for each other.

use std::fmt;

use bytemuck::Pod;

/// What a message is made of: plain data that may cross threads.
///
/// Implemented for every [`bytemuck::Pod`] type that is `Send` and `Sync`. Types
/// of size zero do not compile as elements, because a length in bytes could not
/// tell how many there are.
pub trait Element: Pod + Send + Sync {}

impl<T: Pod + Send + Sync> Element for T {}

/// The type of a message's elements, as it travels with the message.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ElementType {
    fingerprint: u32,
    bytes: u32,
    align_log2: u8,
}

/// The names that an error can give back for a fingerprint.
const NAMED: [&str; 16] = [
    "u8",
    "i8",
    "u16",
    "i16",
    "u32",
    "i32",
    "u64",
    "i64",
    "u128",
    "i128",
    "usize",
    "isize",
    "f32",
    "f64",
    "num_complex::Complex<f32>",
    "num_complex::Complex<f64>",
];

impl ElementType {
    /// Returns the type `T` as it travels.
    #[must_use]
    pub fn of<T: Element>() -> Self {
        const {
            assert!(
                size_of::<T>() > 0 && size_of::<T>() <= u32::MAX as usize,
                "an element must occupy at least one byte and less than 4 GiB"
            );
        }
        Self {
            fingerprint: fingerprint(std::any::type_name::<T>()),
            // Lossless: asserted above at compile time.
            bytes: u32::try_from(size_of::<T>()).unwrap_or(u32::MAX),
            align_log2: u8::try_from(align_of::<T>().trailing_zeros()).unwrap_or(u8::MAX),
        }
    }

    /// Builds a type from its parts on the wire, if they can belong together.
    pub(crate) fn from_parts(fingerprint: u32, bytes: u32, align_log2: u8) -> Option<Self> {
        let align = 1_u32.checked_shl(u32::from(align_log2))?;
        (bytes > 0 && bytes.is_multiple_of(align)).then_some(Self {
            fingerprint,
            bytes,
            align_log2,
        })
    }

    /// Returns the fingerprint of the type's name.
    pub(crate) fn fingerprint(self) -> u32 {
        self.fingerprint
    }

    /// Returns the size of one element in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.bytes as usize
    }

    /// Returns the binary logarithm of the element's alignment.
    pub(crate) fn align_log2(self) -> u8 {
        self.align_log2
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMED
            .iter()
            .find(|name| fingerprint(name) == self.fingerprint)
        {
            Some(name) => f.write_str(name),
            None => write!(
                f,
                "a type of {} bytes (name {:08x})",
                self.bytes, self.fingerprint
            ),
        }
    }
}

impl fmt::Debug for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ElementType({self})")
    }
}

/// The 32-bit FNV-1a hash of a name: stable between processes, unlike `TypeId`'s.
pub(crate) fn fingerprint(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_one_size_differ_and_are_named() {
        assert_ne!(ElementType::of::<f32>(), ElementType::of::<i32>());
        assert_eq!(ElementType::of::<f64>().to_string(), "f64");
        assert_eq!(
            ElementType::of::<[f32; 3]>().to_string().split(' ').nth(3),
            Some("12")
        );
    }

    #[test]
    fn parts_that_cannot_belong_together_are_refused() {
        assert!(ElementType::from_parts(1, 0, 0).is_none());
        assert!(ElementType::from_parts(1, 4, 3).is_none());
        assert!(ElementType::from_parts(1, 4, 200).is_none());
        let f64_type = ElementType::of::<f64>();
        assert_eq!(
            ElementType::from_parts(f64_type.fingerprint(), 8, 3),
            Some(f64_type)
        );
    }
}
