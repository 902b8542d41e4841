//! Decode attention: few queries against a long cache, split over the sequence, combined in the same launch
//! (FlashDecoding, Dao et al. 2023).

use crate::{
    attention::{
        CacheType, History, Paging,
        history::{Caches, Lies},
    },
    quad::{At, Quad, Width},
    team::rounds,
    values::{F32, Word},
};
use half::f16;
use warpsmith_kernel::{
    Cta, Global, InKernel, Kernel, LaunchError, Read, Scope, Slots, Val, View, Warp, Write, args,
    limits, state, steps,
    uni::{self, Join},
};

args! {
    /// Queries f32 `[rows, heads, head_dim]`; caches `[sequences, kv_heads, max_len, head_dim]` of the kernel's type, as
    /// bytes. Row r sees the first `visible[r]` keys; none gives zeros. The key at position t is that of sequence 0, or of
    /// `sources[r, t]` where rows were forked, or where `paging` says. `partial` is scratch; `counters` start and end at zero.
    pub struct DecodeArgs {
        q: In<f32>[rows, heads * head_dim], visible: In<u32>[rows], sources: Maybe<u32>[rows, max_len],
        paging: Group<Paging>,
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

/// Warps of a CTA that is a launch of its own, and shares of the keys of a split in a CTA of any size: how many warps there
/// are changes no sum.
const WARPS: u32 = 4;
/// Dimensions of a key that a round of scoring takes.
const DIMENSIONS: u32 = 16;
/// Keys whose values are added in a round.
const ROWS: u32 = 4;
/// Bytes that are asked for at once, the least that caches hold.
const LINE: u32 = 64;
/// Query heads that are served at once; more are served one after the other.
const HEADS_AT_ONCE: u32 = 4;

/// The keys and values that a split of one row sees.
struct Seen<'k> {
    keys: Global<'k, u8, Read>,
    values: Global<'k, u8, Read>,
    lies: Lies<'k>,
    /// Bytes from one sequence to the next.
    stride: Val<'k, u64, uni::Cta>,
    from: Val<'k, u32, uni::Cta>,
    to: Val<'k, u32, uni::Cta>,
}

impl<'k> Seen<'k> {
    /// How far behind the first the row of position `key` is, in bytes.
    fn offset<U>(&self, key: Val<'k, u32, U>, decode: &Decode) -> Val<'k, u64, U>
    where
        U: Join<uni::Cta, Out = U> + Join<U, Out = U>,
        uni::Cta: Join<U, Out = U>,
    {
        let home = self.lies.home(key);
        home.offset(self.stride, u64::from(decode.head_dim * decode.bytes()))
    }

    /// The key at a position.
    fn keys<U>(&self, key: Val<'k, u32, U>, decode: &Decode) -> Global<'k, u8, Read, U>
    where
        U: Join<uni::Cta, Out = U> + Join<U, Out = U>,
        uni::Cta: Join<U, Out = U>,
    {
        self.keys.from(self.offset(key, decode))
    }

    /// The value at a position.
    fn values<U>(&self, key: Val<'k, u32, U>, decode: &Decode) -> Global<'k, u8, Read, U>
    where
        U: Join<uni::Cta, Out = U> + Join<U, Out = U>,
        uni::Cta: Join<U, Out = U>,
    {
        self.values.from(self.offset(key, decode))
    }
}

state! {
    /// What a warp, a CTA or a split knows of one head: the largest score, the sum of weights, the weighted values.
    struct Partial<'k> {
        most: F32<'k>,
        sum: F32<'k>,
        values: Vec<F32<'k>>,
    }
}

impl<'k> Partial<'k> {
    /// Of no key, with `width` values.
    fn none(width: u32) -> Self {
        Partial {
            most: Val::constant(f32::NEG_INFINITY),
            sum: Val::constant(0.0),
            values: vec![Val::constant(0.0); width as usize],
        }
    }

    /// With the scores of up to 32 more keys, one a lane, minus infinity where there is none; and their weights.
    fn weigh(self, warp: &mut Warp<'k>, score: F32<'k>) -> (Self, F32<'k>) {
        let most = warp.max(score).varying().max(self.most);
        // There is a valid key, so this is finite unless a score is not.
        let shrink = (self.most - most).exp();
        let weight = (score - most).exp();
        let sum = self.sum * shrink + warp.sum(weight).varying();
        let values = self.values.into_iter().map(|value| value * shrink);
        let values = values.collect();
        (Partial { most, sum, values }, weight)
    }
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
    fn dimension<'k>(&self, lane: Word<'k>, p: u32) -> Word<'k> {
        lane * self.piece() + p * 32 * self.piece()
    }

    /// Whether all lanes have dimensions in piece `p`.
    fn is_whole(&self, p: u32) -> bool {
        (p + 1) * 32 * self.piece() <= self.head_dim
    }

    /// The first dimension of piece `p` of this lane; the head's last piece for lanes past it.
    fn readable<'k>(&self, lane: Word<'k>, p: u32) -> Word<'k> {
        let at = self.dimension(lane, p);
        if self.is_whole(p) {
            return at;
        }
        at.min(self.head_dim - self.piece())
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
                let at: Word<'k> = at.varying();
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

    /// Values that a lane has of each head.
    fn width(&self) -> u32 {
        self.pieces() * self.piece()
    }

    /// This lane's dimensions of a value row; dimensions past the head size repeat its last.
    fn value_row<'k>(&self, row: Global<'k, u8, Read, uni::Lane>, lane: Word<'k>) -> Vec<F32<'k>> {
        let width = match self.piece() {
            2 => Width::Two,
            _ => Width::One,
        };
        let piece = |p: u32| {
            let at = At::neighbours(self.readable(lane, p), width);
            let values = match self.cache {
                CacheType::F16 => Quad::read(row.cast::<f16>(), at),
                CacheType::F32 => Quad::read(row.cast::<f32>(), at),
            };
            values.values().to_vec()
        };
        (0..self.pieces()).flat_map(piece).collect()
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
        let lane = warp.lane();
        let start = vec![Partial::none(self.width()); queries.len()];
        // A warp's keys lie one behind the other.
        let own = (to - from).div_ceil(32 * WARPS) * 32;
        let first = from + share * own;
        let to = (first + own).min(to);
        let blocks = steps(first, to, 32);
        warp.fold(blocks, start, |warp, block, parts| {
            let key = block + lane;
            let valid = key.lt(to);
            let row = seen.keys(key.min(to - 1), self);
            let scores = vec![Val::constant(0.0); queries.len()];
            let scores = self.scores(warp, row, queries, scores).into_iter();
            let scored = parts.into_iter().zip(scores).map(|(part, score)| {
                let score = valid.select(score * scale, f32::NEG_INFINITY);
                part.weigh(warp, score)
            });
            let (parts, weights): (Vec<_>, Vec<_>) = scored.unzip();
            self.add_values(warp, seen, (block, to), parts, &weights)
        })
    }

    /// Adds the values of the 32 keys from `block` on, or up to `to`, by their weights.
    fn add_values<'k>(
        &self,
        warp: &mut Warp<'k>,
        seen: &Seen<'k>,
        (block, to): (Val<'k, u32, uni::Warp>, Val<'k, u32, uni::Warp>),
        mut parts: Vec<Partial<'k>>,
        weights: &[F32<'k>],
    ) -> Vec<Partial<'k>> {
        let lane = warp.lane();
        let values: Vec<_> = parts.iter().map(|part| part.values.clone()).collect();
        let whole = (block + 64).le(to);
        let added = warp.fold(steps(0, 32, ROWS), values, |warp, j, mut sums| {
            if self.rows_touch() {
                warp.if_all(whole, |_| self.ask(seen, block + j + 32, lane));
            }
            for i in 0..ROWS {
                let row = seen.values((block + j + i).min(to - 1), self);
                let elements = self.value_row(row.varying(), lane);
                for (sums, weight) in sums.iter_mut().zip(weights) {
                    let weight = warp.broadcast(*weight, j + i);
                    for (sum, element) in sums.iter_mut().zip(&elements) {
                        *sum = element.mul_add(weight, *sum);
                    }
                }
            }
            sums
        });
        for (part, values) in parts.iter_mut().zip(added) {
            part.values = values;
        }
        parts
    }

    /// Whether [`ROWS`] keys from a multiple of it on lie one behind the other.
    fn rows_touch(&self) -> bool {
        match self.history {
            History::Shared => true,
            History::Forked => false,
            History::Paged { page } => page >= ROWS,
        }
    }

    /// Asks for the rows of [`ROWS`] keys and values, all of which there are.
    fn ask<'k>(&self, seen: &Seen<'k>, key: Val<'k, u32, uni::Warp>, lane: Word<'k>) {
        // Each lane asks for its part.
        let part = self.head_dim * self.bytes() * ROWS / 32;
        for rows in [seen.keys(key, self), seen.values(key, self)] {
            let rows = rows.from(lane * part);
            for line in (0..part).step_by(LINE as usize) {
                rows.prefetch(line);
            }
        }
    }
}

/// Adds up partial results.
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
    // Shares of keys are the same for any number of warps.
    const ANY_SIZE: bool = true;

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

    fn grid(&self, a: &DecodeArgs) -> Result<u64, LaunchError> {
        limits! {
            a.head_dim: (1..=256).contains(&a.head_dim) && a.head_dim == self.head_dim, "the kernel's, 1 to 256";
            a.heads: a.kv_heads > 0 && a.heads == a.kv_heads * self.group, "kv_heads times the kernel's group";
        }
        self.cache.require_row(a.row_bytes, self.head_dim)?;
        limits! {
            a.splits: (1..=64).contains(&a.splits), "1 to 64";
        }
        let caches = Caches {
            sequences: a.sequences,
            least: 1,
            max_len: a.max_len,
            rows: a.rows,
        };
        self.history.check(caches, &a.paging)?;
        Ok(u64::from(a.rows) * u64::from(a.kv_heads) * u64::from(a.splits))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: DecodeArgs<InKernel<'k>>) {
        let split = cta.id() % a.splits;
        let pair = cta.id() / a.splits;
        let (kv_head, row) = (pair % a.kv_heads, pair / a.kv_heads);
        let room = self.history.room(a.max_len, &a.paging);
        let visible = a.visible.at(row).min(room);
        // Splits take whole blocks of 32 keys.
        let share = visible.div_ceil(32).div_ceil_by(a.splits) * 32;
        let from = (share * split).min(visible);
        let of_head = a.kv_heads.mul_wide(self.history.places(a.max_len));
        let seen = Seen {
            keys: a.k.row(kv_head),
            values: a.v.row(kv_head),
            lies: self.history.seen(row, a.sources, &a.paging),
            stride: of_head * u64::from(self.head_dim * self.bytes()),
            from,
            to: (from + share).min(visible),
        };
        let heads_at_once = self.group.min(HEADS_AT_ONCE);
        let mut exchange = cta.tile::<f32>(WARPS * heads_at_once * self.part());
        for chunk in (0..self.group).step_by(HEADS_AT_ONCE as usize) {
            let heads = chunk..self.group.min(chunk + HEADS_AT_ONCE);
            let count = heads.end - heads.start;
            let all = a.q.row(row).from(kv_head * (self.group * self.head_dim));
            let query = |head: u32| all.from(head * self.head_dim);
            let queries: Vec<Global<'k, f32, Read>> = heads.map(query).collect();
            let view = exchange.fill(cta, |cta, slots| {
                rounds(cta, WARPS, |warp, share| {
                    let parts = self.warp_pass(warp, share, &queries, &seen, a.scale);
                    for (at, part) in parts.iter().enumerate() {
                        let base = (share * heads_at_once + at as u32) * self.part();
                        self.put(warp, slots.from(base), part);
                    }
                });
            });
            // Warp w combines head w of this chunk and writes the split's result.
            rounds(cta, WARPS, |warp, at| {
                warp.if_all(at.lt(count), |warp| {
                    let part = combine((0..WARPS).map(|w| {
                        let base = (at + w * heads_at_once) * self.part();
                        self.got(warp, view.from(base))
                    }));
                    let head = kv_head * self.group + chunk + at;
                    let parts = a.partial.row(row * a.heads + head);
                    let out = parts.from(split * (self.head_dim + 2));
                    self.write(warp, out, &part.values);
                    let first = warp.lane().equals(0);
                    warp.if_(first, |_| {
                        out.set(self.head_dim, part.most);
                        out.set(self.head_dim + 1, part.sum);
                    });
                });
            });
        }
        let last = cta.arrive_last(a.counters.row(row).from(kv_head), a.splits);
        cta.if_all(last, |cta| self.finish(cta, &a, row, kv_head));
    }
}

impl Decode {
    /// Elements of a warp's part in shared memory.
    fn part(&self) -> u32 {
        32 * self.width() + 2
    }

    /// Writes a warp's part to shared memory.
    fn put<'k>(&self, warp: &mut Warp<'k>, slots: Slots<'_, 'k, f32>, part: &Partial<'k>) {
        let (lane, width) = (warp.lane(), self.width());
        for (i, value) in part.values.iter().enumerate() {
            slots.set(lane * width + i as u32, *value);
        }
        let first = lane.equals(0);
        warp.if_(first, |_| {
            slots.set(32 * width, part.most);
            slots.set(32 * width + 1, part.sum);
        });
    }

    /// A warp's part in shared memory.
    fn got<'k>(&self, warp: &Warp<'k>, view: View<'_, 'k, f32>) -> Partial<'k> {
        let (lane, width) = (warp.lane(), self.width());
        Partial {
            most: view.at(32 * width).varying(),
            sum: view.at(32 * width + 1).varying(),
            values: (0..width).map(|i| view.at(lane * width + i)).collect(),
        }
    }

    /// Writes this lane's dimensions.
    fn write<'k>(
        &self,
        warp: &mut Warp<'k>,
        out: Global<'k, f32, Write, uni::Warp>,
        values: &[F32<'k>],
    ) {
        let lane = warp.lane();
        for (p, piece) in values.chunks(self.piece() as usize).enumerate() {
            let at = self.dimension(lane, p as u32);
            let put = || {
                for (i, value) in piece.iter().enumerate() {
                    out.from(at).set(i as u32, *value);
                }
            };
            if self.is_whole(p as u32) {
                put();
            } else {
                warp.if_(at.lt(self.head_dim), |_| put());
            }
        }
    }

    /// The last CTA of a row and key head adds up the splits.
    fn finish<'k>(
        &self,
        cta: &mut Cta<'k>,
        a: &DecodeArgs<InKernel<'k>>,
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
                let at = |p: u32| self.readable(lane, p);
                let (width, piece) = (self.width(), self.piece());
                let splits: Val<'k, u32, uni::Warp> = a.splits.into();
                let all = steps(0, splits, 1);
                let total = warp.fold(all, Partial::none(width), |_, split, so_far| {
                    let part = parts.from(split * (self.head_dim + 2));
                    let value = |i: u32| part.from(at(i / piece)).at(i % piece);
                    let next = Partial {
                        most: part.at(self.head_dim),
                        sum: part.at(self.head_dim + 1),
                        values: (0..width).map(value).collect(),
                    };
                    combine([so_far, next].into_iter())
                });
                let one: F32 = Val::constant(1.0);
                let inverse = total.sum.gt(0.0).select(one / total.sum, 0.0);
                let values = total.values.into_iter().map(|value| value * inverse);
                let out = a.y.row(row).from(head * self.head_dim);
                self.write(warp, out, &values.collect::<Vec<_>>());
            });
        });
    }
}
