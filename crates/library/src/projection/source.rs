//! What a projection reads: rows of f32, normed and brought to the form of its products, in shared memory.
//!
//! Every CTA does this for itself, so no launch comes before the product; a CTA therefore has as many rows of W as keep
//! this a small part of its work.

use crate::{
    quantize::{Quad, power_of_row, quantize_quad},
    values::{F32, Word},
    weights::GROUP,
};
use half::f16;
use warpsmith_kernel::{
    Cta, Global, InKernel, LaunchError, Read, Scope, Slots, Tile, Val, View, args, require, steps,
    uni, upto,
};

/// What happens to a row before it is multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Norm {
    /// Nothing.
    #[default]
    None,
    /// `x / sqrt(mean(x^2) + eps) * gain`.
    Rms,
    /// `(x - mean) / sqrt(variance + eps) * gain + shift`.
    Layer,
}

/// How a row is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// As signed bytes in groups of 32 (`quantize::QuantizeQ8`), by quantised weights.
    Bytes,
    /// As it is, by weights of any type.
    Single,
    /// In f16, each row scaled by a power of two (`quantize::ToF16`), by f16 weights on tensor cores.
    Half,
}

/// The rows of a projection: their number, their size, and what they go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// How they are multiplied.
    pub form: Form,
    /// What happens before.
    pub norm: Norm,
    /// Rows of x, 1 to [`Source::ROWS`]; 8 in f16, the columns of a tensor core's product.
    pub rows: u32,
    /// Columns of x.
    pub columns: u32,
}

args! {
    /// The rows of a [`Source`] with the vectors and epsilon of its norm.
    pub struct Input {
        x: In<f32>[m, columns], gain: Maybe<f32>[columns], shift: Maybe<f32>[columns],
        m: Scalar<u32>, columns: Scalar<u32>, eps: Scalar<f32>,
    }
}

/// The shared memory of the rows.
pub(super) enum Tiles<'k> {
    Bytes {
        words: Tile<'k, u32>,
        scales: Tile<'k, f32>,
    },
    Single(Tile<'k, f32>),
    Half {
        halves: Tile<'k, f16>,
        scales: Tile<'k, f32>,
    },
}

/// The rows, ready to be multiplied.
#[derive(Clone, Copy)]
pub(super) enum Ready<'t, 'k> {
    /// Words `[rows, groups, 8]`, and `[rows, groups, 4]`: d and its sums.
    Bytes {
        words: View<'t, 'k, u32>,
        scales: View<'t, 'k, f32>,
    },
    /// `[rows, groups, 32]`, zeros behind the columns.
    Single(View<'t, 'k, f32>),
    /// Rows of [`Source::stride`] f16, zeros behind the columns, and what each is multiplied by afterwards.
    Half {
        halves: View<'t, 'k, f16>,
        scales: View<'t, 'k, f32>,
    },
}

type Row<'k> = Global<'k, f32, Read>;

/// Mean and inverse root of a row's norm.
#[derive(Clone, Copy)]
struct Moments<'k> {
    mean: Val<'k, f32, uni::Cta>,
    scale: Val<'k, f32, uni::Cta>,
}

impl Source {
    /// The most rows of x.
    pub const ROWS: u32 = 16;

    /// Bytes of shared memory that the rows take.
    pub fn shared_bytes(&self) -> u32 {
        match self.form {
            Form::Bytes => self.rows * self.groups() * (8 * 4 + 4 * 4),
            Form::Single => self.rows * self.groups() * GROUP * 4,
            Form::Half => self.rows * (self.stride() * 2 + 4),
        }
    }

    /// What shows of it in a kernel's name.
    pub(super) fn suffix(&self) -> String {
        let form = match self.form {
            Form::Bytes => "q8",
            Form::Single => "f32",
            Form::Half => "half",
        };
        let norm = match self.norm {
            Norm::None => "",
            Norm::Rms => "_rms",
            Norm::Layer => "_layer",
        };
        format!("{form}{norm}_{}x{}", self.rows, self.columns)
    }

    /// Refuses other sizes than its own.
    pub(super) fn check(&self, input: &Input) -> Result<(), LaunchError> {
        let (m, columns) = (input.m, input.columns);
        let most = match self.form {
            Form::Bytes | Form::Single => Self::ROWS,
            Form::Half => 8,
        };
        let few = m == self.rows && (1..=most).contains(&m);
        require(few, "m", m.into(), "the kernel's rows, 1 to 16; 8 in f16")?;
        let whole = self.form != Form::Bytes || columns.is_multiple_of(GROUP);
        let same = columns == self.columns && columns > 0 && columns < 1 << 24 && whole;
        require(
            same,
            "columns",
            columns.into(),
            "the kernel's columns, below 2^24; whole groups of 32 for bytes",
        )
    }

    pub(super) fn groups(&self) -> u32 {
        self.columns.div_ceil(GROUP)
    }

    /// Elements from a row in f16 to the next: eight rows lie in different banks.
    pub(super) fn stride(&self) -> u32 {
        self.groups() * GROUP + 8
    }

    /// The shared memory that [`Source::prepare`] fills.
    pub(super) fn tiles<'k>(&self, cta: &mut Cta<'k>) -> Tiles<'k> {
        let groups = self.rows * self.groups();
        match self.form {
            Form::Bytes => Tiles::Bytes {
                words: cta.tile(groups * 8),
                scales: cta.tile(groups * 4),
            },
            Form::Single => Tiles::Single(cta.tile(groups * GROUP)),
            Form::Half => Tiles::Half {
                halves: cta.tile(self.rows * self.stride()),
                scales: cta.tile(self.rows),
            },
        }
    }

    /// Norms the rows and brings them to their form.
    pub(super) fn prepare<'t, 'k>(
        &self,
        cta: &mut Cta<'k>,
        tiles: &'t mut Tiles<'k>,
        input: &Input<InKernel<'k>>,
    ) -> Ready<'t, 'k> {
        match tiles {
            Tiles::Bytes { words, scales } => {
                let mut group_scales = None;
                let words = words.fill(cta, |cta, words| {
                    let view = scales.fill(cta, |cta, scales| {
                        self.each_row(cta, |cta, r| self.bytes(cta, input, r, words, scales));
                    });
                    group_scales = Some(view);
                });
                Ready::Bytes {
                    words,
                    scales: group_scales.expect("filled inside"),
                }
            }
            Tiles::Single(tile) => Ready::Single(tile.fill(cta, |cta, slots| {
                self.each_row(cta, |cta, r| self.single(cta, input, r, slots));
            })),
            Tiles::Half { halves, scales } => {
                let mut row_scales = None;
                let halves = halves.fill(cta, |cta, halves| {
                    let view = scales.fill(cta, |cta, scales| {
                        self.each_row(cta, |cta, r| self.half(cta, input, r, halves, scales));
                    });
                    row_scales = Some(view);
                });
                Ready::Half {
                    halves,
                    scales: row_scales.expect("filled inside"),
                }
            }
        }
    }

    fn each_row<'k>(
        &self,
        cta: &mut Cta<'k>,
        body: impl FnOnce(&mut Cta<'k>, Val<'k, u32, uni::Cta>),
    ) {
        if self.rows == 1 {
            body(cta, Val::constant(0));
        } else {
            cta.for_(upto(self.rows), body);
        }
    }

    fn bytes<'k>(
        &self,
        cta: &mut Cta<'k>,
        input: &Input<InKernel<'k>>,
        r: Val<'k, u32, uni::Cta>,
        words: Slots<'_, 'k, u32>,
        scales: Slots<'_, 'k, f32>,
    ) {
        let row = input.x.row(r);
        let moments = self.moments(cta, input, row);
        let (count, warps) = (self.groups() * 8, cta.warps());
        let ragged = !count.is_multiple_of(32);
        cta.each_warp(|warp| {
            let first = if warps == 1 {
                Val::constant(0)
            } else {
                warp.id() * 32
            };
            warp.for_(steps(first, count, warps * 32), |warp, start| {
                let word = start + warp.lane();
                // Lanes behind the end repeat the last word and store nothing.
                let quad = if ragged { word.min(count - 1) } else { word };
                let x = self.normed(row, input, moments, quad);
                let Quad { packed, group } = quantize_quad(warp, x);
                let at = r * count + word;
                let group = group.map(|x| x.to_bits());
                let leads = (word & 7).equals(0);
                if ragged {
                    warp.if_(word.lt(count), |lane| {
                        words.set(at, packed);
                        lane.if_(leads, |_| scales.set_words((at >> 3) << 2, group));
                    });
                } else {
                    words.set(at, packed);
                    warp.if_(leads, |_| scales.set_words((at >> 3) << 2, group));
                }
            });
        });
    }

    fn single<'k>(
        &self,
        cta: &mut Cta<'k>,
        input: &Input<InKernel<'k>>,
        r: Val<'k, u32, uni::Cta>,
        slots: Slots<'_, 'k, f32>,
    ) {
        let row = input.x.row(r);
        let moments = self.moments(cta, input, row);
        let quads = self.groups() * GROUP / 4;
        cta.each(quads, |_, quad| {
            let x = self.padded(row, input, moments, quad);
            let at = (r * quads + quad) * 4;
            slots.set_words(at, x.map(|x| x.to_bits()));
        });
    }

    fn half<'k>(
        &self,
        cta: &mut Cta<'k>,
        input: &Input<InKernel<'k>>,
        r: Val<'k, u32, uni::Cta>,
        halves: Slots<'_, 'k, f16>,
        scales: Slots<'_, 'k, f32>,
    ) {
        let row = input.x.row(r);
        let moments = self.moments(cta, input, row);
        let quads = self.groups() * GROUP / 4;
        let range = steps(cta.thread(), quads, cta.threads());
        let most = cta.fold_lanes(range, Val::constant(0), |_, quad, most: Word<'k>| {
            let x = self.padded(row, input, moments, quad);
            x.into_iter()
                .fold(most, |most, x| most.max(x.to_bits() & 0x7fff_ffff))
        });
        let most = cta.reduce(most, |a, b| a.max(b));
        let [up, down] = power_of_row(most.varying());
        cta.each(quads, |_, quad| {
            let [p, q, s, t] = self.padded(row, input, moments, quad).map(|x| x * up);
            let at = r * self.stride() + quad * 4;
            halves.set_words(at, [p.pack_f16(q), s.pack_f16(t)]);
        });
        cta.leader(|_| scales.set(r, down));
    }

    /// The normed columns, zeros behind the last.
    fn padded<'k>(
        &self,
        row: Row<'k>,
        input: &Input<InKernel<'k>>,
        moments: Option<Moments<'k>>,
        quad: Word<'k>,
    ) -> [F32<'k>; 4] {
        let mut x = self.normed(row, input, moments, quad);
        if !self.columns.is_multiple_of(GROUP) {
            for (i, x) in x.iter_mut().enumerate() {
                let inside = (quad * 4 + i as u32).lt(self.columns);
                *x = inside.select(*x, 0.0);
            }
        }
        x
    }

    /// Columns `4 quad ..` of a vector of `columns`; behind its end, any of them.
    fn four<'k>(&self, from: Row<'k>, quad: Word<'k>) -> [F32<'k>; 4] {
        let columns = self.columns;
        if columns.is_multiple_of(4) {
            let inside = columns.is_multiple_of(GROUP);
            let quad = if inside {
                quad
            } else {
                quad.min(columns / 4 - 1)
            };
            return from.vector::<4, _>(quad * 4);
        }
        [0, 1, 2, 3].map(|i| from.at((quad * 4 + i).min(columns - 1)))
    }

    fn normed<'k>(
        &self,
        row: Row<'k>,
        input: &Input<InKernel<'k>>,
        moments: Option<Moments<'k>>,
        quad: Word<'k>,
    ) -> [F32<'k>; 4] {
        let x = self.four(row, quad);
        let Some(Moments { mean, scale }) = moments else {
            return x;
        };
        let gain = self.four(input.gain, quad);
        match self.norm {
            Norm::None => x,
            Norm::Rms => [0, 1, 2, 3].map(|i| x[i] * scale * gain[i]),
            Norm::Layer => {
                let shift = self.four(input.shift, quad);
                [0, 1, 2, 3].map(|i| ((x[i] - mean) * scale).mul_add(gain[i], shift[i]))
            }
        }
    }

    fn moments<'k>(
        &self,
        cta: &mut Cta<'k>,
        input: &Input<InKernel<'k>>,
        row: Row<'k>,
    ) -> Option<Moments<'k>> {
        let n = self.columns as f32;
        let mean = match self.norm {
            Norm::None => return None,
            Norm::Rms => Val::constant(0.0),
            Norm::Layer => self.total(cta, row, |x, sum| sum + x) / n,
        };
        let squares = self.total(cta, row, |x, sum| {
            let x = match self.norm {
                Norm::None | Norm::Rms => x,
                Norm::Layer => x - mean,
            };
            x.mul_add(x, sum)
        });
        let scale = (squares / n + input.eps).rsqrt();
        Some(Moments { mean, scale })
    }

    /// `sum = add(x, sum)` over a row.
    fn total<'k>(
        &self,
        cta: &mut Cta<'k>,
        row: Row<'k>,
        add: impl Fn(F32<'k>, F32<'k>) -> F32<'k>,
    ) -> Val<'k, f32, uni::Cta> {
        let columns = self.columns;
        let range = steps(cta.thread(), columns.div_ceil(4), cta.threads());
        let own = cta.fold_lanes(range, Val::constant(0.0), |_, quad, sum| {
            let x = self.four(row, quad).into_iter().enumerate();
            x.fold(sum, |sum, (i, x)| {
                let with = add(x, sum);
                if columns.is_multiple_of(4) {
                    with
                } else {
                    (quad * 4 + i as u32).lt(columns).select(with, sum)
                }
            })
        });
        cta.reduce(own, |a, b| a + b)
    }
}
