//! Passes: they rewrite a graph before it is lowered, so that fewer launches do the same.
//!
//! A pass fuses what one kernel can do where nothing else needs the values between: none of them is kept, and all their
//! users go into the kernel too. Passes look at entries in order and at nothing else, so a graph always becomes the same.

mod dead;
mod gate;
mod heads;
mod norm;
#[cfg(test)]
mod tests;

use crate::{
    graph::Graph,
    node::Node,
    op::{MatMul, Op, fused::Norm},
    resource::Weights,
};
use warpsmith_device::Stream;
use warpsmith_kernel::Hardware;
use warpsmith_library::{
    epilogue::{Activation, Epilogue},
    gemm::{Precision, Problem, Product, choose},
    projection::{Form, Norm as Norms, Source},
};

/// What kernels are chosen by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub(crate) hardware: Hardware,
    pub(crate) precision: Precision,
}

impl Graph {
    /// This graph with its operations fused as far as kernels for the stream's device go: what a plan is made of. Nodes
    /// that are kept stay what they are.
    pub fn fused(&self, stream: &Stream, precision: Precision) -> Graph {
        let machine = Machine {
            hardware: stream.device().info().hardware(),
            precision,
        };
        run(self, machine)
    }
}

/// The graph after all passes.
pub(crate) fn run(graph: &Graph, machine: Machine) -> Graph {
    let mut graph = graph.clone();
    heads::fuse(&mut graph, machine);
    gate::fuse(&mut graph, machine);
    norm::fuse(&mut graph, machine);
    dead::remove(&mut graph);
    graph
}

impl Machine {
    /// How one launch multiplies `rows` rows by all of `weights`, if the kernel for few rows is the one for them.
    pub(crate) fn source(
        self,
        rows: u32,
        norm: Option<&Norm>,
        weights: &[&Weights],
    ) -> Option<Source> {
        if !(1..=Source::ROWS).contains(&rows) {
            return None;
        }
        let mut forms = Vec::new();
        for weights in weights {
            let problem = Problem {
                m: rows,
                n: weights.rows,
                k: weights.columns,
                layout: weights.layout,
                epilogue: Epilogue::default(),
                precision: self.precision,
            };
            match choose(problem, self.hardware).product {
                Product::GemvQ8(_) => forms.push(Form::Bytes),
                Product::GemvF32(_) => forms.push(Form::Single),
                Product::GemvHalf(_) => forms.push(Form::Half),
                Product::GemmInt(_) | Product::Gemm(_) | Product::GemmF32(_) => return None,
            }
        }
        // One form for all: f32 serves weights of every type.
        let first = *forms.first()?;
        let same = forms.iter().all(|form| *form == first);
        let form = if same { first } else { Form::Single };
        let source = Source {
            form,
            norm: match norm {
                None => Norms::None,
                Some(Norm::Rms { .. }) => Norms::Rms,
                Some(Norm::Layer { .. }) => Norms::Layer,
            },
            rows,
            columns: weights.first()?.columns,
        };
        (source.shared_bytes() <= self.room()).then_some(source)
    }

    /// Bytes of shared memory for rows of x: a CTA may have these (CUDA C++ programming guide, "Compute capabilities"), and
    /// sums of rows of W take up to 36 KiB of them.
    fn room(self) -> u32 {
        let whole = match self.hardware.target.sm {
            75 => 64,
            86 | 89 | 120 => 99,
            _ => 96,
        };
        (whole - 36) << 10
    }
}

/// Who reads each node.
struct Users(Vec<Vec<u32>>);

impl Users {
    fn of(graph: &Graph) -> Users {
        let mut users = vec![Vec::new(); graph.entries.len()];
        for (at, entry) in graph.entries.iter().enumerate() {
            for input in entry.op.inputs() {
                users[input.index as usize].push(at as u32);
            }
        }
        Users(users)
    }

    fn all(&self, node: Node) -> &[u32] {
        &self.0[node.index as usize]
    }

    /// Whether nobody but `by` reads the node, and it is not kept.
    fn only(&self, graph: &Graph, node: Node, by: &[u32]) -> bool {
        let kept = graph.entries[node.index as usize].kept;
        !kept && self.all(node).iter().all(|user| by.contains(user))
    }
}

fn op(graph: &Graph, node: Node) -> &Op {
    &graph.entries[node.index as usize].op
}

/// A product with nothing behind it but a bias.
fn plain(graph: &Graph, node: Node) -> Option<&MatMul> {
    match op(graph, node) {
        Op::MatMul(product) => {
            let bare = product.activation == Activation::None && product.residual.is_none();
            bare.then_some(product)
        }
        _ => None,
    }
}

/// The norm that makes `x`, and what it is made of, if nobody but `by` reads `x`.
fn norm_of(graph: &Graph, users: &Users, x: Node, by: &[u32]) -> Option<(Norm, Node)> {
    let norm = match op(graph, x) {
        Op::RmsNorm {
            x,
            gain,
            eps,
            heads: 1,
        } => {
            let gain = gain.clone();
            (Norm::Rms { gain, eps: *eps }, *x)
        }
        Op::LayerNorm { x, gain, bias, eps } => {
            let (gain, shift) = (gain.clone(), bias.clone());
            let eps = *eps;
            (Norm::Layer { gain, shift, eps }, *x)
        }
        _ => return None,
    };
    users.only(graph, x, by).then_some(norm)
}

/// What is absorbed is no operation any more.
fn absorb(graph: &mut Graph, nodes: impl IntoIterator<Item = Node>) {
    for node in nodes {
        graph.entries[node.index as usize].op = Op::Absorbed;
    }
}
