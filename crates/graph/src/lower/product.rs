//! Matrix products: the kernel and the form of the activations by shape, layout, target and precision.

use super::{Form, Lowering, matrix::with_matrix, present};
use crate::{
    error::Error,
    graph::{Extent, Node},
    memory::Place,
    op::MatMul,
    resource::Weights,
};
use half::f16;
use std::sync::Arc;
use warpsmith_library::{
    epilogue::Epilogue,
    gemm::{Gemm, GemmArgs, GemmF32, GemmF32Args, GemmInt, GemmIntArgs, Problem, Product, choose},
    gemv::{GemvF32, GemvF32Args, GemvHalf, GemvHalfArgs, GemvQ8, GemvQ8Args},
    quantize::{
        Columns, EIGHT, QuantizeQ8, QuantizeQ8Args, QuantizeTiles, QuantizeTilesArgs, ToF16,
        ToF16Args, tile_words,
    },
    team::Rows,
    weights::GROUP,
};

/// Operands that all product kernels share.
struct Common {
    weights: Arc<Weights>,
    bias: Option<crate::span::Span<f32>>,
    residual: Option<Place>,
    y: Place,
    m: u32,
    epilogue: Epilogue,
}

impl Lowering<'_> {
    pub(super) fn product(&mut self, at: usize, product: &MatMul) -> Result<Place, Error> {
        let rows = self.graph.entries[at].extent.rows;
        let few = self.machine().source(rows, None, &[&product.weights]);
        if few.is_some() {
            return self.project(at, None, product);
        }
        let common = Common {
            weights: Arc::clone(&product.weights),
            bias: product
                .bias
                .as_ref()
                .map(|bias| crate::span::Span::of(&bias.buffer)),
            residual: product.residual.map(|residual| self.place(residual)),
            y: self.value(at),
            m: self.graph.entries[at].extent.rows,
            epilogue: Epilogue {
                bias: present(product.bias.as_ref()),
                activation: product.activation,
                residual: present(product.residual.as_ref()),
            },
        };
        let y = common.y.clone();
        let problem = Problem {
            m: common.m,
            n: common.weights.rows,
            k: common.weights.columns,
            layout: common.weights.layout,
            epilogue: common.epilogue,
            precision: self.precision,
        };
        match choose(problem, self.hardware).product {
            Product::GemvQ8(kernel) => self.bytes_product(product.x, common, kernel),
            Product::GemmInt(kernel) => self.integer_product(product.x, common, kernel),
            Product::Gemm(kernel) => self.half_product(product.x, common, kernel),
            Product::GemvF32(kernel) => self.exact_rows(product.x, common, kernel),
            Product::GemvHalf(kernel) => self.half_rows(product.x, common, kernel),
            Product::GemmF32(kernel) => self.exact_tiles(product.x, common, kernel),
        }
        Ok(y)
    }

    /// The activations in `form`; made once for all products of the same value.
    fn prepared(&mut self, x: Node, form: Form) -> [Place; 2] {
        if let Some(places) = self.prepared.get(&(x, form)) {
            return places.clone();
        }
        let Extent { rows, columns } = self.graph.entries[x.index as usize].extent;
        let groups = columns.div_ceil(GROUP);
        let padded = groups * GROUP;
        let from = self.place(x);
        let len = u64::from(rows) * u64::from(columns);
        let name = std::mem::replace(&mut self.name, "prepare");
        let places = match form {
            Form::Half => {
                let halves = u64::from(rows) * u64::from(padded);
                let (y, scales) = (self.piece::<f16>(halves), self.piece::<f32>(rows.into()));
                let all = [from.clone(), y.clone(), scales.clone()];
                self.push(
                    &[&from, &y, &scales],
                    ToF16 {
                        columns: Columns::of(columns),
                        rows: Rows::for_width(columns),
                    },
                    move |memory| {
                        let [x, y, row_scale] = &all;
                        ToF16Args {
                            x: memory.span(x, len),
                            y: memory.span(y, halves),
                            row_scale: memory.span(row_scale, rows.into()),
                            rows,
                            columns,
                            padded,
                        }
                    },
                );
                [y, scales]
            }
            Form::Bytes => {
                let (words, scales) = (
                    u64::from(rows) * u64::from(groups * 8),
                    u64::from(rows) * u64::from(groups * 4),
                );
                let (y, x_scales) = (self.piece::<u32>(words), self.piece::<f32>(scales));
                let all = [from.clone(), y.clone(), x_scales.clone()];
                self.push(
                    &[&from, &y, &x_scales],
                    QuantizeQ8 {
                        columns: Columns::of(columns),
                    },
                    move |memory| {
                        let [x, y, x_scales] = &all;
                        QuantizeQ8Args {
                            x: memory.span(x, len),
                            words: memory.span(y, words),
                            scales: memory.span(x_scales, scales),
                            rows,
                            columns,
                            row_words: groups * 8,
                            row_scales: groups * 4,
                        }
                    },
                );
                [y, x_scales]
            }
        };
        self.name = name;
        self.prepared.insert((x, form), places.clone());
        places
    }

    /// The activations as fragments of tiles of `eights` eights of rows; made once for all products of the same value.
    fn fragments(&mut self, x: Node, eights: u32) -> Place {
        if let Some(place) = self.fragments.get(&x) {
            return place.clone();
        }
        let Extent { rows, columns } = self.graph.entries[x.index as usize].extent;
        let (tiles, tile_words) = (rows.div_ceil(EIGHT * eights), tile_words(eights, columns));
        let (from, words) = (self.place(x), u64::from(tiles) * u64::from(tile_words));
        let name = std::mem::replace(&mut self.name, "prepare");
        let to = self.piece::<u32>(words);
        let all = [from.clone(), to.clone()];
        let columns_of = Columns::of(columns);
        self.push(
            &[&from, &to],
            QuantizeTiles {
                columns: columns_of,
                eights,
            },
            move |memory| {
                let [x, fragments] = &all;
                QuantizeTilesArgs {
                    x: memory.span(x, u64::from(rows) * u64::from(columns)),
                    fragments: memory.span(fragments, words),
                    rows,
                    columns,
                    tiles,
                    tile_words,
                }
            },
        );
        self.name = name;
        self.fragments.insert(x, to.clone());
        to
    }

    fn integer_product(&mut self, x: Node, common: Common, kernel: GemmInt) {
        let eights = kernel.spread.eights;
        let fragments = self.fragments(x, eights);
        let Common {
            weights,
            bias,
            residual,
            y,
            m,
            epilogue: _,
        } = common;
        let used = [Some(fragments.clone()), residual.clone(), Some(y.clone())];
        let used: Vec<&Place> = used.iter().flatten().collect();
        let (tiles, tile_words) = (
            m.div_ceil(EIGHT * eights),
            tile_words(eights, weights.columns),
        );
        self.push(&used, kernel, move |memory| {
            let out = u64::from(m) * u64::from(weights.rows);
            with_matrix!(
                &weights,
                GemmIntArgs {
                    fragments: memory.span(&fragments, u64::from(tiles) * u64::from(tile_words)),
                    bias,
                    residual: residual.map(|residual| memory.span(&residual, out)),
                    y: memory.span(&y, out),
                    m,
                    n: weights.rows,
                    tiles,
                    tile_words,
                }
            )
        });
    }

    fn bytes_product(&mut self, x: Node, common: Common, kernel: GemvQ8) {
        let [words, x_scales] = self.prepared(x, Form::Bytes);
        let Common {
            weights,
            bias,
            residual,
            y,
            m,
            epilogue: _,
        } = common;
        let groups = weights.padded / GROUP;
        let used = [
            Some(words.clone()),
            Some(x_scales.clone()),
            residual.clone(),
            Some(y.clone()),
        ];
        let used: Vec<&Place> = used.iter().flatten().collect();
        self.push(&used, kernel, move |memory| {
            let out = u64::from(m) * u64::from(weights.rows);
            with_matrix!(
                &weights,
                GemvQ8Args {
                    words: memory.span(&words, u64::from(m) * u64::from(groups * 8)),
                    x_scales: memory.span(&x_scales, u64::from(m) * u64::from(groups * 4)),
                    bias,
                    residual: residual.map(|residual| memory.span(&residual, out)),
                    y: memory.span(&y, out),
                    m,
                    n: weights.rows,
                    row_words: groups * 8,
                    row_scales: groups * 4,
                }
            )
        });
    }

    fn half_product(&mut self, x: Node, common: Common, kernel: Gemm) {
        let [halves, row_scale] = self.prepared(x, Form::Half);
        let Common {
            weights,
            bias,
            residual,
            y,
            m,
            epilogue: _,
        } = common;
        let used = [
            Some(halves.clone()),
            Some(row_scale.clone()),
            residual.clone(),
            Some(y.clone()),
        ];
        let used: Vec<&Place> = used.iter().flatten().collect();
        self.push(&used, kernel, move |memory| {
            let out = u64::from(m) * u64::from(weights.rows);
            with_matrix!(
                &weights,
                GemmArgs {
                    x: memory.span(&halves, u64::from(m) * u64::from(weights.padded)),
                    row_scale: memory.span(&row_scale, m.into()),
                    bias,
                    residual: residual.map(|residual| memory.span(&residual, out)),
                    y: memory.span(&y, out),
                    m,
                    n: weights.rows,
                    padded: weights.padded,
                }
            )
        });
    }

    fn half_rows(&mut self, x: Node, common: Common, kernel: GemvHalf) {
        let [halves, row_scale] = self.prepared(x, Form::Half);
        let Common {
            weights,
            bias,
            residual,
            y,
            m,
            epilogue: _,
        } = common;
        let used = [
            Some(halves.clone()),
            Some(row_scale.clone()),
            residual.clone(),
            Some(y.clone()),
        ];
        let used: Vec<&Place> = used.iter().flatten().collect();
        self.push(&used, kernel, move |memory| {
            let out = u64::from(m) * u64::from(weights.rows);
            with_matrix!(
                &weights,
                GemvHalfArgs {
                    x: memory.span(&halves, u64::from(m) * u64::from(weights.padded)),
                    row_scale: memory.span(&row_scale, m.into()),
                    bias,
                    residual: residual.map(|residual| memory.span(&residual, out)),
                    y: memory.span(&y, out),
                    m,
                    n: weights.rows,
                    padded: weights.padded,
                }
            )
        });
    }

    fn exact_rows(&mut self, x: Node, common: Common, kernel: GemvF32) {
        let x = self.place(x);
        let Common {
            weights,
            bias,
            residual,
            y,
            m,
            epilogue: _,
        } = common;
        let used = [Some(x.clone()), residual.clone(), Some(y.clone())];
        let used: Vec<&Place> = used.iter().flatten().collect();
        self.push(&used, kernel, move |memory| {
            let out = u64::from(m) * u64::from(weights.rows);
            with_matrix!(
                &weights,
                GemvF32Args {
                    x: memory.span(&x, u64::from(m) * u64::from(weights.columns)),
                    bias,
                    residual: residual.map(|residual| memory.span(&residual, out)),
                    y: memory.span(&y, out),
                    m,
                    n: weights.rows,
                    columns: weights.columns,
                }
            )
        });
    }

    fn exact_tiles(&mut self, x: Node, common: Common, kernel: GemmF32) {
        let x = self.place(x);
        let Common {
            weights,
            bias,
            residual,
            y,
            m,
            epilogue: _,
        } = common;
        let used = [Some(x.clone()), residual.clone(), Some(y.clone())];
        let used: Vec<&Place> = used.iter().flatten().collect();
        self.push(&used, kernel, move |memory| {
            let out = u64::from(m) * u64::from(weights.rows);
            with_matrix!(
                &weights,
                GemmF32Args {
                    x: memory.span(&x, u64::from(m) * u64::from(weights.columns)),
                    bias,
                    residual: residual.map(|residual| memory.span(&residual, out)),
                    y: memory.span(&y, out),
                    m,
                    n: weights.rows,
                    columns: weights.columns,
                }
            )
        });
    }
}
