//! Instructions and their operands.

use super::{
    Printer, SEPARATOR,
    pieces::{Line, Packed, Piece},
};
use crate::{
    ir::{Address, Base, Function, Imm, Inst, Operand, RegId, VarId},
    op::Op,
    special::Special,
};

/// An operand of a kind that most are of, behind a separator without its first `skip` bytes; false for another, of which
/// nothing is written.
#[inline]
fn plain(line: &mut Line<'_>, names: &[Packed], operand: &Operand, skip: usize) -> bool {
    let name = |id: RegId| names.get(id.index()).filter(|name| !name.is_none());
    let separate = |line: &mut Line<'_>| {
        if skip == 0 {
            line.block(*SEPARATOR);
        } else {
            line.block([b' ']);
        }
    };
    match operand {
        Operand::Reg(id) => {
            let Some(name) = name(*id) else { return false };
            // A constant number of bytes is left out at far less cost than a variable one.
            line.name(if skip == 0 { *name } else { name.behind::<1>() });
        }
        Operand::Addr(Address {
            base: Base::Reg(id),
            offset,
        }) => {
            let Some(name) = name(*id) else { return false };
            separate(line);
            line.block([b'[']);
            line.name(name.behind::<{ SEPARATOR.len() as u32 }>());
            if *offset != 0 {
                // The assembler takes `+-4`, not `-4`.
                line.block([b'+']);
                line.signed(*offset);
            }
            line.block([b']']);
        }
        Operand::Imm(imm) => {
            separate(line);
            line.imm(*imm);
        }
        _ => return false,
    }
    true
}

impl Printer<'_> {
    fn signed(&mut self, value: i64) {
        self.on_line(|line| line.signed(value));
    }

    pub(super) fn imm(&mut self, imm: Imm) {
        self.on_line(|line| line.imm(imm));
    }

    pub(super) fn inst(&mut self, function: &Function, inst: &Inst) {
        if let Some(guard) = inst.guard {
            self.put(if guard.negated { "@!" } else { "@" });
            self.reg(function, guard.reg);
            self.byte(b' ');
        }
        let first = &self.words.ops[inst.op as usize];
        self.from_opcode(function, inst, first);
    }

    /// The opcode as `first` writes it, and what follows.
    pub(super) fn from_opcode(&mut self, function: &Function, inst: &Inst, first: &Piece<32>) {
        let mut line = self.text.line();
        line.piece(first);
        for qual in inst.quals.as_slice() {
            line.piece(&self.words.quals[qual.index()]);
        }
        // The separator ends in the space that stands before the first operand.
        let mut skip = 1;
        let mut rest = inst.operands.iter();
        for operand in rest.as_slice() {
            if !line.fits() || !plain(&mut line, &self.names, operand, skip) {
                break;
            }
            skip = 0;
            rest.next();
        }
        let len = line.len;
        self.text.keep(len);
        for operand in rest {
            self.text.put(&SEPARATOR[skip..]);
            self.operand(function, inst.op, operand);
            skip = 0;
        }
    }

    fn reg(&mut self, function: &Function, id: RegId) {
        match self.names.get(id.index()) {
            Some(name) if !name.is_none() => name
                .behind::<{ SEPARATOR.len() as u32 }>()
                .append(&mut self.text),
            _ => self.long_name(function, id),
        }
    }

    fn long_name(&mut self, function: &Function, id: RegId) {
        let reg = function.regs.get(id.index());
        self.name_at(reg.map(|reg| &reg.prefix));
        if let Some(number) = reg.and_then(|reg| reg.number) {
            self.number(number.into());
        }
    }

    fn operand(&mut self, function: &Function, op: Op, operand: &Operand) {
        match operand {
            Operand::Reg(id) => self.reg(function, *id),
            Operand::NotReg(id) => {
                self.byte(b'!');
                self.reg(function, *id);
            }
            Operand::Imm(imm) => self.imm(*imm),
            Operand::Special(special) => self.special(*special),
            Operand::Var(id, offset) => {
                self.symbol(function, *id);
                self.offset(*offset);
            }
            Operand::Addr(Address { base, offset }) => {
                self.byte(b'[');
                match base {
                    Base::Reg(id) => {
                        self.reg(function, *id);
                        self.offset(*offset);
                    }
                    Base::Var(id) => {
                        self.symbol(function, *id);
                        self.offset(*offset);
                    }
                    Base::Absolute => self.signed(*offset),
                }
                self.byte(b']');
            }
            Operand::Vec(items) => self.list(function, op, items, "{", "}"),
            Operand::List(items) if op == Op::Call => self.list(function, op, items, "(", ")"),
            Operand::List(items) => self.list(function, op, items, "[", "]"),
            Operand::Pair(pair) => {
                self.operand(function, op, &pair.0);
                self.byte(b'|');
                self.operand(function, op, &pair.1);
            }
            Operand::Label(id) => self.name_at(function.labels.get(id.index())),
            Operand::Func(id) => {
                let module = self.module;
                self.name_at(module.functions.get(id.index()).map(|f| &f.name));
            }
            Operand::Sink => self.byte(b'_'),
        }
    }

    fn list(&mut self, function: &Function, op: Op, items: &[Operand], open: &str, close: &str) {
        self.put(open);
        for (at, item) in items.iter().enumerate() {
            self.put(if at > 0 { ", " } else { "" });
            self.operand(function, op, item);
        }
        self.put(close);
    }

    fn special(&mut self, special: Special) {
        self.put(special.name());
    }

    fn symbol(&mut self, function: &Function, id: VarId) {
        let module = self.module;
        let var = match id {
            VarId::Module(at) => module.vars.get(at as usize),
            VarId::Function(at) => function.vars.get(at as usize),
            VarId::Param(at) => function.params.get(at as usize),
            VarId::Return(at) => function.returns.get(at as usize),
        };
        self.name_at(var.map(|var| &var.name));
    }

    pub(super) fn offset(&mut self, offset: i64) {
        // The assembler takes `+-4`, not `-4`.
        if offset != 0 {
            self.byte(b'+');
            self.signed(offset);
        }
    }
}
