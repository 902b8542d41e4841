//! Lines of the table, and exchanges between lanes.

use super::Writer;

impl Writer<'_> {
    /// A line of the table, with operands.
    pub(super) fn from_table(&mut self) -> String {
        let lines = include_str!("../table.txt").lines();
        let lines: Vec<&str> = lines
            .filter(|line| !line.is_empty() && !line.starts_with("//"))
            .collect();
        let line = self.random.pick(&lines).to_owned();
        let mut out = String::new();
        let mut rest = line.split('$');
        out += rest.next().unwrap_or("");
        for part in rest {
            out += &match &part[..1] {
                "R" => self.reg("r"),
                "F" => self.reg("f"),
                "D" => self.reg("d"),
                "H" => self.reg("h"),
                "P" => self.reg("p"),
                "w" => self.word(),
                "f" => self.float(),
                "d" => self.wide(),
                "h" if self.random.below(4) == 0 => format!("{}", self.random.word() as i16),
                "h" => self.reg("h"),
                _ if self.random.below(5) == 0 => {
                    let (high, low) = (self.random.word(), self.random.word());
                    format!("0d{high:08X}{low:08X}")
                }
                _ => self.reg("d"),
            };
            out += &part[1..];
        }
        out
    }

    /// An exchange of whole warps; other blocks have none.
    pub(super) fn exchange(&mut self) {
        let by = self.random.below(32);
        let mode = self.random.pick(&["bfly", "up", "down", "idx"]).to_owned();
        let ends = if mode == "up" { 0 } else { 31 };
        match self.random.below(11) {
            8 | 9 => self.product(),
            10 => self.rows(),
            0 => self.line(&format!(
                "shfl.sync.{mode}.b32 %r2|%p1, %r5, {by}, {ends}, 0xffffffff;"
            )),
            4 => self.line(&format!(
                "shfl.sync.{mode}.b32 %r2|%p1, %r5, %r1, %r6, 0xffffffff;"
            )),
            5 => self.line(&format!(
                "or.b32 %c0, %r1, -1;\nshfl.sync.{mode}.b32 %r2|%p3, %f5, {by}, {ends}, %c0;"
            )),
            6 => self.line("mov.u32 %c0, -1;\nvote.sync.any.pred %p2, %p0, %c0;"),
            7 => {
                let how = self
                    .random
                    .pick(&[
                        "add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32",
                        "and.b32", "or.b32", "xor.b32",
                    ])
                    .to_owned();
                self.line(&format!("redux.sync.{how} %r3, %r4, 0xffffffff;"));
            }
            1 => self.line(&format!(
                "shfl.sync.{mode}.b32 %f2, %f6, {by}, {ends}, 0xffffffff;"
            )),
            2 => self.line("shfl.sync.idx.b32 %r2, %r5, %r1, 31, 0xffffffff;"),
            _ => {
                let how = self
                    .random
                    .pick(&[
                        "ballot.sync.b32 %r3",
                        "any.sync.pred %p2",
                        "all.sync.pred %p2",
                    ])
                    .to_owned();
                self.line(&format!("vote.{how}, %p0, 0xffffffff;"));
            }
        }
    }
}
