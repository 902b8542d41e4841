//! What machines have that code is made for: how wide their vectors are, how many of them there are, and where masks stand.

use crate::Tier;
use std::{arch::x86_64::__cpuid, sync::OnceLock};
use warpsmith_x86::{Assembler, Len};

/// Whether lanes are moved beside multiplications, so that it costs nothing to do so again and again. AMD's cores have
/// a unit for it that does not multiply, and store half a register of AVX-512 in a cycle; Intel's have the one unit for
/// both, and store a whole one.
pub(super) fn shuffles_are_free() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let vendor = __cpuid(0);
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        name.as_flattened() == b"AuthenticAMD"
    })
}

/// A machine that code is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Target {
    /// 32 vector registers of 64 bytes, and mask registers.
    #[default]
    Avx512,
    /// 16 vector registers of 32 bytes. Masks are bits of general registers, or vectors.
    Avx2,
}

impl Target {
    /// The machine that handlers of a tier run on, if code is made for it.
    pub(super) fn of(tier: Tier) -> Option<Target> {
        match tier {
            Tier::Baseline => None,
            Tier::Avx2 => Some(Target::Avx2),
            Tier::Avx512 => Some(Target::Avx512),
        }
    }

    /// A whole vector register.
    pub(super) fn len(self) -> Len {
        match self {
            Target::Avx512 => Len::L512,
            Target::Avx2 => Len::L256,
        }
    }

    /// Bytes of a vector register.
    pub(super) fn bytes(self) -> u32 {
        self.len().bytes()
    }

    /// The vector register that is free between nodes: the last one.
    pub(super) fn scratch(self) -> u8 {
        match self {
            Target::Avx512 => 31,
            Target::Avx2 => 15,
        }
    }

    /// The most nodes of a run, as the compiler makes them: for narrow machines they become more.
    pub(super) fn most_nodes(self) -> usize {
        match self {
            Target::Avx512 => 12_000,
            Target::Avx2 => 6_000,
        }
    }

    /// An empty buffer for its instructions.
    pub(super) fn assembler(self) -> Assembler {
        match self {
            Target::Avx512 => Assembler::new(),
            Target::Avx2 => Assembler::for_avx2(),
        }
    }
}
