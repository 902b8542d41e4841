//! Fused operations of few rows, a launch each.

use super::{Lowering, present};
use crate::{
    error::Error,
    memory::Place,
    node::Extent,
    op::{
        MatMul,
        fused::{Gate, Heads, HeadsMatrix, Norm, Store},
    },
    passes::Machine,
    resource::{Vector, Weights},
    span::{Planned, Span},
};
use half::f16;
use std::sync::Arc;
use warpsmith_library::{
    attention::{CacheType, Cached, History, Paging},
    epilogue::{Epilogue, Outputs},
    projection::{
        Gate as GateKernel, GateArgs, Heads as HeadsKernel, HeadsArgs, HeadsMatrix as MatrixKey,
        HeadsPlan, Input, Project, ProjectArgs, Source, Turn, Work,
    },
    weights::BLOCK,
};

/// Gain, shift and epsilon of a norm.
struct Vectors {
    gain: Option<Span<f32>>,
    shift: Option<Span<f32>>,
    eps: f32,
}

impl Vectors {
    /// With the rows of x, `[m, columns]`.
    fn input(self, x: Span<f32>, [m, columns]: [u32; 2]) -> Input<Planned> {
        let Vectors { gain, shift, eps } = self;
        Input {
            x,
            gain,
            shift,
            m,
            columns,
            eps,
        }
    }

    fn of(norm: Option<&Norm>) -> Vectors {
        let span = |vector: &Vector| Some(Span::of(&vector.buffer));
        match norm {
            None => Vectors {
                gain: None,
                shift: None,
                eps: 0.0,
            },
            Some(Norm::Rms { gain, eps }) => Vectors {
                gain: span(gain),
                shift: None,
                eps: *eps,
            },
            Some(Norm::Layer { gain, shift, eps }) => Vectors {
                gain: span(gain),
                shift: span(shift),
                eps: *eps,
            },
        }
    }
}

/// What the kernel of heads is told of where keys and values go; of pages, each is a sequence of so many positions.
struct Stored {
    history: History,
    kv_heads: u32,
    head_dim: u32,
    max_len: u32,
    sequences: u32,
    keys: Span<u8>,
    values: Span<u8>,
}

impl Stored {
    fn of(store: &Store) -> Stored {
        match store {
            Store::Own { cache, history } => Stored {
                history: *history,
                kv_heads: cache.kv_heads,
                head_dim: cache.head_dim,
                max_len: cache.max_len,
                sequences: cache.sequences,
                keys: cache.keys.clone(),
                values: cache.values.clone(),
            },
            Store::Paged { pages, slots: _ } => Stored {
                history: pages.sizes.history(),
                kv_heads: pages.sizes.kv_heads,
                head_dim: pages.sizes.head_dim,
                max_len: pages.sizes.page,
                sequences: pages.sizes.pages,
                keys: pages.keys.clone(),
                values: pages.values.clone(),
            },
        }
    }
}

impl Lowering<'_> {
    pub(super) fn machine(&self) -> Machine {
        Machine {
            hardware: self.hardware,
            precision: self.precision,
        }
    }

    /// The rows of a fused operation: its pass has asked whether one launch takes them.
    fn source(
        &self,
        rows: u32,
        norm: Option<&Norm>,
        weights: &[&Weights],
    ) -> Result<Source, Error> {
        let source = self.machine().source(rows, norm, weights);
        source.ok_or_else(|| Error::Value {
            op: self.name,
            what: "rows",
            want: "few enough for one launch",
            got: rows.to_string(),
        })
    }

    /// A product by a fused kernel.
    pub(super) fn project(
        &mut self,
        at: usize,
        norm: Option<&Norm>,
        product: &MatMul,
    ) -> Result<Place, Error> {
        let rows = self.graph.entries[at].extent.rows;
        let MatMul {
            x,
            weights,
            bias,
            activation,
            residual,
        } = product;
        let source = self.source(rows, norm, &[weights])?;
        let (x, y) = (self.place(*x), self.value(at));
        let residual = residual.map(|residual| self.place(residual));
        let kernel = Project {
            source,
            layout: weights.layout,
            work: Work::of_blocks(weights.rows.div_ceil(BLOCK), &source, self.hardware),
            epilogue: Epilogue {
                bias: present(bias.as_ref()),
                activation: *activation,
                residual: present(residual.as_ref()),
            },
        };
        let vectors = Vectors::of(norm);
        let bias = bias.as_ref().map(|bias| Span::of(&bias.buffer));
        let weights = Arc::clone(weights);
        let mut used = vec![x.clone(), y.clone()];
        used.extend(residual.clone());
        let to = y.clone();
        self.push(&used.iter().collect::<Vec<_>>(), kernel, move |memory| {
            let (n, columns) = (weights.rows, weights.columns);
            let of_rows = |columns: u32| u64::from(rows) * u64::from(columns);
            ProjectArgs {
                rows: vectors.input(memory.span(&x, of_rows(columns)), [rows, columns]),
                w: weights.planes(),
                out: Outputs {
                    bias,
                    residual: residual.map(|residual| memory.span(&residual, of_rows(n))),
                    y: memory.span(&to, of_rows(n)),
                    m: rows,
                    n,
                },
            }
        });
        Ok(y)
    }

    pub(super) fn gate(&mut self, at: usize, gate: &Gate) -> Result<Place, Error> {
        let rows = self.graph.entries[at].extent.rows;
        let Gate {
            x,
            norm,
            gate,
            up,
            curve,
        } = gate;
        let source = self.source(rows, norm.as_ref(), &[gate, up])?;
        let (x, y) = (self.place(*x), self.value(at));
        let kernel = GateKernel {
            source,
            gate: gate.layout,
            up: up.layout,
            work: Work::of_blocks(gate.rows.div_ceil(BLOCK), &source, self.hardware),
            curve: *curve,
        };
        let vectors = Vectors::of(norm.as_ref());
        let [gate, up] = [Arc::clone(gate), Arc::clone(up)];
        let (from, to) = (x.clone(), y.clone());
        self.push(&[&x, &y], kernel, move |memory| {
            let (n, columns) = (gate.rows, gate.columns);
            let of_rows = |columns: u32| u64::from(rows) * u64::from(columns);
            GateArgs {
                rows: vectors.input(memory.span(&from, of_rows(columns)), [rows, columns]),
                gate: gate.planes(),
                up: up.planes(),
                y: memory.span(&to, of_rows(n)),
                n,
            }
        });
        Ok(y)
    }

    pub(super) fn heads(&mut self, at: usize, heads: &Heads) -> Result<Place, Error> {
        let ty = match &heads.store {
            Store::Own { cache, history: _ } => cache.ty,
            Store::Paged { pages, slots: _ } => pages.sizes.ty,
        };
        match ty {
            CacheType::F32 => self.heads_into::<f32>(at, heads),
            CacheType::F16 => self.heads_into::<f16>(at, heads),
        }
    }

    /// With a cache of `T`.
    fn heads_into<T: Cached>(&mut self, at: usize, heads: &Heads) -> Result<Place, Error> {
        let Extent { rows, columns } = self.graph.entries[at].extent;
        let Heads {
            x,
            norm,
            parts,
            turn,
            positions,
            store,
        } = heads;
        let weights = parts.each_ref().map(|part| &*part.weights);
        let source = self.source(rows, norm.as_ref(), &weights)?;
        let key = |part: &HeadsMatrix| MatrixKey {
            layout: part.weights.layout,
            bias: present(part.bias.as_ref()),
            norm: present(part.norm.as_ref()),
        };
        let part_keys = parts.each_ref().map(key);
        let Stored {
            history,
            kv_heads,
            head_dim,
            max_len,
            sequences,
            keys,
            values,
        } = Stored::of(store);
        let paged = match store {
            Store::Own { .. } => None,
            Store::Paged { pages, slots } => Some((Arc::clone(pages), self.place(*slots))),
        };
        let turn_key = turn.as_ref().map(|(table, pairing)| Turn {
            pairing: *pairing,
            pairs: table.inverse_frequencies.len() as u32,
        });
        let rows_of = weights.map(|of| of.rows);
        let unit = HeadsPlan::unit(&part_keys, turn_key, head_dim, rows_of, rows, self.hardware);
        let units = weights.iter().map(|of| of.rows.div_ceil(unit)).sum();
        let plan = HeadsPlan {
            source,
            parts: part_keys,
            head_dim,
            unit,
            turn: turn_key,
            history,
            work: Work::of_units(units, unit / BLOCK, &source, self.hardware),
        };
        let (x, positions, q) = (self.place(*x), self.place(*positions), self.value(at));
        let vectors = Vectors::of(norm.as_ref());
        let span = |of: &Option<Arc<Vector>>| of.as_ref().map(|of| Span::of(&of.buffer));
        let [q_bias, k_bias, v_bias] = parts.each_ref().map(|part| span(&part.bias));
        let gain_of =
            |part: &HeadsMatrix| part.norm.as_ref().map(|(gain, _)| Span::of(&gain.buffer));
        let [q_gain, k_gain, _] = parts.each_ref().map(gain_of);
        let norms = parts.iter().filter_map(|part| part.norm.as_ref());
        let head_eps = norms.map(|(_, eps)| *eps).next().unwrap_or_default();
        let inverse = turn
            .as_ref()
            .map(|(table, _)| Span::of(&table.inverse_frequencies));
        let magnitude = turn.as_ref().map_or(1.0, |(table, _)| table.magnitude);
        let parts = parts.each_ref().map(|part| Arc::clone(&part.weights));
        let mut used = vec![x.clone(), positions.clone(), q.clone()];
        used.extend(paged.as_ref().map(|(_, slots)| slots.clone()));
        let used: Vec<&Place> = used.iter().collect();
        let to = q.clone();
        self.push(&used, HeadsKernel::<T>::new(plan), move |memory| {
            let [wq, wk, wv] = parts.each_ref().map(|of| of.planes());
            let of_rows = |columns: u32| u64::from(rows) * u64::from(columns);
            let x = memory.span(&x, of_rows(source.columns));
            HeadsArgs {
                rows: vectors.input(x, [rows, source.columns]),
                wq,
                wk,
                wv,
                q_bias,
                k_bias,
                v_bias,
                q_gain,
                k_gain,
                positions: memory.span(&positions, rows.into()),
                paging: match paged {
                    None => Paging::none(),
                    Some((pages, slots)) => pages.paging(memory.span(&slots, rows.into()), rows),
                },
                inverse,
                q: memory.span(&to, of_rows(columns)),
                k_cache: keys.cast(),
                v_cache: values.cast(),
                heads: columns / head_dim,
                kv_heads,
                head_dim,
                pairs: turn_key.map_or(0, |turn| turn.pairs),
                max_len,
                sequences,
                head_eps,
                magnitude,
            }
        });
        Ok(q)
    }
}
