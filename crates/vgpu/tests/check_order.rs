//! The checker on what orders threads and launches: streams, events, `mbarrier`; and launches with a budget.

mod common;

use common::Bench;
use warpsmith_vgpu::{
    Config, Error, FaultKind, Launch, Stream, Tier,
    check::{Checks, Finding, Kind},
};

fn config() -> Config {
    Config {
        tier: Some(Tier::Baseline),
        memory: 64 << 20,
        workers: 1,
        checks: Some(Checks::default()),
        ..Config::default()
    }
}

/// Each thread writes an element, or reads it and writes one of the second half.
const FILL_AND_COPY: &str = ".visible .entry fill(.param .u64 buf) {
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [buf];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d1, %d0, %d1;
  st.global.u32 [%d1], %r0;
  ret;
}
.visible .entry copy(.param .u64 buf) {
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [buf];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d1, %d0, %d1;
  ld.global.u32 %r1, [%d1];
  st.global.u32 [%d1+2048], %r1;
  ret;
}
";

fn launch(bench: &Bench, stream: &Stream, kernel: &str, buffer: u64) {
    let launch = Launch {
        kernel: bench.module.kernel(kernel).expect("a kernel"),
        grid: [1, 1, 1],
        block: [64, 1, 1],
        dynamic_shared: 0,
        params: buffer.to_le_bytes().to_vec(),
        cooperative: false,
        cluster: None,
    };
    stream.launch(launch).expect("launches");
}

/// What is found if `fill` runs on one stream and `copy` on another, with `between` done in between.
fn two_streams(between: impl Fn(&Bench, &Stream, &Stream)) -> Vec<Finding> {
    let bench = Bench::with(FILL_AND_COPY, config());
    let buffer = bench.machine.alloc(4096).expect("memory");
    bench.machine.write(buffer, &[0; 4096]).expect("inside");
    let other = bench.machine.stream().expect("a stream");
    launch(&bench, &bench.stream, "fill", buffer);
    between(&bench, &bench.stream, &other);
    launch(&bench, &other, "copy", buffer);
    bench.stream.synchronize().expect("runs");
    other.synchronize().expect("runs");
    bench.machine.take_findings()
}

#[test]
fn launches_on_streams_that_nothing_orders_race() {
    // Whichever comes first, they clash.
    let found = two_streams(|_, _, _| {});
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, Kind::RaceGlobal);
    let other = found[0].other.as_ref().expect("the other one");
    let mut kernels = [found[0].place.kernel.to_string(), other.kernel.to_string()];
    kernels.sort();
    assert_eq!(kernels, ["copy", "fill"]);
    assert_eq!(found[0].count, 64);
}

#[test]
fn an_event_or_the_host_orders_launches() {
    let ordered = [
        two_streams(|_, one, two| two.wait(&one.record())),
        two_streams(|_, one, _| one.synchronize().expect("runs")),
        two_streams(|_, one, _| one.record().wait()),
        two_streams(|bench, one, _| {
            let start = bench.machine.alloc(16).expect("memory");
            one.fill(start, 0, 16).expect("inside");
            one.read(start, 16).expect("inside").wait().expect("runs");
        }),
    ];
    for (at, found) in ordered.iter().enumerate() {
        assert_eq!(found[..], [], "{at}");
    }
    // An event of before the launch orders nothing.
    let bench = Bench::with(FILL_AND_COPY, config());
    let buffer = bench.machine.alloc(4096).expect("memory");
    bench.machine.write(buffer, &[0; 4096]).expect("inside");
    let other = bench.machine.stream().expect("a stream");
    let early = bench.stream.record();
    launch(&bench, &bench.stream, "fill", buffer);
    other.wait(&early);
    launch(&bench, &other, "copy", buffer);
    bench.stream.synchronize().expect("runs");
    other.synchronize().expect("runs");
    assert_eq!(bench.machine.take_findings().len(), 1);
}

#[test]
fn a_replay_is_a_row_of_launches() {
    let bench = Bench::with(FILL_AND_COPY, config());
    let buffer = bench.machine.alloc(4096).expect("memory");
    bench.machine.write(buffer, &[0; 4096]).expect("inside");
    let each = ["fill", "copy", "fill"].map(|name| Launch {
        kernel: bench.module.kernel(name).expect("a kernel"),
        grid: [1, 1, 1],
        block: [64, 1, 1],
        dynamic_shared: 0,
        params: buffer.to_le_bytes().to_vec(),
        cooperative: false,
        cluster: None,
    });
    let prepared = bench.stream.prepare(each.to_vec()).expect("prepared");
    bench.stream.replay(&prepared).expect("enqueued");
    bench.stream.replay(&prepared).expect("enqueued");
    bench.stream.synchronize().expect("runs");
    assert_eq!(bench.machine.take_findings(), []);
}

/// Threads of a warp pass a word each to those of another, by an `mbarrier` for 32 arrivals.
fn by_object(arrive: &str, wait: &str) -> Vec<Kind> {
    let text = format!(
        ".visible .entry k(.param .u64 buf) {{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  .shared .align 8 .b64 object;
  .shared .align 16 .b32 words[32];
  ld.param.u64 %d0, [buf];
  mov.u32 %r0, %tid.x;
  setp.ne.u32 %p0, %r0, 0;
  @!%p0 mbarrier.init.shared.b64 [object], 32;
  bar.sync 0;
  and.b32 %r1, %r0, 31;
  shl.b32 %r1, %r1, 2;
  mov.u32 %r2, words;
  add.u32 %r2, %r2, %r1;
  setp.ge.u32 %p1, %r0, 32;
  @%p1 bra reader;
  st.shared.u32 [%r2], %r0;
  {arrive}
  bra done;
reader:
  {wait}
  ld.shared.u32 %r3, [%r2];
  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d1, %d0, %d1;
  st.global.u32 [%d1], %r3;
done:
  ret;
}}
"
    );
    let bench = Bench::with(&text, config());
    let buffer = bench.machine.alloc(4096).expect("memory");
    launch(&bench, &bench.stream, "k", buffer);
    bench.stream.synchronize().expect("runs");
    let found = bench.machine.take_findings();
    found.iter().map(|finding| finding.kind).collect()
}

const ARRIVE: &str = "mbarrier.arrive.shared.b64 %d2, [object];";
const WAIT: &str = "mbarrier.test_wait.parity.shared.b64 %p2, [object], 0;
  @!%p2 bra reader;";

#[test]
fn an_mbarrier_passes_what_its_arrivals_release() {
    assert_eq!(by_object(ARRIVE, WAIT), []);
    // Nobody waits.
    assert_eq!(by_object(ARRIVE, ""), [Kind::RaceShared]);
    // The arrival comes first.
    let early = by_object(
        "mbarrier.arrive.shared.b64 %d2, [object];
  st.shared.u32 [%r2], %r0;",
        WAIT,
    );
    assert_eq!(early, [Kind::RaceShared]);
}

#[test]
fn a_launch_stops_at_the_end_of_its_budget() {
    let text = ".visible .entry spin(.param .u64 buf) {
  .reg .b32 %r<4>;
again:
  add.u32 %r0, %r1, 1;
  bra again;
}
.visible .entry fill(.param .u64 buf) {
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [buf];
  st.global.u32 [%d0], 7;
  ret;
}
";
    for workers in [1, 2] {
        let bench = Bench::with(
            text,
            Config {
                workers,
                checks: None,
                budget: Some(100_000),
                ..config()
            },
        );
        let buffer = bench.machine.alloc(4).expect("memory");
        launch(&bench, &bench.stream, "spin", buffer);
        let error = bench.stream.synchronize().expect_err("stopped");
        let Error::Fault(fault) = &error else {
            panic!("{error}");
        };
        assert_eq!(
            fault.kind,
            FaultKind::Budget {
                instructions: 100_000
            }
        );
        assert!(error.to_string().contains("100000"), "{error}");
        // Each launch has its own.
        launch(&bench, &bench.stream, "fill", buffer);
        bench.stream.synchronize().expect("runs");
        let mut word = [0; 4];
        bench.machine.read(buffer, &mut word).expect("inside");
        assert_eq!(word, [7, 0, 0, 0]);
    }
}
