//! Instructions of a warp wait for the lanes that their mask names, as far as these have not left.

mod common;

use common::Bench;
use warpsmith_vgpu::{Awaited, Compile, Config, Error, FaultKind, Tier};

fn text(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 buf)
{{
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .f32 %f<16>;
  .reg .b64 %d<16>;
  .shared .align 16 .b8 tile[2048];
  ld.param.u64 %d0, [buf];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d1, %r0, 4;
  add.s64 %d1, %d0, %d1;
  shl.b32 %r29, %r0, 2;
  mov.u32 %r30, tile;
  add.u32 %r30, %r30, %r29;
  mov.u32 %r9, 77;
{body}
  st.global.u32 [%d1], %r9;
OUT:
  ret;
}}
"
    )
}

fn configs() -> impl Iterator<Item = Config> {
    let seeds = [None, Some(1), Some(2), Some(3)];
    let checks = [None, Some(warpsmith_vgpu::check::Checks::default())];
    seeds.into_iter().flat_map(move |seed| {
        checks.clone().map(|checks| Config {
            memory: 16 << 20,
            tier: Some(Tier::best()),
            compile: Compile::Always,
            workers: 1,
            closed: true,
            seed,
            checks,
            ..Config::default()
        })
    })
}

fn run(body: &str, block: u32, config: Config) -> (Result<(), Error>, Vec<u32>, usize) {
    let bench = Bench::with(&text(body), config);
    let buffer = bench.words(&[0; 128]);
    let ran = bench.run(1, block, &[buffer]);
    let found = bench.machine.take_findings().len();
    (ran, bench.read(buffer, 128), found)
}

/// The kernel ends without a finding, and thread t leaves `want(t)`.
fn ends(body: &str, block: u32, want: impl Fn(u32) -> u32) {
    for config in configs() {
        let (ran, left, found) = run(body, block, config.clone());
        let want: Vec<u32> = (0..block).map(&want).collect();
        assert_eq!((ran, found), (Ok(()), 0), "{body}\n{config:?}");
        assert_eq!(left[..block as usize], want, "{body}\n{config:?}");
    }
}

/// Lanes wait for lanes that never come, at the instruction that has `at` in it.
fn waits(body: &str, block: u32, at: &str) {
    let text = format!("{}{}", common::HEADER, text(body));
    for config in configs() {
        let (ran, _, _) = run(body, block, config.clone());
        let Err(Error::Fault(fault)) = ran else {
            panic!("{ran:?} of\n{body}\n{config:?}");
        };
        let FaultKind::Deadlock { waiting, .. } = &fault.kind else {
            panic!("{fault} of\n{body}\n{config:?}");
        };
        let first = &waiting[0];
        let line = first.span.to_string();
        let number = line.trim_start_matches("line ").split(':').next();
        let number: usize = number.and_then(|n| n.parse().ok()).expect("a line");
        let line = text.lines().nth(number - 1).expect("of the text");
        assert!(line.contains(at), "{line}: {fault}\n{body}\n{config:?}");
        assert!(matches!(first.awaits, Awaited::Lanes(_)), "{fault}");
    }
}

/// Every other lane runs `one`, the others `two`, and then all `both`.
fn arms(one: &str, two: &str, both: &str) -> String {
    format!(
        "and.b32 %r1, %r0, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra ODD;\n{one}\nbra JOIN;\nODD:\n{two}\nJOIN:\n{both}"
    )
}

#[test]
fn lanes_that_others_wait_for_must_come() {
    let exchanges = [
        "vote.sync.ballot.b32 %r9, %p1, -1;",
        "vote.sync.any.pred %p2, %p1, -1;",
        "shfl.sync.idx.b32 %r9, %r0, 0, 31, -1;",
        "shfl.sync.bfly.b32 %r9, %r0, 2, 31, -1;",
        "match.any.sync.b32 %r9, %r0, -1;",
        "redux.sync.add.u32 %r9, %r0, -1;",
        "elect.sync %r9|%p2, -1;",
        "bar.warp.sync -1;",
    ];
    for one in exchanges {
        waits(&arms(one, "", "bar.sync 0;"), 32, one);
        // The other lanes wait for something else of the warp.
        let other = if one.starts_with("vote") {
            "shfl.sync.idx.b32 %r9, %r0, 0, 31, -1;"
        } else {
            "vote.sync.ballot.b32 %r9, %p1, -1;"
        };
        for config in configs() {
            let (ran, _, _) = run(&arms(one, other, ""), 32, config);
            assert!(matches!(ran, Err(Error::Fault(_))), "{one}: {ran:?}");
        }
        // By a mask in a register, and right behind the branch.
        let masked = one.replace("-1", "%r8");
        let body = format!("mov.u32 %r8, -1;\n{}", arms(&masked, "", "bar.sync 0;"));
        waits(&body, 64, &masked);
    }
}

#[test]
fn lanes_that_have_left_are_not_waited_for() {
    let late = "and.b32 %r1, %r0, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra OUT;\n\
                vote.sync.ballot.b32 %r9, 1, -1;";
    let even = |t: u32| if t & 1 == 0 { 0x5555_5555 } else { 0 };
    ends(
        &late
            .replace("ballot.b32 %r9, 1", "ballot.b32 %r9, %p7")
            .replace("@%p1 bra OUT;", "@%p1 bra OUT;\nsetp.eq.u32 %p7, %r0, %r0;"),
        32,
        even,
    );
    // The others leave after the branch has joined, or at once: all lanes of the branch wait for all.
    let joined = "setp.gt.u32 %p1, %r0, 1;\nsetp.ne.u32 %p2, %r0, 0;\n@%p1 bra JOIN;\nst.global.u32 [%d1], %r0;\n\
                  bar.warp.sync -1;\nJOIN:\n@%p2 bra OUT;\nmov.u32 %r9, 5;";
    ends(joined, 32, |t| match t {
        0 => 5,
        1 => 1,
        _ => 0,
    });
}

#[test]
fn two_arms_may_have_their_own_masks_and_meet_at_a_barrier_of_the_warp() {
    let own = arms(
        "shfl.sync.idx.b32 %r9, %r0, 2, 31, 0x55555555;",
        "shfl.sync.idx.b32 %r9, %r0, 3, 31, 0xaaaaaaaa;",
        "",
    );
    ends(&own, 32, |t| 2 + t % 2);
    // Each arm waits for the other.
    let both = arms(
        "st.shared.u32 [%r30], %r0;\nbar.warp.sync -1;\nld.shared.u32 %r9, [%r30+4];",
        "st.shared.u32 [%r30], %r0;\nbar.warp.sync -1;\nld.shared.u32 %r9, [%r30+-4];",
        "",
    );
    ends(&both, 32, |t| t ^ 1);
    let masked = format!("mov.u32 %r8, -1;\n{}", both.replace("sync -1", "sync %r8"));
    ends(&masked, 64, |t| t ^ 1);
}

#[test]
fn lanes_leave_a_loop_that_votes() {
    // Lane t goes round t + 1 times; those that are left vote.
    let body = "mov.u32 %r2, 0;\nmov.u32 %r3, -1;\nmov.u32 %r9, 0;\nL:\nsetp.ge.u32 %p1, %r0, %r2;\n\
                vote.sync.ballot.b32 %r4, %p1, %r3;\n@!%p1 bra J;\nmov.u32 %r3, %r4;\npopc.b32 %r5, %r4;\n\
                add.u32 %r9, %r9, %r5;\nadd.u32 %r2, %r2, 1;\nbra L;\nJ:\n";
    ends(body, 32, |t| (0..=t).map(|round| 32 - round).sum());
    // Whoever runs together exchanges among themselves.
    let active = arms(
        "activemask.b32 %r8;\nvote.sync.ballot.b32 %r9, %p7, %r8;",
        "activemask.b32 %r8;\nvote.sync.ballot.b32 %r9, %p7, %r8;",
        "and.b32 %r9, %r9, 0;",
    );
    ends(&format!("setp.eq.u32 %p7, %r0, %r0;\n{active}"), 32, |_| 0);
}

#[test]
fn an_exchange_of_two_instructions_is_refused_by_name() {
    let body = arms(
        "vote.sync.ballot.b32 %r9, %p1, -1;",
        "vote.sync.ballot.b32 %r9, %p1, -1;",
        "",
    );
    for config in configs() {
        let (ran, _, _) = run(&body, 32, config);
        assert!(matches!(ran, Err(Error::Unsupported { .. })), "{ran:?}");
    }
}

#[test]
fn what_the_whole_warp_must_run_is_refused_to_a_part() {
    let all = [
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r3, %r4}, {%r5}, {%r6, %r7};",
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r3}, {%r5}, {%r6, %r7};",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r31];",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r31], {%r1};",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [tile];",
    ];
    let defined: String = (1..9).map(|r| format!("mov.u32 %r{r}, %r0;\n")).collect();
    let filled = "mov.u32 %r10, 0;\nZ:\nshl.b32 %r11, %r10, 7;\nadd.u32 %r11, %r30, %r11;\n\
                  st.shared.u32 [%r11], %r0;\nadd.u32 %r10, %r10, 1;\nsetp.lt.u32 %p3, %r10, 8;\n@%p3 bra Z;\n\
                  bar.warp.sync -1;\nshl.b32 %r31, %r0, 4;\nmov.u32 %r28, tile;\nadd.u32 %r31, %r31, %r28;\n";
    for inst in all {
        for (way, partial) in [("bra SKIP", true), ("exit", true), ("bra SKIP", false)] {
            let most = if partial { 16 } else { 32 };
            let body = format!(
                "{defined}{filled}setp.ge.u32 %p1, %r0, {most};\n@%p1 {way};\n{inst}\nSKIP:\nbar.warp.sync -1;"
            );
            for config in configs() {
                let checked = config.checks.is_some();
                let (ran, _, found) = run(&body, 32, config.clone());
                if !partial {
                    assert_eq!((ran, found), (Ok(()), 0), "{body}\n{config:?}");
                    continue;
                }
                let Err(Error::Fault(fault)) = ran else {
                    panic!("{ran:?} of\n{body}\n{config:?}");
                };
                let want = matches!(
                    fault.kind,
                    FaultKind::Partial {
                        lanes: 16,
                        of: 32,
                        ..
                    }
                );
                assert!(want, "{fault}\n{body}");
                assert_eq!(found > 0, checked, "{body}");
            }
        }
    }
}
