//! The shapes of an op whose two operands were broadcast.

use crate::shape::{Shape, dims};

/// What the backward of a broadcasting op knows of shapes; nothing in the common case that all are equal.
#[derive(Debug)]
pub(crate) enum Shapes {
    /// Both operands have the result's shape.
    Same,
    /// The left operand's shape, the right one's, the result's.
    Spread(Box<[Shape; 3]>),
}

impl Shapes {
    pub(crate) fn new(left: &[usize], right: &[usize], out: &[usize]) -> Self {
        if left == out && right == out {
            Self::Same
        } else {
            Self::Spread(Box::new([dims(left), dims(right), dims(out)]))
        }
    }

    /// Operand `i`'s shape and the result's, if not all are equal.
    pub(crate) fn pair(&self, i: usize) -> Option<(&[usize], &[usize])> {
        match self {
            Self::Same => None,
            Self::Spread(shapes) => Some((&shapes[i], &shapes[2])),
        }
    }
}
