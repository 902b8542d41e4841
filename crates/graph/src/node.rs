//! Nodes: values of a graph, with what is known of them before anything runs.

/// A value of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    pub(crate) index: u32,
    pub(crate) graph: u32,
}

/// Rows and columns of a value; token ids are `[rows, 1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Rows: tokens.
    pub rows: u32,
    /// Columns: features.
    pub columns: u32,
}

/// Element type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    F32,
    U32,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::F32 => "f32",
            Kind::U32 => "u32",
        }
    }
}
