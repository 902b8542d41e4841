//! Rotary position embedding (Su et al., 2021) of queries and keys in place.

mod angle;
mod frequencies;

pub use frequencies::{Frequencies, Scaling, Yarn};

use crate::{
    case::{AnyCase, Case, EPS_F32, Expected, Random, Updated},
    team::rounds,
    values::Word,
};
pub(crate) use angle::{SIN_COS_ERROR, sin_cos};
use warpsmith_kernel::{
    Cta, Global, InKernel, Kernel, LaunchError, Scope, Write, args, limits, steps, uni,
};

args! {
    /// Queries `[tokens, heads, head_dim]` and keys `[tokens, kv_heads, head_dim]`; the pair p of each head of token t
    /// turns by `positions[t] * inverse[p]` and is scaled by `magnitude`; elements past the pairs stay.
    pub struct RopeArgs {
        q: InOut<f32>[tokens, heads * head_dim], k: InOut<f32>[tokens, kv_heads * head_dim],
        positions: In<u32>[tokens], inverse: In<f32>[pairs],
        tokens: Scalar<u32>, heads: Scalar<u32>, kv_heads: Scalar<u32>, head_dim: Scalar<u32>,
        pairs: Scalar<u32>, magnitude: Scalar<f32>,
    }
}

/// Which two elements of a head turn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pairing {
    /// Neighbours: `2p` and `2p + 1` (Llama in GGUF files).
    Neighbours,
    /// The halves of the rotated part: `p` and `p + pairs` (GPT-NeoX, Hugging Face).
    Halves,
}

/// The kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rope {
    /// Pairing.
    pub pairing: Pairing,
}

/// Heads of a warp: sine and cosine serve them all.
const HEADS: u32 = 4;
const WARPS: u32 = 4;

impl Kernel for Rope {
    type Args = RopeArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        match self.pairing {
            Pairing::Neighbours => "rope_neighbours".into(),
            Pairing::Halves => "rope_halves".into(),
        }
    }

    fn threads(&self) -> u32 {
        WARPS * 32
    }

    fn grid(&self, a: &RopeArgs) -> Result<u64, LaunchError> {
        limits! {
            a.pairs: u64::from(a.pairs) * 2 <= u64::from(a.head_dim), "at most half of head_dim";
        }
        let heads = u64::from(a.heads) + u64::from(a.kv_heads);
        limits! {
            a.head_dim: heads * u64::from(a.head_dim) < 1 << 31, "below 2^31 / (heads + kv_heads)";
        }
        let units = u128::from(a.tokens)
            * u128::from(heads.div_ceil(HEADS.into()))
            * u128::from(a.pairs.div_ceil(32));
        limits! {
            a.tokens: units < 1 << 31, "below 2^31 blocks of 4 heads and 32 pairs";
        }
        Ok((units as u64).div_ceil(WARPS.into()))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: RopeArgs<InKernel<'k>>) {
        let heads = a.heads + a.kv_heads;
        let (head_blocks, pair_blocks) = (heads.div_ceil(HEADS), a.pairs.div_ceil(32));
        let first = cta.id() * WARPS;
        rounds(cta, WARPS, |warp, round| {
            let unit = first + round;
            let token = unit / (pair_blocks * head_blocks);
            warp.if_all(token.lt(a.tokens), |warp| {
                let pair = (unit % pair_blocks) * 32 + warp.lane();
                let block = (unit / pair_blocks) % head_blocks;
                warp.if_(pair.lt(a.pairs), |lane| {
                    let position = a.positions.at(token).varying().f32();
                    let (sin, cos) = sin_cos(position, a.inverse.at(pair));
                    let (sin, cos) = (sin * a.magnitude, cos * a.magnitude);
                    let (x, y) = match self.pairing {
                        Pairing::Neighbours => (pair * 2, pair * 2 + 1),
                        Pairing::Halves => (pair, pair + a.pairs),
                    };
                    let turn = |head: Global<'k, f32, Write, uni::Lane>| {
                        let (from_x, from_y) = (head.at(x), head.at(y));
                        head.set(x, from_x.mul_add(cos, -(from_y * sin)));
                        head.set(y, from_x.mul_add(sin, from_y * cos));
                    };
                    let first: Word = (block * HEADS).varying();
                    let end = first + HEADS;
                    let (token, split) = (token.varying(), a.heads.varying());
                    let (q, k) = (a.q.row(token), a.k.row(token));
                    lane.for_(steps(first, end.min(split), 1), |_, head| {
                        turn(q.from(head * a.head_dim));
                    });
                    // The heads of the keys follow those of the queries.
                    let (first, end) = (first.max(split) - split, end.max(split) - split);
                    lane.for_(steps(first, end.min(a.kv_heads), 1), |_, head| {
                        turn(k.from(head * a.head_dim));
                    });
                });
            });
        });
    }
}

/// One head in f64: the turned values with their tolerances.
pub fn rope_reference(
    head: &[f32],
    pairing: Pairing,
    position: u32,
    inverse: &[f32],
    magnitude: f32,
) -> Vec<(f64, f64)> {
    let mut out: Vec<(f64, f64)> = head.iter().map(|x| (f64::from(*x), 0.0)).collect();
    for (pair, frequency) in inverse.iter().enumerate() {
        let (first, second) = match pairing {
            Pairing::Neighbours => (2 * pair, 2 * pair + 1),
            Pairing::Halves => (pair, pair + inverse.len()),
        };
        let (x, y) = (f64::from(head[first]), f64::from(head[second]));
        let (sin, cos) = (f64::from(position) * f64::from(*frequency)).sin_cos();
        let magnitude = f64::from(magnitude);
        let error = (x.abs() + y.abs()) * magnitude.abs() * (SIN_COS_ERROR + 4.0 * EPS_F32);
        out[first] = ((x * cos - y * sin) * magnitude, error);
        out[second] = ((x * sin + y * cos) * magnitude, error);
    }
    out
}

/// Both pairings, whole and partial rotation, scaled frequencies, positions up to 131071.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut shapes = vec![
        (1, 9, 3, 64, 32),
        (3, 9, 3, 64, 32),
        (2, 1, 1, 2, 1),
        (5, 7, 0, 80, 16),
        (2, 4, 2, 34, 17),
        (1, 14, 2, 128, 64),
        (4, 3, 1, 5, 0),
        (0, 2, 1, 8, 4),
    ];
    shapes.extend((0..3).map(|_| {
        let pairs = rng.range(1, 70);
        (
            rng.range(1, 5),
            rng.range(1, 12),
            rng.range(1, 6),
            2 * pairs + rng.range(0, 9),
            pairs,
        )
    }));
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    for (at, (tokens, heads, kv_heads, head_dim, pairs)) in shapes.into_iter().enumerate() {
        for pairing in [Pairing::Neighbours, Pairing::Halves] {
            let frequencies = Frequencies {
                rotated: 2 * pairs,
                base: rng.pick(&[10_000.0, 500_000.0, 1_000_000.0]),
                factors: None,
                scaling: match at % 4 {
                    0 => Scaling::None,
                    1 => Scaling::Linear { factor: 4.0 },
                    2 => Scaling::Yarn(Yarn::new(4.0, 4096)),
                    _ => Scaling::Llama3 {
                        factor: 8.0,
                        low: 1.0,
                        high: 4.0,
                        context: 8192,
                    },
                },
            };
            let inverse = frequencies.inverse().expect("sound parameters");
            let magnitude = frequencies.magnitude();
            let positions: Vec<u32> = (0..tokens)
                .map(|token| match token % 3 {
                    0 => rng.range(0, 2000),
                    1 => rng.range(100_000, 131_071),
                    _ => token,
                })
                .collect();
            let mut turned = |heads: u32| {
                let before = rng.numbers((tokens * heads * head_dim) as usize, 4.0);
                let (values, tolerance) = before
                    .chunks(head_dim as usize)
                    .enumerate()
                    .flat_map(|(at, head)| {
                        let position = positions[at / heads as usize];
                        rope_reference(head, pairing, position, &inverse, magnitude)
                    })
                    .unzip();
                Updated {
                    before: before.into(),
                    after: Expected::within(values, tolerance),
                }
            };
            cases.push(Box::new(Case {
                label: format!(
                    "{tokens} tokens, {heads} and {kv_heads} heads, {pairs} pairs of {head_dim}"
                ),
                kernel: Rope { pairing },
                args: RopeArgs {
                    q: turned(heads),
                    k: turned(kv_heads),
                    positions: positions.clone().into(),
                    inverse: inverse.into(),
                    tokens,
                    heads,
                    kv_heads,
                    head_dim,
                    pairs,
                    magnitude,
                },
            }));
        }
    }
    cases
}
