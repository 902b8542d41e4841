//! A walk of a plan: the library's kernels give what a run gives, another kernel gives what it computes.

use std::sync::Arc;
use warpsmith_device::{Buffer, Device, Selector, Stream};
use warpsmith_formats::quant::{WeightType, random_blocks};
use warpsmith_graph::{
    At, Attention, Cache, Cost, Dispatch, Error, Extent, Failure, Graph, Lengths, MatMul, Node, Op,
    Operation, Plan, Planned, Precision, Recorded, Recording, Rotation, Table, Taken, Vector,
    Weights,
};
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, args};
use warpsmith_library::{
    attention::CacheType,
    case::Random,
    epilogue::Activation,
    epilogue::Outputs,
    gemm::{GemmF32Args, Problem, Product, choose},
    pointwise::Curve,
    rope::Pairing,
    weights::pack,
};

const WIDTH: u32 = 64;
const INNER: u32 = 96;
const HEADS: u32 = 4;

args! { /// `y = x / sqrt(mean(x^2) + eps) * gain`, row by row.
pub struct OwnNormArgs { x: In<f32>[rows, n], gain: In<f32>[n], y: Out<f32>[rows, n], rows: Scalar<u32>, n: Scalar<u32>, eps: Scalar<f32> } }

/// A norm of the user's own.
#[derive(Clone, PartialEq, Eq, Hash)]
struct OwnNorm;

impl Kernel for OwnNorm {
    type Args = OwnNormArgs;
    fn name(&self) -> String {
        "own_norm".into()
    }
    fn grid(&self, a: &OwnNormArgs) -> Result<u64, LaunchError> {
        Ok(a.rows.into())
    }
    fn body<'k>(&self, cta: &mut Cta<'k>, a: OwnNormArgs<InKernel<'k>>) {
        let (x, y) = (a.x.row(cta.id()), a.y.row(cta.id()));
        let mean = cta.sum(a.n, |i| x.at(i) * x.at(i)) / a.n.f32();
        let scale = (mean + a.eps).rsqrt();
        cta.each(a.n, |_, i| y.set(i, x.at(i) * scale * a.gain.at(i)));
    }
}

/// A layer, with what it reads.
struct Layer {
    stream: Stream,
    graph: Graph,
    x: Vec<f32>,
    gain: Vec<f32>,
    eight_bits: Vec<u8>,
    /// Normed rows, what the gate gives, the end.
    values: [Node; 3],
    _inputs: (Buffer<f32>, [Buffer<u32>; 2]),
}

/// Its values are kept.
fn layer(rows: u32) -> Result<Layer, Error> {
    let mut layer = unkept(rows)?;
    for node in layer.values {
        layer.graph.keep(node)?;
    }
    Ok(layer)
}

fn unkept(rows: u32) -> Result<Layer, Error> {
    let stream = Device::open(&Selector::virtual_gpu())?.stream()?;
    let mut rng = Random::new(11);
    let mut numbers = |n: u32| -> Vec<f32> { rng.numbers(n as usize, 1.0) };
    let (x, gain) = (numbers(rows * WIDTH), numbers(WIDTH));
    let mut matrix = |ty: WeightType, rows: u32, columns: u32| {
        let bytes = random_blocks(ty, rng.bits(), (rows * columns) as usize / ty.block_len());
        let packed = pack(ty, &bytes, rows, columns).expect("whole blocks");
        Ok::<_, Error>((Arc::new(Weights::upload(&stream, "w", &packed)?), bytes))
    };
    let (query, eight_bits) = matrix(WeightType::Q8_0, WIDTH, WIDTH)?;

    let (key, _) = matrix(WeightType::F16, WIDTH / 2, WIDTH)?;
    let (value, _) = matrix(WeightType::F32, WIDTH / 2, WIDTH)?;
    let (out, _) = matrix(WeightType::F32, WIDTH, WIDTH)?;
    let (gate, _) = matrix(WeightType::Q8_0, INNER, WIDTH)?;
    let (up, _) = matrix(WeightType::Q8_0, INNER, WIDTH)?;
    let own = stream.upload_new(&x)?;
    let places: Vec<u32> = (0..rows).collect();
    let visible: Vec<u32> = (1..=rows).collect();
    let (places, visible) = (stream.upload_new(&places)?, stream.upload_new(&visible)?);
    let cache = Cache::new(&stream, CacheType::F32, [HEADS / 2, 32, WIDTH / HEADS])?;
    let cache = Arc::new(cache);
    let table = Arc::new(Table::upload(&stream, &[1.0, 0.1, 0.01, 0.001], 1.0)?);

    let mut graph = Graph::new();
    let product = |x, weights: Arc<Weights>, residual| MatMul {
        x,
        weights,
        bias: None,
        activation: Activation::None,
        residual,
    };
    let from = graph.floats(&own, rows, WIDTH)?;
    let norm = Arc::new(Vector::upload(&stream, &gain)?);
    let normed = graph.rms_norm(from, &norm, 1e-5, 1)?;
    let q = graph.matmul(product(normed, query, None))?;
    let k = graph.matmul(product(normed, key, None))?;
    let v = graph.matmul(product(normed, value, None))?;
    let (positions, seen) = (graph.ids(&places), graph.ids(&visible));
    let (q, k) = graph.rotate(Rotation {
        q,
        k,
        positions,
        head_dim: WIDTH / HEADS,
        table,
        pairing: Pairing::Halves,
    })?;
    graph.append([k, v], At::Positions(positions), &cache)?;
    let heads = graph.attend(Attention {
        q,
        visible: seen,
        cache,
        heads: HEADS,
        scale: 0.25,
        seen: None,
        sources: None,
    })?;
    let after = graph.matmul(product(heads, out, Some(from)))?;
    graph.name(after, "out")?;
    let gate = graph.matmul(product(after, gate, None))?;
    let up = graph.matmul(product(after, up, None))?;
    let inner = graph.gated(gate, up, Curve::Silu)?;
    let last = graph.softmax(inner)?;
    Ok(Layer {
        stream,
        graph,
        x,
        gain,
        eight_bits,
        values: [normed, inner, last],
        _inputs: (own, [places, visible]),
    })
}

impl Layer {
    /// The kept values, to the bit.
    fn bits(&self, plan: &Plan) -> Result<Vec<Vec<u32>>, Error> {
        let one = |node: &Node| {
            let values = self.stream.download(plan.floats(*node)?)?.wait()?;
            Ok(values.into_iter().map(f32::to_bits).collect())
        };
        self.values.iter().map(one).collect()
    }

    /// The same by a plan that runs on its own.
    fn plain(&self, precision: Precision) -> Result<Vec<Vec<u32>>, Error> {
        let plan = Plan::plain(&self.stream, &self.graph, precision)?;
        plan.run(&self.stream)?;
        self.bits(&plan)
    }
}

/// Runs `rms_norm` with the kernel above.
fn own_norm(operation: &Operation<'_>, stream: &Stream) -> Result<Taken, Failure> {
    let Op::RmsNorm { x, gain, eps, .. } = operation.op() else {
        return Ok(Taken::Left);
    };
    let Extent { rows, columns: n } = operation.extent(*x)?;
    let args = OwnNormArgs {
        x: operation.floats(*x)?,
        gain: gain.span(),
        y: operation.floats(operation.output())?,
        rows,
        n,
        eps: *eps,
    };
    stream.launch_in::<_, Planned>(&OwnNorm, &args)?;
    Ok(Taken::Here)
}

#[test]
fn a_walk_with_a_recording_dispatcher_is_a_plain_run() -> Result<(), Error> {
    for (rows, precision) in [
        (1, Precision::Fast),
        (5, Precision::Exact),
        (17, Precision::Fast),
    ] {
        let layer = layer(rows)?;
        let want = layer.plain(precision)?;
        let plan = Plan::plain(&layer.stream, &layer.graph, precision)?;
        let mut recording: Recording = Recording::default();
        plan.run_dispatched(&layer.stream, &mut recording)?;
        assert_eq!(layer.bits(&plan)?, want, "{rows} rows");

        let seen = recording.operations();
        let names: Vec<&str> = seen.iter().map(|one| one.op).collect();
        let all =
            "rms_norm matmul matmul matmul rotate append attend matmul matmul matmul gated softmax";
        assert_eq!(names.join(" "), all);
        let launches: u64 = seen.iter().map(|one| one.launches).sum();
        assert_eq!(launches, plan.report().launches as u64);
        let extent = |columns| Extent { rows, columns };
        let want = Recorded {
            op: "matmul",
            name: "out".into(),
            inputs: vec![extent(WIDTH), extent(WIDTH)],
            output: extent(WIDTH),
            taken: Taken::Left,
            launches: seen[7].launches,
        };
        assert_eq!(seen[7], want);
        // The fused plan is a walk, too.
        let fused = Plan::new(&layer.stream, &layer.graph, precision)?;
        fused.run(&layer.stream)?;
        let want = layer.bits(&fused)?;
        let fused = Plan::new(&layer.stream, &layer.graph, precision)?;
        fused.run_dispatched(&layer.stream, &mut recording)?;
        assert_eq!(layer.bits(&fused)?, want, "{rows} rows, fused");
    }
    Ok(())
}

#[test]
fn an_operation_runs_by_a_kernel_of_the_users_own() -> Result<(), Error> {
    let layer = layer(5)?;
    let want = layer.plain(Precision::Exact)?;
    let plan = Plan::plain(&layer.stream, &layer.graph, Precision::Exact)?;
    let mut recording = Recording::new(own_norm);
    let run = || plan.run_dispatched(&layer.stream, &mut recording);
    let ((), times) = layer.stream.time_launches(run)?;
    let kernels: Vec<&str> = times.iter().map(|one| &*one.kernel).collect();
    assert_eq!(kernels[0], "own_norm");
    assert!(
        kernels.iter().all(|name| !name.starts_with("rms_norm")),
        "{kernels:?}"
    );
    let first = &recording.operations()[0];
    assert_eq!(
        (first.op, first.taken, first.launches),
        ("rms_norm", Taken::Here, 1)
    );

    // Right by f64, and all that follows is made of it.
    let normed = layer
        .stream
        .download(plan.floats(layer.values[0])?)?
        .wait()?;
    let width = WIDTH as usize;
    for (x, y) in layer.x.chunks(width).zip(normed.chunks(width)) {
        let square: f64 = x.iter().map(|x| f64::from(*x).powi(2)).sum();
        let scale = (square / f64::from(WIDTH) + 1e-5).sqrt().recip();
        for ((x, gain), y) in x.iter().zip(&layer.gain).zip(y) {
            let want = f64::from(*x) * scale * f64::from(*gain);
            assert!((want - f64::from(*y)).abs() < 1e-5, "{y}, not {want}");
        }
    }
    let near = |a: &u32, b: &u32| (f32::from_bits(*a) - f32::from_bits(*b)).abs() < 1e-3;
    let got = layer.bits(&plan)?;
    assert!(got[2].iter().zip(&want[2]).all(|(a, b)| near(a, b)));

    // Captured with the other kernel, and replayed.
    layer.stream.fill_zero(&mut layer.stream.alloc::<f32>(1)?)?;
    let again = Plan::plain(&layer.stream, &layer.graph, Precision::Exact)?;
    let replay = layer
        .stream
        .capture(|stream| again.run_dispatched(stream, &mut own_norm))?;
    layer.stream.replay(&replay)?;
    assert_eq!(layer.bits(&again)?, got);
    Ok(())
}

/// Many rows are made ready once for several products: one that another kernel computes leaves them to the others.
#[test]
fn what_several_operations_share_is_there_when_one_of_them_is_taken() -> Result<(), Error> {
    let layer = layer(17)?;
    let want = layer.plain(Precision::Fast)?;
    let plan = Plan::plain(&layer.stream, &layer.graph, Precision::Fast)?;
    let mut taken = 0;
    let mut by_f32 = |operation: &Operation<'_>, stream: &Stream| {
        let Op::MatMul(MatMul {
            x,
            weights: w,
            residual: None,
            ..
        }) = operation.op()
        else {
            return Ok(Taken::Left);
        };
        if w.rows() != INNER || taken == 1 {
            return Ok(Taken::Left);
        }
        taken += 1;
        let m = operation.extent(*x)?.rows;
        let info = stream.device().info();
        let problem = Problem {
            m,
            n: w.rows(),
            k: w.columns(),
            layout: w.layout(),
            epilogue: Default::default(),
            precision: Precision::Exact,
        };
        let Product::GemmF32(kernel) = choose(problem, info.hardware()).product else {
            return Err("tiles are for many rows".into());
        };
        let args = GemmF32Args {
            x: operation.floats(*x)?,
            w: w.planes(),
            out: Outputs {
                bias: None,
                residual: None,
                y: operation.floats(operation.output())?,
                m,
                n: w.rows(),
            },
            columns: w.columns(),
        };
        stream.launch_in::<_, Planned>(&kernel, &args)?;
        Ok(Taken::Here)
    };
    plan.run_dispatched(&layer.stream, &mut by_f32)?;
    assert_eq!(taken, 1);
    let got = layer.bits(&plan)?;
    assert_eq!(got[0], want[0]);
    let pairs = || {
        got[1]
            .iter()
            .zip(&want[1])
            .map(|(a, b)| (f32::from_bits(*a), f32::from_bits(*b)))
    };
    let most = pairs().map(|(_, b)| b.abs()).fold(0.0, f32::max);
    assert!(pairs().all(|(a, b)| (a - b).abs() < 0.02 * most), "{most}");
    assert!(
        pairs().any(|(a, b)| a != b),
        "the other kernel rounds otherwise"
    );
    Ok(())
}

#[test]
fn what_a_dispatcher_does_wrong_is_an_error_that_names_the_operation() -> Result<(), Error> {
    let layer = layer(5)?;
    let plan = Plan::plain(&layer.stream, &layer.graph, Precision::Exact)?;
    let fails = |dispatch: &mut dyn Dispatch| match plan.run_dispatched(&layer.stream, dispatch) {
        Err(Error::Dispatch { op, name, source }) => (op, name, source),
        other => panic!("{other:?}"),
    };

    let (op, name, source) = fails(&mut |operation: &Operation<'_>, stream: &Stream| {
        let Op::RmsNorm { x, gain, .. } = operation.op() else {
            return Ok(Taken::Left);
        };
        // A row too many for what is there.
        let args = OwnNormArgs {
            x: operation.floats(*x)?,
            gain: gain.span(),
            y: operation.floats(operation.output())?,
            rows: 6,
            n: WIDTH,
            eps: 0.0,
        };
        stream.launch_in::<_, Planned>(&OwnNorm, &args)?;
        Ok(Taken::Here)
    });
    assert_eq!((op, name.as_str()), ("rms_norm", "rms_norm.1"));
    let source = source.downcast_ref::<warpsmith_device::Error>();
    let Some(warpsmith_device::Error::Launch(LaunchError::Shape { arg, want, got, .. })) = source
    else {
        panic!("{source:?}");
    };
    assert_eq!((&**arg, *want, *got), ("x", 6 * 64, 5 * 64));

    let (op, _, source) = fails(&mut |operation: &Operation<'_>, _: &Stream| {
        operation.ids(operation.output())?;
        Ok(Taken::Left)
    });
    assert_eq!(op, "rms_norm");
    assert!(matches!(
        source.downcast_ref(),
        Some(Error::Kind {
            op: "rms_norm",
            want: "u32",
            got: "f32",
            ..
        })
    ));

    let mut other = Graph::new();
    let foreign = other.ids(&layer._inputs.1[0]);
    let (_, _, source) = fails(&mut |operation: &Operation<'_>, _: &Stream| {
        operation.extent(foreign)?;
        Ok(Taken::Left)
    });
    assert!(matches!(source.downcast_ref(), Some(Error::Foreign { .. })));

    let (op, name, source) = fails(&mut |operation: &Operation<'_>, _: &Stream| match operation
        .name()
    {
        "out" => Err("no such kernel".into()),
        _ => Ok(Taken::Left),
    });
    assert_eq!(
        (op, name.as_str(), source.to_string().as_str()),
        ("matmul", "out", "no such kernel")
    );
    Ok(())
}

#[test]
fn operations_cost_what_their_operands_say() -> Result<(), Error> {
    let layer = layer(5)?;
    let plan = Plan::plain(&layer.stream, &layer.graph, Precision::Exact)?;
    let (mut costs, mut lengths) = (Vec::new(), Lengths::default());
    let mut look = |operation: &Operation<'_>, stream: &Stream| {
        costs.push(operation.cost(stream, &mut lengths)?);
        Ok(Taken::Left)
    };
    plan.run_dispatched(&layer.stream, &mut look)?;
    let cost = |weights, read, written, operations| Cost {
        weights,
        read,
        written,
        operations,
    };
    let (rows, value) = (5, 4 * 5 * 64);
    assert_eq!(costs[0], cost(0, value + 4 * 64, value, 4 * 5 * 64));
    let bytes = layer.eight_bits.len() as u64;
    assert_eq!(costs[1], cost(bytes, bytes + value, value, 2 * 5 * 64 * 64));
    let keys = 4 * 5 * 32;
    // q, k, positions, frequencies; half of a head's 16 dimensions is turned
    assert_eq!(
        costs[4],
        cost(0, value + keys + 4 * rows + 16, value + keys, 3 * 5 * 6 * 8)
    );
    assert_eq!(costs[5], cost(0, 2 * keys + 4 * rows, 2 * keys, 0));
    // five rows see 1 + 2 + 3 + 4 + 5 keys; the last sees all of them
    assert_eq!(
        costs[6],
        cost(0, value + 4 * rows + 2 * keys, value, 4 * 15 * (4 * 16 + 5))
    );
    // what comes in again is added
    let square = 4 * 64 * 64;
    assert_eq!(
        costs[7],
        cost(square, square + 2 * value, value, 2 * 5 * 64 * 64 + 5 * 64)
    );

    Ok(())
}

#[test]
fn a_fused_plan_costs_the_same_arithmetic_and_less_memory() -> Result<(), Error> {
    let mut layer = unkept(1)?;
    layer.graph.keep(layer.values[2])?;
    let stream = &layer.stream;
    let all = |plan: Plan| -> Result<(Cost, usize), Error> {
        let (mut all, mut count, mut lengths) = (Cost::default(), 0, Lengths::default());
        let mut look = |operation: &Operation<'_>, stream: &Stream| {
            all += operation.cost(stream, &mut lengths)?;
            count += 1;
            Ok(Taken::Left)
        };
        plan.run_dispatched(stream, &mut look)?;
        Ok((all, count))
    };
    let (plain, many) = all(Plan::plain(stream, &layer.graph, Precision::Exact)?)?;
    let (fused, few) = all(Plan::new(stream, &layer.graph, Precision::Exact)?)?;
    assert_eq!((many, few), (12, 5), "heads, attend, matmul, gate, softmax");
    assert_eq!(
        (plain.weights, plain.operations),
        (fused.weights, fused.operations)
    );
    // What lies between is neither written nor read.
    assert!(
        fused.read < plain.read && fused.written < plain.written,
        "{fused:?} {plain:?}"
    );
    Ok(())
}
