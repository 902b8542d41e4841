//! Cases of heads: many sizes, both pairings, biases, norms, caches of both types.

use super::{
    Form, Heads, HeadsArgs, HeadsMatrix, HeadsPlan, Norm, Turn, Work,
    cases::{EPS, X, source, work},
    reference::after_heads,
};
use crate::{
    attention::{Cached, History, Paging},
    case::{AnyCase, Case, Data, EPS_F16, Expected, HostElem, Random, Updated},
    epilogue::Operand,
    gemm::matrix::{Matrix, Near},
    rope::{Frequencies, Pairing, Scaling},
};
use half::f16;
use warpsmith_formats::quant::WeightType;

/// What varies between the cases of heads.
struct HeadsShape {
    form: Form,
    norm: Norm,
    m: u32,
    k: u32,
    heads: [u32; 2],
    head_dim: u32,
    types: [WeightType; 3],
    /// Biases, norms of heads.
    with: [Operand; 2],
    turn: Option<(Pairing, u32)>,
    history: History,
    work: Work,
    /// Rows of W of a unit.
    unit: u32,
}

pub(super) fn heads(rng: &mut Random, cases: &mut Vec<Box<dyn AnyCase>>) {
    use {
        crate::attention::History::{Forked, Paged, Shared},
        Form::{Bytes, Half, Single},
        Operand::{Absent, Present},
        Pairing::{Halves, Neighbours},
        WeightType::{F16, F32, Q4_1, Q4K, Q6K, Q8_0},
    };
    let shape = |form, m, k, heads, head_dim, types| HeadsShape {
        form,
        norm: Norm::Rms,
        m,
        k,
        heads,
        head_dim,
        types,
        with: [Absent; 2],
        turn: None,
        history: Shared,
        work: work(1, 1, 1),
        unit: 32,
    };
    let all = [
        // SmolLM2; Qwen2 with biases; Qwen3 with norms of heads; Whisper; odd ones.
        HeadsShape {
            turn: Some((Neighbours, 32)),
            unit: 96,
            work: work(1, 1, 3),
            ..shape(Bytes, 1, 576, [9, 3], 64, [Q4_1, Q4_1, Q8_0])
        },
        HeadsShape {
            turn: Some((Halves, 32)),
            with: [Present, Absent],
            unit: 64,
            work: work(1, 2, 4),
            ..shape(Bytes, 2, 256, [4, 1], 64, [Q4K, Q4K, Q6K])
        },
        HeadsShape {
            turn: Some((Halves, 64)),
            with: [Absent, Present],
            unit: 128,
            work: work(2, 2, 8),
            ..shape(Bytes, 1, 128, [4, 2], 128, [Q8_0; 3])
        },
        HeadsShape {
            norm: Norm::Layer,
            with: [Present, Absent],
            history: Forked,
            unit: 64,
            work: work(2, 1, 2),
            ..shape(Single, 5, 128, [2, 2], 64, [F16; 3])
        },
        HeadsShape {
            norm: Norm::Layer,
            with: [Present, Absent],
            history: Forked,
            work: work(2, 1, 1),
            ..shape(Half, 5, 128, [2, 2], 64, [F16; 3])
        },
        HeadsShape {
            turn: Some((Neighbours, 20)),
            work: work(4, 1, 2),
            ..shape(Bytes, 3, 64, [5, 1], 40, [Q8_0; 3])
        },
        HeadsShape {
            turn: Some((Halves, 16)),
            with: [Absent, Present],
            unit: 160,
            work: work(1, 1, 4),
            ..shape(Single, 8, 45, [3, 1], 40, [F32; 3])
        },
        HeadsShape {
            norm: Norm::None,
            turn: Some((Halves, 20)),
            unit: 160,
            ..shape(Single, 1, 80, [2, 1], 80, [F16, F32, F16])
        },
        HeadsShape {
            turn: Some((Halves, 128)),
            with: [Present; 2],
            unit: 256,
            work: work(1, 2, 8),
            ..shape(Bytes, 2, 64, [2, 1], 256, [Q8_0; 3])
        },
        // In pages, of both types of cache; more rows than a card's kernels take.
        HeadsShape {
            turn: Some((Neighbours, 32)),
            history: Paged { page: 16 },
            work: work(1, 2, 2),
            ..shape(Bytes, 4, 96, [3, 1], 64, [Q4_1, Q4_1, Q8_0])
        },
        HeadsShape {
            turn: Some((Halves, 20)),
            history: Paged { page: 32 },
            unit: 160,
            ..shape(Single, 3, 45, [2, 2], 40, [F16, F32, F16])
        },
        HeadsShape {
            turn: Some((Neighbours, 32)),
            history: Paged { page: 16 },
            unit: 64,
            ..shape(Bytes, 16, 64, [3, 1], 64, [Q4_1, Q4_1, Q8_0])
        },
    ];
    for shape in all {
        if cases.len().is_multiple_of(2) {
            cases.push(Box::new(case(rng, &shape, f16::from_f32, EPS_F16)));
        } else {
            cases.push(Box::new(case(rng, &shape, |x| x, 0.0)));
        }
    }
}

/// A case with a cache of `T`, which `number` rounds to with at most `rounding`.
fn case<T: Cached + HostElem + Into<f64>>(
    rng: &mut Random,
    shape: &HeadsShape,
    number: impl Fn(f32) -> T,
    rounding: f64,
) -> Case<Heads<T>> {
    let HeadsShape {
        form,
        norm,
        m,
        k,
        heads: [heads, kv_heads],
        head_dim,
        types,
        with: [bias, head_norm],
        turn,
        history,
        work,
        unit,
    } = *shape;
    let source = source(form, norm, m, k);
    let x = X::random(rng, source);
    let part = |ty, norm| HeadsMatrix {
        layout: crate::weights::Layout::of(ty),
        bias,
        norm,
    };
    let plan = HeadsPlan {
        source,
        parts: [
            part(types[0], head_norm),
            part(types[1], head_norm),
            part(types[2], Operand::Absent),
        ],
        head_dim,
        unit,
        turn: turn.map(|(pairing, pairs)| Turn { pairing, pairs }),
        history,
        work,
    };
    // Of pages a sequence is one, and its length that of a page.
    let (max_len, sequences) = match history {
        History::Shared => (rng.range(20, 40), 1),
        History::Forked => (rng.range(20, 40), m + 1),
        History::Paged { page } => (page, 2 * m + 1),
    };
    let (blocks, inside) = match history {
        History::Shared | History::Forked => (0, max_len),
        History::Paged { page } => (2, 2 * page),
    };
    let pairs = turn.map_or(0, |(_, pairs)| pairs);
    let frequencies = Frequencies {
        rotated: 2 * pairs,
        base: 10_000.0,
        factors: None,
        scaling: Scaling::None,
    };
    let inverse = turn.map(|_| frequencies.inverse().expect("sound parameters"));
    let magnitude = 1.25f32;
    let start = rng.range(0, inside - 1);
    let mut positions: Vec<u32> = (0..m).map(|r| (start + r) % inside).collect();
    if m > 2 {
        // One behind the end of the cache.
        positions[1] = inside;
    }
    // Rows are those of slots in some order, no page is named twice.
    let slots: Vec<u32> = (0..m).map(|r| (r + 1) % m).collect();
    let table: Vec<u32> = (0..m * blocks).map(|at| sequences - 1 - at).collect();
    let counts = [heads, kv_heads, kv_heads];
    let w: Vec<Matrix> = types
        .iter()
        .zip(counts)
        .map(|(ty, heads)| Matrix::random(rng, *ty, heads * head_dim, k))
        .collect();
    let biases: Vec<Vec<f32>> = counts
        .iter()
        .map(|heads| rng.numbers((heads * head_dim) as usize, 2.0))
        .collect();
    let gains: Vec<Vec<f32>> = (0..2)
        .map(|_| rng.numbers(head_dim as usize, 2.0))
        .collect();
    let present =
        |of: Operand, data: &Vec<f32>| (of == Operand::Present).then(|| data.clone().into());
    let finished: Vec<Vec<Near>> = (0..3)
        .map(|at| {
            let products = x.ready.products(&w[at]);
            let bias = (bias == Operand::Present).then_some(&biases[at][..]);
            let normed = at < 2 && head_norm == Operand::Present;
            let gain = normed.then(|| &gains[at][..]);
            let turned = turn.filter(|_| at < 2);
            let turned =
                turned.map(|(pairing, _)| (pairing, inverse.as_deref().unwrap_or(&[]), magnitude));
            after_heads(
                &products,
                head_dim,
                &positions,
                bias,
                gain.map(|gain| (gain, EPS)),
                turned,
            )
        })
        .collect();
    let (q, q_error) = finished[0]
        .iter()
        .map(|near| (near.value, near.error))
        .unzip();
    let label = format!("{m} rows of {k}, {heads} and {kv_heads} heads of {head_dim}");
    let homes = (0..m).map(|r| {
        let position = positions[r as usize];
        (position < inside).then(|| match history {
            History::Shared => (0, position),
            History::Forked => (r, position),
            History::Paged { page } => {
                let entry = slots[r as usize] * blocks + position / page;
                (table[entry as usize], position % page)
            }
        })
    });
    let cache = Cache {
        homes: homes.collect(),
        sizes: [sequences, kv_heads, head_dim, max_len],
    };
    let mut placed = |new: &[Near]| cache.placed(rng, new, &number, rounding);
    Case {
        label,
        kernel: Heads::new(plan),
        args: HeadsArgs {
            rows: x.input(),
            wq: w[0].planes(),
            wk: w[1].planes(),
            wv: w[2].planes(),
            q_bias: present(bias, &biases[0]),
            k_bias: present(bias, &biases[1]),
            v_bias: present(bias, &biases[2]),
            q_gain: present(head_norm, &gains[0]),
            k_gain: present(head_norm, &gains[1]),
            positions: positions.into(),
            inverse: inverse.map(Data::from),
            q: Expected::within(q, q_error),
            k_cache: placed(&finished[1]),
            v_cache: placed(&finished[2]),
            heads,
            kv_heads,
            head_dim,
            pairs,
            max_len,
            sequences,
            paging: match history {
                History::Shared | History::Forked => Paging::none(),
                History::Paged { .. } => Paging {
                    slots: Some(slots.into()),
                    table: Some(table.into()),
                    rows: m,
                    sequences: m,
                    blocks,
                },
            },
            head_eps: EPS,
            magnitude,
        },
    }
}

/// Where new keys or values go.
struct Cache {
    /// Sequence and place in it of each row; `None` is nowhere.
    homes: Vec<Option<(u32, u32)>>,
    /// Sequences, heads, size of a head, length.
    sizes: [u32; 4],
}

impl Cache {
    /// A random cache, and what it must be with `new` `[rows, heads * head_dim]` in it, rounded by at most `rounding`.
    fn placed<T: HostElem + Into<f64>>(
        &self,
        rng: &mut Random,
        new: &[Near],
        number: impl Fn(f32) -> T,
        rounding: f64,
    ) -> Updated<T> {
        let [sequences, heads, dim, max_len] = self.sizes;
        let elements = (sequences * heads * max_len * dim) as usize;
        let before: Vec<T> = rng.numbers(elements, 3.0).into_iter().map(number).collect();
        let mut after: Vec<f64> = before.iter().map(|x| (*x).into()).collect();
        let mut tolerance = vec![0.0; elements];
        for (r, home) in self.homes.iter().enumerate() {
            let Some((sequence, place)) = *home else {
                continue;
            };
            for i in 0..heads * dim {
                let (head, within) = (i / dim, i % dim);
                let to = ((sequence * heads + head) * max_len + place) * dim + within;
                let Near { value, error } = new[(r as u32 * heads * dim + i) as usize];
                after[to as usize] = value;
                tolerance[to as usize] =
                    error + rounding * (value.abs() + error) + rounding * 2f64.powi(-14);
            }
        }
        Updated {
            before: Data::from(before),
            after: Expected::within(after, tolerance),
        }
    }
}
