//! How two contributions of a reduction become one.
//!
//! A reduction folds contributions in rank order, element by element, on one
//! rank: the same inputs give the same bits on every run and every backend,
//! whatever arrives first.
//!
//! The rule for NaN: [`Sum`] and [`Product`] are the element's own `+` and `*`,
//! which carry a NaN on. [`Min`] and [`Max`] return a NaN as soon as one rank
//! contributed one, the NaN of the lowest such rank. Of values that compare
//! equal, such as 0.0 and -0.0, they return the lowest rank's.

use std::ops::{Add, Mul};

use crate::element::{Element, fingerprint};

/// Folds one more contribution into an accumulator of the same length.
///
/// Implemented by [`Sum`], [`Product`], [`Min`], [`Max`] and by every
/// `Fn(T, T) -> T`. The operator should be associative for the result to mean
/// what it says; it need not be commutative, because the order is the ranks'.
pub trait Operator<T: Element> {
    /// Replaces each element of `folded` by its combination with that of `next`, a higher rank's.
    fn fold(&self, folded: &mut [T], next: &[T]);

    /// Returns the operator's name, by which ranks check that they mean the same one.
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }
}

/// The sum in rank order. Overflow of integers is that of the element's own `+`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sum;

/// The product in rank order. Overflow of integers is that of the element's own `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product;

/// The least contribution, or a NaN if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Min;

/// The greatest contribution, or a NaN if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Max;

/// The names that an error can give back for a fingerprint.
const NAMED: [&str; 4] = ["sum", "product", "min", "max"];

/// Says which operator a fingerprint is.
pub(crate) fn named(print: u32) -> Option<&'static str> {
    NAMED.into_iter().find(|name| fingerprint(name) == print)
}

impl<T: Element + Add<Output = T>> Operator<T> for Sum {
    fn fold(&self, folded: &mut [T], next: &[T]) {
        each(folded, next, |a, b| a + b);
    }

    fn name(&self) -> &'static str {
        "sum"
    }
}

impl<T: Element + Mul<Output = T>> Operator<T> for Product {
    fn fold(&self, folded: &mut [T], next: &[T]) {
        each(folded, next, |a, b| a * b);
    }

    fn name(&self) -> &'static str {
        "product"
    }
}

impl<T: Element + PartialOrd> Operator<T> for Min {
    fn fold(&self, folded: &mut [T], next: &[T]) {
        each(folded, next, |a, b| {
            if is_nan(a) || !(is_nan(b) || b < a) {
                a
            } else {
                b
            }
        });
    }

    fn name(&self) -> &'static str {
        "min"
    }
}

impl<T: Element + PartialOrd> Operator<T> for Max {
    fn fold(&self, folded: &mut [T], next: &[T]) {
        each(folded, next, |a, b| {
            if is_nan(a) || !(is_nan(b) || b > a) {
                a
            } else {
                b
            }
        });
    }

    fn name(&self) -> &'static str {
        "max"
    }
}

impl<T: Element, F: Fn(T, T) -> T> Operator<T> for F {
    fn fold(&self, folded: &mut [T], next: &[T]) {
        each(folded, next, self);
    }
}

fn each<T: Element>(folded: &mut [T], next: &[T], combine: impl Fn(T, T) -> T) {
    for (folded, next) in folded.iter_mut().zip(next) {
        *folded = combine(*folded, *next);
    }
}

/// A value that does not compare with itself.
fn is_nan<T: Element + PartialOrd>(value: T) -> bool {
    value.partial_cmp(&value).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold<T: Element>(operator: &impl Operator<T>, ranks: &[T]) -> T {
        let mut folded = [ranks[0]];
        ranks[1..]
            .iter()
            .for_each(|next| operator.fold(&mut folded, &[*next]));
        folded[0]
    }

    #[test]
    fn a_nan_on_any_rank_is_the_result_of_min_and_max() {
        for at in 0..3 {
            let mut ranks = [1.0_f64, 2.0, 3.0];
            ranks[at] = f64::NAN;
            for result in [
                fold(&Min, &ranks),
                fold(&Max, &ranks),
                fold(&Sum, &ranks),
                fold(&Product, &ranks),
            ] {
                assert!(result.is_nan(), "rank {at}");
            }
        }
    }

    #[test]
    fn values_that_compare_equal_keep_the_lowest_rank() {
        assert!(fold(&Min, &[0.0_f32, -0.0]).is_sign_positive());
        assert!(fold(&Max, &[-0.0_f32, 0.0]).is_sign_negative());
        assert_eq!(fold(&Min, &[3_i8, -4, 5]), -4);
        assert_eq!(fold(&Max, &[3_u64, 4, 2]), 4);
    }

    #[test]
    fn a_closure_folds_in_rank_order() {
        assert_eq!(fold(&|a: u32, b: u32| a * 10 + b, &[1, 2, 3]), 123);
    }
}
