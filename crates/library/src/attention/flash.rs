//! Prefill attention with `mma` (FlashAttention-2, Dao 2023): 64 queries of one head or more against the cache, 64 keys a
//! round.

use crate::{
    attention::{
        CacheType,
        reference::{random_cache, reference},
    },
    case::{AnyCase, Case, EPS_F16, Expected, Random},
};
use half::f16;
use warpsmith_kernel::{
    Acc, BuildError, Cta, Device, FragA, FragB, Global, Half, Hardware, Kernel, LaunchError,
    Pipeline, Read, Rows, Scope, Val, Warp, Write, args, require, steps, uni,
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
        require(a.len <= a.max_len, "len", a.len.into(), "at most max_len")?;
        require(
            u64::from(a.max_len) * u64::from(a.head_dim) < 1 << 31,
            "max_len",
            a.max_len.into(),
            "below 2^31 / head_dim",
        )?;
        self.ctas([a.tokens, a.heads, a.kv_heads, a.head_dim])
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: FlashArgs<Device<'k>>) {
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
        };
        self.attend(cta, &asked, |kv_head| {
            let held = [a.k.row(kv_head), a.v.row(kv_head)];
            move |key: Lanes<'k>, column: Lanes<'k>| {
                held.map(|held| held.from(key * self.head_dim + column))
            }
        });
    }
}

type Uniform<'k> = Val<'k, u32, uni::Cta>;
type Lanes<'k> = Val<'k, u32, uni::Lane>;

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
}

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

    /// The work of one CTA; `held(kv_head)` says of a position and a dimension where key and value are.
    pub(super) fn attend<'k, H>(
        &self,
        cta: &mut Cta<'k>,
        a: &Asked<'k>,
        held: impl FnOnce(Uniform<'k>) -> H,
    ) where
        H: Fn(Lanes<'k>, Lanes<'k>) -> [Global<'k, f16, Read, uni::Lane>; 2],
    {
        let (dim, padded, pitch) = (self.head_dim, self.padded(), self.pitch());
        let queries = self.queries();
        let (head, first) = (cta.id() % a.heads, (cta.id() / a.heads) * queries);
        let held = held(head / (a.heads / a.kv_heads));
        let counted = |position: Val<'k, u32, uni::Warp>| match a.behind {
            None => position,
            Some(behind) => position + behind,
        };

        // Scores are kept in base 2: exp(s - max) = 2^((s - max) log2 e).
        let in_base_2 = a.scale * std::f32::consts::LOG2_E;
        let mut q_tile = cta.tile::<f16>(queries * pitch);
        let q = q_tile.fill(cta, |cta, slots| {
            cta.each(queries * padded / 2, |lane, pair| {
                let (row, column) = (pair / (padded / 2), (pair % (padded / 2)) * 2);
                let inside = (first + row).lt(a.tokens) & column.lt(dim);
                let [x, y] = lane.either(
                    inside,
                    |_| {
                        a.q.row(first + row)
                            .from(head * dim)
                            .vector::<2, _>(column)
                            .map(|x| x * in_base_2)
                    },
                    |_| [0.0.into(), 0.0.into()],
                );
                slots.set_words(row * pitch + column, [f16::pack(x, y)]);
            });
        });

        // Keys after the last query's position are masked anyway.
        let seen = match self.mask {
            Mask::Causal => {
                let end = a.first + first + queries;
                let end = a.behind.map_or(end, |behind| end.max(behind) - behind);
                a.len.min(end)
            }
            Mask::Full => a.len,
        };
        let mut ring = Pipeline::<2>::new();
        let k_part = ring.part::<f16>(KEYS * pitch);
        let v_part = ring.part::<f16>(KEYS * pitch);
        let part = Part {
            output: vec![Acc::zero(); padded as usize / 8],
            offset: Rows::constant(0.0),
            total: Rows::constant(0.0),
        };
        let start = vec![part.state(); self.row_frags as usize];
        let parts = ring.run(
            cta,
            seen.div_ceil(KEYS),
            start,
            |cta, stage, round| {
                let (ks, vs) = (stage.part(k_part), stage.part(v_part));
                // Rows past the end and columns past the head size become zero: 0 * garbage must not be NaN.
                cta.each(KEYS * padded / 8, |_, piece| {
                    let (row, column) = (piece / (padded / 8), (piece % (padded / 8)) * 8);
                    let key = round * KEYS + row;
                    let valid = key.lt(seen) & column.lt(dim);
                    let [k, v] = held(key.min(seen - 1), column.min(dim - 8));
                    ks.copy16(row * pitch + column, k, valid);
                    vs.copy16(row * pitch + column, v, valid);
                });
            },
            |cta, stage, round, parts| {
                let (ks, vs) = (
                    stage.part(k_part).matrix(pitch),
                    stage.part(v_part).matrix(pitch),
                );
                cta.in_warps(|warp| {
                    let top = warp.id() * (16 * self.row_frags);
                    // What is subtracted from the scores is where their sums begin.
                    let start = parts.iter().map(|(_, offset, _)| {
                        let start = Acc::zero().map_rows(*offset, |zero, offset| zero - offset);
                        vec![start; KEYS as usize / 8]
                    });
                    let start = start.collect();
                    let scores = self.multiply(
                        warp,
                        [padded, KEYS],
                        |warp, frag, k| warp.load_a(q.matrix(pitch), top + 16 * frag, k),
                        |warp, n, k| warp.load_b(ks, n, k),
                        start,
                    );
                    // Keys that every query of the warp sees need no mask.
                    let query = a.first + first + top;
                    let end = round * KEYS + KEYS;
                    let mut partly: Val<'k, bool, uni::Warp> = end.gt(seen).into();
                    if self.mask == Mask::Causal {
                        partly = partly | counted(end.into()).gt(query);
                    }
                    let scores = warp.fold(
                        steps(0u32, partly.select(1u32, 0u32), 1),
                        scores,
                        |warp, _, scores| {
                            let masked = |frag: usize, n: usize, score: Acc<'k>| {
                                let key = round * KEYS + 8 * n as u32;
                                let counted = counted(key.into());
                                let query = query + 16 * frag as u32;
                                score.map_at(warp, |score, row, column| {
                                    let mut visible = (key + column).lt(seen);
                                    if self.mask == Mask::Causal {
                                        visible = visible & (counted + column).le(query + row);
                                    }
                                    visible.select(score, f32::NEG_INFINITY)
                                })
                            };
                            let frags = scores.into_iter().enumerate();
                            frags
                                .map(|(frag, scores)| {
                                    let scores = scores.into_iter().enumerate();
                                    scores.map(|(n, score)| masked(frag, n, score)).collect()
                                })
                                .collect::<Vec<Vec<_>>>()
                        },
                    );
                    let (scores, parts) = Part::keep_near(warp, round, scores, parts);
                    let (mut weights, mut outputs, mut sums) = (Vec::new(), Vec::new(), Vec::new());
                    for (scores, part) in scores.into_iter().zip(parts) {
                        let (weighed, part) = Part::of(part).weigh(warp, &scores);
                        weights.push(weighed);
                        outputs.push(part.output);
                        sums.push((part.offset, part.total));
                    }
                    let outputs = self.multiply(
                        warp,
                        [KEYS, padded],
                        |_, frag, k| {
                            let own = &weights[frag as usize];
                            let at = k as usize / 8;
                            FragA::<f16>::from_accs(own[at], own[at + 1])
                        },
                        |warp, n, k| warp.load_b_transposed(vs, k, n),
                        outputs,
                    );
                    let parts = outputs.into_iter().zip(sums);
                    parts
                        .map(|(output, (offset, total))| (output, offset, total))
                        .collect::<Vec<_>>()
                })
            },
        );
        cta.each_warp(|warp| {
            for (frag, part) in parts.into_iter().enumerate() {
                let Part { output, total, .. } = Part::of(part);
                let top = first + warp.id() * (16 * self.row_frags) + 16 * frag as u32;
                // No key at all gives zeros.
                let inverse = total.map(|sum| sum.gt(0.0).select(sum.rcp_approx(), 0.0));
                for (n, acc) in output.iter().enumerate() {
                    let acc = acc.map_rows(inverse, |x, inverse| x * inverse);
                    let mut pairs = Vec::new();
                    acc.each_pair(warp, |row, column, values| {
                        pairs.push((top + row, column + 8 * n as u32, values));
                    });
                    for (row, column, values) in pairs {
                        warp.if_(row.lt(a.tokens) & column.lt(dim), |_| {
                            a.y.row(row).from(head * dim).set_vector(column, values);
                        });
                    }
                }
            }
        });
    }
}

/// By how much scores may exceed what is subtracted from them: weights stay far below the largest f16, and what there
/// is of outputs seldom has to shrink.
const SLACK: f32 = 8.0;

/// What a warp has of 16 queries: their weighted values, what is subtracted from their scores, the sums of weights.
struct Part<'k> {
    output: Vec<Acc<'k>>,
    offset: Rows<'k>,
    total: Rows<'k>,
}

/// The same as a loop carries it.
type PartState<'k> = (Vec<Acc<'k>>, Rows<'k>, Rows<'k>);

impl<'k> Part<'k> {
    fn of((output, offset, total): PartState<'k>) -> Self {
        Part {
            output,
            offset,
            total,
        }
    }

    fn state(&self) -> PartState<'k> {
        (self.output.clone(), self.offset, self.total)
    }

    /// Scores, which are relative to the offsets, and parts: with offsets at the maxima so far in the first round, and
    /// in a round that has a score far above its offset.
    fn keep_near(
        warp: &mut Warp<'k>,
        round: Val<'k, u32, uni::Cta>,
        scores: Vec<Vec<Acc<'k>>>,
        parts: Vec<PartState<'k>>,
    ) -> (Vec<Vec<Acc<'k>>>, Vec<PartState<'k>>) {
        let first = round.equals(0);
        let floor = first.select(f32::NEG_INFINITY, 0.0);
        let mut most = Vec::new();
        for scores in &scores {
            most.push(Acc::row_max(
                warp,
                scores,
                Rows::constant(f32::NEG_INFINITY),
            ));
        }
        let mut highest = Rows::constant(f32::NEG_INFINITY);
        for most in &most {
            highest = highest.zip(*most, |x, y| x.max(y));
        }
        let near = warp.ballot(highest.larger().gt(SLACK)).equals(0);
        let once = (near & !first).select(0u32, 1u32);
        warp.fold(
            steps(0u32, once, 1),
            (scores, parts),
            |_, _, (scores, parts)| {
                let each = scores.into_iter().zip(parts).zip(&most);
                each.map(|((scores, part), most)| Part::of(part).shift(scores, *most, floor))
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
    ) -> (Vec<Acc<'k>>, PartState<'k>) {
        // A row that has seen no key has -inf; subtracting 0 there avoids inf - inf.
        let by = most.map(|x| {
            let by = x.max(floor);
            by.equals(f32::NEG_INFINITY).select(0.0, by)
        });
        // Before the first round there is nothing to shrink, and nothing may grow to infinity.
        let shrink = by.map(|by| (-by.max(0.0)).exp2_approx());
        let move_up = |acc: Acc<'k>| acc.map_rows(by, |score, by| score - by);
        let part = Part {
            output: self
                .output
                .into_iter()
                .map(|acc| acc.map_rows(shrink, |x, shrink| x * shrink))
                .collect(),
            offset: self.offset.zip(by, |offset, by| offset + by),
            total: self.total.zip(shrink, |total, shrink| total * shrink),
        };
        (scores.into_iter().map(move_up).collect(), part.state())
    }

    /// The weights of a round of scores.
    fn weigh(self, warp: &mut Warp<'k>, scores: &[Acc<'k>]) -> (Vec<Acc<'k>>, Self) {
        let weights: Vec<Acc<'k>> = scores
            .iter()
            .map(|score| score.map_rows(self.offset, |score, _| score.exp2_approx()))
            .collect();
        let total = self.total;
        let total = total.zip(Acc::row_sum(warp, &weights), |sum, more| sum + more);
        (weights, Part { total, ..self })
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
                for (accs, row) in accs.iter_mut().zip(&rows) {
                    for (n, pairs) in lefts.iter().zip(&pairs) {
                        for side in 0..2 {
                            let acc = &mut accs[*n as usize / 8 + side];
                            for (a, pair) in row.iter().zip(pairs) {
                                *acc = warp.mma(*a, pair[side], *acc);
                            }
                        }
                    }
                }
            }
        }
        accs
    }
}

pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    let shapes = [
        (9, 3, 64, 70, 0, 70, 128, Mask::Causal),
        (4, 2, 64, 1, 30, 31, 40, Mask::Causal),
        (2, 2, 40, 33, 5, 38, 64, Mask::Causal),
        (8, 1, 80, 65, 0, 65, 65, Mask::Causal),
        (2, 1, 128, 64, 64, 128, 130, Mask::Causal),
        (2, 2, 88, 12, 0, 77, 80, Mask::Full),
        (1, 1, 8, 3, 0, 9, 9, Mask::Causal),
        (3, 1, 16, 5, 0, 0, 9, Mask::Full),
        (2, 2, 64, 300, 0, 130, 131, Mask::Full),
        (2, 1, 64, 150, 20, 170, 200, Mask::Causal),
    ];
    for (heads, kv_heads, head_dim, tokens, start, len, max_len, mask) in shapes {
        let (k, k_values) = random_cache(rng, CacheType::F16, kv_heads, max_len, head_dim, len);
        let (v, v_values) = random_cache(rng, CacheType::F16, kv_heads, max_len, head_dim, len);
        let halves = |bytes: Vec<u8>| -> Vec<f16> {
            bytes
                .as_chunks::<2>()
                .0
                .iter()
                .map(|b| f16::from_le_bytes(*b))
                .collect()
        };
        let q = rng.numbers((tokens * heads * head_dim) as usize, 1.5);
        let scale = 1.0 / (head_dim as f32).sqrt();
        let visible: Vec<u32> = (0..tokens)
            .map(|t| match mask {
                Mask::Causal => len.min(start + t + 1),
                Mask::Full => len,
            })
            .collect();
        let sizes = [heads, kv_heads, head_dim, max_len].map(|n| n as usize);
        let (want, magnitude) = reference(
            &q,
            [&k_values, &v_values],
            sizes,
            &visible,
            |_, _| 0,
            scale.into(),
        );
        // Queries and weights are rounded to f16; a score errs by the rounding of its query, a weight by its own.
        let score = f64::from(scale) * 2.25 * f64::from(head_dim) * EPS_F16;
        let relative = 2.0 * score + 3.0 * EPS_F16;
        let tolerance: Vec<f64> = magnitude.iter().map(|sum| sum * relative + 1e-7).collect();
        for row_frags in [1, 2, 4] {
            if row_frags > 1 && head_dim > 80 {
                continue;
            }
            cases.push(Box::new(Case {
            label: format!("{tokens} tokens at {start}, heads {heads}/{kv_heads} of {head_dim}, {len} keys, {mask:?}"),
            kernel: Flash { head_dim, mask, row_frags },
            args: FlashArgs {
                q: q.clone().into(),
                k: halves(k.clone()).into(),
                v: halves(v.clone()).into(),
                y: Expected::within(want.clone(), tolerance.clone()),
                tokens,
                heads,
                kv_heads,
                head_dim,
                max_len,
                start,
                len,
                scale,
            },
        }));
        }
    }
    cases
}
