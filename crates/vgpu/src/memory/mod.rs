//! Device memory: the arena, its allocator and guest accesses.

mod apart;
mod arena;
mod copy;
pub(crate) mod lent;
mod own;
mod pair;
mod raw;

pub(crate) use arena::{Addresses, Arena, Fresh};
pub(crate) use own::{FOREIGN, Foreign, Own};
pub(crate) use raw::{Bad, Buffer, Window, Word};

/// The first guest address of device memory.
pub(crate) const GLOBAL_BASE: u64 = 0x10_0000_0000;
/// Where generic addresses of shared memory start.
pub(crate) const SHARED_BASE: u64 = 0x1_0000_0000;
/// Where generic addresses of local memory start.
pub(crate) const LOCAL_BASE: u64 = 0x2_0000_0000;
/// Size of the generic windows of shared and local memory.
pub(crate) const WINDOW: u64 = 0x1000_0000;
/// As far as the memories of the CTAs of a cluster are apart in its window of shared memory, as a power of two: that of a CTA
/// itself comes first, as if it were alone, and behind it those of all, by their rank.
pub(crate) const RANK: u32 = 23;
/// Where generic addresses of a kernel's parameters start, right behind those of local memory.
pub(crate) const PARAM_BASE: u64 = LOCAL_BASE + WINDOW;
