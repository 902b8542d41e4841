//! `cp.async`.

use super::harness::{Random, run, run_on, ways};
use warpsmith_vgpu::{Error, FaultKind};

/// Copies from `[in + %r11]` to `[sh + %r10]` with `tail`, then all of the first 1024 bytes out.
fn body(size: u32, cache: &str, offsets: &str, tail: &str) -> String {
    let mut text = String::from(
        "  mov.u32 %r2, sh;
  mad.lo.u32 %r3, %r1, 4, %r2;
  mov.u32 %r4, 0xAAAAAAAA;
",
    );
    for i in 0..8 {
        text += &format!("  st.shared.b32 [%r3+{}], %r4;\n", 128 * i);
    }
    text += &format!(
        "  bar.sync 0;
{offsets}  add.u32 %r10, %r10, %r2;
  cvt.u64.u32 %rd6, %r11;
  add.u64 %rd6, %rd3, %rd6;
  cp.async.{cache}.shared.global [%r10], [%rd6], {size}{tail};
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.sync 0;
"
    );
    for i in 0..8 {
        text += &format!(
            "  ld.shared.b32 %r5, [%r3+{0}];\n  st.global.b32 [%rd2+{0}], %r5;\n",
            128 * i
        );
    }
    text
}

fn words() -> Vec<u32> {
    let mut random = Random::new(77);
    (0..512).map(|_| random.next()).collect()
}

/// Shared memory after copies of the first `part(lane)` bytes and zeros.
fn expect(
    input: &[u32],
    size: u32,
    places: impl Fn(u32) -> (u32, u32),
    part: impl Fn(u32) -> u32,
) -> Vec<u32> {
    let bytes: Vec<u8> = input.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut shared = vec![0xAAu8; 1024];
    for lane in 0..32 {
        let (to, from) = places(lane);
        for i in 0..size {
            shared[(to + i) as usize] = if i < part(lane) {
                bytes[(from + i) as usize]
            } else {
                0
            };
        }
    }
    shared
        .as_chunks::<4>()
        .0
        .iter()
        .map(|w| u32::from_le_bytes(*w))
        .collect()
}

#[test]
fn copies_of_every_size_arrive() {
    let input = words();
    for (size, cache) in [(4, "ca"), (8, "ca"), (16, "ca"), (16, "cg")] {
        let straight = format!(
            "  mul.lo.u32 %r10, %r1, {size};\n  mul.lo.u32 %r11, %r1, {size};\n  add.u32 %r11, %r11, 64;\n"
        );
        assert_eq!(
            run(&body(size, cache, &straight, ""), 32, &input, 256),
            expect(&input, size, |l| (l * size, l * size + 64), |_| size)
        );
        let mixed = format!(
            "  xor.b32 %r10, %r1, 5;\n  mul.lo.u32 %r10, %r10, {size};\n  mul.lo.u32 %r11, %r1, {};\n",
            3 * size
        );
        assert_eq!(
            run(&body(size, cache, &mixed, ""), 32, &input, 256),
            expect(&input, size, |l| ((l ^ 5) * size, 3 * l * size), |_| size)
        );
        // Four lanes are neighbours here and there, but for some of them.
        let rows = format!(
            "  shr.u32 %r10, %r1, 2;\n  mad.lo.u32 %r11, %r10, 1, %r1;\n  mul.lo.u32 %r11, %r11, {size};\n  xor.b32 %r10, %r1, 12;\n  mul.lo.u32 %r10, %r10, {size};\n"
        );
        let place = |l: u32| ((l ^ 12) * size, (l + l / 4) * size);
        assert_eq!(
            run(&body(size, cache, &rows, ""), 32, &input, 256),
            expect(&input, size, place, |_| size)
        );
        for odd in [0, 6, 13, 31] {
            let one = format!(
                "{rows}  setp.eq.u32 %p1, %r1, {odd};\n  @%p1 add.u32 %r11, %r11, {};\n",
                2 * size
            );
            let place = |l: u32| {
                let more = if l == odd { 2 * size } else { 0 };
                (place(l).0, place(l).1 + more)
            };
            assert_eq!(
                run(&body(size, cache, &one, ""), 32, &input, 256),
                expect(&input, size, place, |_| size)
            );
        }
        let uniform = format!(
            "  mov.u32 %r10, {};\n  mov.u32 %r11, {};\n",
            2 * size,
            5 * size
        );
        assert_eq!(
            run(&body(size, cache, &uniform, ""), 32, &input, 256),
            expect(&input, size, |_| (2 * size, 5 * size), |_| size)
        );
    }
}

#[test]
fn what_is_past_the_source_size_is_zero() {
    let input = words();
    for size in [4, 8, 16] {
        let offsets = format!(
            "  mul.lo.u32 %r10, %r1, {size};\n  mul.lo.u32 %r11, %r1, {size};\n  rem.u32 %r12, %r1, {};\n",
            size + 1
        );
        let part = |lane: u32| lane % (size + 1);
        assert_eq!(
            run(&body(size, "ca", &offsets, ", %r12"), 32, &input, 256),
            expect(&input, size, |l| (l * size, l * size), part)
        );
    }
}

#[test]
fn a_source_of_no_bytes_may_be_anywhere() {
    let offsets = "  mul.lo.u32 %r10, %r1, 16;\n  mov.u32 %r11, 0xFFFFFFF1;\n  mov.u32 %r12, 0;\n";
    let got = run(&body(16, "cg", offsets, ", %r12"), 32, &words(), 256);
    assert_eq!(got, expect(&words(), 16, |l| (l * 16, 0), |_| 0));
}

#[test]
fn an_ignored_source_is_zero() {
    let input = words();
    let offsets =
        "  mul.lo.u32 %r10, %r1, 16;\n  mul.lo.u32 %r11, %r1, 16;\n  setp.gt.u32 %p1, %r1, 20;\n";
    let part = |lane: u32| if lane > 20 { 0 } else { 16 };
    assert_eq!(
        run(&body(16, "ca", offsets, ", %p1"), 32, &input, 256),
        expect(&input, 16, |l| (l * 16, l * 16), part)
    );
}

#[test]
fn a_copy_past_the_end_or_off_its_alignment_is_a_fault() {
    let cases = [
        (
            "  mov.u32 %r10, 8192;\n  mov.u32 %r11, 0;\n",
            FaultKind::OutOfBounds { bytes: 16 },
        ),
        (
            "  mov.u32 %r10, 8;\n  mov.u32 %r11, 0;\n",
            FaultKind::Misaligned { bytes: 16 },
        ),
        (
            "  mov.u32 %r10, 0;\n  mov.u32 %r11, 0x7FFFFF00;\n",
            FaultKind::OutOfBounds { bytes: 16 },
        ),
        (
            "  mul.lo.u32 %r10, %r1, 16;\n  mad.lo.u32 %r11, %r1, 16, 4;\n",
            FaultKind::Misaligned { bytes: 16 },
        ),
    ];
    for (offsets, kind) in cases {
        for way in ways() {
            let error = run_on(way, &body(16, "ca", offsets, ""), 1, 32, &words(), 256)
                .expect_err("a fault");
            let Error::Fault(fault) = error else {
                panic!("{error}")
            };
            assert_eq!(fault.kind, kind);
        }
    }
}
