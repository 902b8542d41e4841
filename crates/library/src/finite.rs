//! Whether a token can be drawn from logits: none of them is NaN or plus infinity, and not all are minus infinity.
//!
//! Minus infinity is a probability of zero, which rules and callers give on purpose. NaN and plus infinity are the mark of
//! a damaged weight, or of a value that left the range of its type: kernels that draw then leave [`NOT_FINITE`].

use crate::values::{F32, Word};
use warpsmith_kernel::{Val, uni};

/// What kernels that draw leave in the place of a token where none can be drawn: no vocabulary is that large.
pub const NOT_FINITE: u32 = u32::MAX - 1;

/// The class of a finite logit: below are those of minus infinity, above are NaN and plus infinity.
const FINITE: u32 = 1;

/// The class of a logit.
#[track_caller]
pub(crate) fn class<'k>(x: F32<'k>) -> Word<'k> {
    let some: Word = x.gt(f32::NEG_INFINITY).select(FINITE, 0u32);
    x.lt(f32::INFINITY).select(some, FINITE + 1)
}

/// Whether a token can be drawn from logits of which `highest` is the highest class.
#[track_caller]
pub(crate) fn is_drawable<'k>(highest: Val<'k, u32, uni::Cta>) -> Val<'k, bool, uni::Cta> {
    highest.equals(FINITE)
}

/// Whether a token can be drawn from `logits`, on the host.
pub fn drawable(logits: &[f32]) -> bool {
    let some = logits.iter().any(|x| *x > f32::NEG_INFINITY);
    some && logits.iter().all(|x| *x < f32::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::drawable;

    #[test]
    fn tokens_are_drawn_from_logits_without_nan_and_plus_infinity_of_which_one_is_finite() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        let cases: [(&[f32], bool); 8] = [
            (&[0.0], true),
            (&[-inf, -3e38, -inf], true),
            (&[3e38, -0.0], true),
            (&[], false),
            (&[-inf, -inf], false),
            (&[1.0, inf], false),
            (&[nan, 1.0], false),
            (&[-nan, -inf], false),
        ];
        for (logits, want) in cases {
            assert_eq!(drawable(logits), want, "{logits:?}");
        }
    }
}
