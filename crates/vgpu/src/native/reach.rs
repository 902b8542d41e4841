//! Spans of memory: accesses by one register are checked together, with the first of them.
//!
//! Where the span is not inside of the window, the run is left before that first access, and the interpreter finds out
//! which one goes astray, if any of them is reached.

use super::{
    accesses::{self, Access},
    nodes::Code,
    values::Coder,
};
use crate::{lower::roles, memory::Window};
use regalloc2::VReg;
use warpsmith_ptx::{
    ir::{Address, Base, Inst, Operand},
    op::Op,
};
use warpsmith_x86::{Alu, Cond};

/// Bytes behind an address, and what the first one is aligned to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) align: u32,
}

impl Span {
    /// Spans that one check is good for.
    const MOST: i64 = 1 << 14;

    /// Whether one check of this is good for the other.
    pub(super) fn has(self, other: Span) -> bool {
        let inside = self.from <= other.from && other.to <= self.to;
        inside
            && other.align <= self.align
            && (other.from - self.from) % i64::from(other.align) == 0
    }

    /// Both, if they are near and what is aligned for one is aligned for the other.
    fn and(self, other: Span) -> Option<Span> {
        let align = self.align.max(other.align);
        let from = self.from.min(other.from);
        let to = self.to.max(other.to);
        let fits = |span: Span| (span.from - from) % i64::from(span.align) == 0;
        let both = Span { from, to, align };
        (to - from <= Span::MOST && fits(self) && fits(other)).then_some(both)
    }
}

/// A span of memory that has been checked, and where the host has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub(super) at: VReg,
    pub(super) span: Span,
}

impl Coder<'_, '_> {
    /// What this access and those behind it have in common, that go to the same memory by the same register: one check is
    /// enough for all. So many lanes are neighbours, or 1 where all go to one place.
    pub(super) fn span(&self, access: Access, operand: &Operand, lanes: u32, own: Span) -> Span {
        let Operand::Addr(Address {
            base: Base::Reg(reg),
            ..
        }) = operand
        else {
            return own;
        };
        let insts = self.insts[self.block][self.at..].iter().flatten();
        let Some(guard) = insts.clone().next().map(|inst| inst.guard) else {
            return own;
        };
        let mut all = own;
        let changes = |inst: &Inst| {
            let mut changes = false;
            roles::each_def(inst, &mut |def| changes |= def == *reg);
            changes
        };
        let each = access.bytes * access.count;
        let other = |inst: &Inst| {
            let place = match inst.op {
                Op::Ld => inst.operands.get(1)?,
                Op::St => inst.operands.first()?,
                _ => return None,
            };
            let Operand::Addr(Address {
                base: Base::Reg(base),
                offset,
            }) = place
            else {
                return None;
            };
            let found = accesses::access(self.l, inst, place)?;
            let align = found.bytes * found.count;
            let same = base == reg && found.shared == access.shared && inst.guard == guard;
            if !same || lanes != 1 && align != each {
                return None;
            }
            Some(Span {
                from: *offset,
                to: offset + i64::from(lanes * align),
                align,
            })
        };
        for inst in insts {
            if let Some(other) = other(inst)
                && let Some(both) = all.and(other)
            {
                all = both;
            }
            if changes(inst) {
                break;
            }
        }
        all
    }

    /// Checks a span of memory behind an address: the host's pointer to where it begins.
    pub(super) fn reach(&mut self, access: Access, base: VReg, wide: bool, span: Span) -> VReg {
        let address = if wide {
            self.add_imm(base, span.from)
        } else {
            // Of 32 bits, it wraps around there.
            let code = Code::AluImm(Alu::Add, false, span.from as i32);
            self.nodes.change(code, base, &[])
        };
        if span.align > 1 {
            let test = Code::TestImm(span.align as i32 - 1);
            self.nodes.effect(test, &[address]);
            self.exit_if(Cond::NotEqual);
        }
        let from = if access.shared {
            address
        } else {
            // Shared memory begins at 0.
            let first = self.field(access, Window::BASE_AT);
            self.nodes
                .change(Code::Alu(Alu::Sub, true), address, &[first])
        };
        let limit = self.limit(access, (span.to - span.from) as u32);
        self.nodes.effect(Code::Compare(true), &[from, limit]);
        self.exit_if(Cond::Above);
        let host = self.field(access, Window::HOST_AT);
        self.nodes.change(Code::Alu(Alu::Add, true), from, &[host])
    }
}
