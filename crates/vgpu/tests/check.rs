//! The checker: each fault is found with its kind and line, and its twin that is right gives no report.

mod common;

use common::{Bench, HEADER};
use warpsmith_ptx::ir::Span;
use warpsmith_vgpu::{
    Config, Launch, Tier,
    check::{Checks, Finding, Kind},
};

/// Runs kernel `k(buf)` on `grid` x `block` over a buffer of `bytes` of which the first `written` are written.
fn run(body: &str, grid: u32, block: u32, bytes: u64, written: u64) -> Vec<Finding> {
    let text = format!(
        ".visible .entry k(.param .u64 buf)
{{
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %d<16>;
  .reg .f32 %f<8>;
  .shared .align 16 .b8 tile[512];
  .shared .align 16 .b8 next[512];
  ld.param.u64 %d0, [buf];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
{body}
  ret;
}}
"
    );
    let config = Config {
        tier: Some(Tier::Baseline),
        memory: 64 << 20,
        workers: 1,
        checks: Some(Checks::default()),
        ..Config::default()
    };
    let bench = Bench::with(&text, config);
    let buffer = bench.machine.alloc(bytes).expect("memory");
    bench
        .machine
        .write(buffer, &vec![0; written as usize])
        .expect("inside");
    let launch = Launch {
        kernel: bench.module.kernel("k").expect("a kernel"),
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        params: buffer.to_le_bytes().to_vec(),
        cooperative: false,
        cluster: None,
    };
    bench.stream.launch(launch).expect("launches");
    // A deadlock is an error as well as a finding.
    drop(bench.stream.synchronize());
    bench.machine.take_findings()
}

/// Lines of [`HEADER`] and of the kernel's own before the body.
fn first_line() -> u32 {
    HEADER.lines().count() as u32 + 11
}

/// Kind, line in the body from 1 on, and the other line, of each finding.
fn seen(findings: &[Finding]) -> Vec<(Kind, u32, Option<u32>)> {
    let line = |span: Span| match span {
        Span::Ptx { line, .. } => line.saturating_sub(first_line()),
        Span::None | Span::Rust(_) => 0,
    };
    findings
        .iter()
        .map(|finding| {
            let other = finding.other.as_ref().map(|place| line(place.span));
            (finding.kind, line(finding.place.span), other)
        })
        .collect()
}

fn clean(body: &str, grid: u32, block: u32) {
    let findings = run(body, grid, block, 4096, 4096);
    assert_eq!(seen(&findings), [], "{body}\n{findings:#?}");
}

fn fault(body: &str, grid: u32, block: u32, want: &[(Kind, u32, Option<u32>)]) {
    let findings = run(body, grid, block, 4096, 4096);
    assert_eq!(seen(&findings), want, "{body}\n{findings:#?}");
}

/// `%d1` is the address of element `%tid.x` of the buffer.
const OWN: &str = "  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d1, %d0, %d1;
";

#[test]
fn an_index_past_the_end_is_named_with_its_distance() {
    let body = format!("{OWN}  st.global.u32 [%d1+4092], %r0;");
    let findings = run(&body, 1, 32, 4096, 4096);
    assert_eq!(seen(&findings), [(Kind::OobGlobal, 3, None)]);
    let finding = &findings[0];
    assert_eq!((finding.count, finding.place.thread), (31, [1, 0, 0]));
    let allocation = finding.allocation.as_ref().expect("the buffer");
    assert_eq!((allocation.bytes, allocation.distance), (4096, 1));
    clean(&format!("{OWN}  st.global.u32 [%d1+3968], %r0;"), 1, 32);
}

#[test]
fn memory_of_each_space_ends_at_its_variables() {
    fault(
        "  shl.b32 %r2, %r0, 4;
  mov.u32 %r3, tile;
  add.u32 %r2, %r3, %r2;
  st.shared.u32 [%r2+1276], %r0;",
        1,
        2,
        &[(Kind::OobShared, 4, None)],
    );
    fault(
        "  st.global.u32 [%d0+2], %r0;",
        1,
        1,
        &[(Kind::Misaligned, 1, None)],
    );
    fault(
        "  cvta.shared.u64 %d1, tile;\n  st.global.u32 [%d1], %r0;",
        1,
        1,
        &[(Kind::BadSpace, 2, None)],
    );
}

#[test]
fn what_nobody_wrote_is_reported_where_it_matters() {
    let body =
        format!("{OWN}  ld.global.u32 %r2, [%d1];\n  mov.b32 %r3, %r2;\n  add.u32 %r4, %r3, 1;");
    let findings = run(&body, 1, 32, 4096, 64);
    assert_eq!(seen(&findings), [(Kind::UninitGlobal, 5, Some(3))]);
    // A copy of what nobody wrote is not yet wrong.
    let copy = format!("{OWN}  ld.global.u32 %r2, [%d1];\n  st.global.u32 [%d1+128], %r2;");
    assert_eq!(seen(&run(&copy, 1, 32, 4096, 64)), []);
    fault(
        "  ld.shared.f32 %f1, [tile];\n  add.f32 %f2, %f1, %f1;",
        1,
        1,
        &[(Kind::UninitShared, 2, Some(1))],
    );
    clean(
        "  st.shared.u32 [tile], %r0;\n  ld.shared.f32 %f1, [tile];\n  add.f32 %f2, %f1, %f1;",
        1,
        1,
    );
    fault(
        "  setp.eq.u32 %p1, %r0, 0;\n  @%p1 mov.u32 %r9, 5;\n  add.u32 %r10, %r9, 1;",
        1,
        32,
        &[(Kind::UninitRegister, 3, None)],
    );
}

#[test]
fn threads_of_a_cta_are_ordered_by_barriers_only() {
    let exchange = |between: &str| {
        format!(
            "  shl.b32 %r2, %r0, 2;
  mov.u32 %r3, tile;
  add.u32 %r2, %r3, %r2;
  st.shared.u32 [%r2], %r0;
{between}
  xor.b32 %r4, %r0, 32;
  shl.b32 %r4, %r4, 2;
  add.u32 %r4, %r3, %r4;
  ld.shared.u32 %r5, [%r4];
  add.u32 %r5, %r5, 1;"
        )
    };
    // The first warp also reads what the second has not written yet.
    let findings = run(&exchange(""), 1, 64, 4096, 4096);
    let uninit = (Kind::UninitShared, 10, Some(9));
    let races = [(4, 9), (9, 4)].map(|(at, other)| (Kind::RaceShared, at, Some(other)));
    assert_eq!(seen(&findings), [uninit, races[0], races[1]]);
    clean(&exchange("  bar.sync 0;"), 1, 64);
}

#[test]
fn lanes_of_a_warp_are_ordered_by_bar_warp_sync() {
    let exchange = |between: &str| {
        format!(
            "  shl.b32 %r2, %r0, 2;
  mov.u32 %r3, tile;
  add.u32 %r2, %r3, %r2;
  st.shared.u32 [%r2], %r0;
{between}
  xor.b32 %r4, %r2, 4;
  ld.shared.u32 %r5, [%r4];
  add.u32 %r5, %r5, 1;"
        )
    };
    fault(&exchange(""), 1, 32, &[(Kind::RaceShared, 7, Some(4))]);
    clean(&exchange("  bar.warp.sync -1;"), 1, 32);
}

#[test]
fn ctas_are_ordered_by_fence_and_flag_only() {
    fault(
        "  st.global.u32 [%d0], %r1;",
        2,
        1,
        &[(Kind::RaceGlobal, 1, Some(1))],
    );
    clean("  atom.global.add.u32 %r2, [%d0], 1;", 4, 32);
    // The last CTA reads what the others wrote.
    let last = |fence: &str| {
        format!(
            "  mul.wide.u32 %d1, %r1, 4;
  add.u64 %d1, %d0, %d1;
  st.global.u32 [%d1+16], %r1;
{fence}
  atom.global.add.u32 %r2, [%d0], 1;
  setp.ne.u32 %p1, %r2, 3;
  @%p1 ret;
{fence}
  ld.global.u32 %r3, [%d0+16];
  ld.global.u32 %r4, [%d0+20];
  add.u32 %r5, %r3, %r4;"
        )
    };
    clean(&last("  membar.gl;"), 4, 1);
    // Each thread fences its own writes, and one counts for all of them.
    clean(
        "  mul.wide.u32 %d1, %r1, 256;
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d1, %d1, %d2;
  add.u64 %d1, %d0, %d1;
  st.global.u32 [%d1+64], %r1;
  membar.gl;
  bar.sync 0;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra ON;
  atom.global.add.u32 %r2, [%d0], 1;
  st.shared.u32 [tile], %r2;
ON:
  bar.sync 0;
  ld.shared.u32 %r2, [tile];
  setp.ne.u32 %p1, %r2, 3;
  @%p1 ret;
  membar.gl;
  add.u64 %d3, %d0, %d2;
  ld.global.u32 %r3, [%d3+64];
  ld.global.u32 %r4, [%d3+320];
  add.u32 %r5, %r3, %r4;",
        4,
        64,
    );
    let findings = run(&last(""), 4, 1, 4096, 4096);
    assert!(
        findings.iter().all(|f| f.kind == Kind::RaceGlobal) && !findings.is_empty(),
        "{findings:#?}"
    );
}

#[test]
fn barriers_take_whole_warps_and_must_fill() {
    fault(
        "  setp.lt.u32 %p1, %r0, 16;
  @!%p1 bra SKIP;
  bar.sync 0;
SKIP:
  bar.sync 0;",
        1,
        32,
        &[(Kind::BarrierDivergence, 3, None)],
    );
    clean("  barrier.sync 0;\n  bar.sync 0;", 1, 64);
    // Lanes that come to a barrier apart are ordered by it.
    let apart = |barrier: &str| {
        format!(
            "  shl.b32 %r2, %r0, 2;
  mov.u32 %r3, tile;
  add.u32 %r2, %r3, %r2;
  and.b32 %r4, %r0, 1;
  setp.eq.u32 %p1, %r4, 1;
  st.shared.u32 [%r2], %r0;
  @%p1 bra ODD;
{barrier}
  bra JOIN;
ODD:
{barrier}
JOIN:
  xor.b32 %r4, %r2, 4;
  ld.shared.u32 %r5, [%r4];
  add.u32 %r5, %r5, 1;"
        )
    };
    clean(&apart("  barrier.sync 0;"), 1, 64);
    let findings = run("  bar.sync 1, 96;", 1, 64, 64, 64);
    assert_eq!(seen(&findings), [(Kind::BarrierCount, 1, None)]);
}

#[test]
fn shuffles_read_lanes_that_take_part() {
    let reads = |then: &str| {
        format!(
            "{OWN}  setp.lt.u32 %p1, %r0, 16;
  @!%p1 bra OUT;
  shfl.sync.idx.b32 %r2, %r0, 20, 31, 0xffff;
{then}
OUT:"
        )
    };
    // What nobody uses does not matter; what is computed of it and dropped does not either.
    let dropped = [
        "",
        "  add.u32 %r3, %r2, 1;\n  mov.u32 %r3, 5;\n  st.global.u32 [%d1], %r3;",
        "  add.u32 %r3, %r2, 1;\n  setp.gt.u32 %p2, %r0, 40;\n  selp.u32 %r3, %r3, 7, %p2;\n  st.global.u32 [%d1], %r3;",
        "  setp.gt.u32 %p2, %r2, 3;\n  setp.lt.or.u32 %p3, %r0, 99, %p2;\n  mov.u32 %r2, 4;\n  st.global.u32 [%d1], %r2;",
        "  setp.gt.u32 %p2, %r0, 40;\n  mov.u32 %r3, 1;\n  @%p2 add.u32 %r3, %r3, %r2;\n  st.global.u32 [%d1], %r3;",
        "  shfl.sync.idx.b32 %r3, %r2, 4, 31, 0xffff;\n  shfl.sync.idx.b32 %r2, %r0, 4, 31, 0xffff;\n  st.global.u32 [%d1], %r2;",
    ];
    for then in dropped {
        clean(&reads(then), 1, 32);
    }
    let used = [
        ("  st.global.u32 [%d1], %r2;", 6),
        (
            "  mul.lo.u32 %r3, %r2, %r2;\n  st.global.u32 [%d1], %r3;",
            7,
        ),
        ("  setp.eq.u32 %p2, %r2, 7;\n  @%p2 bra OUT;", 7),
        (
            "  setp.eq.u32 %p2, %r2, 7;\n  @%p2 st.global.u32 [%d1], %r0;",
            7,
        ),
        (
            "  and.b32 %r3, %r2, 4;\n  cvt.u64.u32 %d3, %r3;\n  add.u64 %d3, %d0, %d3;\n  ld.global.u32 %r4, [%d3];",
            9,
        ),
        ("  atom.global.add.u32 %r3, [%d0], %r2;", 6),
        (
            "  shfl.sync.idx.b32 %r3, %r2, 4, 31, 0xffff;\n  st.global.u32 [%d1], %r3;",
            7,
        ),
        (
            "  setp.gt.u32 %p2, %r0, 3;\n  selp.u32 %r3, %r2, 7, %p2;\n  st.global.u32 [%d1], %r3;",
            8,
        ),
        (
            "  setp.gt.u32 %p2, %r2, 3;\n  selp.u32 %r3, 1, 7, %p2;\n  st.global.u32 [%d1], %r3;",
            8,
        ),
        ("  redux.sync.add.u32 %r3, %r2, 0xffff;", 6),
    ];
    for (then, line) in used {
        fault(&reads(then), 1, 32, &[(Kind::ShflInactive, line, Some(5))]);
    }
    fault(
        "  shfl.sync.bfly.b32 %r2, %r0, 1, 31, 0xfffe;",
        1,
        32,
        &[(Kind::Mask, 1, None)],
    );
    let whole =
        format!("{OWN}  shfl.sync.bfly.b32 %r2, %r0, 16, 31, -1;\n  st.global.u32 [%d1], %r2;");
    clean(&whole, 1, 32);
}

#[test]
fn asynchronous_copies_are_waited_for() {
    let copy = |wait: &str| {
        format!(
            "  mov.u32 %r2, tile;
  cp.async.ca.shared.global [%r2], [%d0], 16;
  cp.async.commit_group;
{wait}
  ld.shared.u32 %r3, [%r2];
  add.u32 %r4, %r3, 1;"
        )
    };
    fault(&copy(""), 1, 1, &[(Kind::AsyncEarly, 5, Some(2))]);
    clean(&copy("  cp.async.wait_group 0;"), 1, 1);
    fault(
        &copy("  cp.async.wait_group 1;"),
        1,
        1,
        &[(Kind::AsyncEarly, 5, Some(2))],
    );
}

#[test]
fn memory_that_was_given_back_or_never_written_or_never_given_back() {
    let config = Config {
        memory: 1 << 20,
        workers: 1,
        checks: Some(Checks::default()),
        ..Config::default()
    };
    let text = ".visible .entry k(.param .u64 buf)\n{\n  .reg .b64 %d<2>;\n  ld.param.u64 %d0, [buf];\n  st.global.u32 [%d0], 7;\n  ret;\n}\n";
    let bench = Bench::with(text, config);
    let buffer = bench.machine.alloc(8).expect("memory");
    let launch = || Launch {
        kernel: bench.module.kernel("k").expect("a kernel"),
        grid: [1, 1, 1],
        block: [1, 1, 1],
        dynamic_shared: 0,
        params: buffer.to_le_bytes().to_vec(),
        cooperative: false,
        cluster: None,
    };
    let kinds = || -> Vec<Kind> {
        let findings = bench.machine.take_findings();
        findings.iter().map(|finding| finding.kind).collect()
    };
    bench.stream.launch(launch()).expect("launches");
    bench.stream.synchronize().expect("runs");
    bench.machine.read(buffer, &mut [0; 4]).expect("inside");
    assert_eq!(kinds(), []);
    bench.machine.read(buffer, &mut [0; 8]).expect("inside");
    assert_eq!(kinds(), [Kind::UnwrittenOutput]);
    bench.machine.check_leaks(|_| true);
    assert_eq!(kinds(), [Kind::Leak]);
    bench.machine.free(buffer).expect("allocated");
    bench.machine.check_leaks(|_| true);
    assert_eq!(kinds(), []);
    bench.stream.launch(launch()).expect("launches");
    bench.stream.synchronize().expect("runs");
    assert_eq!(kinds(), [Kind::UseAfterFree]);
}

#[test]
fn another_seed_is_another_order_with_the_same_result_each_time() {
    // The last thread to come leaves its number: what that is depends on the order.
    let text = ".visible .entry k(.param .u64 buf)
{
  .reg .b32 %r<4>;
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [buf];
  mov.u32 %r0, %ctaid.x;
  atom.global.exch.b32 %r1, [%d0], %r0;
  ret;
}
";
    let last = |seed: u64| {
        let config = Config {
            memory: 1 << 20,
            seed: Some(seed),
            checks: Some(Checks::default()),
            ..Config::default()
        };
        let bench = Bench::with(text, config);
        let buffer = bench.words(&[0]);
        bench.run(37, 64, &[buffer]).expect("runs");
        assert_eq!(seen(&bench.machine.take_findings()), []);
        bench.read(buffer, 1)[0]
    };
    let found: Vec<u32> = (0..8).map(last).collect();
    assert_eq!(found, (0..8).map(last).collect::<Vec<_>>());
    let mut different = found.clone();
    different.sort_unstable();
    different.dedup();
    assert!(different.len() > 3, "{found:?}");
}

#[test]
fn addresses_at_both_ends_of_the_world_are_reports() {
    for address in ["0xffffffffffffffff", "0", "0x7fffffffffffffff"] {
        let body = format!("  mov.u64 %d1, {address};\n  ld.global.u8 %r2, [%d1];");
        fault(&body, 1, 1, &[(Kind::OobGlobal, 2, None)]);
    }
    fault(
        "  mov.u32 %r2, 0xffffffff;\n  ld.shared.u8 %r3, [%r2];",
        1,
        1,
        &[(Kind::OobShared, 2, None)],
    );
}

#[test]
fn a_guess_that_a_swap_confirms_is_no_race() {
    // Threads of all CTAs add to one word: `first` reads it, `again` says what is compared next.
    let body = |first: &str, compared: &str, again: &str| {
        format!(
            "  {first}
again:
  add.u32 %r4, %r3, 1;
  atom.global.cas.b32 %r5, [%d0], {compared}, %r4;
  setp.ne.u32 %p0, %r5, %r3;
  {again}
  @%p0 bra again;"
        )
    };
    let plain = "ld.global.u32 %r3, [%d0];";
    clean(&body(plain, "%r3", "mov.u32 %r3, %r5;"), 3, 64);
    // Compared as a copy.
    let copied = "ld.global.u32 %r6, [%d0];\n  mov.u32 %r3, %r6;";
    clean(&body(copied, "%r3", "mov.u32 %r3, %r5;"), 3, 64);
    // What is read elsewhere, or not compared, is nothing that the swap looks at.
    let found = |text: &str| seen(&run(text, 3, 64, 4096, 4096));
    let beside = "ld.global.u32 %r3, [%d0];\n  ld.global.u32 %r7, [%d0];";
    let other = body(beside, "%r3", "mov.u32 %r3, %r5;");
    let [(kind, ..), ..] = found(&other)[..] else {
        panic!("a race");
    };
    assert_eq!(kind, Kind::RaceGlobal);
    let constant = body(plain, "0", "setp.ne.u32 %p0, %r5, %r5;");
    assert!(!found(&constant).is_empty());
    // A swap for its own CTA confirms nothing that other CTAs do.
    let within = body(plain, "%r3", "mov.u32 %r3, %r5;").replace("atom.global", "atom.cta.global");
    assert!(!found(&within).is_empty());
    clean(&within, 1, 64);
}
