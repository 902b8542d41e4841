//! The encoder block alone against f64: two widths, sequences from one frame to a whole window, no transfer in a pass.

use crate::support::{device, distance};
use warpsmith::{
    device::{Stream, forbid_transfers},
    graph::Precision,
    models::{
        Error,
        whisper::{Attention, BlockConfig, BlockWeights, EPS, EncoderBlock, Linear, Mlp, Norm},
    },
};
use warpsmith_library::{case::Random, epilogue::gelu_reference};

/// A matrix with its bias, on the host.
struct Host {
    weights: Vec<f32>,
    bias: Option<Vec<f32>>,
    inputs: usize,
}

/// A block's numbers on the host.
struct HostBlock {
    norms: [[Vec<f32>; 2]; 2],
    linears: Vec<Host>,
}

fn random(rng: &mut Random, width: u32) -> HostBlock {
    let mut norm = || {
        let gain = rng
            .numbers(width as usize, 0.5)
            .iter()
            .map(|x| 1.0 + x)
            .collect();
        [gain, rng.numbers(width as usize, 0.5)]
    };
    let norms = [norm(), norm()];
    let (d, inner) = (width as usize, 4 * width as usize);
    let mut linear = |outputs: usize, inputs: usize, biased: bool| {
        // Numbers that an f16 holds: nothing is lost where weights become 16 bits.
        let scale = 2.0 / (inputs as f32).sqrt();
        let numbers = rng.numbers(outputs * inputs, scale);
        Host {
            weights: numbers
                .iter()
                .map(|x| (x * 1024.0).round() / 1024.0)
                .collect(),
            bias: biased.then(|| rng.numbers(outputs, 0.5)),
            inputs,
        }
    };
    let linears = vec![
        linear(d, d, true),
        linear(d, d, false),
        linear(d, d, true),
        linear(d, d, true),
        linear(inner, d, true),
        linear(d, inner, true),
    ];
    HostBlock { norms, linears }
}

fn upload(stream: &Stream, host: &HostBlock) -> BlockWeights {
    let norm = |at: usize| {
        let [gain, bias] = &host.norms[at];
        Norm::upload(stream, gain, bias).expect("a norm")
    };
    let linear = |at: usize| {
        let Host {
            weights,
            bias,
            inputs,
        } = &host.linears[at];
        let shape = [(weights.len() / inputs) as u32, *inputs as u32];
        Linear::upload(stream, weights, shape, bias.as_deref()).expect("a linear layer")
    };
    BlockWeights {
        attention_norm: norm(0),
        attention: Attention {
            query: linear(0),
            key: linear(1),
            value: linear(2),
            out: linear(3),
        },
        mlp_norm: norm(1),
        mlp: Mlp {
            up: linear(4),
            down: linear(5),
        },
    }
}

fn normed([gain, bias]: &[Vec<f32>; 2], x: &[f64]) -> Vec<f64> {
    let n = gain.len();
    x.chunks(n)
        .flat_map(|row| {
            let mean = row.iter().sum::<f64>() / n as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
            let scale = 1.0 / (variance + f64::from(EPS)).sqrt();
            let both = gain.iter().zip(bias);
            row.iter().zip(both).map(move |(x, (gain, bias))| {
                (x - mean) * scale * f64::from(*gain) + f64::from(*bias)
            })
        })
        .collect()
}

/// The rows of `x` that are wanted, through a linear layer.
fn linear(host: &Host, x: &[f64]) -> Vec<f64> {
    let bias = |at: usize| host.bias.as_ref().map_or(0.0, |bias| f64::from(bias[at]));
    let weights: Vec<f64> = host.weights.iter().map(|w| f64::from(*w)).collect();
    x.chunks(host.inputs)
        .flat_map(|x| {
            weights
                .chunks(host.inputs)
                .enumerate()
                .map(|(at, w)| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() + bias(at))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The block in f64 at some rows of the output: keys and values are needed of all rows, the rest only of those.
fn reference(host: &HostBlock, config: BlockConfig, x: &[f64], rows: &[usize]) -> Vec<f64> {
    let (d, dim) = (
        config.width as usize,
        (config.width / config.heads) as usize,
    );
    let at = |x: &[f64]| -> Vec<f64> {
        rows.iter()
            .flat_map(|row| x[row * d..][..d].to_vec())
            .collect()
    };
    let inner = normed(&host.norms[0], x);
    let (q, k, v) = (
        linear(&host.linears[0], &at(&inner)),
        linear(&host.linears[1], &inner),
        linear(&host.linears[2], &inner),
    );
    let mut attended = Vec::new();
    for q in q.chunks(d) {
        for head in 0..config.heads as usize {
            let part = head * dim..(head + 1) * dim;
            let scores: Vec<f64> = k
                .chunks(d)
                .map(|k| {
                    let both = q[part.clone()].iter().zip(&k[part.clone()]);
                    both.map(|(q, k)| q * k).sum::<f64>() / (dim as f64).sqrt()
                })
                .collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for at in part {
                let values = v.chunks(d).zip(&weights);
                attended.push(values.map(|(v, w)| v[at] * w).sum::<f64>() / sum);
            }
        }
    }
    let add = |x: &[f64], y: &[f64]| -> Vec<f64> { x.iter().zip(y).map(|(x, y)| x + y).collect() };
    let x = add(&at(x), &linear(&host.linears[3], &attended));
    let inner = linear(&host.linears[4], &normed(&host.norms[1], &x));
    let inner: Vec<f64> = inner.into_iter().map(gelu_reference).collect();
    add(&x, &linear(&host.linears[5], &inner))
}

#[test]
fn a_block_equals_f64_and_moves_nothing() {
    let device = device();
    let stream = device.stream().expect("a stream");
    for config in [
        BlockConfig {
            width: 384,
            heads: 6,
        },
        BlockConfig {
            width: 512,
            heads: 8,
        },
    ] {
        let mut rng = Random::new(u64::from(config.width));
        let host = random(&mut rng, config.width);
        let block = EncoderBlock::new(config, upload(&stream, &host)).expect("a block");
        for seq in [1, 2, 77, 1500] {
            let x = rng.numbers((seq * config.width) as usize, 2.0);
            let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
            let rows: Vec<usize> = match seq {
                1500 => vec![0, 1, 63, 64, 700, 1499],
                few => (0..few as usize).collect(),
            };
            let want = reference(&host, config, &wide, &rows);
            let want: Vec<f32> = want.into_iter().map(|x| x as f32).collect();
            let input = stream.upload_new(&x).expect("an input");
            for (precision, most) in [(Precision::Exact, 1e-5), (Precision::Fast, 3e-3)] {
                let (plan, y) = block.plan(&stream, &input, seq, precision).expect("a plan");
                let before = device.stats();
                forbid_transfers(|| plan.run(&stream)).expect("a pass without transfers");
                stream.synchronize().expect("a pass");
                let moved = device.stats() - before;
                assert_eq!((moved.h2d_bytes, moved.d2h_bytes), (0, 0));
                assert_eq!(moved.launches as usize, plan.report().launches);
                let all = stream
                    .download(plan.floats(y).expect("kept"))
                    .expect("a download");
                let all = all.wait().expect("numbers");
                let width = config.width as usize;
                let got: Vec<f32> = rows
                    .iter()
                    .flat_map(|row| all[row * width..][..width].iter().copied())
                    .collect();
                let found = distance(&got, &want);
                println!("{config:?}, {seq} frames, {precision:?}: {found:e}");
                assert!(
                    found < most,
                    "{config:?}, {seq} frames, {precision:?}: {found}"
                );
            }
        }
    }
}

#[test]
fn blocks_of_wrong_sizes_are_refused_by_name() {
    let stream = device().stream().expect("a stream");
    let host = random(&mut Random::new(1), 32);
    let refused = |width, heads, weights: BlockWeights| {
        let refused = EncoderBlock::new(BlockConfig { width, heads }, weights);
        refused.expect_err("a wrong size").to_string()
    };
    let right = || upload(&stream, &host);
    let heads = |heads| {
        format!(
            "{heads} heads over a width of 32, expected a divisor with at most 256 dimensions each"
        )
    };
    assert_eq!(refused(32, 0, right()), heads(0));
    assert_eq!(refused(32, 3, right()), heads(3));
    assert_eq!(
        refused(64, 4, right()),
        "norm of the attention: size 32, expected 64"
    );
    let other = upload(&stream, &random(&mut Random::new(2), 16));
    let mixed = BlockWeights {
        mlp: other.mlp,
        ..right()
    };
    assert_eq!(
        refused(32, 4, mixed),
        "first feed-forward weights: size 16, expected 32"
    );
    let block = EncoderBlock::new(
        BlockConfig {
            width: 32,
            heads: 4,
        },
        right(),
    )
    .expect("a block");
    let x = stream.upload_new(&[0.0f32; 31]).expect("a buffer");
    let plan = block.plan(&stream, &x, 1, Precision::Exact);
    assert!(matches!(plan, Err(Error::Graph(_))), "a row of 31");
}
