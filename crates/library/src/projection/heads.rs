//! Queries, keys and values of few rows together: norms of heads, rotation, and the way into the cache.

use super::{
    cached::Cached,
    dot::{Matrix, matrix},
    product::supports,
    source::{Ready, Source, input},
    work::{FEW_SMS, Past, Range, Work},
};
use crate::{
    attention::History,
    epilogue::Operand,
    rope::{Pairing, sin_cos},
    weights::{BLOCK, Layout, PlaneSizes, layout_name},
};
use half::f16;
use warpsmith_kernel::{
    BuildError, Cta, Device, Global, Kernel, LaunchError, Read, Scope, Tile, Val, Write, args,
    require, steps, uni,
};
use warpsmith_ptx::target::Target;

/// One of the three matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Layout of its weights.
    pub layout: Layout,
    /// One number for each output, added to the product.
    pub bias: Operand,
    /// RMSNorm of each head, after the bias.
    pub norm: Operand,
}

/// How queries and keys turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    /// Which elements of a head turn together.
    pub pairing: Pairing,
    /// Pairs of a head; what is past them stays.
    pub pairs: u32,
}

/// What is done, beside the element type of the cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeadsPlan {
    /// Rows of x.
    pub source: Source,
    /// Queries, keys, values; values have no norm.
    pub parts: [Part; 3],
    /// Dimensions of a head, an even number.
    pub head_dim: u32,
    /// Rows of W that a CTA finishes together: [`HeadsPlan::unit`].
    pub unit: u32,
    /// Rotation of queries and keys.
    pub turn: Option<Turn>,
    /// Whose keys and values they are.
    pub history: History,
    /// How units are spread.
    pub work: Work,
}

/// What a CTA does at a time of one part.
#[derive(Clone, Copy)]
enum Role {
    Queries,
    Keys,
    Values,
}

const ROLES: [Role; 3] = [Role::Queries, Role::Keys, Role::Values];

type Uniform<'k> = Val<'k, u32, uni::Cta>;
type Word<'k> = Val<'k, u32, uni::Lane>;
type F32<'k> = Val<'k, f32, uni::Lane>;

impl HeadsPlan {
    /// What a unit is a multiple of: whole heads where an element needs others of its head, else one block of rows.
    fn least_unit(parts: &[Part; 3], turn: Option<Turn>, head_dim: u32) -> u32 {
        let normed = parts.iter().any(|part| part.norm == Operand::Present);
        let halves = turn.is_some_and(|turn| turn.pairing == Pairing::Halves);
        if !normed && !halves {
            return BLOCK;
        }
        let mut unit = BLOCK;
        while !unit.is_multiple_of(head_dim) {
            unit += BLOCK;
        }
        unit
    }

    /// Rows of W that a CTA finishes together, of matrices with `rows` rows, on `sms` multiprocessors.
    ///
    /// Where these are so few that they must be virtual, a unit is as large as keeps four CTAs for each of them, for rows of
    /// x are made ready in each, at the cost of half a block; blocks behind a part's last one are idle.
    pub fn unit(
        parts: &[Part; 3],
        turn: Option<Turn>,
        head_dim: u32,
        rows: [u32; 3],
        sms: u32,
    ) -> u32 {
        let least = Self::least_unit(parts, turn, head_dim);
        if sms >= FEW_SMS {
            return least;
        }
        let ctas = |unit: u32| rows.iter().map(|rows| rows.div_ceil(unit)).sum::<u32>();
        let units = (1..=8).map(|times| times * least);
        let fitting = units.filter(|unit| *unit <= 512 && ctas(*unit) >= 4 * sms.max(1));
        let cost = |unit: &u32| ctas(*unit) * (2 * unit / BLOCK + 1);
        fitting.min_by_key(cost).unwrap_or(least)
    }

    fn suffix(&self) -> String {
        let parts = self.parts.map(|part| {
            let bias = if part.bias == Operand::Present {
                "b"
            } else {
                ""
            };
            let norm = if part.norm == Operand::Present {
                "n"
            } else {
                ""
            };
            format!("_{}{bias}{norm}", layout_name(part.layout))
        });
        let turn = match self.turn {
            None => String::new(),
            Some(Turn { pairing, pairs }) => match pairing {
                Pairing::Neighbours => format!("_neighbours{pairs}"),
                Pairing::Halves => format!("_halves{pairs}"),
            },
        };
        let history = match self.history {
            History::Shared => "",
            History::Forked => "_forked",
        };
        let (source, head_dim, work) = (self.source.suffix(), self.head_dim, self.work.suffix());
        let unit = self.unit;
        format!(
            "{source}{}_{head_dim}{turn}{history}_{unit}{work}",
            parts.concat()
        )
    }

    fn grid(&self, sizes: Sizes, planes: [PlaneSizes; 3]) -> Result<u64, LaunchError> {
        let Sizes {
            m,
            columns,
            heads,
            kv_heads,
            head_dim,
            pairs,
            max_len,
            sequences,
        } = sizes;
        self.source.check(m, columns)?;
        let even = head_dim == self.head_dim && head_dim > 0 && head_dim.is_multiple_of(2);
        require(
            even,
            "head_dim",
            head_dim.into(),
            "the kernel's, an even number",
        )?;
        let want = self.turn.map_or(0, |turn| turn.pairs);
        let inside = pairs == want && u64::from(pairs) * 2 <= u64::from(head_dim);
        require(
            inside,
            "pairs",
            pairs.into(),
            "the kernel's, at most half of head_dim",
        )?;
        let least = Self::least_unit(&self.parts, self.turn, self.head_dim);
        let whole = self.unit > 0 && self.unit.is_multiple_of(least);
        require(whole, "unit", self.unit.into(), "whole blocks and heads")?;
        let enough = match self.history {
            History::Shared => sequences > 0,
            History::Forked => sequences >= m,
        };
        require(
            enough,
            "sequences",
            sequences.into(),
            "at least 1, and one for each forked row",
        )?;
        require(max_len > 0, "max_len", max_len.into(), "at least 1")?;
        let mut units = 0;
        for ((part, planes), heads) in self
            .parts
            .iter()
            .zip(planes)
            .zip([heads, kv_heads, kv_heads])
        {
            let rows = u64::from(heads) * u64::from(head_dim);
            require(
                heads > 0 && rows < 1 << 31,
                "heads",
                heads.into(),
                "at least 1, below 2^31 / head_dim",
            )?;
            planes.check(part.layout, rows as u32, columns)?;
            units += (rows as u32).div_ceil(self.unit);
        }
        Ok(units.div_ceil(self.work.each).into())
    }

    /// The whole body; `caches` are those of keys and values.
    fn run<'k, T: Cached>(&self, cta: &mut Cta<'k>, x: Ready<'_, 'k>, a: &Outputs<'k, T>) {
        let unit = self.unit;
        let ends = {
            let [q, kv] = [a.heads, a.kv_heads].map(|heads| (heads * self.head_dim).div_ceil(unit));
            [q, q + kv, q + kv + kv]
        };
        let mut tile = cta.tile::<f32>(unit * self.work.split * self.source.rows);
        let normed = self.parts.iter().any(|part| part.norm == Operand::Present);
        let mut heads = normed.then(|| cta.tile::<f32>(unit * self.source.rows));
        let first = cta.id() * self.work.each;
        let mut one = |cta: &mut Cta<'k>, at: Uniform<'k>| {
            let mut start: Uniform<'k> = Val::constant(0);
            for (role, end) in ROLES.into_iter().zip(ends) {
                cta.if_all(at.ge(start) & at.lt(end), |cta| {
                    self.part(cta, x, a, (role, at - start), &mut tile, &mut heads);
                });
                start = end;
            }
        };
        if self.work.each == 1 {
            one(cta, first);
        } else {
            cta.for_(steps(first, (first + self.work.each).min(ends[2]), 1), one);
        }
    }

    /// One unit of one part: products, then what its heads go through.
    fn part<'k, T: Cached>(
        &self,
        cta: &mut Cta<'k>,
        x: Ready<'_, 'k>,
        a: &Outputs<'k, T>,
        (role, at): (Role, Uniform<'k>),
        tile: &mut Tile<'k, f32>,
        heads: &mut Option<Tile<'k, f32>>,
    ) {
        let (unit, rows, split) = (self.unit, self.source.rows, self.work.split);
        let (part, planes) = (self.parts[role as usize], a.parts[role as usize]);
        let (warps, tile_rows) = (cta.warps(), rows * BLOCK);
        let lane = cta.in_warps(|warp| warp.lane());
        let range = Range {
            first: at * (unit / BLOCK),
            count: unit / BLOCK,
            blocks: planes.blocks,
            past: match part.norm {
                Operand::Present => Past::Repeat,
                // Only rows of heads that are there are read.
                Operand::Absent => Past::Skip,
            },
        };
        let matrices = |block| [planes.row(part.layout, block, lane)];
        let sums = tile.fill(cta, |cta, slots| {
            self.work.blocks(
                cta,
                &self.source,
                x,
                range,
                matrices,
                |warp, block, share, own| {
                    let start = (block * split + share) * tile_rows;
                    own.each(warp, rows, |_, r, row, [sum]| {
                        slots.set(row + start + r * BLOCK, sum)
                    });
                },
            );
        });
        let count = match role {
            Role::Queries => a.heads,
            Role::Keys | Role::Values => a.kv_heads,
        };
        // Of row i of the unit and row r of x.
        let product = |r: Word<'k>, i: Word<'k>| {
            let from = sums.from((i / BLOCK) * (split * tile_rows) + r * BLOCK + i % BLOCK);
            let share = |share: u32| from.at(share * tile_rows).varying();
            let sum = (1..split).fold(share(0), |sum, next| sum + share(next));
            match part.bias {
                Operand::Absent => sum,
                // Rows of a unit behind the last head repeat it and are not stored.
                Operand::Present => {
                    sum + planes
                        .bias
                        .at((at * unit + i).min(count * self.head_dim - 1))
                }
            }
        };
        match (role, heads, part.norm) {
            (Role::Queries | Role::Keys, Some(heads), Operand::Present) => {
                let gain = a.gains[role as usize];
                let (dim, of_unit) = (self.head_dim, unit / self.head_dim);
                let normed = heads.fill(cta, |cta, slots| {
                    cta.each_warp(|warp| {
                        let first = if warps == 1 {
                            Val::constant(0)
                        } else {
                            warp.id()
                        };
                        warp.for_(steps(first, rows * of_unit, warps), |warp, at| {
                            let (r, start) = ((at / of_unit).varying(), (at % of_unit) * dim);
                            let own = steps(warp.lane(), dim, 32);
                            let squares = warp.fold_lanes(own, Val::constant(0.0), |_, i, sum| {
                                let x = product(r, i + start);
                                x.mul_add(x, sum)
                            });
                            let scale = (warp.sum(squares) / dim as f32 + a.head_eps).rsqrt();
                            warp.each(dim, |_, i| {
                                let x = product(r, i + start) * scale * gain.at(i);
                                slots.set(r * unit + (i + start), x);
                            });
                        });
                    });
                });
                self.finish(cta, a, (role, at), count, |r, i| normed.at(r * unit + i));
            }
            _ => self.finish(cta, a, (role, at), count, product),
        }
    }

    /// Turns pairs and stores them; `value(r, i)` is row i of the unit for row r of x.
    fn finish<'k, T: Cached>(
        &self,
        cta: &mut Cta<'k>,
        a: &Outputs<'k, T>,
        (role, at): (Role, Uniform<'k>),
        count: Uniform<'k>,
        value: impl Fn(Word<'k>, Word<'k>) -> F32<'k>,
    ) {
        let (unit, dim) = (self.unit, self.head_dim);
        let (pairs_of_unit, pairs_of_head) = (unit / 2, dim / 2);
        cta.each(self.source.rows * pairs_of_unit, |lane, j| {
            let (r, within) = (j / pairs_of_unit, j % pairs_of_unit);
            let pair = within + at * pairs_of_unit;
            let (head, p) = (pair / pairs_of_head, pair % pairs_of_head);
            lane.if_(head.lt(count), |lane| {
                let start = head * dim - at * unit;
                let turn = match role {
                    Role::Queries | Role::Keys => self.turn,
                    Role::Values => None,
                };
                let mut places = [p * 2, p * 2 + 1];
                if let Some(Turn {
                    pairing: Pairing::Halves,
                    pairs,
                }) = turn
                {
                    let turns = p.lt(pairs);
                    places = [
                        turns.select(p, places[0]),
                        turns.select(p + pairs, places[1]),
                    ];
                }
                let mut values = places.map(|i| value(r, start + i));
                if let Some(Turn { pairing: _, pairs }) = turn {
                    let [x, y] = values;
                    let frequency = a.inverse.at(p.min(pairs - 1));
                    let (sin, cos) = sin_cos(a.positions.at(r).f32(), frequency);
                    let (sin, cos) = (sin * a.magnitude, cos * a.magnitude);
                    let turned = [x.mul_add(cos, -(y * sin)), x.mul_add(sin, y * cos)];
                    values = if 2 * pairs == dim {
                        turned
                    } else {
                        let turns = p.lt(pairs);
                        [turns.select(turned[0], x), turns.select(turned[1], y)]
                    };
                }
                let cache = match role {
                    Role::Queries => {
                        let to = a.q.row(r).from(head * dim);
                        places
                            .into_iter()
                            .zip(values)
                            .for_each(|(i, x)| to.set(i, x));
                        return;
                    }
                    Role::Keys => a.caches[0],
                    Role::Values => a.caches[1],
                };
                let position = a.positions.at(r);
                lane.if_(position.lt(a.max_len), |_| {
                    let row = match self.history {
                        History::Shared => head,
                        History::Forked => r * a.kv_heads + head,
                    };
                    let row = row.mul_wide(a.max_len) + position.u64();
                    let to = cache.from(row * u64::from(dim));
                    places
                        .into_iter()
                        .zip(values)
                        .for_each(|(i, x)| T::put(to, i, x));
                });
            });
        });
    }
}

/// One matrix with its bias.
#[derive(Clone, Copy)]
struct Planes<'k> {
    codes: Global<'k, u32, Read>,
    high: Global<'k, u32, Read>,
    sub: Global<'k, u8, Read>,
    scales: Global<'k, u16, Read>,
    bias: Global<'k, f32, Read>,
    blocks: Uniform<'k>,
}

impl<'k> Planes<'k> {
    fn row(self, layout: Layout, block: Val<'k, u32, uni::Warp>, lane: Word<'k>) -> Matrix<'k> {
        matrix!(layout, self, block, lane, codes, high, sub, scales)
    }
}

/// The operands behind the products.
struct Outputs<'k, T> {
    parts: [Planes<'k>; 3],
    /// Of the norms of queries and keys.
    gains: [Global<'k, f32, Read>; 2],
    head_eps: Val<'k, f32, uni::Cta>,
    positions: Global<'k, u32, Read>,
    inverse: Global<'k, f32, Read>,
    magnitude: Val<'k, f32, uni::Cta>,
    q: Global<'k, f32, Write>,
    caches: [Global<'k, T, Write>; 2],
    heads: Uniform<'k>,
    kv_heads: Uniform<'k>,
    max_len: Uniform<'k>,
}

/// The sizes of a launch.
struct Sizes {
    m: u32,
    columns: u32,
    heads: u32,
    kv_heads: u32,
    head_dim: u32,
    pairs: u32,
    max_len: u32,
    sequences: u32,
}

macro_rules! heads {
    ($(#[$args_doc:meta])* $args:ident, $(#[$doc:meta])* $kernel:ident, $t:ty, $name:literal) => {
        args! {
            $(#[$args_doc])*
            pub struct $args {
                x: In<f32>[m, columns], gain: Maybe<f32>[columns], shift: Maybe<f32>[columns],
                q_codes: In<u32>[q_blocks, q_code_block], q_high: Maybe<u32>[q_blocks, q_high_block],
                q_sub: Maybe<u8>[q_blocks, q_sub_block], q_scales: Maybe<u16>[q_blocks, q_scale_block],
                k_codes: In<u32>[k_blocks, k_code_block], k_high: Maybe<u32>[k_blocks, k_high_block],
                k_sub: Maybe<u8>[k_blocks, k_sub_block], k_scales: Maybe<u16>[k_blocks, k_scale_block],
                v_codes: In<u32>[v_blocks, v_code_block], v_high: Maybe<u32>[v_blocks, v_high_block],
                v_sub: Maybe<u8>[v_blocks, v_sub_block], v_scales: Maybe<u16>[v_blocks, v_scale_block],
                q_bias: Maybe<f32>[heads * head_dim], k_bias: Maybe<f32>[kv_heads * head_dim],
                v_bias: Maybe<f32>[kv_heads * head_dim],
                q_gain: Maybe<f32>[head_dim], k_gain: Maybe<f32>[head_dim],
                positions: In<u32>[m], inverse: Maybe<f32>[pairs],
                q: Out<f32>[m, heads * head_dim],
                k_cache: InOut<$t>[sequences * kv_heads, max_len, head_dim],
                v_cache: InOut<$t>[sequences * kv_heads, max_len, head_dim],
                m: Scalar<u32>, columns: Scalar<u32>, heads: Scalar<u32>, kv_heads: Scalar<u32>, head_dim: Scalar<u32>,
                pairs: Scalar<u32>, max_len: Scalar<u32>, sequences: Scalar<u32>,
                q_blocks: Scalar<u32>, q_code_block: Scalar<u32>, q_high_block: Scalar<u32>, q_sub_block: Scalar<u32>, q_scale_block: Scalar<u32>,
                k_blocks: Scalar<u32>, k_code_block: Scalar<u32>, k_high_block: Scalar<u32>, k_sub_block: Scalar<u32>, k_scale_block: Scalar<u32>,
                v_blocks: Scalar<u32>, v_code_block: Scalar<u32>, v_high_block: Scalar<u32>, v_sub_block: Scalar<u32>, v_scale_block: Scalar<u32>,
                eps: Scalar<f32>, head_eps: Scalar<f32>, magnitude: Scalar<f32>,
            }
        }

        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $kernel {
            /// What is done.
            pub plan: HeadsPlan,
        }

        impl Kernel for $kernel {
            type Args = $args;

            fn name(&self) -> String {
                format!(concat!($name, "_{}"), self.plan.suffix())
            }

            fn threads(&self) -> u32 {
                self.plan.work.threads()
            }

            fn resized(&self, threads: u32) -> Option<Self> {
                let mut plan = self.plan.clone();
                plan.work = plan.work.resized(threads);
                Some(Self { plan })
            }

            fn supports(&self, target: Target) -> Result<(), BuildError> {
                let layouts = self.plan.parts.map(|part| part.layout);
                supports(&self.plan.source, &layouts, target, || self.name())
            }

            fn grid(&self, a: &$args) -> Result<u64, LaunchError> {
                let sizes = Sizes {
                    m: a.m,
                    columns: a.columns,
                    heads: a.heads,
                    kv_heads: a.kv_heads,
                    head_dim: a.head_dim,
                    pairs: a.pairs,
                    max_len: a.max_len,
                    sequences: a.sequences,
                };
                let planes = |[blocks, code_block, high_block, sub_block, scale_block]: [u32; 5]| PlaneSizes {
                    blocks,
                    code_block,
                    high_block,
                    sub_block,
                    scale_block,
                };
                self.plan.grid(
                    sizes,
                    [
                        planes([a.q_blocks, a.q_code_block, a.q_high_block, a.q_sub_block, a.q_scale_block]),
                        planes([a.k_blocks, a.k_code_block, a.k_high_block, a.k_sub_block, a.k_scale_block]),
                        planes([a.v_blocks, a.v_code_block, a.v_high_block, a.v_sub_block, a.v_scale_block]),
                    ],
                )
            }

            fn body<'k>(&self, cta: &mut Cta<'k>, a: $args<Device<'k>>) {
                let source = &self.plan.source;
                let mut tiles = source.tiles(cta);
                let x = source.prepare(cta, &mut tiles, &input!(a));
                let outputs = Outputs {
                    parts: [
                        Planes {
                            codes: a.q_codes,
                            high: a.q_high,
                            sub: a.q_sub,
                            scales: a.q_scales,
                            bias: a.q_bias,
                            blocks: a.q_blocks,
                        },
                        Planes {
                            codes: a.k_codes,
                            high: a.k_high,
                            sub: a.k_sub,
                            scales: a.k_scales,
                            bias: a.k_bias,
                            blocks: a.k_blocks,
                        },
                        Planes {
                            codes: a.v_codes,
                            high: a.v_high,
                            sub: a.v_sub,
                            scales: a.v_scales,
                            bias: a.v_bias,
                            blocks: a.v_blocks,
                        },
                    ],
                    gains: [a.q_gain, a.k_gain],
                    head_eps: a.head_eps,
                    positions: a.positions,
                    inverse: a.inverse,
                    magnitude: a.magnitude,
                    q: a.q,
                    caches: [a.k_cache, a.v_cache],
                    heads: a.heads,
                    kv_heads: a.kv_heads,
                    max_len: a.max_len,
                };
                self.plan.run(cta, x, &outputs);
            }
        }
    };
}

heads! {
    /// `x` is f32 `[m, columns]`; weights `[heads * head_dim, columns]` and twice `[kv_heads * head_dim, columns]` in the
    /// planes of their layouts; `q` is f32 `[m, heads, head_dim]`; keys and values of row i go to `positions[i]`, or
    /// nowhere if that is not below `max_len`: of sequence 0, or of sequence i where rows were forked.
    HeadsArgs,
    /// Into an f32 cache.
    Heads, f32, "heads"
}

heads! {
    /// As [`HeadsArgs`], to a cache in f16.
    HeadsF16Args,
    /// Into an f16 cache; numbers are rounded to nearest even.
    HeadsF16, f16, "heads_f16"
}
