//! The three pools as the loops of [`lender`](crate::lender) see them: each by its door for a
//! buffer with unspecified contents, by which the alternatives lend too.

use frame_pool::{Frame, FramePool};
use grad_pool::{Arena, Grad};
use tls_pool::{Scratch, TlsPool};

use crate::lender::{Class, Lender};

impl Lender<f64> for TlsPool {
    type Buffer<'a> = Scratch<'a, f64>;

    #[inline]
    fn take(&self, class: &Class) -> Scratch<'_, f64> {
        self.unspecified(&class.shape)
            .expect("a class has a shape that memory can hold")
    }
}

impl Lender<f64> for Arena {
    type Buffer<'a> = Grad<'a, f64>;

    #[inline]
    fn take(&self, class: &Class) -> Grad<'_, f64> {
        self.unspecified(class.len())
    }
}

impl Lender<u8> for FramePool {
    type Buffer<'a> = Frame;

    #[inline]
    fn take(&self, class: &Class) -> Frame {
        self.take(class.len())
    }
}

/// A pool whose buffers never come back, so that every request misses.
#[derive(Debug)]
pub(super) struct Missing<P>(pub(super) P);

impl Lender<f64> for Missing<TlsPool> {
    type Buffer<'a> = Scratch<'a, f64>;

    #[inline]
    fn take(&self, class: &Class) -> Scratch<'_, f64> {
        self.0.take(class)
    }

    #[inline]
    fn give(&self, _class: &Class, buffer: Scratch<'_, f64>) {
        drop(buffer.detach());
    }
}

impl Lender<f64> for Missing<Arena> {
    type Buffer<'a> = Grad<'a, f64>;

    #[inline]
    fn take(&self, class: &Class) -> Grad<'_, f64> {
        self.0.take(class)
    }

    #[inline]
    fn give(&self, _class: &Class, buffer: Grad<'_, f64>) {
        drop(buffer.detach());
    }
}

impl Lender<u8> for Missing<FramePool> {
    type Buffer<'a> = Frame;

    #[inline]
    fn take(&self, class: &Class) -> Frame {
        self.0.take(class.len())
    }

    #[inline]
    fn give(&self, _class: &Class, buffer: Frame) {
        drop(buffer.detach());
    }
}
