//! The ways out of a run: what the frame does not have yet is written there, and the interpreter or another run goes on.

use super::{
    nodes::Code,
    target::Target,
    values::{Coder, Forms, Skip, Source, ValueId},
};
use crate::lower::Dst;
use regalloc2::{Operand as Slot, VReg};
use warpsmith_ptx::{ir::RegId, types::Type};
use warpsmith_x86::Cond;

/// Where a value goes when a run is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// 8 bytes: one value for the warp, or the lanes of a predicate.
    Scalar(u32),
    /// 32 cells of 32 bits.
    Narrow(u32),
    /// 32 cells of 64 bits.
    Wide(u32),
}

/// What it is until then.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Constant(u64),
    /// A general register.
    Scalar,
    /// A vector register with one value of 32 bits; a NaN of it may have any bits.
    Splat {
        raw: bool,
    },
    /// Two vector registers.
    Lanes {
        raw: bool,
    },
    /// Four vector registers.
    Wide,
    /// A general register with lane 0, and what each lane has more than the one before.
    Affine(i64),
    /// A mask register.
    Mask,
}

impl Form {
    /// Registers it is in.
    pub(super) fn registers(self) -> usize {
        match self {
            Form::Constant(_) => 0,
            Form::Scalar | Form::Splat { .. } | Form::Affine(_) | Form::Mask => 1,
            Form::Lanes { .. } => 2,
            Form::Wide => 4,
        }
    }

    /// The same on a machine, whose vector registers may be half as wide.
    pub(super) fn registers_of(self, target: Target) -> usize {
        match (self, target) {
            (Form::Lanes { .. } | Form::Wide, Target::Avx2) => 2 * self.registers(),
            _ => self.registers(),
        }
    }
}

/// A way out: what is written to the frame, and where it goes.
pub(super) struct Exit {
    pub(super) items: Vec<(Home, Form)>,
    /// In a region, the blocks where lanes wait: behind the registers of all items come the mask of those that go on, and
    /// those of who waits.
    pub(super) waits: Option<Vec<u32>>,
    pub(super) next: Next,
}

/// What comes behind a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// The interpreter, with this op.
    Op(u32),
    /// A block, compiled or not.
    Block(u32),
}

impl Coder<'_, '_> {
    /// Leaves the run before the current instruction where the condition holds.
    pub(super) fn exit_if(&mut self, cond: Cond) {
        let live = &self.live[self.block][self.at];
        let (exit, operands) = self.way_out(live, Next::Op(self.op));
        self.nodes.push(Code::ExitIf(cond, exit), &operands);
    }

    /// Goes to another block where the condition holds.
    pub(super) fn branch_if(&mut self, cond: Cond, block: u32) {
        let live = &self.live[block as usize][0];
        let (exit, operands) = self.way_out(live, Next::Block(block));
        self.nodes.push(Code::ExitIf(cond, exit), &operands);
    }

    /// Pays for a jump; leaves the run before the current instruction if it cannot.
    pub(super) fn burn(&mut self) {
        let live = &self.live[self.block][self.at];
        let (exit, operands) = self.way_out(live, Next::Op(self.op));
        self.nodes.push(Code::Fuel(exit), &operands);
    }

    /// Ends the run before the current instruction.
    pub(super) fn exit(&mut self) {
        let live = &self.live[self.block][self.at];
        let (exit, operands) = self.way_out(live, Next::Op(self.op));
        self.nodes.push(Code::Exit(exit), &operands);
    }

    /// Ends the run with a block.
    pub(super) fn go(&mut self, block: u32) {
        let live = &self.live[block as usize][0];
        let (exit, operands) = self.way_out(live, Next::Block(block));
        self.nodes.push(Code::Exit(exit), &operands);
    }

    fn way_out(&mut self, live: &[u64], next: Next) -> (u32, Vec<Slot>) {
        let mut live = live.to_vec();
        for (block, _) in self.waits.iter().flat_map(|waits| &waits.lanes) {
            for (word, more) in live.iter_mut().zip(&self.live[*block as usize][0]) {
                *word |= more;
            }
        }
        let is_live = |reg: u32| live[reg as usize / 64] >> (reg % 64) & 1 != 0;
        let mut dirty: Vec<(u32, ValueId)> = self
            .regs
            .iter()
            .filter(|(reg, held)| held.dirty && is_live(**reg))
            .map(|(reg, held)| (*reg, held.value))
            .collect();
        dirty.sort_unstable_by_key(|(reg, _)| *reg);
        let mut items = Vec::new();
        let mut operands = Vec::new();
        for (reg, value) in dirty {
            let reg = RegId(reg);
            let Dst { slot, uniform } = self.l.dst_of(reg);
            let slot = slot.0;
            let home = match self.l.type_of(reg) {
                Type::Pred => Home::Scalar(slot),
                _ if uniform => Home::Scalar(slot),
                ty if ty.bits() > 32 => Home::Wide(slot),
                _ => Home::Narrow(slot),
            };
            let f = self.forms(value).clone();
            // A move between registers of one place changes nothing.
            let stands = match (home, f.source) {
                (Home::Scalar(to), Some(Source::Scalar(from) | Source::Mask(from)))
                | (Home::Narrow(to), Some(Source::Narrow(from)))
                | (Home::Wide(to), Some(Source::Wide(from))) => to == from,
                _ => false,
            };
            if stands {
                continue;
            }
            // What is only in the frame as another register's stays right: it is loaded first.
            if f.constant.is_none()
                && f.scalar.is_none()
                && f.splat.is_none()
                && f.lanes.is_none()
                && f.quads.is_none()
                && f.affine.is_none()
                && f.mask.is_none()
            {
                let loaded = match f.source {
                    Some(Source::Scalar(_)) => self.scalar(value).map(|_| ()),
                    Some(Source::Narrow(_)) => self.lanes(value).map(|_| ()),
                    Some(Source::Wide(_)) => self.quads(value).map(|_| ()),
                    Some(Source::Mask(_)) => self.mask(value, false).map(|_| ()),
                    None => Err(Skip),
                };
                debug_assert!(loaded.is_ok(), "a value has a form");
            }
            let f = self.forms(value).clone();
            let raw = f.raw;
            let (form, regs): (Form, Vec<VReg>) = match (home, &f) {
                (
                    _,
                    Forms {
                        constant: Some(value),
                        ..
                    },
                ) => (Form::Constant(*value), vec![]),
                (
                    Home::Narrow(_),
                    Forms {
                        lanes: Some(lanes), ..
                    },
                ) => (Form::Lanes { raw }, lanes.to_vec()),
                (
                    Home::Wide(_),
                    Forms {
                        quads: Some(quads), ..
                    },
                ) => (Form::Wide, quads.to_vec()),
                (
                    Home::Narrow(_),
                    Forms {
                        splat: Some(splat), ..
                    },
                ) => (Form::Splat { raw }, vec![*splat]),
                (
                    _,
                    Forms {
                        scalar: Some(scalar),
                        ..
                    },
                ) => (Form::Scalar, vec![*scalar]),
                (
                    Home::Scalar(_),
                    Forms {
                        splat: Some(splat), ..
                    },
                ) => (Form::Splat { raw }, vec![*splat]),
                (
                    Home::Narrow(_) | Home::Wide(_),
                    Forms {
                        affine: Some((base, step)),
                        ..
                    },
                ) => (Form::Affine(*step), vec![*base]),
                (
                    Home::Scalar(_),
                    Forms {
                        mask: Some(mask), ..
                    },
                ) => (Form::Mask, vec![*mask]),
                _ => unreachable!("{f:?} has no form for {home:?}"),
            };
            items.push((home, form));
            operands.extend(regs.into_iter().map(Slot::any_use));
        }
        let waits = self.waits.as_ref().map(|waits| {
            let lanes = waits.lanes.iter().map(|(_, lanes)| *lanes);
            let all = std::iter::once(waits.here).chain(lanes);
            operands.extend(all.map(Slot::any_use));
            waits.lanes.iter().map(|(block, _)| *block).collect()
        });
        self.exits.push(Exit { items, waits, next });
        (self.exits.len() as u32 - 1, operands)
    }
}
