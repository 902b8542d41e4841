//! Kernels whose lanes go to places that are made of numbers of lanes, rows and warps, under conditions: what code guesses
//! of such places is often right, and where it is not, the bits are the same.

use super::writer::Random;
use std::fmt::Write;

/// Words of the input, and of the tile in shared memory.
const WORDS: usize = super::INPUT as usize / 4;
const TILE: usize = 1024;

pub(super) const BLOCKS: [[u32; 3]; 10] = [
    [16, 16, 1],
    [16, 8, 1],
    [16, 3, 1],
    [32, 4, 1],
    [64, 1, 1],
    [100, 1, 1],
    [33, 1, 1],
    [8, 8, 1],
    [24, 2, 1],
    [1, 1, 1],
];

/// A kernel with some accesses. Registers: `%r0` is the thread's number in its block, `%r1` and `%r2` its column and row,
/// `%r9` what is found.
pub(super) fn kernel(random: &mut Random) -> String {
    let mut text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<32>;\n.reg .b64 %d<16>;\n.reg .b16 %h<4>;\n\
         .shared .align 16 .b8 tile[{}];\n\
         ld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\n\
         mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %ntid.x;\n\
         mad.lo.u32 %r0, %r2, %r3, %r1;\nmov.u32 %r4, %ctaid.x;\nmov.u32 %r9, 0;\n\
         mov.u32 %r30, tile;\n\
         // from\n",
        4 * TILE
    );
    // Nobody has written the tile.
    text += "mov.u32 %r10, %r0;\nfill:\nshl.b32 %r11, %r10, 2;\nadd.u32 %r11, %r30, %r11;\nst.shared.u32 [%r11], %r10;\n";
    let _written = write!(
        text,
        "add.u32 %r10, %r10, 32;\nsetp.lt.u32 %p0, %r10, {TILE};\n@%p0 bra fill;\nbar.sync 0;\n"
    );
    for at in 0..2 + random.below(4) {
        access(&mut text, random, at);
    }
    let _written = write!(
        text,
        "// to\nmov.u32 %r12, %ntid.y;\nmul.lo.u32 %r12, %r12, %r3;\nmad.lo.u32 %r12, %r4, %r12, %r0;\n\
         mad.wide.u32 %d2, %r12, {}, %d1;\nst.global.u32 [%d2], %r9;\nret;\n}}\n",
        super::OUTPUT
    );
    text
}

/// `%r20` becomes a number that grows from lane to lane, mostly.
fn column(text: &mut String, random: &mut Random) {
    let by = random.below(70);
    text.push_str(&match random.below(7) {
        0 => "mov.u32 %r20, %r1;\n".to_owned(),
        1 => "mov.u32 %r20, %r0;\n".to_owned(),
        2 => "and.b32 %r20, %r0, 31;\n".to_owned(),
        3 => format!(
            "and.b32 %r20, %r1, {};\n",
            [7, 15, 31, 63, 127][random.below(5)]
        ),
        4 => format!("add.u32 %r20, %r1, {by};\nand.b32 %r20, %r20, 31;\n"),
        5 => format!("add.u32 %r20, %r1, {by};\n"),
        _ => "mad.lo.u32 %r20, %r4, %r3, %r1;\n".to_owned(),
    });
}

/// `%r21` becomes a number that is the same for many lanes.
fn row(text: &mut String, random: &mut Random) {
    let by = 3 + random.below(4);
    text.push_str(&match random.below(6) {
        0 => "mov.u32 %r21, %r2;\n".to_owned(),
        1 => "mov.u32 %r21, %r4;\n".to_owned(),
        2 => format!("shr.u32 %r21, %r0, {by};\n"),
        3 => format!("shr.u32 %r21, %r1, {by};\n"),
        4 => format!("and.b32 %r21, %r0, {};\n", [-32, -16, 96][random.below(3)]),
        // What stands at a place that is the same for all.
        _ => "mul.wide.u32 %d3, %r4, 4;\nadd.u64 %d3, %d3, %d0;\nld.global.u32 %r21, [%d3];\nand.b32 %r21, %r21, 31;\n".to_owned(),
    });
}

fn access(text: &mut String, random: &mut Random, at: usize) {
    column(text, random);
    row(text, random);
    let stride = [0, 1, 16, 17, 32, 37, 64][random.below(7)];
    let step = [1, 1, 1, 1, 2, 3][random.below(6)];
    let _written = write!(
        text,
        "mul.lo.u32 %r22, %r21, {stride};\nmad.lo.u32 %r22, %r20, {step}, %r22;\n"
    );
    let shared = random.below(2) == 0;
    let words = if shared { TILE } else { WORDS };
    // Lanes go on whose place is inside; of the others it may be far away.
    let far = [0, 0, 0, words / 2, words - 20][random.below(5)];
    let _written = write!(
        text,
        "add.u32 %r22, %r22, {far};\nsetp.ge.u32 %p1, %r22, {words};\n"
    );
    let other = ["%r1", "%r0", "%r2", "%r20"][random.below(4)];
    match random.below(4) {
        0 => {}
        1 => {
            let edge = random.below(40);
            let _written = write!(
                text,
                "setp.ge.u32 %p2, {other}, {edge};\nor.pred %p1, %p1, %p2;\n"
            );
        }
        _ => {
            let lane = random.below(20);
            let _written = write!(
                text,
                "setp.ne.u32 %p2, {other}, {lane};\nor.pred %p1, %p1, %p2;\n"
            );
        }
    }
    let inside = random.below(3) > 0;
    if inside {
        let _written = writeln!(text, "@%p1 bra behind{at};");
    } else {
        text.push_str("selp.u32 %r22, 5, %r22, %p1;\n");
    }
    if shared {
        text.push_str("mad.lo.u32 %r23, %r22, 4, %r30;\n");
        text.push_str("ld.shared.u32 %r24, [%r23];\n");
        if inside && random.below(2) == 0 {
            // Nobody else has this place, or all write the same there.
            text.push_str("mad.lo.u32 %r25, %r22, 7, 3;\nst.shared.u32 [%r23], %r25;\n");
        }
    } else {
        text.push_str("mul.wide.u32 %d4, %r22, 4;\nadd.u64 %d4, %d4, %d0;\n");
        text.push_str(match random.below(4) {
            0 => "ld.global.u8 %h0, [%d4+1];\ncvt.u32.u16 %r24, %h0;\n",
            1 => "ld.global.s16 %h0, [%d4+2];\ncvt.s32.s16 %r24, %h0;\n",
            _ => "ld.global.u32 %r24, [%d4];\n",
        });
    }
    text.push_str("mad.lo.u32 %r9, %r9, 31, %r24;\nxor.b32 %r9, %r9, %r22;\n");
    if inside {
        let _written = writeln!(text, "behind{at}:");
    }
    if shared {
        text.push_str("bar.sync 0;\n");
    }
}
