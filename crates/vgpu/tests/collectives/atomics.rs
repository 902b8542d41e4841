//! `atom` and `red` in global, shared and generic memory.

use super::harness::{Random, loads, run, run_on, stores, ways};
use half::{bf16, f16};
use warpsmith_vgpu::{Compile, Error, FaultKind, Tier};

type Change = Box<dyn Fn(u64, u64, u64) -> u64>;

struct Case {
    op: &'static str,
    ty: &'static str,
    bytes: usize,
    f: Change,
}

fn case(
    op: &'static str,
    ty: &'static str,
    bytes: usize,
    f: impl Fn(u64, u64, u64) -> u64 + 'static,
) -> Case {
    Case {
        op,
        ty,
        bytes,
        f: Box::new(f),
    }
}

fn f32_add(old: u64, b: u64) -> u64 {
    let sum = f32::from_bits(old as u32) + f32::from_bits(b as u32);
    u64::from(sum.to_bits())
}

fn f16_add(old: u64, b: u64) -> u64 {
    let [x, y] = [old, b].map(|x| f16::from_bits(x as u16).to_f32());
    u64::from(f16::from_f32(x + y).to_bits())
}

fn bf16_add(old: u64, b: u64) -> u64 {
    let [x, y] = [old, b].map(|x| bf16::from_bits(x as u16).to_f32());
    u64::from(bf16::from_f32(x + y).to_bits())
}

fn pairs(f: fn(u64, u64) -> u64) -> impl Fn(u64, u64, u64) -> u64 {
    move |old, b, _| f(old & 0xFFFF, b & 0xFFFF) | f(old >> 16, b >> 16) << 16
}

fn cases() -> Vec<Case> {
    let low = |x: u64| x & 0xFFFF_FFFF;
    let cas = |old: u64, b: u64, c: u64| if old == b { c } else { old };
    let s32 = |x: u64| x as u32 as i32;
    vec![
        case("add", "u32", 4, move |o, b, _| low(o + b)),
        case("add", "s32", 4, move |o, b, _| low(o + b)),
        case("add", "u64", 8, |o, b, _| o.wrapping_add(b)),
        case("add", "f32", 4, |o, b, _| f32_add(o, b)),
        case("add", "f64", 8, |o, b, _| {
            (f64::from_bits(o) + f64::from_bits(b)).to_bits()
        }),
        case("add.noftz", "f16", 2, |o, b, _| f16_add(o, b)),
        case("add.noftz", "bf16", 2, |o, b, _| bf16_add(o, b)),
        case("add.noftz", "f16x2", 4, pairs(f16_add)),
        case("add.noftz", "bf16x2", 4, pairs(bf16_add)),
        case("and", "b32", 4, |o, b, _| o & b),
        case("or", "b32", 4, |o, b, _| o | b),
        case("xor", "b32", 4, |o, b, _| o ^ b),
        case("and", "b64", 8, |o, b, _| o & b),
        case("or", "b64", 8, |o, b, _| o | b),
        case("xor", "b64", 8, |o, b, _| o ^ b),
        case("exch", "b32", 4, |_, b, _| b),
        case("exch", "b64", 8, |_, b, _| b),
        case("cas", "b16", 2, cas),
        case("cas", "b32", 4, cas),
        case("cas", "b64", 8, cas),
        case("inc", "u32", 4, |o, b, _| if o >= b { 0 } else { o + 1 }),
        case(
            "dec",
            "u32",
            4,
            |o, b, _| if o == 0 || o > b { b } else { o - 1 },
        ),
        case("min", "u32", 4, |o, b, _| o.min(b)),
        case("max", "u32", 4, |o, b, _| o.max(b)),
        case("min", "s32", 4, move |o, b, _| {
            low(s32(o).min(s32(b)) as u64)
        }),
        case("max", "s32", 4, move |o, b, _| {
            low(s32(o).max(s32(b)) as u64)
        }),
        case("min", "u64", 8, |o, b, _| o.min(b)),
        case("max", "u64", 8, |o, b, _| o.max(b)),
        case("min", "s64", 8, |o, b, _| (o as i64).min(b as i64) as u64),
        case("max", "s64", 8, |o, b, _| (o as i64).max(b as i64) as u64),
    ]
}

/// A value of the type with bits that the operation can tell apart: small ones for compares.
fn value(random: &mut Random, case: &Case) -> u64 {
    let any = u64::from(random.next()) << 32 | u64::from(random.next());
    match case.ty {
        "f32" => u64::from((random.below(2000) as f32 * 0.37 - 300.0).to_bits()),
        "f64" => (f64::from(random.next()) * 0.37 - 3e8).to_bits(),
        "f16" => u64::from(f16::from_f32(random.below(2000) as f32 * 0.037 - 30.0).to_bits()),
        "bf16" => u64::from(bf16::from_f32(random.below(2000) as f32 * 0.037 - 30.0).to_bits()),
        "f16x2" => (0..2).fold(0, |x, _| {
            x << 16 | u64::from(f16::from_f32(random.below(2000) as f32 * 0.037 - 30.0).to_bits())
        }),
        "bf16x2" => (0..2).fold(0, |x, _| {
            x << 16 | u64::from(bf16::from_f32(random.below(2000) as f32 * 0.037 - 30.0).to_bits())
        }),
        _ if matches!(case.op, "cas" | "inc" | "dec") => any % 3,
        _ if case.bytes == 8 => any,
        _ => any & 0xFFFF_FFFF,
    }
}

#[test]
fn lanes_take_their_turns_in_order() {
    for case in cases() {
        for space in ["global", "shared", "generic"] {
            for red in [false, true] {
                if red && matches!(case.op, "cas" | "exch") {
                    continue;
                }
                check(&case, space, red);
            }
        }
    }
}

/// 27 lanes of a warp that skip every fifth one, on 4 cells, in runs and apart.
fn check(case: &Case, space: &str, red: bool) {
    let Case { op, ty, bytes, f } = case;
    let mut random = Random::new(u64::from(op.len() as u32) * 31 + *bytes as u64);
    let cells: Vec<u64> = (0..4).map(|_| value(&mut random, case)).collect();
    let b: Vec<u64> = (0..32).map(|_| value(&mut random, case)).collect();
    let c: Vec<u64> = (0..32).map(|_| value(&mut random, case)).collect();
    let which: Vec<u32> = (0..32)
        .map(|l| if l < 12 { 1 } else { random.below(4) })
        .collect();
    let reg = match bytes {
        2 => "%h",
        4 => "%r",
        _ => "%rd",
    };
    let float = match *ty {
        "f32" => Some("%f"),
        "f64" => Some("%fd"),
        _ => None,
    };
    // Registers 20 (b), 21 (c) and 22 (old) as 64 bits, then in the width of the type.
    let narrow = |from: usize, to: usize| match (bytes, float) {
        (2, _) => format!("  cvt.u16.u64 %h{to}, %rd{from};\n"),
        (4, None) => format!("  cvt.u32.u64 %r{}, %rd{from};\n", 30 + to),
        (4, Some(f)) => format!("  cvt.u32.u64 %r40, %rd{from};\n  mov.b32 {f}{to}, %r40;\n"),
        (_, Some(f)) => format!("  mov.b64 {f}{to}, %rd{from};\n"),
        _ => format!("  mov.b64 %rd{}, %rd{from};\n", 30 + to),
    };
    let name = |i: usize| match (bytes, float) {
        (_, Some(f)) => format!("{f}{i}"),
        (2, _) => format!("{reg}{i}"),
        _ => format!("{reg}{}", 30 + i),
    };
    let widen = match (bytes, float) {
        (2, _) => "  cvt.u64.u16 %rd22, %h3;\n".to_owned(),
        (4, None) => "  cvt.u64.u32 %rd22, %r33;\n".to_owned(),
        (4, Some(f)) => format!("  mov.b32 %r40, {f}3;\n  cvt.u64.u32 %rd22, %r40;\n"),
        (_, Some(f)) => format!("  mov.b64 %rd22, {f}3;\n"),
        _ => "  mov.b64 %rd22, %rd33;\n".to_owned(),
    };
    let (qual, at) = match space {
        "global" => (".global", "%rd12"),
        "shared" => (".shared", "%r12"),
        _ => ("", "%rd12"),
    };
    let place = if space == "global" {
        "  add.u64 %rd12, %rd4, %rd11;\n"
    } else {
        "  mov.u64 %rd12, sh;\n  add.u64 %rd12, %rd12, %rd11;\n  cvt.u32.u64 %r12, %rd12;\n  cvta.shared.u64 %rd12, %rd12;\n"
    };
    // Memory of the cells: the first 64 bytes of the output, or a copy of them in shared memory.
    let (copy_in, copy_out) = if space == "global" {
        ("", "")
    } else {
        (
            "  ld.global.b32 %r13, [%rd2];\n  mov.u32 %r14, sh;\n  mad.lo.u32 %r14, %r1, 4, %r14;\n  st.shared.b32 [%r14], %r13;\n  bar.sync 0;\n",
            "  bar.sync 0;\n  ld.shared.b32 %r13, [%r14];\n  st.global.b32 [%rd2], %r13;\n",
        )
    };
    let swap = if *op == "cas" {
        format!(", {}", name(2))
    } else {
        String::new()
    };
    let action = if red {
        format!("  @%p1 red{qual}.{op}.{ty} [{at}+16], {};\n", name(1))
    } else {
        format!(
            "  @%p1 atom{qual}.{op}.{ty} {}, [{at}+16], {}{swap};\n",
            name(3),
            name(1)
        )
    };
    let body = format!(
        "  ld.global.b32 %r10, [%rd1];
  st.global.b32 [%rd2], %r10;
  bar.sync 0;
  ld.global.b32 %r11, [%rd1+128];
  mul.wide.u32 %rd11, %r11, {bytes};
{place}{copy_in}  add.u64 %rd15, %rd1, %rd5;
  ld.global.b64 %rd20, [%rd15+256];
  ld.global.b64 %rd21, [%rd15+512];
{}{}{}  rem.u32 %r15, %r1, 5;
  setp.ne.u32 %p1, %r15, 0;
{action}{copy_out}{widen}  add.u64 %rd16, %rd2, %rd5;
  st.global.b64 [%rd16+128], %rd22;
",
        narrow(20, 1),
        narrow(21, 2),
        narrow(20, 3),
    );
    // 32 words of memory: the cells stand at byte 16.
    let mut memory = [0x5Au8; 128];
    for (i, cell) in cells.iter().enumerate() {
        memory[16 + i * bytes..][..*bytes].copy_from_slice(&cell.to_le_bytes()[..*bytes]);
    }
    let mut input: Vec<u32> = memory
        .as_chunks::<4>()
        .0
        .iter()
        .map(|w| u32::from_le_bytes(*w))
        .collect();
    input.extend(&which);
    for x in b.iter().chain(&c) {
        input.extend([*x as u32, (x >> 32) as u32]);
    }
    let got = run(&body, 27, &input, 96);
    let mut cells = cells;
    for lane in 0..27 {
        let old = u64::from(got[32 + 2 * lane]) | u64::from(got[33 + 2 * lane]) << 32;
        if lane % 5 == 0 {
            continue;
        }
        let cell = &mut cells[which[lane] as usize];
        if !red {
            assert_eq!(old, *cell, "{op}.{ty} {space} lane {lane}");
        }
        *cell = f(*cell, b[lane], c[lane]);
    }
    for (i, cell) in cells.iter().enumerate() {
        memory[16 + i * bytes..][..*bytes].copy_from_slice(&cell.to_le_bytes()[..*bytes]);
    }
    let want: Vec<u32> = memory
        .as_chunks::<4>()
        .0
        .iter()
        .map(|w| u32::from_le_bytes(*w))
        .collect();
    // Threads 27 to 31 copied nothing.
    assert_eq!(got[..27], want[..27], "{op}.{ty} {space}");
}

#[test]
fn global_f32_adds_flush_subnormals_and_shared_ones_do_not() {
    let tiny = 0x0000_1000;
    let body = "  mov.u64 %rd6, sh;
  mov.b32 %f1, 0x00001000;
  st.shared.f32 [sh], %f1;
  bar.sync 0;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 ret;
  st.global.f32 [%rd4], %f1;
  atom.global.add.f32 %f2, [%rd4], %f1;
  atom.shared.add.f32 %f3, [sh], %f1;
  ld.shared.f32 %f4, [sh];
  st.global.f32 [%rd4+4], %f2;
  st.global.f32 [%rd4+8], %f3;
  st.global.f32 [%rd4+12], %f4;
";
    assert_eq!(run(body, 32, &[], 4), [0, tiny, tiny, 2 * tiny]);
}

#[test]
fn vector_adds_are_an_atomic_for_each_element() {
    let input: Vec<u32> = (0..128).map(|i| (i as f32).to_bits()).collect();
    let body = format!(
        "{}  mov.f32 %f9, 0f00000000;
  red.global.add.v2.f32 [%rd4+8], {{%f0, %f1}};
  red.global.add.noftz.v2.f16x2 [%rd4+16], {{%r10, %r10}};
",
        loads("f32", "%f", 0, 4, 0) + "  mov.b32 %r10, 0x3C00BC00;\n"
    );
    let got = run(&body, 32, &input, 8);
    let sum = |from: usize| (from..from + 32).map(|i| i as f32).sum::<f32>().to_bits();
    let halves =
        u32::from(f16::from_f32(-32.0).to_bits()) | u32::from(f16::from_f32(32.0).to_bits()) << 16;
    assert_eq!(got, [0, 0, sum(0), sum(32), halves, halves, 0, 0]);
}

#[test]
fn ctas_on_different_threads_lose_no_add() {
    let body = "  mov.u32 %r10, 0;
LOOP:
  atom.global.add.u32 %r11, [%rd4], 1;
  red.global.add.f64 [%rd4+8], %fd1;
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p1, %r10, 40;
  @%p1 bra LOOP;
";
    let body = format!("  mov.f64 %fd1, 0d3FF0000000000000;\n{body}");
    for way in ways() {
        let got = run_on(way, &body, 64, 64, &[], 4).expect("no fault");
        let count = 64 * 64 * 40;
        assert_eq!(got[0], count);
        assert_eq!(
            f64::from_bits(u64::from(got[2]) | u64::from(got[3]) << 32),
            f64::from(count)
        );
    }
}

#[test]
fn an_atomic_off_its_place_is_a_fault() {
    for (offset, kind) in [
        (2, FaultKind::Misaligned { bytes: 4 }),
        (1 << 30, FaultKind::OutOfBounds { bytes: 4 }),
    ] {
        let body = format!(
            "  atom.global.add.u32 %r10, [%rd4+{offset}], 1;\n{}",
            stores("b32", "%r", 10, 1, 0)
        );
        let error =
            run_on((Tier::best(), Compile::Always), &body, 1, 32, &[], 32).expect_err("a fault");
        let Error::Fault(fault) = error else {
            panic!("{error}")
        };
        assert_eq!(fault.kind, kind);
    }
}
