//! Which elements of a row a coordinate is made of, and in what parts.

use super::{Address, Filter};

/// Steps in which parts are told.
const STEPS: f64 = 256.0;

/// Elements and their parts; no element is the border.
pub(super) type Taps = [(Option<u32>, f64); 2];

/// The element that an index stands for, of `count` in a row.
fn resolve(index: i64, count: u32, address: Address) -> Option<u32> {
    let count = i64::from(count.max(1));
    let inside = match address {
        Address::Clamp => index.clamp(0, count - 1),
        Address::Wrap => index.rem_euclid(count),
        Address::Mirror => {
            let place = index.rem_euclid(2 * count);
            place.min(2 * count - 1 - place)
        }
        Address::Border if (0..count).contains(&index) => index,
        Address::Border => return None,
    };
    Some(inside as u32)
}

/// A coordinate among `count` elements; what is no number is 0.
pub(super) struct Coordinate {
    pub(super) x: f64,
    pub(super) count: u32,
    pub(super) address: Address,
}

impl Coordinate {
    /// Elements around the place, and their parts: with x' = x - 0.5 in steps of 1/256 it is element floor(x') by
    /// 1 - frac(x') and the next one by frac(x').
    pub(super) fn taps(&self, filter: Filter) -> Taps {
        let x = if self.x.is_nan() { 0.0 } else { self.x };
        let at = |index: i64| resolve(index, self.count, self.address);
        match filter {
            Filter::Point => [(at(x.floor() as i64), 1.0), (None, 0.0)],
            Filter::Linear => {
                let steps = ((x * STEPS + 0.5).floor() as i64).saturating_sub(STEPS as i64 / 2);
                let (index, part) = (
                    steps.div_euclid(STEPS as i64),
                    steps.rem_euclid(STEPS as i64),
                );
                let part = part as f64 / STEPS;
                [(at(index), 1.0 - part), (at(index.saturating_add(1)), part)]
            }
        }
    }
}

/// Intensity of a number from 0 to 1 as sRGB has it (IEC 61966-2-1).
pub(super) fn intensity(x: f64) -> f64 {
    if x <= 0.04045 {
        x / 12.92
    } else {
        ((x + 0.055) / 1.055).powf(2.4)
    }
}

/// The value of an IEEE half.
pub(super) fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_outside_are_what_the_address_mode_says() {
        let all =
            |address| -> Vec<Option<u32>> { (-5..9).map(|at| resolve(at, 4, address)).collect() };
        let some = |list: &[u32]| -> Vec<Option<u32>> { list.iter().map(|at| Some(*at)).collect() };
        let clamped = [0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3];
        assert_eq!(all(Address::Clamp), some(&clamped));
        let wrapped = [3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0];
        assert_eq!(all(Address::Wrap), some(&wrapped));
        let mirrored = [3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0];
        assert_eq!(all(Address::Mirror), some(&mirrored));
        let border = all(Address::Border);
        assert_eq!(border.iter().flatten().count(), 4);
        assert_eq!(border[5..9], some(&[0, 1, 2, 3]));
    }

    #[test]
    fn parts_are_of_256_and_one_is_exact() {
        let taps = |x| {
            let coordinate = Coordinate {
                x,
                count: 8,
                address: Address::Clamp,
            };
            coordinate.taps(Filter::Linear)
        };
        assert_eq!(taps(2.5), [(Some(2), 1.0), (Some(3), 0.0)]);
        assert_eq!(taps(2.75), [(Some(2), 0.75), (Some(3), 0.25)]);
        // Nearest to a step, up to the next element.
        assert_eq!(
            taps(2.5 + 0.9 / 256.0),
            [(Some(2), 255.0 / 256.0), (Some(3), 1.0 / 256.0)]
        );
        assert_eq!(taps(3.4999), [(Some(3), 1.0), (Some(4), 0.0)]);
        assert_eq!(taps(0.0), [(Some(0), 0.5), (Some(0), 0.5)]);
        assert_eq!(taps(f64::INFINITY)[0].0, Some(7));
        assert_eq!(taps(f64::NAN), taps(0.0));
    }

    #[test]
    fn halves_have_their_values() {
        for (bits, value) in [
            (0x0001, 2f64.powi(-24)),
            (0x03FF, 1023.0 * 2f64.powi(-24)),
            (0x0400, 2f64.powi(-14)),
            (0x3C00, 1.0),
            (0xC500, -5.0),
            (0x7BFF, 65504.0),
            (0xFC00, f64::NEG_INFINITY),
        ] {
            assert_eq!(half(bits), value, "{bits:x}");
        }
        assert!(half(0x7C01).is_nan());
    }
}
