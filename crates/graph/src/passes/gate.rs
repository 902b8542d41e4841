//! Gate and up projections with what joins them become one operation, with the norm in front if they alone read it.

use super::{Machine, Users, absorb, norm_of, plain};
use crate::{
    graph::Graph,
    node::Node,
    op::{Op, fused::Gate},
};

pub(super) fn fuse(graph: &mut Graph, machine: Machine) {
    for at in 0..graph.entries.len() {
        if let Some((gate, absorbed)) = found(graph, machine, at) {
            graph.entries[at].op = Op::Gate(gate);
            absorb(graph, absorbed);
        }
    }
}

fn found(graph: &Graph, machine: Machine, at: usize) -> Option<(Gate, Vec<Node>)> {
    let Op::Gated { gate, up, curve } = graph.entries[at].op else {
        return None;
    };
    let users = Users::of(graph);
    let (first, second) = (plain(graph, gate)?, plain(graph, up)?);
    let own = users.only(graph, gate, &[at as u32]) && users.only(graph, up, &[at as u32]);
    let fits = gate != up && first.x == second.x && first.bias.is_none() && second.bias.is_none();
    if !own || !fits {
        return None;
    }
    let mut absorbed = vec![gate, up];
    let (norm, x) = match norm_of(graph, &users, first.x, &[gate.index, up.index]) {
        Some((norm, x)) => {
            absorbed.push(first.x);
            (Some(norm), x)
        }
        None => (None, first.x),
    };
    let rows = graph.entries[at].extent.rows;
    machine.source(rows, norm.as_ref(), &[&first.weights, &second.weights])?;
    let gate = Gate {
        x,
        norm,
        gate: first.weights.clone(),
        up: second.weights.clone(),
        curve,
    };
    Some((gate, absorbed))
}
