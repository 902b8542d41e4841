//! Writes random kernels of what the compiler knows, and of some that it does not.

mod branches;
mod matrices;
mod more;

use crate::{INPUT, OUTPUT};
use std::fmt::Write;

pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64 (Steele, Lea and Flood, 2014).
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    /// A 32-bit pattern, often one at an edge.
    pub(crate) fn word(&mut self) -> u32 {
        const EDGES: [u32; 16] = [
            0,
            1,
            31,
            32,
            0x7FFF_FFFF,
            0x8000_0000,
            0xFFFF_FFFF,
            0x7F80_0000,
            0xFF80_0000,
            0x7FC0_0000,
            0x7F80_0001,
            0xFFFF_FFFE,
            0x0000_0001,
            0x3F80_0000,
            0xBF00_0000,
            0x4F00_0000,
        ];
        match self.below(3) {
            0 => EDGES[self.below(16)],
            1 => ((self.next() % 2000) as f32 / 16.0 - 60.0).to_bits(),
            _ => self.next() as u32,
        }
    }
}

/// Writes kernels. Registers: `%r` and `%f` of 32 bits, `%d` of 64, `%h` of 16, `%p`; `%u` and `%v` are the same for all
/// threads, `%b` and `%c` are what addresses are made of.
struct Writer<'a> {
    random: &'a mut Random,
    text: String,
    labels: usize,
}

impl Writer<'_> {
    fn reg(&mut self, kind: &str) -> String {
        let count = if kind == "p" { 4 } else { 8 };
        format!("%{kind}{}", self.random.below(count))
    }

    /// A source of 32 bits.
    fn word(&mut self) -> String {
        match self.random.below(6) {
            0 => format!("{}", self.random.word()),
            1 => self.reg("u"),
            2 => self.random.pick(&["%s0", "%s1", "%s2", "%here"]).to_owned(),
            _ => self.reg("r"),
        }
    }

    fn float(&mut self) -> String {
        match self.random.below(6) {
            0 => format!("0f{:08X}", self.random.word()),
            1 => self.reg("v"),
            _ => self.reg("f"),
        }
    }

    fn wide(&mut self) -> String {
        match self.random.below(5) {
            0 => format!("{}", self.random.next() as i64),
            _ => self.reg("d"),
        }
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("a string grows");
    }

    fn inst(&mut self) {
        let line = match self.random.below(2) {
            0 => self.plain(),
            _ => self.from_table(),
        };
        // Of several instructions the first would be guarded alone.
        let guard = match self.random.below(8) {
            0 | 1 if line.matches(';').count() > 1 => String::new(),
            0 => format!("@{} ", self.reg("p")),
            1 => format!("@!{} ", self.reg("p")),
            _ => String::new(),
        };
        self.line(&format!("{guard}{line}"));
    }

    fn plain(&mut self) -> String {
        let ty = self.random.pick(&["u32", "s32"]).to_owned();
        match self.random.below(31) {
            0 => {
                let op = self
                    .random
                    .pick(&["add", "sub", "mul.lo", "min", "max"])
                    .to_owned();
                format!(
                    "{op}.{ty} {}, {}, {};",
                    self.reg("r"),
                    self.word(),
                    self.word()
                )
            }
            1 => {
                let op = self.random.pick(&["and", "or", "xor"]).to_owned();
                format!(
                    "{op}.b32 {}, {}, {};",
                    self.reg("r"),
                    self.word(),
                    self.word()
                )
            }
            2 => format!(
                "shl.b32 {}, {}, {};",
                self.reg("r"),
                self.word(),
                self.word()
            ),
            3 => format!(
                "shr.{ty} {}, {}, {};",
                self.reg("r"),
                self.word(),
                self.word()
            ),
            4 => format!(
                "mad.lo.{ty} {}, {}, {}, {};",
                self.reg("r"),
                self.word(),
                self.word(),
                self.word()
            ),
            5 => format!(
                "mul.wide.{ty} {}, {}, {};",
                self.reg("d"),
                self.word(),
                self.word()
            ),
            6 => format!(
                "mad.wide.{ty} {}, {}, {}, {};",
                self.reg("d"),
                self.word(),
                self.word(),
                self.wide()
            ),
            7 => {
                let op = self
                    .random
                    .pick(&[
                        "add.s64",
                        "sub.u64",
                        "mul.lo.s64",
                        "and.b64",
                        "xor.b64",
                        "min.s64",
                        "max.u64",
                    ])
                    .to_owned();
                format!("{op} {}, {}, {};", self.reg("d"), self.wide(), self.wide())
            }
            8 => {
                let op = self
                    .random
                    .pick(&["shl.b64", "shr.s64", "shr.u64"])
                    .to_owned();
                format!("{op} {}, {}, {};", self.reg("d"), self.wide(), self.word())
            }
            9 => {
                let op = self
                    .random
                    .pick(&["add", "sub", "mul", "div.rn", "min", "max"])
                    .to_owned();
                format!(
                    "{op}.f32 {}, {}, {};",
                    self.reg("f"),
                    self.float(),
                    self.float()
                )
            }
            10 | 11 => format!(
                "fma.rn.f32 {}, {}, {}, {};",
                self.reg("f"),
                self.float(),
                self.float(),
                self.float()
            ),
            12 => {
                let op = self
                    .random
                    .pick(&[
                        "sqrt.rn",
                        "rcp.rn",
                        "neg",
                        "abs",
                        "rsqrt.approx",
                        "ex2.approx",
                    ])
                    .to_owned();
                format!("{op}.f32 {}, {};", self.reg("f"), self.float())
            }
            13 => {
                let how = self
                    .random
                    .pick(&["eq", "ne", "lt", "le", "gt", "ge"])
                    .to_owned();
                format!(
                    "setp.{how}.{ty} {}, {}, {};",
                    self.reg("p"),
                    self.word(),
                    self.word()
                )
            }
            14 => {
                let how = self
                    .random
                    .pick(&[
                        "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu",
                        "geu", "num", "nan",
                    ])
                    .to_owned();
                format!(
                    "setp.{how}.f32 {}, {}, {};",
                    self.reg("p"),
                    self.float(),
                    self.float()
                )
            }
            15 => {
                let how = self
                    .random
                    .pick(&["eq", "ne", "lt", "le", "gt", "ge"])
                    .to_owned();
                let ty = self.random.pick(&["u64", "s64"]).to_owned();
                format!(
                    "setp.{how}.{ty} {}, {}, {};",
                    self.reg("p"),
                    self.wide(),
                    self.wide()
                )
            }
            16 => format!(
                "selp.b32 {}, {}, {}, {};",
                self.reg("r"),
                self.word(),
                self.word(),
                self.reg("p")
            ),
            17 => format!(
                "selp.b64 {}, {}, {}, {};",
                self.reg("d"),
                self.wide(),
                self.wide(),
                self.reg("p")
            ),
            18 => {
                let table = self.random.below(256);
                format!(
                    "lop3.b32 {}, {}, {}, {}, {table};",
                    self.reg("r"),
                    self.word(),
                    self.word(),
                    self.word()
                )
            }
            19 => {
                let selector = self.random.next() & 0xFFFF;
                format!(
                    "prmt.b32 {}, {}, {}, {selector};",
                    self.reg("r"),
                    self.word(),
                    self.word()
                )
            }
            20 => {
                let (a, b) = (
                    self.random.pick(&["u32", "s32"]).to_owned(),
                    self.random.pick(&["u32", "s32"]).to_owned(),
                );
                format!(
                    "dp4a.{a}.{b} {}, {}, {}, {};",
                    self.reg("r"),
                    self.word(),
                    self.word(),
                    self.word()
                )
            }
            21 => {
                let op = self.random.pick(&["rn.f32.s32", "rn.f32.u32"]).to_owned();
                format!("cvt.{op} {}, {};", self.reg("f"), self.reg("r"))
            }
            22 => {
                let op = self
                    .random
                    .pick(&["rzi.s32.f32", "rni.s32.f32", "rzi.u32.f32", "rni.u32.f32"])
                    .to_owned();
                format!("cvt.{op} {}, {};", self.reg("r"), self.reg("f"))
            }
            23 => {
                let op = self.random.pick(&["u64.u32", "s64.s32"]).to_owned();
                format!("cvt.{op} {}, {};", self.reg("d"), self.reg("r"))
            }
            24 => format!("cvt.u32.u64 {}, {};", self.reg("r"), self.reg("d")),
            25 => {
                let op = self
                    .random
                    .pick(&["u32.u16", "s32.s16", "u32.u8", "s32.s8"])
                    .to_owned();
                let from = if op.ends_with('8') { "r" } else { "h" };
                format!("cvt.{op} {}, {};", self.reg("r"), self.reg(from))
            }
            26 => {
                if self.random.below(2) == 0 {
                    format!("cvt.f32.f16 {}, {};", self.reg("f"), self.reg("h"))
                } else {
                    format!("cvt.rn.f16.f32 {}, {};", self.reg("h"), self.reg("f"))
                }
            }
            27 => match self.random.below(4) {
                0 => format!("mov.b32 {{%h0, %h1}}, {};", self.reg("r")),
                1 => format!(
                    "mov.b32 {}, {{{}, {}}};",
                    self.reg("r"),
                    self.reg("h"),
                    self.reg("h")
                ),
                2 => format!("mov.b64 {{%r0, %r1}}, {};", self.reg("d")),
                _ => format!(
                    "mov.b64 {}, {{{}, {}}};",
                    self.reg("d"),
                    self.reg("r"),
                    self.reg("r")
                ),
            },
            28 => {
                if self.random.below(2) == 0 {
                    format!("mov.b32 {}, {};", self.reg("r"), self.reg("f"))
                } else {
                    format!("mov.b32 {}, {};", self.reg("f"), self.word())
                }
            }
            29 => format!(
                "cvt.rn.f16x2.f32 {}, {}, {};",
                self.reg("r"),
                self.reg("f"),
                self.reg("f")
            ),
            _ => {
                let op = self.random.pick(&["and", "or", "xor"]).to_owned();
                format!(
                    "{op}.pred {}, {}, {};",
                    self.reg("p"),
                    self.reg("p"),
                    self.reg("p")
                )
            }
        }
    }

    /// A load of the input: by thread, from one place, or from anywhere.
    fn load(&mut self) {
        let bytes = [4u64, 8, 16, 2, 1][self.random.below(5)];
        let offset = bytes * (self.random.next() % 8);
        match self.random.below(5) {
            0 => self.line(&format!("mad.wide.u32 %b0, %s1, {bytes}, %in;")),
            1 => self.line("add.s64 %b0, %in, 64;"),
            2 => self.line("mad.wide.u32 %b0, %row, 64, %in;"),
            3 => {
                // Rows of threads, and columns.
                self.line("mad.lo.u32 %c0, %row, 24, %s1;");
                self.line(&format!("mad.wide.u32 %b0, %c0, {bytes}, %in;"));
            }
            _ => {
                let from = self.reg("r");
                let most = (INPUT / 2 / bytes - 1).next_power_of_two() - 1;
                self.line(&format!("and.b32 %c0, {from}, {most};"));
                self.line(&format!("mad.wide.u32 %b0, %c0, {bytes}, %in;"));
            }
        }
        let load = match bytes {
            4 => format!("ld.global.u32 {}, [%b0+{offset}];", self.reg("r")),
            8 if self.random.below(2) == 0 => {
                format!("ld.global.u64 {}, [%b0+{offset}];", self.reg("d"))
            }
            8 => format!(
                "ld.global.v2.f32 {{%f0, {}}}, [%b0+{offset}];",
                self.random.pick(&["%f1", "%f2"])
            ),
            16 if self.random.below(2) == 0 => {
                format!("ld.global.v2.u64 {{%d6, %d1}}, [%b0+{offset}];")
            }
            16 => format!(
                "ld.global.v4.u32 {{%r4, %r1, %r6, {}}}, [%b0+{offset}];",
                self.random.pick(&["%r2", "%r3"])
            ),
            2 => format!("ld.global.u16 {}, [%b0+{offset}];", self.reg("h")),
            _ => format!(
                "ld.global.{} {}, [%b0+{offset}];",
                self.random.pick(&["u8", "s8"]),
                self.reg("r")
            ),
        };
        self.line(&load);
    }

    /// A store to the thread's own part of the output, or to shared memory and back.
    fn store(&mut self) {
        match self.random.below(9) {
            at @ 6..9 => {
                // Parts of words and several words next to each other, of some lanes.
                let guard = self.random.pick(&["", "@%p0 ", "@!%p1 "]).to_owned();
                let (bytes, store, load) = [
                    (2, "st.shared.u16 [%c0], %h3;", "ld.shared.u16 %h2, [%c0];"),
                    (1, "st.shared.u8 [%c0], %r6;", "ld.shared.s8 %r2, [%c0];"),
                    (
                        16,
                        "st.shared.v4.u32 [%c0], {%r1, %r2, %r5, %r7};",
                        "ld.shared.v4.u32 {%r3, %r2, %r0, %r6}, [%c0];",
                    ),
                ][at - 6];
                self.line(&format!("mad.lo.u32 %c0, %flat, {bytes}, %near;"));
                self.line(&format!("{guard}{store}\n{load}"));
            }
            5 => {
                // What is loaded replaces the address.
                self.line("mad.lo.u32 %c0, %flat, 8, %near;");
                self.line("ld.shared.v2.u32 {%c0, %r2}, [%c0];\nxor.b32 %r2, %r2, %c0;");
            }
            0 => {
                let (value, at) = (self.reg("r"), 4 * self.random.below(8));
                self.line(&format!("st.global.u32 [%own+{at}], {value};"));
            }
            1 => self.line("st.global.v4.u32 [%own+32], {%r0, %r3, %r5, %r7};"),
            2 => self.line("st.global.u64 [%own+48], %d3;"),
            4 => {
                // Words next to each other in rows of 16, and one of each row.
                self.line("shl.b32 %c0, %row, 6;\nadd.u32 %c0, %c0, %near;");
                self.line("ld.shared.u32 %r5, [%c0];");
                self.line("mad.lo.u32 %c0, %s1, 4, %c0;\nst.shared.u32 [%c0], %r7;");
                self.line("ld.shared.f32 %f1, [%c0];");
            }
            3 => {
                // Words next to each other: whoever writes is alone there.
                self.line("mad.lo.u32 %c0, %flat, 4, %near;");
                self.line("st.shared.u32 [%c0], %r2;");
                self.line("ld.shared.f32 %f3, [%c0];");
            }
            _ => {
                self.line("mad.lo.u32 %c0, %flat, 8, %near;");
                self.line("st.shared.v2.f32 [%c0], {%f4, %f5};");
                self.line("ld.shared.u64 %d5, [%c0];");
            }
        }
    }

    fn some(&mut self, most: usize) {
        for _ in 0..1 + self.random.below(most) {
            match self.random.below(8) {
                0 => self.load(),
                1 => self.store(),
                _ => self.inst(),
            }
        }
    }
}

/// A kernel; `whole` says that all warps of its blocks are whole.
pub(crate) fn kernel(random: &mut Random, whole: bool) -> String {
    let mut w = Writer {
        random,
        text: String::new(),
        labels: 0,
    };
    w.line(".version 8.0\n.target sm_90\n.address_size 64");
    w.line(".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {");
    w.line(".reg .b32 %r<8>, %u<8>, %c<2>, %s<3>, %flat, %near; .reg .f32 %f<8>, %v<8>; .reg .b64 %d<8>, %b<2>, %in, %out, %own;");
    w.line(".reg .b16 %h<8>; .reg .pred %p<4>, %q<2>; .reg .b32 %i;");
    w.line(
        ".shared .align 16 .b8 mem[2048];\n.local .align 16 .b8 own[64];\n.reg .b32 %here, %row, %t<10>; .reg .b64 %there, %back;",
    );
    w.line("ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nld.param.u32 %u0, [n];");
    w.line("mov.u32 %near, mem;\nactivemask.b32 %here;\nmov.u32 %row, %tid.y;");
    for at in (0..64).step_by(8) {
        w.line(&format!("st.local.u64 [own+{at}], {at};"));
    }
    w.line("mov.u32 %flat, %tid.y;\nmov.u32 %c0, %ntid.x;\nmov.u32 %s1, %tid.x;\nmov.u32 %s0, %laneid;\nmov.u32 %s2, %ctaid.x;\nmad.lo.u32 %flat, %flat, %c0, %s1;");
    w.line("mov.u32 %c1, %ctaid.x;\nmov.u32 %c0, %ntid.x;\nmul.lo.u32 %c1, %c1, %c0;\nmov.u32 %c0, %ntid.y;\nmad.lo.u32 %c1, %c1, %c0, %flat;");
    w.line(&format!("mad.wide.u32 %own, %c1, {OUTPUT}, %out;"));
    w.line("setp.eq.u32 %p0, %s2, 0;\nselp.b64 %there, 16, %in, %p0;");
    // The word before: of the first thread that is nowhere, though lanes look as if they were evenly apart.
    w.line("add.u32 %t8, %flat, -1;\ncvt.u64.u32 %back, %t8;\nshl.b64 %back, %back, 2;");
    w.line("add.s64 %back, %back, %in;");
    for i in 1..8 {
        w.line(&format!("add.u32 %u{i}, %u{}, {};", i - 1, 7 * i));
    }
    for i in 0..8 {
        w.line(&format!(
            "mad.wide.u32 %b0, %flat, 4, %in;\nld.global.u32 %r{i}, [%b0+{}];",
            512 * i
        ));
        w.line(&format!(
            "ld.global.f32 %f{i}, [%b0+{}];\nld.global.f32 %v{i}, [%in+{}];",
            512 * i + 256,
            4 * i
        ));
        w.line(&format!(
            "mad.wide.u32 %b0, %flat, 8, %in;\nld.global.u64 %d{i}, [%b0+{}];",
            1024 * i
        ));
        w.line(&format!("cvt.u16.u32 %h{i}, %r{i};"));
    }
    for i in 0..4 {
        w.line(&format!("setp.lt.s32 %p{i}, %r{i}, %r{};", i + 4));
    }
    w.line("// from here");
    for _ in 0..1 + w.random.below(5) {
        w.some(12);
        let label = w.labels;
        w.labels += 1;
        match w.random.below(5) {
            4 => w.barrier(),
            0 => {
                let (times, pred) = (1 + w.random.below(4), "%q0");
                w.line(&format!("mov.u32 %i, 0;\nL{label}:"));
                w.some(8);
                w.within();
                w.line(&format!(
                    "add.u32 %i, %i, 1;\nsetp.lt.u32 {pred}, %i, {times};\n@{pred} bra L{label};"
                ));
            }
            1 => {
                let depth = w.random.below(3);
                w.branches(depth);
            }
            2 if whole => w.exchange(),
            _ => {
                // Each lane as often as it wants.
                w.line(&format!("and.b32 %c1, %r0, 7;\nL{label}:"));
                w.some(5);
                if w.random.below(3) == 0 {
                    w.branches(0);
                }
                w.line(&format!(
                    "sub.u32 %c1, %c1, 1;\nsetp.gt.s32 %q1, %c1, 0;\n@%q1 bra L{label};"
                ));
            }
        }
    }
    w.line("// to here");
    for i in 0..8 {
        w.line(&format!(
            "st.global.u32 [%own+{}], %r{i};\nst.global.f32 [%own+{}], %f{i};",
            64 + 4 * i,
            96 + 4 * i
        ));
        w.line(&format!(
            "st.global.u64 [%own+{}], %d{i};\nst.global.u16 [%own+{}], %h{i};",
            128 + 8 * i,
            192 + 2 * i
        ));
    }
    for i in 0..4 {
        w.line(&format!(
            "selp.u32 %r0, 1, 0, %p{i};\nst.global.u32 [%own+{}], %r0;",
            208 + 4 * i
        ));
    }
    w.line("ret;\n}");
    w.text
}
