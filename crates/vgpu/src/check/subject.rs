//! What the checker knows of a program that runs: its name, its places and accesses, and where its variables are.

use super::{access::AccessInfo, memory::Variables};
use crate::ids::SpanId;
use warpsmith_ptx::ir::{Name, Span};

/// A program as the checker sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subject {
    pub(crate) name: Name,
    /// Places in its text.
    pub(crate) spans: Vec<Span>,
    /// Addresses and sizes of the module's constants.
    pub(crate) constants: Vec<(u64, u64)>,
    /// Accesses that are checked.
    pub(crate) accesses: Vec<AccessInfo>,
    /// Shared variables.
    pub(crate) shared: Variables,
    /// Where dynamic shared memory starts.
    pub(crate) open_shared: Option<u64>,
    /// Local variables, and bytes of local memory per thread.
    pub(crate) local: Variables,
    pub(crate) local_bytes: u32,
}

impl Subject {
    /// Whether all of a range is one of the module's constants.
    pub(crate) fn is_constant(&self, from: u64, len: u64) -> bool {
        self.constants.iter().any(|(start, bytes)| {
            let inside = from.checked_sub(*start);
            inside.is_some_and(|at| at.checked_add(len).is_some_and(|end| end <= *bytes))
        })
    }

    /// Whether some of a range is in one of the module's constants.
    pub(crate) fn touches_constant(&self, from: u64, len: u64) -> bool {
        let end = from.saturating_add(len);
        let touches = |(start, bytes): &(u64, u64)| *start < end && from < start + bytes;
        self.constants.iter().any(touches)
    }

    /// The place of an op.
    pub(crate) fn span(&self, at: SpanId) -> Span {
        self.spans.get(at.0 as usize).copied().unwrap_or_default()
    }
}
