//! The axes in another order; the backward puts the gradient's back.

use core::marker::PhantomData;

use crate::element::Element;
use crate::error::Result;
use crate::graph::Op;
use crate::inputs::Inputs;
use crate::kernel::map::put_strided;
use crate::shape::{Shape, dims, row_major};
use crate::slot::Buf;
use crate::tensor::Tensor;

#[derive(Debug)]
struct Permute<T> {
    /// The operand's shape.
    from: Shape,
    /// Strides over the operand's shape that read the row-major gradient.
    strides: Shape,
    element: PhantomData<T>,
}

impl<T: Element> Op for Permute<T> {
    type Out = T;

    fn backward<'a>(&self, gradient: Buf<'a, T>, to: &mut Inputs<'_, 'a>) {
        to.put(0, |dst: &mut [T], mode| {
            put_strided(dst, mode, &self.from, (&gradient, &self.strides), |g| g);
        });
    }
}

fn permuted<T: Element>(x: &Tensor<T>, axes: &[usize]) -> Result<Tensor<T>> {
    let value = x.value().permute(axes)?;
    let mut strides = dims(x.shape());
    for (&axis, &stride) in axes.iter().zip(&row_major(value.shape())) {
        strides[axis] = stride;
    }
    Ok(Tensor::record(value, [x.node()], || Permute {
        from: dims(x.shape()),
        strides,
        element: PhantomData,
    }))
}

impl<T: Element> Tensor<T> {
    /// Returns a view with the axes in another order: axis `i` of the view is axis `axes[i]` of this tensor.
    ///
    /// # Errors
    ///
    /// [`Error::Axes`](crate::Error::Axes) unless `axes` names every axis exactly once.
    pub fn permute(&self, axes: &[usize]) -> Result<Self> {
        permuted(self, axes)
    }

    /// Returns a view with two axes exchanged.
    ///
    /// # Errors
    ///
    /// [`Error::Axis`](crate::Error::Axis) if either axis does not exist.
    pub fn transpose(&self, first: usize, second: usize) -> Result<Self> {
        // Checks both axes, and says which does not exist.
        self.value().transpose(first, second)?;
        let mut axes: Shape = (0..self.rank()).collect();
        axes.swap(first, second);
        permuted(self, &axes)
    }
}

#[cfg(test)]
pub(crate) fn cases() -> Vec<crate::op_table::Case> {
    use crate::op_table::{Case, MATRICES, WIDE};

    fn cycle<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        let rank = x[0].rank();
        let axes: Vec<usize> = (0..rank).map(|axis| (axis + 1) % rank).collect();
        x[0].permute(&axes)
    }
    fn swap<T: Element>(x: &[Tensor<T>]) -> Result<Tensor<T>> {
        x[0].transpose(0, 1)
    }
    vec![
        Case::all("permute", cycle, cycle, cycle, cycle, MATRICES, WIDE),
        Case::all("transpose", swap, swap, swap, swap, MATRICES, WIDE),
    ]
}
