//! What a launch costs: for the host, for the card, in a replay.

use super::{Bench, gigabytes};
use crate::gpu::{Failed, line::begin, speed::median};
use std::time::Instant;
use warpsmith::graph::{Graph, Plan, Precision};

/// Launches of a round.
const COUNT: usize = 200;

pub(super) fn times(bench: &Bench) -> Result<(), Failed> {
    begin("launches");
    let x = bench.numbers(1024)?;
    let mut graph = Graph::new();
    let mut node = graph.floats(&x, 1, 1024)?;
    for _ in 0..COUNT {
        node = graph.scale(node, 1.0)?;
    }
    let plan = Plan::plain(&bench.stream, &graph, Precision::Fast)?;
    let each = |seconds: f64| seconds / COUNT as f64;
    let eager = bench.time(|stream| Ok(plan.run(stream)?))?;
    bench.tell(
        "a small launch, eager, on the card".into(),
        each(eager),
        String::new(),
        None,
    );
    let mut host = Vec::new();
    for _ in 0..9 {
        bench.stream.synchronize()?;
        let start = Instant::now();
        plan.run(&bench.stream)?;
        host.push(start.elapsed().as_secs_f64());
    }
    bench.tell(
        "a small launch, for the host".into(),
        each(median(&mut host)),
        String::new(),
        None,
    );
    let replay = plan.capture(&bench.stream)?;
    let replayed = bench.replay(&replay)?;
    bench.tell(
        "a small launch in a replay".into(),
        each(replayed),
        String::new(),
        None,
    );
    let mut there = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        bench.stream.peek(&x)?.wait()?;
        there.push(start.elapsed().as_secs_f64());
    }
    let seconds = median(&mut there);
    bench.tell(
        "4 KiB to the host, waited for".into(),
        seconds,
        gigabytes(4096, seconds),
        None,
    );
    Ok(())
}
