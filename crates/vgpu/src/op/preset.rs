//! Slots whose values come from outside of the code: special registers and parameters.

use super::Slot;
use warpsmith_ptx::special::Special;

/// A slot to be set before a warp runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preset {
    pub(crate) slot: Slot,
    pub(crate) value: Value,
}

/// What a preset holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    /// A special register that is the same for the warp.
    Scalar(Special),
    /// A special register as 32 lanes.
    Lanes(Special),
    /// A parameter at `offset`, read as `bytes` bytes.
    Param {
        /// In bytes.
        offset: u32,
        /// 1, 2, 4 or 8.
        bytes: u8,
        /// Whether it is sign-extended.
        signed: bool,
    },
}

/// Whether a special register changes between CTAs of a launch.
pub(crate) fn is_per_cta(special: Special) -> bool {
    matches!(
        special,
        Special::CtaidX
            | Special::CtaidY
            | Special::CtaidZ
            | Special::ClusteridX
            | Special::ClusteridY
            | Special::ClusteridZ
            | Special::ClusterCtaidX
            | Special::ClusterCtaidY
            | Special::ClusterCtaidZ
            | Special::ClusterCtarank
            | Special::Smid
    )
}

/// Whether a special register has to be read when the instruction runs.
pub(crate) fn is_clock(special: Special) -> bool {
    matches!(
        special,
        Special::Clock
            | Special::ClockHi
            | Special::Clock64
            | Special::Globaltimer
            | Special::GlobaltimerLo
            | Special::GlobaltimerHi
    )
}
