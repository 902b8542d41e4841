//! Speech decoding on the device: which tokens may follow, how probable they are, which is taken, and what a sequence
//! remembers of it.
//!
//! A row is a sequence: a beam, or one of several samples. Its history is four words: how many tokens were chosen, the
//! last, the one before, and the last that was a timestamp (0 for none).

mod choose;
mod choose_cases;
mod follow;
mod probability;
mod reference;

pub use choose::{Choose, ChooseArgs, Pick, Rules};
pub use follow::{Follow, FollowArgs, Parents};
pub use probability::{Probability, ProbabilityArgs};
pub use reference::{Allowed, Vocabulary, gumbel};

use crate::{
    case::{AnyCase, Random},
    values::{F32, Word},
};
use warpsmith_kernel::Val;

/// Words of a history.
pub const HISTORY: u32 = 4;

/// `x`, with minus infinity for NaN and without a negative zero.
fn clean<'k>(x: F32<'k>) -> F32<'k> {
    x.equals(x).select(x, f32::NEG_INFINITY) + 0.0
}

/// The integer whose order is that of the float, which is not NaN.
fn key_of<'k>(x: F32<'k>) -> Word<'k> {
    let bits = x.to_bits();
    let mask: Word = bits.ge(0x8000_0000).select(u32::MAX, 0x8000_0000);
    bits ^ mask
}

/// The key of minus infinity, the lowest there is.
const LOWEST: u32 = 0x007f_ffff;

/// `ln(x)`.
fn ln<'k, U: warpsmith_kernel::uni::Uni>(x: Val<'k, f32, U>) -> Val<'k, f32, U> {
    x.log2_approx() * std::f32::consts::LN_2
}

/// All three kernels.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases = choose_cases::cases(rng);
    follow::cases(rng, &mut cases);
    probability::cases(rng, &mut cases);
    cases
}
