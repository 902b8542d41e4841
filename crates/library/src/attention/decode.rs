//! Decode attention: few queries against a long cache, split over the sequence, combined in the same launch
//! (FlashDecoding, Dao et al. 2023).

use crate::{
    attention::{CacheType, History},
    team::rounds,
};
use half::f16;
use warpsmith_kernel::{
    Cta, Device, Global, Kernel, LaunchError, Read, Scope, Val, Warp, Write, args, require, steps,
    uni::{self, Join},
};

args! {
    /// Queries f32 `[rows, heads, head_dim]`; caches `[sequences, kv_heads, max_len, head_dim]` of the kernel's type, as
    /// bytes. Row r sees the first `visible[r]` keys; none gives zeros. The key at position t is that of sequence 0, or of
    /// `sources[r, t]` where rows were forked. `partial` is scratch; `counters` start and end at zero.
    pub struct DecodeArgs {
        q: In<f32>[rows, heads * head_dim], visible: In<u32>[rows], sources: Maybe<u32>[rows, max_len],
        k: In<u8>[sequences * kv_heads, max_len * row_bytes], v: In<u8>[sequences * kv_heads, max_len * row_bytes],
        partial: InOut<f32>[rows * heads, splits * (head_dim + 2)], counters: InOut<u32>[rows, kv_heads],
        y: Out<f32>[rows, heads * head_dim],
        rows: Scalar<u32>, heads: Scalar<u32>, kv_heads: Scalar<u32>, head_dim: Scalar<u32>, sequences: Scalar<u32>,
        max_len: Scalar<u32>, row_bytes: Scalar<u32>, splits: Scalar<u32>, scale: Scalar<f32>,
    }
}

/// The kernel: one CTA for each row, key head and split; it serves all query heads of the key head.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decode {
    /// Head size, 1 to 256.
    pub head_dim: u32,
    /// Query heads for each key head.
    pub group: u32,
    /// Element type of the cache.
    pub cache: CacheType,
    /// Whose keys a row sees.
    pub history: History,
}

type F32<'k> = Val<'k, f32, uni::Lane>;
type Index<'k> = Val<'k, u32, uni::Lane>;

/// Warps of a CTA that is a launch of its own, and shares of the keys of a split in a CTA of any size: how many warps there
/// are changes no sum.
const WARPS: u32 = 4;
/// Dimensions of a key that a round of scoring takes.
const DIMENSIONS: u32 = 16;
/// Query heads that are served at once; more are served one after the other.
const HEADS_AT_ONCE: u32 = 4;

/// How the keys of one row follow each other in memory.
pub(super) enum Lies<'k> {
    /// One behind the other.
    Together,
    /// Each in its place of one of several sequences.
    Forked {
        /// The sequence of each position.
        sources: Global<'k, u32, Read>,
        /// Bytes from one sequence to the next.
        stride: Val<'k, u64, uni::Cta>,
    },
    /// So many together, wherever the table says.
    Paged {
        /// The page of each block of positions.
        table: Global<'k, u32, Read>,
        /// Bytes from one page to the next.
        stride: Val<'k, u64, uni::Cta>,
        /// Positions of a page, a power of two.
        page: u32,
    },
}

/// The keys and values of one key head, and how they lie.
pub(super) struct Held<'k> {
    pub(super) keys: Global<'k, u8, Read>,
    pub(super) values: Global<'k, u8, Read>,
    pub(super) lies: Lies<'k>,
}

/// What a launch works on, wherever the keys are.
pub(super) struct Work<'k> {
    pub(super) q: Global<'k, f32, Read>,
    pub(super) visible: Global<'k, u32, Read>,
    pub(super) partial: Global<'k, f32, Write>,
    pub(super) counters: Global<'k, u32, Write>,
    pub(super) y: Global<'k, f32, Write>,
    pub(super) heads: Val<'k, u32, uni::Cta>,
    pub(super) kv_heads: Val<'k, u32, uni::Cta>,
    /// Keys that there is room for.
    pub(super) most: Val<'k, u32, uni::Cta>,
    pub(super) splits: Val<'k, u32, uni::Cta>,
    pub(super) scale: Val<'k, f32, uni::Cta>,
}

/// The keys and values that a split of one row sees.
struct Seen<'k> {
    held: Held<'k>,
    from: Val<'k, u32, uni::Cta>,
    to: Val<'k, u32, uni::Cta>,
}

impl<'k> Seen<'k> {
    /// Where the row of position `key` is in its cache.
    fn offset<U>(&self, key: Val<'k, u32, U>, row_bytes: u32) -> Val<'k, u64, U>
    where
        U: Join<uni::Cta, Out = U> + Join<U, Out = U>,
        uni::Cta: Join<U, Out = U>,
    {
        let bytes = u64::from(row_bytes);
        match self.held.lies {
            Lies::Together => key.u64() * bytes,
            Lies::Forked { sources, stride } => sources.at(key).u64() * stride + key.u64() * bytes,
            Lies::Paged {
                table,
                stride,
                page,
            } => {
                let number = table.at(key >> page.trailing_zeros());
                number.u64() * stride + (key & (page - 1)).u64() * bytes
            }
        }
    }
}

/// What a warp, a CTA or a split knows of one head: the largest score, the sum of weights, the weighted values.
#[derive(Clone)]
struct Partial<'k> {
    most: F32<'k>,
    sum: F32<'k>,
    values: Vec<F32<'k>>,
}

impl Decode {
    /// Dimensions of a lane's piece: pairs where the head size is even.
    fn piece(&self) -> u32 {
        if self.head_dim.is_multiple_of(2) {
            2
        } else {
            1
        }
    }

    /// Pieces of a lane.
    fn pieces(&self) -> u32 {
        self.head_dim.div_ceil(32 * self.piece())
    }

    fn bytes(&self) -> u32 {
        self.cache.bytes()
    }

    /// The first dimension of piece `p` of this lane.
    fn dimension<'k>(&self, lane: Index<'k>, p: u32) -> Index<'k> {
        lane * self.piece() + p * 32 * self.piece()
    }

    /// `n` neighbouring cache elements from element `at` (known to the builder) of a row.
    fn elements<'k>(&self, row: Global<'k, u8, Read, uni::Lane>, at: u32, n: u32) -> Vec<F32<'k>> {
        let whole_words = (self.head_dim * self.bytes()).is_multiple_of(16);
        match self.cache {
            CacheType::F16 if whole_words && n == 8 => row
                .from(at * 2)
                .words::<4, _>(0)
                .into_iter()
                .flat_map(|word| {
                    let (low, high): (Val<'k, f16, _>, Val<'k, f16, _>) = word.into();
                    [low.f32(), high.f32()]
                })
                .collect(),
            CacheType::F32 if whole_words && n == 8 => (0..2)
                .flat_map(|quad| row.cast::<f32>().from(at + 4 * quad).vector::<4, _>(0))
                .collect(),
            CacheType::F16 => (0..n).map(|i| row.cast::<f16>().at(at + i).f32()).collect(),
            CacheType::F32 => (0..n).map(|i| row.cast::<f32>().at(at + i)).collect(),
        }
    }

    /// Adds the products of `n` dimensions to each head's score.
    fn score<'k>(
        &self,
        keys: Global<'k, u8, Read, uni::Lane>,
        queries: &[Global<'k, f32, Read, uni::Lane>],
        n: u32,
        mut scores: Vec<F32<'k>>,
    ) -> Vec<F32<'k>> {
        for at in (0..n).step_by(8) {
            let elements = self.elements(keys, at, (n - at).min(8));
            for (score, query) in scores.iter_mut().zip(queries) {
                for (i, element) in elements.iter().enumerate() {
                    *score = element.mul_add(query.at(at + i as u32), *score);
                }
            }
        }
        scores
    }

    /// Adds the products of a whole key with each query to its score.
    pub(super) fn scores<'k, S: Scope<'k>>(
        &self,
        scope: &mut S,
        row: Global<'k, u8, Read, uni::Lane>,
        queries: &[Global<'k, f32, Read, impl Join<uni::Lane, Out = uni::Lane>>],
        mut scores: Vec<F32<'k>>,
    ) -> Vec<F32<'k>> {
        // Whole blocks of dimensions in a loop, which keeps few keys in registers at a time.
        let whole = self.head_dim / DIMENSIONS * DIMENSIONS;
        if whole > 0 {
            scores = scope.fold(steps(0, whole, DIMENSIONS), scores, |_, at, scores| {
                let at: Index<'k> = at.varying();
                let keys = row.from(at * self.bytes());
                let queries: Vec<_> = queries.iter().map(|query| query.from(at)).collect();
                self.score(keys, &queries, DIMENSIONS, scores)
            });
        }
        if whole < self.head_dim {
            let keys = row.from(whole * self.bytes());
            let queries: Vec<_> = queries
                .iter()
                .map(|query| query.varying().from(whole))
                .collect();
            scores = self.score(keys, &queries, self.head_dim - whole, scores);
        }
        scores
    }

    /// This lane's dimensions of a value row; dimensions past the head size repeat its last.
    fn value_row<'k>(&self, row: Global<'k, u8, Read, uni::Lane>, lane: Index<'k>) -> Vec<F32<'k>> {
        let mut values = Vec::new();
        for p in 0..self.pieces() {
            let at = self.dimension(lane, p).min(self.head_dim - self.piece());
            match (self.cache, self.piece()) {
                (CacheType::F16, 2) => {
                    let [word] = row.cast::<f16>().words::<1, _>(at);
                    let (low, high): (Val<'k, f16, _>, Val<'k, f16, _>) = word.into();
                    values.extend([low.f32(), high.f32()]);
                }
                (CacheType::F32, 2) => values.extend(row.cast::<f32>().vector::<2, _>(at)),
                (CacheType::F16, _) => values.push(row.cast::<f16>().at(at).f32()),
                (CacheType::F32, _) => values.push(row.cast::<f32>().at(at)),
            }
        }
        values
    }

    /// Share `share` of keys `from..to`, 32 at a time: a lane scores a key, then holds some dimensions.
    fn warp_pass<'k>(
        &self,
        warp: &mut Warp<'k>,
        share: Val<'k, u32, uni::Warp>,
        queries: &[Global<'k, f32, Read>],
        seen: &Seen<'k>,
        scale: Val<'k, f32, uni::Cta>,
    ) -> Vec<Partial<'k>> {
        let (from, to) = (seen.from, seen.to);
        let row_bytes = self.head_dim * self.bytes();
        let lane = warp.lane();
        let empty = || {
            (
                Val::constant(f32::NEG_INFINITY),
                Val::constant(0.0),
                vec![Val::constant(0.0); (self.pieces() * self.piece()) as usize],
            )
        };
        let start: Vec<(F32<'k>, F32<'k>, Vec<F32<'k>>)> =
            queries.iter().map(|_| empty()).collect();
        let first = from + share * 32;
        let found = warp.fold(steps(first, to, 32 * WARPS), start, |warp, block, state| {
            let key = block + lane;
            let valid = key.lt(to);
            let row = seen.held.keys.from(seen.offset(key.min(to - 1), row_bytes));
            let scores = queries.iter().map(|_| Val::constant(0.0)).collect();
            let scores = self.scores(warp, row, queries, scores);
            let mut weights = Vec::new();
            let mut state: Vec<_> = state
                .into_iter()
                .zip(scores)
                .map(|((most, sum, values), score)| {
                    let score = valid.select(score * scale, f32::NEG_INFINITY);
                    let now = warp.max(score).varying().max(most);
                    // The block has a valid key, so `now` is finite unless a score is not.
                    let shrink = (most - now).exp();
                    let weight = (score - now).exp();
                    let sum = sum * shrink + warp.sum(weight).varying();
                    weights.push(weight);
                    (
                        now,
                        sum,
                        values
                            .into_iter()
                            .map(|value| value * shrink)
                            .collect::<Vec<_>>(),
                    )
                })
                .collect();
            let values_of: Vec<Vec<F32<'k>>> =
                state.iter().map(|(_, _, values)| values.clone()).collect();
            let added = warp.fold(steps(0, 32, 4), values_of, |warp, j, mut sums| {
                for i in 0..4 {
                    let key = (block + j + i).min(to - 1);
                    let row = seen.held.values.from(seen.offset(key, row_bytes));
                    let elements = self.value_row(row.varying(), lane);
                    for (sums, weight) in sums.iter_mut().zip(&weights) {
                        let weight = warp.broadcast(*weight, j + i);
                        for (sum, element) in sums.iter_mut().zip(&elements) {
                            *sum = element.mul_add(weight, *sum);
                        }
                    }
                }
                sums
            });
            for ((_, _, values), added) in state.iter_mut().zip(added) {
                *values = added;
            }
            state
        });
        found
            .into_iter()
            .map(|(most, sum, values)| Partial { most, sum, values })
            .collect()
    }
}

/// Adds up partial results: `read(i)` gives part i.
fn combine<'k>(parts: impl Iterator<Item = Partial<'k>>) -> Partial<'k> {
    let parts: Vec<Partial<'k>> = parts.collect();
    let mut most = parts[0].most;
    for part in &parts[1..] {
        most = most.max(part.most);
    }
    // No key at all: every maximum is -inf; subtracting 0 then avoids inf - inf.
    let offset = most.equals(f32::NEG_INFINITY).select(0.0, most);
    let mut sum: F32<'k> = Val::constant(0.0);
    let mut values: Vec<F32<'k>> = vec![Val::constant(0.0); parts[0].values.len()];
    for part in &parts {
        let factor = (part.most - offset).exp();
        sum = part.sum.mul_add(factor, sum);
        for (total, value) in values.iter_mut().zip(&part.values) {
            *total = value.mul_add(factor, *total);
        }
    }
    Partial { most, sum, values }
}

impl Kernel for Decode {
    type Args = DecodeArgs;

    fn name(&self) -> String {
        format!(
            "{}decode_attention_{}_{}_{}",
            self.history.prefix(),
            self.cache.name(),
            self.head_dim,
            self.group
        )
    }

    fn threads(&self) -> u32 {
        WARPS * 32
    }

    // Shares of keys are the same for any number of warps.
    fn resized(&self, _threads: u32) -> Option<Self> {
        Some(self.clone())
    }

    fn grid(&self, a: &DecodeArgs) -> Result<u64, LaunchError> {
        require(
            (1..=256).contains(&a.head_dim) && a.head_dim == self.head_dim,
            "head_dim",
            a.head_dim.into(),
            "the kernel's, 1 to 256",
        )?;
        require(
            a.kv_heads > 0 && a.heads == a.kv_heads * self.group,
            "heads",
            a.heads.into(),
            "kv_heads times the kernel's group",
        )?;
        self.cache.require_row(a.row_bytes, self.head_dim)?;
        require(
            (1..=64).contains(&a.splits),
            "splits",
            a.splits.into(),
            "1 to 64",
        )?;
        require(a.max_len > 0, "max_len", 0, "at least 1")?;
        require(a.sequences > 0, "sequences", 0, "at least 1")?;
        Ok(u64::from(a.rows) * u64::from(a.kv_heads) * u64::from(a.splits))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: DecodeArgs<Device<'k>>) {
        let stride = a.kv_heads.mul_wide(a.max_len) * u64::from(self.head_dim * self.bytes());
        let work = Work {
            q: a.q,
            visible: a.visible,
            partial: a.partial,
            counters: a.counters,
            y: a.y,
            heads: a.heads,
            kv_heads: a.kv_heads,
            most: a.max_len,
            splits: a.splits,
            scale: a.scale,
        };
        self.attend(cta, &work, |row, kv_head| Held {
            keys: a.k.row(kv_head),
            values: a.v.row(kv_head),
            lies: match self.history {
                History::Shared => Lies::Together,
                History::Forked => Lies::Forked {
                    sources: a.sources.row(row),
                    stride,
                },
            },
        });
    }
}

impl Decode {
    /// The work of one CTA; `held(row, kv_head)` has the keys.
    pub(super) fn attend<'k>(
        &self,
        cta: &mut Cta<'k>,
        a: &Work<'k>,
        held: impl FnOnce(Val<'k, u32, uni::Cta>, Val<'k, u32, uni::Cta>) -> Held<'k>,
    ) {
        let split = cta.id() % a.splits;
        let pair = cta.id() / a.splits;
        let (kv_head, row) = (pair % a.kv_heads, pair / a.kv_heads);
        let visible = a.visible.at(row).min(a.most);
        // Splits take whole blocks of 32 keys.
        let share = visible.div_ceil(32).div_ceil_by(a.splits) * 32;
        let from = (share * split).min(visible);
        let to = (from + share).min(visible);
        let seen = Seen {
            held: held(row, kv_head),
            from,
            to,
        };
        let width = self.pieces() * self.piece();
        let stride = 32 * width + 2;
        let heads_at_once = self.group.min(HEADS_AT_ONCE);
        let mut exchange = cta.tile::<f32>(WARPS * heads_at_once * stride);
        for chunk in (0..self.group).step_by(HEADS_AT_ONCE as usize) {
            let heads: Vec<u32> = (chunk..self.group.min(chunk + HEADS_AT_ONCE)).collect();
            let queries: Vec<Global<'k, f32, Read>> = heads
                .iter()
                .map(|head| {
                    a.q.row(row)
                        .from((kv_head * self.group + *head) * self.head_dim)
                })
                .collect();
            let view = exchange.fill(cta, |cta, slots| {
                rounds(cta, WARPS, |warp, share| {
                    let parts = self.warp_pass(warp, share, &queries, &seen, a.scale);
                    let lane = warp.lane();
                    for (at, part) in parts.iter().enumerate() {
                        let base = (share * heads_at_once + at as u32) * stride;
                        for (i, value) in part.values.iter().enumerate() {
                            slots.set(base + lane * width + i as u32, *value);
                        }
                        let first = lane.equals(0);
                        warp.if_(first, |_| {
                            slots.set(base + 32 * width, part.most);
                            slots.set(base + (32 * width + 1), part.sum);
                        });
                    }
                });
            });
            // Warp w combines head w of this chunk and writes the split's result.
            rounds(cta, WARPS, |warp, at| {
                let mine = at.lt(heads.len() as u32);
                warp.if_all(mine, |warp| {
                    let lane = warp.lane();
                    let part = combine((0..WARPS).map(|w| {
                        let base = (at + w * heads_at_once) * stride;
                        Partial {
                            most: view.at(base + 32 * width).varying(),
                            sum: view.at(base + (32 * width + 1)).varying(),
                            values: (0..width)
                                .map(|i| view.at(base + lane * width + i))
                                .collect(),
                        }
                    }));
                    let head = kv_head * self.group + chunk + at;
                    let out = a
                        .partial
                        .row(row * a.heads + head)
                        .from(split * (self.head_dim + 2));
                    self.write(warp, lane, out, &part.values);
                    let first = lane.equals(0);
                    warp.if_(first, |_| {
                        out.set(self.head_dim, part.most);
                        out.set(self.head_dim + 1, part.sum);
                    });
                });
            });
        }
        let last = cta.arrive_last(a.counters.row(row).from(kv_head), a.splits);
        cta.if_all(last, |cta| self.finish(cta, a, row, kv_head));
    }

    /// Writes this lane's dimensions.
    fn write<'k>(
        &self,
        warp: &mut Warp<'k>,
        lane: Index<'k>,
        out: Global<'k, f32, Write, uni::Warp>,
        values: &[F32<'k>],
    ) {
        for (p, piece) in values.chunks(self.piece() as usize).enumerate() {
            let at = self.dimension(lane, p as u32);
            warp.if_(at.lt(self.head_dim), |_| {
                for (i, value) in piece.iter().enumerate() {
                    out.from(at).set(i as u32, *value);
                }
            });
        }
    }

    /// The last CTA of a row and key head adds up the splits.
    fn finish<'k>(
        &self,
        cta: &mut Cta<'k>,
        a: &Work<'k>,
        row: Val<'k, u32, uni::Cta>,
        kv_head: Val<'k, u32, uni::Cta>,
    ) {
        let warps = cta.warps();
        cta.each_warp(|warp| {
            let lane = warp.lane();
            let first: Val<'k, u32, uni::Warp> = warp.id();
            warp.for_(steps(first, self.group, warps), |warp, head| {
                let head = kv_head * self.group + head;
                let parts = a.partial.row(row * a.heads + head);
                let width = (self.pieces() * self.piece()) as usize;
                let at = |p: u32| self.dimension(lane, p).min(self.head_dim - self.piece());
                let none: (F32<'k>, F32<'k>, Vec<F32<'k>>) = (
                    Val::constant(f32::NEG_INFINITY),
                    Val::constant(0.0),
                    vec![Val::constant(0.0); width],
                );
                let splits: Val<'k, u32, uni::Warp> = a.splits.into();
                let (_, sum, values) = warp.fold(
                    steps(0, splits, 1),
                    none,
                    |_, split, (most, sum, values)| {
                        let part = parts.from(split * (self.head_dim + 2));
                        let so_far = Partial { most, sum, values };
                        let next = Partial {
                            most: part.at(self.head_dim),
                            sum: part.at(self.head_dim + 1),
                            values: (0..width as u32)
                                .map(|i| part.from(at(i / self.piece())).at(i % self.piece()))
                                .collect(),
                        };
                        let Partial { most, sum, values } = combine([so_far, next].into_iter());
                        (most, sum, values)
                    },
                );
                let inverse = sum
                    .gt(0.0)
                    .select(Val::<f32, uni::Lane>::constant(1.0) / sum, 0.0);
                let values: Vec<F32<'k>> =
                    values.into_iter().map(|value| value * inverse).collect();
                let out = a.y.row(row).from(head * self.head_dim);
                self.write(warp, lane, out, &values);
            });
        });
    }
}
