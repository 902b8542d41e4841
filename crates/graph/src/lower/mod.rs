//! Lowering: from operations to launches over pieces of memory that have no addresses yet.

mod attention;
mod basic;
mod draw;
mod fused;
mod paged;
mod product;
mod speech;

use crate::{
    error::Error,
    graph::Graph,
    memory::{Block, Memory, Place},
    node::Node,
    op::{Op, Rotation, fused::Normed},
    span::Planned,
    step::{Launch, Step},
};
use rustc_hash::FxHashMap;
use std::{collections::BTreeMap, sync::Arc};
use warpsmith_device::{Buffer, Stream};
use warpsmith_kernel::{Elem, Hardware, Kernel, Shapes, args::Signature};
use warpsmith_library::{epilogue::Operand, gemm::Precision};

/// A launch whose addresses are not known yet.
pub(crate) struct Proto {
    pub(crate) name: &'static str,
    pub(crate) uses: Vec<Block>,
    pub(crate) make: Box<dyn FnOnce(&Memory) -> Box<dyn Step>>,
}

/// A lowered graph.
pub(crate) struct Lowered {
    pub(crate) steps: Vec<Proto>,
    /// Bytes of each piece.
    pub(crate) sizes: Vec<u64>,
    /// Where kept nodes are, with their elements.
    pub(crate) kept: BTreeMap<u32, (Place, u64)>,
    /// Nodes, the steps after which each has its value, and where.
    pub(crate) values: Vec<(u32, usize, Place)>,
    /// Counters that start at zero and stay alive.
    pub(crate) persistent: Vec<Arc<Buffer<u32>>>,
}

/// An activation in the form that a product wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    /// f16 rows and a scale for each.
    Half,
    /// Signed bytes and scales for each group of 32.
    Bytes,
}

pub(crate) struct Lowering<'a> {
    stream: &'a Stream,
    graph: &'a Graph,
    hardware: Hardware,
    precision: Precision,
    out: Lowered,
    places: Vec<Option<Place>>,
    uses: Vec<u32>,
    prepared: FxHashMap<(Node, Form), [Place; 2]>,
    /// Activations as fragments of bytes.
    fragments: FxHashMap<Node, Place>,
    /// Nodes that were copied because an in-place kernel must not change them for their other users.
    moved: FxHashMap<Node, Place>,
    name: &'static str,
}

fn present<T>(operand: Option<&T>) -> Operand {
    match operand {
        Some(_) => Operand::Present,
        None => Operand::Absent,
    }
}

/// Kernels and pieces for every operation of `graph`.
pub(crate) fn lower(
    stream: &Stream,
    graph: &Graph,
    precision: Precision,
) -> Result<Lowered, Error> {
    let info = stream.device().info();
    let mut uses = vec![0; graph.entries.len()];
    for entry in &graph.entries {
        for input in entry.op.inputs() {
            uses[input.index as usize] += 1;
        }
    }
    let mut lowering = Lowering {
        stream,
        graph,
        hardware: info.hardware(),
        precision,
        out: Lowered {
            steps: Vec::new(),
            sizes: Vec::new(),
            kept: BTreeMap::new(),
            values: Vec::new(),
            persistent: Vec::new(),
        },
        places: vec![None; graph.entries.len()],
        uses,
        prepared: FxHashMap::default(),
        fragments: FxHashMap::default(),
        moved: FxHashMap::default(),
        name: "",
    };
    for (at, entry) in graph.entries.iter().enumerate() {
        lowering.name = entry.op.name();
        if matches!(entry.op, Op::Absorbed) {
            continue;
        }
        let place = lowering.operation(at, &entry.op)?;
        if entry.kept {
            let len = u64::from(entry.extent.rows) * u64::from(entry.extent.columns);
            lowering.out.kept.insert(at as u32, (place.clone(), len));
        }
        lowering
            .out
            .values
            .push((at as u32, lowering.out.steps.len(), place.clone()));
        lowering.places[at] = Some(place);
    }
    Ok(lowering.out)
}

impl Lowering<'_> {
    fn operation(&mut self, at: usize, op: &Op) -> Result<Place, Error> {
        match op {
            Op::Floats(span) => Ok(Place::Outside(span.cast(), 0)),
            Op::Ids(span) => Ok(Place::Outside(span.cast(), 0)),
            Op::Embed { table, ids } => self.embed(at, table, *ids),
            Op::RmsNorm {
                x,
                gain,
                eps,
                heads,
            } => self.rms_norm(at, *x, gain, *eps, *heads),
            Op::LayerNorm { x, gain, bias, eps } => self.layer_norm(at, *x, [gain, bias], *eps),
            Op::MatMul(product) => self.product(at, product),
            Op::Normed(Normed { norm, product }) => self.project(at, Some(norm), product),
            Op::Gate(gate) => self.gate(at, gate),
            Op::Heads(heads) => self.heads(at, heads),
            Op::Absorbed => unreachable!("what is absorbed is not lowered"),
            Op::Add { a, b } => {
                self.pointwise(at, warpsmith_library::pointwise::Op::Add, *a, Some(*b), 0.0)
            }
            Op::Mul { a, b } => {
                self.pointwise(at, warpsmith_library::pointwise::Op::Mul, *a, Some(*b), 0.0)
            }
            Op::Scale { x, by } => {
                self.pointwise(at, warpsmith_library::pointwise::Op::Scale, *x, None, *by)
            }
            Op::Curve { x, curve } => self.pointwise(
                at,
                warpsmith_library::pointwise::Op::Curve(*curve),
                *x,
                None,
                0.0,
            ),
            Op::Gated { gate, up, curve } => self.pointwise(
                at,
                warpsmith_library::pointwise::Op::Gated(*curve),
                *gate,
                Some(*up),
                0.0,
            ),
            Op::Softmax { x } => self.softmax(at, *x),
            Op::Rotate(rotation) => self.rotate(rotation),
            // The rotation turned them where they were.
            Op::RotatedKeys { rotation } => Ok(self.turned(*rotation)),
            Op::Append { k, v, to, cache } => Ok(self.append([*k, *v], *to, cache)),
            Op::Attend(attention) => self.attend(at, attention),
            Op::PagedAppend(append) => Ok(self.append_paged(append)),
            Op::PagedAttend(attention) => self.attend_paged(at, attention),
            Op::Rows { x, from } => {
                let columns = self.graph.entries[x.index as usize].extent.columns;
                Ok(self
                    .place(*x)
                    .offset(4 * u64::from(*from) * u64::from(columns)))
            }
            Op::ArgMax { x } => self.argmax(at, *x),
            Op::Draw { logits, sampler } => Ok(self.draw(*logits, sampler)),
            Op::Convolve(conv) => self.convolve(at, conv),
            Op::Decide { logits, decision } => Ok(self.decide(*logits, decision)),
            Op::Look(looks) => Ok(self.look(at, looks)),
            Op::Follow { lines, parents } => Ok(self.follow(lines, *parents)),
            Op::LogProbability { logits, ids, limit } => {
                Ok(self.log_probability(at, *logits, *ids, *limit))
            }
        }
    }

    /// Where the keys of a rotation are: it turns them in place, or a copy of them.
    fn turned(&self, rotation: Node) -> Place {
        let Op::Rotate(Rotation { k, .. }) = &self.graph.entries[rotation.index as usize].op else {
            unreachable!("keys are turned by a rotation")
        };
        self.moved.get(k).cloned().unwrap_or_else(|| self.place(*k))
    }

    /// Where an operand is. Operands come before their users.
    fn place(&self, node: Node) -> Place {
        self.places[node.index as usize]
            .clone()
            .expect("operands are lowered before their users")
    }

    /// A new piece of memory for `len` elements.
    fn piece<T: Elem>(&mut self, len: u64) -> Place {
        self.out
            .sizes
            .push((len * u64::from(T::MEMORY.bytes())).max(1));
        Place::Planned(Block(self.out.sizes.len() as u32 - 1), 0)
    }

    /// A new piece for the value of entry `at`.
    fn value(&mut self, at: usize) -> Place {
        let extent = self.graph.entries[at].extent;
        self.piece::<f32>(u64::from(extent.rows) * u64::from(extent.columns))
    }

    /// Zeroed counters that live as long as the plan.
    fn counters(&mut self, len: u64) -> Result<Place, Error> {
        let mut buffer: Buffer<u32> = self.stream.alloc(len as usize)?;
        self.stream.fill_zero(&mut buffer)?;
        let place = Place::Outside(crate::span::Span::of(&buffer).cast(), 0);
        self.out.persistent.push(Arc::new(buffer));
        Ok(place)
    }

    /// Adds a launch that uses `places`.
    fn push<K>(
        &mut self,
        places: &[&Place],
        kernel: K,
        args: impl FnOnce(&Memory) -> <K::Args as Signature>::On<Planned> + 'static,
    ) where
        K: Kernel,
        K::Args: Signature<On<Shapes> = K::Args>,
        <K::Args as Signature>::On<Planned>: Send + Sync,
    {
        let uses = places
            .iter()
            .filter_map(|place| match place {
                Place::Planned(block, _) => Some(*block),
                Place::Outside(..) => None,
            })
            .collect();
        let make = Box::new(move |memory: &Memory| -> Box<dyn Step> {
            Box::new(Launch {
                kernel,
                args: args(memory),
            })
        });
        self.out.steps.push(Proto {
            name: self.name,
            uses,
            make,
        });
    }
}
