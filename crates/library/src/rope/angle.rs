//! Sine and cosine in f32 of `position * frequency`, accurate for long contexts.

use crate::values::F32;

/// Largest absolute error of [`sin_cos`] for integer positions and angles up to 131072.
pub(crate) const SIN_COS_ERROR: f64 = 1.2e-7;

/// `pi / 2` in two parts: the f32 next to it, and what is missing (Cody and Waite, 1980).
const HALF_PI: [f32; 2] = [1.570_796_4, -4.371_139e-8];
/// Taylor series of `sin(r) / r - 1` and `cos(r) - 1` in `r^2`, highest power first. Up to |r| = 0.8 what follows is
/// below 3e-9 and 2e-10.
const SIN: [f32; 4] = [1.0 / 362_880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0];
const COS: [f32; 5] = [
    -1.0 / 3_628_800.0,
    1.0 / 40_320.0,
    -1.0 / 720.0,
    1.0 / 24.0,
    -0.5,
];

/// Sine and cosine of the product, whose rounding error is carried along.
///
/// The angle is brought to within a little more than `pi / 4` by multiples of `pi / 2`: the product of the multiple
/// with the first part is subtracted exactly by one fused operation, the second part is good for multiples up to 2^17.
#[track_caller]
pub(crate) fn sin_cos<'k>(position: F32<'k>, frequency: F32<'k>) -> (F32<'k>, F32<'k>) {
    let angle = position * frequency;
    let lost = position.mul_add(frequency, -angle);
    let quarter = (angle * std::f32::consts::FRAC_2_PI).round_i32();
    let turns = quarter.f32();
    let rest = turns.mul_add(-HALF_PI[0], angle) + turns.mul_add(-HALF_PI[1], lost);
    let square = rest * rest;
    let series = |terms: &[f32]| {
        let mut sum: F32<'k> = terms[0].into();
        for term in &terms[1..] {
            sum = sum.mul_add(square, *term);
        }
        sum
    };
    let sin = (series(&SIN) * square).mul_add(rest, rest);
    let cos = series(&COS).mul_add(square, 1.0);
    let quarter = quarter.as_u32();
    let odd = (quarter & 1).equals(1);
    let (s, c) = (odd.select(cos, sin), odd.select(sin, cos));
    let sin_negative = (quarter & 2).equals(2);
    let cos_negative = ((quarter + 1) & 2).equals(2);
    (sin_negative.select(-s, s), cos_negative.select(-c, c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Random;

    /// The same operations on the host, which rounds alike.
    fn host(position: f32, frequency: f32) -> (f32, f32) {
        let angle = position * frequency;
        let lost = position.mul_add(frequency, -angle);
        let turns = (angle * std::f32::consts::FRAC_2_PI).round_ties_even();
        let quarter = turns as i32;
        let rest = turns.mul_add(-HALF_PI[0], angle) + turns.mul_add(-HALF_PI[1], lost);
        let square = rest * rest;
        let series = |terms: &[f32]| {
            terms[1..]
                .iter()
                .fold(terms[0], |sum, term| sum.mul_add(square, *term))
        };
        let sin = (series(&SIN) * square).mul_add(rest, rest);
        let cos = series(&COS).mul_add(square, 1.0);
        match quarter & 3 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        }
    }

    #[test]
    fn the_error_stays_below_the_bound_up_to_131072() {
        let mut rng = Random::new(3);
        let mut worst = 0.0f64;
        for at in 0..400_000u32 {
            let position = at % 131_073;
            let frequency = match at % 4 {
                0 => 1.0,
                1 => (rng.number(1.0)).abs(),
                _ => (10_000f64).powf(-f64::from(rng.range(0, 63)) / 64.0) as f32,
            };
            let exact = (f64::from(position) * f64::from(frequency)).sin_cos();
            let (sin, cos) = host(position as f32, frequency);
            let errors = [f64::from(sin) - exact.0, f64::from(cos) - exact.1];
            worst = errors
                .iter()
                .fold(worst, |worst, error| worst.max(error.abs()));
        }
        assert!(worst < SIN_COS_ERROR, "{worst:e}");
        assert!(
            worst > SIN_COS_ERROR / 4.0,
            "the bound {SIN_COS_ERROR:e} is loose: {worst:e}"
        );
    }
}
