//! The resident cache: capacity, length, append, reset, truncate; what it moves and what it refuses.

use crate::support::device;
use std::sync::Arc;
use warpsmith::{
    device::forbid_transfers,
    graph::{Attention, Graph, Plan, Precision},
    models::whisper::{KvCache, KvSizes},
};
use warpsmith_library::case::Random;

#[test]
fn a_cache_is_filled_shortened_and_emptied_without_a_transfer() {
    let device = device();
    let stream = device.stream().expect("a stream");
    let sizes = KvSizes {
        layers: 2,
        sequences: 1,
        heads: 3,
        capacity: 5,
        head_dim: 8,
    };
    let mut rng = Random::new(3);
    let mut rows = |rows: usize| {
        stream
            .upload_new(&rng.numbers(rows * 24, 1.0))
            .expect("rows")
    };
    let (three, two, one) = ([rows(3), rows(3)], [rows(2), rows(2)], [rows(1), rows(1)]);
    let before = device.stats();
    let mut cache = KvCache::new(&stream, sizes, Precision::Exact).expect("a cache");
    assert_eq!(
        (cache.capacity(), cache.len(), cache.is_empty()),
        (5, 0, true)
    );
    let append = |cache: &mut KvCache, n, [k, v]: &[_; 2]| {
        forbid_transfers(|| {
            cache
                .append(&stream, n, &[[k, v], [v, k]])
                .map_err(Box::new)
        })
    };
    append(&mut cache, 3, &three).expect("three rows");
    append(&mut cache, 2, &two).expect("two more");
    assert_eq!(cache.len(), 5);
    let refused = append(&mut cache, 1, &one).expect_err("a sixth row");
    assert_eq!(
        refused.to_string(),
        "the context holds 5 tokens: 5 are in it, 1 more do not fit"
    );
    assert_eq!(cache.len(), 5);
    cache.truncate(4);
    append(&mut cache, 1, &one).expect("one in place of the last");
    let moved = device.stats() - before;
    assert_eq!((moved.h2d_bytes, moved.d2h_bytes), (0, 0));

    // What attention sees is what was appended, position by position.
    let q = stream.upload_new(&[0.0f32; 24]).expect("a query");
    let seen = |cache: &KvCache, layer: usize, visible: u32| {
        let visible = stream.upload_new(&[visible]).expect("a length");
        let mut graph = Graph::new();
        let q = graph.floats(&q, 1, 24).expect("a query");
        let visible = graph.ids(&visible);
        let y = graph
            .attend(Attention {
                q,
                visible,
                cache: Arc::clone(cache.layer(layer)),
                heads: 3,
                scale: 1.0,
                seen: None,
                sources: None,
            })
            .expect("attention");
        graph.keep(y).expect("a node");
        let plan = Plan::new(&stream, &graph, Precision::Exact).expect("a plan");
        plan.run(&stream).expect("a run");
        let y = stream
            .download(plan.floats(y).expect("kept"))
            .expect("a download");
        y.wait().expect("numbers")
    };
    let host = |buffer| -> Vec<f32> {
        stream
            .download(buffer)
            .expect("a download")
            .wait()
            .expect("numbers")
    };
    // A query of zeros weighs all keys alike: the mean of the values. Layer 1 has keys and values exchanged.
    for (layer, side) in [(0, 1), (1, 0)] {
        let rows = [
            host(&three[side]),
            host(&two[side])[..24].to_vec(),
            host(&one[side]),
        ]
        .concat();
        for visible in 1..=5 {
            let got = seen(&cache, layer, visible);
            for (at, got) in got.iter().enumerate() {
                let column = rows.chunks(24).take(visible as usize).map(|row| row[at]);
                let want = column.sum::<f32>() / visible as f32;
                assert!(
                    (got - want).abs() < 1e-6,
                    "layer {layer}, {visible} keys: {got}, expected {want}"
                );
            }
        }
    }
    cache.reset();
    assert!(cache.is_empty());
    let wrong = cache
        .append(&stream, 1, &[[&one[0], &one[1]]])
        .expect_err("one layer of two");
    assert_eq!(
        wrong.to_string(),
        "layers of keys and values: size 1, expected 2"
    );
}
