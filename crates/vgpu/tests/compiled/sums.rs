//! More sums than there are registers: compiled in groups, they have the bits that the interpreter gives.

use super::{INPUT, OUTPUT, run, tiers};
use crate::writer::Random;
use std::fmt::Write as _;

/// Sums of a thread: of each there are two registers, or four.
const SUMS: usize = 24;
const STEPS: usize = 300;

/// A kernel in which sums go on with what is loaded and computed, and now and then with each other.
fn kernel(random: &mut Random) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n.reg .b64 %d<5>;\n.reg .b32 %t;\n\
         .reg .f32 %s<24>, %v<8>;\n.shared .align 16 .b8 room[4096];\n.reg .b32 %r;\nld.param.u64 %d0, [in];\n\
         ld.param.u64 %d1, [out];\nmov.u32 %t, %tid.x;\nmad.wide.u32 %d2, %t, 256, %d1;\nmad.wide.u32 %d3, %t, 4, %d0;\n\
         mov.u32 %r, room;\nmad.lo.u32 %r, %t, 4, %r;\n",
    );
    let mut line = |words: String| {
        text += &words;
        text.push('\n');
    };
    for i in 0..SUMS {
        line(format!("ld.global.f32 %s{i}, [%d3+{}];", 128 * i));
    }
    for i in 0..8 {
        line(format!("ld.global.f32 %v{i}, [%d0+{}];", 52 * i));
        line(format!("st.shared.f32 [%r+{}], %v{i};", 256 * i));
    }
    line("st.shared.f32 [%r+2048], %v0;".to_owned());
    line("bar.sync 0;".to_owned());
    // How often something comes that ends a span.
    let breaks = 1 + random.below(3) * 40;
    for _ in 0..STEPS {
        let (sum, other) = (random.below(SUMS), random.below(SUMS));
        let (v, w) = (random.below(8), random.below(8));
        match random.below(120) {
            at if at < breaks / 8 => line(format!("mov.f32 %s{sum}, %s{other};")),
            at if at < breaks / 4 => line(format!("st.shared.f32 [%r+2048], %s{sum};")),
            at if at < breaks / 2 => {
                line(format!("fma.rn.f32 %s{sum}, %s{other}, %v{w}, %s{sum};"));
            }
            at if at < 50 => match random.below(4) {
                0 => line(format!(
                    "ld.global.f32 %v{v}, [%d0+{}];",
                    4 * random.below(1000)
                )),
                1 => line(format!(
                    "ld.global.f32 %v{v}, [%d3+{}];",
                    4 * random.below(1000)
                )),
                2 => line(format!(
                    "ld.shared.f32 %v{v}, [%r+{}];",
                    256 * random.below(9)
                )),
                _ => line(format!("add.f32 %v{v}, %v{w}, %v{v};")),
            },
            at if at < 60 => line(format!("sub.f32 %s{sum}, %s{sum}, %v{w};")),
            _ => line(format!("fma.rn.f32 %s{sum}, %v{v}, %v{w}, %s{sum};")),
        }
    }
    for i in 0..SUMS {
        line(format!("st.global.f32 [%d2+{}], %s{i};", 4 * i));
    }
    let _ = write!(text, "ret;\n}}\n");
    text
}

#[test]
fn many_sums_have_the_bits_of_the_interpreter() {
    assert!(4 * SUMS as u64 <= OUTPUT);
    for seed in 0..24 {
        let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (seed + 1));
        let text = kernel(&mut random);
        // Numbers whose exponents are near to 0, and some of all kinds.
        let input: Vec<u8> = (0..INPUT / 4)
            .flat_map(|_| {
                let bits = random.below(1 << 32) as u32;
                let near = bits & 0x807F_FFFF | (0x3E + (bits >> 24) % 3) << 24;
                let odd = random.below(50) == 0;
                (if odd { bits } else { near }).to_le_bytes()
            })
            .collect();
        let want = run(&text, [64, 1, 1], &input, None).expect("it runs");
        for tier in tiers() {
            let found = run(&text, [64, 1, 1], &input, Some(tier)).expect("it runs");
            assert!(found == want, "{tier:?}, seed {seed}\n{text}");
        }
    }
}

/// A kernel of products of bytes, of which some have only a few bits.
fn bytes(random: &mut Random) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n.reg .b64 %d<5>;\n\
         .reg .b32 %t, %s<16>, %v<8>, %m<8>;\nld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\nmov.u32 %t, %tid.x;\n\
         mad.wide.u32 %d2, %t, 256, %d1;\nmad.wide.u32 %d3, %t, 4, %d0;\n",
    );
    let mut line = |words: String| {
        text += &words;
        text.push('\n');
    };
    for i in 0..16 {
        line(format!("ld.global.u32 %s{i}, [%d3+{}];", 128 * i));
    }
    for i in 0..8 {
        let from = if i % 2 == 0 { "%d3" } else { "%d0" };
        line(format!("ld.global.u32 %v{i}, [{from}+{}];", 4096 + 132 * i));
        line(format!("mov.u32 %m{i}, %v{i};"));
    }
    let masks = [
        0x0F0F_0F0Fu32,
        0xF0F0_F0F0,
        0xFEFE_FEFE,
        0x7F7F_7F7F,
        0x8080_8080,
        0xF0F0_0F0F,
        0xC0E0_80F0,
        0x1F1F_1F1F,
        0xFFFF_FFFF,
    ];
    for _ in 0..STEPS {
        let (sum, v, m) = (random.below(16), random.below(8), random.below(8));
        match random.below(24) {
            0 => line(format!(
                "ld.global.u32 %v{v}, [%d0+{}];",
                4 * random.below(1000)
            )),
            1 => line(format!(
                "ld.global.u32 %v{v}, [%d3+{}];",
                4 * random.below(1000)
            )),
            2..5 => {
                let mask = masks[random.below(masks.len())];
                line(format!("and.b32 %m{m}, %v{v}, {mask};"));
            }
            5 => line(format!(
                "shr.s32 %s{sum}, %s{sum}, {};",
                1 + random.below(5)
            )),
            6 => line(format!("mov.u32 %s{sum}, %s{};", random.below(16))),
            7 => line(format!("dp4a.s32.s32 %s{sum}, %m{m}, %v{v}, %s{sum};")),
            8 => line(format!("dp4a.u32.u32 %s{sum}, %m{m}, %v{v}, %s{sum};")),
            9 => {
                let from = random.below(16);
                line(format!("dp4a.u32.s32 %s{sum}, %m{m}, %v{v}, %s{from};"));
            }
            // Mostly of few sums, so that those go on.
            _ => line(format!("dp4a.u32.s32 %s{0}, %m{m}, %v{v}, %s{0};", sum % 3)),
        }
    }
    for i in 0..16 {
        line(format!("st.global.u32 [%d2+{}], %s{i};", 4 * i));
    }
    let _ = write!(text, "ret;\n}}\n");
    text
}

#[test]
fn sums_of_products_of_bytes_have_the_bits_of_the_interpreter() {
    for seed in 0..24 {
        let mut random = Random(0x1234_5678_9ABC_DEF0 ^ (seed + 1));
        let text = bytes(&mut random);
        // Half of the bytes are the least and the largest.
        let input: Vec<u8> = (0..INPUT)
            .map(|_| match random.below(8) {
                0 => 0x80,
                1 => 0x7F,
                2 => 0xFF,
                3 => 0,
                _ => random.below(256) as u8,
            })
            .collect();
        let want = run(&text, [64, 1, 1], &input, None).expect("it runs");
        for tier in tiers() {
            let found = run(&text, [64, 1, 1], &input, Some(tier)).expect("it runs");
            assert!(found == want, "{tier:?}, seed {seed}\n{text}");
        }
    }
}
