//! Shapes and strides, and the arithmetic on them.
//!
//! A shape of rank 6 or less lives in place. A shape that exists has passed
//! [`check`]: its number of elements, with every zero-size axis counted as one,
//! fits the address space for the largest element type, so nothing computed from
//! it (lengths, strides, offsets) can overflow.
//!
//! Strides count elements. They are `usize` with wrapping arithmetic, so that a
//! negative stride is its two's complement and needs no second type.

use smallvec::SmallVec;

use crate::error::{Error, Result};

/// The sizes of an array's axes, or its strides.
pub(crate) type Shape = SmallVec<[usize; 6]>;

/// The size of the largest element, `Complex<f64>`.
const LARGEST: usize = 16;

/// Copies a slice of axes.
#[inline]
pub(crate) fn dims(axes: &[usize]) -> Shape {
    SmallVec::from_slice(axes)
}

/// Counts the elements of a shape that has passed [`check`].
#[inline]
pub(crate) fn count(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Refuses a shape that does not fit the address space; returns its number of elements.
pub(crate) fn check(op: &'static str, shape: &[usize]) -> Result<usize> {
    shape
        .iter()
        .try_fold(LARGEST, |bytes, &axis| bytes.checked_mul(axis.max(1)))
        .filter(|&bytes| bytes <= isize::MAX.unsigned_abs())
        .map(|_| count(shape))
        .ok_or_else(|| Error::Overflow {
            op,
            shape: shape.into(),
        })
}

/// The strides of a row-major array.
pub(crate) fn row_major(shape: &[usize]) -> Shape {
    let mut strides = dims(shape);
    let mut step = 1;
    for (stride, &axis) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step *= axis.max(1);
    }
    strides
}

/// Whether `strides` walk `shape` in row-major order without gaps.
///
/// The stride of an axis of size 1 is never used, and an empty array has no order.
pub(crate) fn is_row_major(shape: &[usize], strides: &[usize]) -> bool {
    let mut step = 1;
    for (&axis, &stride) in shape.iter().zip(strides).rev() {
        if axis == 0 {
            return true;
        }
        if axis != 1 {
            if stride != step {
                // A zero further out would still make the array empty.
                return shape.contains(&0);
            }
            step *= axis;
        }
    }
    true
}

/// The shape that both operands are broadcast to.
pub(crate) fn broadcast(op: &'static str, left: &[usize], right: &[usize]) -> Result<Shape> {
    if left == right {
        return Ok(dims(left));
    }
    let (long, short) = if left.len() >= right.len() {
        (left, right)
    } else {
        (right, left)
    };
    let mut out = dims(long);
    let lead = long.len() - short.len();
    for (axis, &other) in out.iter_mut().skip(lead).zip(short) {
        if *axis == 1 {
            *axis = other;
        } else if other != 1 && other != *axis {
            return Err(Error::Broadcast {
                op,
                left: left.into(),
                right: right.into(),
            });
        }
    }
    check(op, &out)?;
    Ok(out)
}

/// The strides that read an array of `shape` as if it had the larger shape `out`.
///
/// `out` must be a broadcast of `shape`.
pub(crate) fn broadcast_strides(shape: &[usize], strides: &[usize], out: &[usize]) -> Shape {
    let mut wide = Shape::from_elem(0, out.len());
    let lead = out.len() - shape.len();
    for (axis, (&size, &stride)) in shape.iter().zip(strides).enumerate() {
        if size != 1 {
            wide[lead + axis] = stride;
        }
    }
    wide
}

/// The strides of a view of another shape on the same elements, or `None` where only a copy will do.
pub(crate) fn reshape_strides(shape: &[usize], strides: &[usize], to: &[usize]) -> Option<Shape> {
    if is_row_major(shape, strides) {
        return Some(row_major(to));
    }
    let mut new = Shape::from_elem(0, to.len());
    // Axes of size 1 say nothing about the layout.
    let old: SmallVec<[(usize, usize); 6]> = shape
        .iter()
        .copied()
        .zip(strides.iter().copied())
        .filter(|&(axis, _)| axis != 1)
        .collect();
    let (mut from, mut into) = (0, 0);
    while from < old.len() {
        // The shortest group of old axes that holds as many elements as a group of new ones.
        let (mut from_end, mut into_end) = (from + 1, into);
        let mut have = old[from].0;
        let mut want = 1;
        while have != want || into_end == into {
            if want < have {
                want *= to.get(into_end)?;
                into_end += 1;
            } else {
                have *= old.get(from_end)?.0;
                from_end += 1;
            }
        }
        // Within the group, the old axes must follow one another without gaps.
        for pair in old[from..from_end].windows(2) {
            if pair[0].1 != pair[1].1.wrapping_mul(pair[1].0) {
                return None;
            }
        }
        let mut step = old[from_end - 1].1;
        for axis in (into..into_end).rev() {
            new[axis] = step;
            step = step.wrapping_mul(to[axis]);
        }
        (from, into) = (from_end, into_end);
    }
    Some(new)
}

/// Which axes a reduction removes, checked, as a mask over the operand's axes.
pub(crate) fn axis_mask(
    op: &'static str,
    shape: &[usize],
    axes: &[usize],
) -> Result<SmallVec<[bool; 6]>> {
    let mut mask = SmallVec::from_elem(false, shape.len());
    for &axis in axes {
        match mask.get_mut(axis) {
            None => {
                return Err(Error::Axis {
                    op,
                    axis,
                    shape: shape.into(),
                });
            }
            Some(seen) if *seen => {
                return Err(Error::Axes {
                    op,
                    axes: axes.into(),
                    shape: shape.into(),
                    rule: "each axis may be named once",
                });
            }
            Some(seen) => *seen = true,
        }
    }
    Ok(mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_from_the_last_axis() {
        assert_eq!(
            broadcast("add", &[3, 1], &[1, 4]).unwrap().as_slice(),
            [3, 4]
        );
        assert_eq!(broadcast("add", &[], &[2, 0]).unwrap().as_slice(), [2, 0]);
        assert_eq!(
            broadcast("add", &[4], &[2, 3, 1]).unwrap().as_slice(),
            [2, 3, 4]
        );
        let error = broadcast("add", &[3], &[4]).unwrap_err().to_string();
        assert!(error.starts_with("add: shapes [3] and [4] do not broadcast; "));
    }

    #[test]
    fn a_shape_past_the_address_space_is_an_error_even_with_a_zero_axis() {
        assert!(check("zeros", &[usize::MAX, 2]).is_err());
        assert!(check("zeros", &[usize::MAX, 0]).is_err());
        assert!(check("zeros", &[1 << 59]).is_err());
        assert_eq!(check("zeros", &[1 << 58]), Ok(1 << 58));
        assert_eq!(check("zeros", &[]), Ok(1));
        // Two operands that fit may broadcast to a result that does not.
        assert!(broadcast("add", &[1 << 40, 1], &[1 << 40]).is_err());
    }

    #[test]
    fn a_view_is_reshaped_without_a_copy_where_its_axes_allow() {
        assert_eq!(
            reshape_strides(&[4, 6], &[1, 4], &[2, 2, 6])
                .unwrap()
                .as_slice(),
            [2, 1, 4]
        );
        assert_eq!(reshape_strides(&[4, 6], &[1, 4], &[24]), None);
        assert_eq!(
            reshape_strides(&[2, 3], &[0, 1], &[2, 3, 1]).unwrap()[..2],
            [0, 1]
        );
        assert_eq!(reshape_strides(&[2, 3], &[0, 1], &[6]), None);
    }

    #[test]
    fn an_axis_of_size_one_may_have_any_stride() {
        assert!(is_row_major(&[2, 1, 3], &[3, 77, 1]));
        assert!(!is_row_major(&[2, 3], &[1, 2]));
        assert!(is_row_major(&[2, 0], &[9, 9]));
        assert!(is_row_major(&[0, 2], &[9, 9]));
    }
}
