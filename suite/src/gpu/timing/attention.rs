//! Attention over prompts and over long caches: 32 heads over 8 key heads of 128, f16 cache.

use super::{Bench, gigabytes, teraflops};
use crate::gpu::{Failed, line::begin};
use std::sync::Arc;
use warpsmith::graph::{At, Attention, Cache, Graph, Plan, Precision, Seen};
use warpsmith_library::attention::CacheType;

/// Query heads, key heads, dimensions of a head.
#[derive(Clone, Copy)]
struct Heads {
    queries: u32,
    keys: u32,
    dim: u32,
}

const LLAMA: Heads = Heads {
    queries: 32,
    keys: 8,
    dim: 128,
};
const SMOLLM2: Heads = Heads {
    queries: 9,
    keys: 3,
    dim: 64,
};

pub(super) fn times(bench: &Bench) -> Result<(), Failed> {
    let prompts: &[u32] = if bench.small {
        &[64]
    } else {
        &[512, 2048, 4096]
    };
    let lengths: &[u32] = if bench.small {
        &[256]
    } else {
        &[512, 2048, 8192, 32768]
    };
    for heads in [LLAMA, SMOLLM2] {
        for tokens in prompts {
            prefill(bench, heads, *tokens)?;
        }
        for len in lengths {
            decode(bench, heads, *len)?;
        }
    }
    Ok(())
}

/// A cache of `len` positions, filled.
fn cache(bench: &Bench, heads: Heads, len: u32) -> Result<Arc<Cache>, Failed> {
    let cache = Cache::new(&bench.stream, CacheType::F16, [heads.keys, len, heads.dim])?;
    let cache = Arc::new(cache);
    let columns = heads.keys * heads.dim;
    let rows = bench.numbers((len * columns) as usize)?;
    let positions: Vec<u32> = (0..len).collect();
    let positions = bench.stream.upload_new(&positions)?;
    let mut graph = Graph::new();
    let k = graph.floats(&rows, len, columns)?;
    let positions = graph.ids(&positions);
    graph.append([k, k], At::Positions(positions), &cache)?;
    Plan::new(&bench.stream, &graph, Precision::Fast)?.run(&bench.stream)?;
    bench.stream.synchronize()?;
    Ok(cache)
}

fn run(
    bench: &Bench,
    heads: Heads,
    caches: &[Arc<Cache>],
    visible: &[u32],
    seen: Option<Seen>,
) -> Result<f64, Failed> {
    let rows = visible.len() as u32;
    let columns = heads.queries * heads.dim;
    let q = bench.numbers((rows * columns) as usize)?;
    let visible = bench.stream.upload_new(visible)?;
    let mut graph = Graph::new();
    let q = graph.floats(&q, rows, columns)?;
    let visible = graph.ids(&visible);
    for cache in caches {
        graph.attend(Attention {
            q,
            visible,
            cache: Arc::clone(cache),
            heads: heads.queries,
            scale: 1.0 / (heads.dim as f32).sqrt(),
            seen,
            sources: None,
        })?;
    }
    let plan = Plan::plain(&bench.stream, &graph, Precision::Fast)?;
    let replay = plan.capture(&bench.stream)?;
    Ok(bench.replay(&replay)? / caches.len() as f64)
}

fn prefill(bench: &Bench, heads: Heads, tokens: u32) -> Result<(), Failed> {
    let Heads { queries, keys, dim } = heads;
    let what = format!("prefill of {tokens}, {queries}/{keys} heads of {dim}");
    begin(what.clone());
    let caches = vec![cache(bench, heads, tokens)?; 4];
    let visible: Vec<u32> = (1..=tokens).collect();
    let seconds = run(
        bench,
        heads,
        &caches,
        &visible,
        Some(Seen::UpTo { start: 0 }),
    )?;
    // Half of the pairs are seen; two products of `dim` multiplications and additions each.
    let flops = 2.0 * f64::from(tokens) * f64::from(tokens) * f64::from(dim) * f64::from(queries);
    bench.tell(what, seconds, teraflops(flops, seconds), None);
    Ok(())
}

fn decode(bench: &Bench, heads: Heads, len: u32) -> Result<(), Failed> {
    let Heads { queries, keys, dim } = heads;
    let what = format!("decode at {len}, {queries}/{keys} heads of {dim}");
    begin(what.clone());
    let bytes = 2 * 2 * u64::from(len) * u64::from(keys) * u64::from(dim);
    let count = if bench.small {
        2
    } else {
        ((160 << 20) / bytes).clamp(2, 32)
    };
    let caches = (0..count)
        .map(|_| cache(bench, heads, len))
        .collect::<Result<Vec<_>, _>>()?;
    let seconds = run(bench, heads, &caches, &[len], None)?;
    bench.tell(
        what,
        seconds,
        gigabytes(bytes, seconds),
        Some(bench.floor(bytes)),
    );
    Ok(())
}
