//! Operations whose values nobody reads, and that change nothing else, are dropped.

use super::Users;
use crate::graph::{Graph, Op};

/// Goes from the last operation to the first, so that what only dead ones read is dead too.
pub(super) fn remove(graph: &mut Graph) {
    let mut users: Vec<usize> = Users::of(graph).0.iter().map(Vec::len).collect();
    for at in (0..graph.entries.len()).rev() {
        let entry = &mut graph.entries[at];
        if entry.kept || users[at] > 0 || !only_a_value(&entry.op) {
            continue;
        }
        for input in entry.op.inputs() {
            users[input.index as usize] -= 1;
        }
        entry.op = Op::Absorbed;
    }
}

/// Whether an operation does nothing but give its value.
fn only_a_value(op: &Op) -> bool {
    match op {
        Op::Embed { .. }
        | Op::RmsNorm { .. }
        | Op::LayerNorm { .. }
        | Op::MatMul(_)
        | Op::Normed(_)
        | Op::Gate(_)
        | Op::Add { .. }
        | Op::Mul { .. }
        | Op::Scale { .. }
        | Op::Curve { .. }
        | Op::Gated { .. }
        | Op::Softmax { .. }
        | Op::Rotate(_)
        | Op::RotatedKeys { .. }
        | Op::Attend(_)
        | Op::PagedAttend(_)
        | Op::Rows { .. }
        | Op::ArgMax { .. }
        | Op::Convolve(_)
        | Op::LogProbability { .. }
        | Op::Look(_) => true,
        // Leaves, caches, what is drawn and decided.
        Op::Floats(_)
        | Op::Ids(_)
        | Op::Append { .. }
        | Op::PagedAppend(_)
        | Op::Heads(_)
        | Op::Draw { .. }
        | Op::Decide { .. }
        | Op::Follow { .. }
        | Op::Absorbed => false,
    }
}
