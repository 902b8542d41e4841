//! Queries, keys and values of few rows together: norms of heads, rotation, and the way into the cache.

use super::{
    dot::Matrix,
    product::supports,
    source::{Input, Ready, Source},
    work::{Past, Range, Work},
};
use crate::{
    attention::{Cached, History, Paging, history::Caches},
    epilogue::Operand,
    quad::Quad,
    rope::{Pairing, sin_cos},
    typed::Typed,
    values::{F32, Uniform, Word},
    weights::{BLOCK, Layout, Planes, layout_name},
};
use warpsmith_kernel::{
    BuildError, Cta, Hardware, InKernel, Kernel, LaunchError, Scope, Tile, Val, View, args,
    require, steps,
};
use warpsmith_ptx::target::Target;

/// One of the three matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeadsMatrix {
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

/// What [`Heads`] do, beside the element type of the cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeadsPlan {
    /// Rows of x.
    pub source: Source,
    /// Queries, keys, values; values have no norm.
    pub parts: [HeadsMatrix; 3],
    /// Dimensions of a head, an even number.
    pub head_dim: u32,
    /// Rows of W that a CTA finishes together: [`HeadsPlan::unit`].
    pub unit: u32,
    /// Rotation of queries and keys.
    pub turn: Option<Turn>,
    /// Whose keys and values they become.
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

/// Which rows a CTA has at a time.
#[derive(Clone, Copy)]
struct Unit<'k> {
    role: Role,
    /// Which unit of its part.
    at: Uniform<'k>,
}

const ROLES: [Role; 3] = [Role::Queries, Role::Keys, Role::Values];

impl HeadsPlan {
    /// What a unit is a multiple of: whole heads where an element needs others of its head, else one block of rows.
    fn least_unit(parts: &[HeadsMatrix; 3], turn: Option<Turn>, head_dim: u32) -> u32 {
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

    /// Rows of W that a CTA finishes together, of matrices with `rows` rows, for `m` rows of x.
    ///
    /// On the virtual GPU a unit is as large as keeps four CTAs for each multiprocessor, for rows of x are made ready in
    /// each, at the cost of half a block; blocks behind a part's last one are idle.
    pub fn unit(
        parts: &[HeadsMatrix; 3],
        turn: Option<Turn>,
        head_dim: u32,
        rows: [u32; 3],
        m: u32,
        hardware: Hardware,
    ) -> u32 {
        let least = Self::least_unit(parts, turn, head_dim);
        if !hardware.is_virtual() {
            return least;
        }
        let ctas = |unit: u32| rows.iter().map(|rows| rows.div_ceil(unit)).sum::<u32>();
        let units = (1..=8).map(|times| times * least);
        let fitting = units.filter(|unit| {
            unit * m <= 512 * 8 && *unit <= 512 && ctas(*unit) >= 4 * hardware.sms.max(1)
        });
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
        let owners = match self.history {
            History::Shared | History::Paged { .. } => "",
            History::Forked => "_forked",
        };
        let (source, head_dim, work) = (self.source.suffix(), self.head_dim, self.work.suffix());
        let unit = self.unit;
        format!(
            "{source}{}_{head_dim}{turn}{owners}_{unit}{work}",
            parts.concat()
        )
    }

    fn check<T: Cached>(&self, a: &HeadsArgs<T>) -> Result<u32, LaunchError> {
        self.source.check(&a.rows)?;
        let (m, head_dim, pairs) = (a.rows.m, a.head_dim, a.pairs);
        let even = head_dim == self.head_dim && head_dim > 0 && head_dim.is_multiple_of(2);
        let expected = "the kernel's, an even number";
        require(even, "head_dim", head_dim.into(), expected)?;
        let want = self.turn.map_or(0, |turn| turn.pairs);
        let inside = pairs == want && u64::from(pairs) * 2 <= u64::from(head_dim);
        let expected = "the kernel's, at most half of head_dim";
        require(inside, "pairs", pairs.into(), expected)?;
        let whole_heads = Self::least_unit(&self.parts, self.turn, self.head_dim);
        let whole = self.unit > 0 && self.unit.is_multiple_of(whole_heads);
        require(whole, "unit", self.unit.into(), "whole blocks and heads")?;
        let caches = Caches {
            sequences: a.sequences,
            least: match self.history {
                History::Shared | History::Paged { .. } => 1,
                History::Forked => m,
            },
            max_len: a.max_len,
            rows: m,
        };
        self.history.check(caches, &a.paging)?;
        let mut units = 0;
        let parts = [(&a.wq, a.heads), (&a.wk, a.kv_heads), (&a.wv, a.kv_heads)];
        for (part, (planes, heads)) in self.parts.iter().zip(parts) {
            let rows = u64::from(heads) * u64::from(head_dim);
            let expected = "at least 1, below 2^31 / head_dim";
            let some = heads > 0 && rows < 1 << 31;
            require(some, "heads", heads.into(), expected)?;
            planes.check(part.layout, rows as u32, a.rows.columns)?;
            units += (rows as u32).div_ceil(self.unit);
        }
        Ok(units)
    }

    fn layouts(&self) -> [Layout; 3] {
        self.parts.map(|part| part.layout)
    }

    /// The units of queries, of them and keys, of all.
    fn ends<'k, T: Cached>(&self, a: &On<'k, T>) -> [Uniform<'k>; 3] {
        let units = |heads: Uniform<'k>| (heads * self.head_dim).div_ceil(self.unit);
        let (q, kv) = (units(a.heads), units(a.kv_heads));
        [q, q + kv, q + kv + kv]
    }

    /// Runs `each` with the part of unit `at` and the unit's number in it.
    fn dispatch<'k>(
        &self,
        cta: &mut Cta<'k>,
        ends: [Uniform<'k>; 3],
        at: Uniform<'k>,
        mut each: impl FnMut(&mut Cta<'k>, Unit<'k>),
    ) {
        let mut start: Uniform<'k> = Val::constant(0);
        for (role, end) in ROLES.into_iter().zip(ends) {
            cta.if_all(at.ge(start) & at.lt(end), |cta| {
                each(
                    cta,
                    Unit {
                        role,
                        at: at - start,
                    },
                );
            });
            start = end;
        }
    }

    /// The blocks of a unit.
    fn range<'k>(&self, Unit { role, at }: Unit<'k>, blocks: Uniform<'k>) -> Range<'k> {
        let count = self.unit / BLOCK;
        Range {
            first: at * count,
            count,
            blocks,
            past: match self.parts[role as usize].norm {
                Operand::Present => Past::Repeat,
                // Only rows of heads that are there are read.
                Operand::Absent => Past::Skip,
            },
        }
    }

    /// Begins to fetch what unit `at` multiplies by first.
    fn fetch<'k, T: Cached>(
        &self,
        cta: &mut Cta<'k>,
        a: &On<'k, T>,
        ends: [Uniform<'k>; 3],
        at: Uniform<'k>,
    ) {
        let lane = cta.in_warps(|warp| warp.lane());
        self.dispatch(cta, ends, at, |cta, unit| {
            let (layout, planes) = (self.layouts()[unit.role as usize], a.planes(unit.role));
            let range = self.range(unit, planes.blocks);
            let matrix = |block| [Matrix::of(layout, planes, block, lane)];
            self.work.fetch(cta, &self.source, [layout], range, matrix);
        });
    }

    /// All units of the CTA.
    fn run<'k, T: Cached>(&self, cta: &mut Cta<'k>, x: Ready<'_, 'k>, a: &On<'k, T>) {
        let unit = self.unit;
        let ends = self.ends(a);
        let mut tile = cta.tile::<f32>(unit * self.work.split * self.source.rows);
        let normed = self.parts.iter().any(|part| part.norm == Operand::Present);
        let mut heads = normed.then(|| cta.tile::<f32>(unit * self.source.rows));
        let first = cta.id() * self.work.each;
        let mut one = |cta: &mut Cta<'k>, at: Uniform<'k>| {
            self.dispatch(cta, ends, at, |cta, unit| {
                let sums = self.products(cta, x, a, unit, &mut tile);
                let product = |r, i| self.product(a, unit, sums, r, i);
                let norm = self.parts[unit.role as usize].norm;
                match (unit.role, &mut heads, norm) {
                    (Role::Queries | Role::Keys, Some(heads), Operand::Present) => {
                        let normed = self.normed(cta, a, unit.role, heads, product);
                        self.finish(cta, a, unit, |r, i| normed.at(r * self.unit + i));
                    }
                    _ => self.finish(cta, a, unit, product),
                }
            });
        };
        if self.work.each == 1 {
            one(cta, first);
            return;
        }
        let end = (first + self.work.each).min(ends[2]);
        cta.for_(steps(first, end, 1), |cta, at| {
            one(cta, at);
            if cta.ahead().is_some() {
                let next = at + 1;
                cta.if_all(next.lt(end), |cta| self.fetch(cta, a, ends, next));
            }
        });
    }

    /// The products of a unit: of each block, share of the groups, row of x, row of W.
    fn products<'t, 'k, T: Cached>(
        &self,
        cta: &mut Cta<'k>,
        x: Ready<'_, 'k>,
        a: &On<'k, T>,
        unit: Unit<'k>,
        tile: &'t mut Tile<'k, f32>,
    ) -> View<'t, 'k, f32> {
        let (rows, split) = (self.source.rows, self.work.split);
        let (layout, planes) = (self.layouts()[unit.role as usize], a.planes(unit.role));
        let lane = cta.in_warps(|warp| warp.lane());
        let range = self.range(unit, planes.blocks);
        let matrices = |block| [Matrix::of(layout, planes, block, lane)];
        tile.fill(cta, |cta, slots| {
            self.work.blocks(
                cta,
                &self.source,
                x,
                [layout],
                range,
                matrices,
                |warp, block, share, own| {
                    let start = (block * split + share) * (rows * BLOCK);
                    own.each(warp, rows, |_, r, row, [sum]| {
                        slots.set(row + start + r * BLOCK, sum)
                    });
                },
            );
        })
    }

    /// The product of row `i` of the unit and row `r` of x, with its bias.
    fn product<'k, T: Cached>(
        &self,
        a: &On<'k, T>,
        Unit { role, at }: Unit<'k>,
        sums: View<'_, 'k, f32>,
        r: Word<'k>,
        i: Word<'k>,
    ) -> F32<'k> {
        let (tile_rows, split) = (self.source.rows * BLOCK, self.work.split);
        let from = sums.from((i / BLOCK) * (split * tile_rows) + r * BLOCK + i % BLOCK);
        let share = |share: u32| from.at(share * tile_rows).varying();
        let sum = (1..split).fold(share(0), |sum, next| sum + share(next));
        match self.parts[role as usize].bias {
            Operand::Absent => sum,
            Operand::Present => {
                let bias = [a.q_bias, a.k_bias, a.v_bias][role as usize];
                // Rows of a unit behind the last head repeat it and are not stored.
                let last = a.count(role) * self.head_dim - 1;
                sum + bias.at((at * self.unit + i).min(last))
            }
        }
    }

    /// The RMSNorm of each head of a unit, a warp for each.
    fn normed<'t, 'k, T: Cached>(
        &self,
        cta: &mut Cta<'k>,
        a: &On<'k, T>,
        role: Role,
        tile: &'t mut Tile<'k, f32>,
        product: impl Fn(Word<'k>, Word<'k>) -> F32<'k>,
    ) -> View<'t, 'k, f32> {
        let gain = match role {
            Role::Queries => a.q_gain,
            Role::Keys | Role::Values => a.k_gain,
        };
        let (unit, dim, warps) = (self.unit, self.head_dim, cta.warps());
        let of_unit = unit / dim;
        tile.fill(cta, |cta, slots| {
            cta.each_warp(|warp| {
                let first = if warps == 1 {
                    Val::constant(0)
                } else {
                    warp.id()
                };
                let all = self.source.rows * of_unit;
                warp.for_(steps(first, all, warps), |warp, at| {
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
        })
    }

    /// Turns pairs and stores them; `value(r, i)` is row i of the unit for row r of x.
    fn finish<'k, T: Cached>(
        &self,
        cta: &mut Cta<'k>,
        a: &On<'k, T>,
        Unit { role, at }: Unit<'k>,
        value: impl Fn(Word<'k>, Word<'k>) -> F32<'k>,
    ) {
        let (unit, dim) = (self.unit, self.head_dim);
        let (pairs_of_unit, pairs_of_head) = (unit / 2, dim / 2);
        let turn = self.turn.filter(|_| !matches!(role, Role::Values));
        cta.each(self.source.rows * pairs_of_unit, |lane, j| {
            let (r, within) = (j / pairs_of_unit, j % pairs_of_unit);
            let pair = within + at * pairs_of_unit;
            let (head, p) = (pair / pairs_of_head, pair % pairs_of_head);
            lane.if_(head.lt(a.count(role)), |lane| {
                let start = head * dim - at * unit;
                let places = places(turn, p);
                let values = places.map(|i| value(r, start + i));
                let values = match turn {
                    Some(turn) => self.turned(a, turn, r, p, values),
                    None => values,
                };
                let pair = || places.into_iter().zip(values);
                let cache = match role {
                    Role::Queries => {
                        let to = a.q.row(r).from(head * dim);
                        pair().for_each(|(i, x)| to.set(i, x));
                        return;
                    }
                    Role::Keys => a.k_cache,
                    Role::Values => a.v_cache,
                };
                let position = a.positions.at(r);
                let room = self.history.room(a.max_len, &a.paging);
                lane.if_(position.lt(room), |_| {
                    let lies = self.history.written(r, &a.paging);
                    let dim = u64::from(dim);
                    let stride = a.kv_heads.mul_wide(a.max_len) * dim;
                    let home = lies.home(position).offset(stride, dim);
                    let to = cache.from(head.mul_wide(a.max_len) * dim + home);
                    pair().for_each(|(i, x)| Quad::from(x).write(to, i));
                });
            });
        });
    }

    /// Pair `p` of a head of row `r`, turned by the angle of the row's position.
    fn turned<'k, T: Cached>(
        &self,
        a: &On<'k, T>,
        turn: Turn,
        r: Word<'k>,
        p: Word<'k>,
        [x, y]: [F32<'k>; 2],
    ) -> [F32<'k>; 2] {
        let pairs = turn.pairs;
        let frequency = a.inverse.at(p.min(pairs - 1));
        let (sin, cos) = sin_cos(a.positions.at(r).f32(), frequency);
        let (sin, cos) = (sin * a.magnitude, cos * a.magnitude);
        let turned = [x.mul_add(cos, -(y * sin)), x.mul_add(sin, y * cos)];
        if 2 * pairs == self.head_dim {
            return turned;
        }
        let turns = p.lt(pairs);
        [turns.select(turned[0], x), turns.select(turned[1], y)]
    }
}

/// Which elements of a head are pair `p`.
fn places<'k>(turn: Option<Turn>, p: Word<'k>) -> [Word<'k>; 2] {
    let neighbours = [p * 2, p * 2 + 1];
    match turn {
        Some(Turn {
            pairing: Pairing::Halves,
            pairs,
        }) => {
            let turns = p.lt(pairs);
            [
                turns.select(p, neighbours[0]),
                turns.select(p + pairs, neighbours[1]),
            ]
        }
        Some(_) | None => neighbours,
    }
}

/// The arguments inside the kernel.
type On<'k, T> = HeadsArgs<T, InKernel<'k>>;

impl<'k, T: Cached> On<'k, T> {
    fn planes(&self, role: Role) -> Planes<InKernel<'k>> {
        [self.wq, self.wk, self.wv][role as usize]
    }

    /// Heads of a part.
    fn count(&self, role: Role) -> Uniform<'k> {
        match role {
            Role::Queries => self.heads,
            Role::Keys | Role::Values => self.kv_heads,
        }
    }
}

args! {
    /// Weights `[heads * head_dim, columns]` and twice `[kv_heads * head_dim, columns]` in the planes of their layouts; `q`
    /// is f32 `[m, heads, head_dim]`; keys and values of row i go to `positions[i]`, or nowhere if that is not below
    /// `max_len`: of the sequence that the kernel's [`History`] names. In pages, that is where [`Paging`] says,
    /// if it is below `blocks * page`.
    pub struct HeadsArgs<T: Cached> {
        rows: Group<Input>, wq: Group<Planes>, wk: Group<Planes>, wv: Group<Planes>,
        q_bias: Maybe<f32>[heads * head_dim], k_bias: Maybe<f32>[kv_heads * head_dim],
        v_bias: Maybe<f32>[kv_heads * head_dim],
        q_gain: Maybe<f32>[head_dim], k_gain: Maybe<f32>[head_dim],
        positions: In<u32>[rows.m], paging: Group<Paging>,
        inverse: Maybe<f32>[pairs],
        q: Out<f32>[rows.m, heads * head_dim],
        k_cache: InOut<T>[sequences * kv_heads, max_len, head_dim],
        v_cache: InOut<T>[sequences * kv_heads, max_len, head_dim],
        heads: Scalar<u32>, kv_heads: Scalar<u32>, head_dim: Scalar<u32>,
        pairs: Scalar<u32>, max_len: Scalar<u32>, sequences: Scalar<u32>,
        head_eps: Scalar<f32>, magnitude: Scalar<f32>,
    }
}

/// The kernel, for a cache of `T`.
pub type Heads<T> = Typed<HeadsPlan, T>;

impl<T: Cached> Kernel for Heads<T> {
    type Args = HeadsArgs<T>;

    fn name(&self) -> String {
        let page = match self.plan.history {
            History::Shared | History::Forked => String::new(),
            paged @ History::Paged { .. } => paged.prefix(),
        };
        format!("{page}heads{}_{}", T::SUFFIX, self.plan.suffix())
    }

    fn threads(&self) -> u32 {
        self.plan.work.threads()
    }

    fn resized(&self, threads: u32) -> Option<Self> {
        let mut plan = self.plan.clone();
        plan.work = plan.work.resized(threads);
        Some(Self::new(plan))
    }

    fn supports(&self, target: Target) -> Result<(), BuildError> {
        let plan = &self.plan;
        supports(&plan.source, &plan.layouts(), target, || self.name())
    }

    fn grid(&self, a: &HeadsArgs<T>) -> Result<u64, LaunchError> {
        let units = self.plan.check(a)?;
        Ok(units.div_ceil(self.plan.work.each).into())
    }

    /// Pieces of the part that has most.
    fn pieces_ahead(&self) -> u32 {
        let plan = &self.plan;
        let own = |layout| plan.work.pieces_ahead(&plan.source, &[layout]);
        plan.layouts().map(own).into_iter().max().unwrap_or(0)
    }

    fn fetch<'k>(&self, cta: &mut Cta<'k>, a: &On<'k, T>) {
        let (ends, first) = (self.plan.ends(a), cta.id() * self.plan.work.each);
        self.plan.fetch(cta, a, ends, first);
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: On<'k, T>) {
        let source = &self.plan.source;
        let mut tiles = source.tiles(cta);
        let x = source.prepare(cta, &mut tiles, &a.rows);
        self.plan.run(cta, x, &a);
    }
}
