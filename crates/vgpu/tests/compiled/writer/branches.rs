//! Lanes that part and meet again: alternatives, ways that meet early, branches inside of others.

use super::Writer;

impl Writer<'_> {
    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels - 1
    }

    /// A few instructions, and perhaps a branch among them. What is made for them alone lies where others have theirs.
    fn body(&mut self, depth: usize) {
        let (a, b) = (self.random.below(8), self.random.below(8));
        let (from, to) = (self.random.below(8), self.random.below(8));
        self.line(&format!(
            "add.u32 %t{a}, %r{from}, 77;\nshl.b32 %t{b}, %t{a}, 1;"
        ));
        self.some(2);
        if self.random.below(3) == 0 {
            // A place that is there for those who come here alone; of the first CTA nobody does.
            let end = self.label();
            self.line("and.b32 %t8, %s0, %s2;\nsetp.eq.u32 %q1, %t8, 0;");
            self.line(&format!("@%q1 bra L{end};\nld.global.u32 %t9, [%there];"));
            self.line(&format!("add.u32 %r{to}, %r{to}, %t9;\nL{end}:"));
        }
        self.some(2);
        self.line(&format!("xor.b32 %r{to}, %r{to}, %t{b};"));
        if depth > 0 && self.random.below(3) == 0 {
            self.branches(depth - 1);
            self.some(2);
        }
    }

    /// Code for a part of the lanes, up to where all are together again.
    pub(super) fn branches(&mut self, depth: usize) {
        let (p, q) = (self.reg("p"), self.reg("p"));
        let not = if self.random.below(2) == 0 { "" } else { "!" };
        let [then, end] = [(); 2].map(|()| self.label());
        match self.random.below(4) {
            0 => {
                self.line(&format!("@{not}{p} bra L{end};"));
                self.body(depth);
            }
            1 => {
                self.line(&format!("@{not}{p} bra L{then};"));
                self.body(depth);
                self.line(&format!("bra L{end};\nL{then}:"));
                self.body(depth);
            }
            2 => {
                // Two conditions, the second where the first does not hold.
                self.line(&format!("@{not}{p} bra L{then};"));
                self.some(2);
                self.line(&format!("@{q} bra L{end};\nL{then}:"));
                self.body(depth);
            }
            _ => {
                // What only some lanes may read: the word before, of all but the first.
                self.line(&format!(
                    "setp.eq.u32 %q1, %flat, 0;\n@%q1 bra L{end};\nmad.wide.u32 %b0, %flat, 4, %in;"
                ));
                let place = ["%b0+-4", "%back"][self.random.below(2)];
                self.line(&format!("ld.global.u32 %r4, [{place}];"));
                self.body(depth);
            }
        }
        self.line(&format!("L{end}:"));
    }

    /// What a loop has behind its first instructions.
    pub(super) fn within(&mut self) {
        match self.random.below(4) {
            0 | 1 => {
                self.branches(1);
                self.some(3);
            }
            2 => self.barrier(),
            _ => {}
        }
    }

    /// What other threads have written before a barrier; then a barrier before they write again.
    pub(super) fn barrier(&mut self) {
        let (mine, theirs) = (self.reg("r"), self.reg("r"));
        let by = 1 + self.random.below(31);
        self.line(&format!(
            "mad.lo.u32 %c0, %flat, 4, %near;\nst.shared.u32 [%c0], {mine};\nbar.sync 0;"
        ));
        self.some(3);
        self.line(&format!(
            "xor.b32 %c0, %flat, {by};\nand.b32 %c0, %c0, 127;\nmad.lo.u32 %c0, %c0, 4, %near;"
        ));
        let number = self.random.below(2);
        self.line(&format!(
            "ld.shared.u32 {theirs}, [%c0];\nbar.sync {number};"
        ));
    }
}
