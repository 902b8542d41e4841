//! Prefill attention with `mma` (FlashAttention-2, Dao 2023): 64 queries of one head or more against the cache, 64 keys a
//! round.

use crate::{attention::history::Lies, values::Uniform};
use half::f16;
use warpsmith_kernel::{
    Acc, BuildError, Cta, FragA, FragB, Global, Half, Hardware, InKernel, Kernel, LaunchError,
    Matrix, Pipeline, Read, Rows, Scope, Slots, Staged, Val, Warp, Write, args, limits, require,
    state, steps, uni,
};
use warpsmith_ptx::target::Target;

args! {
    /// Queries f32 `[tokens, heads, head_dim]`, cache f16 `[kv_heads, max_len, head_dim]`, output as the queries.
    /// Query t sits at position `start + t`; keys up to `len` exist.
    pub struct FlashArgs {
        q: In<f32>[tokens, heads * head_dim],
        k: In<f16>[kv_heads, max_len * head_dim], v: In<f16>[kv_heads, max_len * head_dim],
        y: Out<f32>[tokens, heads * head_dim],
        tokens: Scalar<u32>, heads: Scalar<u32>, kv_heads: Scalar<u32>, head_dim: Scalar<u32>,
        max_len: Scalar<u32>, start: Scalar<u32>, len: Scalar<u32>, scale: Scalar<f32>,
    }
}

/// Which keys a query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mask {
    /// Those up to its own position.
    Causal,
    /// All.
    Full,
}

/// The kernel for a head size that is a multiple of 8.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flash {
    /// Head size, 8 to 256.
    pub head_dim: u32,
    /// Mask.
    pub mask: Mask,
    /// 16-row fragments of a warp: 1, 2 or 4. More take each key for more queries, and a card's registers end at 1.
    pub row_frags: u32,
}

const WARPS: u32 = 4;
const KEYS: u32 = 64;

impl Flash {
    /// Head size padded to whole fragments; the padding is zero in shared memory.
    fn padded(&self) -> u32 {
        self.head_dim.next_multiple_of(16)
    }

    fn pitch(&self) -> u32 {
        self.padded() + 8
    }

    /// Queries of a CTA.
    fn queries(&self) -> u32 {
        WARPS * 16 * self.row_frags
    }

    /// The fragments that suit `tokens` queries: more on the virtual GPU.
    pub fn row_frags_for(mask: Mask, tokens: u32, hardware: Hardware) -> u32 {
        match mask {
            _ if !hardware.is_virtual() || tokens <= 64 => 1,
            // A larger tile computes more of what the mask hides.
            Mask::Causal => 2,
            Mask::Full if tokens <= 128 => 2,
            Mask::Full => 4,
        }
    }

    /// How many steps of 16 along the summed dimension, and how many pairs of 8 columns, are loaded before they are
    /// multiplied: what one run of products keeps widened on the virtual GPU.
    fn load(&self) -> [u32; 2] {
        match self.row_frags {
            1 => [1, 1],
            _ => [4, 4],
        }
    }
}

impl Kernel for Flash {
    type Args = FlashArgs;

    fn name(&self) -> String {
        let mask = match self.mask {
            Mask::Causal => "causal",
            Mask::Full => "full",
        };
        let frags = match self.row_frags {
            1 => String::new(),
            frags => format!("_{frags}"),
        };
        format!("flash_{mask}_{}{frags}", self.head_dim)
    }

    fn threads(&self) -> u32 {
        WARPS * 32
    }

    fn supports(&self, target: Target) -> Result<(), BuildError> {
        let lacking = |feature| {
            Err(BuildError::Unsupported {
                kernel: self.name(),
                target,
                feature,
            })
        };
        let shared = (self.queries() + 4 * KEYS) * self.pitch() * 2;
        if target.sm < f16::FIRST_SM {
            lacking("mma.m16n8k8")
        } else if target.shared_limit().is_none_or(|limit| shared > limit) {
            lacking("enough shared memory for this head size")
        } else {
            Ok(())
        }
    }

    fn grid(&self, a: &FlashArgs) -> Result<u64, LaunchError> {
        limits! {
            a.len: a.len <= a.max_len, "at most max_len";
            a.max_len: u64::from(a.max_len) * u64::from(a.head_dim) < 1 << 31, "below 2^31 / head_dim";
        }
        self.ctas([a.tokens, a.heads, a.kv_heads, a.head_dim])
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: FlashArgs<InKernel<'k>>) {
        let asked = Asked {
            q: a.q,
            y: a.y,
            tokens: a.tokens,
            heads: a.heads,
            kv_heads: a.kv_heads,
            scale: a.scale,
            first: a.start,
            behind: None,
            len: a.len,
            caches: [a.k, a.v],
            lies: Lies::First,
            of_head: a.max_len * self.head_dim,
        };
        self.attend(cta, &asked);
    }
}

/// What a launch is asked, wherever the keys are.
pub(super) struct Asked<'k> {
    pub(super) q: Global<'k, f32, Read>,
    pub(super) y: Global<'k, f32, Write>,
    pub(super) tokens: Uniform<'k>,
    pub(super) heads: Uniform<'k>,
    pub(super) kv_heads: Uniform<'k>,
    pub(super) scale: Val<'k, f32, uni::Cta>,
    /// Query t is at position `first + t`, less what all positions are counted from: one before it sees nothing.
    pub(super) first: Uniform<'k>,
    pub(super) behind: Option<Uniform<'k>>,
    /// Keys there are.
    pub(super) len: Uniform<'k>,
    /// Keys and values of the first head, and how they lie.
    pub(super) caches: [Global<'k, f16, Read>; 2],
    pub(super) lies: Lies<'k>,
    /// Elements from one head to the next.
    pub(super) of_head: Uniform<'k>,
}

impl<'k> Asked<'k> {
    /// A key's position as queries' positions are counted.
    fn counted(&self, key: Val<'k, u32, uni::Warp>) -> Val<'k, u32, uni::Warp> {
        match self.behind {
            None => key,
            Some(behind) => key + behind,
        }
    }
}

/// What a CTA has of it.
struct Share<'k> {
    head: Uniform<'k>,
    /// Its first query.
    first: Uniform<'k>,
    /// Keys that any of its queries sees.
    seen: Uniform<'k>,
}

/// The tiles of a round: queries, keys, values.
struct Tiles<'t, 'k> {
    q: Matrix<'t, 'k, f16>,
    k: Matrix<'t, 'k, f16>,
    v: Matrix<'t, 'k, f16>,
}

/// Scores or weights of fragments of queries: those of each 8 keys.
type Scores<'k> = Vec<Vec<Acc<'k>>>;

impl Flash {
    /// CTAs for these sizes.
    pub(super) fn ctas(
        &self,
        [tokens, heads, kv_heads, head_dim]: [u32; 4],
    ) -> Result<u64, LaunchError> {
        require(
            head_dim == self.head_dim
                && head_dim.is_multiple_of(8)
                && (8..=256).contains(&head_dim),
            "head_dim",
            head_dim.into(),
            "the kernel's, a multiple of 8 up to 256",
        )?;
        require(
            matches!(self.row_frags, 1 | 2 | 4),
            "row_frags",
            self.row_frags.into(),
            "1, 2 or 4",
        )?;
        require(
            kv_heads > 0 && heads.is_multiple_of(kv_heads),
            "heads",
            heads.into(),
            "a multiple of kv_heads",
        )?;
        Ok(u64::from(tokens.div_ceil(self.queries())) * u64::from(heads))
    }

    /// The work of one CTA.
    pub(super) fn attend<'k>(&self, cta: &mut Cta<'k>, a: &Asked<'k>) {
        let (padded, pitch) = (self.padded(), self.pitch());
        let share = self.share(cta, a);
        let mut q_tile = cta.tile::<f16>(self.queries() * pitch);
        let q = q_tile.fill(cta, |cta, slots| self.load_queries(cta, a, &share, slots));
        let mut ring = Pipeline::<2>::new();
        let k_part = ring.part::<f16>(KEYS * pitch);
        let v_part = ring.part::<f16>(KEYS * pitch);
        let start = Partial {
            output: vec![Acc::zero(); padded as usize / 8],
            offset: Rows::constant(0.0),
            total: Rows::constant(0.0),
        };
        let parts = ring.run(
            cta,
            share.seen.div_ceil(KEYS),
            vec![start; self.row_frags as usize],
            |cta, stage, round| {
                let to = [stage.part(k_part), stage.part(v_part)];
                self.load_keys(cta, a, &share, round, to);
            },
            |cta, stage, round, parts| {
                let tiles = Tiles {
                    q: q.matrix(pitch),
                    k: stage.part(k_part).matrix(pitch),
                    v: stage.part(v_part).matrix(pitch),
                };
                cta.in_warps(|warp| self.round(warp, a, &share, &tiles, round, parts))
            },
        );
        self.store(cta, a, &share, parts);
    }

    fn share<'k>(&self, cta: &Cta<'k>, a: &Asked<'k>) -> Share<'k> {
        let queries = self.queries();
        let (head, first) = (cta.id() % a.heads, (cta.id() / a.heads) * queries);
        // Keys after the last query's position are masked anyway.
        let seen = match self.mask {
            Mask::Causal => {
                let end = a.first + first + queries;
                let end = a.behind.map_or(end, |behind| end.max(behind) - behind);
                a.len.min(end)
            }
            Mask::Full => a.len,
        };
        Share { head, first, seen }
    }

    /// The CTA's queries in f16, zeros where there is none.
    fn load_queries<'k>(
        &self,
        cta: &mut Cta<'k>,
        a: &Asked<'k>,
        share: &Share<'k>,
        slots: Slots<'_, 'k, f16>,
    ) {
        let (dim, padded) = (self.head_dim, self.padded());
        // Scores are kept in base 2: exp(s - max) = 2^((s - max) log2 e).
        let in_base_2 = a.scale * std::f32::consts::LOG2_E;
        cta.each(self.queries() * padded / 2, |lane, pair| {
            let (row, column) = (pair / (padded / 2), (pair % (padded / 2)) * 2);
            let query = share.first + row;
            let [x, y] = lane.either(
                query.lt(a.tokens) & column.lt(dim),
                |_| {
                    let own = a.q.row(query).from(share.head * dim);
                    own.vector::<2, _>(column).map(|x| x * in_base_2)
                },
                |_| [0.0.into(), 0.0.into()],
            );
            slots.set_words(row * self.pitch() + column, [f16::pack(x, y)]);
        });
    }

    /// Keys and values of a round. Rows past the end and columns past the head size become zero: 0 * garbage must not be
    /// NaN.
    fn load_keys<'k>(
        &self,
        cta: &mut Cta<'k>,
        a: &Asked<'k>,
        share: &Share<'k>,
        round: Uniform<'k>,
        to: [Slots<'_, 'k, f16, Staged>; 2],
    ) {
        let (dim, of_row) = (self.head_dim, self.padded() / 8);
        let kv_head = share.head / (a.heads / a.kv_heads);
        let caches = a
            .caches
            .map(|cache| cache.from(kv_head.mul_wide(a.of_head)));
        let stride = a.kv_heads.mul_wide(a.of_head);
        cta.each(KEYS * of_row, |_, piece| {
            let (row, column) = (piece / of_row, (piece % of_row) * 8);
            let key = round * KEYS + row;
            let valid = key.lt(share.seen) & column.lt(dim);
            // An address that is not read stays inside all the same.
            let home = a.lies.home(key.min(share.seen - 1));
            let within = home.place * dim + column.min(dim - 8);
            let sequence = home.sequence.map(|sequence| sequence.u64() * stride);
            for (cache, to) in caches.into_iter().zip(to) {
                let from = match sequence {
                    None => cache.from(within),
                    Some(sequence) => cache.from(sequence).from(within),
                };
                to.copy16(row * self.pitch() + column, from, valid);
            }
        });
    }

    /// Adds the keys of a round to a warp's parts.
    fn round<'k>(
        &self,
        warp: &mut Warp<'k>,
        a: &Asked<'k>,
        share: &Share<'k>,
        tiles: &Tiles<'_, 'k>,
        round: Uniform<'k>,
        parts: Vec<Partial<'k>>,
    ) -> Vec<Partial<'k>> {
        let top = warp.id() * (16 * self.row_frags);
        // What is subtracted from the scores is where their sums begin.
        let start = parts.iter().map(|part| {
            let start = Acc::zero().map_rows(part.offset, |zero, offset| zero - offset);
            vec![start; KEYS as usize / 8]
        });
        let scores = self.multiply(
            warp,
            [self.padded(), KEYS],
            |warp, frag, k| warp.load_a(tiles.q, top + 16 * frag, k),
            |warp, n, k| warp.load_b(tiles.k, n, k),
            start.collect(),
        );
        let scores = self.masked(warp, a, share, round, scores);
        let (scores, parts) = Partial::keep_near(warp, round, scores, parts);
        let weighed = scores.into_iter().zip(parts);
        let (weights, parts): (Scores, Vec<Partial>) = weighed
            .map(|(scores, part)| part.weigh(warp, &scores))
            .unzip();
        let outputs = self.multiply(
            warp,
            [KEYS, self.padded()],
            |_, frag, k| {
                let (own, at) = (&weights[frag as usize], k as usize / 8);
                FragA::<f16>::from_accs(own[at], own[at + 1])
            },
            |warp, n, k| warp.load_b_transposed(tiles.v, k, n),
            parts.iter().map(|part| part.output.clone()).collect(),
        );
        let parts = parts.into_iter().zip(outputs);
        parts
            .map(|(part, output)| Partial { output, ..part })
            .collect()
    }

    /// Scores with minus infinity for keys that their query does not see.
    fn masked<'k>(
        &self,
        warp: &mut Warp<'k>,
        a: &Asked<'k>,
        share: &Share<'k>,
        round: Uniform<'k>,
        scores: Scores<'k>,
    ) -> Scores<'k> {
        let query = a.first + share.first + warp.id() * (16 * self.row_frags);
        // Keys that every query of the warp sees need no mask.
        let end = round * KEYS + KEYS;
        let mut partly: Val<'k, bool, uni::Warp> = end.gt(share.seen).into();
        if self.mask == Mask::Causal {
            partly |= a.counted(end.into()).gt(query);
        }
        let once = steps(0u32, partly.select(1u32, 0u32), 1);
        warp.fold(once, scores, |warp, _, mut scores| {
            for (frag, scores) in scores.iter_mut().enumerate() {
                for (n, score) in scores.iter_mut().enumerate() {
                    let key = round * KEYS + 8 * n as u32;
                    let counted = a.counted(key.into());
                    let query = query + 16 * frag as u32;
                    *score = score.map_at(warp, |score, row, column| {
                        let mut visible = (key + column).lt(share.seen);
                        if self.mask == Mask::Causal {
                            visible &= (counted + column).le(query + row);
                        }
                        visible.select(score, f32::NEG_INFINITY)
                    });
                }
            }
            scores
        })
    }

    /// Writes what the parts of the CTA's warps come to.
    fn store<'k>(
        &self,
        cta: &mut Cta<'k>,
        a: &Asked<'k>,
        share: &Share<'k>,
        parts: Vec<Partial<'k>>,
    ) {
        let dim = self.head_dim;
        cta.each_warp(|warp| {
            for (frag, part) in parts.into_iter().enumerate() {
                let top = share.first + warp.id() * (16 * self.row_frags) + 16 * frag as u32;
                // No key at all gives zeros.
                let inverse = |sum: Val<'k, f32>| sum.gt(0.0).select(sum.rcp_approx(), 0.0);
                let inverse = part.total.map(inverse);
                for (n, acc) in part.output.iter().enumerate() {
                    let acc = acc.map_rows(inverse, |x, inverse| x * inverse);
                    let mut pairs = Vec::new();
                    acc.each_pair(warp, |row, column, values| {
                        pairs.push((top + row, column + 8 * n as u32, values));
                    });
                    for (row, column, values) in pairs {
                        warp.if_(row.lt(a.tokens) & column.lt(dim), |_| {
                            let y = a.y.row(row).from(share.head * dim);
                            y.set_vector(column, values);
                        });
                    }
                }
            }
        });
    }
}

/// By how much scores may exceed what is subtracted from them: weights stay far below the largest f16, and the partial
/// outputs are rarely rescaled.
const SLACK: f32 = 8.0;

state! {
    /// What a warp has of 16 queries: their weighted values, what is subtracted from their scores, the sums of weights.
    struct Partial<'k> {
        output: Vec<Acc<'k>>,
        offset: Rows<'k>,
        total: Rows<'k>,
    }
}

impl<'k> Partial<'k> {
    /// Scores, which are relative to the offsets, and parts: with offsets at the maxima so far in the first round, and
    /// in a round that has a score far above its offset.
    fn keep_near(
        warp: &mut Warp<'k>,
        round: Uniform<'k>,
        scores: Scores<'k>,
        parts: Vec<Partial<'k>>,
    ) -> (Scores<'k>, Vec<Partial<'k>>) {
        let first = round.equals(0);
        let floor = first.select(f32::NEG_INFINITY, 0.0);
        let least = Rows::constant(f32::NEG_INFINITY);
        let most = scores
            .iter()
            .map(|scores| Acc::row_max(warp, scores, least));
        let most: Vec<Rows<'k>> = most.collect();
        let highest = most
            .iter()
            .fold(least, |highest, most| highest.zip(*most, |x, y| x.max(y)));
        let near = warp.ballot(highest.larger().gt(SLACK)).equals(0);
        let once = (near & !first).select(0u32, 1u32);
        warp.fold(
            steps(0u32, once, 1),
            (scores, parts),
            |_, _, (scores, parts)| {
                let each = scores.into_iter().zip(parts).zip(&most);
                each.map(|((scores, part), most)| part.shift(scores, *most, floor))
                    .unzip()
            },
        )
    }

    /// Moves the offsets up by `most` where that is above `floor`.
    fn shift(
        self,
        scores: Vec<Acc<'k>>,
        most: Rows<'k>,
        floor: Val<'k, f32, uni::Cta>,
    ) -> (Vec<Acc<'k>>, Partial<'k>) {
        // A row that has seen no key has -inf; subtracting 0 there avoids inf - inf.
        let by = most.map(|x| {
            let by = x.max(floor);
            by.equals(f32::NEG_INFINITY).select(0.0, by)
        });
        // Before the first round there is nothing to shrink, and nothing may grow to infinity.
        let shrink = by.map(|by| (-by.max(0.0)).exp2_approx());
        let shrunk = |acc: Acc<'k>| acc.map_rows(shrink, |x, shrink| x * shrink);
        let move_up = |acc: Acc<'k>| acc.map_rows(by, |score, by| score - by);
        let part = Partial {
            output: self.output.into_iter().map(shrunk).collect(),
            offset: self.offset.zip(by, |offset, by| offset + by),
            total: self.total.zip(shrink, |total, shrink| total * shrink),
        };
        (scores.into_iter().map(move_up).collect(), part)
    }

    /// The weights of a round of scores.
    fn weigh(self, warp: &mut Warp<'k>, scores: &[Acc<'k>]) -> (Vec<Acc<'k>>, Self) {
        let weight = |score: &Acc<'k>| score.map_rows(self.offset, |score, _| score.exp2_approx());
        let weights: Vec<Acc<'k>> = scores.iter().map(weight).collect();
        let total = self.total;
        let total = total.zip(Acc::row_sum(warp, &weights), |sum, more| sum + more);
        (weights, Partial { total, ..self })
    }
}

impl Flash {
    /// `accs[frag] + a[frag] b` over `depth` by `columns`: fragments are loaded some at a time, then each sum takes its
    /// products one after the other.
    fn multiply<'k>(
        &self,
        warp: &mut Warp<'k>,
        [depth, columns]: [u32; 2],
        a: impl Fn(&mut Warp<'k>, u32, u32) -> FragA<'k, f16>,
        b: impl Fn(&mut Warp<'k>, u32, u32) -> [FragB<'k, f16>; 2],
        mut accs: Vec<Vec<Acc<'k>>>,
    ) -> Vec<Vec<Acc<'k>>> {
        let [deep, wide] = self.load().map(|count| 16 * count);
        for from in (0..depth).step_by(deep as usize) {
            let depths: Vec<u32> = (from..depth.min(from + deep)).step_by(16).collect();
            let rows: Vec<Vec<_>> = (0..self.row_frags)
                .map(|frag| depths.iter().map(|k| a(warp, frag, *k)).collect())
                .collect();
            for left in (0..columns).step_by(wide as usize) {
                let lefts: Vec<u32> = (left..columns.min(left + wide)).step_by(16).collect();
                let pairs: Vec<Vec<_>> = lefts
                    .iter()
                    .map(|n| depths.iter().map(|k| b(warp, *n, *k)).collect())
                    .collect();
                let halves = lefts.iter().zip(&pairs).flat_map(|(n, pairs)| {
                    [0, 1].map(|side| (*n as usize / 8 + side, side, pairs))
                });
                for (accs, row) in accs.iter_mut().zip(&rows) {
                    for (tile, side, pairs) in halves.clone() {
                        let terms = row.iter().zip(pairs);
                        accs[tile] =
                            terms.fold(accs[tile], |acc, (a, pair)| warp.mma(*a, pair[side], acc));
                    }
                }
            }
        }
        accs
    }
}
