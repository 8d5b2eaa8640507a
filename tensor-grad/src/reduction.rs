//! The shapes of a reduction over some axes.

use crate::error::Result;
use crate::shape::{Shape, axis_mask, broadcast_strides, count, dims, row_major};

/// Whether a reduced axis stays, with size 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduced {
    /// The result's rank is lower.
    Dropped,
    /// The result broadcasts against the operand.
    Kept,
}

/// How a reduction maps the operand's elements to the result's.
#[derive(Debug)]
pub(crate) struct Reduction {
    /// The operand's shape.
    pub(crate) from: Shape,
    /// The result's shape.
    pub(crate) to: Shape,
    /// Strides over the operand's shape that read or write the row-major result.
    pub(crate) strides: Shape,
}

impl Reduction {
    /// Reduces all axes, to rank 0.
    pub(crate) fn all(shape: &[usize]) -> Self {
        Self {
            from: dims(shape),
            to: Shape::new(),
            strides: Shape::from_elem(0, shape.len()),
        }
    }

    /// Reduces `axes` of `shape`.
    pub(crate) fn new(
        op: &'static str,
        shape: &[usize],
        axes: &[usize],
        reduced: Reduced,
    ) -> Result<Self> {
        let mask = axis_mask(op, shape, axes)?;
        let mut kept = dims(shape);
        let mut to = Shape::new();
        for (size, &reduce) in kept.iter_mut().zip(&mask) {
            if reduce {
                *size = 1;
            }
            if !reduce || reduced == Reduced::Kept {
                to.push(*size);
            }
        }
        Ok(Self {
            from: dims(shape),
            strides: broadcast_strides(&kept, &row_major(&kept), shape),
            to,
        })
    }

    /// The number of elements in the result.
    pub(crate) fn len(&self) -> usize {
        count(&self.to)
    }

    /// How many elements of the operand each element of the result sums up.
    pub(crate) fn group(&self) -> usize {
        // An axis of size 1 has stride 0 as well, and counts as a factor of 1.
        let sizes = self.from.iter().zip(&self.strides);
        sizes
            .filter(|&(_, &stride)| stride == 0)
            .map(|(&size, _)| size)
            .product()
    }
}
