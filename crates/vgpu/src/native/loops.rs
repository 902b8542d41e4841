//! Loops: a run that comes back to where it began goes round in registers, and not by way of the frame.
//!
//! A run is compiled once without, which shows what changes from one turn to the next and what is only read. Then it is
//! compiled again: what is read, and what is known of memory, is found before the loop, and what changes has the same
//! form wherever a turn ends. Where a value does not come in that form after all, the first code is taken.
//!
//! All ways out write what has changed since the loop was entered.

use super::{
    nodes::Code,
    values::{Coder, Forms, Held, Known, Skip, ValueId},
};
use crate::lower::Dst;
use regalloc2::{RegClass, VReg};
use rustc_hash::FxHashMap;
use warpsmith_ptx::{ir::RegId, types::Type};
use warpsmith_x86::{Cond, vector};

/// The form of a register where turns begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnShape {
    /// A general register.
    Scalar,
    /// One vector register, whose NaNs may have any bits.
    Splat(bool),
    /// Two.
    Lanes(bool),
    /// Four.
    Quads,
    /// A general register with lane 0, and the step.
    Affine(i64),
    Mask,
}

/// What a turn leaves behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    held: FxHashMap<u32, (Forms, bool)>,
    windows: Vec<Known>,
}

/// A loop that begins with a block.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) block: u32,
    carried: Vec<(RegId, TurnShape)>,
    /// Registers that are only read, with their forms.
    read: Vec<(RegId, Forms)>,
    windows: Vec<Known>,
}

impl Loop {
    /// Of what each turn of the loop at `block` leaves behind.
    fn of(coder: &Coder<'_, '_>, block: u32, turns: &[Turn]) -> Option<Loop> {
        let live = &coder.live[block as usize][0];
        let is_live = |reg: u32| live[reg as usize / 64] >> (reg % 64) & 1 != 0;
        let mut carried: FxHashMap<u32, Vec<Forms>> = FxHashMap::default();
        for turn in turns {
            for (reg, (forms, dirty)) in &turn.held {
                if *dirty && is_live(*reg) {
                    carried.entry(*reg).or_default().push(forms.clone());
                }
            }
        }
        let last = turns.last()?;
        let mut read: Vec<(RegId, Forms)> = last
            .held
            .iter()
            .filter(|(reg, (_, dirty))| !dirty && !carried.contains_key(reg))
            .map(|(reg, (forms, _))| (RegId(*reg), forms.clone()))
            .collect();
        read.sort_by_key(|(reg, _)| *reg);
        let mut carried: Vec<(RegId, TurnShape)> = carried
            .into_iter()
            .map(|(reg, forms)| (RegId(reg), coder.shape_of(RegId(reg), &forms)))
            .collect();
        carried.sort_by_key(|(reg, _)| *reg);
        Some(Loop {
            block,
            carried,
            read,
            windows: last.windows.clone(),
        })
    }
}

impl Coder<'_, '_> {
    /// The form that a register has between turns, by those that it has where they end.
    fn shape_of(&self, reg: RegId, ends: &[Forms]) -> TurnShape {
        let Dst { uniform, .. } = self.l.dst_of(reg);
        let ty = self.l.type_of(reg);
        let raw = ends.iter().any(|forms| forms.raw);
        if ty == Type::Pred {
            return TurnShape::Mask;
        }
        if uniform {
            let floats = ends
                .iter()
                .all(|forms| forms.splat.is_some() && forms.scalar.is_none());
            return if floats && ty.bits() <= 32 {
                TurnShape::Splat(raw)
            } else {
                TurnShape::Scalar
            };
        }
        let guessed = match self.shapes[reg.index()] {
            super::shapes::Lanes::Affine(step) if step != 0 => Some(step),
            _ => None,
        };
        let even = |step: i64| {
            let same = |forms: &Forms| forms.affine.is_some_and(|(_, own)| own == step);
            ends.iter().all(same)
        };
        match guessed {
            Some(step) if even(step) => TurnShape::Affine(step),
            _ if ty.bits() > 32 => TurnShape::Quads,
            _ => TurnShape::Lanes(raw),
        }
    }

    /// Remembers where a turn ends, for [`Coder::found_loop`].
    pub(super) fn turn(&mut self) {
        let held = self.regs.iter();
        let held = held.map(|(reg, held)| (*reg, *held)).collect::<Vec<_>>();
        let held = held
            .into_iter()
            .map(|(reg, held)| (reg, (self.forms(held.value).clone(), held.dirty)))
            .collect();
        let mut windows: Vec<Known> = self.windows.keys().copied().collect();
        windows.sort_unstable();
        self.turns.push(Turn { held, windows });
    }

    /// The loop at `block`, if a turn ended there.
    pub(super) fn found_loop(&self, block: u32) -> Option<Loop> {
        Loop::of(self, block, &self.turns)
    }

    /// Enters a loop: finds what it reads, and goes to its first turn.
    pub(super) fn enter_loop(&mut self, own: Loop) -> Result<(), Skip> {
        for key in &own.windows {
            self.window(*key);
        }
        for (reg, forms) in &own.read {
            let value = self.read_reg(*reg);
            self.found(value, forms)?;
        }
        let mut regs = Vec::new();
        for (reg, shape) in &own.carried {
            let value = self.read_reg(*reg);
            let own = self.shaped(value, *shape)?;
            if matches!(shape, TurnShape::Lanes(true) | TurnShape::Splat(true)) {
                self.only_the_one_nan(&own);
            }
            regs.extend(own);
        }
        self.nodes.jump_to_loop(&regs);
        for (reg, shape) in &own.carried {
            let wide = self.l.type_of(*reg).bits() > 32;
            let mut param = |class| self.nodes.loop_param(class);
            let forms = match *shape {
                TurnShape::Scalar => Forms {
                    scalar: Some(param(RegClass::Int)),
                    ..Forms::default()
                },
                TurnShape::Splat(raw) => Forms {
                    splat: Some(param(RegClass::Float)),
                    raw,
                    ..Forms::default()
                },
                TurnShape::Lanes(raw) => Forms {
                    lanes: Some([(); 2].map(|()| param(RegClass::Float))),
                    raw,
                    ..Forms::default()
                },
                TurnShape::Quads => Forms {
                    quads: Some([(); 4].map(|()| param(RegClass::Float))),
                    ..Forms::default()
                },
                TurnShape::Affine(step) => Forms {
                    affine: Some((param(RegClass::Int), step)),
                    ..Forms::default()
                },
                TurnShape::Mask => Forms {
                    mask: Some(param(RegClass::Vector)),
                    ..Forms::default()
                },
            };
            let value = self.add(Forms { wide, ..forms });
            self.regs.insert(reg.0, Held { value, dirty: true });
        }
        self.own_loop = Some(own);
        Ok(())
    }

    /// Leaves the run where there is a NaN with bits of its own: from now on NaNs are taken for the one that sums give.
    fn only_the_one_nan(&mut self, regs: &[VReg]) {
        for v in regs {
            let one = self.canonical(*v);
            let other = self.test(&vector::CMP_I32, 4, one, *v);
            self.nodes.effect(Code::MaskTest16, &[other]);
            self.exit_if(Cond::NotEqual);
        }
    }

    /// Asks for the forms that a value will be wanted in.
    fn found(&mut self, value: ValueId, forms: &Forms) -> Result<(), Skip> {
        if forms.scalar.is_some() {
            self.scalar(value)?;
        }
        if forms.splat.is_some() {
            self.splat(value)?;
        }
        if forms.lanes.is_some() {
            self.lanes(value)?;
        }
        if forms.quads.is_some() {
            self.quads(value)?;
        }
        if forms.mask.is_some() {
            self.mask(value, false)?;
        }
        // One that was found out on the way is found out there again: it may not be asked for in every turn.
        Ok(())
    }

    /// The registers of a value in a form.
    fn shaped(&mut self, value: ValueId, shape: TurnShape) -> Result<Vec<VReg>, Skip> {
        Ok(match shape {
            TurnShape::Scalar => vec![self.scalar(value)?],
            TurnShape::Splat(true) => vec![self.splat(value)?],
            TurnShape::Splat(false) => vec![self.splat_exact(value)?],
            TurnShape::Lanes(true) => self.lanes(value)?.to_vec(),
            TurnShape::Lanes(false) => self.lanes_exact(value)?.to_vec(),
            TurnShape::Quads => self.quads(value)?.to_vec(),
            TurnShape::Affine(step) => match self.affine(value) {
                Some((base, own)) if own == step => vec![base],
                _ => return Err(Skip),
            },
            TurnShape::Mask => vec![self.mask(value, false)?],
        })
    }

    /// What the next turn of the loop begins with.
    fn next_turn(&mut self) -> Result<Vec<VReg>, Skip> {
        let Some(own) = self.own_loop.clone() else {
            return Err(Skip);
        };
        let mut regs = Vec::new();
        for (reg, shape) in &own.carried {
            let value = self.regs.get(&reg.0).ok_or(Skip)?.value;
            regs.extend(self.shaped(value, *shape)?);
        }
        Ok(regs)
    }

    /// Whether a block is where the loop of this run begins.
    pub(super) fn is_loop(&self, block: u32) -> bool {
        self.own_loop.as_ref().is_some_and(|own| own.block == block)
    }

    /// Goes to the next turn.
    pub(super) fn again(&mut self) -> Result<(), Skip> {
        let regs = self.next_turn()?;
        self.nodes.back_to_loop(&regs);
        Ok(())
    }

    /// Goes to the next turn unless the condition holds.
    pub(super) fn again_unless(&mut self, cond: Cond) -> Result<(), Skip> {
        self.nodes.fork(Code::Fork(cond));
        // What is made for the next turn is not there for what comes behind the loop.
        let values = self.values_now();
        let regs = self.next_turn()?;
        self.set_values(values);
        self.nodes.back_to_loop(&regs);
        self.nodes.behind_fork();
        Ok(())
    }
}
