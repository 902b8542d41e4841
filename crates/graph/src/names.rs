//! What a graph's nodes are called.

use crate::node::Node;
use std::{collections::BTreeMap, fmt::Display};

/// What a graph's nodes are called.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    prefix: String,
    names: BTreeMap<u32, String>,
}

impl Names {
    /// Names a node, behind the prefix.
    pub(crate) fn set(&mut self, node: Node, name: impl Display) {
        let full = format!("{}{name}", self.prefix);
        self.names.insert(node.index, full);
    }

    /// Names from here on begin with `prefix` and a dot; gives what [`Names::leave`] wants.
    pub(crate) fn enter(&mut self, prefix: impl Display) -> usize {
        let outer = self.prefix.len();
        self.prefix.push_str(&format!("{prefix}."));
        outer
    }

    /// The prefix is again what it was.
    pub(crate) fn leave(&mut self, outer: usize) {
        self.prefix.truncate(outer);
    }

    /// The value of `from` is now that of `to`.
    pub(crate) fn hand_over(&mut self, from: Node, to: Node) {
        if let Some(name) = self.names.remove(&from.index) {
            self.names.insert(to.index, name);
        }
    }

    /// What a node was called, if it was.
    pub(crate) fn known(&self, index: u32) -> Option<&str> {
        self.names.get(&index).map(String::as_str)
    }

    pub(crate) fn of(&self, index: u32, op: &'static str) -> String {
        let known = self.names.get(&index).cloned();
        known.unwrap_or_else(|| format!("{op}.{index}"))
    }
}
