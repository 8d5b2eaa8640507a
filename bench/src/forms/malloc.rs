//! No pool: each borrow is an allocation of zeros, each return frees it.

use crate::lender::{Class, Element, Lender};

/// Plain allocation, by whatever allocator the process has.
#[derive(Debug, Clone, Copy, Default)]
pub struct Malloc;

impl<T: Element> Lender<T> for Malloc {
    type Buffer<'a> = Vec<T>;

    #[inline]
    fn take(&self, class: &Class) -> Vec<T> {
        T::zeros(class.len())
    }
}
