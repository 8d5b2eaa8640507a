//! Views: other strides over the same elements.

use super::Array;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::shape::{broadcast_strides, check, dims, reshape_strides};

impl<T: Element> Array<T> {
    /// Returns the elements under another shape: a view where the layout allows, else a copy.
    ///
    /// # Errors
    ///
    /// [`Error::Reshape`] if the number of elements differs.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self> {
        let want = check("reshape", shape)?;
        if want != self.len() {
            return Err(Error::Reshape {
                op: "reshape",
                from: self.shape().into(),
                to: shape.into(),
                have: self.len(),
                rule: "the number of elements must stay the same",
            });
        }
        Ok(match reshape_strides(self.shape(), self.strides(), shape) {
            Some(strides) => self.view(dims(shape), strides),
            None => Self::from_store(dims(shape), self.copied()),
        })
    }

    /// Returns a view with the axes in another order: axis `i` of the view is axis `axes[i]` of this array.
    ///
    /// # Errors
    ///
    /// [`Error::Axes`] unless `axes` names every axis exactly once.
    pub fn permute(&self, axes: &[usize]) -> Result<Self> {
        let mut seen = dims(self.shape());
        seen.fill(0);
        let complete = axes.len() == self.rank()
            && axes.iter().all(|&axis| {
                seen.get_mut(axis)
                    .is_some_and(|seen| core::mem::replace(seen, 1) == 0)
            });
        if !complete {
            return Err(Error::Axes {
                op: "permute",
                axes: axes.into(),
                shape: self.shape().into(),
                rule: "a permutation names every axis exactly once",
            });
        }
        let shape = axes.iter().map(|&axis| self.shape()[axis]).collect();
        let strides = axes.iter().map(|&axis| self.strides()[axis]).collect();
        Ok(self.view(shape, strides))
    }

    /// Returns a view with two axes exchanged.
    ///
    /// # Errors
    ///
    /// [`Error::Axis`] if either axis does not exist.
    pub fn transpose(&self, first: usize, second: usize) -> Result<Self> {
        for axis in [first, second] {
            if axis >= self.rank() {
                return Err(Error::Axis {
                    op: "transpose",
                    axis,
                    shape: self.shape().into(),
                });
            }
        }
        let (mut shape, mut strides) = (dims(self.shape()), dims(self.strides()));
        shape.swap(first, second);
        strides.swap(first, second);
        Ok(self.view(shape, strides))
    }

    /// Returns a view in which axes of size 1, and new leading axes, repeat to fill `shape`.
    ///
    /// # Errors
    ///
    /// [`Error::Reshape`] unless each axis, counted from the last, is equal or 1.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        check("broadcast_to", shape)?;
        let lead = shape.len().checked_sub(self.rank());
        let fits = lead.is_some_and(|lead| {
            let pairs = self.shape().iter().zip(&shape[lead..]);
            pairs
                .into_iter()
                .all(|(&from, &to)| from == to || from == 1)
        });
        if !fits {
            return Err(Error::Reshape {
                op: "broadcast_to",
                from: self.shape().into(),
                to: shape.into(),
                have: self.len(),
                rule: "each axis, counted from the last, must be equal or 1",
            });
        }
        let strides = broadcast_strides(self.shape(), self.strides(), shape);
        Ok(self.view(dims(shape), strides))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array() -> Array<f32> {
        let data = (0_u8..24).map(f32::from).collect();
        Array::from_vec(&[2, 3, 4], data).unwrap()
    }

    #[test]
    fn permute_reads_every_element_at_its_new_place() {
        let a = array();
        let p = a.permute(&[2, 0, 1]).unwrap();
        assert_eq!(p.shape(), [4, 2, 3]);
        for (i, j, k) in [(0, 0, 0), (1, 2, 3), (0, 2, 1)] {
            assert_eq!(a.get(&[i, j, k]), p.get(&[k, i, j]));
        }
        assert_eq!(p.contiguous().as_slice().unwrap(), p.to_vec());
        assert!(p.shares_storage_with(&a));
    }

    #[test]
    fn reshape_of_a_permuted_array_copies_in_row_major_order() {
        let p = array().transpose(0, 2).unwrap();
        let r = p.reshape(&[24]).unwrap();
        assert_eq!(r.to_vec(), p.to_vec());
        assert!(!r.shares_storage_with(&p));
        let split = p.reshape(&[2, 2, 3, 2]).unwrap();
        assert!(split.shares_storage_with(&p));
        assert_eq!(split.to_vec(), p.to_vec());
    }

    #[test]
    fn broadcast_repeats_without_copying() {
        let row = Array::from_vec(&[1, 2], vec![1.0_f32, 2.0]).unwrap();
        let wide = row.broadcast_to(&[2, 3, 2]).unwrap();
        assert_eq!(wide.to_vec(), [1.0, 2.0].repeat(6));
        assert!(wide.shares_storage_with(&row));
        assert!(row.broadcast_to(&[2, 3]).is_err());
        assert!(row.broadcast_to(&[2]).is_err());
        assert!(row.broadcast_to(&[usize::MAX, 1, 2]).is_err());
    }

    #[test]
    fn an_axis_that_does_not_exist_is_an_error_with_the_shape() {
        assert_eq!(
            array().transpose(0, 3).unwrap_err().to_string(),
            "transpose: axis 3 is out of range for shape [2, 3, 4]; axes run from 0 to rank - 1"
        );
        assert!(array().permute(&[0, 1, 1]).is_err());
        assert!(array().permute(&[0, 1]).is_err());
        assert!(array().reshape(&[5, 5]).is_err());
    }
}
