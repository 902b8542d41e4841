//! Products of weights with one row and with many, with the kernels that a plan chooses.

use super::{Bench, gigabytes, teraflops};
use crate::gpu::{
    Failed,
    line::{Line, begin, emit},
};
use half::f16;
use std::sync::Arc;
use warpsmith::{
    device::Buffer,
    formats::quant::WeightType,
    graph::{Graph, MatMul, Plan, Precision, Weights},
};
use warpsmith_library::{case::Random, epilogue::Activation, weights::pack};

/// `[m, k]` by `[n, k]`.
#[derive(Clone, Copy)]
struct Shape {
    m: u32,
    n: u32,
    k: u32,
}

/// Bytes of weights that one round reads, so that none of them wait in the card's cache.
const ROUND_BYTES: u64 = 256 << 20;

/// Random blocks of `ty`: no byte pattern of these is an infinity or NaN in any scale.
fn blocks(ty: WeightType, elements: u64) -> Result<Vec<u8>, Failed> {
    let bytes = ty
        .bytes_of(elements)
        .ok_or("not a whole number of blocks")?;
    let mut random = Random::new(11);
    let some: Vec<u8> = (0..1 << 17)
        .flat_map(|_| (random.bits() & 0xbbbb_bbbb_bbbb_bbbb).to_le_bytes())
        .collect();
    Ok(some.iter().copied().cycle().take(bytes as usize).collect())
}

/// One row: reading the weights is all there is to it.
pub(super) fn rows(bench: &Bench) -> Result<(), Failed> {
    use WeightType as W;
    let shapes: &[(u32, u32)] = if bench.small {
        &[(256, 256)]
    } else {
        &[
            (4096, 4096),
            (14336, 4096),
            (4096, 14336),
            (576, 576),
            (1536, 576),
            (576, 1536),
            (49152, 576),
        ]
    };
    for (n, k) in shapes {
        let shape = Shape { m: 1, n: *n, k: *k };
        let cublas = peer(bench, shape)?;
        for ty in [
            W::F16,
            W::BF16,
            W::Q4_0,
            W::Q4_1,
            W::Q8_0,
            W::Q4K,
            W::Q6K,
            W::MXFP4,
        ] {
            if ty.bytes_of(u64::from(*k)).is_none() {
                continue;
            }
            if let Err(error) = one(bench, ty, shape, Precision::Fast, cublas) {
                emit(&Line::Note {
                    text: format!("{ty:?} {n}x{k}: {error}"),
                });
            }
        }
        one(bench, W::F32, shape, Precision::Exact, None)?;
    }
    Ok(())
}

/// Many rows: tensor cores.
pub(super) fn tiles(bench: &Bench) -> Result<(), Failed> {
    use WeightType as W;
    let sizes: &[u32] = if bench.small {
        &[64]
    } else {
        &[512, 1024, 2048, 4096]
    };
    for m in sizes {
        let (n, k) = if bench.small {
            (256, 256)
        } else {
            (4096, 4096)
        };
        let shape = Shape { m: *m, n, k };
        let cublas = peer(bench, shape)?;
        for ty in [W::F16, W::BF16, W::Q4_1, W::Q8_0, W::Q4K] {
            if let Err(error) = one(bench, ty, shape, Precision::Fast, cublas) {
                emit(&Line::Note {
                    text: format!("{ty:?} {m}x{n}x{k}: {error}"),
                });
            }
        }
        if *m <= 1024 {
            one(bench, W::Q4_1, shape, Precision::Exact, None)?;
        }
    }
    if !bench.small {
        for (m, n, k) in [(512, 576, 576), (512, 1536, 576), (512, 576, 1536)] {
            let shape = Shape { m, n, k };
            let cublas = peer(bench, shape)?;
            one(bench, W::Q4_1, shape, Precision::Fast, cublas)?;
        }
    }
    Ok(())
}

fn copies(bytes: u64) -> usize {
    (ROUND_BYTES / bytes.max(1)).clamp(2, 64) as usize
}

fn one(
    bench: &Bench,
    ty: WeightType,
    shape: Shape,
    precision: Precision,
    cublas: Option<f64>,
) -> Result<(), Failed> {
    let Shape { m, n, k } = shape;
    let what = format!("{ty:?} {m}x{n}x{k} {precision:?}").to_lowercase();
    begin(what.clone());
    let packed = pack(ty, &blocks(ty, u64::from(n) * u64::from(k))?, n, k)?;
    let first = Arc::new(Weights::upload(&bench.stream, "w", &packed)?);
    let bytes = first.bytes();
    let count = if bench.small { 2 } else { copies(bytes) };
    let mut weights = vec![first];
    while weights.len() < count {
        weights.push(Arc::new(Weights::upload(&bench.stream, "w", &packed)?));
    }
    let x = bench.numbers((m * k) as usize)?;
    let mut graph = Graph::new();
    let x = graph.floats(&x, m, k)?;
    for weights in weights {
        graph.matmul(MatMul {
            x,
            weights,
            bias: None,
            activation: Activation::None,
            residual: None,
        })?;
    }
    let plan = Plan::plain(&bench.stream, &graph, precision)?;
    let replay = plan.capture(&bench.stream)?;
    // Activations are made ready by each product of few rows, once a round for many; that share is in the time.
    let seconds = bench.replay(&replay)? / count as f64;
    let flops = 2.0 * f64::from(m) * f64::from(n) * f64::from(k);
    let moved = bytes + 4 * u64::from(m) * u64::from(n + k);
    let rate = if m == 1 {
        gigabytes(moved, seconds)
    } else {
        teraflops(flops, seconds)
    };
    bench.tell_beside(what, seconds, rate, Some(bench.floor(moved)), cublas);
    Ok(())
}

/// cuBLAS on the shape in f16.
fn peer(bench: &Bench, shape: Shape) -> Result<Option<f64>, Failed> {
    let Some(cublas) = &bench.cublas else {
        return Ok(None);
    };
    let Shape { m, n, k } = shape;
    begin(format!("cuBLAS {m}x{n}x{k}"));
    let halves = |count: usize| -> Result<Buffer<f16>, Failed> {
        let some = Random::new(5).numbers(count.min(1 << 16), 1.0);
        let some: Vec<f16> = some.into_iter().map(f16::from_f32).collect();
        let all: Vec<f16> = some.iter().copied().cycle().take(count).collect();
        Ok(bench.stream.upload_new(&all)?)
    };
    let x = halves((m * k) as usize)?;
    let weights = (0..copies(2 * u64::from(n) * u64::from(k)))
        .map(|_| halves((n * k) as usize))
        .collect::<Result<Vec<_>, _>>()?;
    let y: Buffer<f16> = bench.stream.alloc((m * n) as usize)?;
    bench.stream.synchronize()?;
    let addresses: Vec<u64> = weights.iter().map(Buffer::address).collect();
    match cublas.seconds(x.address(), &addresses, y.address(), [m, n, k]) {
        Ok(seconds) => {
            let flops = 2.0 * f64::from(m) * f64::from(n) * f64::from(k);
            let bytes = 2 * (u64::from(n) * u64::from(k) + u64::from(m) * u64::from(n + k));
            let rate = if m == 1 {
                gigabytes(bytes, seconds)
            } else {
                teraflops(flops, seconds)
            };
            let what = format!("cuBLAS f16 {m}x{n}x{k}");
            bench.tell(what, seconds, rate, Some(bench.floor(bytes)));
            Ok(Some(seconds))
        }
        Err(error) => {
            emit(&Line::Note {
                text: format!("cuBLAS {m}x{n}x{k}: {error}"),
            });
            Ok(None)
        }
    }
}
