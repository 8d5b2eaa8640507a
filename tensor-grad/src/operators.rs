//! `+`, `-`, `*`, `/` and unary `-` on tensors, by reference and by value, and with numbers.
//!
//! They call the fallible methods and panic with the error's own text.

use core::ops::{Add, Div, Mul, Neg, Sub};

use crate::element::Element;
use crate::tensor::Tensor;

macro_rules! operator {
    ($($trait:ident $method:ident $fallible:ident $what:literal;)*) => {$(
        impl<T: Element> $trait<&Tensor<T>> for &Tensor<T> {
            type Output = Tensor<T>;

            #[doc = concat!($what, " two tensors, broadcasting.")]
            ///
            /// # Panics
            ///
            #[doc = concat!("If the shapes do not broadcast, with the text of the error of [`", stringify!($fallible), "`](Tensor::", stringify!($fallible), ").")]
            #[track_caller]
            fn $method(self, other: &Tensor<T>) -> Tensor<T> {
                match self.$fallible(other) {
                    Ok(tensor) => tensor,
                    Err(error) => panic!("{error}"),
                }
            }
        }

        impl<T: Element> $trait<Tensor<T>> for &Tensor<T> {
            type Output = Tensor<T>;

            #[track_caller]
            fn $method(self, other: Tensor<T>) -> Tensor<T> {
                $trait::$method(self, &other)
            }
        }

        impl<T: Element> $trait<&Tensor<T>> for Tensor<T> {
            type Output = Tensor<T>;

            #[track_caller]
            fn $method(self, other: &Tensor<T>) -> Tensor<T> {
                $trait::$method(&self, other)
            }
        }

        impl<T: Element> $trait<Tensor<T>> for Tensor<T> {
            type Output = Tensor<T>;

            #[track_caller]
            fn $method(self, other: Tensor<T>) -> Tensor<T> {
                $trait::$method(&self, &other)
            }
        }

        impl<T: Element> $trait<T> for &Tensor<T> {
            type Output = Tensor<T>;

            #[doc = concat!($what, " every element and a number.")]
            fn $method(self, other: T) -> Tensor<T> {
                $trait::$method(self, &Tensor::scalar(other))
            }
        }

        impl<T: Element> $trait<T> for Tensor<T> {
            type Output = Tensor<T>;

            fn $method(self, other: T) -> Tensor<T> {
                $trait::$method(&self, &Tensor::scalar(other))
            }
        }
    )*};
}

operator! {
    Add add try_add "Adds";
    Sub sub try_sub "Subtracts";
    Mul mul try_mul "Multiplies";
    Div div try_div "Divides";
}

impl<T: Element> Neg for &Tensor<T> {
    type Output = Tensor<T>;

    fn neg(self) -> Tensor<T> {
        self.negative()
    }
}

impl<T: Element> Neg for Tensor<T> {
    type Output = Tensor<T>;

    fn neg(self) -> Tensor<T> {
        self.negative()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use crate::{Array, Tensor};

    #[test]
    fn an_operator_panics_with_the_text_of_the_error() {
        let a = Tensor::constant(Array::<f32>::zeros(&[3]).unwrap());
        let b = Tensor::constant(Array::<f32>::zeros(&[4]).unwrap());
        let text = a.try_add(&b).unwrap_err().to_string();
        let panic = catch_unwind(AssertUnwindSafe(|| &a + &b)).unwrap_err();
        assert_eq!(panic.downcast_ref::<String>(), Some(&text));
    }

    #[test]
    fn numbers_and_tensors_mix() {
        let x = Tensor::leaf(Array::scalar(3.0_f64));
        let y = (&x * 2.0 + 1.0 - &x) / 4.0;
        assert_eq!(y.item(), Ok(1.0));
        assert_eq!((-&y).backward().unwrap().get(&x), Some(&[-0.25][..]));
    }
}
