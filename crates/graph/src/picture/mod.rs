//! Pictures of a graph: DOT text, and an SVG with a layout of our own. Layers that are alike are drawn once.

mod draw;
mod fold;
mod layout;
mod route;

use crate::{
    graph::Graph,
    node::Node,
    op::{
        MatMul, Op,
        fused::{Heads, Store},
    },
};
use fold::Stretch;
use layout::{Edge, EdgeKind, Item, Segment};
use std::{collections::BTreeMap, fmt::Write};
use warpsmith_kernel::args::HostBuffer;

/// What is drawn: operations in their order, cut into segments, and what they read of each other.
struct Picture {
    items: Vec<Item>,
    edges: Vec<Edge>,
    segments: Vec<Segment>,
}

/// An operation before layers are folded.
struct Shown {
    item: Item,
    /// By their places among the operations.
    inputs: Vec<(usize, EdgeKind)>,
}

impl Graph {
    /// The graph in the DOT language; equal layers are a cluster that says how often.
    pub fn dot(&self) -> String {
        let Picture {
            items,
            edges,
            segments,
        } = self.picture();
        let mut out = String::from(
            "digraph plan {\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n",
        );
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        // Writing to a string cannot fail.
        for (number, segment) in segments.iter().enumerate() {
            if let Some(times) = segment.times {
                let _ = writeln!(
                    out,
                    "  subgraph cluster_{number} {{\n  label=\"one layer, {times} times\";"
                );
            }
            for at in segment.from..segment.to {
                let item = &items[at];
                let mut lines = vec![item.title.clone()];
                lines.extend(item.lines.iter().cloned());
                lines.push(item.shape.clone());
                let lines: Vec<String> = lines.iter().map(|line| quoted(line)).collect();
                let _ = writeln!(out, "  n{at} [label=\"{}\"];", lines.join("\\n"));
                for (leaf, name) in item.leaves.iter().enumerate() {
                    let name = quoted(name);
                    let _ = writeln!(
                        out,
                        "  n{at}_{leaf} [label=\"{name}\", style=\"dashed,rounded\"];\n  n{at}_{leaf} -> n{at};"
                    );
                }
            }
            if segment.times.is_some() {
                out.push_str("  }\n");
            }
        }
        for Edge { from, to, kind } in edges {
            let style = match kind {
                EdgeKind::Value => "",
                EdgeKind::Residual => " [color=\"#0969da\", label=\"residual\"]",
                EdgeKind::Cache => " [style=dashed, label=\"cache\"]",
            };
            let _ = writeln!(out, "  n{from} -> n{to}{style};");
        }
        out.push_str("}\n");
        out
    }

    /// The graph as an SVG: a row for each step on the longest way, what skips rows beside them.
    pub fn svg(&self) -> String {
        let Picture {
            items,
            edges,
            segments,
        } = self.picture();
        draw::svg(&layout::Drawing::of(&items, &edges, &segments))
    }

    /// Operations with equal layers folded.
    fn picture(&self) -> Picture {
        let shown = self.shown();
        let signatures = signatures(&shown);
        let mut items = Vec::new();
        let mut segments = Vec::new();
        // Where each operation is drawn.
        let mut places = vec![0; shown.len()];
        for part in fold::parts(&signatures) {
            let start = items.len();
            let (from, period, times) = match part {
                Stretch::Plain { from, to } => (from, to - from, 1),
                Stretch::Repeated {
                    from,
                    period,
                    times,
                } => (from, period, times),
            };
            for (at, place) in places[from..from + period * times].iter_mut().enumerate() {
                *place = start + at % period;
            }
            for shown in &shown[from..from + period] {
                let mut item = shown.item.clone();
                if times > 1 {
                    item.lines = item.lines.iter().map(|line| starred(line)).collect();
                }
                items.push(item);
            }
            segments.push(Segment {
                from: start,
                to: items.len(),
                times: (times > 1).then_some(times),
            });
        }
        let mut edges = Vec::new();
        for (at, shown) in shown.iter().enumerate() {
            for (from, kind) in &shown.inputs {
                let (from, to, kind) = (places[*from], places[at], *kind);
                let edge = Edge { from, to, kind };
                // What goes up leads from a layer to the next one of its kind.
                if from < to && !edges.contains(&edge) {
                    edges.push(edge);
                }
            }
        }
        Picture {
            items,
            edges,
            segments,
        }
    }

    fn shown(&self) -> Vec<Shown> {
        let mut places = BTreeMap::new();
        let mut caches: BTreeMap<u64, usize> = BTreeMap::new();
        let mut all: Vec<Shown> = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            match &entry.op {
                Op::Absorbed | Op::Floats(_) | Op::Ids(_) => continue,
                // No work of its own: who reads it reads the rotation.
                Op::RotatedKeys { rotation } => {
                    if let Some(place) = places.get(&rotation.index).copied() {
                        places.insert(index as u32, place);
                    }
                    continue;
                }
                _ => {}
            }
            let mut inputs: Vec<(usize, EdgeKind)> = Vec::new();
            let mut leaves: Vec<String> = Vec::new();
            let residual = residual(&entry.op);
            for input in entry.op.inputs() {
                let kind = match residual == Some(input) {
                    true => EdgeKind::Residual,
                    false => EdgeKind::Value,
                };
                match places.get(&input.index) {
                    Some(place) if inputs.iter().all(|(known, _)| known != place) => {
                        inputs.push((*place, kind));
                    }
                    Some(_) => {}
                    None => {
                        let name = self.leaf(input);
                        if !leaves.contains(&name) {
                            leaves.push(name);
                        }
                    }
                }
            }
            let place = all.len();
            match cache_of(&entry.op) {
                Some((Touch::Writes, cache)) => {
                    caches.insert(cache, place);
                }
                Some((Touch::Reads, cache)) => {
                    let writer = caches.get(&cache).copied();
                    let writer = writer.filter(|w| inputs.iter().all(|(known, _)| known != w));
                    inputs.extend(writer.map(|writer| (writer, EdgeKind::Cache)));
                }
                None => {}
            }
            places.insert(index as u32, place);
            let weights = entry
                .op
                .parameters()
                .into_iter()
                .filter_map(|(_, parameter)| match parameter {
                    crate::op::Parameter::Matrix(weights) => Some(weights.name().to_owned()),
                    crate::op::Parameter::Vector(_) => None,
                });
            let named = self.names.known(index as u32).map(str::to_owned);
            all.push(Shown {
                item: Item {
                    title: entry.op.name().to_owned(),
                    lines: named.into_iter().chain(weights).collect(),
                    shape: format!("{} × {}", entry.extent.rows, entry.extent.columns),
                    leaves,
                },
                inputs,
            });
        }
        all
    }

    /// What a value from outside is called.
    fn leaf(&self, node: Node) -> String {
        let known = self.names.known(node.index);
        known.map_or_else(
            || {
                let entry = &self.entries[node.index as usize];
                format!("{} {}", entry.op.name(), entry.extent.rows)
            },
            str::to_owned,
        )
    }
}

/// A number for each operation, equal for those that do the same with what lies equally far before them.
fn signatures(shown: &[Shown]) -> Vec<u32> {
    let mut known = BTreeMap::new();
    shown
        .iter()
        .enumerate()
        .map(|(at, shown)| {
            let Item {
                title,
                lines,
                shape,
                leaves,
            } = &shown.item;
            let lines: Vec<String> = lines.iter().map(|line| starred(line)).collect();
            let inputs: Vec<(usize, EdgeKind)> = shown
                .inputs
                .iter()
                .map(|(from, kind)| (at - from, *kind))
                .collect();
            let key = (title, lines, shape, leaves, inputs);
            let next = known.len() as u32;
            *known.entry(key).or_insert(next)
        })
        .collect()
}

/// A name with stars in the place of numbers between dots: `blk.3.attn_q.weight` is `blk.*.attn_q.weight`.
fn starred(name: &str) -> String {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = name.split('.');
    let parts: Vec<&str> = parts
        .map(|part| if number(part) { "*" } else { part })
        .collect();
    parts.join(".")
}

/// The operand that is only added.
fn residual(op: &Op) -> Option<Node> {
    match op {
        Op::MatMul(MatMul { residual, .. }) => *residual,
        Op::Normed(normed) => normed.product.residual,
        Op::Convolve(convolution) => convolution.residual,
        _ => None,
    }
}

enum Touch {
    Reads,
    Writes,
}

/// The cache or the pages that an operation uses, by the address of its keys.
fn cache_of(op: &Op) -> Option<(Touch, u64)> {
    match op {
        Op::Append { cache, .. } => Some((Touch::Writes, cache.keys.address())),
        Op::Heads(Heads { store, .. }) => Some(match store {
            Store::Own { cache, .. } => (Touch::Writes, cache.keys.address()),
            Store::Paged { pages, .. } => (Touch::Writes, pages.keys.address()),
        }),
        Op::PagedAppend(append) => Some((Touch::Writes, append.pages.keys.address())),
        Op::Attend(attend) => Some((Touch::Reads, attend.cache.keys.address())),
        Op::PagedAttend(attend) => Some((Touch::Reads, attend.pages.keys.address())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::starred;

    #[test]
    fn numbers_between_dots_are_the_layers() {
        for (name, want) in [
            ("blk.3.attn_q.weight", "blk.*.attn_q.weight"),
            ("layer.12.attn.q", "layer.*.attn.q"),
            (
                "model.layers.0.mlp.up_proj.weight",
                "model.layers.*.mlp.up_proj.weight",
            ),
            ("norm", "norm"),
            ("a.b2.3c", "a.b2.3c"),
        ] {
            assert_eq!(starred(name), want);
        }
    }
}
