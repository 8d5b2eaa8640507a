//! No pool: each borrow is an allocation, each return frees it.
//!
//! There are two ways to have initialised memory from an allocator. Zeros are cheapest where they
//! come from fresh pages; below a few kilobytes memory that is filled by hand is (glibc's `calloc`
//! does not use its per-thread cache before 2.41).

use std::hint::black_box;

use crate::lender::{Class, Element, Lender};

/// Zeros from whatever allocator the process has.
#[derive(Debug, Clone, Copy, Default)]
pub struct Malloc;

/// Memory from whatever allocator the process has, filled by the borrower.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filled;

impl<T: Element> Lender<T> for Malloc {
    type Buffer<'a> = Vec<T>;

    #[inline]
    fn take(&self, class: &Class) -> Vec<T> {
        T::zeros(class.len())
    }
}

impl<T: Element> Lender<T> for Filled {
    type Buffer<'a> = Vec<T>;

    #[inline]
    fn take(&self, class: &Class) -> Vec<T> {
        let mut data = Vec::with_capacity(class.len());
        // Were it known to be zeros, the two steps would become one `calloc`.
        data.resize(class.len(), black_box(T::default()));
        data
    }
}
