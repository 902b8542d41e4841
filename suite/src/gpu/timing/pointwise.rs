//! Functions of single elements and of rows, on arrays that no cache holds.

use super::{Bench, gigabytes};
use crate::gpu::{Failed, line::begin};
use std::sync::Arc;
use warpsmith::graph::{Graph, Node, Plan, Precision, Vector};
use warpsmith_library::pointwise::Curve;

pub(super) fn times(bench: &Bench) -> Result<(), Failed> {
    let (rows, columns) = if bench.small { (16, 64) } else { (16384, 4096) };
    let (a, b) = (
        bench.numbers((rows * columns) as usize)?,
        bench.numbers((rows * columns) as usize)?,
    );
    let gain = Arc::new(Vector::upload(&bench.stream, &vec![1.0; columns as usize])?);
    let array = 4 * u64::from(rows) * u64::from(columns);
    type Make<'a> = &'a dyn Fn(&mut Graph, Node, Node) -> Result<Node, warpsmith::graph::Error>;
    let work: [(&str, u64, Make<'_>); 6] = [
        ("add", 3, &|graph, a, b| graph.add(a, b)),
        ("scale", 2, &|graph, a, _| graph.scale(a, 2.0)),
        ("silu", 2, &|graph, a, _| graph.curve(a, Curve::Silu)),
        ("swiglu", 3, &|graph, a, b| graph.gated(a, b, Curve::Silu)),
        ("rms_norm", 2, &|graph, a, _| {
            graph.rms_norm(a, &gain, 1e-5, 1)
        }),
        ("softmax", 2, &|graph, a, _| graph.softmax(a)),
    ];
    for (name, arrays, make) in work {
        begin(name);
        let mut graph = Graph::new();
        let (a, b) = (
            graph.floats(&a, rows, columns)?,
            graph.floats(&b, rows, columns)?,
        );
        make(&mut graph, a, b)?;
        let plan = Plan::plain(&bench.stream, &graph, Precision::Fast)?;
        let replay = plan.capture(&bench.stream)?;
        let seconds = bench.replay(&replay)?;
        let bytes = arrays * array;
        let what = format!("{name} of {rows}x{columns} f32");
        bench.tell(
            what,
            seconds,
            gigabytes(bytes, seconds),
            Some(bench.floor(bytes)),
        );
    }
    Ok(())
}
