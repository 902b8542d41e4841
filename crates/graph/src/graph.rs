//! The graph: nodes that carry their operands, with shapes checked as they are added.

use crate::{
    error::Error,
    fused::{Gate, Heads, Normed, Store},
    observe::Names,
    pages::{PagedAppend, PagedAttention},
    resource::{Cache, Sampler, Table, Vector, Weights},
    span::Span,
    speech::{Convolution, Decision, Lines, Looks},
};
use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use warpsmith_device::Buffer;
use warpsmith_library::{decoding::Parents, epilogue::Activation, pointwise::Curve, rope::Pairing};

/// A value of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    pub(crate) index: u32,
    graph: u32,
}

/// Rows and columns of a value; token ids are `[rows, 1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Rows: tokens.
    pub rows: u32,
    /// Columns: features.
    pub columns: u32,
}

/// Element type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    F32,
    U32,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::F32 => "f32",
            Kind::U32 => "u32",
        }
    }
}

/// A matrix product with all that may follow it: `y = activation(x W^T + bias) + residual`.
#[derive(Clone, Debug)]
pub struct MatMul {
    /// Input `[rows, columns of W]`.
    pub x: Node,
    /// Weights.
    pub weights: Arc<Weights>,
    /// One number for each output.
    pub bias: Option<Arc<Vector>>,
    /// Applied after the bias.
    pub activation: Activation,
    /// Added last, of the output's shape.
    pub residual: Option<Node>,
}

/// A rotary embedding of queries and keys (Su et al., 2021).
#[derive(Clone, Debug)]
pub struct Rotation {
    /// Queries `[rows, heads * head_dim]`.
    pub q: Node,
    /// Keys `[rows, kv_heads * head_dim]`.
    pub k: Node,
    /// Position of each row.
    pub positions: Node,
    /// Dimensions of a head.
    pub head_dim: u32,
    /// Frequencies; twice as many dimensions of each head are rotated.
    pub table: Arc<Table>,
    /// Which dimensions make a pair.
    pub pairing: Pairing,
}

/// Attention of queries over a cache.
#[derive(Clone, Debug)]
pub struct Attention {
    /// Queries `[rows, heads * head_dim]`.
    pub q: Node,
    /// Keys each row sees, read on the device.
    pub visible: Node,
    /// Keys and values.
    pub cache: Arc<Cache>,
    /// Query heads.
    pub heads: u32,
    /// Multiplies the scores.
    pub scale: f32,
    /// What is known while planning of the keys that rows see: many rows then are taken together. `None` takes
    /// `visible` alone.
    pub seen: Option<Seen>,
    /// `[rows * max_len]`: of rows that write sequences of their own, the sequence each sees at each position.
    pub sources: Option<Node>,
}

/// Where keys and values go in a cache.
#[derive(Clone, Copy, Debug)]
pub enum At {
    /// To these positions of the one sequence.
    Positions(Node),
    /// To these positions, row i to sequence i.
    Rows(Node),
    /// To the one sequence, from a position on.
    From(u32),
}

/// The keys that many rows see, in agreement with their `visible`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Rows stand at positions `start ..`, and see what is up to their own.
    UpTo {
        /// Position of the first row.
        start: u32,
    },
    /// Every row sees the first `len`.
    First {
        /// Keys.
        len: u32,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Floats(Span<f32>),
    Ids(Span<u32>),
    Embed {
        table: Arc<Weights>,
        ids: Node,
    },
    RmsNorm {
        x: Node,
        gain: Arc<Vector>,
        eps: f32,
        heads: u32,
    },
    LayerNorm {
        x: Node,
        gain: Arc<Vector>,
        bias: Arc<Vector>,
        eps: f32,
    },
    MatMul(MatMul),
    Normed(Normed),
    Gate(Gate),
    Heads(Heads),
    Add {
        a: Node,
        b: Node,
    },
    Mul {
        a: Node,
        b: Node,
    },
    Scale {
        x: Node,
        by: f32,
    },
    Curve {
        x: Node,
        curve: Curve,
    },
    Gated {
        gate: Node,
        up: Node,
        curve: Curve,
    },
    Softmax {
        x: Node,
    },
    Rotate(Rotation),
    RotatedKeys {
        rotation: Node,
        k: Node,
    },
    Append {
        k: Node,
        v: Node,
        to: At,
        cache: Arc<Cache>,
    },
    Attend(Attention),
    PagedAppend(PagedAppend),
    PagedAttend(PagedAttention),
    Rows {
        x: Node,
        from: u32,
    },
    ArgMax {
        x: Node,
    },
    Draw {
        logits: Node,
        sampler: Arc<Sampler>,
    },
    Convolve(Convolution),
    Decide {
        logits: Node,
        decision: Decision,
    },
    Follow {
        lines: Arc<Lines>,
        parents: Parents,
    },
    LogProbability {
        logits: Node,
        ids: Node,
        limit: u32,
    },
    Look(Looks),
    /// Nothing: what it did, a fused operation does, or nobody needed it.
    Absorbed,
}

impl Op {
    /// The operands that are nodes.
    pub(crate) fn inputs(&self) -> Vec<Node> {
        match self {
            Op::Floats(_) | Op::Ids(_) => Vec::new(),
            Op::Embed { table: _, ids } => vec![*ids],
            Op::RmsNorm {
                x,
                gain: _,
                eps: _,
                heads: _,
            }
            | Op::LayerNorm {
                x,
                gain: _,
                bias: _,
                eps: _,
            } => vec![*x],
            Op::MatMul(MatMul {
                x,
                weights: _,
                bias: _,
                activation: _,
                residual,
            })
            | Op::Normed(Normed {
                norm: _,
                product:
                    MatMul {
                        x,
                        weights: _,
                        bias: _,
                        activation: _,
                        residual,
                    },
            }) => {
                let mut inputs = vec![*x];
                inputs.extend(residual);
                inputs
            }
            Op::Gate(Gate {
                x,
                norm: _,
                gate: _,
                up: _,
                curve: _,
            }) => vec![*x],
            Op::Heads(Heads {
                x,
                norm: _,
                parts: _,
                turn: _,
                positions,
                store,
            }) => match store {
                Store::Own { .. } => vec![*x, *positions],
                Store::Paged { pages: _, slots } => vec![*x, *positions, *slots],
            },
            Op::Absorbed => Vec::new(),
            Op::Add { a, b } | Op::Mul { a, b } => vec![*a, *b],
            Op::Scale { x, by: _ } | Op::Curve { x, curve: _ } | Op::Softmax { x } => vec![*x],
            Op::Gated { gate, up, curve: _ } => vec![*gate, *up],
            Op::Rotate(Rotation {
                q,
                k,
                positions,
                head_dim: _,
                table: _,
                pairing: _,
            }) => vec![*q, *k, *positions],
            Op::RotatedKeys { rotation, k: _ } => vec![*rotation],
            Op::Append { k, v, to, cache: _ } => match to {
                At::Positions(positions) | At::Rows(positions) => vec![*k, *v, *positions],
                At::From(_) => vec![*k, *v],
            },
            Op::Attend(Attention {
                q,
                visible,
                cache: _,
                heads: _,
                scale: _,
                seen: _,
                sources,
            }) => {
                let mut inputs = vec![*q, *visible];
                inputs.extend(sources);
                inputs
            }
            Op::PagedAppend(PagedAppend {
                k,
                v,
                positions,
                slots,
                pages: _,
            }) => vec![*k, *v, *positions, *slots],
            Op::PagedAttend(PagedAttention {
                q,
                visible,
                slots,
                pages: _,
                heads: _,
                scale: _,
                rows: _,
            }) => vec![*q, *visible, *slots],
            Op::Rows { x, from: _ } | Op::ArgMax { x } => vec![*x],
            Op::Draw { logits, sampler: _ } => vec![*logits],
            Op::Convolve(Convolution {
                x,
                weights: _,
                bias: _,
                stride: _,
                activation: _,
                residual,
            }) => {
                let mut inputs = vec![*x];
                inputs.extend(residual);
                inputs
            }
            Op::Decide {
                logits,
                decision: _,
            } => vec![*logits],
            Op::Follow {
                lines: _,
                parents: _,
            } => Vec::new(),
            Op::LogProbability {
                logits,
                ids,
                limit: _,
            } => vec![*logits, *ids],
            Op::Look(Looks {
                q,
                chosen,
                cache: _,
                len: _,
                scale: _,
            }) => vec![*q, *chosen],
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Op::Floats(_) => "floats",
            Op::Ids(_) => "ids",
            Op::Embed { .. } => "embed",
            Op::RmsNorm { .. } => "rms_norm",
            Op::LayerNorm { .. } => "layer_norm",
            Op::MatMul(_) => "matmul",
            Op::Normed(_) => "norm_matmul",
            Op::Gate(_) => "gate",
            Op::Heads(_) => "heads",
            Op::Add { .. } => "add",
            Op::Mul { .. } => "mul",
            Op::Scale { .. } => "scale",
            Op::Curve { .. } => "curve",
            Op::Gated { .. } => "gated",
            Op::Softmax { .. } => "softmax",
            Op::Rotate(_) => "rotate",
            Op::RotatedKeys { .. } => "rotated_keys",
            Op::Append { .. } => "append",
            Op::Attend(_) => "attend",
            Op::PagedAppend(_) => "append_paged",
            Op::PagedAttend(_) => "attend_paged",
            Op::Rows { .. } => "rows",
            Op::ArgMax { .. } => "argmax",
            Op::Draw { .. } => "draw",
            Op::Convolve(_) => "convolve",
            Op::Decide { .. } => "decide",
            Op::Follow { .. } => "follow",
            Op::LogProbability { .. } => "log_probability",
            Op::Look(_) => "look",
            Op::Absorbed => "absorbed",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) op: Op,
    pub(crate) extent: Extent,
    pub(crate) kind: Kind,
    pub(crate) kept: bool,
}

/// A graph under construction. Nodes are added in the order in which they run.
#[derive(Clone, Debug)]
pub struct Graph {
    id: u32,
    pub(crate) names: Names,
    pub(crate) entries: Vec<Entry>,
}

impl Default for Graph {
    fn default() -> Self {
        Self::new()
    }
}

pub(crate) fn equal(
    op: &'static str,
    what: &'static str,
    want: u32,
    got: u32,
) -> Result<(), Error> {
    if want == got {
        Ok(())
    } else {
        Err(Error::Shape {
            op,
            what,
            want: want.into(),
            got: got.into(),
        })
    }
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Graph {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Graph {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            names: Names::default(),
            entries: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, op: Op, kind: Kind, rows: u32, columns: u32) -> Node {
        self.entries.push(Entry {
            op,
            extent: Extent { rows, columns },
            kind,
            kept: false,
        });
        Node {
            index: self.entries.len() as u32 - 1,
            graph: self.id,
        }
    }

    /// The node of an entry.
    pub(crate) fn node(&self, at: usize) -> Node {
        Node {
            index: at as u32,
            graph: self.id,
        }
    }

    pub(crate) fn entry(
        &self,
        op: &'static str,
        operand: &'static str,
        node: Node,
        kind: Kind,
    ) -> Result<Extent, Error> {
        let entry = self
            .entries
            .get(node.index as usize)
            .filter(|_| node.graph == self.id);
        let entry = entry.ok_or(Error::Foreign { op, operand })?;
        if entry.kind != kind {
            return Err(Error::Kind {
                op,
                operand,
                want: kind.name(),
                got: entry.kind.name(),
            });
        }
        Ok(entry.extent)
    }

    pub(crate) fn floats_of(
        &self,
        op: &'static str,
        operand: &'static str,
        node: Node,
    ) -> Result<Extent, Error> {
        self.entry(op, operand, node, Kind::F32)
    }

    /// Rows and columns of a node.
    ///
    /// # Errors
    /// [`Error::Foreign`].
    pub fn extent(&self, node: Node) -> Result<Extent, Error> {
        let entry = self
            .entries
            .get(node.index as usize)
            .filter(|_| node.graph == self.id);
        entry.map(|entry| entry.extent).ok_or(Error::Foreign {
            op: "extent",
            operand: "node",
        })
    }

    /// Operations, leaves not counted.
    pub fn operations(&self) -> usize {
        self.entries
            .iter()
            .filter(|entry| !matches!(entry.op, Op::Floats(_) | Op::Ids(_) | Op::Absorbed))
            .count()
    }

    /// Leaves: values that come from outside.
    pub fn leaves(&self) -> usize {
        self.entries
            .iter()
            .filter(|entry| matches!(entry.op, Op::Floats(_) | Op::Ids(_)))
            .count()
    }

    /// Keeps a value to the end of the run, so that it can be read from the plan.
    ///
    /// # Errors
    /// [`Error::Foreign`].
    pub fn keep(&mut self, node: Node) -> Result<(), Error> {
        self.extent(node)?;
        self.entries[node.index as usize].kept = true;
        Ok(())
    }

    /// An f32 matrix in a buffer of the caller's.
    ///
    /// # Errors
    /// [`Error::Shape`] if the buffer has another size.
    pub fn floats(&mut self, buffer: &Buffer<f32>, rows: u32, columns: u32) -> Result<Node, Error> {
        let want = u64::from(rows) * u64::from(columns);
        if buffer.len() as u64 != want {
            return Err(Error::Shape {
                op: "floats",
                what: "length",
                want,
                got: buffer.len() as u64,
            });
        }
        Ok(self.push(Op::Floats(Span::of(buffer)), Kind::F32, rows, columns))
    }

    /// Integers (token ids, positions, lengths) in a buffer of the caller's, one for each row.
    pub fn ids(&mut self, buffer: &Buffer<u32>) -> Node {
        self.push(Op::Ids(Span::of(buffer)), Kind::U32, buffer.len() as u32, 1)
    }

    /// Integers of a part of a buffer, one for each row.
    ///
    /// # Errors
    /// [`Error::Shape`] if the part does not lie in the buffer.
    pub fn ids_in(&mut self, buffer: &Buffer<u32>, part: Range<usize>) -> Result<Node, Error> {
        let rows = part.len() as u32;
        let span = Span::of(buffer).part("ids_in", part)?;
        Ok(self.push(Op::Ids(span), Kind::U32, rows, 1))
    }

    /// Rows of `table` by `ids`: `[rows, columns of the table]`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn embed(&mut self, table: &Arc<Weights>, ids: Node) -> Result<Node, Error> {
        let Extent { rows, columns: _ } = self.entry("embed", "ids", ids, Kind::U32)?;
        Ok(self.push(
            Op::Embed {
                table: Arc::clone(table),
                ids,
            },
            Kind::F32,
            rows,
            table.columns,
        ))
    }

    /// RMSNorm of each row, or of each of `heads` equal parts of it.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn rms_norm(
        &mut self,
        x: Node,
        gain: &Arc<Vector>,
        eps: f32,
        heads: u32,
    ) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("rms_norm", "x", x)?;
        equal("rms_norm", "columns", gain.len() * heads, columns)?;
        Ok(self.push(
            Op::RmsNorm {
                x,
                gain: Arc::clone(gain),
                eps,
                heads,
            },
            Kind::F32,
            rows,
            columns,
        ))
    }

    /// LayerNorm of each row.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn layer_norm(
        &mut self,
        x: Node,
        gain: &Arc<Vector>,
        bias: &Arc<Vector>,
        eps: f32,
    ) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("layer_norm", "x", x)?;
        equal("layer_norm", "columns", gain.len(), columns)?;
        equal("layer_norm", "bias", gain.len(), bias.len())?;
        let op = Op::LayerNorm {
            x,
            gain: Arc::clone(gain),
            bias: Arc::clone(bias),
            eps,
        };
        Ok(self.push(op, Kind::F32, rows, columns))
    }

    /// A matrix product with its epilogue: `[rows, rows of W]`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn matmul(&mut self, product: MatMul) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("matmul", "x", product.x)?;
        equal("matmul", "columns", product.weights.columns, columns)?;
        let outputs = product.weights.rows;
        if let Some(bias) = &product.bias {
            equal("matmul", "bias", outputs, bias.len())?;
        }
        if let Some(residual) = product.residual {
            let residual = self.floats_of("matmul", "residual", residual)?;
            equal("matmul", "rows of the residual", rows, residual.rows)?;
            equal(
                "matmul",
                "columns of the residual",
                outputs,
                residual.columns,
            )?;
        }
        Ok(self.push(Op::MatMul(product), Kind::F32, rows, outputs))
    }

    pub(crate) fn same(&mut self, op: &'static str, a: Node, b: Node) -> Result<Extent, Error> {
        let (first, second) = (
            self.floats_of(op, "first", a)?,
            self.floats_of(op, "second", b)?,
        );
        equal(op, "rows", first.rows, second.rows)?;
        equal(op, "columns", first.columns, second.columns)?;
        Ok(first)
    }

    /// `a + b`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn add(&mut self, a: Node, b: Node) -> Result<Node, Error> {
        let Extent { rows, columns } = self.same("add", a, b)?;
        Ok(self.push(Op::Add { a, b }, Kind::F32, rows, columns))
    }

    /// `a * b`, element by element.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn mul(&mut self, a: Node, b: Node) -> Result<Node, Error> {
        let Extent { rows, columns } = self.same("mul", a, b)?;
        Ok(self.push(Op::Mul { a, b }, Kind::F32, rows, columns))
    }

    /// `x * by`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn scale(&mut self, x: Node, by: f32) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("scale", "x", x)?;
        Ok(self.push(Op::Scale { x, by }, Kind::F32, rows, columns))
    }

    /// An activation of each element.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn curve(&mut self, x: Node, curve: Curve) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("curve", "x", x)?;
        Ok(self.push(Op::Curve { x, curve }, Kind::F32, rows, columns))
    }

    /// `curve(gate) * up`; with SiLU this is SwiGLU.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn gated(&mut self, gate: Node, up: Node, curve: Curve) -> Result<Node, Error> {
        let Extent { rows, columns } = self.same("gated", gate, up)?;
        Ok(self.push(Op::Gated { gate, up, curve }, Kind::F32, rows, columns))
    }

    /// Softmax of each row.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn softmax(&mut self, x: Node) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("softmax", "x", x)?;
        Ok(self.push(Op::Softmax { x }, Kind::F32, rows, columns))
    }

    /// A rotary embedding: the rotated queries and keys.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn rotate(&mut self, rotation: Rotation) -> Result<(Node, Node), Error> {
        let q = self.floats_of("rotate", "q", rotation.q)?;
        let k = self.floats_of("rotate", "k", rotation.k)?;
        let positions = self.entry("rotate", "positions", rotation.positions, Kind::U32)?;
        equal("rotate", "rows of the keys", q.rows, k.rows)?;
        equal("rotate", "positions", q.rows, positions.rows)?;
        let dim = rotation.head_dim;
        let rotated = 2 * rotation.table.inverse_frequencies.len() as u32;
        if dim == 0
            || !q.columns.is_multiple_of(dim)
            || !k.columns.is_multiple_of(dim)
            || rotated > dim
        {
            let got = format!(
                "{dim} for {} and {} columns, {rotated} of each head rotated",
                q.columns, k.columns
            );
            return Err(Error::Value {
                op: "rotate",
                what: "head_dim",
                want: "a divisor, with the rotation inside a head",
                got,
            });
        }
        let keys = rotation.k;
        let queries = self.push(Op::Rotate(rotation), Kind::F32, q.rows, q.columns);
        let keys = self.push(
            Op::RotatedKeys {
                rotation: queries,
                k: keys,
            },
            Kind::F32,
            k.rows,
            k.columns,
        );
        Ok((queries, keys))
    }

    /// Writes keys and values of each row to the cache. Later attention over the cache sees them.
    ///
    /// # Errors
    /// A wrong operand, by name; rows that do not fit, where that is known.
    pub fn append(&mut self, [k, v]: [Node; 2], to: At, cache: &Arc<Cache>) -> Result<Node, Error> {
        let Extent { rows, columns } = self.same("append", k, v)?;
        equal(
            "append",
            "columns",
            cache.kv_heads * cache.head_dim,
            columns,
        )?;
        let fits = |what, room: u32, wanted: u64| {
            if wanted <= room.into() {
                return Ok(());
            }
            Err(Error::Shape {
                op: "append",
                what,
                want: room.into(),
                got: wanted,
            })
        };
        match to {
            At::Positions(positions) | At::Rows(positions) => {
                let at = self.entry("append", "positions", positions, Kind::U32)?;
                equal("append", "positions", rows, at.rows)?;
            }
            At::From(start) => fits("end", cache.max_len, u64::from(start) + u64::from(rows))?,
        }
        if let At::Rows(_) = to {
            fits("rows", cache.sequences, rows.into())?;
        }
        let cache = Arc::clone(cache);
        Ok(self.push(Op::Append { k, v, to, cache }, Kind::F32, rows, columns))
    }

    /// Attention: `[rows, heads * head_dim]`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn attend(&mut self, attention: Attention) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("attend", "q", attention.q)?;
        let (heads, cache) = (attention.heads, &attention.cache);
        if heads == 0 || !heads.is_multiple_of(cache.kv_heads) {
            let got = format!("{heads} over {} key heads", cache.kv_heads);
            return Err(Error::Value {
                op: "attend",
                what: "heads",
                want: "a multiple of the key heads",
                got,
            });
        }
        equal("attend", "columns", heads * cache.head_dim, columns)?;
        let visible = self.entry("attend", "visible", attention.visible, Kind::U32)?;
        equal("attend", "visible", rows, visible.rows)?;
        if let Some(sources) = attention.sources {
            let sources = self.entry("attend", "sources", sources, Kind::U32)?;
            equal("attend", "sources", rows * cache.max_len, sources.rows)?;
        }
        let end = match attention.seen {
            Some(Seen::UpTo { start }) => u64::from(start) + u64::from(rows),
            Some(Seen::First { len }) => len.into(),
            None => 0,
        };
        if end > cache.max_len.into() {
            return Err(Error::Shape {
                op: "attend",
                what: "keys",
                want: cache.max_len.into(),
                got: end,
            });
        }
        Ok(self.push(Op::Attend(attention), Kind::F32, rows, columns))
    }

    /// `count` rows from `from` on, without a copy.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn rows(&mut self, x: Node, from: u32, count: u32) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("rows", "x", x)?;
        if u64::from(from) + u64::from(count) > rows.into() {
            let got = u64::from(from) + u64::from(count);
            return Err(Error::Shape {
                op: "rows",
                what: "end",
                want: rows.into(),
                got,
            });
        }
        Ok(self.push(Op::Rows { x, from }, Kind::F32, count, columns))
    }

    /// The index of each row's largest element, the lowest on ties.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn argmax(&mut self, x: Node) -> Result<Node, Error> {
        let Extent { rows, columns: _ } = self.floats_of("argmax", "x", x)?;
        Ok(self.push(Op::ArgMax { x }, Kind::U32, rows, 1))
    }

    /// Draws a token from each row of logits and moves the sampler's counters on: tokens are in its buffer.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn draw(&mut self, logits: Node, sampler: &Arc<Sampler>) -> Result<Node, Error> {
        let Extent { rows, columns: _ } = self.floats_of("draw", "logits", logits)?;
        equal("draw", "rows", sampler.rows, rows)?;
        let op = Op::Draw {
            logits,
            sampler: Arc::clone(sampler),
        };
        Ok(self.push(op, Kind::U32, rows, 1))
    }
}
