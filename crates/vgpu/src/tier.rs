//! Code paths by CPU: each handler is compiled once for each tier, with the same bits.

#[cfg_attr(target_arch = "x86_64", path = "tier_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "tier_other.rs")]
mod arch;

/// A code path. All of them give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// What every CPU of the architecture can do.
    Baseline,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// x86-64 with AVX-512 F, BW, VL, DQ and VNNI.
    Avx512,
}

impl Tier {
    /// The tiers this CPU has, slowest first.
    pub fn available() -> Vec<Tier> {
        [Tier::Baseline, Tier::Avx2, Tier::Avx512]
            .into_iter()
            .filter(|tier| arch::has(*tier))
            .collect()
    }

    /// The fastest tier of this CPU.
    pub fn best() -> Tier {
        Tier::available().pop().unwrap_or(Tier::Baseline)
    }

    /// Whether kernels are compiled for it.
    pub fn is_compiled(self) -> bool {
        match self {
            Tier::Baseline => false,
            Tier::Avx2 | Tier::Avx512 => true,
        }
    }

    pub(crate) fn is_available(self) -> bool {
        arch::has(self)
    }
}
