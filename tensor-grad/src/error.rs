//! What can go wrong, as values.
//!
//! One family for the whole crate: each variant names the operation, the shapes
//! it was given and what would be right. The operators (`&a + &b`) panic with
//! the text of the same value that the fallible method returns.
//!
//! Shapes are boxed slices here, so that a `Result` on the hot path stays small.

/// A shape inside an error.
pub type Dims = Box<[usize]>;

/// An operation that was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two shapes that no broadcast brings together.
    #[error(
        "{op}: shapes {left:?} and {right:?} do not broadcast; each pair of axes, counted from the last, must be equal or contain a 1"
    )]
    Broadcast {
        /// The operation.
        op: &'static str,
        /// The left operand's shape.
        left: Dims,
        /// The right operand's shape.
        right: Dims,
    },
    /// Two operands of a product whose inner or batch axes do not meet.
    #[error("{op}: shapes {left:?} and {right:?} do not multiply; {rule}")]
    Product {
        /// The operation.
        op: &'static str,
        /// The left operand's shape.
        left: Dims,
        /// The right operand's shape.
        right: Dims,
        /// What would be right.
        rule: &'static str,
    },
    /// Two shapes that must be equal and are not.
    #[error("{op}: shapes {left:?} and {right:?} differ; they must be equal")]
    Unequal {
        /// The operation.
        op: &'static str,
        /// The shape that was expected.
        left: Dims,
        /// The shape that was given.
        right: Dims,
    },
    /// A shape that cannot be viewed as another one.
    #[error("{op}: shape {from:?} of {have} elements does not become {to:?}; {rule}")]
    Reshape {
        /// The operation.
        op: &'static str,
        /// The shape of the operand.
        from: Dims,
        /// The shape that was asked for.
        to: Dims,
        /// How many elements the operand has.
        have: usize,
        /// What would be right.
        rule: &'static str,
    },
    /// A number of elements that a shape does not have.
    #[error("{op}: {got} elements given for shape {shape:?}, which holds {want}")]
    Length {
        /// The operation.
        op: &'static str,
        /// The shape.
        shape: Dims,
        /// How many elements that shape has.
        want: usize,
        /// How many were given.
        got: usize,
    },
    /// A shape too large to address.
    #[error("{op}: shape {shape:?} has more elements than memory has addresses")]
    Overflow {
        /// The operation.
        op: &'static str,
        /// The shape.
        shape: Dims,
    },
    /// An axis that the operand does not have.
    #[error("{op}: axis {axis} is out of range for shape {shape:?}; axes run from 0 to rank - 1")]
    Axis {
        /// The operation.
        op: &'static str,
        /// The axis.
        axis: usize,
        /// The operand's shape.
        shape: Dims,
    },
    /// A list of axes that names one twice, or is not a permutation where one is needed.
    #[error("{op}: axes {axes:?} for shape {shape:?}; {rule}")]
    Axes {
        /// The operation.
        op: &'static str,
        /// The axes given.
        axes: Dims,
        /// The operand's shape.
        shape: Dims,
        /// What would be right.
        rule: &'static str,
    },
    /// An operand of the wrong rank.
    #[error("{op}: shape {shape:?} has the wrong rank; {rule}")]
    Rank {
        /// The operation.
        op: &'static str,
        /// The operand's shape.
        shape: Dims,
        /// What would be right.
        rule: &'static str,
    },
    /// A reduction without a neutral element, over no elements.
    #[error(
        "{op}: shape {shape:?} has no elements along the reduced axes; {op} needs at least one"
    )]
    Empty {
        /// The operation.
        op: &'static str,
        /// The operand's shape.
        shape: Dims,
    },
    /// A class index that the scores do not have.
    #[error("{op}: class {class} of sample {sample} is out of range; there are {classes} classes")]
    Class {
        /// The operation.
        op: &'static str,
        /// Which sample.
        sample: usize,
        /// The class it names.
        class: usize,
        /// How many classes the scores have.
        classes: usize,
    },
    /// A value asked of a tensor with more or fewer than one element.
    #[error("{op}: shape {shape:?} is not a single number; {rule}")]
    NotScalar {
        /// The operation.
        op: &'static str,
        /// The tensor's shape.
        shape: Dims,
        /// What would be right.
        rule: &'static str,
    },
    /// A backward sweep from a complex number, whose direction of descent is not defined.
    #[error(
        "backward: a complex output has no direction of descent; take a real value of it (real, imag, abs) or give a cotangent to backward_with"
    )]
    ComplexOutput,
    /// A backward sweep from something that depends on no leaf.
    #[error(
        "{op}: this tensor needs no gradient; build it from a leaf (Tensor::leaf), outside no_grad and without detach"
    )]
    NoGradient {
        /// The operation.
        op: &'static str,
    },
    /// A change in place of a tensor that an operation computed.
    #[error("{op}: only leaves and constants change in place; this tensor was computed")]
    NotALeaf {
        /// The operation.
        op: &'static str,
    },
    /// A hyper-parameter outside its range.
    #[error("{op}: {name} is {value}; {rule}")]
    Setting {
        /// The operation.
        op: &'static str,
        /// The hyper-parameter.
        name: &'static str,
        /// Its value, printed.
        value: String,
        /// What would be right.
        rule: &'static str,
    },
    /// A gradient that disagrees with finite differences; see [`grad_check`](crate::grad_check()).
    #[error(
        "grad_check: input {input}, element {element}: the sweep says {sweep}, finite differences say {finite}"
    )]
    Gradient {
        /// Which input.
        input: usize,
        /// Which of its elements, in row-major order.
        element: usize,
        /// The sweep's gradient, printed.
        sweep: String,
        /// The finite difference, printed.
        finite: String,
    },
}

/// What the fallible operations of this crate return.
pub type Result<T> = core::result::Result<T, Error>;
