//! A norm goes into the product that alone reads it.

use super::{Machine, Users, absorb, norm_of, op};
use crate::{
    graph::Graph,
    node::Node,
    op::{Op, fused::Normed},
};

pub(super) fn fuse(graph: &mut Graph, machine: Machine) {
    for at in 0..graph.entries.len() {
        if let Some((normed, norm)) = found(graph, machine, at) {
            graph.entries[at].op = Op::Normed(normed);
            absorb(graph, [norm]);
        }
    }
}

fn found(graph: &Graph, machine: Machine, at: usize) -> Option<(Normed, Node)> {
    let entry = &graph.entries[at];
    let Op::MatMul(product) = &entry.op else {
        return None;
    };
    // A look at the users of all is for norms alone.
    if !matches!(
        op(graph, product.x),
        Op::RmsNorm { .. } | Op::LayerNorm { .. }
    ) {
        return None;
    }
    // The residual may be the normed value itself.
    if product.residual == Some(product.x) {
        return None;
    }
    let (norm, x) = norm_of(graph, &Users::of(graph), product.x, &[at as u32])?;
    machine.source(entry.extent.rows, Some(&norm), &[&product.weights])?;
    let mut product = product.clone();
    let absorbed = std::mem::replace(&mut product.x, x);
    Some((Normed { norm, product }, absorbed))
}
