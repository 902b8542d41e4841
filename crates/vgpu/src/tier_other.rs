//! The one tier of architectures without multiversioning here.

use super::Tier;

pub(super) fn has(tier: Tier) -> bool {
    tier == Tier::Baseline
}
