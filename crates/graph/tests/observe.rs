//! Observed runs: every value is seen as it was downloaded, though its memory is soon another's; nothing crosses that counts.

use std::{collections::BTreeMap, sync::Arc};
use warpsmith_device::{Buffer, Device, Selector, Stream, forbid_transfers};
use warpsmith_formats::quant::{WeightType, dequantize};
use warpsmith_graph::{
    Error, Graph, MatMul, Node, Observed, Observer, Origin, Plan, Precision, Rotation, Statistics,
    Table, Vector, Weights,
};
use warpsmith_library::{
    case::Random, epilogue::Activation, pointwise::Curve, rope::Pairing, weights::pack,
};

const ROWS: u32 = 5;
const WIDTH: u32 = 64;

/// What a small model needs.
struct Model {
    x: Buffer<f32>,
    positions: Buffer<u32>,
    gain: Arc<Vector>,
    bias: Arc<Vector>,
    /// The bias's.
    numbers: Vec<f32>,
    /// Of 8 bits, as they lie in a file.
    bytes: Vec<u8>,
    quantised: Arc<Weights>,
    plain: Arc<Weights>,
    table: Arc<Table>,
}

fn model(stream: &Stream, rng: &mut Random) -> Result<Model, Error> {
    let mut numbers = |n: u32| rng.numbers(n as usize, 1.0);
    let mut gain = numbers(WIDTH);
    (gain[3], gain[7]) = (f32::NAN, f32::INFINITY);
    // Blocks of Q8_0: a scale in 16 bits, 32 signed bytes.
    let block = |at: u32| {
        let scale = half::f16::from_f32(0.01 + at as f32 * 1e-4).to_le_bytes();
        let codes = (0..32).map(move |code| (at * 37 + code * 11) as u8);
        scale.into_iter().chain(codes)
    };
    let bytes: Vec<u8> = (0..WIDTH * WIDTH / 32).flat_map(block).collect();
    let packed = pack(WeightType::Q8_0, &bytes, WIDTH, WIDTH).expect("whole blocks");
    let (floats, bias) = (numbers(WIDTH * WIDTH), numbers(WIDTH));
    let plain = pack(WeightType::F32, bytemuck::cast_slice(&floats), WIDTH, WIDTH);
    Ok(Model {
        x: stream.upload_new(&numbers(ROWS * WIDTH))?,
        positions: stream.upload_new(&[0, 1, 2, 3, 4])?,
        gain: Arc::new(Vector::upload(stream, &gain)?),
        bias: Arc::new(Vector::upload(stream, &bias)?),
        numbers: bias,
        bytes,
        quantised: Arc::new(Weights::upload(stream, "file.w1", &packed)?),
        plain: Arc::new(Weights::upload(
            stream,
            "file.w2",
            &plain.expect("numbers"),
        )?),
        table: Arc::new(Table::upload(stream, &[1.0, 0.1, 0.01, 0.001], 1.0)?),
    })
}

/// The nodes, each with the name that an observer must see.
fn build(graph: &mut Graph, model: &Model) -> Result<Vec<(&'static str, Node)>, Error> {
    let matmul = |x, weights: &Arc<Weights>, bias: Option<&Arc<Vector>>, residual| MatMul {
        x,
        weights: Arc::clone(weights),
        bias: bias.map(Arc::clone),
        activation: Activation::None,
        residual,
    };
    let x = graph.floats(&model.x, ROWS, WIDTH)?;
    graph.name(x, "input")?;
    let mut nodes = graph.within("layer.0", |graph| {
        let q = graph.matmul(matmul(x, &model.quantised, Some(&model.bias), None))?;
        graph.name(q, "q")?;
        let k = graph.matmul(matmul(q, &model.plain, None, None))?;
        graph.name(k, "k")?;
        let positions = graph.ids(&model.positions);
        let (turned, keys) = graph.rotate(Rotation {
            q,
            k,
            positions,
            head_dim: 16,
            table: Arc::clone(&model.table),
            pairing: Pairing::Halves,
        })?;
        graph.within("turned", |graph| {
            graph.name(turned, "q")?;
            graph.name(keys, "k")
        })?;
        let named = [("layer.0.q", q), ("layer.0.k", k)];
        let turned = [("layer.0.turned.q", turned), ("layer.0.turned.k", keys)];
        Ok::<_, Error>([named, turned].concat())
    })?;
    let [turned, keys] = [nodes[2].1, nodes[3].1];
    let gated = graph.gated(turned, keys, Curve::Silu)?;
    let normed = graph.rms_norm(gated, &model.gain, 1e-5, 1)?;
    graph.name(normed, "normed")?;
    let y = graph.matmul(matmul(gated, &model.quantised, None, Some(gated)))?;
    let last = graph.softmax(y)?;
    graph.name(last, "last")?;
    nodes.extend([("input", x), ("gated.6", gated), ("normed", normed)]);
    nodes.extend([("matmul.8", y), ("last", last)]);
    Ok(nodes)
}

/// Keeps what it sees.
#[derive(Default)]
struct Seen {
    values: BTreeMap<String, (Statistics, [u32; 2], String)>,
    twice: Vec<String>,
}

impl Observer for Seen {
    fn value(&mut self, value: Observed<'_>) {
        let origin = match value.origin {
            Origin::Operation(op) => op.to_owned(),
            Origin::Parameter(tensor) => format!("parameter {tensor}"),
        };
        let seen = (Statistics::of(value.values), value.shape, origin);
        if self.values.insert(value.name.to_owned(), seen).is_some() {
            self.twice.push(value.name.to_owned());
        }
    }
}

/// `[n, non-finite, mean, deviation, min, max]` once more, by other sums.
fn reference(values: &[f32]) -> [f64; 6] {
    let finite: Vec<f64> = values
        .iter()
        .filter(|x| x.is_finite())
        .map(|x| f64::from(*x))
        .collect();
    let n = finite.len() as f64;
    let mean = finite.iter().sum::<f64>() / n;
    let square = finite.iter().map(|x| x * x).sum::<f64>() / n;
    let least = finite.iter().copied().fold(f64::INFINITY, f64::min);
    let most = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let bad = (values.len() - finite.len()) as f64;
    [
        values.len() as f64,
        bad,
        mean,
        (square - mean * mean).max(0.0).sqrt(),
        least,
        most,
    ]
}

fn check(name: &str, found: Statistics, values: &[f32]) {
    let Statistics {
        count,
        non_finite,
        mean,
        deviation,
        min,
        max,
    } = found;
    let found = [
        count as f64,
        non_finite as f64,
        mean,
        deviation,
        min.into(),
        max.into(),
    ];
    let want = reference(values);
    let size = 1e-9 * (1.0 + want[4].abs().max(want[5].abs()));
    for (found, want) in found.iter().zip(want) {
        assert!(
            (found - want).abs() <= size,
            "{name}: {found}, expected {want} of {values:?}"
        );
    }
}

#[test]
fn an_observer_sees_what_is_downloaded_and_moves_nothing() -> Result<(), Error> {
    for precision in [Precision::Exact, Precision::Fast] {
        let device = Device::open(&Selector::virtual_gpu())?;
        let stream = device.stream()?;
        let model = model(&stream, &mut Random::new(7))?;
        // Once with all kept, to be downloaded.
        let mut graph = Graph::new();
        let nodes = build(&mut graph, &model)?;
        for (_, node) in &nodes[..4] {
            graph.keep(*node)?;
        }
        for (name, node) in &nodes[4..] {
            if *name != "input" {
                graph.keep(*node)?;
            }
        }
        let kept = Plan::plain(&stream, &graph, precision)?;
        kept.run(&stream)?;
        // Once with memory that is used again and again.
        let mut graph = Graph::new();
        build(&mut graph, &model)?;
        let plan = Plan::plain(&stream, &graph, precision)?;
        assert!(plan.report().arena < kept.report().arena);
        let (mut seen, before) = (Seen::default(), device.stats());
        forbid_transfers(|| plan.run_observed(&stream, &mut seen))?;
        let moved = device.stats() - before;
        assert_eq!(
            (moved.h2d_calls, moved.d2h_calls, moved.allocations),
            (0, 0, 0)
        );
        assert_eq!(moved.launches as usize, plan.report().launches);
        assert_eq!(seen.values.len(), nodes.len(), "{:?}", seen.values.keys());
        assert_eq!(seen.twice, [""; 0]);
        for (name, node) in &nodes {
            let values = match *name {
                "input" => stream.download(&model.x)?.wait()?,
                _ => stream.download(kept.floats(*node)?)?.wait()?,
            };
            let (found, shape, _) = &seen.values[*name];
            assert_eq!(*shape, [ROWS, WIDTH]);
            check(name, *found, &values);
        }
        assert_eq!(seen.values["layer.0.k"].2, "matmul");
        assert_eq!(seen.values["input"].2, "floats");
        assert_eq!(seen.values["normed"].0.non_finite, u64::from(2 * ROWS));
    }
    Ok(())
}

#[test]
fn parameters_are_seen_once_as_what_they_stand_for() -> Result<(), Error> {
    let device = Device::open(&Selector::virtual_gpu())?;
    let stream = device.stream()?;
    let model = model(&stream, &mut Random::new(7))?;
    let mut graph = Graph::new();
    build(&mut graph, &model)?;
    let plan = Plan::plain(&stream, &graph, Precision::Fast)?;
    let mut seen = Seen::default();
    forbid_transfers(|| plan.observe_parameters(&stream, &mut seen))?;
    let names: Vec<&str> = seen.values.keys().map(String::as_str).collect();
    let want = [
        "layer.0.k.weight",
        "layer.0.q.bias",
        "layer.0.q.weight",
        "normed.gain",
    ];
    assert_eq!(names, want);
    let mut values = vec![0.0; (WIDTH * WIDTH) as usize];
    dequantize(WeightType::Q8_0, &model.bytes, &mut values).expect("whole blocks");
    let (found, shape, origin) = &seen.values["layer.0.q.weight"];
    assert_eq!(
        (*shape, origin.as_str()),
        ([WIDTH, WIDTH], "parameter file.w1")
    );
    check("weight", *found, &values);
    let (found, shape, _) = &seen.values["layer.0.q.bias"];
    assert_eq!(*shape, [1, WIDTH]);
    check("bias", *found, &model.numbers);
    assert_eq!(seen.values["normed.gain"].0.non_finite, 2);
    Ok(())
}

#[test]
fn nothing_finite_is_zeros_and_a_count() {
    let none = Statistics::of(&[f32::NAN, f32::NEG_INFINITY]);
    assert_eq!(
        (none.count, none.non_finite, none.mean, none.min),
        (2, 2, 0.0, 0.0)
    );
    assert_eq!(Statistics::of(&[]).count, 0);
    let one = Statistics::of(&[-2.5, f32::NAN]);
    assert_eq!(
        (one.mean, one.deviation, one.min, one.max),
        (-2.5, 0.0, -2.5, -2.5)
    );
}
