//! Control flow, barriers, memory spaces and launches, by their results.

mod common;

use common::Bench;
use warpsmith_vgpu::{Awaited, Config, Error, FaultKind, Launch, Tier};

fn each_tier(check: impl Fn(Tier)) {
    for tier in Tier::available() {
        check(tier);
    }
}

/// Runs a kernel of one output word per thread and returns the words.
fn outputs(body: &str, grid: u32, block: u32, tier: Tier) -> Vec<u32> {
    let text = format!(
        ".visible .entry k(.param .u64 out)\n{{\n.reg .b32 %r<32>;\n.reg .b64 %d<16>;\n.reg .pred %p<8>;\n\
         .shared .align 16 .b8 sh[8192];\n.local .align 8 .b8 loc[64];\n\
         ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\n\
         mad.lo.u32 %r3, %r1, %r2, %r0;\nmul.wide.u32 %d1, %r3, 4;\nadd.s64 %d2, %d0, %d1;\n\
         {body}\nst.global.u32 [%d2], %r9;\nret;\n}}\n"
    );
    let bench = Bench::new(&text, tier);
    let count = (grid * block) as usize;
    let out = bench.words(&vec![0xDEAD_BEEF; count]);
    bench
        .run(grid, block, &[out])
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
    bench.read(out, count)
}

fn check(body: &str, grid: u32, block: u32, want: impl Fn(u32, u32) -> u32) {
    each_tier(|tier| {
        let got = outputs(body, grid, block, tier);
        let all: Vec<u32> = (0..grid)
            .flat_map(|c| (0..block).map(move |t| (c, t)))
            .map(|(c, t)| want(c, t))
            .collect();
        assert_eq!(got, all, "{tier:?}\n{body}");
    });
}

#[test]
fn threads_know_their_places() {
    check("mad.lo.u32 %r9, %r1, 1000, %r0;", 5, 70, |c, t| {
        c * 1000 + t
    });
}

#[test]
fn branches_part_and_join() {
    let body = "and.b32 %r4, %r0, 1;\nsetp.eq.u32 %p0, %r4, 0;\n@%p0 bra EVEN;\nmul.lo.u32 %r9, %r0, 3;\n\
                bra JOIN;\nEVEN:\nadd.u32 %r9, %r0, 100;\nJOIN:\nadd.u32 %r9, %r9, 1;";
    check(
        body,
        2,
        96,
        |_, t| if t % 2 == 0 { t + 101 } else { 3 * t + 1 },
    );
}

#[test]
fn loops_end_lane_by_lane() {
    let body = "mov.u32 %r9, 0;\nmov.u32 %r4, 0;\nLOOP:\nadd.u32 %r9, %r9, %r4;\nadd.u32 %r4, %r4, 1;\n\
                setp.le.u32 %p0, %r4, %r0;\n@%p0 bra LOOP;";
    check(body, 1, 64, |_, t| t * (t + 1) / 2);
}

#[test]
fn uniform_loops_run_for_the_whole_warp() {
    let body = "mov.u32 %r9, %r0;\nmov.u32 %r4, 0;\nLOOP:\nadd.u32 %r9, %r9, %r4;\nadd.u32 %r4, %r4, 1;\n\
                setp.lt.u32 %p0, %r4, 1000;\n@%p0 bra LOOP;";
    check(body, 1, 64, |_, t| t + 499_500);
}

#[test]
fn guards_hold_single_instructions() {
    let body = "setp.gt.u32 %p0, %r0, 10;\nmov.u32 %r9, 7;\n@%p0 mov.u32 %r9, 8;\n@!%p0 add.u32 %r9, %r9, %r0;";
    check(body, 1, 33, |_, t| if t > 10 { 8 } else { 7 + t });
}

#[test]
fn results_that_are_thrown_away_leave_the_others() {
    // Half of the arrivals are of the kind that completes no phase.
    let body = "setp.eq.u32 _, %r0, 7;\nsetp.lt.u32 %p0|_, %r0, 7;\nsetp.lt.u32 _|%p1, %r0, 9;\n\
                mov.b64 {_, %r4}, 0x500000000;\nsetp.eq.u32 %p2, %r0, 0;\n\
                @%p2 mbarrier.init.shared.b64 [sh], 64;\nbar.sync 0;\n\
                mbarrier.arrive.noComplete.shared.b64 _, [sh], 1;\nbar.sync 0;\n\
                mbarrier.arrive.shared.b64 _, [sh];\nbar.sync 0;\n\
                mbarrier.test_wait.parity.shared.b64 %p3, [sh], 0;\n\
                selp.u32 %r5, 10, 0, %p0;\nselp.u32 %r6, 100, 0, %p1;\nselp.u32 %r7, 1000, 0, %p3;\n\
                add.u32 %r9, %r4, %r5;\nadd.u32 %r9, %r9, %r6;\nadd.u32 %r9, %r9, %r7;";
    check(body, 1, 32, |_, t| {
        1005 + if t < 7 { 10 } else { 0 } + if t < 9 { 0 } else { 100 }
    });
}

#[test]
fn early_exits_leave_the_others() {
    let body = "mov.u32 %r9, 5;\nst.global.u32 [%d2], %r9;\nsetp.ge.u32 %p0, %r0, 20;\n@%p0 exit;\n\
                mov.u32 %r9, 6;";
    check(body, 1, 64, |_, t| if t < 20 { 6 } else { 5 });
}

#[test]
fn shared_memory_and_barriers_exchange() {
    let body = "mov.u32 %r4, sh;\nshl.b32 %r5, %r0, 2;\nadd.u32 %r6, %r4, %r5;\nst.shared.u32 [%r6], %r0;\n\
                bar.sync 0;\nsub.u32 %r7, 127, %r0;\nshl.b32 %r7, %r7, 2;\nadd.u32 %r7, %r4, %r7;\n\
                ld.shared.u32 %r9, [%r7];";
    check(body, 3, 128, |_, t| 127 - t);
}

#[test]
fn barriers_reduce() {
    let body = "and.b32 %r4, %r0, 3;\nsetp.eq.u32 %p0, %r4, 0;\nbar.red.popc.u32 %r5, 0, %p0;\n\
                setp.lt.u32 %p1, %r0, 200;\nbar.red.and.pred %p2, 0, %p1;\nbar.red.or.pred %p3, 0, !%p1;\n\
                selp.u32 %r6, 1000, 0, %p2;\nselp.u32 %r7, 10000, 0, %p3;\nadd.u32 %r9, %r5, %r6;\n\
                add.u32 %r9, %r9, %r7;";
    check(body, 1, 96, |_, _| 24 + 1000);
}

#[test]
fn named_barriers_count_warps() {
    // Warp 0 waits for warp 1, which only arrives.
    let body = "mov.u32 %r4, sh;\nsetp.lt.u32 %p0, %r0, 32;\nmov.u32 %r9, 0;\n@%p0 bra FIRST;\n\
                mov.u32 %r5, 77;\nst.shared.u32 [%r4], %r5;\nbar.arrive 1, 64;\nbra JOIN;\nFIRST:\n\
                bar.sync 1, 64;\nld.shared.u32 %r9, [%r4];\nJOIN:";
    check(body, 1, 64, |_, t| if t < 32 { 77 } else { 0 });
}

#[test]
fn a_lock_between_lanes_of_a_warp_goes_on() {
    // Lanes wait until a shared flag has their number.
    let body = "mov.u32 %r4, sh;\nmov.u32 %r5, 0;\nst.shared.u32 [%r4], %r5;\nbar.sync 0;\nWAIT:\n\
                ld.volatile.shared.u32 %r6, [%r4];\nsetp.ne.u32 %p0, %r6, %r0;\n@%p0 bra WAIT;\n\
                add.u32 %r7, %r0, 1;\nst.volatile.shared.u32 [%r4], %r7;\nmul.lo.u32 %r9, %r0, 2;";
    check(body, 1, 128, |_, t| 2 * t);
}

#[test]
fn local_memory_is_each_threads_own() {
    let body = "mov.u64 %d3, loc;\nst.local.u32 [%d3+8], %r3;\ncvta.local.u64 %d4, %d3;\nld.u32 %r5, [%d4+8];\n\
                ld.local.u32 %r6, [loc+8];\nadd.u32 %r9, %r5, %r6;";
    check(body, 2, 40, |c, t| 2 * (c * 40 + t));
}

#[test]
fn generic_addresses_find_their_space() {
    let body = "mov.u64 %d3, sh;\ncvta.shared.u64 %d4, %d3;\nmul.wide.u32 %d5, %r0, 4;\nadd.s64 %d6, %d4, %d5;\n\
                st.u32 [%d6], %r3;\nld.u32 %r5, [%d6];\nst.u32 [%d2], %r5;\nld.u32 %r9, [%d2];";
    check(body, 2, 64, |c, t| c * 64 + t);
}

#[test]
fn vectors_of_four_come_apart_in_order() {
    let body = "mov.u32 %r4, sh;\nshl.b32 %r5, %r0, 4;\nadd.u32 %r5, %r4, %r5;\nadd.u32 %r6, %r0, 1000;\n\
                add.u32 %r7, %r0, 2000;\nadd.u32 %r8, %r0, 3000;\nst.shared.v4.u32 [%r5], {%r0, %r6, %r7, %r8};\n\
                bar.sync 0;\nxor.b32 %r10, %r0, 1;\nshl.b32 %r11, %r10, 4;\nadd.u32 %r11, %r4, %r11;\n\
                ld.shared.v4.u32 {%r12, %r13, %r14, %r15}, [%r11];\nadd.u32 %r9, %r12, %r13;\n\
                ld.shared.v4.u32 {%r16, %r17, %r18, %r19}, [%r5];\nadd.u32 %r9, %r9, %r18;\nsub.u32 %r9, %r9, %r19;";
    check(body, 1, 64, |_, t| 2 * (t ^ 1) + 1000 + t + 2000 - t - 3000);
}

#[test]
fn cooperative_grids_meet_at_a_flag() {
    // Each CTA waits for the one before it: needs all of them alive at once.
    let text = ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n.reg .pred %p<4>;\n\
                ld.param.u64 %d0, [out];\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %nctaid.x;\nsub.u32 %r1, %r1, 1;\n\
                mul.wide.u32 %d1, %r0, 4;\nadd.s64 %d2, %d0, %d1;\nsetp.eq.u32 %p0, %r0, %r1;\n@%p0 bra GO;\n\
                WAIT:\nld.acquire.gpu.global.u32 %r2, [%d2+4];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra WAIT;\nGO:\n\
                add.u32 %r3, %r0, 1;\nst.release.gpu.global.u32 [%d2], %r3;\nret;\n}\n";
    each_tier(|tier| {
        let bench = Bench::new(text, tier);
        let out = bench.words(&[0; 40]);
        let mut launch = bench.launch(40, 64, &[out]);
        launch.cooperative = true;
        let prepared = bench.stream.prepare(vec![launch]).expect("fits");
        bench.stream.replay(&prepared).expect("enqueues");
        bench.stream.synchronize().expect("no fault");
        assert_eq!(bench.read(out, 40), (1..=40).collect::<Vec<u32>>());
    });
}

#[test]
fn faults_name_thread_and_address() {
    let text = ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n.reg .pred %p<4>;\n\
                ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nsetp.ne.u32 %p0, %r0, 37;\n@%p0 bra END;\n\
                ld.global.u32 %r1, [%d0];\nst.global.u32 [%d0], %r1;\nEND:\nret;\n}\n";
    let bench = Bench::new(text, Tier::best());
    for (address, kind) in [
        (16, FaultKind::OutOfBounds { bytes: 4 }),
        (0x10_0000_0002, FaultKind::Misaligned { bytes: 4 }),
        (u64::MAX - 3, FaultKind::OutOfBounds { bytes: 4 }),
    ] {
        let Err(Error::Fault(fault)) = bench.run(2, 64, &[address]) else {
            panic!("no fault at {address:x}")
        };
        assert_eq!(
            (fault.kind.clone(), fault.thread, fault.address),
            (kind, [37, 0, 0], Some(address))
        );
        assert_eq!(fault.kernel, "k");
        assert!(format!("{fault}").contains("line 1"), "{fault}");
    }
    let ok = bench.words(&[1]);
    assert_eq!(bench.run(1, 64, &[ok]), Ok(()), "usable after a fault");
}

#[test]
fn a_barrier_nobody_comes_to_is_a_deadlock() {
    let text = ".visible .entry k()\n{\n.reg .b32 %r<8>;\n.reg .pred %p<4>;\nmov.u32 %r0, %tid.x;\n\
                setp.ge.u32 %p0, %r0, 32;\n@%p0 bra OTHER;\nbar.sync 1, 64;\nret;\nOTHER:\nbar.sync 2, 64;\nret;\n}\n";
    let bench = Bench::new(text, Tier::best());
    let Err(Error::Fault(fault)) = bench.run(1, 64, &[]) else {
        panic!("no fault")
    };
    let FaultKind::Deadlock { waiting, not_begun } = &fault.kind else {
        panic!("{fault}")
    };
    let waits = waiting.iter().map(|one| (one.warp, one.lanes, &one.awaits));
    assert_eq!(
        waits.collect::<Vec<_>>(),
        [(0, !0, &Awaited::Barrier(1)), (1, !0, &Awaited::Barrier(2))]
    );
    assert_eq!(*not_begun, 0);
}

#[test]
fn streams_keep_their_order_and_events_join_them() {
    let text = ".visible .entry k(.param .u64 out, .param .u64 add)\n{\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n\
                ld.param.u64 %d0, [out];\nld.param.u32 %r2, [add];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\n\
                add.s64 %d2, %d0, %d1;\nld.global.u32 %r1, [%d2];\nmad.lo.u32 %r1, %r1, 3, %r2;\n\
                st.global.u32 [%d2], %r1;\nret;\n}\n";
    let bench = Bench::new(text, Tier::best());
    let at = bench.machine.alloc(256).expect("memory");
    let other = bench.machine.stream().expect("a stream");
    bench.stream.fill(at, 0, 256).expect("in range");
    let steps: Vec<_> = (1..=5).map(|add| bench.launch(1, 32, &[at, add])).collect();
    let prepared = bench.stream.prepare(steps).expect("valid");
    bench.stream.replay(&prepared).expect("enqueued");
    let event = bench.stream.record();
    other.wait(&event);
    let copy = bench.machine.alloc(256).expect("memory");
    other.copy(copy, at, 128).expect("in range");
    let read = other.read(copy, 128).expect("in range");
    other.free(copy).expect("enqueued");
    let want = (1..=5u32).fold(0u32, |x, add| x * 3 + add);
    let bytes = read.wait().expect("no fault");
    assert!(bytes.chunks_exact(4).all(|c| c == want.to_le_bytes()));
    other.synchronize().expect("freed");
    assert!(event.done_at().is_some());
    assert!(bench.machine.free(copy).is_err(), "freed in order");
}

#[test]
fn launches_are_checked() {
    let text = ".visible .entry k(.param .u64 out)\n.reqntid 32, 1, 1\n{\nret;\n}\n";
    let bench = Bench::with(
        text,
        Config {
            memory: 1 << 20,
            ..Config::default()
        },
    );
    let refused = |edit: &dyn Fn(&mut warpsmith_vgpu::Launch)| {
        let mut launch = bench.launch(1, 32, &[0]);
        edit(&mut launch);
        matches!(bench.stream.launch(launch), Err(Error::Launch { .. }))
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|l| l.grid[1] = 0));
    assert!(refused(&|l| l.block[0] = 64));
    assert!(refused(&|l| l.block = [1024, 2, 1]));
    assert!(refused(&|l| l.params.push(0)));
    assert!(refused(&|l| l.dynamic_shared = 1 << 20));
}

#[test]
fn a_panic_of_host_code_in_a_stream_is_its_error_and_it_goes_on() -> Result<(), Error> {
    let bench = Bench::new(".visible .entry k() { trap; }", Tier::best());
    let (stream, machine) = (&bench.stream, &bench.machine);
    let at = machine.alloc(4)?;
    stream.call(|so_far| {
        assert_eq!(so_far, Ok(()));
        panic!("broken on purpose");
    });
    let read = stream.read(at, 4)?;
    let want = Error::Panic {
        kernel: "a command".into(),
        what: "broken on purpose".into(),
    };
    let (told, seen) = std::sync::mpsc::channel();
    stream.call(move |so_far| {
        // The receiver waits below.
        drop(told.send(so_far.map_err(Error::clone)));
    });
    assert_eq!(read.wait(), Err(want.clone()));
    assert_eq!(seen.recv(), Ok(Err(want.clone())));
    assert_eq!(stream.synchronize(), Err(want));
    assert_eq!(stream.synchronize(), Ok(()));
    assert!(matches!(bench.run(1, 1, &[]), Err(Error::Fault(_))));
    Ok(())
}

#[test]
fn a_cooperative_launch_is_as_large_as_the_device_allows() -> Result<(), Error> {
    let config = Config {
        cooperative_ctas: 5,
        memory: 1 << 20,
        ..Config::default()
    };
    let bench = Bench::with(".visible .entry k() { ret; }", config);
    for (grid, fits) in [(5, true), (6, false)] {
        let launch = Launch {
            cooperative: true,
            ..bench.launch(grid, 32, &[])
        };
        assert_eq!(bench.stream.launch(launch).is_ok(), fits, "{grid}");
    }
    bench.stream.synchronize()
}
