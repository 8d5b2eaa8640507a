//! Gradient buffers of one sweep: the only place that borrows from `grad-pool`.
//!
//! A [`Buf`] is a gradient that the sweep owns, of one element type; a [`Slot`]
//! is the same with the type folded into an enum, because one graph may hold
//! real and complex nodes. A [`Held`] is a leaf's gradient after the sweep: it
//! owns its buffer and sends it home when it drops.
//!
//! A gradient of one number is held in place and touches no pool.

use core::fmt;
use core::ops::{Deref, DerefMut};

use grad_pool::{Arena, Grad, Leaf};
use num_complex::Complex;

use crate::element::Element;

/// A gradient in flight, contiguous in its node's shape.
#[expect(
    unnameable_types,
    reason = "part of the seal on `Element`: reachable through its bound, for nobody else to name"
)]
pub enum Buf<'a, T: Element> {
    /// No elements.
    Empty,
    /// One number.
    One([T; 1]),
    /// A borrowed buffer.
    Many(Grad<'a, T>),
}

impl<'a, T: Element> Buf<'a, T> {
    /// Borrows `len` elements that read as zero.
    #[inline]
    pub(crate) fn zeroed(arena: &'a Arena, len: usize) -> Self {
        match len {
            0 => Self::Empty,
            1 => Self::One([T::zero()]),
            _ => Self::Many(arena.zeroed(len)),
        }
    }

    /// Borrows `len` elements, every one of which the caller is going to overwrite.
    #[inline]
    pub(crate) fn unspecified(arena: &'a Arena, len: usize) -> Self {
        match len {
            0 => Self::Empty,
            1 => Self::One([T::zero()]),
            _ => Self::Many(arena.unspecified(len)),
        }
    }

    /// Lets the gradient leave the sweep, as a leaf's result.
    pub(crate) fn into_held(self) -> HeldBuf<T> {
        match self {
            Self::Empty => HeldBuf::Empty,
            Self::One(one) => HeldBuf::One(one),
            Self::Many(many) => HeldBuf::Many(many.into_leaf()),
        }
    }
}

/// A leaf's gradient after the sweep.
#[expect(
    unnameable_types,
    reason = "part of the seal on `Element`: reachable through its bound, for nobody else to name"
)]
pub enum HeldBuf<T: Element> {
    /// No elements.
    Empty,
    /// One number.
    One([T; 1]),
    /// A buffer that comes home when this drops.
    Many(Leaf<T>),
}

impl<T: Element> HeldBuf<T> {
    /// Keeps the buffer for good.
    pub(crate) fn detach(self) -> Vec<T> {
        match self {
            Self::Empty => Vec::new(),
            Self::One(one) => one.to_vec(),
            Self::Many(many) => many.detach(),
        }
    }
}

macro_rules! slice_like {
    ($([$($generics:tt)*] $t:ty),*) => {$(
        impl<$($generics)*> Deref for $t {
            type Target = [T];

            #[inline]
            fn deref(&self) -> &[T] {
                match self {
                    Self::Empty => &[],
                    Self::One(one) => one,
                    Self::Many(many) => many,
                }
            }
        }

        impl<$($generics)*> DerefMut for $t {
            #[inline]
            fn deref_mut(&mut self) -> &mut [T] {
                match self {
                    Self::Empty => &mut [],
                    Self::One(one) => one,
                    Self::Many(many) => many,
                }
            }
        }

        impl<$($generics)*> fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.iter()).finish()
            }
        }
    )*};
}

slice_like!(['a, T: Element] Buf<'a, T>, [T: Element] HeldBuf<T>);

macro_rules! slots {
    ($($variant:ident $t:ty),*) => {
        /// A gradient in flight of any element type.
        #[expect(unnameable_types, reason = "part of the seal on `Element`")]
        #[derive(Debug)]
        pub enum Slot<'a> {
            $(#[doc = concat!("Of `", stringify!($t), "`.")] $variant(Buf<'a, $t>)),*
        }

        /// A leaf's gradient after the sweep, of any element type.
        #[expect(unnameable_types, reason = "part of the seal on `Element`")]
        #[derive(Debug)]
        pub enum Held {
            $(#[doc = concat!("Of `", stringify!($t), "`.")] $variant(HeldBuf<$t>)),*
        }

        impl Slot<'_> {
            /// Lets the gradient leave the sweep, as a leaf's result.
            pub(crate) fn into_held(self) -> Held {
                match self {
                    $(Self::$variant(buf) => Held::$variant(buf.into_held())),*
                }
            }
        }

        $(impl Slotted for $t {
            #[inline]
            fn into_slot(buf: Buf<'_, $t>) -> Slot<'_> {
                Slot::$variant(buf)
            }

            #[inline]
            fn from_slot(slot: Slot<'_>) -> Option<Buf<'_, $t>> {
                if let Slot::$variant(buf) = slot { Some(buf) } else { None }
            }

            #[inline]
            fn slot_mut<'s, 'a>(slot: &'s mut Slot<'a>) -> Option<&'s mut Buf<'a, $t>> {
                if let Slot::$variant(buf) = slot { Some(buf) } else { None }
            }

            fn into_held(buf: HeldBuf<$t>) -> Held {
                Held::$variant(buf)
            }

            fn from_held(held: Held) -> Option<HeldBuf<$t>> {
                if let Held::$variant(buf) = held { Some(buf) } else { None }
            }

            fn held(held: &Held) -> Option<&[$t]> {
                if let Held::$variant(buf) = held { Some(buf) } else { None }
            }

            fn held_mut(held: &mut Held) -> Option<&mut [$t]> {
                if let Held::$variant(buf) = held { Some(buf) } else { None }
            }
        })*
    };
}

/// Folds an element type into [`Slot`] and [`Held`] and out again; seals [`Element`].
#[expect(
    unnameable_types,
    reason = "part of the seal on `Element`: reachable through its bound, for nobody else to name"
)]
pub trait Slotted: Sized {
    /// Folds the type away.
    fn into_slot(buf: Buf<'_, Self>) -> Slot<'_>
    where
        Self: Element;
    /// Takes it back, if it is this type.
    fn from_slot(slot: Slot<'_>) -> Option<Buf<'_, Self>>
    where
        Self: Element;
    /// Looks inside, if it is this type.
    fn slot_mut<'s, 'a>(slot: &'s mut Slot<'a>) -> Option<&'s mut Buf<'a, Self>>
    where
        Self: Element;
    /// Folds the type away.
    fn into_held(buf: HeldBuf<Self>) -> Held
    where
        Self: Element;
    /// Takes it back, if it is this type.
    fn from_held(held: Held) -> Option<HeldBuf<Self>>
    where
        Self: Element;
    /// Looks inside, if it is this type.
    fn held(held: &Held) -> Option<&[Self]>
    where
        Self: Element;
    /// Looks inside, if it is this type.
    fn held_mut(held: &mut Held) -> Option<&mut [Self]>
    where
        Self: Element;
}

slots!(F32 f32, F64 f64, C32 Complex<f32>, C64 Complex<f64>);
