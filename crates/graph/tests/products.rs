//! Products of quantised weights: what cards multiply by tensor cores is what is multiplied row by row, bit for bit, and
//! products of the same rows share what is prepared for them.

use std::sync::Arc;
use warpsmith_device::{Device, Stream};
use warpsmith_formats::quant::{WeightType, random_blocks};
use warpsmith_graph::{Graph, MatMul, Plan, Precision, Weights};
use warpsmith_library::{case::Random, epilogue::Activation, weights::pack};

const WIDTH: u32 = 256;
/// Rows of both matrices: blocks enough for a multiprocessor, so that no warps share one.
const OUTPUTS: [u32; 2] = [544, 513];

fn stream(selector: &str) -> Stream {
    let selector = selector.parse().expect("a device");
    let device = Device::open(&selector).expect("a virtual GPU");
    device.stream().expect("a stream")
}

/// The bits of two products of the same `rows` rows, and the operations behind the launches.
fn products(stream: &Stream, ty: WeightType, rows: u32) -> (Vec<Vec<u32>>, Vec<&'static str>) {
    let mut rng = Random::new(3);
    let mut graph = Graph::new();
    let x = rng.numbers((rows * WIDTH) as usize, 2.0);
    let x = stream.upload_new(&x).expect("memory");
    let x = graph.floats(&x, rows, WIDTH).expect("the size");
    let nodes = OUTPUTS.map(|outputs| {
        let blocks = (outputs * WIDTH) as usize / ty.block_len();
        let bytes = random_blocks(ty, rng.bits(), blocks);
        let packed = pack(ty, &bytes, outputs, WIDTH).expect("whole blocks");
        let weights = Weights::upload(stream, "w", &packed).expect("memory");
        let product = MatMul {
            x,
            weights: Arc::new(weights),
            bias: None,
            activation: Activation::None,
            residual: None,
        };
        let node = graph.matmul(product).expect("a product");
        graph.keep(node).expect("own");
        node
    });
    let plan = Plan::new(stream, &graph, Precision::Fast).expect("a plan");
    plan.run(stream).expect("a run");
    let bits = nodes.map(|node| {
        let y = stream.download(plan.floats(node).expect("kept"));
        let y = y.expect("a copy").wait().expect("numbers");
        y.iter().map(|y| y.to_bits()).collect()
    });
    (bits.to_vec(), plan.launches().to_vec())
}

#[test]
fn tensor_cores_on_bytes_give_the_bits_of_products_row_by_row() {
    let by_rows = stream("virtual");
    let cards = [
        "virtual:kernels=card,sms=1",
        "virtual:sm75,sms=1,kernels=card",
    ]
    .map(stream);
    let quantised = WeightType::ALL.into_iter().filter(|ty| ty.block_len() > 1);
    for ty in quantised {
        for rows in [9, 37] {
            let (want, _) = products(&by_rows, ty, rows);
            for card in &cards {
                let (got, launches) = products(card, ty, rows);
                assert!(got == want, "{ty} {rows}");
                assert_eq!(launches, ["prepare", "matmul", "matmul"], "{ty} {rows}");
            }
        }
    }
}
