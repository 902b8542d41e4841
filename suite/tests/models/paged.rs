//! Keys and values in pages give the bits of those that lie together.

use crate::support::{load, reference};
use std::sync::Arc;
use warpsmith::{
    device::{Buffer, Stream},
    graph::{
        At, Attention, Cache, Graph, Node, PageSizes, PageStore, PagedAppend, PagedAttention,
        PagedRows, Plan, Precision,
    },
};
use warpsmith_library::attention::CacheType;

const HEADS: u32 = 6;
const KV_HEADS: u32 = 2;
const DIM: u32 = 40;
const PAGE: u32 = 16;
const BLOCKS: u32 = 5;
const TOKENS: u32 = 70;

fn floats(stream: &Stream, rows: u32, columns: u32, seed: u32) -> Buffer<f32> {
    let number = |at: u32| {
        let mixed = (at ^ seed).wrapping_mul(0x9e37_79b9).rotate_left(13);
        (mixed.wrapping_mul(0x85eb_ca6b) >> 8) as f32 / 8_388_608.0 - 1.0
    };
    let numbers: Vec<f32> = (0..rows * columns).map(number).collect();
    stream.upload_new(&numbers).expect("numbers")
}

#[test]
fn pages_give_the_bits_of_keys_that_lie_together() {
    let bundle = load(&reference().join("synth/tiny-llama3.gguf"));
    let stream = bundle.model.device().stream().expect("a stream");
    for ty in [CacheType::F16, CacheType::F32] {
        let (q, k, v) = (
            floats(&stream, 3, HEADS * DIM, 1),
            floats(&stream, TOKENS, KV_HEADS * DIM, 2),
            floats(&stream, TOKENS, KV_HEADS * DIM, 3),
        );
        let positions: Vec<u32> = (0..TOKENS).collect();
        let positions = stream.upload_new(&positions).expect("positions");
        let visible = stream.upload_new(&[TOKENS, 1, 33]).expect("lengths");
        // The second sequence of two has the tokens; its pages are in no order.
        let table = stream
            .upload_new(
                &[u32::MAX; BLOCKS as usize]
                    .into_iter()
                    .chain([6, 0, 3, 7, 2])
                    .collect::<Vec<_>>(),
            )
            .expect("a table");
        let slots = |n: u32| stream.upload_new(&vec![1u32; n as usize]).expect("slots");
        let (slots_in, slots_out) = (slots(TOKENS), slots(3));
        let run = |attend: &mut dyn FnMut(&mut Graph, [Node; 5]) -> Node| {
            let mut graph = Graph::new();
            let nodes = [
                graph.floats(&q, 3, HEADS * DIM).expect("q"),
                graph.floats(&k, TOKENS, KV_HEADS * DIM).expect("k"),
                graph.floats(&v, TOKENS, KV_HEADS * DIM).expect("v"),
                graph.ids(&positions),
                graph.ids(&visible),
            ];
            let y = attend(&mut graph, nodes);
            graph.keep(y).expect("kept");
            let plan = Plan::new(&stream, &graph, Precision::Exact).expect("a plan");
            plan.run(&stream).expect("a run");
            let y = stream.download(plan.floats(y).expect("y")).expect("y");
            let bits = y.wait().expect("y").into_iter().map(f32::to_bits);
            bits.collect::<Vec<u32>>()
        };
        let cache = Cache::new(&stream, ty, [KV_HEADS, BLOCKS * PAGE, DIM]).expect("a cache");
        let cache = Arc::new(cache);
        let together = run(&mut |graph, [q, k, v, positions, visible]| {
            graph
                .append([k, v], At::Positions(positions), &cache)
                .expect("an append");
            let attention = Attention {
                q,
                visible,
                cache: Arc::clone(&cache),
                heads: HEADS,
                scale: 0.2,
                seen: None,
                sources: None,
            };
            graph.attend(attention).expect("attention")
        });
        let sizes = PageSizes {
            ty,
            pages: 8,
            page: PAGE,
            kv_heads: KV_HEADS,
            head_dim: DIM,
        };
        let store = PageStore::new(&stream, sizes).expect("pages");
        let pages = Arc::new(store.pages(&table, 2).expect("a table of two rows"));
        let paged = run(&mut |graph, [q, k, v, positions, visible]| {
            let slots = graph.ids(&slots_in);
            let pages = || Arc::clone(&pages);
            graph
                .append_paged(PagedAppend {
                    k,
                    v,
                    positions,
                    slots,
                    pages: pages(),
                })
                .expect("an append");
            let slots = graph.ids(&slots_out);
            let attention = PagedAttention {
                q,
                visible,
                slots,
                pages: pages(),
                heads: HEADS,
                scale: 0.2,
                rows: PagedRows::Any,
            };
            graph.attend_paged(attention).expect("attention")
        });
        assert_eq!(paged, together, "{ty:?}");
        assert!(store.pages(&table, 3).is_err() && store.pages(&table, 0).is_err());
        let odd = PageSizes { page: 24, ..sizes };
        assert!(PageStore::new(&stream, odd).is_err());
    }
}
