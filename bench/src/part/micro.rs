//! Products of weights with one row and with many, in a model's shapes, and what a launch costs.

use super::device;
use crate::{Failed, args::Args, stats::median};
use serde::{Deserialize, Serialize};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use warpsmith::{
    device::Stream,
    formats::quant::WeightType,
    graph::{Graph, MatMul, Plan, Precision, Vector, Weights},
    library::{case::Random, epilogue::Activation, weights::pack},
};

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Micro {
    pub(crate) products: Vec<Product>,
    pub(crate) passes: Vec<Pass>,
    /// Microseconds a launch of a small kernel takes from enqueuing to its end, one after the other.
    pub(crate) launch_eager_us: f64,
    /// The same in a replay.
    pub(crate) launch_replayed_us: f64,
}

/// `[m, k]` by `[n, k]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Product {
    pub(crate) weights: String,
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
    /// Microseconds of one.
    pub(crate) us: f64,
    /// Bytes of weights.
    pub(crate) bytes: u64,
}

impl Product {
    /// Bytes of weights a nanosecond.
    pub(crate) fn gb_s(&self) -> f64 {
        self.bytes as f64 / self.us / 1e3
    }

    pub(crate) fn gflop_s(&self) -> f64 {
        2.0 * f64::from(self.m) * f64::from(self.n) * f64::from(self.k) / self.us / 1e3
    }
}

/// An operation that goes over an array, with more bytes than caches hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pass {
    pub(crate) name: String,
    /// Microseconds of one.
    pub(crate) us: f64,
    /// Bytes read and written.
    pub(crate) bytes: u64,
}

impl Pass {
    /// Bytes a nanosecond.
    pub(crate) fn gb_s(&self) -> f64 {
        self.bytes as f64 / self.us / 1e3
    }
}

/// Rounds and time that come first, in which kernels are compiled beside running, and rounds that count.
const WARM_UP: usize = 2;
const WARM_UP_TIME: Duration = Duration::from_millis(200);
const ROUNDS: usize = 7;
/// Bytes of weights of a round: as many as a small model has.
const ROUND_BYTES: u64 = 64 << 20;

pub(crate) fn measure(args: &Args) -> Result<Micro, Failed> {
    let device = device(args)?;
    let stream = device.stream()?;
    let mut products = Vec::new();
    let fast = |ty, shape| product(&stream, ty, Precision::Fast, shape);
    for ty in [WeightType::Q4_1, WeightType::Q8_0] {
        for (n, k) in [
            (576, 576),
            (1536, 576),
            (576, 1536),
            (49152, 576),
            (4096, 4096),
        ] {
            products.push(fast(ty, [1, n, k])?);
        }
        for m in [4, 16, 64, 512] {
            for (n, k) in [(576, 576), (1536, 576), (576, 1536), (4096, 4096)] {
                products.push(fast(ty, [m, n, k])?);
            }
        }
    }
    for ty in [WeightType::F16, WeightType::BF16] {
        for (n, k) in [(512, 512), (2048, 512), (4096, 4096)] {
            products.push(fast(ty, [512, n, k])?);
        }
    }
    // In `exact` f32 is multiplied without tensor cores.
    let exact = [512, 1024, 1024];
    products.push(product(&stream, WeightType::F32, Precision::Exact, exact)?);
    let (launch_eager_us, launch_replayed_us) = launches(&stream)?;
    Ok(Micro {
        products,
        passes: passes(&stream)?,
        launch_eager_us,
        launch_replayed_us,
    })
}

fn warm_up(mut work: impl FnMut() -> Result<(), Failed>) -> Result<(), Failed> {
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < WARM_UP || start.elapsed() < WARM_UP_TIME {
        work()?;
        rounds += 1;
    }
    Ok(())
}

/// The median device time of what `work` enqueues, in microseconds.
fn time(
    stream: &Stream,
    mut work: impl FnMut(&Stream) -> Result<(), Failed>,
) -> Result<f64, Failed> {
    warm_up(|| {
        work(stream)?;
        Ok(stream.synchronize()?)
    })?;
    let mut all = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = stream.record()?;
        work(stream)?;
        let end = stream.record()?;
        all.push(1e6 * end.since(&start)?.as_secs_f64());
    }
    Ok(median(&all))
}

fn product(
    stream: &Stream,
    ty: WeightType,
    precision: Precision,
    [m, n, k]: [u32; 3],
) -> Result<Product, Failed> {
    let bytes = ty
        .bytes_of(u64::from(n) * u64::from(k))
        .ok_or("not a whole number of blocks")?;
    // No scale of these blocks is an infinity or NaN.
    let mut random = Random::new(11);
    let mut blocks: Vec<u8> = Vec::with_capacity(bytes as usize + 8);
    while blocks.len() < bytes as usize {
        blocks.extend((random.bits() & 0xbbbb_bbbb_bbbb_bbbb).to_le_bytes());
    }
    blocks.truncate(bytes as usize);
    let packed = pack(ty, &blocks, n, k)?;
    let first = Arc::new(Weights::upload(stream, "w", &packed)?);
    let bytes = first.bytes();
    let count = if m == 1 {
        (ROUND_BYTES / bytes).clamp(2, 64) as usize
    } else {
        2
    };
    let mut weights = vec![first];
    while weights.len() < count {
        weights.push(Arc::new(Weights::upload(stream, "w", &packed)?));
    }
    let x = stream.upload_new(&random.numbers((m * k) as usize, 1.0))?;
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
    let plan = Plan::plain(stream, &graph, precision)?;
    let replay = plan.capture(stream)?;
    // Activations are made ready by each product of few rows, once a round for many; that share is in the time.
    let us = time(stream, |stream| Ok(stream.replay(&replay)?))? / count as f64;
    Ok(Product {
        weights: format!("{ty:?}"),
        m,
        n,
        k,
        us,
        bytes,
    })
}

/// Softmax and norms of `[2048, 4096]`: 32 MiB read, as many written.
fn passes(stream: &Stream) -> Result<Vec<Pass>, Failed> {
    const ROWS: u32 = 2048;
    const COLUMNS: u32 = 4096;
    let numbers = Random::new(12).numbers((ROWS * COLUMNS) as usize, 1.0);
    let memory = stream.upload_new(&numbers)?;
    let ones = Arc::new(Vector::upload(stream, &[1.0; COLUMNS as usize])?);
    let mut found = Vec::new();
    for name in ["softmax", "rms_norm", "layer_norm"] {
        let mut graph = Graph::new();
        let x = graph.floats(&memory, ROWS, COLUMNS)?;
        match name {
            "softmax" => graph.softmax(x)?,
            "rms_norm" => graph.rms_norm(x, &ones, 1e-5, 1)?,
            _ => graph.layer_norm(x, &ones, &ones, 1e-5)?,
        };
        let plan = Plan::plain(stream, &graph, Precision::Fast)?;
        let replay = plan.capture(stream)?;
        found.push(Pass {
            name: name.to_owned(),
            us: time(stream, |stream| Ok(stream.replay(&replay)?))?,
            bytes: 2 * 4 * u64::from(ROWS * COLUMNS),
        });
    }
    Ok(found)
}

/// Small launches that wait for each other, eager and replayed, in microseconds each.
fn launches(stream: &Stream) -> Result<(f64, f64), Failed> {
    const COUNT: usize = 1000;
    let x = stream.upload_new(&[1.0f32; 32])?;
    let mut graph = Graph::new();
    let mut node = graph.floats(&x, 1, 32)?;
    for _ in 0..COUNT {
        node = graph.scale(node, 1.0)?;
    }
    let plan = Plan::plain(stream, &graph, Precision::Fast)?;
    let mut run = || {
        plan.run(stream)?;
        Ok(stream.synchronize()?)
    };
    warm_up(&mut run)?;
    let mut eager = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        run()?;
        eager.push(1e6 * start.elapsed().as_secs_f64());
    }
    let replay = plan.capture(stream)?;
    let replayed = time(stream, |stream| Ok(stream.replay(&replay)?))?;
    Ok((median(&eager) / COUNT as f64, replayed / COUNT as f64))
}
