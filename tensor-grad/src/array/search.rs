//! Where the largest element is.

use super::Array;
use crate::element::RealElement;
use crate::error::{Error, Result};
use crate::lanes::Lanes;

impl<T: RealElement> Array<T> {
    /// Returns the place of the largest element along `axis`, for all other axes in row-major order.
    ///
    /// The first one where several are equal; not-a-number counts as largest.
    ///
    /// # Examples
    ///
    /// ```
    /// use tensor_grad::Array;
    ///
    /// let scores = Array::from_vec(&[2, 3], vec![0.1_f32, 0.7, 0.2, 0.5, 0.1, 0.4])?;
    /// let classes = [1, 2];
    /// let right = scores.argmax(1)?.iter().zip(&classes).filter(|(a, b)| a == b).count();
    /// assert_eq!(right, 1);
    /// # Ok::<(), tensor_grad::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Axis`] if the axis does not exist, [`Error::Empty`] if it has size 0.
    pub fn argmax(&self, axis: usize) -> Result<Vec<usize>> {
        let op = "argmax";
        let lanes = Lanes::new(op, self.shape(), axis)?;
        if lanes.len == 0 {
            return Err(Error::Empty {
                op,
                shape: self.shape().into(),
            });
        }
        let x = self.dense();
        let place = |start: usize| {
            let mut best = (0, x[start]);
            for j in 1..lanes.len {
                let x = x[start + j * lanes.step];
                let is_first_nan = x.is_nan() && !best.1.is_nan();
                if x > best.1 || is_first_nan {
                    best = (j, x);
                }
            }
            best.0
        };
        Ok(lanes.starts().map(place).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equals_is_found_along_any_axis() {
        let data = vec![1.0_f64, 3.0, 3.0, 9.0, f64::NAN, 9.0];
        let x = Array::from_vec(&[2, 3], data).unwrap();
        assert_eq!(x.argmax(1), Ok(vec![1, 1]));
        assert_eq!(x.argmax(0), Ok(vec![1, 1, 1]));
        assert_eq!(x.transpose(0, 1).unwrap().argmax(0), Ok(vec![1, 1]));
        assert!(x.argmax(2).is_err());
        assert!(Array::<f32>::zeros(&[2, 0]).unwrap().argmax(1).is_err());
        assert_eq!(Array::<f32>::zeros(&[0, 2]).unwrap().argmax(1), Ok(vec![]));
    }
}
