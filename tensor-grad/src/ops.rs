//! The operations: one file each, with forward, backward, sample cases and tests.
//!
//! A new op is a new file and one line in the list below. The list declares the
//! module and collects its `cases()`, which `op_table.rs` checks against finite
//! differences; a file that is not in the list, and a public method without a
//! case, each fail a test there.

#![cfg_attr(
    test,
    expect(
        clippy::unnecessary_wraps,
        reason = "the cases of ops that cannot fail have the signature of those that can"
    )
)]

/// Declares the op modules and, for tests, the list of their sample cases.
macro_rules! ops {
    ($($name:ident,)*) => {
        $(mod $name;)*

        /// The names of the op files.
        #[cfg(test)]
        pub(crate) const FILES: &[&str] = &[$(stringify!($name)),*];

        /// Every op's sample cases.
        #[cfg(test)]
        pub(crate) fn cases() -> Vec<crate::op_table::Case> {
            [$($name::cases()),*].into_iter().flatten().collect()
        }
    };
}

ops! {
    abs,
    add,
    broadcast_to,
    conj,
    cos,
    cross_entropy,
    div,
    exp,
    imag,
    linear,
    log,
    log_softmax,
    matmul,
    max,
    mean,
    mse,
    mul,
    neg,
    permute,
    powf,
    powi,
    real,
    relu,
    reshape,
    sigmoid,
    sin,
    softmax,
    sqrt,
    sub,
    sum,
    tanh,
    to_complex,
}
