//! Pictures of a graph: DOT text, and an SVG by a layered layout of our own.

use crate::{
    fused::{Gate, Heads, Normed},
    graph::Graph,
    op::{MatMul, Op},
};
use std::fmt::Write;

/// Size of a box, and of the gaps between boxes.
const BOX: [u32; 2] = [220, 40];
const GAP: [u32; 2] = [30, 36];

/// A node as it is drawn.
struct Shown {
    index: usize,
    label: [String; 2],
    inputs: Vec<usize>,
    leaf: bool,
}

impl Graph {
    /// The graph in the DOT language.
    pub fn dot(&self) -> String {
        let mut out =
            String::from("digraph plan {\n  node [shape=box, fontname=\"sans-serif\"];\n");
        for Shown {
            index,
            label: [name, shape],
            inputs,
            leaf,
        } in self.shown()
        {
            let style = if leaf { ", style=dashed" } else { "" };
            let label = format!("{name}\\n{shape}").replace('"', "'");
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  n{index} [label=\"{label}\"{style}];");
            for input in inputs {
                let _ = writeln!(out, "  n{input} -> n{index};");
            }
        }
        out.push_str("}\n");
        out
    }

    /// The graph as an SVG: a row for each step on the longest way from a leaf.
    pub fn svg(&self) -> String {
        let shown = self.shown();
        let mut depth = vec![0usize; self.entries.len()];
        let mut filled: Vec<u32> = Vec::new();
        let mut places = vec![[0u32; 2]; self.entries.len()];
        let ordered = shown.iter().filter(|node| !node.leaf);
        for node in ordered.chain(shown.iter().filter(|node| node.leaf)) {
            let below = |input: &usize| depth[*input] + 1;
            let own = if node.leaf {
                // A leaf stands above the first operation that reads it.
                let reads = |other: &&Shown| other.inputs.contains(&node.index);
                let readers = shown.iter().filter(reads).map(|other| depth[other.index]);
                readers.min().unwrap_or(1).saturating_sub(1)
            } else {
                node.inputs.iter().map(below).max().unwrap_or(1)
            };
            depth[node.index] = own;
            if filled.len() <= own {
                filled.resize(own + 1, 0);
            }
            places[node.index] = [
                GAP[0] + filled[own] * (BOX[0] + GAP[0]),
                GAP[1] + own as u32 * (BOX[1] + GAP[1]),
            ];
            filled[own] += 1;
        }
        let widest = filled.iter().copied().max().unwrap_or(0);
        let width = GAP[0] + widest * (BOX[0] + GAP[0]);
        let height = GAP[1] + filled.len() as u32 * (BOX[1] + GAP[1]);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\" text-anchor=\"middle\">\n"
        );
        for node in &shown {
            let [x, y] = places[node.index];
            let (to_x, middle) = (x + BOX[0] / 2, y.saturating_sub(GAP[1] / 2));
            for input in &node.inputs {
                let [from_x, from_y] = places[*input];
                let (from_x, from_y) = (from_x + BOX[0] / 2, from_y + BOX[1]);
                let bend = from_y + GAP[1] / 2;
                let _ = writeln!(
                    out,
                    "<path d=\"M{from_x} {from_y} C{from_x} {bend} {to_x} {middle} {to_x} {y}\" fill=\"none\" stroke=\"#888\"/>"
                );
            }
        }
        for node in &shown {
            let [x, y] = places[node.index];
            let [name, shape] = node.label.each_ref().map(|text| escaped(text));
            let dash = if node.leaf {
                " stroke-dasharray=\"4\""
            } else {
                ""
            };
            let (middle, first, second) = (x + BOX[0] / 2, y + 17, y + 33);
            let [w, h] = BOX;
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"4\" fill=\"#fff\" stroke=\"#333\"{dash}/>\
                 <text x=\"{middle}\" y=\"{first}\">{name}</text><text x=\"{middle}\" y=\"{second}\" fill=\"#666\">{shape}</text>"
            );
        }
        out.push_str("</svg>\n");
        out
    }

    fn shown(&self) -> Vec<Shown> {
        let entries = self.entries.iter().enumerate();
        let left = entries.filter(|(_, entry)| !matches!(entry.op, Op::Absorbed));
        left.map(|(index, entry)| {
            let shape = format!("{} x {}", entry.extent.rows, entry.extent.columns);
            let inputs = entry.op.inputs();
            Shown {
                index,
                label: [label(&entry.op), shape],
                inputs: inputs.iter().map(|input| input.index as usize).collect(),
                leaf: matches!(entry.op, Op::Floats(_) | Op::Ids(_)),
            }
        })
        .collect()
    }
}

/// The operation with the names of its weights.
fn label(op: &Op) -> String {
    let name = op.name();
    match op {
        Op::MatMul(MatMul { weights, .. })
        | Op::Normed(Normed {
            norm: _,
            product: MatMul { weights, .. },
        }) => format!("{name} {}", weights.name()),
        Op::Gate(Gate { gate, up, .. }) => format!("{name} {} {}", gate.name(), up.name()),
        Op::Heads(Heads { parts, .. }) => format!("{name} {}", parts[0].weights.name()),
        _ => name.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}
