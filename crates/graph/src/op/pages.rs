//! Operations over keys and values in pages.

use crate::{node::Node, resource::Pages};
use std::sync::Arc;

/// New keys and values for sequences in pages.
#[derive(Clone, Debug)]
pub struct PagedAppend {
    /// Keys `[rows, kv_heads * head_dim]`.
    pub k: Node,
    /// Values of the same shape.
    pub v: Node,
    /// Where each row goes in its sequence; one past what a row of the table holds goes nowhere.
    pub positions: Node,
    /// The sequence of each row: its row of the table.
    pub slots: Node,
    /// The pages.
    pub pages: Arc<Pages>,
}

/// Attention of queries over sequences in pages.
#[derive(Clone, Debug)]
pub struct PagedAttention {
    /// Queries `[rows, heads * head_dim]`.
    pub q: Node,
    /// Keys each row sees, read on the device.
    pub visible: Node,
    /// The sequence of each row: its row of the table.
    pub slots: Node,
    /// The pages.
    pub pages: Arc<Pages>,
    /// Query heads.
    pub heads: u32,
    /// Multiplies the scores.
    pub scale: f32,
    /// What is known of the rows while planning.
    pub rows: PagedRows,
}

/// How rows of queries over pages hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagedRows {
    /// Not at all: each belongs to any sequence and sees any number of its keys.
    Any,
    /// They follow each other in one sequence, each seeing the keys up to its own; in front of those at its beginning
    /// rows of nobody, that see none, may stand.
    Prompt,
}
