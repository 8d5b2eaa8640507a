//! What makes two buffers interchangeable.
//!
//! A class is a promise: every buffer of it has the same capacity, so the accounts need no size
//! beside each buffer, and a borrower of the class gets exactly what it asked for.

use std::any::TypeId;
use std::hash::{Hash, Hasher};

/// A key of interchangeable buffers.
pub trait Class: Copy + Eq {
    /// Capacity of each buffer of the class, in bytes.
    fn bytes(&self) -> usize;
}

/// A class that is nothing but its capacity in bytes.
impl Class for usize {
    #[inline]
    fn bytes(&self) -> usize {
        *self
    }
}

/// An element type and a number of elements. The shape belongs to the borrower.
///
/// # Examples
///
/// ```
/// use pool_core::{Class, ElementClass};
///
/// let class = ElementClass::of::<f64>(3);
/// assert_eq!(class.bytes(), 24);
/// assert_ne!(class, ElementClass::of::<u64>(3));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ElementClass {
    element: TypeId,
    len: usize,
    bytes: usize,
}

impl ElementClass {
    /// The class of `len` elements of `T`.
    ///
    /// Its [bytes](Class::bytes) saturate; [`elements`](crate::elements) is the check that there
    /// can be so many.
    #[inline]
    #[must_use]
    pub fn of<T: 'static>(len: usize) -> Self {
        Self {
            element: TypeId::of::<T>(),
            len,
            bytes: len.saturating_mul(size_of::<T>()),
        }
    }

    /// The class of a buffer of the elements of `slice`.
    #[inline]
    #[must_use]
    pub fn of_slice<T: 'static>(slice: &[T]) -> Self {
        Self {
            element: TypeId::of::<T>(),
            len: slice.len(),
            bytes: size_of_val(slice),
        }
    }

    /// Number of elements.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether a buffer of this class has no element.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

// The bytes follow from the rest.
impl PartialEq for ElementClass {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.element == other.element
    }
}

impl Eq for ElementClass {}

impl Hash for ElementClass {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.element.hash(state);
        self.len.hash(state);
    }
}

impl Class for ElementClass {
    #[inline]
    fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use rustc_hash::FxBuildHasher;

    use super::*;

    #[test]
    fn neither_type_nor_length_alone_makes_a_class() {
        assert_eq!(ElementClass::of::<f32>(4), ElementClass::of::<f32>(4));
        assert_ne!(ElementClass::of::<f32>(4), ElementClass::of::<u32>(4));
        assert_ne!(ElementClass::of::<f32>(4), ElementClass::of::<f32>(5));
        // As many bytes, and yet another class.
        assert_ne!(ElementClass::of::<f32>(4), ElementClass::of::<f64>(2));
        let of_slice = ElementClass::of_slice(&[0.0_f32; 4]);
        assert_eq!(of_slice, ElementClass::of::<f32>(4));
        assert_eq!(of_slice.bytes(), 16);
    }

    #[test]
    fn a_size_that_can_not_be_saturates() {
        assert_eq!(ElementClass::of::<u64>(usize::MAX).bytes(), usize::MAX);
        assert!(ElementClass::of::<u64>(0).is_empty());
        assert_eq!(ElementClass::of::<u64>(7).len(), 7);
        assert!(!ElementClass::of::<u64>(7).is_empty());
    }

    #[test]
    fn classes_that_differ_have_hashes_that_differ() {
        let hash = |class| FxBuildHasher.hash_one::<ElementClass>(class);
        assert_eq!(
            hash(ElementClass::of::<f32>(4)),
            hash(ElementClass::of::<f32>(4))
        );
        assert_ne!(
            hash(ElementClass::of::<f32>(4)),
            hash(ElementClass::of::<f32>(5))
        );
        assert_ne!(
            hash(ElementClass::of::<f32>(4)),
            hash(ElementClass::of::<u32>(4))
        );
    }
}
