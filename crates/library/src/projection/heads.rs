//! Queries, keys and values of few rows together: norms of heads, rotation, and the way into the cache.

use super::{
    cached::Cached,
    dot::{Matrix, matrix},
    source::{Ready, Source},
    work::{Past, Range, Work},
};
use crate::{
    attention::{History, paged::require_pages},
    epilogue::Operand,
    rope::{Pairing, sin_cos},
    weights::{BLOCK, Layout, PlaneSizes, layout_name},
};
use warpsmith_kernel::{
    Cta, Global, Hardware, LaunchError, Read, Scope, Tile, Val, Write, require, steps, uni,
};

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

/// Whose keys and values rows of x become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owners {
    /// All rows of x belong to sequence 0.
    One,
    /// Row i belongs to sequence i.
    Each,
    /// Rows belong to the sequences that `slots` names, in pages of so many positions, a power of two, that `table` names.
    Paged {
        /// Positions of a page.
        page: u32,
    },
}

impl From<History> for Owners {
    fn from(history: History) -> Owners {
        match history {
            History::Shared => Owners::One,
            History::Forked => Owners::Each,
        }
    }
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
    /// Whose keys and values they become.
    pub owners: Owners,
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

    /// Rows of W that a CTA finishes together, of matrices with `rows` rows, for `m` rows of x.
    ///
    /// On the virtual GPU a unit is as large as keeps four CTAs for each multiprocessor, for rows of x are made ready in
    /// each, at the cost of half a block; blocks behind a part's last one are idle.
    pub fn unit(
        parts: &[Part; 3],
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

    /// The name of a kernel that is `name` but for this.
    pub(super) fn name(&self, name: &str) -> String {
        let suffix = self.suffix();
        match self.owners {
            Owners::One | Owners::Each => format!("{name}_{suffix}"),
            Owners::Paged { page } => format!("paged_{page}_{name}_{suffix}"),
        }
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
        let owners = match self.owners {
            Owners::One | Owners::Paged { .. } => "",
            Owners::Each => "_forked",
        };
        let (source, head_dim, work) = (self.source.suffix(), self.head_dim, self.work.suffix());
        let unit = self.unit;
        format!(
            "{source}{}_{head_dim}{turn}{owners}_{unit}{work}",
            parts.concat()
        )
    }

    pub(super) fn grid(&self, sizes: Sizes, planes: [PlaneSizes; 3]) -> Result<u64, LaunchError> {
        let Sizes {
            m,
            columns,
            heads,
            kv_heads,
            head_dim,
            pairs,
            max_len,
            sequences,
            tables: [table_rows, blocks],
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
        let whole_heads = Self::least_unit(&self.parts, self.turn, self.head_dim);
        let whole = self.unit > 0 && self.unit.is_multiple_of(whole_heads);
        require(whole, "unit", self.unit.into(), "whole blocks and heads")?;
        let least = match self.owners {
            Owners::One | Owners::Paged { .. } => 1,
            Owners::Each => m,
        };
        let enough = sequences >= least;
        let want = "at least 1, and one for each forked row";
        require(enough, "sequences", sequences.into(), want)?;
        match self.owners {
            Owners::Paged { page } => {
                require_pages(page, [max_len, sequences, blocks, table_rows])?
            }
            Owners::One | Owners::Each => {
                let want = "0 where there is no table";
                require(blocks == 0, "blocks", blocks.into(), want)?;
                require(table_rows == 0, "table_rows", table_rows.into(), want)?;
            }
        }
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

    fn layouts(&self) -> [Layout; 3] {
        self.parts.map(|part| part.layout)
    }

    /// Pieces of the part that has most.
    pub(super) fn pieces_ahead(&self) -> u32 {
        let own = |layout| self.work.pieces_ahead(&self.source, &[layout]);
        self.layouts().map(own).into_iter().max().unwrap_or(0)
    }

    /// The units of queries, of them and keys, of all.
    pub(super) fn ends<'k>(&self, [heads, kv_heads]: [Uniform<'k>; 2]) -> [Uniform<'k>; 3] {
        let units = |heads: Uniform<'k>| (heads * self.head_dim).div_ceil(self.unit);
        let (q, kv) = (units(heads), units(kv_heads));
        [q, q + kv, q + kv + kv]
    }

    /// Runs `each` with the part of unit `at` and the unit's number in it.
    fn dispatch<'k>(
        &self,
        cta: &mut Cta<'k>,
        ends: [Uniform<'k>; 3],
        at: Uniform<'k>,
        mut each: impl FnMut(&mut Cta<'k>, Role, Uniform<'k>),
    ) {
        let mut start: Uniform<'k> = Val::constant(0);
        for (role, end) in ROLES.into_iter().zip(ends) {
            cta.if_all(at.ge(start) & at.lt(end), |cta| each(cta, role, at - start));
            start = end;
        }
    }

    /// The blocks of unit `at` of a part.
    fn range<'k>(&self, role: Role, at: Uniform<'k>, blocks: Uniform<'k>) -> Range<'k> {
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
    pub(super) fn fetch<'k>(
        &self,
        cta: &mut Cta<'k>,
        parts: &[Planes<'k>; 3],
        ends: [Uniform<'k>; 3],
        at: Uniform<'k>,
    ) {
        let lane = cta.in_warps(|warp| warp.lane());
        self.dispatch(cta, ends, at, |cta, role, at| {
            let (layout, planes) = (self.layouts()[role as usize], parts[role as usize]);
            let range = self.range(role, at, planes.blocks);
            let matrix = |block| [planes.row(layout, block, lane)];
            self.work.fetch(cta, &self.source, [layout], range, matrix);
        });
    }

    /// The whole body; `caches` are those of keys and values.
    pub(super) fn run<'k, T: Cached>(
        &self,
        cta: &mut Cta<'k>,
        x: Ready<'_, 'k>,
        a: &Outputs<'k, T>,
    ) {
        let unit = self.unit;
        let ends = self.ends([a.heads, a.kv_heads]);
        let mut tile = cta.tile::<f32>(unit * self.work.split * self.source.rows);
        let normed = self.parts.iter().any(|part| part.norm == Operand::Present);
        let mut heads = normed.then(|| cta.tile::<f32>(unit * self.source.rows));
        let first = cta.id() * self.work.each;
        let mut one = |cta: &mut Cta<'k>, at: Uniform<'k>| {
            self.dispatch(cta, ends, at, |cta, role, at| {
                self.part(cta, x, a, (role, at), &mut tile, &mut heads);
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
                cta.if_all(next.lt(end), |cta| self.fetch(cta, &a.parts, ends, next));
            }
        });
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
        let range = self.range(role, at, planes.blocks);
        let matrices = |block| [planes.row(part.layout, block, lane)];
        let sums = tile.fill(cta, |cta, slots| {
            self.work.blocks(
                cta,
                &self.source,
                x,
                [part.layout],
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
                let inside = match self.owners {
                    Owners::One | Owners::Each => a.max_len,
                    Owners::Paged { page } => a.blocks * page,
                };
                lane.if_(position.lt(inside), |_| {
                    let (row, place) = match self.owners {
                        Owners::One => (head, position),
                        Owners::Each => (r * a.kv_heads + head, position),
                        Owners::Paged { page } => {
                            let own = a.table.row(a.slots.at(r));
                            let number = own.at(position >> page.trailing_zeros());
                            (number * a.kv_heads + head, position & (page - 1))
                        }
                    };
                    let row = row.mul_wide(a.max_len) + place.u64();
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
pub(super) struct Planes<'k> {
    pub(super) codes: Global<'k, u32, Read>,
    pub(super) high: Global<'k, u32, Read>,
    pub(super) sub: Global<'k, u8, Read>,
    pub(super) scales: Global<'k, u16, Read>,
    pub(super) bias: Global<'k, f32, Read>,
    pub(super) blocks: Uniform<'k>,
}

impl<'k> Planes<'k> {
    fn row(self, layout: Layout, block: Val<'k, u32, uni::Warp>, lane: Word<'k>) -> Matrix<'k> {
        matrix!(layout, self, block, lane, codes, high, sub, scales)
    }
}

/// The operands behind the products.
pub(super) struct Outputs<'k, T> {
    pub(super) parts: [Planes<'k>; 3],
    /// Of the norms of queries and keys.
    pub(super) gains: [Global<'k, f32, Read>; 2],
    pub(super) head_eps: Val<'k, f32, uni::Cta>,
    pub(super) positions: Global<'k, u32, Read>,
    pub(super) inverse: Global<'k, f32, Read>,
    pub(super) magnitude: Val<'k, f32, uni::Cta>,
    pub(super) q: Global<'k, f32, Write>,
    pub(super) caches: [Global<'k, T, Write>; 2],
    pub(super) slots: Global<'k, u32, Read>,
    pub(super) table: Global<'k, u32, Read>,
    pub(super) blocks: Uniform<'k>,
    pub(super) heads: Uniform<'k>,
    pub(super) kv_heads: Uniform<'k>,
    pub(super) max_len: Uniform<'k>,
}

/// The sizes of a launch.
pub(super) struct Sizes {
    pub(super) m: u32,
    pub(super) columns: u32,
    pub(super) heads: u32,
    pub(super) kv_heads: u32,
    pub(super) head_dim: u32,
    pub(super) pairs: u32,
    pub(super) max_len: u32,
    pub(super) sequences: u32,
    /// Rows of the table of pages, and pages of each.
    pub(super) tables: [u32; 2],
}
