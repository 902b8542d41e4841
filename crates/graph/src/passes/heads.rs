//! Queries, keys and values with their norms, rotation and way into the cache become one operation.

use super::{Machine, Users, absorb, norm_of, op, plain};
use crate::{
    graph::Graph,
    node::{Extent, Node},
    op::{
        At, Op, Rotation,
        fused::{Heads, HeadsMatrix, Store},
    },
};
use std::sync::Arc;
use warpsmith_library::attention::History;

pub(super) fn fuse(graph: &mut Graph, machine: Machine) {
    for at in 0..graph.entries.len() {
        let Some(Found {
            heads,
            q,
            extent,
            absorbed,
        }) = found(graph, machine, at)
        else {
            continue;
        };
        let place = graph.node(at);
        for entry in &mut graph.entries[at + 1..] {
            entry.op.each_operand_mut(&mut |operand| {
                if *operand == q {
                    *operand = place;
                }
            });
        }
        graph.names.hand_over(q, place);
        graph.entries[at].extent = extent;
        graph.entries[at].op = Op::Heads(heads);
        absorb(graph, absorbed);
    }
}

/// What stands in place of an append.
struct Found {
    heads: Heads,
    /// The queries as attention reads them.
    q: Node,
    extent: Extent,
    absorbed: Vec<Node>,
}

/// One of the matrices as the graph has it.
struct Chain {
    product: Node,
    /// The product, and the norm of its heads behind it.
    nodes: Vec<Node>,
    part: HeadsMatrix,
}

fn chain(graph: &Graph, last: Node, head_dim: u32) -> Option<Chain> {
    let columns = graph.entries[last.index as usize].extent.columns;
    let (product, norm) = match op(graph, last) {
        Op::RmsNorm {
            x,
            gain,
            eps,
            heads,
        } if gain.len() == head_dim && heads * head_dim == columns => {
            (*x, Some((Arc::clone(gain), *eps)))
        }
        _ => (last, None),
    };
    let mut nodes = vec![product];
    nodes.extend(norm.is_some().then_some(last));
    let own = plain(graph, product)?;
    Some(Chain {
        product,
        nodes,
        part: HeadsMatrix {
            weights: Arc::clone(&own.weights),
            bias: own.bias.clone(),
            norm,
        },
    })
}

impl Chain {
    /// Whether each node is read by the next alone, and the last by `by` alone.
    fn closed(&self, graph: &Graph, users: &Users, by: &[u32]) -> bool {
        let next = self.nodes.iter().skip(1).map(|node| vec![node.index]);
        let next = next.chain([by.to_vec()]);
        self.nodes
            .iter()
            .zip(next)
            .all(|(node, by)| users.only(graph, *node, &by))
    }
}

/// The queries that the next attention over what is stored asks with.
fn asked(graph: &Graph, from: usize, store: &Store) -> Option<Node> {
    graph.entries[from..]
        .iter()
        .find_map(|entry| match (&entry.op, store) {
            (Op::Attend(attention), Store::Own { cache, history: _ }) => {
                Arc::ptr_eq(&attention.cache, cache).then_some(attention.q)
            }
            (Op::PagedAttend(attention), Store::Paged { pages, slots: _ }) => {
                Arc::ptr_eq(&attention.pages, pages).then_some(attention.q)
            }
            _ => None,
        })
}

/// Keys, values, their positions, and where they go.
fn stored(op: &Op) -> Option<([Node; 3], Store)> {
    match op {
        Op::Append { k, v, to, cache } => {
            let (positions, history) = match *to {
                At::Positions(positions) => (positions, History::Shared),
                At::Rows(positions) => (positions, History::Forked),
                At::From(_) => return None,
            };
            let cache = Arc::clone(cache);
            Some(([*k, *v, positions], Store::Own { cache, history }))
        }
        Op::PagedAppend(append) => {
            let (pages, slots) = (Arc::clone(&append.pages), append.slots);
            let nodes = [append.k, append.v, append.positions];
            Some((nodes, Store::Paged { pages, slots }))
        }
        _ => None,
    }
}

fn found(graph: &Graph, machine: Machine, at: usize) -> Option<Found> {
    let append = &graph.entries[at];
    let ([k, v, positions], store) = stored(&append.op)?;
    let users = Users::of(graph);
    let head_dim = store.head_dim();
    if append.kept || !users.0[at].is_empty() || !head_dim.is_multiple_of(2) {
        return None;
    }
    let q = asked(graph, at + 1, &store)?;
    let later = users
        .all(q)
        .iter()
        .copied()
        .filter(|user| *user as usize > at);
    let mut q_users: Vec<u32> = later.collect();
    let mut absorbed = Vec::new();
    let (turn, [q_last, k_last], by) = match op(graph, k) {
        Op::RotatedKeys { rotation } => {
            let Op::Rotate(Rotation {
                q: q_last,
                k: k_last,
                positions: own,
                head_dim: dim,
                table,
                pairing,
            }) = op(graph, *rotation)
            else {
                return None;
            };
            let turns = !table.inverse_frequencies.is_empty();
            if *rotation != q || *own != positions || *dim != head_dim || !turns {
                return None;
            }
            if !users.only(graph, k, &[at as u32]) {
                return None;
            }
            q_users.push(k.index);
            absorbed.extend([k, q]);
            let by = vec![rotation.index];
            (
                Some((Arc::clone(table), *pairing)),
                [*q_last, *k_last],
                [by.clone(), by],
            )
        }
        _ => (None, [q, k], [q_users.clone(), vec![at as u32]]),
    };
    // Nobody reads the queries before keys and values are in the cache.
    if !users.only(graph, q, &q_users) {
        return None;
    }
    let chains = [
        chain(graph, q_last, head_dim)?,
        chain(graph, k_last, head_dim)?,
        chain(graph, v, head_dim)?,
    ];
    let [q_by, k_by] = &by;
    let closed = chains
        .iter()
        .zip([q_by, k_by, &vec![at as u32]])
        .all(|(chain, by)| chain.closed(graph, &users, by));
    let [first, second, third] = &chains;
    let eps = |chain: &Chain| chain.part.norm.as_ref().map(|(_, eps)| *eps);
    let one_eps = match (eps(first), eps(second)) {
        (Some(a), Some(b)) => a == b,
        (None, _) | (_, None) => true,
    };
    let apart = first.product != second.product
        && second.product != third.product
        && first.product != third.product;
    if !closed || !one_eps || !apart || third.part.norm.is_some() {
        return None;
    }
    let x = plain(graph, first.product)?.x;
    for chain in [second, third] {
        if plain(graph, chain.product)?.x != x {
            return None;
        }
    }
    let products = chains.each_ref().map(|chain| chain.product.index);
    let (norm, x) = match norm_of(graph, &users, x, &products) {
        Some((norm, before)) => {
            absorbed.push(x);
            (Some(norm), before)
        }
        None => (None, x),
    };
    absorbed.extend(chains.iter().flat_map(|chain| chain.nodes.iter().copied()));
    let extent = graph.entries[q.index as usize].extent;
    let weights = chains.each_ref().map(|chain| &*chain.part.weights);
    machine.source(extent.rows, norm.as_ref(), &weights)?;
    let heads = Heads {
        x,
        norm,
        parts: chains.map(|chain| chain.part),
        turn,
        positions,
        store,
    };
    Some(Found {
        heads,
        q,
        extent,
        absorbed,
    })
}
