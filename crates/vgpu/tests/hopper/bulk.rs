//! Bulk copies: to shared memory of one CTA and of several, back, with reductions, and asynchronous stores.

use crate::harness::{Case, bytes, kernel, plain};
use warpsmith_vgpu::{Awaited, Error, FaultKind, Misuse, check::Kind};

/// What a kernel declares that copies.
const TILE: &str = ".shared .align 128 .b8 tile[8192]; .shared .align 128 .b8 other[8192]; .shared .align 8 .b64 bar;";

/// One thread makes an object for one arrival, and all threads of the CTA see it. `%p1` is that thread, `%r2` the tile, `%r3` the
/// object.
const START: &str = "
  setp.eq.u32 %p1, %r0, 0;
  mov.u32 %r2, tile; mov.u32 %r3, bar;
  @%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
  @%p1 fence.mbarrier_init.release.cluster;
  bar.sync 0;";

/// All threads wait for the end of the first phase.
const WAIT: &str = "
again:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
  @!%p2 bra again;";

fn numbers(count: usize) -> Vec<u32> {
    (0..count as u32)
        .map(|i| i.wrapping_mul(0x9E37_79B9) ^ 0x55)
        .collect()
}

/// In and out by bulk copies, with a change by threads in between.
fn round_trip(size: usize, to: &str) -> Case {
    let body = format!(
        "{START}
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {size};
  @%p1 cp.async.bulk.{to}.global.mbarrier::complete_tx::bytes [%r2], [%d0], {size}, [%r3];{WAIT}
  shl.b32 %r4, %r0, 2; add.u32 %r5, %r2, %r4; mov.u32 %r6, %r4;
step:
  setp.ge.u32 %p3, %r6, {size};
  @%p3 bra stored;
  ld.shared.u32 %r7, [%r5];
  add.u32 %r7, %r7, 1;
  st.shared.u32 [%r5], %r7;
  add.u32 %r5, %r5, 128; add.u32 %r6, %r6, 128;
  bra step;
stored:
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p1 cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r2], {size};
  @%p1 cp.async.bulk.commit_group;
  @%p1 cp.async.bulk.wait_group 0;"
    );
    Case {
        inputs: vec![bytes(&numbers(size / 4))],
        ..Case::new(kernel("", 2, TILE, &body), size / 4)
    }
}

#[test]
fn bytes_come_and_go() {
    for size in [16, 48, 1024, 8192] {
        for to in ["shared::cluster", "shared::cta"] {
            let want: Vec<u32> = numbers(size / 4)
                .iter()
                .map(|x| x.wrapping_add(1))
                .collect();
            assert_eq!(round_trip(size, to).run(), want, "{size} {to}");
        }
    }
}

#[test]
fn a_copy_goes_to_all_ctas_of_a_mask() {
    let body = format!(
        "{START}
  mov.u32 %r10, %cluster_ctarank;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 256;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  // The first CTA sends to the odd ones, the second one to the even ones.
  setp.lt.u32 %p4, %r10, 2; and.pred %p4, %p4, %p1;
  mov.u16 %h0, 0xA; setp.eq.u32 %p5, %r10, 1; @%p5 mov.u16 %h0, 0x5;
  mul.wide.u32 %d2, %r10, 256; add.u64 %d2, %d0, %d2;
  add.u32 %r11, %r2, 128;
  @%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r11], [%d2], 256, [%r3], %h0;
{WAIT}
  shl.b32 %r4, %r0, 3; add.u32 %r4, %r4, %r11;
  ld.shared.v2.u32 {{%r5, %r6}}, [%r4];
  mad.lo.u32 %r7, %r10, 32, %r0; mul.wide.u32 %d3, %r7, 8; add.u64 %d3, %d1, %d3;
  st.global.v2.u32 [%d3], {{%r5, %r6}};
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
    );
    let found = Case {
        grid: [4, 1, 1],
        cluster: Some([4, 1, 1]),
        inputs: vec![bytes(&numbers(128))],
        ..Case::new(kernel("", 2, TILE, &body), 256)
    }
    .run();
    let numbers = numbers(128);
    for (rank, words) in found.chunks(64).enumerate() {
        let from = if rank % 2 == 1 { 0 } else { 64 };
        assert_eq!(words, &numbers[from..from + 64], "{rank}");
    }
}

#[test]
fn shared_memory_goes_to_the_next_cta() {
    // Copied, added, and stored word by word, each completing transactions there.
    let body = format!(
        "{START}
  mov.u32 %r10, %cluster_ctarank; xor.b32 %r11, %r10, 1;
  shl.b32 %r4, %r0, 2; add.u32 %r5, %r2, %r4;
  mad.lo.u32 %r6, %r10, 100, %r0;
  st.shared.u32 [%r5], %r6;
  mov.u32 %r7, other; add.u32 %r8, %r7, %r4; mov.u32 %r9, 1000; st.shared.u32 [%r8], %r9;
  st.shared.u32 [%r8+256], %r9;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 640;
  fence.proxy.async;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  mapa.shared::cluster.u32 %r12, %r7, %r11;
  mapa.shared::cluster.u32 %r13, %r3, %r11;
  add.u32 %r14, %r12, 128;
  @%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r14], [%r2], 128, [%r13];
  @%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r12], [%r2], 128, [%r13];
  add.u32 %r15, %r12, %r4;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r16], {{%r0, %r6}}, [%r13];
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r15+256], %r0, [%r13];
{WAIT}
  ld.shared.u32 %r20, [%r8]; ld.shared.u32 %r21, [%r8+128]; ld.shared.u32 %r22, [%r8+256];
  shl.b32 %r23, %r0, 3; add.u32 %r23, %r23, %r7; ld.shared.v2.u32 {{%r24, %r25}}, [%r23+512];
  mad.lo.u32 %r7, %r10, 32, %r0; mul.wide.u32 %d3, %r7, 20; add.u64 %d3, %d0, %d3;
  st.global.u32 [%d3], %r20; st.global.u32 [%d3+4], %r21; st.global.u32 [%d3+8], %r22;
  st.global.u32 [%d3+12], %r24; st.global.u32 [%d3+16], %r25;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
    );
    let body = body.replace(
        "  st.async",
        "  shl.b32 %r16, %r0, 3; add.u32 %r16, %r16, %r12; add.u32 %r16, %r16, 512;\n  st.async",
    );
    let found = Case {
        grid: [2, 1, 1],
        cluster: Some([2, 1, 1]),
        ..Case::new(kernel("", 1, TILE, &body), 5 * 64)
    };
    // 128 + 128 bytes of copies, 32 stores of 8 and 32 additions of 4.
    for (rank, words) in found.run().chunks(160).enumerate() {
        for (thread, words) in words.chunks(5).enumerate() {
            let (other, thread) = (1 - rank as u32, thread as u32);
            let sent = other * 100 + thread;
            let want = [1000 + sent, sent, 1000 + thread, thread, sent];
            assert_eq!(words, want, "CTA {rank}, thread {thread}");
        }
    }
}

#[test]
fn reductions_combine_with_what_is_there() {
    let f16 = |x: f32| u32::from(half::f16::from_f32(x).to_bits());
    let bf16 = |x: f32| u32::from(half::bf16::from_f32(x).to_bits());
    type One<'a> = (&'a str, u32, Box<dyn Fn(u64, u64) -> u64>);
    let cases: Vec<One<'_>> = vec![
        (
            "add.u32",
            4,
            Box::new(|a, b| u64::from((a as u32).wrapping_add(b as u32))),
        ),
        ("add.u64", 8, Box::new(u64::wrapping_add)),
        (
            "min.s32",
            4,
            Box::new(|a, b| u64::from((a as i32).min(b as i32) as u32)),
        ),
        ("max.u32", 4, Box::new(u64::max)),
        (
            "max.s64",
            8,
            Box::new(|a, b| (a as i64).max(b as i64) as u64),
        ),
        ("min.u64", 8, Box::new(u64::min)),
        (
            "inc.u32",
            4,
            Box::new(|a, b| if a >= b { 0 } else { a + 1 }),
        ),
        (
            "dec.u32",
            4,
            Box::new(|a, b| if a == 0 || a > b { b } else { a - 1 }),
        ),
        ("and.b32", 4, Box::new(|a, b| a & b)),
        ("or.b64", 8, Box::new(|a, b| a | b)),
        ("xor.b64", 8, Box::new(|a, b| a ^ b)),
        (
            "add.f32",
            4,
            Box::new(|a, b| {
                let [a, b] = [a, b].map(|x| f32::from_bits(x as u32));
                u64::from((a + b).to_bits())
            }),
        ),
        (
            "add.f64",
            8,
            Box::new(|a, b| (f64::from_bits(a) + f64::from_bits(b)).to_bits()),
        ),
        (
            "add.noftz.f16",
            2,
            Box::new(|a, b| {
                let [a, b] = [a, b].map(|x| half::f16::from_bits(x as u16).to_f32());
                u64::from(half::f16::from_f32(a + b).to_bits())
            }),
        ),
        (
            "max.bf16",
            2,
            Box::new(|a, b| {
                let [a, b] = [a, b].map(|x| half::bf16::from_bits(x as u16));
                u64::from(if a > b { a } else { b }.to_bits())
            }),
        ),
    ];
    for (name, size, combine) in cases {
        let value = |i: u32, seed: u32| -> u64 {
            let x = (i * 37 + seed) % 61;
            match name.rsplit('.').next().unwrap() {
                "f32" => u64::from((x as f32 * 0.37 - 9.0).to_bits()),
                "f64" => (f64::from(x) * 0.37 - 9.0).to_bits(),
                "f16" => u64::from(f16(x as f32 * 0.37 - 9.0)),
                "bf16" => u64::from(bf16(x as f32 * 0.37 - 9.0)),
                "s32" => u64::from((x as i32 - 30) as u32),
                "s64" => (i64::from(x) - 30) as u64,
                _ => u64::from(x) << if size == 8 { 20 } else { 0 },
            }
        };
        let count = 128 / size;
        let pack = |seed: u32| -> Vec<u8> {
            let all =
                (0..count).flat_map(|i| value(i, seed).to_le_bytes()[..size as usize].to_vec());
            all.collect()
        };
        let body = format!(
            "
  setp.eq.u32 %p1, %r0, 0;
  shl.b32 %r4, %r0, 2; mov.u32 %r2, tile; add.u32 %r3, %r2, %r4; cvt.u64.u32 %d3, %r4;
  add.u64 %d4, %d0, %d3; ld.global.u32 %r5, [%d4]; st.shared.u32 [%r3], %r5;
  add.u64 %d4, %d1, %d3; ld.global.u32 %r5, [%d4]; add.u64 %d4, %d2, %d3; st.global.u32 [%d4], %r5;
  fence.proxy.async;
  bar.sync 0;
  @%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.{name} [%d2], [%r2], 128;
  @%p1 cp.async.bulk.commit_group;
  @%p1 cp.async.bulk.wait_group.read 0;"
        );
        let found = Case {
            inputs: vec![pack(5), pack(11)],
            ..Case::new(kernel("", 3, TILE, &body), 32)
        }
        .run();
        let want: Vec<u8> = (0..count)
            .flat_map(|i| {
                let both = combine(value(i, 11), value(i, 5));
                both.to_le_bytes()[..size as usize].to_vec()
            })
            .collect();
        assert_eq!(bytes(&found), want, "{name}");
    }
}

#[test]
fn reductions_of_several_ctas_to_one_place_are_no_race() {
    let body = "
  setp.eq.u32 %p1, %r0, 0;
  shl.b32 %r4, %r0, 2; mov.u32 %r2, tile; add.u32 %r3, %r2, %r4;
  st.shared.u32 [%r3], %r1;
  fence.proxy.async;
  bar.sync 0;
  @%p1 FORM.bulk_group [%d0], [%r2], 128;
  @%p1 cp.async.bulk.commit_group;
  @%p1 cp.async.bulk.wait_group 0;";
    let case = |form: &str, tail: &str| Case {
        grid: [3, 1, 1],
        inputs: vec![vec![0; 128]],
        ..Case::new(
            kernel(
                "",
                2,
                TILE,
                &body
                    .replace("FORM", form)
                    .replace("bulk_group [", &format!("bulk_group{tail} [")),
            ),
            0,
        )
    };
    let adds = case("cp.reduce.async.bulk.global.shared::cta", ".add.u32");
    assert_eq!(adds.finds(), []);
    let found = case("cp.async.bulk.global.shared::cta", "").finds();
    let is_race = |one: &(Kind, String)| one.0 == Kind::RaceGlobal;
    assert!(!found.is_empty() && found.iter().all(is_race), "{found:?}");
}

#[test]
fn what_does_not_fit_is_a_fault() {
    let fault = |text: String| {
        let (result, _) = Case {
            text,
            ..round_trip(64, "shared::cta")
        }
        .run_on(plain());
        match result {
            Err(Error::Fault(fault)) => fault.kind,
            other => panic!("{other:?}"),
        }
    };
    let right = round_trip(64, "shared::cta").text;
    let odd = right.replace("[%r2], [%d0], 64", "[%r2+8], [%d0], 64");
    assert_eq!(fault(odd), FaultKind::Misaligned { bytes: 16 });
    let far = right.replace("[%r2], [%d0], 64", "[%r2+16384], [%d0], 64");
    assert!(matches!(fault(far), FaultKind::OutOfBounds { .. }));
    let much = right.replace(", [%r3], 64;", ", [%r3], 1048576;");
    assert_eq!(fault(much), FaultKind::Misuse(Misuse::Transactions));
}

#[test]
fn a_wait_that_cannot_end_names_what_was_expected_and_what_came() {
    let right = round_trip(64, "shared::cta");
    let wrong = Case {
        text: right.text.replace("_, [%r3], 64;", "_, [%r3], 96;"),
        ..right
    };
    let (result, found) = wrong.checked(None);
    let Err(Error::Fault(fault)) = result else {
        panic!("{result:?}")
    };
    let FaultKind::Deadlock { waiting, .. } = fault.kind else {
        panic!("{:?}", fault.kind)
    };
    let Awaited::Phase {
        missing,
        bytes,
        transactions,
        ..
    } = waiting[0].awaits
    else {
        panic!("{waiting:?}")
    };
    assert_eq!((missing, bytes, transactions), (0, 32, Some([96, 64])));
    assert!(
        waiting[0]
            .to_string()
            .contains("it expects 96 bytes, 64 came"),
        "{}",
        waiting[0]
    );
    assert_eq!(found[0].kind, Kind::Deadlock);
    assert!(found[0].message.contains("it expects 96 bytes, 64 came"));
}

#[test]
fn what_the_asynchronous_proxy_does_is_ordered_or_found() {
    let right = round_trip(1024, "shared::cluster");
    assert_eq!(right.finds(), []);
    let finds = |from: &str, to: &str| {
        let text = right.text.replacen(from, to, 1);
        assert_ne!(text, right.text, "{from}");
        Case {
            text,
            ..right.clone()
        }
        .finds()
    };
    let only = |found: Vec<(Kind, String)>, kind: Kind, line: &str| {
        assert!(
            !found.is_empty()
                && found
                    .iter()
                    .all(|one| one.0 == kind && one.1.starts_with(line)),
            "{found:?}"
        );
    };
    // Stores that the copy back may not see.
    let found = finds("  fence.proxy.async.shared::cta;\n", "");
    only(found, Kind::ProxyFence, "@%p1 cp.async.bulk.global");
    // The fence of the thread that copies, behind the barrier, is as good.
    let moved = "  bar.sync 0;\n  @%p1 fence.proxy.async;\n";
    assert_eq!(
        finds("  fence.proxy.async.shared::cta;\n  bar.sync 0;\n", moved),
        []
    );
    // Before the barrier it is for its own stores alone.
    let found = finds(
        "  fence.proxy.async.shared::cta;\n",
        "  @%p1 fence.proxy.async;\n",
    );
    only(found, Kind::ProxyFence, "@%p1 cp.async.bulk.global");
    // Read before the phase ends.
    let found = finds(WAIT, "");
    assert!(
        found
            .iter()
            .any(|one| one.0 == Kind::AsyncEarly && one.1.starts_with("ld.shared")),
        "{found:?}"
    );
    // The source is written again before the copy has read it.
    let copied = "  @%p1 cp.async.bulk.wait_group 0;";
    let again = "  @%p1 st.shared.u32 [%r2], %r4;\n  @%p1 cp.async.bulk.wait_group 0;";
    let found = finds(copied, again);
    only(found, Kind::AsyncEarly, "@%p1 st.shared");
    let behind = "  @%p1 cp.async.bulk.wait_group.read 0;\n  @%p1 st.shared.u32 [%r2], %r4;\n  @%p1 cp.async.bulk.wait_group 0;";
    assert_eq!(finds(copied, behind), []);
}
