//! Medians and distributions.

use serde::{Deserialize, Serialize};

/// The middle of some numbers, the mean of both where there are two; NaN of none.
pub(crate) fn median(of: &[f64]) -> f64 {
    Spread::of(of).map_or(f64::NAN, |spread| spread.median)
}

/// How numbers are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    /// A tenth is not above it.
    pub(crate) p10: f64,
    pub(crate) median: f64,
    /// A tenth is above it.
    pub(crate) p90: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// `None` of no numbers.
    pub(crate) fn of(of: &[f64]) -> Option<Spread> {
        let mut sorted = of.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |share: f64| {
            let place = share * last as f64;
            let (low, high) = (
                sorted[place.floor() as usize],
                sorted[place.ceil() as usize],
            );
            low + (high - low) * place.fract()
        };
        Some(Spread {
            min: at(0.0),
            p10: at(0.1),
            median: at(0.5),
            p90: at(0.9),
            max: at(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_sorted_numbers() {
        assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert!(median(&[]).is_nan());
        let eleven: Vec<f64> = (0..11).rev().map(f64::from).collect();
        let want = Spread {
            min: 0.0,
            p10: 1.0,
            median: 5.0,
            p90: 9.0,
            max: 10.0,
        };
        assert_eq!(Spread::of(&eleven), Some(want));
    }
}
