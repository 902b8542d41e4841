//! A fused plan computes what the plan of the graph as it is computes, in fewer launches.

use std::sync::Arc;
use warpsmith_device::{Buffer, Device, Selector, Stream};
use warpsmith_formats::quant::{WeightType, random_blocks};
use warpsmith_graph::{
    At, Attention, Cache, Graph, MatMul, Node, Plan, Precision, Rotation, Table, Vector, Weights,
};
use warpsmith_library::{
    attention::CacheType, case::Random, epilogue::Activation, pointwise::Curve, rope::Pairing,
    weights::pack,
};

struct Bench {
    stream: Stream,
    rng: Random,
}

/// A block of a decoder.
#[derive(Clone, Copy, Debug)]
struct Block {
    rows: u32,
    width: u32,
    inner: u32,
    heads: u32,
    kv_heads: u32,
    head_dim: u32,
    /// Queries and keys, values, all others.
    types: [WeightType; 3],
    biased: bool,
    head_norms: bool,
    turn: Option<(Pairing, u32)>,
    forked: bool,
}

impl Bench {
    fn new() -> Bench {
        let device = Device::open(&Selector::virtual_gpu()).expect("a virtual GPU");
        Bench {
            stream: device.stream().expect("a stream"),
            rng: Random::new(5),
        }
    }

    fn weights(&mut self, ty: WeightType, rows: u32, columns: u32) -> Arc<Weights> {
        let blocks = (rows * columns) as usize / ty.block_len();
        let bytes = random_blocks(ty, self.rng.bits(), blocks);
        let packed = pack(ty, &bytes, rows, columns).expect("whole blocks");
        Arc::new(Weights::upload(&self.stream, "w", &packed).expect("memory"))
    }

    fn vector(&mut self, len: u32) -> Arc<Vector> {
        let numbers: Vec<f32> = self.rng.numbers(len as usize, 0.5);
        let numbers: Vec<f32> = numbers.iter().map(|x| x + 1.0).collect();
        Arc::new(Vector::upload(&self.stream, &numbers).expect("memory"))
    }

    fn ids(&self, graph: &mut Graph, ids: &[u32]) -> (Node, Buffer<u32>) {
        let buffer = self.stream.upload_new(ids).expect("memory");
        (graph.ids(&buffer), buffer)
    }
}

/// The output of the block, and its launches, by the plan that `plan` makes.
fn outputs(block: Block, precision: Precision) -> [(Vec<f32>, usize); 2] {
    let mut bench = Bench::new();
    let Block {
        rows,
        width,
        inner,
        heads,
        kv_heads,
        head_dim,
        types: [qk, values, others],
        biased,
        head_norms,
        turn,
        forked,
    } = block;
    let x: Vec<f32> = bench.rng.numbers((rows * width) as usize, 2.0);
    let buffer = bench.stream.upload_new(&x).expect("memory");
    let mut g = Graph::new();
    let x = g.floats(&buffer, rows, width).expect("the size");
    let places: Vec<u32> = (0..rows).collect();
    let seen: Vec<u32> = if forked {
        vec![1; rows as usize]
    } else {
        (1..=rows).collect()
    };
    let places = if forked {
        vec![0; rows as usize]
    } else {
        places
    };
    let (positions, _p) = bench.ids(&mut g, &places);
    let (visible, _v) = bench.ids(&mut g, &seen);
    let max_len = 8;
    let own: Vec<u32> = (0..rows * max_len).map(|at| at / max_len).collect();
    let (sources, _s) = bench.ids(&mut g, &own);
    let ty = match precision {
        Precision::Exact => CacheType::F32,
        Precision::Fast => CacheType::F16,
    };
    let sequences = if forked { rows } else { 1 };
    let cache = Cache::of_sequences(&bench.stream, ty, sequences, [kv_heads, max_len, head_dim]);
    let cache = Arc::new(cache.expect("memory"));
    let norm = |bench: &mut Bench, g: &mut Graph, x: Node| {
        let gain = bench.vector(width);
        if biased {
            let shift = bench.vector(width);
            g.layer_norm(x, &gain, &shift, 1e-5)
        } else {
            g.rms_norm(x, &gain, 1e-5, 1)
        }
        .expect("a norm")
    };
    let product = |bench: &mut Bench, g: &mut Graph, x: Node, ty, [n, k]: [u32; 2], residual| {
        let weights = bench.weights(ty, n, k);
        let bias = biased.then(|| bench.vector(n));
        g.matmul(MatMul {
            x,
            weights,
            bias,
            activation: Activation::None,
            residual,
        })
        .expect("a product")
    };
    let normed = norm(&mut bench, &mut g, x);
    let mut q = product(
        &mut bench,
        &mut g,
        normed,
        qk,
        [heads * head_dim, width],
        None,
    );
    let mut k = product(
        &mut bench,
        &mut g,
        normed,
        qk,
        [kv_heads * head_dim, width],
        None,
    );
    let v = product(
        &mut bench,
        &mut g,
        normed,
        values,
        [kv_heads * head_dim, width],
        None,
    );
    if head_norms {
        let gains = [bench.vector(head_dim), bench.vector(head_dim)];
        q = g.rms_norm(q, &gains[0], 1e-6, heads).expect("a norm");
        k = g.rms_norm(k, &gains[1], 1e-6, kv_heads).expect("a norm");
    }
    if let Some((pairing, pairs)) = turn {
        let inverse: Vec<f32> = (0..pairs).map(|p| 0.9f32.powi(p as i32)).collect();
        let table = Table::upload(&bench.stream, &inverse, 1.0).expect("memory");
        (q, k) = g
            .rotate(Rotation {
                q,
                k,
                positions,
                head_dim,
                table: Arc::new(table),
                pairing,
            })
            .expect("a rotation");
    }
    let to = if forked {
        At::Rows(positions)
    } else {
        At::Positions(positions)
    };
    g.append([k, v], to, &cache).expect("an append");
    let attended = g
        .attend(Attention {
            q,
            visible,
            cache,
            heads,
            scale: 1.0 / (head_dim as f32).sqrt(),
            seen: None,
            sources: forked.then_some(sources),
        })
        .expect("attention");
    let shape = [width, heads * head_dim];
    let x = product(&mut bench, &mut g, attended, others, shape, Some(x));
    let normed = norm(&mut bench, &mut g, x);
    let up = if biased {
        let weights = bench.weights(others, inner, width);
        let bias = Some(bench.vector(inner));
        g.matmul(MatMul {
            x: normed,
            weights,
            bias,
            activation: Activation::Gelu,
            residual: None,
        })
        .expect("a product")
    } else {
        let gate = product(&mut bench, &mut g, normed, others, [inner, width], None);
        let up = product(&mut bench, &mut g, normed, others, [inner, width], None);
        g.gated(gate, up, Curve::Silu).expect("a gate")
    };
    let y = product(&mut bench, &mut g, up, others, [width, inner], Some(x));
    g.keep(y).expect("own");
    let plans = [Plan::new, Plan::plain];
    plans.map(|plan| {
        let plan = plan(&bench.stream, &g, precision).expect("a plan");
        plan.run(&bench.stream).expect("a run");
        let y = plan.floats(y).expect("kept");
        let y = bench
            .stream
            .download(y)
            .expect("a copy")
            .wait()
            .expect("numbers");
        (y, plan.report().launches)
    })
}

const LLAMA: Block = Block {
    rows: 1,
    width: 96,
    inner: 160,
    heads: 3,
    kv_heads: 1,
    head_dim: 32,
    types: [WeightType::Q4_1, WeightType::Q8_0, WeightType::Q4_0],
    biased: false,
    head_norms: false,
    turn: Some((Pairing::Neighbours, 16)),
    forked: false,
};

#[test]
fn a_fused_block_gives_what_its_operations_give() {
    let whisper = Block {
        biased: true,
        turn: None,
        types: [WeightType::F16; 3],
        kv_heads: 3,
        ..LLAMA
    };
    let blocks = [
        LLAMA,
        Block {
            rows: 4,
            turn: Some((Pairing::Halves, 16)),
            head_norms: true,
            ..LLAMA
        },
        Block {
            rows: 2,
            heads: 4,
            head_dim: 40,
            turn: Some((Pairing::Halves, 12)),
            ..LLAMA
        },
        Block {
            types: [WeightType::Q8_0, WeightType::F16, WeightType::F32],
            ..LLAMA
        },
        whisper,
        Block {
            rows: 3,
            forked: true,
            types: [WeightType::Q8_0; 3],
            ..whisper
        },
    ];
    for block in blocks {
        for precision in [Precision::Exact, Precision::Fast] {
            let [(fused, few), (plain, many)] = outputs(block, precision);
            assert!(
                few == 5 && many > few,
                "{block:?} {precision:?}: {few} of {many}"
            );
            let most = plain.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            let off = fused.iter().zip(&plain).map(|(a, b)| (a - b).abs());
            let off = off.fold(0.0f32, f32::max) / most;
            // A number on the edge between two steps of 8 bits, or of f16, may fall to either side.
            let near = match precision {
                Precision::Exact => 1e-5,
                Precision::Fast => 1e-2,
            };
            assert!(off <= near, "{block:?} {precision:?}: {off}");
        }
    }
}
