//! One walk over a shape with any strides, for any number of operands at once.
//!
//! Axes that follow one another without gaps in every operand are merged first,
//! so the inner runs are as long as the layouts allow.

use smallvec::SmallVec;

/// Walks `shape` in row-major order and calls `run` for each innermost stretch with every
/// operand's index of its first element, its length, and every operand's step inside it.
///
/// Indices wrap: a negative stride is its two's complement.
pub(crate) fn walk<const N: usize>(
    shape: &[usize],
    strides: [&[usize]; N],
    start: [usize; N],
    mut run: impl FnMut([usize; N], usize, [usize; N]),
) {
    if shape.contains(&0) {
        return;
    }
    let axes = merged(shape, strides);
    let Some((&(inner, steps), outer)) = axes.split_last() else {
        run(start, 1, [0; N]);
        return;
    };
    let mut count: SmallVec<[usize; 6]> = SmallVec::from_elem(0, outer.len());
    let mut at = start;
    loop {
        run(at, inner, steps);
        // The odometer: advance the last axis that is not at its end, rewind those after it.
        let mut axis = outer.len();
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            let (size, step) = outer[axis];
            count[axis] += 1;
            if count[axis] < size {
                for (at, step) in at.iter_mut().zip(step) {
                    *at = at.wrapping_add(step);
                }
                break;
            }
            count[axis] = 0;
            for (at, step) in at.iter_mut().zip(step) {
                *at = at.wrapping_sub(step.wrapping_mul(size - 1));
            }
        }
    }
}

/// The axes without those of size 1, neighbours merged where every operand allows it.
fn merged<const N: usize>(
    shape: &[usize],
    strides: [&[usize]; N],
) -> SmallVec<[(usize, [usize; N]); 6]> {
    let mut axes: SmallVec<[(usize, [usize; N]); 6]> = SmallVec::new();
    for (axis, &size) in shape.iter().enumerate() {
        if size == 1 {
            continue;
        }
        let step = strides.map(|strides| strides[axis]);
        match axes.last_mut() {
            Some((outer, outer_step))
                if outer_step
                    .iter()
                    .zip(step)
                    .all(|(&outer, inner)| outer == inner.wrapping_mul(size)) =>
            {
                *outer *= size;
                *outer_step = step;
            }
            _ => axes.push((size, step)),
        }
    }
    axes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contiguous_shape_is_one_run() {
        let mut runs = Vec::new();
        walk(&[2, 1, 3], [&[3, 9, 1]], [5], |at, n, step| {
            runs.push((at, n, step));
        });
        assert_eq!(runs, [([5], 6, [1])]);
    }

    #[test]
    fn a_transposed_operand_is_walked_in_the_order_of_the_shape() {
        let mut seen = Vec::new();
        walk(&[3, 2], [&[1, 3]], [0], |[at], n, [step]| {
            seen.extend((0..n).map(|j| at + j * step));
        });
        assert_eq!(seen, [0, 3, 1, 4, 2, 5]);
    }

    #[test]
    fn rank_zero_runs_once_and_an_empty_shape_never() {
        let mut runs = 0;
        walk(&[], [&[]], [0], |_, n, _| runs += n);
        walk(&[3, 0], [&[0, 0]], [0], |_, _, _| runs += 100);
        assert_eq!(runs, 1);
    }
}
