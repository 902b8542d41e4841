//! What each pass fuses, and what it leaves alone, on small graphs.

use super::*;
use crate::{
    op::{At, Attention, PagedAppend, PagedAttention, PagedRows, Rotation},
    resource::{Cache, PageSizes, PageStore, Table, Vector},
};
use std::sync::Arc;
use warpsmith_device::{Buffer, Device, Selector};
use warpsmith_formats::quant::{WeightType, random_blocks};
use warpsmith_kernel::{Hardware, Processor};
use warpsmith_library::{
    attention::CacheType,
    pointwise::Curve,
    rope::Pairing,
    weights::{Layout, pack},
};
use warpsmith_ptx::target::Target;

const WIDTH: u32 = 64;
const DIM: u32 = 16;

struct Bench {
    stream: Stream,
}

impl Bench {
    fn new() -> Bench {
        let device = Device::open(&Selector::virtual_gpu()).expect("a virtual GPU");
        Bench {
            stream: device.stream().expect("a stream"),
        }
    }

    fn weights(&self, ty: WeightType, rows: u32) -> Arc<Weights> {
        let blocks = (rows * WIDTH) as usize / ty.block_len();
        let packed = pack(ty, &random_blocks(ty, 1, blocks), rows, WIDTH).expect("whole blocks");
        Arc::new(Weights::upload(&self.stream, "w", &packed).expect("memory"))
    }

    fn vector(&self, len: u32) -> Arc<Vector> {
        Arc::new(Vector::upload(&self.stream, &vec![1.0; len as usize]).expect("memory"))
    }

    fn x(&self, graph: &mut Graph, rows: u32) -> Node {
        let buffer: Buffer<f32> = self.stream.alloc((rows * WIDTH) as usize).expect("memory");
        graph.floats(&buffer, rows, WIDTH).expect("the size")
    }

    fn ids(&self, graph: &mut Graph, rows: u32) -> Node {
        let buffer: Buffer<u32> = self.stream.alloc(rows as usize).expect("memory");
        graph.ids(&buffer)
    }
}

fn machine(precision: Precision) -> Machine {
    Machine {
        hardware: Hardware {
            target: Target::sm(90),
            sms: 2,
            processor: Processor::Virtual,
        },
        precision,
    }
}

/// The operations that are left, in order.
fn names(graph: &Graph) -> Vec<&'static str> {
    let left = graph.entries.iter().map(|entry| &entry.op);
    left.filter(|op| !matches!(op, Op::Floats(_) | Op::Ids(_) | Op::Absorbed))
        .map(Op::name)
        .collect()
}

fn fused(graph: &Graph, precision: Precision) -> Vec<&'static str> {
    names(&run(graph, machine(precision)))
}

fn matmul(x: Node, weights: &Arc<Weights>, residual: Option<Node>) -> MatMul {
    MatMul {
        x,
        weights: Arc::clone(weights),
        bias: None,
        activation: Activation::None,
        residual,
    }
}

/// The nodes of a layer that a test may want.
struct Layer {
    normed: Node,
    /// Product, norm of heads, rotated.
    q: [Node; 3],
    k: Node,
    append: Node,
    inner: Node,
    gate: Node,
    second: Node,
}

/// How the layer is made.
#[derive(Clone, Copy)]
struct How {
    rows: u32,
    ty: WeightType,
    pairing: Pairing,
    keys: Keys,
}

/// Where its keys and values are.
#[derive(Clone, Copy)]
enum Keys {
    Together,
    Paged,
}

const USUAL: How = How {
    rows: 1,
    ty: WeightType::Q8_0,
    pairing: Pairing::Neighbours,
    keys: Keys::Together,
};

fn llama(bench: &Bench, how: How) -> (Graph, Layer) {
    let How {
        rows,
        ty,
        pairing,
        keys,
    } = how;
    let mut g = Graph::new();
    let x = bench.x(&mut g, rows);
    let [positions, visible] = [0; 2].map(|_| bench.ids(&mut g, rows));
    let (gain, head_gain) = (bench.vector(WIDTH), bench.vector(DIM));
    let normed = g.rms_norm(x, &gain, 1e-5, 1).expect("a norm");
    let [q, k, v] = [WIDTH, 2 * DIM, 2 * DIM].map(|rows| {
        g.matmul(matmul(normed, &bench.weights(ty, rows), None))
            .expect("a product")
    });
    let q_normed = g
        .rms_norm(q, &head_gain, 1e-6, WIDTH / DIM)
        .expect("a norm");
    let k_normed = g.rms_norm(k, &head_gain, 1e-6, 2).expect("a norm");
    let table = Table::upload(&bench.stream, &[1.0; 8], 1.0).expect("memory");
    let (q_turned, k_turned) = g
        .rotate(Rotation {
            q: q_normed,
            k: k_normed,
            positions,
            head_dim: DIM,
            table: Arc::new(table),
            pairing,
        })
        .expect("a rotation");
    let (append, attended) = match keys {
        Keys::Together => together(bench, &mut g, [q_turned, k_turned, v], [positions, visible]),
        Keys::Paged => paged(bench, &mut g, [q_turned, k_turned, v], [positions, visible]),
    };
    let square = bench.weights(ty, WIDTH);
    let x = g
        .matmul(matmul(attended, &square, Some(x)))
        .expect("a product");
    let second = g.rms_norm(x, &gain, 1e-5, 1).expect("a norm");
    let [gate, up] = [0; 2].map(|_| g.matmul(matmul(second, &square, None)).expect("a product"));
    let inner = g.gated(gate, up, Curve::Silu).expect("a gate");
    let y = g
        .matmul(matmul(inner, &square, Some(x)))
        .expect("a product");
    g.keep(y).expect("own");
    let layer = Layer {
        normed,
        q: [q, q_normed, q_turned],
        k,
        append,
        inner,
        gate,
        second,
    };
    (g, layer)
}

/// The append and the attention over a cache.
fn together(
    bench: &Bench,
    g: &mut Graph,
    [q, k, v]: [Node; 3],
    [positions, visible]: [Node; 2],
) -> (Node, Node) {
    let cache = Cache::new(&bench.stream, CacheType::F16, [2, 8, DIM]).expect("memory");
    let cache = Arc::new(cache);
    let append = g.append([k, v], At::Positions(positions), &cache);
    let attended = g.attend(Attention {
        q,
        visible,
        cache,
        heads: WIDTH / DIM,
        scale: 0.25,
        seen: None,
        sources: None,
    });
    (append.expect("an append"), attended.expect("attention"))
}

/// The same over pages.
fn paged(
    bench: &Bench,
    g: &mut Graph,
    [q, k, v]: [Node; 3],
    [positions, visible]: [Node; 2],
) -> (Node, Node) {
    let store = PageStore::new(
        &bench.stream,
        PageSizes {
            ty: CacheType::F16,
            pages: 3,
            page: 16,
            kv_heads: 2,
            head_dim: DIM,
        },
    );
    let table: Buffer<u32> = bench.stream.alloc(2).expect("memory");
    let pages = store.expect("memory").pages(&table, 1).expect("a table");
    let pages = Arc::new(pages);
    let slots = bench.ids(g, g.entries[q.index as usize].extent.rows);
    let append = g.append_paged(PagedAppend {
        k,
        v,
        positions,
        slots,
        pages: Arc::clone(&pages),
    });
    let attended = g.attend_paged(PagedAttention {
        q,
        visible,
        slots,
        pages,
        heads: WIDTH / DIM,
        scale: 0.25,
        rows: PagedRows::Any,
    });
    (append.expect("an append"), attended.expect("attention"))
}

const FIVE: [&str; 5] = ["heads", "attend", "matmul", "gate", "matmul"];

#[test]
fn a_layer_of_few_rows_is_five_operations() {
    let bench = Bench::new();
    for ty in [WeightType::Q4_0, WeightType::Q8_0, WeightType::F32] {
        for pairing in [Pairing::Neighbours, Pairing::Halves] {
            for rows in [1, 3, 4] {
                let how = How {
                    rows,
                    ty,
                    pairing,
                    ..USUAL
                };
                let (graph, _) = llama(&bench, how);
                for precision in [Precision::Exact, Precision::Fast] {
                    let after = run(&graph, machine(precision));
                    assert_eq!(names(&after), FIVE, "{ty:?} {rows} {precision:?}");
                    assert_eq!((after.operations(), after.leaves()), (5, graph.leaves()));
                    // Passes give the same again, and find nothing more.
                    assert_eq!(fused(&graph, precision), names(&after));
                    assert_eq!(fused(&after, precision), names(&after));
                }
            }
        }
    }
}

#[test]
fn a_layer_over_pages_is_five_operations() {
    let bench = Bench::new();
    let five = ["heads", "attend_paged", "matmul", "gate", "matmul"];
    for rows in [1, 4, 16] {
        let keys = Keys::Paged;
        let (graph, _) = llama(
            &bench,
            How {
                rows,
                keys,
                ..USUAL
            },
        );
        let after = run(&graph, machine(Precision::Fast));
        assert_eq!(names(&after), five, "{rows} rows");
        assert_eq!(after.leaves(), graph.leaves());
    }
}

#[test]
fn attention_asks_with_the_fused_queries_and_nothing_refers_to_what_is_absorbed() {
    let (graph, layer) = llama(&Bench::new(), USUAL);
    let after = run(&graph, machine(Precision::Fast));
    for entry in &after.entries {
        for input in entry.op.inputs() {
            assert!(!matches!(op(&after, input), Op::Absorbed), "{entry:?}");
        }
        if let Op::Attend(attention) = &entry.op {
            assert_eq!(attention.q, layer.append);
        }
    }
    let heads = &after.entries[layer.append.index as usize];
    assert_eq!((heads.extent.rows, heads.extent.columns), (1, WIDTH));
}

#[test]
fn many_rows_are_left_alone() {
    let bench = Bench::new();
    for (rows, precision) in [
        (17, Precision::Fast),
        (5, Precision::Exact),
        (64, Precision::Fast),
    ] {
        let (graph, _) = llama(&bench, How { rows, ..USUAL });
        assert_eq!(
            fused(&graph, precision),
            names(&graph),
            "{rows} {precision:?}"
        );
    }
}

/// The operations that are left of a layer after `change`.
fn changed(change: impl FnOnce(&mut Graph, &Layer, &Bench)) -> Vec<&'static str> {
    let bench = Bench::new();
    let (mut graph, layer) = llama(&bench, USUAL);
    change(&mut graph, &layer, &bench);
    fused(&graph, Precision::Fast)
}

#[test]
fn a_kept_norm_is_computed_for_itself() {
    let names = changed(|g, layer, _| g.keep(layer.normed).expect("own"));
    assert_eq!(
        names,
        ["rms_norm", "heads", "attend", "matmul", "gate", "matmul"]
    );
    let names = changed(|g, layer, _| g.keep(layer.second).expect("own"));
    assert_eq!(
        names,
        ["heads", "attend", "matmul", "rms_norm", "gate", "matmul"]
    );
}

#[test]
fn a_norm_with_another_user_is_computed_for_itself() {
    let names = changed(|g, layer, bench| {
        let y = g.matmul(matmul(
            layer.second,
            &bench.weights(WeightType::Q8_0, 32),
            None,
        ));
        g.keep(y.expect("a product")).expect("own");
    });
    let own = [
        "heads", "attend", "matmul", "rms_norm", "gate", "matmul", "matmul",
    ];
    assert_eq!(names, own);
}

#[test]
fn kept_queries_and_keys_are_computed_one_by_one() {
    let apart = [
        "rms_norm",
        "matmul",
        "matmul",
        "matmul",
        "rms_norm",
        "rms_norm",
        "rotate",
        "rotated_keys",
        "append",
        "attend",
        "matmul",
        "gate",
        "matmul",
    ];
    for which in 0..3 {
        let names = changed(|g, layer, _| g.keep(layer.q[which]).expect("own"));
        assert_eq!(names, apart, "{which}");
    }
    assert_eq!(changed(|g, layer, _| g.keep(layer.k).expect("own")), apart);
    assert_eq!(
        changed(|g, layer, _| g.keep(layer.append).expect("own")),
        apart
    );
}

#[test]
fn a_gate_that_is_kept_or_biased_stays_apart() {
    let apart = [
        "heads", "attend", "matmul", "rms_norm", "matmul", "matmul", "gated", "matmul",
    ];
    assert_eq!(
        changed(|g, layer, _| g.keep(layer.gate).expect("own")),
        apart
    );
    let names = changed(|g, layer, bench| {
        let Op::MatMul(product) = &mut g.entries[layer.gate.index as usize].op else {
            panic!("a product");
        };
        product.bias = Some(bench.vector(WIDTH));
    });
    assert_eq!(names, apart);
}

#[test]
fn what_nobody_reads_is_dropped_and_what_is_written_is_not() {
    let names = changed(|g, layer, _| {
        let scaled = g.scale(layer.inner, 2.0).expect("a scale");
        g.curve(scaled, Curve::Silu).expect("a curve");
    });
    assert_eq!(names, FIVE);
    // Where nothing is kept, only the cache is written.
    let names = changed(|g, _, _| g.entries.iter_mut().for_each(|entry| entry.kept = false));
    assert_eq!(names, ["heads"]);
}

#[test]
fn a_norm_goes_into_the_one_product_that_reads_it() {
    let bench = Bench::new();
    let mut g = Graph::new();
    let x = bench.x(&mut g, 2);
    let normed = g
        .layer_norm(x, &bench.vector(WIDTH), &bench.vector(WIDTH), 1e-5)
        .expect("a norm");
    let y = g
        .matmul(matmul(normed, &bench.weights(WeightType::F16, 40), None))
        .expect("a product");
    g.keep(y).expect("own");
    assert_eq!(fused(&g, Precision::Exact), ["norm_matmul"]);
    // The residual is the normed value itself.
    let mut own = Graph::new();
    let x = bench.x(&mut own, 2);
    let normed = own
        .rms_norm(x, &bench.vector(WIDTH), 1e-5, 1)
        .expect("a norm");
    let square = bench.weights(WeightType::Q8_0, WIDTH);
    let y = own
        .matmul(matmul(normed, &square, Some(normed)))
        .expect("a product");
    own.keep(y).expect("own");
    assert_eq!(fused(&own, Precision::Fast), ["rms_norm", "matmul"]);
    // Norms of heads are not norms of rows.
    let mut heads = Graph::new();
    let x = bench.x(&mut heads, 1);
    let normed = heads
        .rms_norm(x, &bench.vector(DIM), 1e-5, 4)
        .expect("a norm");
    let y = heads
        .matmul(matmul(normed, &square, None))
        .expect("a product");
    heads.keep(y).expect("own");
    assert_eq!(fused(&heads, Precision::Fast), ["rms_norm", "matmul"]);
}

#[test]
fn rows_that_do_not_fit_shared_memory_are_left_alone() {
    let width = 1 << 17;
    let weights = Weights {
        columns: width,
        ..Arc::into_inner(Bench::new().weights(WeightType::Q8_0, 32)).expect("the only one")
    };
    assert_eq!(weights.layout, Layout::of(WeightType::Q8_0));
    let fast = machine(Precision::Fast);
    assert_eq!(fast.source(1, None, &[&weights]), None);
    let narrow = Weights {
        columns: 4096,
        ..weights
    };
    assert!(fast.source(1, None, &[&narrow]).is_some());
}
