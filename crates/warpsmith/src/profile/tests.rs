//! Profiles of made-up passes.

use super::*;
use std::{sync::Arc, time::Duration};

fn ran(op: &'static str, name: &str, launches: usize, operations: u64) -> Ran {
    Ran {
        op,
        name: one_for_all_layers(name),
        cost: Cost {
            weights: 8,
            read: 16,
            written: 4,
            operations,
        },
        launches,
    }
}

fn kernel(name: &str, start: u64, end: u64) -> TimedWork {
    TimedWork {
        work: Work::Kernel {
            name: Arc::from(name),
            grid: [1; 3],
            block: [32, 1, 1],
            dynamic_shared: 0,
        },
        stream: 0,
        start: Duration::from_millis(start),
        end: Duration::from_millis(end),
    }
}

const ROOF: Roof = Roof {
    bytes_s: 1000.0,
    operations_s: 1e5,
};

fn profile(timeline: &[TimedWork]) -> Result<Profile, Error> {
    let pass = |name: &str, operations| Passed {
        name: name.into(),
        operations,
    };
    let layers = || {
        vec![
            ran("matmul", "layer.0.out", 2, 1000),
            ran("matmul", "layer.1.out", 1, 1000),
            ran("draw", "draw.9", 1, 10),
        ]
    };
    let profiler = Profiler {
        lengths: Lengths::default(),
        passes: vec![
            pass("prefill", vec![ran("embed", "<embed>", 1, 0)]),
            pass("step", layers()),
            pass("step", layers()),
        ],
    };
    Profile::new(&profiler, timeline, "a <device>", ROOF)
}

fn timeline() -> Vec<TimedWork> {
    let mut all = vec![kernel("rows", 0, 1)];
    for step in [10, 110] {
        all.push(kernel("prepare", step, step + 2));
        all.push(kernel("product", step + 2, step + 22));
        all.push(TimedWork {
            work: Work::Peek { bytes: 4 },
            ..kernel("", step + 22, step + 24)
        });
        all.push(kernel("product", step + 24, step + 44));
        all.push(kernel("draw", step + 50, step + 51));
    }
    all
}

#[test]
fn launches_get_their_times_in_order_and_layers_one_row() -> Result<(), Error> {
    let profile = profile(&timeline())?;
    let [prefill, step] = &profile.passes[..] else {
        panic!("{profile:?}");
    };
    assert_eq!((prefill.runs, step.runs), (1, 2));
    let [out, draw] = &step.rows[..] else {
        panic!("{step:?}");
    };
    assert_eq!(
        (out.op, out.name.as_str(), draw.name.as_str()),
        ("matmul", "layer.*.out", "draw.*")
    );
    assert_eq!((out.total.count, out.total.launches), (4, 6));
    assert!((out.total.seconds - 0.084).abs() < 1e-9, "{out:?}");
    let kernels: Vec<(&str, u64)> = out
        .kernels
        .iter()
        .map(|(name, n)| (name.as_str(), *n))
        .collect();
    assert_eq!(kernels, [("prepare", 2), ("product", 4)]);
    assert_eq!((out.total.cost.weights, out.total.bytes()), (32, 80));
    // 80 bytes take 80 ms, 4000 operations 40 ms
    assert!((out.total.of_roof(&ROOF) - 0.08 / 0.084).abs() < 1e-9);
    assert!((step.total.seconds - 0.086).abs() < 1e-9 && (step.wall - 0.102).abs() < 1e-9);
    assert!((step.share(out) + step.share(draw) - 1.0).abs() < 1e-9);
    Ok(())
}

#[test]
fn a_timeline_of_something_else_is_refused() {
    let timeline = timeline();
    assert_eq!(
        profile(&timeline[1..]).err(),
        Some(Error::Launches {
            timed: 8,
            launched: 9
        })
    );
}

#[test]
fn a_picture_is_xml_with_a_point_for_each_row() -> Result<(), Error> {
    let profile = profile(&timeline())?;
    let svg = profile.svg();
    assert_eq!(
        svg.matches("<circle").count(),
        2,
        "an embedding computes nothing"
    );
    assert!(svg.contains("a &lt;device&gt;") && !svg.contains("<device>"));
    assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"));
    let lines = profile.text();
    assert!(lines.lines().all(|line| line.len() < 160), "{lines}");
    for part in ["prefill", "step", "layer.*.out", "&lt;embed", "product"] {
        assert_eq!(
            lines.contains(part),
            !part.starts_with('&'),
            "{part}: {lines}"
        );
    }
    Ok(())
}
