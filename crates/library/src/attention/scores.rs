//! The scores of some heads before the softmax: where queries look, for whoever wants to see it.

use super::{
    CacheType, Decode, History,
    reference::{random_cache, scores_reference},
};
use crate::case::{AnyCase, Case, EPS_F32, Expected, Random};
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, Scope, Val, args, limits, steps};

args! {
    /// `y[h, row, t] = scale * q[row, chosen[h]] . k[chosen[h], t]` for the first `len` keys of a cache
    /// `[heads, max_len, head_dim]` of the kernel's type, as bytes. A head past the last gives the last.
    pub struct ScoresArgs {
        q: In<f32>[rows, heads * head_dim], k: In<u8>[heads, max_len * row_bytes], chosen: In<u32>[count],
        y: Out<f32>[count * rows, len],
        rows: Scalar<u32>, heads: Scalar<u32>, head_dim: Scalar<u32>, count: Scalar<u32>,
        max_len: Scalar<u32>, row_bytes: Scalar<u32>, len: Scalar<u32>, scale: Scalar<f32>,
    }
}

/// The kernel: a CTA for each row and chosen head, a lane for each key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scores {
    /// Head size, 1 to 256.
    pub head_dim: u32,
    /// Element type of the cache.
    pub cache: CacheType,
}

impl Scores {
    /// What reads keys.
    fn reader(&self) -> Decode {
        Decode {
            head_dim: self.head_dim,
            group: 1,
            cache: self.cache,
            history: History::Shared,
        }
    }
}

impl Kernel for Scores {
    type Args = ScoresArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        format!("attention_scores_{}_{}", self.cache.name(), self.head_dim)
    }

    fn threads(&self) -> u32 {
        128
    }

    fn grid(&self, a: &ScoresArgs) -> Result<u64, LaunchError> {
        limits! {
            a.head_dim: (1..=256).contains(&a.head_dim) && a.head_dim == self.head_dim, "the kernel's, 1 to 256";
        }
        self.cache.require_row(a.row_bytes, self.head_dim)?;
        limits! {
            a.heads: a.heads > 0, "at least 1";
            a.len: a.len <= a.max_len && a.len < 1 << 31, "at most max_len, below 2^31";
        }
        Ok(u64::from(a.rows) * u64::from(a.count))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: ScoresArgs<InKernel<'k>>) {
        let (row, at) = (cta.id() / a.count, cta.id() % a.count);
        let head = a.chosen.at(at).min(a.heads - 1);
        let query = a.q.row(row).from(head * self.head_dim);
        let keys = a.k.row(head);
        let y = a.y.row(at * a.rows + row);
        let reader = self.reader();
        let range = steps(cta.thread(), a.len.varying(), cta.threads());
        cta.fold_lanes(range, (), |lane, key, ()| {
            let key_row = keys.from(key.u64() * u64::from(self.head_dim * self.cache.bytes()));
            let start = vec![Val::constant(0.0)];
            let [score]: [Val<f32>; 1] = reader
                .scores(lane, key_row, &[query.varying()], start)
                .try_into()
                .unwrap_or_else(|_| unreachable!("one query gives one score"));
            y.set(key, score * a.scale);
        });
    }
}

/// Odd head sizes, a head twice, fewer keys than the cache holds.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    for (rows, heads, head_dim, max_len, len, chosen) in [
        (1, 1, 1, 1, 1, vec![0u32]),
        (3, 6, 64, 150, 129, vec![5, 0, 5]),
        (2, 2, 33, 40, 7, vec![1]),
        (1, 3, 80, 300, 300, vec![2, 1]),
    ] {
        for cache in [CacheType::F16, CacheType::F32] {
            let (k, values) = random_cache(rng, cache, heads, max_len, head_dim, len);
            let q = rng.numbers((rows * heads * head_dim) as usize, 1.5);
            let scale = 1.0 / (head_dim as f32).sqrt();
            let count = chosen.len() as u32;
            let (mut want, mut tolerance) = (Vec::new(), Vec::new());
            for head in &chosen {
                for row in 0..rows {
                    for t in 0..len {
                        let query = &q[((row * heads + head) * head_dim) as usize..];
                        let key = &values[((head * max_len + t) * head_dim) as usize..];
                        let size = head_dim as usize;
                        let (score, sum) =
                            scores_reference(&query[..size], &key[..size], scale.into());
                        want.push(score);
                        tolerance.push(sum * f64::from(head_dim + 4) * EPS_F32);
                    }
                }
            }
            cases.push(Box::new(Case {
                label: format!("{rows} rows, heads {chosen:?} of {heads}, {len} of {max_len} keys"),
                kernel: Scores { head_dim, cache },
                args: ScoresArgs {
                    q: q.into(),
                    k: k.into(),
                    chosen: chosen.clone().into(),
                    y: Expected::within(want, tolerance),
                    rows,
                    heads,
                    head_dim,
                    count,
                    max_len,
                    row_bytes: head_dim * cache.bytes(),
                    len,
                    scale,
                },
            }));
        }
    }
    cases
}
