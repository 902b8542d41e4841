//! Guesses of what lanes hold: the same, or a value that grows from lane to lane by a constant.
//!
//! Addresses of neighbouring lanes are of the second kind, and code that knows it loads whole registers. The guesses
//! look at each register's definitions and at nothing else; the code checks each of them before it rests on it.

use crate::lower::{Lowerer, Value as Preset, immediate};
use warpsmith_ptx::{
    ir::{Address, Base, Inst, Operand, RegId},
    op::Op,
    qual::Qual,
    special::Special,
    types::Type,
};

/// What the lanes of a register are guessed to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// Nothing is known yet.
    Unknown,
    /// Each lane this much more than the one before; 0 is the same for all.
    Affine(i64),
    Varying,
}

impl Group {
    /// How many lanes it has.
    fn lanes(self) -> u32 {
        match self {
            Group::Warp | Group::Rows => 32,
            Group::Half => 16,
        }
    }

    /// Whole warps of a block.
    pub(super) fn whole([x, y, z]: [u32; 3]) -> Group {
        if x.is_multiple_of(32) || y == 1 && z == 1 {
            Group::Warp
        } else {
            Group::Rows
        }
    }
}

impl Lanes {
    fn join(self, other: Lanes) -> Lanes {
        match (self, other) {
            (Lanes::Unknown, x) | (x, Lanes::Unknown) => x,
            (a, b) if a == b => a,
            _ => Lanes::Varying,
        }
    }

    fn map(self, f: impl FnOnce(i64) -> i64) -> Lanes {
        match self {
            Lanes::Affine(step) => Lanes::Affine(f(step)),
            other => other,
        }
    }

    fn zip(self, other: Lanes, f: impl FnOnce(i64, i64) -> i64) -> Lanes {
        match (self, other) {
            (Lanes::Affine(a), Lanes::Affine(b)) => Lanes::Affine(f(a, b)),
            (Lanes::Varying, _) | (_, Lanes::Varying) => Lanes::Varying,
            _ => Lanes::Unknown,
        }
    }
}

/// Lanes that are looked at together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Warp,
    /// A warp of a block whose rows end inside of warps.
    Rows,
    /// Each half of a warp, of a block whose rows are halves of warps.
    Half,
}

/// Whether lanes are guessed to be away from the edge of a row, where all of them come to its last element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Away,
    Near,
}

/// Guesses for all registers of a kernel.
pub(super) fn guess(l: &Lowerer<'_>, insts: &[&Inst], group: Group, edge: Edge) -> Vec<Lanes> {
    let mut all = vec![Lanes::Unknown; l.register_count()];
    let low = numbered(l, insts, group);
    for (reg, lanes) in all.iter_mut().enumerate() {
        let dst = l.dst_of(RegId(reg as u32));
        if let Some(Preset::Lanes(special)) = l.preset_at(dst.slot) {
            *lanes = of_special(special, group);
        } else if dst.uniform {
            *lanes = Lanes::Affine(0);
        }
    }
    loop {
        let mut changed = false;
        for inst in insts {
            let Some(Operand::Reg(to)) = inst.operands.first() else {
                each_def(inst, &mut |reg| {
                    let dst = l.dst_of(reg);
                    if !dst.uniform && all[reg.index()] != Lanes::Varying {
                        all[reg.index()] = Lanes::Varying;
                        changed = true;
                    }
                });
                continue;
            };
            if l.dst_of(*to).uniform || l.preset_at(l.dst_of(*to).slot).is_some() {
                continue;
            }
            let at = |at: usize| is_numbered(inst.operands.get(at), &low);
            let new = all[to.index()].join(of_inst(inst, &all, (group, edge), &at));
            if new != all[to.index()] {
                all[to.index()] = new;
                changed = true;
            }
        }
        if !changed {
            return all;
        }
    }
}

/// Registers whose low bits are the lane's number in its group: a thread's number, and what is that and a multiple of a
/// row's length.
fn numbered(l: &Lowerer<'_>, insts: &[&Inst], group: Group) -> Vec<bool> {
    let mut defs = vec![0u32; l.register_count()];
    for inst in insts {
        each_def(inst, &mut |reg| defs[reg.index()] += 1);
    }
    let whole = l.block()[0].is_multiple_of(group.lanes());
    let mut low: Vec<bool> = (0..l.register_count())
        .map(|reg| match l.preset_at(l.dst_of(RegId(reg as u32)).slot) {
            Some(Preset::Lanes(Special::TidX)) => whole || group == Group::Warp,
            Some(Preset::Lanes(Special::Laneid)) => true,
            _ => false,
        })
        .collect();
    for inst in insts {
        let Some(Operand::Reg(to)) = inst.operands.first() else {
            continue;
        };
        let at = |at: usize| is_numbered(inst.operands.get(at), &low);
        let far = |at: usize| {
            let found = constant(inst.operands.get(at));
            found.is_some_and(|by| by % i64::from(group.lanes()) == 0)
        };
        let is = match inst.op {
            Op::Mov | Op::Cvt => at(1),
            Op::Add => at(1) && far(2) || at(2) && far(1),
            // A block's number times its length.
            Op::Mad => at(3) && whole,
            _ => false,
        };
        if is && inst.guard.is_none() && defs[to.index()] == 1 {
            low[to.index()] = true;
        }
    }
    low
}

fn is_numbered(operand: Option<&Operand>, low: &[bool]) -> bool {
    match operand {
        Some(Operand::Reg(reg)) => low[reg.index()],
        Some(Operand::Special(special)) => matches!(special, Special::Laneid),
        _ => false,
    }
}

fn each_def(inst: &Inst, f: &mut dyn FnMut(RegId)) {
    crate::lower::roles::each_def(inst, &mut |reg| f(reg));
}

fn of_special(special: Special, group: Group) -> Lanes {
    match special {
        Special::Laneid => Lanes::Affine(1),
        // A warp of narrower rows has parts of several.
        Special::TidX if group != Group::Rows => Lanes::Affine(1),
        Special::TidY | Special::TidZ if group == Group::Half => Lanes::Affine(0),
        _ => Lanes::Varying,
    }
}

fn of_operand(operand: Option<&Operand>, all: &[Lanes], group: Group) -> Lanes {
    match operand {
        Some(Operand::Reg(reg)) => all[reg.index()],
        Some(Operand::Imm(_) | Operand::Var(..)) => Lanes::Affine(0),
        Some(Operand::Special(special)) => of_special(*special, group),
        _ => Lanes::Varying,
    }
}

fn constant(operand: Option<&Operand>) -> Option<i64> {
    match operand {
        Some(Operand::Imm(imm)) => Some(immediate(*imm, 32) as u32 as i32 as i64),
        _ => None,
    }
}

/// `low` says of which operands the low bits are the lane's number, so far as the group goes.
fn of_inst(
    inst: &Inst,
    all: &[Lanes],
    (group, edge): (Group, Edge),
    low: &dyn Fn(usize) -> bool,
) -> Lanes {
    let get = |at: usize| of_operand(inst.operands.get(at), all, group);
    let times = |at: usize, by: usize| match constant(inst.operands.get(by)) {
        Some(factor) => get(at).map(|step| step.wrapping_mul(factor)),
        None => match constant(inst.operands.get(at)) {
            Some(factor) => get(by).map(|step| step.wrapping_mul(factor)),
            None => get(at).zip(get(by), |_, _| 0),
        },
    };
    let is_float = inst.quals.types().any(Type::is_float);
    if inst.guard.is_some() || is_float || inst.quals.has(Qual::Hi) {
        return Lanes::Varying;
    }
    // What is multiplied by an unknown factor grows by an unknown step.
    let product = |at: usize, by: usize| match times(at, by) {
        Lanes::Affine(0)
            if constant(inst.operands.get(by)).is_none()
                && constant(inst.operands.get(at)).is_none()
                && (get(at) != Lanes::Affine(0) || get(by) != Lanes::Affine(0)) =>
        {
            Lanes::Varying
        }
        found => found,
    };
    // What is made of values that are the same for all lanes.
    let even = || match get(1).zip(get(2), |a, b| a | b) {
        Lanes::Affine(step) if step != 0 => Lanes::Varying,
        found => found,
    };
    match inst.op {
        Op::Mov | Op::Cvta | Op::Cvt if inst.operands.len() == 2 => get(1),
        Op::Add => get(1).zip(get(2), i64::wrapping_add),
        Op::Sub => get(1).zip(get(2), i64::wrapping_sub),
        Op::Mul => product(1, 2),
        Op::Mad => product(1, 2).zip(get(3), i64::wrapping_add),
        Op::Shl => match constant(inst.operands.get(2)) {
            Some(by @ 0..=31) => get(1).map(|step| step << by),
            _ => Lanes::Varying,
        },
        // The lane's number in its warp, and the warp's.
        Op::And => {
            let (at, mask) = match constant(inst.operands.get(1)) {
                Some(mask) => (2, Some(mask)),
                None => (1, constant(inst.operands.get(2))),
            };
            let inside = i64::from(group.lanes()) - 1;
            match mask {
                Some(mask) if low(at) && mask & (mask + 1) == 0 && mask >= inside => get(at),
                Some(mask) if low(at) && mask & inside == 0 => Lanes::Affine(0),
                _ => even(),
            }
        }
        Op::Shr => match constant(inst.operands.get(2)) {
            Some(by @ 0..=63) if low(1) && 1i64 << by >= i64::from(group.lanes()) => {
                Lanes::Affine(0)
            }
            _ => even(),
        },
        Op::Or | Op::Xor | Op::Div | Op::Rem => even(),
        // What is found at one place is the same for all.
        Op::Ld => match inst.operands.get(1) {
            Some(Operand::Addr(Address {
                base: Base::Reg(reg),
                ..
            })) if all[reg.index()] == Lanes::Affine(0) => Lanes::Affine(0),
            Some(Operand::Addr(Address {
                base: Base::Reg(reg),
                ..
            })) if all[reg.index()] == Lanes::Unknown => Lanes::Unknown,
            _ => Lanes::Varying,
        },
        // At the edge of a row it is not; code for lanes away from it is left there.
        Op::Min | Op::Max if inst.operands.len() == 3 => match (get(1), get(2)) {
            (Lanes::Affine(step), Lanes::Affine(0)) | (Lanes::Affine(0), Lanes::Affine(step))
                if step == 0 || edge == Edge::Away =>
            {
                Lanes::Affine(step)
            }
            (Lanes::Unknown, _) | (_, Lanes::Unknown) => Lanes::Unknown,
            _ => Lanes::Varying,
        },
        _ => Lanes::Varying,
    }
}
