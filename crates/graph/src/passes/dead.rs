//! Operations whose values nobody reads, and that change nothing else, are dropped.

use super::Users;
use crate::{graph::Graph, op::Op};

/// Goes from the last operation to the first, so that what only dead ones read is dead too.
pub(super) fn remove(graph: &mut Graph) {
    let mut users: Vec<usize> = Users::of(graph).0.iter().map(Vec::len).collect();
    for at in (0..graph.entries.len()).rev() {
        let entry = &mut graph.entries[at];
        if entry.kept || users[at] > 0 || !entry.op.only_a_value() {
            continue;
        }
        for input in entry.op.inputs() {
            users[input.index as usize] -= 1;
        }
        entry.op = Op::Absorbed;
    }
}
