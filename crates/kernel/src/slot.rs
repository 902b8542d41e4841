//! Operands of a draft: sixteen bytes each and no heap; a group is a head that is followed by its members.

use crate::misuse::Birth;
use smallvec::SmallVec;
use warpsmith_ptx::{
    ir::{Address, Base, FuncId, Imm, LabelId, Operand, RegId, VarId},
    special::Special,
};

/// An operand, or the head of a group of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// A constant or an offset.
    bits: u64,
    /// Which register, variable or label, or how many members.
    id: u32,
    kind: Kind,
    /// Where a constant was made.
    birth: Birth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Reg,
    NotReg,
    Int,
    Uint,
    F32,
    F64,
    Special,
    // The address of a variable as a value, by where it is declared.
    Module,
    Function,
    Param,
    Return,
    // `[base+offset]`.
    AtReg,
    AtModule,
    AtFunction,
    AtParam,
    AtReturn,
    AtNothing,
    Label,
    Func,
    Sink,
    Vec,
    Pair,
    List,
}

const fn slot(kind: Kind, id: u32, bits: u64) -> Slot {
    let birth = Birth::BODY;
    Slot {
        bits,
        id,
        kind,
        birth,
    }
}

impl Slot {
    pub(crate) const fn reg(reg: RegId) -> Slot {
        slot(Kind::Reg, reg.0, 0)
    }

    pub(crate) const fn int(value: i64) -> Slot {
        slot(Kind::Int, 0, value as u64)
    }

    pub(crate) const fn imm(imm: Imm) -> Slot {
        match imm {
            Imm::Int(value) => slot(Kind::Int, 0, value as u64),
            Imm::Uint(value) => slot(Kind::Uint, 0, value),
            Imm::F32(bits) => slot(Kind::F32, 0, bits as u64),
            Imm::F64(bits) => slot(Kind::F64, 0, bits),
        }
    }

    /// A constant that was made in a region.
    pub(crate) const fn born(imm: Imm, birth: Birth) -> Slot {
        Slot {
            birth,
            ..Slot::imm(imm)
        }
    }

    /// The region that a constant was made in; 0 for the body, and for all else.
    #[inline]
    pub(crate) fn region(&self) -> u32 {
        self.birth.region()
    }

    pub(crate) const fn special(special: Special) -> Slot {
        slot(Kind::Special, special as u32, 0)
    }

    pub(crate) const fn label(label: LabelId) -> Slot {
        slot(Kind::Label, label.0, 0)
    }

    /// `[reg+offset]`.
    pub(crate) const fn at(reg: RegId, offset: i64) -> Slot {
        slot(Kind::AtReg, reg.0, offset as u64)
    }

    /// `[param]`.
    pub(crate) const fn param(at: u32) -> Slot {
        slot(Kind::AtParam, at, 0)
    }

    /// The address of a variable of the function.
    pub(crate) const fn var(at: u32) -> Slot {
        slot(Kind::Function, at, 0)
    }

    /// The head of `{a, b, ...}` with `count` members.
    pub(crate) const fn group(count: u32) -> Slot {
        slot(Kind::Vec, count, 0)
    }

    /// Variable 0 of the function becomes variable `to` of the module.
    pub(crate) fn promote(&mut self, to: u32) {
        match (self.kind, self.id) {
            (Kind::Function, 0) => (self.kind, self.id) = (Kind::Module, to),
            (Kind::AtFunction, 0) => (self.kind, self.id) = (Kind::AtModule, to),
            _ => {}
        }
    }

    /// Variable `from` of the function becomes its variable `to`.
    pub(crate) fn renumber(&mut self, from: u32, to: u32) {
        if matches!(self.kind, Kind::Function | Kind::AtFunction) && self.id == from {
            self.id = to;
        }
    }

    /// The register that it names.
    #[inline]
    pub(crate) fn named(&self) -> Option<RegId> {
        matches!(self.kind, Kind::Reg | Kind::NotReg | Kind::AtReg).then_some(RegId(self.id))
    }

    /// The register that it is.
    #[inline]
    pub(crate) fn is_reg(&self) -> Option<RegId> {
        matches!(self.kind, Kind::Reg).then_some(RegId(self.id))
    }

    /// Whether it may be another value each time it is read.
    #[inline]
    pub(crate) fn varies(&self) -> bool {
        self.kind == Kind::Special
            && Special::ALL
                .get(self.id as usize)
                .is_none_or(|special| !is_constant(*special))
    }

    /// Two words that differ for different slots.
    #[inline]
    pub(crate) fn words(&self) -> [u64; 2] {
        [u64::from(self.id) << 8 | self.kind as u64, self.bits]
    }

    /// Members that follow it.
    fn members(&self) -> u32 {
        match self.kind {
            Kind::Vec | Kind::Pair | Kind::List => self.id,
            _ => 0,
        }
    }

    /// Slots of the first operand of `slots`.
    pub(crate) fn width(slots: &[Slot]) -> usize {
        let (mut at, mut left) = (0, 1u32);
        while let (1.., Some(slot)) = (left, slots.get(at)) {
            left = left - 1 + slot.members();
            at += 1;
        }
        at
    }

    /// Appends the slots of an operand.
    pub(crate) fn append(out: &mut Vec<Slot>, operand: &Operand) {
        let group = |out: &mut Vec<Slot>, kind, items: &[Operand]| {
            out.push(slot(kind, items.len() as u32, 0));
            items.iter().for_each(|item| Slot::append(out, item));
        };
        out.push(match operand {
            Operand::Reg(reg) => Slot::reg(*reg),
            Operand::NotReg(reg) => slot(Kind::NotReg, reg.0, 0),
            Operand::Imm(imm) => Slot::imm(*imm),
            Operand::Special(special) => Slot::special(*special),
            Operand::Var(id, offset) => {
                let (kind, at) = match *id {
                    VarId::Module(at) => (Kind::Module, at),
                    VarId::Function(at) => (Kind::Function, at),
                    VarId::Param(at) => (Kind::Param, at),
                    VarId::Return(at) => (Kind::Return, at),
                };
                slot(kind, at, *offset as u64)
            }
            Operand::Addr(Address { base, offset }) => match base {
                Base::Reg(reg) => Slot::at(*reg, *offset),
                Base::Var(id) => {
                    let (kind, at) = match *id {
                        VarId::Module(at) => (Kind::AtModule, at),
                        VarId::Function(at) => (Kind::AtFunction, at),
                        VarId::Param(at) => (Kind::AtParam, at),
                        VarId::Return(at) => (Kind::AtReturn, at),
                    };
                    slot(kind, at, *offset as u64)
                }
                Base::Absolute => slot(Kind::AtNothing, 0, *offset as u64),
            },
            Operand::Label(label) => Slot::label(*label),
            Operand::Func(FuncId(at)) => slot(Kind::Func, *at, 0),
            Operand::Sink => slot(Kind::Sink, 0, 0),
            Operand::Vec(items) => return group(out, Kind::Vec, items),
            Operand::List(items) => return group(out, Kind::List, items),
            Operand::Pair(pair) => {
                out.push(slot(Kind::Pair, 2, 0));
                Slot::append(out, &pair.0);
                Slot::append(out, &pair.1);
                return;
            }
        });
    }

    /// Appends the next operand of `slots`, with registers as `to` names them; the slots behind it.
    #[inline]
    pub(crate) fn append_to<'s>(
        out: &mut SmallVec<[Operand; 4]>,
        slots: &'s [Slot],
        to: &[RegId],
    ) -> Option<&'s [Slot]> {
        let (head, rest) = slots.split_first()?;
        let reg = || to[head.id as usize];
        let offset = head.bits as i64;
        match head.kind {
            Kind::Reg => put(out, || Operand::Reg(reg())),
            Kind::Int => put(out, || Operand::Imm(Imm::Int(head.bits as i64))),
            Kind::F32 => put(out, || Operand::Imm(Imm::F32(head.bits as u32))),
            Kind::AtReg => put(out, || {
                let base = Base::Reg(reg());
                Operand::Addr(Address { base, offset })
            }),
            _ => {
                let (operand, behind) = Slot::operand(slots, to)?;
                out.push(operand);
                return Some(behind);
            }
        }
        Some(rest)
    }

    /// The next operand of `slots`, with registers as `to` names them; the slots behind it.
    fn operand<'s>(slots: &'s [Slot], to: &[RegId]) -> Option<(Operand, &'s [Slot])> {
        let (head, mut rest) = slots.split_first()?;
        let reg = || to[head.id as usize];
        let address = |base| {
            let offset = head.bits as i64;
            Operand::Addr(Address { base, offset })
        };
        let value = |var| Operand::Var(var, head.bits as i64);
        let operand = match head.kind {
            Kind::Reg => Operand::Reg(reg()),
            Kind::NotReg => Operand::NotReg(reg()),
            Kind::Int => Operand::Imm(Imm::Int(head.bits as i64)),
            Kind::Uint => Operand::Imm(Imm::Uint(head.bits)),
            Kind::F32 => Operand::Imm(Imm::F32(head.bits as u32)),
            Kind::F64 => Operand::Imm(Imm::F64(head.bits)),
            Kind::Special => Operand::Special(*Special::ALL.get(head.id as usize)?),
            Kind::Module => value(VarId::Module(head.id)),
            Kind::Function => value(VarId::Function(head.id)),
            Kind::Param => value(VarId::Param(head.id)),
            Kind::Return => value(VarId::Return(head.id)),
            Kind::AtModule => address(Base::Var(VarId::Module(head.id))),
            Kind::AtFunction => address(Base::Var(VarId::Function(head.id))),
            Kind::AtParam => address(Base::Var(VarId::Param(head.id))),
            Kind::AtReturn => address(Base::Var(VarId::Return(head.id))),
            Kind::AtReg => address(Base::Reg(reg())),
            Kind::AtNothing => address(Base::Absolute),
            Kind::Label => Operand::Label(LabelId(head.id)),
            Kind::Func => Operand::Func(FuncId(head.id)),
            Kind::Sink => Operand::Sink,
            Kind::Vec | Kind::Pair | Kind::List => {
                let mut members = Vec::with_capacity(head.id as usize);
                for _ in 0..head.id {
                    let (member, behind) = Slot::operand(rest, to)?;
                    members.push(member);
                    rest = behind;
                }
                group(head.kind, members)?
            }
        };
        Some((operand, rest))
    }
}

/// Appends an operand of one kind, written where it stays: one that is built elsewhere for all kinds and then copied as a
/// whole waits for its parts to be written.
#[inline(never)]
fn put(out: &mut SmallVec<[Operand; 4]>, operand: impl FnOnce() -> Operand) {
    out.push(operand());
}

/// Whether a special register keeps its value while a thread runs.
fn is_constant(special: Special) -> bool {
    let name = special.name();
    let changes = ["%clock", "%globaltimer", "%pm", "%smid", "%warpid"];
    !changes.iter().any(|prefix| name.starts_with(prefix))
}

fn group(kind: Kind, members: Vec<Operand>) -> Option<Operand> {
    Some(match kind {
        Kind::Vec => Operand::Vec(members.into()),
        Kind::List => Operand::List(members.into()),
        _ => {
            let mut members = members.into_iter();
            Operand::Pair(Box::new((members.next()?, members.next()?)))
        }
    })
}
