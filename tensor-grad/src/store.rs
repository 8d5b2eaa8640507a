//! Where the values of the forward pass live: the only place that borrows from `tls-pool`.
//!
//! A result of an operation is written into a recycled buffer and goes back when
//! the last array that shares it drops. A single number lives in place: it is
//! cheaper to copy than to lend. An array that the caller built from a `Vec`
//! keeps that `Vec`.

use core::ops::{Deref, DerefMut};

use tls_pool::Scratch;

use crate::element::Element;
use crate::pools::FORWARD;

/// The elements behind one or more arrays.
pub(crate) enum Store<T: Element> {
    /// A single number.
    One([T; 1]),
    /// The caller's own buffer.
    Plain(Vec<T>),
    /// A recycled buffer; it goes home when this drops.
    Pooled(Scratch<'static, T>),
}

impl<T: Element> Store<T> {
    /// Borrows `len` elements that read as zero.
    pub(crate) fn zeroed(len: usize) -> Self {
        match len {
            0 => Self::Plain(Vec::new()),
            1 => Self::One([T::zeroed()]),
            _ => FORWARD
                .zeroed(&[len])
                .map_or_else(|_| Self::Plain(vec![T::zeroed(); len]), Self::Pooled),
        }
    }

    /// Borrows `len` elements, every one of which the caller is going to overwrite.
    pub(crate) fn unspecified(len: usize) -> Self {
        match len {
            0 | 1 => Self::zeroed(len),
            _ => FORWARD
                .unspecified(&[len])
                .map_or_else(|_| Self::Plain(vec![T::zeroed(); len]), Self::Pooled),
        }
    }
}

impl<T: Element> Deref for Store<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::One(one) => one,
            Self::Plain(plain) => plain,
            Self::Pooled(pooled) => pooled,
        }
    }
}

impl<T: Element> DerefMut for Store<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::One(one) => one,
            Self::Plain(plain) => plain,
            Self::Pooled(pooled) => pooled,
        }
    }
}
