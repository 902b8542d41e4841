//! Matrix products: the kernel and the form of the activations by shape, layout, target and precision.

use super::{Form, Lowering, present};
use crate::{
    error::Error,
    memory::{Memory, Place},
    node::{Extent, Node},
    op::MatMul,
    resource::Weights,
    span::{Planned, Span},
};
use half::f16;
use std::sync::Arc;
use warpsmith_kernel::{Kernel, Shapes, args::Signature};
use warpsmith_library::{
    epilogue::{Epilogue, Outputs},
    gemm::{GemmArgs, GemmF32Args, GemmIntArgs, Problem, Product, choose},
    gemv::{GemvF32Args, GemvHalfArgs, GemvQ8Args},
    quantize::{
        Columns, EIGHT, QuantizeQ8, QuantizeQ8Args, QuantizeTiles, QuantizeTilesArgs, ToF16,
        ToF16Args, tile_words,
    },
    team::Rows,
    weights::{GROUP, Planes},
};

/// What a product's kernel is told beside its activations.
struct Common {
    weights: Arc<Weights>,
    bias: Option<Span<f32>>,
    residual: Option<Place>,
    y: Place,
    m: u32,
}

impl Common {
    fn outputs(&self, memory: &Memory) -> Outputs<Planned> {
        let (m, n) = (self.m, self.weights.rows);
        let len = u64::from(m) * u64::from(n);
        Outputs {
            bias: self.bias.clone(),
            residual: self.residual.as_ref().map(|from| memory.span(from, len)),
            y: memory.span(&self.y, len),
            m,
            n,
        }
    }
}

impl Lowering<'_> {
    pub(super) fn product(&mut self, at: usize, product: &MatMul) -> Result<Place, Error> {
        let m = self.graph.entries[at].extent.rows;
        let few = self.machine().source(m, None, &[&product.weights]);
        if few.is_some() {
            return self.project(at, None, product);
        }
        let common = Common {
            weights: Arc::clone(&product.weights),
            bias: product.bias.as_ref().map(|bias| Span::of(&bias.buffer)),
            residual: product.residual.map(|residual| self.place(residual)),
            y: self.value(at),
            m,
        };
        let y = common.y.clone();
        let Weights {
            rows: n,
            columns,
            padded,
            layout,
            ..
        } = *product.weights;
        let problem = Problem {
            m,
            n,
            k: columns,
            layout,
            epilogue: Epilogue {
                bias: present(product.bias.as_ref()),
                activation: product.activation,
                residual: present(product.residual.as_ref()),
            },
            precision: self.precision,
        };
        let (x, of_rows) = (product.x, move |columns: u32| {
            u64::from(m) * u64::from(columns)
        });
        match choose(problem, self.hardware).product {
            Product::GemvQ8(kernel) => {
                let groups = padded / GROUP;
                let x = self.prepared(x, Form::Bytes);
                self.multiply(x, common, kernel, move |memory, [words, scales], w, out| {
                    GemvQ8Args {
                        words: memory.span(words, of_rows(groups * 8)),
                        x_scales: memory.span(scales, of_rows(groups * 4)),
                        w,
                        out,
                        row_words: groups * 8,
                        row_scales: groups * 4,
                    }
                });
            }
            Product::GemmInt(kernel) => {
                let eights = kernel.spread.eights;
                let (tiles, tile_words) = (m.div_ceil(EIGHT * eights), tile_words(eights, columns));
                let x = [self.fragments(x, eights)];
                self.multiply(x, common, kernel, move |memory, [x], w, out| GemmIntArgs {
                    fragments: memory.span(x, u64::from(tiles) * u64::from(tile_words)),
                    w,
                    out,
                    tiles,
                    tile_words,
                });
            }
            Product::Gemm(kernel) => {
                let x = self.prepared(x, Form::Half);
                self.multiply(x, common, kernel, move |memory, [x, row_scale], w, out| {
                    GemmArgs {
                        x: memory.span(x, of_rows(padded)),
                        row_scale: memory.span(row_scale, m.into()),
                        w,
                        out,
                        padded,
                    }
                });
            }
            Product::GemvHalf(kernel) => {
                let x = self.prepared(x, Form::Half);
                self.multiply(x, common, kernel, move |memory, [x, row_scale], w, out| {
                    GemvHalfArgs {
                        x: memory.span(x, of_rows(padded)),
                        row_scale: memory.span(row_scale, m.into()),
                        w,
                        out,
                        padded,
                    }
                });
            }
            Product::GemvF32(kernel) => {
                let x = [self.place(x)];
                self.multiply(x, common, kernel, move |memory, [x], w, out| GemvF32Args {
                    x: memory.span(x, of_rows(columns)),
                    w,
                    out,
                    columns,
                });
            }
            Product::GemmF32(kernel) => {
                let x = [self.place(x)];
                self.multiply(x, common, kernel, move |memory, [x], w, out| GemmF32Args {
                    x: memory.span(x, of_rows(columns)),
                    w,
                    out,
                    columns,
                });
            }
        }
        Ok(y)
    }

    /// Adds the launch of a product of `x`, whose arguments `args` puts together.
    fn multiply<K, const N: usize>(
        &mut self,
        x: [Place; N],
        common: Common,
        kernel: K,
        args: impl FnOnce(
            &Memory,
            &[Place; N],
            Planes<Planned>,
            Outputs<Planned>,
        ) -> <K::Args as Signature>::On<Planned>
        + 'static,
    ) where
        K: Kernel,
        K::Args: Signature<On<Shapes> = K::Args>,
        <K::Args as Signature>::On<Planned>: Send + Sync,
    {
        let mut used = x.to_vec();
        used.extend(common.residual.clone());
        used.push(common.y.clone());
        self.push(&used.iter().collect::<Vec<_>>(), kernel, move |memory| {
            args(memory, &x, common.weights.planes(), common.outputs(memory))
        });
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
                        rows: Rows::for_width(columns, self.hardware),
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
}
