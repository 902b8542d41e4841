//! Timelines read back.

use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// A timeline as read back.
pub(crate) struct Trace {
    pub(crate) kernels: u64,
    pub(crate) calls: BTreeMap<String, u64>,
    pub(crate) bytes: BTreeMap<String, u64>,
}

impl Trace {
    /// Reads a file, and sees that the events of each stream follow each other.
    pub(crate) fn read(path: &str) -> Trace {
        let text = fs::read_to_string(path).expect("a timeline");
        let file: Value = serde_json::from_str(&text).expect("JSON");
        let mut trace = Trace {
            kernels: 0,
            calls: BTreeMap::new(),
            bytes: BTreeMap::new(),
        };
        let mut ends = BTreeMap::new();
        let mut named = BTreeSet::new();
        for event in file["traceEvents"].as_array().expect("events") {
            let stream = event["tid"].as_u64().expect("a stream");
            match event["ph"].as_str() {
                Some("M") => {
                    named.insert(stream);
                    continue;
                }
                Some("X") => {}
                other => panic!("{other:?}"),
            }
            let number = |value: &Value| value.as_f64().expect("microseconds");
            let (start, time) = (number(&event["ts"]), number(&event["dur"]));
            let end = ends.insert(stream, start + time).unwrap_or(0.0);
            assert!(time >= 0.0 && start >= end - 1e-3, "{event}: {end}");
            assert!(named.contains(&stream), "{event}");
            let name = event["name"].as_str().expect("a name").to_owned();
            let args = &event["args"];
            if event["cat"] == "kernel" {
                trace.kernels += 1;
                for size in ["grid", "block"] {
                    let sizes = args[size].as_array().expect("three sizes");
                    assert!(sizes.len() == 3 && sizes.iter().all(|n| n.as_u64() > Some(0)));
                }
            } else {
                *trace.calls.entry(name.clone()).or_default() += 1;
                *trace.bytes.entry(name).or_default() += args["bytes"].as_u64().expect("bytes");
            }
        }
        trace
    }
}
