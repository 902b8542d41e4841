//! The same steps in portable code.

use super::{Dp4a, Engine};
use crate::exec::shape::Tern;

/// Plain loops.
pub(super) struct Words;
/// Plain loops.
pub(super) type Bytes = Words;

impl Engine for Words {
    #[inline(always)]
    fn lanes<const SA: bool>(sum: &mut [u32; 32], a: &[u32; 32], b: &[u32; 32]) {
        for ((sum, a), b) in sum.iter_mut().zip(a).zip(b) {
            *sum = Dp4a::<SA, true>::f(*a, *b, *sum as i32) as u32;
        }
    }

    #[inline(always)]
    fn scalar<const SA: bool>(sum: &mut [u32; 32], a: &[u32; 32], b: u32) {
        Self::lanes::<SA>(sum, a, &[b; 32]);
    }
}
