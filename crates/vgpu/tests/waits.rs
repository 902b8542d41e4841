//! Launches in which threads wait for what never comes are deadlocks that name who waits where; those that wait for what
//! comes late end.

mod common;

use common::Bench;
use std::time::Duration;
use warpsmith_ptx::ir::Span;
use warpsmith_vgpu::{
    Awaited, Compile, Config, Error, FaultKind, Tier, Waiting,
    check::{Checks, Kind},
};

/// Words of the buffer `a`, and of `b` behind it.
const WORDS: usize = 256;

fn text(body: &str) -> String {
    format!(
        ".visible .func (.param .b32 out) look(.param .b64 at)
{{
  .reg .b32 %x;
  .reg .b64 %y;
  ld.param.u64 %y, [at];
  ld.volatile.global.u32 %x, [%y];
  st.param.b32 [out], %x;
  ret;
}}
.visible .entry k(.param .u64 buf)
{{
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %d<16>;
  .shared .align 16 .b8 tile[512];
  ld.param.u64 %d0, [buf];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %d1, %r0, 4;
  add.s64 %d1, %d0, %d1;
{body}
  ret;
}}
"
    )
}

/// Lines before the body.
fn first_line() -> u32 {
    text("@").lines().position(|line| line == "@").unwrap_or(0) as u32
        + common::HEADER.lines().count() as u32
}

/// Ways to run a kernel.
fn configs() -> Vec<Config> {
    let plain = || Config {
        memory: 16 << 20,
        tier: Some(Tier::best()),
        compile: Compile::Always,
        sms: 2,
        ctas_per_sm: 2,
        workers: 1,
        closed: true,
        ..Config::default()
    };
    let mut all = vec![
        plain(),
        Config {
            workers: 3,
            ..plain()
        },
        Config {
            checks: Some(Checks::default()),
            ..plain()
        },
    ];
    all.extend((0..3).map(|seed| Config {
        seed: Some(seed),
        ..plain()
    }));
    all
}

/// Runs a kernel; what its threads wait for at the end, by the line of the body, and what is left in the buffer.
fn run(body: &str, grid: u32, block: u32, config: Config) -> (Result<(), Error>, Vec<u32>) {
    let bench = Bench::with(&text(body), config);
    let buffer = bench.words(&[0; WORDS]);
    let ran = bench.run(grid, block, &[buffer]);
    if let Err(Error::Fault(fault)) = &ran
        && matches!(fault.kind, FaultKind::Deadlock { .. })
        && bench.machine.config().checks.is_some()
    {
        let found = bench.machine.take_findings();
        let kinds: Vec<Kind> = found.iter().map(|one| one.kind).collect();
        assert!(kinds.contains(&Kind::Deadlock), "{body}\n{kinds:?}");
    }
    (ran, bench.read(buffer, WORDS))
}

fn line(span: Span) -> u32 {
    match span {
        Span::Ptx { line, .. } => line - first_line(),
        Span::None | Span::Rust(_) => 0,
    }
}

/// The kernel never ends: the first that waits does so at `line` of the body, and is as `fits` says.
fn stuck(body: &str, grid: u32, block: u32, at: u32, fits: impl Fn(&Waiting, u64) -> bool) {
    for config in configs() {
        let (ran, _) = run(body, grid, block, config.clone());
        let Err(Error::Fault(fault)) = ran else {
            panic!("{ran:?} of\n{body}\n{config:?}");
        };
        let FaultKind::Deadlock { waiting, not_begun } = &fault.kind else {
            panic!("{fault} of\n{body}\n{config:?}");
        };
        let first = waiting.first().expect("somebody waits");
        let fine = line(first.span) == at && fits(first, *not_begun);
        assert!(
            fine,
            "line {}: {fault}\n{body}\n{config:?}",
            line(first.span)
        );
    }
}

/// The kernel ends, and leaves `want` in the first words of the buffer.
fn ends(body: &str, grid: u32, block: u32, want: &[u32]) {
    for config in configs() {
        let (ran, left) = run(body, grid, block, config.clone());
        assert_eq!(ran, Ok(()), "{body}\n{config:?}");
        assert_eq!(left[..want.len()], *want, "{body}\n{config:?}");
    }
}

fn word(waiting: &Waiting, want: u64, in_shared: bool) -> bool {
    matches!(waiting.awaits, Awaited::Word { value, shared, .. } if value == want && shared == in_shared)
}

#[test]
fn a_poll_that_nobody_answers_is_a_deadlock() {
    let polls = [
        "atom.global.add.u32 %r5, [%d0], 0;",
        "ld.volatile.global.u32 %r5, [%d0];",
        "ld.acquire.gpu.global.u32 %r5, [%d0];",
        "ld.global.u32 %r5, [%d0];",
        "atom.global.cas.b32 %r5, [%d0], 5, 6;",
        "atom.global.exch.b32 %r5, [%d0], 0;",
        "atom.global.max.u32 %r5, [%d0], 0;",
        "atom.global.or.b32 %r5, [%d0], 0;",
    ];
    for poll in polls {
        let body = format!("L:\n{poll}\nsetp.ne.u32 %p1, %r5, 7;\n@%p1 bra L;");
        for (grid, block) in [(1, 1), (1, 32), (2, 96)] {
            stuck(&body, grid, block, 2, |first, _| word(first, 0, false));
        }
    }
}

#[test]
fn what_only_counts_polls_hides_nothing() {
    for more in [
        "add.u32 %r6, %r6, 1;",
        "add.u32 %r6, %r6, %r0;\nmul.lo.u32 %r7, %r6, %r6;",
        "nanosleep.u32 %r6;\nadd.u32 %r6, %r6, %r6;\nmin.u32 %r6, %r6, 64;",
        "mov.u32 %r6, %clock;",
        "st.global.u32 [%d0+64], %r9;",
        "membar.gl;",
    ] {
        let body = format!(
            "mov.u32 %r6, 1;\nmov.u32 %r9, 3;\nL:\nld.volatile.global.u32 %r5, [%d0];\n{more}\n\
             setp.eq.u32 %p1, %r5, 0;\n@%p1 bra L;\nst.global.u32 [%d0+4], %r6;"
        );
        stuck(&body, 1, 33, 4, |first, _| {
            matches!(first.awaits, Awaited::Word { .. })
        });
    }
}

#[test]
fn an_empty_loop_waits_for_nothing() {
    stuck("L:\nbra L;", 1, 32, 2, |first, _| {
        first.awaits == Awaited::Nothing
    });
    // The load was moved out of the loop.
    let hoisted = "ld.global.u32 %r5, [%d0];\nsetp.eq.u32 %p1, %r5, 0;\nL:\n@%p1 bra L;";
    for config in configs() {
        let (ran, _) = run(hoisted, 1, 32, config);
        let Err(Error::Fault(fault)) = ran else {
            panic!("{ran:?}");
        };
        assert!(matches!(fault.kind, FaultKind::Deadlock { .. }), "{fault}");
    }
}

#[test]
fn an_mbarrier_that_never_fills_is_a_deadlock() {
    let body = "setp.eq.u32 %p1, %r0, 0;\n@%p1 mbarrier.init.shared.b64 [tile], 64;\nbar.sync 0;\n\
                mbarrier.arrive.shared.b64 %d6, [tile];\nW:\nmbarrier.test_wait.shared.b64 %p2, [tile], %d6;\n\
                @!%p2 bra W;";
    stuck(body, 1, 32, 6, |first, _| {
        let Awaited::Phase {
            parity: 0,
            missing: 32,
            expected: 64,
            bytes: 0,
            ..
        } = first.awaits
        else {
            return false;
        };
        first.to_string().contains("phase of parity 0")
            && first.to_string().contains("32 of 64 arrivals missing")
    });
    let fills = body.replace("64;", "32;");
    ends(
        &format!("{fills}\nst.global.u32 [%d1], %r0;"),
        1,
        32,
        &[0, 1, 2],
    );
}

#[test]
fn warps_that_wait_at_barriers_are_named_beside_those_that_spin() {
    let body = "setp.ge.u32 %p1, %r0, 32;\n@%p1 bra J;\nL:\nld.volatile.shared.u32 %r5, [tile];\n\
                setp.ne.u32 %p2, %r5, 9;\n@%p2 bra L;\nJ:\nbar.sync 0;";
    let body = format!("mov.u32 %r4, 1;\nst.volatile.shared.u32 [tile], %r4;\nbar.sync 0;\n{body}");
    for config in configs() {
        let (ran, _) = run(&body, 1, 96, config);
        let Err(Error::Fault(fault)) = ran else {
            panic!("{ran:?}");
        };
        let FaultKind::Deadlock { waiting, .. } = &fault.kind else {
            panic!("{fault}");
        };
        let spins = waiting.iter().filter(|one| word(one, 1, true));
        let lanes: u32 = spins.map(|one| one.lanes.count_ones()).sum();
        let at_barrier = waiting
            .iter()
            .filter(|one| one.awaits == Awaited::Barrier(0));
        assert_eq!((lanes, at_barrier.count()), (32, 2), "{fault}");
    }
    // A loop with a barrier in it.
    let body = "L:\nbar.sync 0;\nld.volatile.global.u32 %r5, [%d0];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra L;";
    for config in configs() {
        let (ran, _) = run(body, 1, 96, config);
        let Err(Error::Fault(fault)) = ran else {
            panic!("{ran:?}");
        };
        assert!(matches!(fault.kind, FaultKind::Deadlock { .. }), "{fault}");
    }
}

#[test]
fn a_spin_in_a_function_is_found() {
    let body = "L:\n{\n.param .b64 p;\n.param .b32 q;\nst.param.b64 [p], %d0;\ncall.uni (q), look, (p);\n\
                ld.param.b32 %r5, [q];\n}\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra L;";
    for config in configs() {
        let (ran, _) = run(body, 1, 32, config);
        let Err(Error::Fault(fault)) = ran else {
            panic!("{ran:?}");
        };
        let FaultKind::Deadlock { waiting, .. } = &fault.kind else {
            panic!("{fault}");
        };
        // What the function reads, and not where it returns it.
        assert!(word(&waiting[0], 0, false), "{fault}");
        assert!(
            matches!(waiting[0].span, Span::Ptx { line: LOOK, .. }),
            "{fault}"
        );
    }
}

/// The line of the module at which `look` reads.
const LOOK: u32 = 9;

#[test]
fn a_clock_that_only_chooses_how_to_wait_hides_no_deadlock() {
    let polls = [
        (
            "ld.volatile.global.u32 %r5, [%d0];",
            "setp.eq.u32 %p1, %r5, 0;",
        ),
        (
            "atom.global.cas.b32 %r5, [%d0], 5, 6;",
            "setp.eq.u32 %p1, %r5, 0;",
        ),
    ];
    // Sleeps that grow with the time; one of two ways; a choice of a value; who happens to run.
    let ways = [
        "mov.u64 %d4, %globaltimer;\nsub.s64 %d4, %d4, %d3;\nsetp.lt.s64 %p3, %d4, 4000;\n@%p3 bra S;\n\
         setp.gt.s64 %p4, %d4, 4000000;\n@%p4 bra M;\ncvt.u32.u64 %r7, %d4;\nshr.u32 %r7, %r7, 12;\n\
         nanosleep.u32 %r7;\nbra S;\nM:\nnanosleep.u32 64;\nS:",
        "mov.u32 %r7, %clock;\nand.b32 %r7, %r7, 64;\nsetp.ne.u32 %p3, %r7, 0;\n@%p3 nanosleep.u32 20;",
        "mov.u32 %r7, %clock;\nand.b32 %r7, %r7, 1;\nsetp.ne.u32 %p3, %r7, 0;\nmov.u32 %r8, 8;\n\
         @%p3 bra S;\nmov.u32 %r8, 16;\nS:\nnanosleep.u32 %r8;",
        "activemask.b32 %r7;\nsetp.ne.u32 %p3, %r7, 1;\n@%p3 bra S;\nnanosleep.u32 20;\nS:",
    ];
    for (poll, test) in polls {
        for way in ways {
            let body =
                format!("mov.u64 %d3, %globaltimer;\nL:\n{poll}\n{way}\n{test}\n@%p1 bra L;");
            stuck(&body, 1, 1, 3, |first, _| word(first, 0, false));
        }
    }
    let barrier = "setp.eq.u32 %p1, %r0, 0;\n@%p1 mbarrier.init.shared.b64 [tile], 64;\nbar.sync 0;\n\
                   mbarrier.arrive.shared.b64 %d6, [tile];\nmov.u64 %d3, %globaltimer;\nW:\n\
                   mbarrier.test_wait.shared.b64 %p2, [tile], %d6;\n@%p2 bra OUT;\n\
                   mov.u64 %d4, %globaltimer;\nsub.s64 %d4, %d4, %d3;\nsetp.lt.s64 %p3, %d4, 4000;\n\
                   @%p3 bra W;\nnanosleep.u32 20;\nbra W;\nOUT:";
    stuck(barrier, 1, 32, 7, |first, _| {
        matches!(first.awaits, Awaited::Phase { parity: 0, .. })
    });
}

#[test]
fn a_clock_that_ends_a_wait_is_no_deadlock() {
    let start = "mov.u64 %d3, %globaltimer;\nadd.s64 %d3, %d3, 30000000;\nmov.u32 %r7, 8;\nmov.u32 %r6, 0;\nL:\n\
                 ld.volatile.global.u32 %r5, [%d0];\nmov.u64 %d4, %globaltimer;\nsetp.gt.u64 %p1, %d4, %d3;";
    let end = "\nOUT:\nst.global.u32 [%d0+4], %r7;";
    for way in [
        // By a flag that is set on one of two ways, by a value, by a store that others see, and within another loop.
        "@!%p1 bra S;\nmov.u32 %r6, 1;\nS:\nsetp.eq.u32 %p2, %r6, 1;\n@%p2 bra OUT;\nbra L;",
        "selp.u32 %r6, 1, 0, %p1;\nor.b32 %r5, %r5, %r6;\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra L;",
        "@%p1 st.volatile.global.u32 [%d0], %r7;\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra L;",
        "@!%p1 bra S;\natom.global.add.u32 %r9, [%d0], 1;\nS:\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra L;",
        "@!%p1 bra L;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, 3;\n@%p2 bra L;",
    ] {
        let body = format!("{start}\n{way}{end}");
        for config in configs() {
            let (ran, left) = run(&body, 1, 1, config.clone());
            assert_eq!(ran, Ok(()), "{body}\n{config:?}");
            assert_eq!(left[1], 8, "{body}\n{config:?}");
        }
    }
}

/// Every CTA waits at a counter until all have come, `rounds` times.
fn meet(rounds: u32) -> String {
    format!(
        "mov.u32 %r2, %nctaid.x;\nmov.u32 %r3, 0;\nmov.u32 %r7, 0;\nAGAIN:\nbar.sync 0;\n\
         setp.ne.u32 %p1, %r0, 0;\n@%p1 bra J;\nadd.u32 %r7, %r7, %r2;\nmembar.gl;\n\
         atom.global.add.u32 %r5, [%d0], 1;\nL:\natom.global.add.u32 %r5, [%d0], 0;\n\
         setp.lt.u32 %p2, %r5, %r7;\n@%p2 bra L;\nmembar.gl;\nJ:\nbar.sync 0;\n\
         add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, {rounds};\n@%p3 bra AGAIN;"
    )
}

#[test]
fn ctas_that_wait_for_each_other_go_on_as_far_as_they_fit() {
    // The device holds four.
    for grid in 1..=4 {
        ends(&meet(5), grid, 64, &[grid * 5]);
    }
    stuck(&meet(5), 7, 64, 12, |first, not_begun| {
        word(first, 4, false) && not_begun == 3
    });
}

#[test]
fn who_does_more_than_poll_while_it_waits_lets_others_run() {
    // The last of four CTAs sets a flag; the others also look at a clock, count in memory, or count towards an end.
    let wait = |more: &str| {
        format!(
            "mov.u64 %d3, %clock64;\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d2, %d0, %d2;\nmov.u32 %r6, 0;\n\
             setp.eq.u32 %p1, %r1, 3;\n@%p1 bra SET;\nL:\nld.volatile.global.u32 %r5, [%d0];\n{more}\n\
             setp.eq.u32 %p2, %r5, 0;\n@%p2 bra L;\nbra OUT;\nSET:\nmov.u32 %r7, 8;\n\
             st.volatile.global.u32 [%d0], %r7;\nOUT:"
        )
    };
    for more in [
        "mov.u64 %d4, %clock64;\nsub.s64 %d4, %d4, %d3;\nsetp.gt.s64 %p3, %d4, 4000000000000;\n@%p3 trap;",
        "add.u32 %r6, %r6, 1;\nsetp.eq.u32 %p3, %r6, 2000000000;\n@%p3 trap;",
        "atom.global.add.u32 %r8, [%d2+64], 1;",
        "mov.u32 %r8, tile;\nld.shared.u32 %r9, [%r8];\nadd.u32 %r9, %r9, 1;\nst.shared.u32 [%r8], %r9;",
    ] {
        ends(&wait(more), 4, 1, &[8]);
    }
}

#[test]
fn what_comes_late_is_no_deadlock() {
    // CTA i waits for CTA i + 1, which began after it.
    let chain = "add.u32 %r2, %r1, 1;\nmov.u32 %r3, %nctaid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d2, %d0, %d2;\n\
                 setp.eq.u32 %p1, %r2, %r3;\n@%p1 bra GO;\nL:\nld.acquire.gpu.global.u32 %r5, [%d2+4];\n\
                 setp.eq.u32 %p2, %r5, 0;\n@%p2 bra L;\nGO:\nst.release.gpu.global.u32 [%d2], %r2;";
    ends(chain, 4, 32, &[1, 2, 3, 4]);
    // The other CTA computes for long, and stores nothing meanwhile.
    let slow = "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra WAIT;\nmov.u32 %r4, 1;\nmov.u32 %r5, 0;\nC:\n\
                mad.lo.u32 %r4, %r4, 1664525, 1013904223;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p2, %r5, 100000;\n\
                @%p2 bra C;\nor.b32 %r4, %r4, 1;\nst.release.gpu.global.u32 [%d0+4], %r4;\nret;\nWAIT:\n\
                ld.acquire.gpu.global.u32 %r6, [%d0+4];\nsetp.eq.u32 %p3, %r6, 0;\n@%p3 bra WAIT;\n\
                mov.u32 %r7, 8;\nst.global.u32 [%d0], %r7;";
    ends(slow, 2, 1, &[8]);
    // Who gives up after so many polls.
    let patient = "mov.u32 %r6, 0;\nL:\nld.volatile.global.u32 %r5, [%d0];\nadd.u32 %r6, %r6, 1;\n\
                   setp.gt.u32 %p1, %r6, 100000;\n@%p1 bra OUT;\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra L;\nOUT:\n\
                   st.global.u32 [%d0+4], %r6;";
    ends(patient, 1, 1, &[0, 100_001]);
    // Who gives up after a time.
    let timed = "mov.u64 %d3, %globaltimer;\nadd.s64 %d3, %d3, 30000000;\nL:\n\
                 ld.volatile.global.u32 %r5, [%d0];\nmov.u64 %d4, %globaltimer;\nsetp.gt.u64 %p1, %d4, %d3;\n\
                 @%p1 bra OUT;\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra L;\nOUT:\nmov.u32 %r7, 8;\n\
                 st.global.u32 [%d0+4], %r7;";
    ends(timed, 1, 32, &[0, 8]);
    // Two warps answer each other many times.
    let ping = "shr.u32 %r2, %r0, 5;\nand.b32 %r3, %r0, 31;\nmov.u32 %r4, 0;\nsetp.eq.u32 %p5, %r0, 0;\n\
                @%p5 st.volatile.shared.u32 [tile], %r4;\nbar.sync 0;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 ret;\nL:\n\
                ld.volatile.shared.u32 %r5, [tile];\nand.b32 %r6, %r5, 1;\nsetp.ne.u32 %p2, %r6, %r2;\n@%p2 bra L;\n\
                add.u32 %r5, %r5, 1;\nst.volatile.shared.u32 [tile], %r5;\nsetp.lt.u32 %p3, %r5, 600;\n@%p3 bra L;\n\
                st.global.u32 [%d1], %r5;";
    ends(ping, 1, 64, &[601]);
}

#[test]
fn lanes_of_a_warp_take_turns_at_a_lock() {
    let body = "L:\natom.global.cas.b32 %r5, [%d0], 0, 1;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra L;\n\
                ld.volatile.global.u32 %r6, [%d0+4];\nadd.u32 %r6, %r6, 1;\nst.volatile.global.u32 [%d0+4], %r6;\n\
                membar.gl;\natom.global.exch.b32 %r7, [%d0], 0;";
    ends(body, 4, 64, &[0, 256]);
}

#[test]
fn what_changes_memory_for_ever_is_stopped_by_its_budget() {
    let body = "L:\natom.global.xor.b32 %r5, [%d0], 1;\nsetp.ne.u32 %p1, %r5, 7;\n@%p1 bra L;";
    for config in configs() {
        let budget = Config {
            budget: Some(400_000),
            ..config
        };
        let (ran, _) = run(body, 1, 1, budget);
        let Err(Error::Fault(fault)) = ran else {
            panic!("{ran:?}");
        };
        assert!(matches!(fault.kind, FaultKind::Budget { .. }), "{fault}");
    }
}

#[test]
fn a_kernel_may_wait_for_the_host() -> Result<(), Error> {
    let body = "L:\nld.volatile.global.u32 %r5, [%d0];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra L;\n\
                st.global.u32 [%d0+4], %r5;";
    let bench = Bench::with(
        &text(body),
        Config {
            closed: false,
            ..configs().remove(0)
        },
    );
    let words = bench.machine.alloc_words(8)?;
    bench.machine.write(words, &[0; 8])?;
    bench.stream.launch(bench.launch(1, 1, &[words]))?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            bench.machine.store_word(words, 5)
        });
        bench.stream.synchronize()
    })?;
    assert_eq!(bench.read(words, 2), [5, 5]);
    bench.machine.free_words(words)?;
    // Another stream may bring the word, too.
    let plain = bench.words(&[0; 2]);
    let other = bench.machine.stream()?;
    bench.stream.launch(bench.launch(1, 1, &[plain]))?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            other.write(plain, 6u32.to_le_bytes().to_vec())
        });
        bench.stream.synchronize()
    })?;
    assert_eq!(bench.read(plain, 2), [6, 6]);
    drop(other);
    // Now nobody can.
    let alone = bench.words(&[0; 2]);
    let ran = bench.run(1, 1, &[alone]);
    let Err(Error::Fault(fault)) = ran else {
        panic!("{ran:?}");
    };
    assert!(matches!(fault.kind, FaultKind::Deadlock { .. }), "{fault}");
    Ok(())
}

#[test]
fn a_launch_is_stopped_from_outside() -> Result<(), Error> {
    let body = "L:\natom.global.xor.b32 %r5, [%d0], 1;\nsetp.ne.u32 %p1, %r5, 7;\n@%p1 bra L;";
    for config in configs() {
        let stop = warpsmith_vgpu::Stop::default();
        let bench = Bench::with(
            &text(body),
            Config {
                stop: Some(stop.clone()),
                ..config
            },
        );
        let words = bench.words(&[0; 2]);
        bench.stream.launch(bench.launch(1, 1, &[words]))?;
        std::thread::sleep(Duration::from_millis(30));
        stop.stop();
        let ran = bench.stream.synchronize();
        let Err(Error::Fault(fault)) = ran else {
            panic!("{ran:?}");
        };
        assert_eq!(fault.kind, FaultKind::Stopped);
        assert!((1..5).contains(&line(fault.span)), "{fault}");
    }
    Ok(())
}
