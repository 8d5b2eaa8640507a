//! Shapes as checked products.
//!
//! A shape's number of elements is what a pool keys on, so a product that wraps would hand out a
//! short buffer for a huge request. [`elements`] is the only way from a shape to a length, and it
//! checks the product in elements, in bytes, and against `isize::MAX`, the largest object that
//! Rust allows.

/// A shape with more elements than memory can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "shape {shape:?} of {element_bytes}-byte elements does not fit in memory; its product must \
     stay within isize::MAX bytes"
)]
pub struct ShapeError {
    /// The shape asked for.
    pub shape: Box<[usize]>,
    /// Size of one element, in bytes.
    pub element_bytes: usize,
}

/// Number of elements of `shape`: the product of its extents, 1 for the empty shape.
///
/// A shape with an extent of 0 has no elements, whatever its other extents are.
///
/// # Errors
///
/// [`ShapeError`] if the elements would take more than `isize::MAX` bytes.
///
/// # Examples
///
/// ```
/// use pool_core::elements;
///
/// assert_eq!(elements(&[2, 3], 8), Ok(6));
/// assert_eq!(elements(&[], 8), Ok(1));
/// assert_eq!(elements(&[0, usize::MAX, usize::MAX], 8), Ok(0));
/// assert!(elements(&[1 << 33, 1 << 33], 8).is_err());
/// ```
#[inline]
pub fn elements(shape: &[usize], element_bytes: usize) -> Result<usize, ShapeError> {
    let mut product = 1_usize;
    for &extent in shape {
        match product.checked_mul(extent) {
            Some(more) => product = more,
            None => return oversized(shape, element_bytes),
        }
    }
    if fits(product, element_bytes) {
        Ok(product)
    } else {
        oversized(shape, element_bytes)
    }
}

/// The answer where the product wrapped: an extent of 0 that comes later makes it nothing.
#[cold]
fn oversized(shape: &[usize], element_bytes: usize) -> Result<usize, ShapeError> {
    if shape.contains(&0) {
        return Ok(0);
    }
    Err(ShapeError {
        shape: shape.into(),
        element_bytes,
    })
}

/// Whether `elements` of `element_bytes` each make an object that Rust allows.
#[inline]
fn fits(elements: usize, element_bytes: usize) -> bool {
    elements
        .checked_mul(element_bytes)
        .is_some_and(|bytes| isize::try_from(bytes).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_that_would_wrap_is_an_error_that_names_the_shape() {
        for shape in [
            &[1 << 33, 1 << 33][..],
            &[usize::MAX, 2],
            &[1 << 61],
            &[1 << 60],
        ] {
            let error = elements(shape, 8).unwrap_err();
            assert!(error.to_string().contains(&format!("{shape:?}")), "{error}");
        }
        assert_eq!(elements(&[(1 << 60) - 1], 8), Ok((1 << 60) - 1));
    }

    #[test]
    fn an_extent_of_zero_makes_the_shape_empty_before_anything_can_wrap() {
        assert_eq!(elements(&[usize::MAX, usize::MAX, 0], 8), Ok(0));
        assert_eq!(elements(&[3, 0], 8), Ok(0));
    }

    #[test]
    fn rank_zero_is_one_element() {
        assert_eq!(elements(&[], 8), Ok(1));
    }

    #[test]
    fn elements_without_a_size_are_bounded_by_their_number_alone() {
        assert_eq!(elements(&[usize::MAX], 0), Ok(usize::MAX));
        assert!(elements(&[usize::MAX, 2], 0).is_err());
    }
}
