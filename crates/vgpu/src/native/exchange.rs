//! Code for exchanges whose lanes or members are registers, and for reductions.
//!
//! Runs of all lanes have them alone: members that are a register are looked at, and where they are not all lanes the run is
//! left.

use super::{
    kinds::{Vote, is_pred, reads, writes},
    more::source,
    nodes::{Arg, Code, Vector},
    values::{Coder, Skip, ValueId},
};
use crate::{
    exec::{Mode, mode_of},
    lower::{Lowerer, immediate},
};
use regalloc2::RegClass;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    types::Type,
};
use warpsmith_x86::{Cond, Vop, vector};

/// An exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    Shuffle { mode: Mode },
    Vote(Vote),
    Reduce(Join),
}

/// What two lanes become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    Add,
    Min { signed: bool },
    Max { signed: bool },
    And,
    Or,
    Xor,
}

/// What an instruction exchanges.
pub(super) fn kind(l: &Lowerer<'_>, inst: &Inst) -> Option<Exchange> {
    let q = &inst.quals;
    let has = |word| q.has(word);
    let o = |at: usize| inst.operands.get(at);
    if !has(Qual::Sync) {
        return None;
    }
    // Members that are fewer than all lanes are the interpreter's.
    let members = match inst.operands.last()? {
        Operand::Imm(imm) => immediate(*imm, 32) as u32 == u32::MAX,
        operand => reads(l, Some(operand), 32),
    };
    let (kind, fits) = match inst.op {
        Op::Shfl => {
            let (to, pred) = match o(0)? {
                Operand::Pair(pair) => (&pair.0, Some(&pair.1)),
                to => (to, None),
            };
            let fits = inst.operands.len() == 5
                && writes(l, Some(to), 32)
                && (1..4).all(|at| reads(l, o(at), 32))
                && pred.is_none_or(|pred| matches!(pred, Operand::Sink) || is_pred(l, Some(pred)));
            (
                Exchange::Shuffle {
                    mode: mode_of(inst),
                },
                fits,
            )
        }
        Op::Vote => {
            let vote = if has(Qual::Ballot) {
                Vote::Ballot
            } else if has(Qual::All) {
                Vote::All
            } else if has(Qual::Any) {
                Vote::Any
            } else {
                return None;
            };
            let target = match vote {
                Vote::Ballot => writes(l, o(0), 32),
                Vote::All | Vote::Any => is_pred(l, o(0)),
            };
            (Exchange::Vote(vote), target && is_pred(l, o(1)))
        }
        Op::Redux => {
            let ty = q.types().next()?;
            let signed = ty.is_signed();
            let join = if has(Qual::Add) {
                Join::Add
            } else if has(Qual::Min) {
                Join::Min { signed }
            } else if has(Qual::Max) {
                Join::Max { signed }
            } else if has(Qual::And) {
                Join::And
            } else if has(Qual::Or) {
                Join::Or
            } else if has(Qual::Xor) {
                Join::Xor
            } else {
                return None;
            };
            let word = matches!(ty, Type::U32 | Type::S32 | Type::B32);
            let fits =
                word && writes(l, o(0), 32) && reads(l, o(1), 32) && inst.operands.len() == 3;
            (Exchange::Reduce(join), fits)
        }
        _ => return None,
    };
    (members && fits).then_some(kind)
}

impl Coder<'_, '_> {
    pub(super) fn exchange(&mut self, exchange: Exchange, inst: &Inst) -> Result<(), Skip> {
        self.all_are_members(inst.operands.last().ok_or(Skip)?)?;
        let value = match exchange {
            Exchange::Shuffle { mode } => return self.shuffle_by_lanes(mode, inst),
            Exchange::Vote(vote) => self.vote(vote, inst)?,
            Exchange::Reduce(join) => {
                let a = self.read(source(inst, 1)?, 32)?;
                self.reduce(join, a)?
            }
        };
        self.put(source(inst, 0)?, value)
    }

    /// Leaves the run where a mask of members is not of all lanes, for one of them.
    fn all_are_members(&mut self, operand: &Operand) -> Result<(), Skip> {
        let value = self.read(operand, 32)?;
        if let Some(members) = self.constant_of(value) {
            return if members == 0xFFFF_FFFF {
                Ok(())
            } else {
                Err(Skip)
            };
        }
        if self.is_uniform(value) {
            let reg = self.scalar(value)?;
            self.nodes.effect(Code::CompareImm(false, -1), &[reg]);
            self.exit_if(Cond::NotEqual);
            return Ok(());
        }
        let [low, high] = self.lanes_exact(value)?;
        let both = self.plain(&vector::AND, low, high);
        let all = self.whole(0xFFFF_FFFF);
        let off = self.test(&vector::CMP_I32, 4, both, all);
        self.nodes.effect(Code::MaskTest16, &[off]);
        self.exit_if(Cond::NotEqual);
        Ok(())
    }

    /// As `source` of the interpreter, for all lanes.
    fn shuffle_by_lanes(&mut self, mode: Mode, inst: &Inst) -> Result<(), Skip> {
        let (to, pred) = match source(inst, 0)? {
            Operand::Pair(pair) => (&pair.0, Some(&pair.1)),
            to => (to, None),
        };
        let [a, b, c] = self.args(inst, 32)?;
        let lanes = self.lanes_exact(a)?;
        let (b, c) = (self.lanes_exact(b)?, self.lanes_exact(c)?);
        let mut found = Vec::with_capacity(2);
        let mut fine = Vec::with_capacity(2);
        for j in 0..2 {
            let table = super::encode::lane_table(1, j, false);
            let table = self.nodes.constant(table);
            let own = self.vector(&vector::LOAD, Vector::one(Arg::Mem(table)));
            let by = self.with_constant(&vector::AND, b[j], 31);
            let clamp = self.with_constant(&vector::AND, c[j], 31);
            let segments = self.by(&vector::SHR_U32, c[j], 8);
            let segments = self.with_constant(&vector::AND, segments, 31);
            let zero = self.whole(0);
            let low = self.plain(&vector::AND, own, segments);
            let high = self.merge(segments, own, clamp);
            // Up to the end of a segment, or from its beginning on.
            let (from, imm) = match mode_name(mode) {
                Qual::Up => (self.plain(&vector::SUB_I32, own, by), 5),
                Qual::Down => (self.plain(&vector::ADD_I32, own, by), 2),
                Qual::Bfly => (self.plain(&vector::XOR, own, by), 2),
                _ => {
                    let free = self.merge(segments, zero, by);
                    (self.plain(&vector::OR, low, free), 2)
                }
            };
            let inside = self.test(&vector::CMP_I32, imm, from, high);
            let v = Vector {
                tied: Some(own),
                mask: Some(inside),
                ..Vector::one(Arg::Reg(from))
            };
            let from = self.vector(&vector::LOAD_I32, v);
            let v = Vector {
                tied: Some(from),
                ..Vector::two(lanes[0], Arg::Reg(lanes[1]))
            };
            found.push(self.vector(&vector::PERMUTE2_I32, v));
            fine.push(inside);
        }
        let value = self.of_lanes([found[0], found[1]], false);
        self.put(to, value)?;
        if let Some(pred @ Operand::Reg(_)) = pred {
            let mask = self.nodes.mask(Code::MaskJoin, &[fine[1], fine[0]]);
            let value = self.of_mask(mask);
            self.put(pred, value)?;
        }
        Ok(())
    }

    /// What 32 lanes become together.
    fn reduce(&mut self, join: Join, a: ValueId) -> Result<ValueId, Skip> {
        let op: &'static Vop = match join {
            Join::Add => &vector::ADD_I32,
            Join::Min { signed: true } => &vector::MIN_I32,
            Join::Min { signed: false } => &vector::MIN_U32,
            Join::Max { signed: true } => &vector::MAX_I32,
            Join::Max { signed: false } => &vector::MAX_U32,
            Join::And => &vector::AND,
            Join::Or => &vector::OR,
            Join::Xor => &vector::XOR,
        };
        let [low, high] = self.lanes_exact(a)?;
        let mut all = self.plain(op, low, high);
        for imm in [0x4E, 0xB1] {
            let v = Vector {
                imm,
                ..Vector::two(all, Arg::Reg(all))
            };
            let other = self.nodes.vector(&vector::SHUFFLE_128, RegClass::Float, v);
            all = self.plain(op, all, other);
        }
        for imm in [0x4E, 0xB1] {
            let other = self.by(&vector::SHUFFLE_I32, all, imm);
            all = self.plain(op, all, other);
        }
        Ok(self.of_splat(all, false))
    }

    /// The lanes that run an instruction which is the same for all.
    pub(super) fn active_lanes(&mut self) -> ValueId {
        match self.lanes_of_now() {
            None => self.constant(0xFFFF_FFFF, false),
            Some(now) => {
                let reg = self.nodes.scalar(Code::MaskTo, &[now]);
                self.of_scalar(reg, false)
            }
        }
    }
}

/// The word of a mode's number.
fn mode_name(mode: Mode) -> Qual {
    let is = |word: Qual| mode_of(&Inst::new(Op::Shfl, &[word], [])) == mode;
    [Qual::Up, Qual::Down, Qual::Bfly]
        .into_iter()
        .find(|word| is(*word))
        .unwrap_or(Qual::Idx)
}
