//! New keys and values go to their places in the cache.

mod paged;

pub(crate) use paged::cases as paged_cases;
pub use paged::{PagedScatter, PagedScatterArgs};

use crate::{
    attention::History,
    case::{AnyCase, Case, Data, Expected, HostElem, Random, Updated},
    pointwise::write_f16,
    team::{F32, Word, read, spread, write},
};
use half::f16;
use warpsmith_kernel::{
    AccessMark, Cta, Device, Elem, Global, Kernel, LaunchError, Read, Scope, Val, Write, args,
    require, uni,
};

args! {
    /// New keys and values `[tokens, kv_heads, head_dim]` to caches `[sequences, kv_heads, max_len, head_dim]`: token t to
    /// `positions[t]`, or to `start + t`, or nowhere if that is not below `max_len`; of sequence 0, or of sequence t where rows were forked.
    pub struct KvScatterArgs {
        k: In<f32>[tokens, kv_heads * head_dim], v: In<f32>[tokens, kv_heads * head_dim],
        positions: Maybe<u32>[tokens],
        k_cache: InOut<f32>[sequences * kv_heads, max_len, head_dim], v_cache: InOut<f32>[sequences * kv_heads, max_len, head_dim],
        tokens: Scalar<u32>, sequences: Scalar<u32>, kv_heads: Scalar<u32>, head_dim: Scalar<u32>, max_len: Scalar<u32>, start: Scalar<u32>,
    }
}

args! {
    /// As [`KvScatterArgs`], to a cache in f16.
    pub struct KvScatterF16Args {
        k: In<f32>[tokens, kv_heads * head_dim], v: In<f32>[tokens, kv_heads * head_dim],
        positions: Maybe<u32>[tokens],
        k_cache: InOut<f16>[sequences * kv_heads, max_len, head_dim], v_cache: InOut<f16>[sequences * kv_heads, max_len, head_dim],
        tokens: Scalar<u32>, sequences: Scalar<u32>, kv_heads: Scalar<u32>, head_dim: Scalar<u32>, max_len: Scalar<u32>, start: Scalar<u32>,
    }
}

/// Where tokens go in their sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Places {
    /// To the positions given.
    Given,
    /// One after the other.
    InOrder,
}

impl Places {
    fn prefix(self) -> &'static str {
        match self {
            Places::Given => "",
            Places::InOrder => "in_order_",
        }
    }
}

/// Into an f32 cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KvScatter {
    /// Whose they are.
    pub history: History,
    /// Where they go.
    pub places: Places,
}

/// Into an f16 cache; numbers are rounded to nearest even.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KvScatterF16 {
    /// Whose they are.
    pub history: History,
    /// Where they go.
    pub places: Places,
}

fn grid(
    history: History,
    [tokens, sequences, kv_heads, head_dim]: [u32; 4],
    start: u32,
) -> Result<u64, LaunchError> {
    require(start < 1 << 31, "start", start.into(), "below 2^31")?;
    require(tokens < 1 << 31, "tokens", tokens.into(), "below 2^31")?;
    let enough = match history {
        History::Shared => sequences > 0,
        History::Forked => sequences >= tokens,
    };
    require(
        enough,
        "sequences",
        sequences.into(),
        "at least 1, and one for each forked row",
    )?;
    require(
        u64::from(kv_heads) * u64::from(head_dim) < 1 << 31,
        "head_dim",
        head_dim.into(),
        "below 2^31 / kv_heads",
    )?;
    Ok(tokens.into())
}

type Uniform<'k> = Val<'k, u32, uni::Cta>;

/// A cache element type.
trait Cached: Elem {
    fn put<'k>(to: Global<'k, Self, Write, uni::Lane>, i: Word<'k>, values: &[F32<'k>])
    where
        Self: Sized;
}

impl Cached for f32 {
    fn put<'k>(to: Global<'k, f32, Write, uni::Lane>, i: Word<'k>, values: &[F32<'k>]) {
        write(to, i, values);
    }
}

impl Cached for f16 {
    fn put<'k>(to: Global<'k, f16, Write, uni::Lane>, i: Word<'k>, values: &[F32<'k>]) {
        write_f16(to, i, values);
    }
}

struct Shape<'k> {
    kv_heads: Uniform<'k>,
    head_dim: Uniform<'k>,
    max_len: Uniform<'k>,
    /// Where the token goes.
    sequence: Uniform<'k>,
}

/// Moves the heads of one token.
fn scatter<'k, T: Cached>(
    cta: &mut Cta<'k>,
    from: [Global<'k, f32, Read>; 2],
    to: [Global<'k, T, Write>; 2],
    position: Uniform<'k>,
    shape: &Shape<'k>,
) {
    let head_dim = shape.head_dim;
    let mut aligned = (head_dim & 3).equals(0);
    for side in from {
        aligned = aligned & side.aligned(16);
    }
    for side in to {
        aligned = aligned & side.aligned(4 * T::MEMORY.bytes());
    }
    cta.if_all(position.lt(shape.max_len), |cta| {
        let width = shape.kv_heads * head_dim;
        spread(cta, width, aligned, (), |_, i, width, ()| {
            let (head, within) = (i / head_dim, i % head_dim);
            let head = shape.sequence * shape.kv_heads + head;
            let row = head.mul_wide(shape.max_len) + position.u64();
            let start = row * head_dim.u64();
            for (from, to) in from.into_iter().zip(to) {
                T::put(to.from(start), within, &read(from, i, width));
            }
        });
    });
}

/// The sequence of this CTA's token.
fn sequence<'k>(history: History, cta: &Cta<'k>) -> Uniform<'k> {
    match history {
        History::Shared => Val::constant(0),
        History::Forked => cta.id(),
    }
}

/// The elements from a place on are those of one array.
fn token<'k, A: AccessMark>(array: Global<'k, f32, A>, cta: &Cta<'k>) -> Global<'k, f32, A> {
    array.row(cta.id())
}

impl Kernel for KvScatter {
    type Args = KvScatterArgs;

    fn name(&self) -> String {
        format!(
            "{}{}kv_scatter",
            self.places.prefix(),
            self.history.prefix()
        )
    }

    fn threads(&self) -> u32 {
        128
    }

    fn resized(&self, _threads: u32) -> Option<Self> {
        Some(self.clone())
    }

    fn grid(&self, a: &KvScatterArgs) -> Result<u64, LaunchError> {
        grid(
            self.history,
            [a.tokens, a.sequences, a.kv_heads, a.head_dim],
            a.start,
        )
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: KvScatterArgs<Device<'k>>) {
        let shape = Shape {
            kv_heads: a.kv_heads,
            head_dim: a.head_dim,
            max_len: a.max_len,
            sequence: sequence(self.history, cta),
        };
        let from = [token(a.k, cta), token(a.v, cta)];
        let position = match self.places {
            Places::Given => a.positions.at(cta.id()),
            Places::InOrder => a.start + cta.id(),
        };
        scatter(cta, from, [a.k_cache, a.v_cache], position, &shape);
    }
}

impl Kernel for KvScatterF16 {
    type Args = KvScatterF16Args;

    fn name(&self) -> String {
        format!(
            "{}{}kv_scatter_f16",
            self.places.prefix(),
            self.history.prefix()
        )
    }

    fn threads(&self) -> u32 {
        128
    }

    fn resized(&self, _threads: u32) -> Option<Self> {
        Some(self.clone())
    }

    fn grid(&self, a: &KvScatterF16Args) -> Result<u64, LaunchError> {
        grid(
            self.history,
            [a.tokens, a.sequences, a.kv_heads, a.head_dim],
            a.start,
        )
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: KvScatterF16Args<Device<'k>>) {
        let shape = Shape {
            kv_heads: a.kv_heads,
            head_dim: a.head_dim,
            max_len: a.max_len,
            sequence: sequence(self.history, cta),
        };
        let from = [token(a.k, cta), token(a.v, cta)];
        let position = match self.places {
            Places::Given => a.positions.at(cta.id()),
            Places::InOrder => a.start + cta.id(),
        };
        scatter(cta, from, [a.k_cache, a.v_cache], position, &shape);
    }
}

/// A shape: tokens, heads, head size, length of the cache.
type Sizes = (u32, u32, u32, u32);

/// Sequences of a cache for so many tokens.
fn sequences(history: History, tokens: u32) -> u32 {
    match history {
        History::Shared => 1,
        History::Forked => tokens + 1,
    }
}

/// The cache afterwards.
fn placed<T: HostElem>(
    history: History,
    sizes: Sizes,
    new: &[f32],
    positions: &[u32],
    before: Vec<T>,
    number: impl Fn(f32) -> f64,
) -> Updated<T> {
    let (_, heads, dim, max_len) = sizes;
    let mut bytes = Vec::new();
    before.iter().for_each(|x| x.to_bytes(&mut bytes));
    let size = T::MEMORY.bytes() as usize;
    let mut after: Vec<f64> = bytes.chunks(size).map(T::number).collect();
    for (token, position) in positions.iter().enumerate().filter(|(_, p)| **p < max_len) {
        for i in 0..(heads * dim) as usize {
            let (head, within) = (i as u32 / dim, i as u32 % dim);
            let head = match history {
                History::Shared => head,
                History::Forked => token as u32 * heads + head,
            };
            let to = (head * max_len + position) * dim + within;
            after[to as usize] = number(new[token * (heads * dim) as usize + i]);
        }
    }
    Updated {
        before: Data::from(before),
        after: Expected::exact(after),
    }
}

/// Odd head sizes, positions out of order, and positions outside the cache.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut shapes: Vec<Sizes> = vec![
        (1, 3, 64, 40),
        (5, 3, 64, 9),
        (1, 1, 1, 1),
        (3, 2, 33, 7),
        (2, 8, 128, 5),
        (4, 2, 6, 8),
    ];
    shapes.push((
        rng.range(1, 6),
        rng.range(1, 5),
        rng.range(1, 99),
        rng.range(6, 30),
    ));
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    let histories = [
        (History::Shared, Places::Given),
        (History::Forked, Places::Given),
        (History::Shared, Places::InOrder),
    ];
    let both = shapes
        .into_iter()
        .flat_map(|sizes| histories.map(|how| (sizes, how)));
    for (sizes, (history, places)) in both {
        let (tokens, kv_heads, head_dim, max_len) = sizes;
        let sequences = sequences(history, tokens);
        // Neighbours modulo a prime step, so that no two tokens have one place; the last is outside.
        let start = rng.range(0, max_len - 1);
        let mut positions: Vec<u32> = (0..tokens).map(|t| (start + t) % max_len).collect();
        if tokens > 2 {
            positions[0] = max_len;
            positions[1] = u32::MAX;
        }
        if places == Places::InOrder {
            positions = (start..start + tokens).collect();
        }
        let given =
            |positions: &[u32]| (places == Places::Given).then(|| positions.to_vec().into());
        let new = (tokens * kv_heads * head_dim) as usize;
        let cache = (sequences * kv_heads * max_len * head_dim) as usize;
        let (k, v) = (rng.numbers(new, 3.0), rng.numbers(new, 3.0));
        let label = format!("{tokens} tokens, {kv_heads} heads of {head_dim}, cache of {max_len}");
        let [mut k_before, mut v_before] = [rng.numbers(cache, 3.0), rng.numbers(cache, 3.0)];
        cases.push(Box::new(Case {
            label: label.clone(),
            kernel: KvScatter { history, places },
            args: KvScatterArgs {
                k_cache: placed(history, sizes, &k, &positions, k_before.clone(), f64::from),
                v_cache: placed(history, sizes, &v, &positions, v_before.clone(), f64::from),
                k: k.clone().into(),
                v: v.clone().into(),
                positions: given(&positions),
                tokens,
                sequences,
                kv_heads,
                head_dim,
                max_len,
                start,
            },
        }));
        let half = |x: &mut Vec<f32>| x.drain(..).map(f16::from_f32).collect::<Vec<_>>();
        let rounded = |x: f32| f16::from_f32(x).to_f64();
        cases.push(Box::new(Case {
            label,
            kernel: KvScatterF16 { history, places },
            args: KvScatterF16Args {
                k_cache: placed(history, sizes, &k, &positions, half(&mut k_before), rounded),
                v_cache: placed(history, sizes, &v, &positions, half(&mut v_before), rounded),
                k: k.into(),
                v: v.into(),
                positions: given(&positions),
                tokens,
                sequences,
                kv_heads,
                head_dim,
                max_len,
                start,
            },
        }));
    }
    cases
}
