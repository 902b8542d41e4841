//! Products of matrices whose sums wait in the frame from one barrier to the next: several blocks, sums that go on with
//! each other's, sums that are read in between, NaNs with bits of their own.

use super::writer::Random;
use std::fmt::Write;

/// Sums of a thread, in fours.
const FOURS: usize = 4;

/// The registers of four, in the order of a product.
fn four(at: usize) -> String {
    let first = 4 * at;
    format!(
        "{{%s{first}, %s{}, %s{}, %s{}}}",
        first + 1,
        first + 2,
        first + 3
    )
}

/// A product of random fragments: which sums it adds to, and which become that.
fn product(text: &mut String, random: &mut Random, kind: usize) {
    let (a, b) = (4 * random.below(2), 2 * random.below(3));
    let to = random.below(FOURS);
    // Mostly with its own.
    let from = if random.below(4) == 0 {
        random.below(FOURS)
    } else {
        to
    };
    let a = format!("{{%a{a}, %a{}, %a{}, %a{}}}", a + 1, a + 2, a + 3);
    let b = format!("{{%b{b}, %b{}}}", b + 1);
    let ty = ["f16", "bf16"][kind];
    let _written = writeln!(
        text,
        "mma.sync.aligned.m16n8k16.row.col.f32.{ty}.{ty}.f32 {}, {a}, {b}, {};",
        four(to),
        four(from)
    );
}

/// A kernel. Registers: `%a` and `%b` are fragments, `%s` sums, `%d3` where the lane's words of the input are.
pub(super) fn kernel(random: &mut Random) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n\
         .reg .pred %p<4>;\n.reg .b32 %t<8>;\n.reg .b64 %d<6>;\n.reg .b32 %a<8>;\n.reg .b32 %b<6>;\n.reg .f32 %s<16>;\n\
         .reg .f32 %x<4>;\n\
         ld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\nmov.u32 %t0, %tid.x;\nmov.u32 %t1, %ctaid.x;\n\
         mov.u32 %t2, %ntid.x;\nmad.lo.u32 %t1, %t1, %t2, %t0;\nand.b32 %t3, %t0, 31;\n\
         mad.wide.u32 %d3, %t3, 4, %d0;\nmov.f32 %x0, 0f3F800000;\n",
    );
    // Numbers below 2, or of all kinds.
    let is_small = random.below(3) > 0;
    for i in 0..16 {
        let _written = writeln!(text, "ld.global.f32 %s{i}, [%d3+{}];", 128 * i + 4);
        if is_small {
            let _written = writeln!(text, "and.b32 %s{i}, %s{i}, 0xBFFFFFFF;");
        }
    }
    text += "// from\n";
    let kind = random.below(2);
    for block in 0..1 + random.below(3) {
        let turns = 1 + random.below(3);
        let _written = writeln!(text, "mov.u32 %t4, {turns};\nround{block}:");
        text += ["bar.sync 0;\n", "bar.sync 0;\n", ""][random.below(3)];
        for i in 0..8 {
            let at = 64 * random.below(200) + 4 * random.below(15);
            let _written = writeln!(text, "ld.global.u32 %a{i}, [%d3+{at}];");
            if is_small {
                let _written = writeln!(text, "and.b32 %a{i}, %a{i}, 0xBFFFBFFF;");
            }
        }
        for i in 0..6 {
            let at = 64 * random.below(200) + 4 * random.below(15);
            let _written = writeln!(text, "ld.global.u32 %b{i}, [%d3+{at}];");
            if is_small {
                let _written = writeln!(text, "and.b32 %b{i}, %b{i}, 0xBFFFBFFF;");
            }
        }
        for _ in 0..1 + random.below(8) {
            match random.below(9) {
                0 => {
                    let (a, b) = (random.below(16), random.below(16));
                    let _written = writeln!(text, "mov.f32 %s{a}, %s{b};");
                }
                1 => {
                    let a = random.below(16);
                    let _written = writeln!(text, "add.f32 %x0, %x0, %s{a};");
                }
                2 => {
                    let (a, b) = (random.below(8), random.below(16));
                    let _written = writeln!(text, "mov.b32 %a{a}, %s{b};");
                }
                _ => product(&mut text, random, kind),
            }
        }
        let _written = writeln!(
            text,
            "sub.u32 %t4, %t4, 1;\nsetp.ne.u32 %p0, %t4, 0;\n@%p0 bra round{block};"
        );
    }
    text += "// to\n";
    let _written = writeln!(text, "mad.wide.u32 %d2, %t1, {}, %d1;", super::OUTPUT);
    for i in 0..16 {
        let _written = writeln!(text, "st.global.f32 [%d2+{}], %s{i};", 4 * i);
    }
    text += "st.global.f32 [%d2+64], %x0;\nret;\n}\n";
    text
}

/// A kernel with accesses of two words by groups of four lanes, which lie behind each other, nearly, or not.
pub(super) fn pairs(random: &mut Random) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n\
         .reg .pred %p<4>;\n.reg .b32 %t<8>;\n.reg .b64 %d<8>;\n.reg .b32 %x<4>;\n.reg .b32 %r<4>;\n\
         ld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\nmov.u32 %t0, %tid.x;\nmov.u32 %t1, %ctaid.x;\n\
         mov.u32 %t2, %ntid.x;\nmul.lo.u32 %t1, %t1, %t2;\nmov.u32 %r0, %t0;\n\
         mul.wide.u32 %d6, %t1, 256;\nadd.u64 %d1, %d1, %d6;\n// from\n",
    );
    for _ in 0..1 + random.below(3) {
        // Group and lane of it; their places, of which no two lanes have the same.
        let step = [8, 8, 8, 16, 24][random.below(5)];
        let turned = [0, 0, 0, 1, 3][random.below(5)];
        let pitch = [128, 136, 256][random.below(3)];
        let _written = write!(
            text,
            "shr.u32 %t3, %t0, 2;\nand.b32 %t4, %t0, 3;\nxor.b32 %t4, %t4, {turned};\nmul.lo.u32 %t4, %t4, {step};\n\
             mad.lo.u32 %t4, %t3, {pitch}, %t4;\n"
        );
        let guard = ["", "", "@%p1 "][random.below(3)];
        let from = 8 * random.below(60);
        let _written = write!(
            text,
            "setp.ne.u32 %p1, %t3, 1;\ncvt.u64.u32 %d2, %t4;\nadd.u64 %d3, %d0, %d2;\nmov.u32 %x0, 7;\nmov.u32 %x1, 9;\n\
             {guard}ld.global.v2.u32 {{%x0, %x1}}, [%d3+{from}];\n"
        );
        let _written = write!(
            text,
            "mad.lo.u32 %r0, %r0, 31, %x0;\nxor.b32 %r0, %r0, %x1;\nmul.lo.u32 %x1, %r0, 5;\n\
             add.u64 %d4, %d1, %d2;\n{guard}st.global.v2.u32 [%d4+{}], {{%r0, %x1}};\n",
            8 * random.below(8)
        );
    }
    text += "// to\nret;\n}\n";
    text
}
