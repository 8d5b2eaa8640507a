//! A median with its quartiles.

use crate::report::Verdict;

/// Where the middle half of some numbers lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// The smallest.
    pub(crate) least: f64,
    /// A quarter is below.
    pub(crate) lower: f64,
    /// Half is below.
    pub(crate) median: f64,
    /// A quarter is above.
    pub(crate) upper: f64,
}

impl Spread {
    /// The spread of `numbers`, or none if there are none.
    pub(crate) fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut numbers: Vec<f64> = numbers.into_iter().collect();
        numbers.sort_by(f64::total_cmp);
        let last = numbers.len().checked_sub(1)?;
        let at = |quarter: usize| {
            let place = quarter * last;
            let (below, part) = (place / 4, (place % 4) as f64 / 4.0);
            let above = (below + 1).min(last);
            numbers[below] + part * (numbers[above] - numbers[below])
        };
        Some(Self {
            least: numbers[0],
            lower: at(1),
            median: at(2),
            upper: at(3),
        })
    }
}

impl Verdict {
    /// Whether numbers of this spread are at most `most`.
    pub(crate) fn of(spread: Spread, most: f64) -> Self {
        if spread.upper <= most {
            Self::Met
        } else if spread.median <= most {
            Self::MetNarrowly
        } else if spread.lower <= most {
            Self::MissedNarrowly
        } else {
            Self::Missed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_says_when_the_spread_straddles_the_target() {
        let spread = Spread::of([1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let verdicts = [4.0, 3.0, 2.0, 1.0].map(|most| Verdict::of(spread, most));
        assert_eq!(
            verdicts,
            [
                Verdict::Met,
                Verdict::MetNarrowly,
                Verdict::MissedNarrowly,
                Verdict::Missed
            ]
        );
    }

    #[test]
    fn quartiles_of_five_numbers_are_three_of_them() {
        let spread = Spread::of([5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        let expected = Spread {
            least: 1.0,
            lower: 2.0,
            median: 3.0,
            upper: 4.0,
        };
        assert_eq!(spread, expected);
        let between = Spread {
            least: 1.0,
            lower: 1.25,
            median: 1.5,
            upper: 1.75,
        };
        assert_eq!(Spread::of([2.0, 1.0]), Some(between));
        assert_eq!(Spread::of([]), None);
    }
}
