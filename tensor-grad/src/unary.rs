//! What all elementwise ops of one operand share.
//!
//! An op is a [`Rule`]: the value, and the gradient from the incoming one and
//! the operand or the result, whichever the op says it keeps.

use core::fmt::Debug;

use crate::array::Array;
use crate::element::Element;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::map;
use crate::slot::Buf;
use crate::tensor::Tensor;

/// An elementwise function and its gradient.
pub(crate) trait Rule<T: Element>: Copy + Debug + Send + Sync + 'static {
    /// What the gradient is computed from.
    const KEEPS: Keeps;
    /// The function.
    fn value(self, x: T) -> T;
    /// The operand's gradient, given the result's and what was kept.
    fn gradient(self, g: T, kept: T) -> T;
}

/// Which array a recorded op holds on to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// The operand.
    Input,
    /// The result.
    Output,
}

#[derive(Debug)]
struct Unary<T: Element, R> {
    rule: R,
    kept: Array<T>,
}

impl<T: Element, R: Rule<T>> Op for Unary<T, R> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        let rule = self.rule;
        to.pull(0, gradient, &self.kept.dense(), |g, kept| {
            rule.gradient(g, kept)
        });
    }
}

/// Applies a rule to every element.
pub(crate) fn unary<T: Element, R: Rule<T>>(x: &Tensor<T>, rule: R) -> Tensor<T> {
    let value = map(x.value(), |x| rule.value(x));
    let result = value.clone();
    Tensor::record(value, [x.node()], || Unary {
        rule,
        kept: match R::KEEPS {
            Keeps::Input => x.value().clone(),
            Keeps::Output => result,
        },
    })
}

/// Sends on nothing where nothing came in, though the slope be infinite.
///
/// Otherwise an element that does not count, such as the branch not taken of a
/// choice, would contribute zero times infinity: not a number.
#[inline]
pub(crate) fn guarded<T: Element>(g: T, f: impl FnOnce(T) -> T) -> T {
    let sent = f(g);
    if g == T::zero() { T::zero() } else { sent }
}
