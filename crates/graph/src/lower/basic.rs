//! Embeddings, norms, element-wise functions, softmax, argmax, rotary embeddings.

use super::Lowering;
use crate::{
    error::Error,
    memory::Place,
    node::{Extent, Node},
    op::{Op as GraphOp, Rotation},
    resource::{Vector, Weights},
    span::Span,
};
use std::sync::Arc;
use warpsmith_library::{
    embed::{Embed, EmbedArgs},
    norm::{LayerNorm, LayerNormArgs, RmsNorm, RmsNormArgs},
    pointwise::{Op, Pointwise, PointwiseArgs},
    quantize::Columns,
    rope::{Rope, RopeArgs},
    softmax::{
        Softmax, SoftmaxArgs,
        argmax::{Argmax, ArgmaxArgs},
    },
    team::Rows,
};

impl Lowering<'_> {
    fn extent(&self, node: Node) -> Extent {
        self.graph.entries[node.index as usize].extent
    }

    pub(super) fn embed(
        &mut self,
        at: usize,
        table: &Arc<Weights>,
        ids: Node,
    ) -> Result<Place, Error> {
        let tokens = self.extent(ids).rows;
        let (ids, y) = (self.place(ids), self.value(at));
        let table = Arc::clone(table);
        let (from, to) = (ids.clone(), y.clone());
        let kernel = Embed {
            layout: table.layout,
            columns: Columns::of(table.columns),
        };
        self.push(&[&ids, &y], kernel, move |memory| EmbedArgs {
            ids: memory.span(&from, tokens.into()),
            y: memory.span(&to, u64::from(tokens) * u64::from(table.columns)),
            tokens,
            vocab: table.rows,
            columns: table.columns,
            table: table.planes(),
        });
        Ok(y)
    }

    pub(super) fn rms_norm(
        &mut self,
        at: usize,
        x: Node,
        gain: &Arc<Vector>,
        eps: f32,
        heads: u32,
    ) -> Result<Place, Error> {
        let extent = self.extent(x);
        let (rows, n) = (extent.rows * heads, extent.columns / heads);
        let (x, y) = (self.place(x), self.value(at));
        let (from, to, gain) = (x.clone(), y.clone(), Span::of(&gain.buffer));
        self.push(
            &[&x, &y],
            RmsNorm {
                rows: Rows::for_width(n, self.hardware),
            },
            move |memory| {
                let len = u64::from(rows) * u64::from(n);
                RmsNormArgs {
                    x: memory.span(&from, len),
                    gain,
                    y: memory.span(&to, len),
                    rows,
                    n,
                    eps,
                }
            },
        );
        Ok(y)
    }

    pub(super) fn layer_norm(
        &mut self,
        at: usize,
        x: Node,
        vectors: [&Arc<Vector>; 2],
        eps: f32,
    ) -> Result<Place, Error> {
        let Extent { rows, columns: n } = self.extent(x);
        let (x, y) = (self.place(x), self.value(at));
        let [gain, bias] = vectors.map(|vector| Span::of(&vector.buffer));
        let (from, to) = (x.clone(), y.clone());
        self.push(
            &[&x, &y],
            LayerNorm {
                rows: Rows::for_width(n, self.hardware),
            },
            move |memory| {
                let len = u64::from(rows) * u64::from(n);
                LayerNormArgs {
                    x: memory.span(&from, len),
                    gain,
                    bias,
                    y: memory.span(&to, len),
                    rows,
                    n,
                    eps,
                }
            },
        );
        Ok(y)
    }

    pub(super) fn pointwise(
        &mut self,
        at: usize,
        op: Op,
        x: Node,
        other: Option<Node>,
        by: f32,
    ) -> Result<Place, Error> {
        let Extent { rows, columns } = self.extent(x);
        let n = u64::from(rows) * u64::from(columns);
        let (x, other, y) = (
            self.place(x),
            other.map(|other| self.place(other)),
            self.value(at),
        );
        let mut places = vec![&x, &y];
        places.extend(&other);
        let (from, second, to) = (x.clone(), other.clone(), y.clone());
        self.push(&places, Pointwise { op }, move |memory| PointwiseArgs {
            x: memory.span(&from, n),
            other: second.map(|second| memory.span(&second, n)),
            y: memory.span(&to, n),
            n,
            by,
        });
        Ok(y)
    }

    pub(super) fn softmax(&mut self, at: usize, x: Node) -> Result<Place, Error> {
        let Extent { rows, columns: n } = self.extent(x);
        let (x, y) = (self.place(x), self.value(at));
        let (from, to) = (x.clone(), y.clone());
        self.push(
            &[&x, &y],
            Softmax {
                rows: Rows::apart_for_width(n, self.hardware),
            },
            move |memory| {
                let len = u64::from(rows) * u64::from(n);
                SoftmaxArgs {
                    x: memory.span(&from, len),
                    y: memory.span(&to, len),
                    rows,
                    n,
                }
            },
        );
        Ok(y)
    }

    pub(super) fn argmax(&mut self, at: usize, x: Node) -> Result<Place, Error> {
        let Extent { rows, columns: n } = self.extent(x);
        let splits = Argmax::splits(n);
        let parts = u64::from(rows) * u64::from(splits);
        let (x, y) = (self.place(x), self.value(at));
        let (keys, places) = (self.piece::<u32>(parts), self.piece::<u32>(parts));
        let counters = self.counters(rows.into())?;
        let all = [x.clone(), y.clone(), keys.clone(), places.clone(), counters];
        self.push(&[&x, &y, &keys, &places], Argmax, move |memory| {
            let [x, y, keys, places, counters] = &all;
            ArgmaxArgs {
                x: memory.span(x, u64::from(rows) * u64::from(n)),
                y: memory.span(y, rows.into()),
                keys: memory.span(keys, parts),
                places: memory.span(places, parts),
                counters: memory.span(counters, rows.into()),
                rows,
                n,
                splits,
            }
        });
        Ok(y)
    }

    /// The place of a value that a kernel may overwrite: its own if nobody else reads it, else a copy.
    fn owned(&mut self, node: Node) -> Result<Place, Error> {
        let entry = &self.graph.entries[node.index as usize];
        let outside = matches!(entry.op, GraphOp::Floats(_) | GraphOp::Rows { .. });
        if self.uses[node.index as usize] == 1 && !outside && !entry.kept {
            return Ok(self.place(node));
        }
        let copy = self.pointwise(node.index as usize, Op::Scale, node, None, 1.0)?;
        self.moved.insert(node, copy.clone());
        Ok(copy)
    }

    pub(super) fn rotate(&mut self, rotation: &Rotation) -> Result<Place, Error> {
        let Extent {
            rows: tokens,
            columns,
        } = self.extent(rotation.q);
        let (head_dim, kv_columns) = (rotation.head_dim, self.extent(rotation.k).columns);
        let (q, k, positions) = (
            self.owned(rotation.q)?,
            self.owned(rotation.k)?,
            self.place(rotation.positions),
        );
        let all = [q.clone(), k.clone(), positions.clone()];
        let table = Arc::clone(&rotation.table);
        self.push(
            &[&q, &k, &positions],
            Rope {
                pairing: rotation.pairing,
            },
            move |memory| {
                let [q, k, positions] = &all;
                RopeArgs {
                    q: memory.span(q, u64::from(tokens) * u64::from(columns)),
                    k: memory.span(k, u64::from(tokens) * u64::from(kv_columns)),
                    positions: memory.span(positions, tokens.into()),
                    inverse: Span::of(&table.inverse_frequencies),
                    tokens,
                    heads: columns / head_dim,
                    kv_heads: kv_columns / head_dim,
                    head_dim,
                    pairs: table.inverse_frequencies.len() as u32,
                    magnitude: table.magnitude,
                }
            },
        );
        Ok(q)
    }
}
