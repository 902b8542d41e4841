//! What is noted of ops whose effects others see, and of warps that may wait for them.

use super::{Base, Run, SpanId, choices};
use rustc_hash::FxHashMap;

choices! {
    /// What an access is to.
    pub(crate) enum Memory {
        Global,
        Shared,
        Local,
        Generic,
    }
}

/// Where the lanes of an op access memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reaches {
    pub(crate) memory: Memory,
    /// Their addresses, and what is added to them.
    pub(crate) at: Base,
    pub(crate) offset: u64,
    /// Bytes of each lane.
    pub(crate) bytes: u32,
    /// Whether it is an `mbarrier` that stands there.
    pub(crate) object: bool,
}

/// What an op does, as far as others may see it or it waits for others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    /// It reads, and may wait for what it reads.
    Reads(Reaches),
    /// It writes.
    Writes(Reaches),
    /// It reads and writes, and may wait for what it reads.
    Swaps(Reaches),
    /// It changes what others see.
    Changes,
    /// It may do the work of the ops behind it, which do it as well.
    Shortens,
    None,
}

/// An op of a watched program.
#[derive(Clone, Copy)]
pub(crate) struct Noted {
    pub(crate) run: Run,
    /// The block that begins with it.
    pub(crate) block: Option<u32>,
    pub(crate) note: Note,
}

/// The ops that are looked at, by their index.
pub(crate) type Notes = FxHashMap<u32, Noted>;

/// What a warp did since someone last looked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// Blocks it ran.
    pub(crate) visited: Vec<bool>,
    /// Lanes that ran.
    pub(crate) ran: u32,
    /// The word that each lane read last.
    pub(crate) polled: [Option<Polled>; 32],
}

/// A word that a lane read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Polled {
    /// The index of its place in the program's spans.
    pub(crate) span: SpanId,
    /// As the instruction names it.
    pub(crate) memory: Memory,
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    pub(crate) object: bool,
}
