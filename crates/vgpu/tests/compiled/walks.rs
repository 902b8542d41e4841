//! Kernels whose registers grow from lane to lane, and are moved on by lanes that have parted: in loops that lanes leave at
//! different turns, under conditions, and on two sides of a branch.

use super::writer::Random;
use std::fmt::Write;

/// Registers of a kind that grow, words and double words.
const COUNT: usize = 4;

/// A kernel. Registers: `%w` and `%e` grow from lane to lane; `%r1` is the thread's column, `%p` is for conditions.
pub(super) fn kernel(random: &mut Random) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n\
         .reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b32 %w<4>;\n.reg .b64 %e<4>;\n.reg .b64 %d<8>;\n\
         ld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\n\
         mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %ntid.x;\n\
         mad.lo.u32 %r0, %r2, %r3, %r1;\nmov.u32 %r9, 0;\n",
    );
    for at in 0..COUNT {
        let (step, more) = (1 + random.below(8), random.below(100));
        let _written = writeln!(text, "mad.lo.u32 %w{at}, %r1, {step}, {more};");
        let _written = writeln!(
            text,
            "mul.wide.u32 %e{at}, %r1, {step};\nadd.u64 %e{at}, %e{at}, {more};"
        );
    }
    text += "// from\n";
    let mut labels = 0;
    for _ in 0..1 + random.below(3) {
        parted(&mut text, random, &mut labels, 2);
    }
    text += "// to\n";
    for at in 0..COUNT {
        let _written = writeln!(
            text,
            "mad.lo.u32 %r9, %r9, 31, %w{at};\ncvt.u32.u64 %r8, %e{at};\nxor.b32 %r9, %r9, %r8;"
        );
    }
    let _written = write!(
        text,
        "mov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %ntid.y;\nmul.lo.u32 %r5, %r5, %r3;\n\
         mad.lo.u32 %r5, %r4, %r5, %r0;\nmad.wide.u32 %d2, %r5, {}, %d1;\nst.global.u32 [%d2], %r9;\nret;\n}}\n",
        super::OUTPUT
    );
    text
}

/// Something that lanes do apart from each other.
fn parted(text: &mut String, random: &mut Random, labels: &mut usize, depth: usize) {
    *labels += 1;
    let label = *labels;
    // What a condition looks at: a part of the column, which lanes have in common, or something else than the column.
    let (from, mask) = (random.below(5), [1, 3, 7, 12, 31][random.below(5)]);
    let _written = writeln!(
        text,
        "shr.u32 %r10, %r0, {from};\nand.b32 %r10, %r10, {mask};"
    );
    match random.below(3) {
        0 => {
            // Each lane has its own number of turns; the counter is of this loop alone.
            let counter = 11 + depth;
            let _written = writeln!(text, "mov.u32 %r{counter}, %r10;\nloop{label}:");
            moves(text, random, labels, depth);
            let _written = writeln!(
                text,
                "sub.u32 %r{counter}, %r{counter}, 1;\nsetp.ge.s32 %p0, %r{counter}, 0;\n@%p0 bra loop{label};"
            );
        }
        1 => {
            let _written = writeln!(text, "setp.eq.u32 %p0, %r10, 0;\n@%p0 bra end{label};");
            moves(text, random, labels, depth);
            let _written = writeln!(text, "end{label}:");
        }
        _ => {
            let _written = writeln!(text, "setp.eq.u32 %p0, %r10, 0;\n@%p0 bra other{label};");
            moves(text, random, labels, depth);
            let _written = writeln!(text, "bra end{label};\nother{label}:");
            moves(text, random, labels, depth);
            let _written = writeln!(text, "end{label}:");
        }
    }
}

/// Registers are moved on, so that they still grow, mostly.
fn moves(text: &mut String, random: &mut Random, labels: &mut usize, depth: usize) {
    // Long ones are not run for lanes that are not there.
    let count = [1, 2, 4, 50][random.below(4)];
    for _ in 0..count {
        let (a, b, c) = (
            random.below(COUNT),
            random.below(COUNT),
            random.below(COUNT),
        );
        let by = random.below(300);
        if random.below(5) == 0 {
            let bit = 1 << random.below(5);
            let _written = write!(
                text,
                "and.b32 %r8, %r1, {bit};\nsetp.ne.u32 %p1, %r8, 0;\n@%p1 "
            );
        }
        let _written = match random.below(9) {
            0 | 1 => writeln!(text, "add.u32 %w{a}, %w{a}, {by};"),
            2 | 3 => writeln!(text, "add.u64 %e{a}, %e{a}, {by};"),
            4 => writeln!(text, "add.u64 %e{a}, %d0, %e{a};"),
            5 => writeln!(text, "add.u32 %w{a}, %w{b}, %w{c};"),
            6 => writeln!(text, "sub.u64 %e{a}, %e{b}, %e{c};"),
            7 => writeln!(text, "mov.u64 %e{a}, %e{b};"),
            _ => writeln!(text, "mul.wide.u32 %e{a}, %w{b}, {};", 1 + by % 9),
        };
    }
    if depth > 0 && random.below(3) == 0 {
        parted(text, random, labels, depth - 1);
    }
}
