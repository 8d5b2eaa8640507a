//! One axis of a row-major buffer at a time: what softmax and its like iterate over.

use crate::error::{Error, Result};
use crate::shape::count;

/// How the elements of one axis lie in a row-major buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes {
    /// How many elements the axis has.
    pub(crate) len: usize,
    /// The distance between them.
    pub(crate) step: usize,
    outer: usize,
}

impl Lanes {
    /// The lanes along `axis`.
    pub(crate) fn new(op: &'static str, shape: &[usize], axis: usize) -> Result<Self> {
        if axis >= shape.len() {
            return Err(Error::Axis {
                op,
                axis,
                shape: shape.into(),
            });
        }
        Ok(Self {
            len: shape[axis],
            step: count(&shape[axis + 1..]),
            outer: count(&shape[..axis]),
        })
    }

    /// Where each lane starts; nothing if the lanes have no elements.
    pub(crate) fn starts(self) -> impl Iterator<Item = usize> {
        let outer = if self.len == 0 { 0 } else { self.outer };
        (0..outer).flat_map(move |block| {
            let first = block * self.len * self.step;
            first..first + self.step
        })
    }
}
