//! Timelines as trace files: the JSON that Perfetto and Chrome's tracing page open.
//!
//! An object with `traceEvents` (Google, "Trace Event Format"): each piece of work is a complete event (`"ph": "X"`) with
//! `name`, `cat` (`kernel`, `replay`, `transfer`, `peek` or `memory`), `ts` and `dur` in microseconds, the stream as `tid`,
//! and in `args` what is known of it: `grid`, `block` and `shared_bytes` of a kernel, `launches` of a replay, `bytes` of
//! everything else.

use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use warpsmith_device::{TimedWork, Work};

/// The whole file: `device` names the process.
pub fn trace(timeline: &[TimedWork], device: &str) -> String {
    let named = |what: &str, stream: u64, name: String| json!({ "ph": "M", "pid": 0, "tid": stream, "name": what, "args": { "name": name } });
    let mut events = vec![named("process_name", 0, device.to_owned())];
    let streams: BTreeSet<u64> = timeline.iter().map(|timed| timed.stream).collect();
    let streams = streams.into_iter();
    events.extend(streams.map(|id| named("thread_name", id, format!("stream {id}"))));
    events.extend(timeline.iter().map(event));
    // An event a line: such files are large, and looked into.
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    format!(
        "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n",
        lines.join(",\n")
    )
}

fn event(timed: &TimedWork) -> Value {
    let TimedWork {
        work,
        stream,
        start,
        end,
    } = timed;
    let (name, category, args) = match work {
        Work::Kernel {
            name,
            grid,
            block,
            dynamic_shared,
        } => (
            &**name,
            "kernel",
            json!({ "grid": grid, "block": block, "shared_bytes": dynamic_shared }),
        ),
        Work::Replay { launches } => ("replay", "replay", json!({ "launches": launches })),
        Work::Upload { bytes } => ("upload", "transfer", json!({ "bytes": bytes })),
        Work::Download { bytes } => ("download", "transfer", json!({ "bytes": bytes })),
        Work::Peek { bytes } => ("peek", "peek", json!({ "bytes": bytes })),
        Work::Copy { bytes } => ("copy", "memory", json!({ "bytes": bytes })),
        Work::Fill { bytes } => ("fill", "memory", json!({ "bytes": bytes })),
    };
    json!({
        "ph": "X",
        "pid": 0,
        "tid": stream,
        "name": name,
        "cat": category,
        "ts": microseconds(*start),
        "dur": microseconds(end.saturating_sub(*start)),
        "args": args,
    })
}

fn microseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}
