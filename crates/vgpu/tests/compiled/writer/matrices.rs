//! Products of matrices, and rows of them.

use super::Writer;

impl Writer<'_> {
    /// `count` registers in braces.
    fn several(&mut self, kind: &str, count: usize) -> String {
        let regs: Vec<String> = (0..count).map(|_| self.reg(kind)).collect();
        format!("{{{}}}", regs.join(", "))
    }

    /// One or two products, which may share what they multiply.
    pub(super) fn product(&mut self) {
        let shapes = [
            ("m16n8k16", "f32.f16.f16.f32", [4, 2, 4]),
            ("m16n8k8", "f32.f16.f16.f32", [2, 1, 4]),
            ("m16n8k16", "f32.bf16.bf16.f32", [4, 2, 4]),
            ("m16n8k8", "f32.bf16.bf16.f32", [2, 1, 4]),
            ("m16n8k8", "f32.tf32.tf32.f32", [4, 2, 4]),
            ("m16n8k4", "f32.tf32.tf32.f32", [2, 1, 4]),
            ("m16n8k32", "s32.u8.s8.s32", [4, 2, 4]),
            ("m16n8k32", "s32.s8.s8.s32", [4, 2, 4]),
            ("m16n8k32", "s32.s8.u8.s32", [4, 2, 4]),
            ("m16n8k32", "s32.u8.u8.s32", [4, 2, 4]),
            ("m16n8k16", "s32.s8.s8.s32", [2, 1, 4]),
            ("m8n8k16", "s32.u8.s8.s32", [1, 1, 2]),
            ("m8n8k16", "s32.s8.s8.s32", [1, 1, 2]),
        ];
        let (shape, types, regs) = shapes[self.random.below(shapes.len())];
        let sum = if types.starts_with('f') { "f" } else { "r" };
        let (a, b) = (self.several("r", regs[0]), self.several("r", regs[1]));
        for _ in 0..1 + self.random.below(4) {
            // No register twice where results go.
            let first = self.random.below(8);
            let to: Vec<String> = (0..regs[2])
                .map(|i| format!("%{sum}{}", (first + i) % 8))
                .collect();
            let c = match (self.random.below(4), sum) {
                (0, "r") => {
                    self.line("mov.u32 %c1, 0;");
                    format!("{{{}}}", vec!["%c1"; regs[2]].join(", "))
                }
                (0, _) => self.several("v", regs[2]),
                _ => self.several(sum, regs[2]),
            };
            let b = match self.random.below(2) {
                0 => b.clone(),
                _ => self.several("r", regs[1]),
            };
            self.line(&format!(
                "mma.sync.aligned.{shape}.row.col.{types} {{{}}}, {a}, {b}, {c};",
                to.join(", ")
            ));
        }
    }

    /// Rows that are copied to shared memory, and read from there.
    pub(super) fn rows(&mut self) {
        let part = match self.random.below(4) {
            0 => "",
            1 => ", %c1",
            2 => ", %p2",
            _ => ", 16",
        };
        self.line("mad.lo.u32 %c0, %flat, 16, %near;");
        match self.random.below(3) {
            0 => self.line("and.b32 %c1, %r3, 1008;"),
            // Four lanes copy neighbouring rows; in the last case but for one of them.
            near => {
                self.line(
                    "shr.u32 %c1, %flat, 2;\nmad.lo.u32 %c1, %c1, 16, %flat;\nshl.b32 %c1, %c1, 4;",
                );
                if near == 2 {
                    let lane = self.random.below(32);
                    self.line(&format!(
                        "setp.eq.u32 %q1, %s0, {lane};\n@%q1 add.u32 %c1, %c1, 32;"
                    ));
                }
            }
        }
        self.line("cvt.u64.u32 %b0, %c1;\nadd.s64 %b0, %b0, %in;");
        let how = self.random.pick(&["0", "1", "rest"]).to_owned();
        match how.as_str() {
            // All lanes read a whole row or nothing; or some a part.
            "0" => self.line("shl.b32 %c1, %r1, 4;\nand.b32 %c1, %c1, 16;"),
            "1" => self.line("and.b32 %c1, %r1, 15;"),
            _ => self.line("mov.u32 %c1, 0;"),
        }
        self.line(&format!(
            "cp.async.cg.shared.global [%c0], [%b0], 16{part};\ncp.async.commit_group;\ncp.async.wait_group 0;"
        ));
        self.line("and.b32 %c1, %flat, 0xffffffe0;\nand.b32 %c0, %r5, 31;\nadd.u32 %c0, %c0, %c1;\nmad.lo.u32 %c0, %c0, 16, %near;");
        let counts = [
            ("x1", "{%r2}"),
            ("x2", "{%r4, %r1}"),
            ("x4", "{%r6, %r0, %r7, %r3}"),
        ];
        let (count, regs) = counts[self.random.below(counts.len())];
        let trans = self.random.pick(&["", ".trans"]).to_owned();
        self.line(&format!(
            "ldmatrix.sync.aligned.m8n8.{count}{trans}.shared.b16 {regs}, [%c0];"
        ));
    }
}
