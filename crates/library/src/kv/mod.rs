//! New keys and values go to their places in the cache.

mod paged_cases;

pub(crate) use paged_cases::cases as paged_cases;

use crate::{
    attention::{Cached, History, Paging, history::Caches},
    case::{AnyCase, Case, Data, Expected, HostElem, Random, Updated},
    quad::Quad,
    team::spread,
    typed::Typed,
};
use half::f16;
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, Scope, args, require};

args! {
    /// New keys and values `[tokens, kv_heads, head_dim]` to caches `[sequences, kv_heads, max_len, head_dim]`: token t to
    /// `positions[t]`, or to `start + t`, or nowhere if there is no room for it; of sequence 0, of sequence t where rows were forked, or where `paging` says.
    pub struct KvScatterArgs<T: Cached> {
        k: In<f32>[tokens, kv_heads * head_dim], v: In<f32>[tokens, kv_heads * head_dim],
        positions: Maybe<u32>[tokens],
        k_cache: InOut<T>[sequences * kv_heads, max_len, head_dim], v_cache: InOut<T>[sequences * kv_heads, max_len, head_dim],
        paging: Group<Paging>,
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

/// What [`KvScatter`] does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scatter {
    /// Whose they are.
    pub history: History,
    /// Where they go.
    pub places: Places,
}

/// The kernel, for a cache of `T`.
pub type KvScatter<T> = Typed<Scatter, T>;

impl<T: Cached> Kernel for KvScatter<T> {
    type Args = KvScatterArgs<T>;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        let Scatter { history, places } = &self.plan;
        let (places, history) = (places.prefix(), history.prefix());
        format!("{places}{history}kv_scatter{}", T::SUFFIX)
    }

    fn threads(&self) -> u32 {
        128
    }

    fn grid(&self, a: &KvScatterArgs<T>) -> Result<u64, LaunchError> {
        let (start, tokens, history) = (a.start, a.tokens, self.plan.history);
        require(start < 1 << 31, "start", start.into(), "below 2^31")?;
        require(tokens < 1 << 31, "tokens", tokens.into(), "below 2^31")?;
        let caches = Caches {
            sequences: a.sequences,
            least: match history {
                History::Shared | History::Paged { .. } => 1,
                History::Forked => tokens,
            },
            max_len: a.max_len,
            rows: tokens,
        };
        history.check(caches, &a.paging)?;
        let few = u64::from(a.kv_heads) * u64::from(a.head_dim) < 1 << 29;
        let expected = "below 2^29 / kv_heads";
        require(few, "head_dim", a.head_dim.into(), expected)?;
        Ok(tokens.into())
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: KvScatterArgs<T, InKernel<'k>>) {
        let (history, token) = (self.plan.history, cta.id());
        let position = match self.plan.places {
            Places::Given => a.positions.at(token),
            Places::InOrder => a.start + token,
        };
        let (from, to) = ([a.k.row(token), a.v.row(token)], [a.k_cache, a.v_cache]);
        let mut aligned = (a.head_dim & 3).equals(0);
        for (from, to) in from.into_iter().zip(to) {
            aligned &= from.aligned(16) & to.aligned(4 * T::MEMORY.bytes());
        }
        cta.if_all(position.lt(history.room(a.max_len, &a.paging)), |cta| {
            let home = history.written(token, &a.paging).home(position);
            let places = history.places(a.max_len);
            spread(cta, a.kv_heads * a.head_dim, aligned, (), |_, at, ()| {
                let (head, within) = (at.i / a.head_dim, at.i % a.head_dim);
                let head = match home.sequence {
                    None => head,
                    Some(sequence) => sequence * a.kv_heads + head,
                };
                let row = head.mul_wide(places) + home.place.u64();
                for (from, to) in from.into_iter().zip(to) {
                    let to = to.from(row * a.head_dim.u64());
                    Quad::read(from, at).write(to, within);
                }
            });
        });
    }
}

/// A shape: tokens, heads, head size, length of the cache.
type Sizes = (u32, u32, u32, u32);

/// Sequences of a cache for so many tokens.
fn sequences(history: History, tokens: u32) -> u32 {
    match history {
        History::Shared | History::Paged { .. } => 1,
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
                History::Shared | History::Paged { .. } => head,
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
            kernel: KvScatter::new(Scatter { history, places }),
            args: KvScatterArgs {
                k_cache: placed(history, sizes, &k, &positions, k_before.clone(), f64::from),
                v_cache: placed(history, sizes, &v, &positions, v_before.clone(), f64::from),
                k: k.clone().into(),
                v: v.clone().into(),
                positions: given(&positions),
                paging: Paging::none(),
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
            kernel: KvScatter::new(Scatter { history, places }),
            args: KvScatterArgs {
                k_cache: placed(history, sizes, &k, &positions, half(&mut k_before), rounded),
                v_cache: placed(history, sizes, &v, &positions, half(&mut v_before), rounded),
                k: k.into(),
                v: v.into(),
                positions: given(&positions),
                paging: Paging::none(),
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
