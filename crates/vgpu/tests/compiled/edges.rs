//! Kernels that read rows up to an edge: an index that grows from lane to lane ends at the last element (or begins at the
//! first), so that lanes mostly read neighbours, and at the edge the same one over and over.

use super::writer::Random;
use std::fmt::Write;

/// Elements that there are at most.
const MOST: usize = 200;

/// A load of so many bytes at `%d3`, or a little behind it, which goes into the sums.
fn load(text: &mut String, random: &mut Random, bytes: usize) {
    let at = [0, 0, 16, 32][random.below(4)];
    let _written = match bytes {
        1 => writeln!(text, "ld.global.s8 %v0, [%d3+{at}];\nmov.b32 %v1, %v0;"),
        2 => writeln!(text, "ld.global.u16 %v0, [%d3+{at}];\nmov.b32 %v1, %v0;"),
        4 => writeln!(text, "ld.global.nc.u32 %v0, [%d3+{at}];\nmov.b32 %v1, %v0;"),
        8 => writeln!(text, "ld.global.v2.u32 {{%v0, %v1}}, [%d3+{at}];"),
        _ => writeln!(
            text,
            "ld.global.nc.v4.u32 {{%v0, %v1, %v2, %v3}}, [%d3+{at}];\nxor.b32 %v0, %v0, %v2;\nxor.b32 %v1, %v1, %v3;"
        ),
    };
    let _written = writeln!(
        text,
        "mad.lo.u32 %r9, %r9, 31, %v0;\nadd.u32 %r8, %r8, %v1;"
    );
}

/// A kernel. Registers: `%r4` is where a turn begins, `%r5` the lane's index, `%r8` and `%r9` sums.
pub(super) fn kernel(random: &mut Random) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n\
         .reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b32 %v<4>;\n.reg .b64 %d<8>;\n.reg .f32 %x<2>;\n\
         ld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\n\
         mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmad.lo.u32 %r1, %r1, %r2, %r0;\n\
         mov.u32 %r8, 0;\nmov.u32 %r9, 0;\n",
    );
    text += "// from\n";
    for row in 0..1 + random.below(3) {
        let bytes = 1 << random.below(5);
        let count = 1 + random.below(MOST);
        // Rows of several elements, one to a lane, are read by an inner loop, or by several loads.
        let inner = [1, 1, 2, 4][random.below(4)];
        let stride = bytes * inner;
        let (start, turns) = (random.below(40), 1 + random.below(5));
        let _written = writeln!(text, "mov.u32 %r4, {start};\nturn{row}:");
        text += ["add.u32 %r5, %r4, %r0;\n", "add.u32 %r5, %r0, %r4;\n"][random.below(2)];
        if random.below(4) == 0 {
            let _written = writeln!(text, "max.s32 %r5, %r5, {};", random.below(count));
        }
        let _written = writeln!(text, "min.u32 %r5, %r5, {};", count - 1);
        if random.below(2) == 0 {
            let _written = writeln!(text, "mad.wide.u32 %d3, %r5, {stride}, %d0;");
        } else {
            let _written = writeln!(
                text,
                "mul.wide.u32 %d3, %r5, {stride};\nadd.s64 %d3, %d3, %d0;"
            );
        }
        match random.below(3) {
            0 if inner > 1 => {
                let _written = writeln!(text, "mov.u32 %r7, 0;\nin{row}:");
                load(&mut text, random, bytes);
                let _written = writeln!(
                    text,
                    "add.s64 %d3, %d3, {bytes};\nadd.u32 %r7, %r7, 1;\n\
                     setp.lt.u32 %p1, %r7, {inner};\n@%p1 bra in{row};"
                );
            }
            1 => {
                // A part of the turn is for those that are not at the edge.
                load(&mut text, random, bytes);
                let _written = writeln!(
                    text,
                    "add.u32 %r6, %r4, %r0;\nsetp.ge.u32 %p2, %r6, {count};\n@%p2 bra over{row};"
                );
                load(&mut text, random, bytes);
                let _written = writeln!(text, "over{row}:");
            }
            _ => {
                for _ in 0..inner {
                    load(&mut text, random, bytes);
                }
            }
        }
        text += match random.below(4) {
            0 => "shfl.sync.bfly.b32 %v1, %r9, 4, 31, 0xFFFFFFFF;\nxor.b32 %r9, %r9, %v1;\n",
            1 => "bar.sync 0;\n",
            2 => {
                "cvt.rn.f32.s32 %x0, %r8;\nmul.f32 %x0, %x0, 0f3F000000;\ncvt.rzi.s32.f32 %r8, %x0;\n"
            }
            _ => "",
        };
        let step = [32, 32, 64, 17][random.below(4)];
        let _written = writeln!(
            text,
            "add.u32 %r4, %r4, {step};\nsetp.lt.u32 %p0, %r4, {};\n@%p0 bra turn{row};",
            start + turns * step
        );
    }
    text += "// to\n";
    let _written = write!(
        text,
        "mad.wide.u32 %d2, %r1, {}, %d1;\nst.global.u32 [%d2], %r9;\nst.global.u32 [%d2+4], %r8;\nret;\n}}\n",
        super::OUTPUT
    );
    text
}
