//! Fused operations of few rows, a launch each.

use super::{
    Lowering,
    matrix::{Matrix, with_matrix},
    present,
};
use crate::{
    error::Error,
    fused::{Gate, Heads, Norm, Part, Store},
    graph::Extent,
    memory::Place,
    op::MatMul,
    passes::Machine,
    resource::{Vector, Weights},
    span::Span,
};
use std::sync::Arc;
use warpsmith_library::{
    attention::CacheType,
    epilogue::Epilogue,
    projection::{
        Gate as GateKernel, GateArgs, Heads as HeadsKernel, HeadsArgs, HeadsF16, HeadsF16Args,
        HeadsPlan, Owners, Part as PartKey, Project, ProjectArgs, Source, Turn, Work,
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
    owners: Owners,
    ty: CacheType,
    kv_heads: u32,
    head_dim: u32,
    max_len: u32,
    sequences: u32,
    keys: Span<u8>,
    values: Span<u8>,
    table: Option<Span<u32>>,
    /// Rows of the table, and pages of each.
    tables: [u32; 2],
}

impl Stored {
    fn of(store: &Store) -> Stored {
        match store {
            Store::Own { cache, history } => Stored {
                owners: (*history).into(),
                ty: cache.ty,
                kv_heads: cache.kv_heads,
                head_dim: cache.head_dim,
                max_len: cache.max_len,
                sequences: cache.sequences,
                keys: cache.keys.clone(),
                values: cache.values.clone(),
                table: None,
                tables: [0, 0],
            },
            Store::Paged { pages, slots: _ } => Stored {
                owners: Owners::Paged {
                    page: pages.sizes.page,
                },
                ty: pages.sizes.ty,
                kv_heads: pages.sizes.kv_heads,
                head_dim: pages.sizes.head_dim,
                max_len: pages.sizes.page,
                sequences: pages.sizes.pages,
                keys: pages.keys.clone(),
                values: pages.values.clone(),
                table: Some(pages.table.clone()),
                tables: [pages.sequences, pages.blocks],
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
        let Vectors { gain, shift, eps } = Vectors::of(norm);
        let bias = bias.as_ref().map(|bias| Span::of(&bias.buffer));
        let weights = Arc::clone(weights);
        let mut used = vec![x.clone(), y.clone()];
        used.extend(residual.clone());
        let to = y.clone();
        self.push(&used.iter().collect::<Vec<_>>(), kernel, move |memory| {
            let out = u64::from(rows) * u64::from(weights.rows);
            with_matrix!(
                &weights,
                ProjectArgs {
                    x: memory.span(&x, u64::from(rows) * u64::from(weights.columns)),
                    gain,
                    shift,
                    bias,
                    residual: residual.map(|residual| memory.span(&residual, out)),
                    y: memory.span(&to, out),
                    m: rows,
                    n: weights.rows,
                    columns: weights.columns,
                    eps,
                }
            )
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
        let Vectors { gain, shift, eps } = Vectors::of(norm.as_ref());
        let weights = [Arc::clone(gate), Arc::clone(up)];
        let (from, to) = (x.clone(), y.clone());
        self.push(&[&x, &y], kernel, move |memory| {
            let [gate, up] = weights.each_ref().map(|of| Matrix::of(of));
            let [first, _] = &weights;
            let of_rows = |columns: u32| u64::from(rows) * u64::from(columns);
            GateArgs {
                x: memory.span(&from, of_rows(first.columns)),
                gain,
                shift,
                gate_codes: gate.codes,
                gate_high: gate.high,
                gate_sub: gate.sub,
                gate_scales: gate.scales,
                up_codes: up.codes,
                up_high: up.high,
                up_sub: up.sub,
                up_scales: up.scales,
                y: memory.span(&to, of_rows(first.rows)),
                m: rows,
                n: first.rows,
                columns: first.columns,
                blocks: gate.blocks,
                gate_code_block: gate.code_block,
                gate_high_block: gate.high_block,
                gate_sub_block: gate.sub_block,
                gate_scale_block: gate.scale_block,
                up_code_block: up.code_block,
                up_high_block: up.high_block,
                up_sub_block: up.sub_block,
                up_scale_block: up.scale_block,
                eps,
            }
        });
        Ok(y)
    }

    pub(super) fn heads(&mut self, at: usize, heads: &Heads) -> Result<Place, Error> {
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
        let key = |part: &Part| PartKey {
            layout: part.weights.layout,
            bias: present(part.bias.as_ref()),
            norm: present(part.norm.as_ref()),
        };
        let part_keys = parts.each_ref().map(key);
        let Stored {
            owners,
            ty,
            kv_heads,
            head_dim,
            max_len,
            sequences,
            keys,
            values,
            table,
            tables: [table_rows, blocks],
        } = Stored::of(store);
        let slots = match store {
            Store::Own { .. } => None,
            Store::Paged { pages: _, slots } => Some(self.place(*slots)),
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
            owners,
            work: Work::of_units(units, unit / BLOCK, &source, self.hardware),
        };
        let (x, positions, q) = (self.place(*x), self.place(*positions), self.value(at));
        let Vectors { gain, shift, eps } = Vectors::of(norm.as_ref());
        let span = |of: &Option<Arc<Vector>>| of.as_ref().map(|of| Span::of(&of.buffer));
        let [q_bias, k_bias, v_bias] = parts.each_ref().map(|part| span(&part.bias));
        let gain_of = |part: &Part| part.norm.as_ref().map(|(gain, _)| Span::of(&gain.buffer));
        let [q_gain, k_gain, _] = parts.each_ref().map(gain_of);
        let norms = parts.iter().filter_map(|part| part.norm.as_ref());
        let head_eps = norms.map(|(_, eps)| *eps).next().unwrap_or_default();
        let inverse = turn
            .as_ref()
            .map(|(table, _)| Span::of(&table.inverse_frequencies));
        let magnitude = turn.as_ref().map_or(1.0, |(table, _)| table.magnitude);
        let parts = parts.each_ref().map(|part| Arc::clone(&part.weights));
        let mut used = vec![x.clone(), positions.clone(), q.clone()];
        used.extend(slots.clone());
        let used: Vec<&Place> = used.iter().collect();
        let to = q.clone();
        macro_rules! heads {
            ($kernel:ident, $args:ident) => {
                self.push(&used, $kernel { plan }, move |memory| {
                    let [q, k, v] = parts.each_ref().map(|of| Matrix::of(of));
                    let of_rows = |columns: u32| u64::from(rows) * u64::from(columns);
                    $args {
                        x: memory.span(&x, of_rows(source.columns)),
                        gain,
                        shift,
                        q_codes: q.codes,
                        q_high: q.high,
                        q_sub: q.sub,
                        q_scales: q.scales,
                        k_codes: k.codes,
                        k_high: k.high,
                        k_sub: k.sub,
                        k_scales: k.scales,
                        v_codes: v.codes,
                        v_high: v.high,
                        v_sub: v.sub,
                        v_scales: v.scales,
                        q_bias,
                        k_bias,
                        v_bias,
                        q_gain,
                        k_gain,
                        positions: memory.span(&positions, rows.into()),
                        slots: slots.map(|slots| memory.span(&slots, rows.into())),
                        table,
                        inverse,
                        q: memory.span(&to, of_rows(columns)),
                        k_cache: keys.cast(),
                        v_cache: values.cast(),
                        m: rows,
                        columns: source.columns,
                        heads: columns / head_dim,
                        kv_heads,
                        head_dim,
                        pairs: turn_key.map_or(0, |turn| turn.pairs),
                        max_len,
                        sequences,
                        table_rows,
                        blocks,
                        q_blocks: q.blocks,
                        q_code_block: q.code_block,
                        q_high_block: q.high_block,
                        q_sub_block: q.sub_block,
                        q_scale_block: q.scale_block,
                        k_blocks: k.blocks,
                        k_code_block: k.code_block,
                        k_high_block: k.high_block,
                        k_sub_block: k.sub_block,
                        k_scale_block: k.scale_block,
                        v_blocks: v.blocks,
                        v_code_block: v.code_block,
                        v_high_block: v.high_block,
                        v_sub_block: v.sub_block,
                        v_scale_block: v.scale_block,
                        eps,
                        head_eps,
                        magnitude,
                    }
                })
            };
        }
        match ty {
            CacheType::F32 => heads!(HeadsKernel, HeadsArgs),
            CacheType::F16 => heads!(HeadsF16, HeadsF16Args),
        }
        Ok(q)
    }
}
