//! What is known of the value of each register in the lanes of a warp.
//!
//! A value is a multiple of a power of two, the same for all lanes or not, plus a number for each
//! lane: `tid.x` is a multiple of 32 plus the lane. All definitions of a register are joined, so that
//! what is said holds wherever it is read.

use super::{Scene, variable};
use crate::{
    ir::{Base, FunctionKind, Imm, Inst, Operand, RegId, StmtKind, VarId},
    isa::Access,
    op::Op,
    qual::Qual,
    special::Special,
    types::{Space, Type},
    uniform::Uniformity,
    visit,
};

const LANES: usize = 32;
/// Numbers above this are not followed: sums and products stay far from overflow.
const LARGE: i64 = 1 << 40;
/// A definition is looked at so often at most before its register counts as unknown.
const ROUNDS: u32 = 24;
/// Sweeps over a function at most.
const PASSES: u32 = 200;
/// Registers of a function that is looked at.
const MAX_REGS: usize = 1 << 17;

/// A value in the lanes of a warp: `base + table[lane]`, where `base` is an unknown multiple of
/// `modulus`, or 0 where that is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// A power of two, or 0.
    pub(super) modulus: i64,
    /// Whether the base differs between lanes.
    pub(super) varying: bool,
    /// What is added in each lane.
    pub(super) table: [i64; LANES],
}

impl Value {
    const UNIFORM: Value = Value::multiple_of(1);
    const UNKNOWN: Value = Value {
        varying: true,
        ..Value::multiple_of(1)
    };

    const fn multiple_of(modulus: i64) -> Value {
        Value {
            modulus,
            varying: false,
            table: [0; LANES],
        }
    }

    fn exact(number: i64) -> Value {
        Value {
            modulus: 0,
            varying: false,
            table: [number; LANES],
        }
        .normal()
    }

    fn lanes(modulus: i64) -> Value {
        Value {
            modulus,
            varying: false,
            table: std::array::from_fn(|lane| lane as i64),
        }
    }

    /// One form for each value: the first lane's number is within the modulus.
    fn normal(mut self) -> Value {
        if self.table.iter().any(|n| n.unsigned_abs() > LARGE as u64) || self.modulus > LARGE {
            let varying = self.varying || !self.same_in_all_lanes();
            return if varying {
                Value::UNKNOWN
            } else {
                Value::UNIFORM
            };
        }
        if self.modulus == 0 {
            return self;
        }
        if self.varying {
            for n in &mut self.table {
                *n = n.rem_euclid(self.modulus);
            }
        } else {
            let shift = self.table[0] - self.table[0].rem_euclid(self.modulus);
            for n in &mut self.table {
                *n -= shift;
            }
        }
        self
    }

    fn same_in_all_lanes(&self) -> bool {
        !self.varying && self.table.iter().all(|n| *n == self.table[0])
    }

    /// The number, if it is the same known one in all lanes.
    fn constant(&self) -> Option<i64> {
        (self.modulus == 0 && self.same_in_all_lanes()).then_some(self.table[0])
    }

    fn map(self, each: impl Fn(i64) -> i64) -> Value {
        Value {
            table: self.table.map(each),
            ..self
        }
        .normal()
    }

    /// The largest power of two that divides it in every lane; 0 for 0.
    fn divisor(&self) -> i64 {
        self.table
            .iter()
            .fold(self.modulus, |all, n| power(all, *n))
    }

    fn join(self, other: Value) -> Value {
        if self == other {
            return self;
        }
        let apart = (0..LANES).fold(0, |all, lane| {
            power(all, self.table[lane] - other.table[lane])
        });
        Value {
            modulus: power(power(self.modulus, other.modulus), apart),
            varying: true,
            table: self.table,
        }
        .normal()
    }

    fn plus(self, other: Value) -> Value {
        Value {
            modulus: power(self.modulus, other.modulus),
            varying: self.varying || other.varying,
            table: std::array::from_fn(|lane| self.table[lane] + other.table[lane]),
        }
        .normal()
    }

    fn minus(self, other: Value) -> Value {
        self.plus(Value {
            table: other.table.map(|n| -n),
            ..other
        })
    }

    fn times(self, other: Value) -> Value {
        let (value, factor) = match (self.constant(), other.constant()) {
            (_, Some(factor)) => (self, factor),
            (Some(factor), None) => (other, factor),
            (None, None) => {
                let uniform = self.same_in_all_lanes() && other.same_in_all_lanes();
                return Value {
                    varying: !uniform,
                    ..Value::multiple_of(
                        self.divisor().max(1).saturating_mul(other.divisor().max(1)),
                    )
                }
                .normal();
            }
        };
        if factor.unsigned_abs() > LARGE as u64 {
            return value.lost();
        }
        Value {
            modulus: value.modulus.saturating_mul(power(0, factor)),
            varying: value.varying,
            table: value.table.map(|n| n.saturating_mul(factor)),
        }
        .normal()
    }

    /// What is left when an operation is not followed.
    fn lost(self) -> Value {
        if self.same_in_all_lanes() {
            Value::UNIFORM
        } else {
            Value::UNKNOWN
        }
    }

    fn shifted_right(self, bits: i64) -> Value {
        if !(0..40).contains(&bits) {
            return self.lost();
        }
        let unit = 1 << bits;
        if self.modulus % unit != 0 {
            return self.lost();
        }
        Value {
            modulus: self.modulus / unit,
            varying: self.varying,
            table: self.table.map(|n| n >> bits),
        }
        .normal()
    }

    fn masked(self, mask: i64) -> Value {
        if self.modulus == 0 {
            return self.map(|n| n & mask);
        }
        let low = mask.wrapping_add(1);
        if mask >= 0 && low.count_ones() == 1 && self.modulus % low == 0 {
            return Value {
                modulus: 0,
                varying: false,
                table: self.table.map(|n| n.rem_euclid(low)),
            };
        }
        let step = mask & mask.wrapping_neg();
        if mask != 0 && mask.wrapping_add(step) == 0 && self.modulus % step == 0 {
            return self.map(|n| n & mask);
        }
        let known = if step > 0 { step.min(LARGE) } else { 1 };
        Value {
            varying: !self.same_in_all_lanes(),
            ..Value::multiple_of(known)
        }
    }
}

/// The largest power of two that divides both; 0 if both are 0.
fn power(a: i64, b: i64) -> i64 {
    let low = |n: i64| n & n.wrapping_neg();
    match (a, b) {
        (0, b) => low(b),
        (a, 0) => low(a),
        (a, b) => low(a).min(low(b)),
    }
}

/// The values of a function's registers.
pub(super) struct Values<'s> {
    scene: &'s Scene<'s>,
    uniform: &'s Uniformity,
    regs: Vec<Option<Value>>,
}

impl<'s> Values<'s> {
    pub(super) fn new(scene: &'s Scene<'s>, uniform: &'s Uniformity) -> Values<'s> {
        let mut values = Values {
            scene,
            uniform,
            regs: vec![None; scene.function.regs.len()],
        };
        if values.regs.len() > MAX_REGS {
            return values;
        }
        let mut rounds = vec![0u32; values.regs.len()];
        let mut changed = true;
        for _ in 0..PASSES {
            if !changed {
                return values;
            }
            changed = false;
            for (_, inst) in scene.insts() {
                if !values.known(inst) {
                    continue;
                }
                let value = values.computed(inst);
                visit::registers(inst, |reg, access| {
                    if access != Access::Write {
                        return;
                    }
                    let at = reg.index();
                    let known = values.regs[at];
                    let mut joined = known.map_or(value, |known| known.join(value));
                    if values.uniform.reg(reg) {
                        joined.varying = false;
                    }
                    if known != Some(joined) {
                        rounds[at] += 1;
                        if rounds[at] > ROUNDS {
                            joined = Value::UNKNOWN;
                            joined.varying = !values.uniform.reg(reg);
                        }
                        changed |= known != Some(joined);
                        values.regs[at] = Some(joined);
                    }
                });
            }
        }
        // A strange order of blocks: what is not settled is not known.
        values.regs.fill(None);
        values
    }

    /// Whether every register that an instruction reads has a value yet.
    fn known(&self, inst: &Inst) -> bool {
        let mut known = true;
        visit::registers(inst, |reg, access| {
            let predicate = self.scene.function.regs[reg.index()].ty == Type::Pred;
            known &= access == Access::Write || predicate || self.regs[reg.index()].is_some();
        });
        known
    }

    pub(super) fn reg(&self, reg: RegId) -> Value {
        self.regs[reg.index()].unwrap_or(Value::UNKNOWN)
    }

    /// The value of an operand.
    pub(super) fn operand(&self, operand: &Operand) -> Value {
        match operand {
            Operand::Reg(reg) => self.reg(*reg),
            Operand::Imm(Imm::Int(number)) => Value::exact(*number),
            Operand::Special(special) => self.special(*special),
            Operand::Var(var, offset) => self.address_of(*var, *offset),
            _ => Value::UNKNOWN,
        }
    }

    /// The value of an address.
    pub(super) fn base(&self, base: Base, offset: i64) -> Value {
        let base = match base {
            Base::Reg(reg) => self.reg(reg),
            Base::Var(var) => self.address_of(var, 0),
            Base::Absolute => Value::exact(0),
        };
        base.plus(Value::exact(offset))
    }

    fn address_of(&self, id: VarId, offset: i64) -> Value {
        let var = variable(self.scene.module, self.scene.function, id);
        let align = var.map_or(1, |var| i64::from(var.alignment()));
        let align = if align.count_ones() == 1 { align } else { 1 };
        Value::multiple_of(align).plus(Value::exact(offset))
    }

    fn special(&self, special: Special) -> Value {
        match special {
            Special::TidX => Value::lanes(32),
            Special::Laneid => Value::lanes(0),
            Special::WarpSz => Value::exact(32),
            // Of a block whose rows are whole warps.
            _ => Value::UNIFORM,
        }
    }

    fn computed(&self, inst: &Inst) -> Value {
        let has = |qual| inst.quals.has(qual);
        let unknown = {
            let mut uniform = true;
            visit::registers(inst, |reg, access| {
                uniform &= access != Access::Write || self.uniform.reg(reg);
            });
            if uniform {
                Value::UNIFORM
            } else {
                Value::UNKNOWN
            }
        };
        let integer = inst.quals.types().all(|ty| !ty.is_float());
        let operand = |at: usize| inst.operands.get(at).map(|one| self.operand(one));
        let (Some(a), true) = (operand(1), integer && !has(Qual::Cc) && !has(Qual::Hi)) else {
            return unknown;
        };
        let guarded = |value: Value| Value {
            // Lanes whose guard is off keep what they had.
            varying: value.varying || inst.guard.is_some_and(|g| !self.uniform.reg(g.reg)),
            ..value
        };
        let of_scalar = inst
            .operands
            .iter()
            .all(|one| !matches!(one, Operand::Vec(_)));
        let value = match (inst.op, operand(2)) {
            (Op::Mov | Op::Cvt | Op::Cvta, None) if of_scalar => a,
            (Op::Add, Some(b)) => a.plus(b),
            (Op::Sub, Some(b)) => a.minus(b),
            (Op::Mul | Op::Mul24, Some(b)) => a.times(b),
            (Op::Mad | Op::Mad24, Some(b)) => match operand(3) {
                Some(c) => a.times(b).plus(c),
                None => unknown,
            },
            (Op::Shl, Some(b)) => match b.constant() {
                Some(bits @ 0..=39) => a.times(Value::exact(1 << bits)),
                _ => unknown,
            },
            (Op::Shr, Some(b)) => b.constant().map_or(unknown, |bits| a.shifted_right(bits)),
            (Op::Div, Some(b)) => match b.constant() {
                Some(by) if by > 0 && by.count_ones() == 1 => {
                    a.shifted_right(i64::from(by.trailing_zeros()))
                }
                _ => unknown,
            },
            (Op::Rem, Some(b)) => match b.constant() {
                Some(by) if by > 0 && by.count_ones() == 1 => a.masked(by - 1),
                _ => unknown,
            },
            (Op::And, Some(b)) => match (a.constant(), b.constant()) {
                (_, Some(mask)) => a.masked(mask),
                (Some(mask), None) => b.masked(mask),
                (None, None) => unknown,
            },
            (Op::Ld, _) => return self.pointer(inst).unwrap_or(unknown),
            _ => return unknown,
        };
        guarded(value)
    }

    /// The alignment that a parameter's `.ptr` promises.
    fn pointer(&self, inst: &Inst) -> Option<Value> {
        let Some(Operand::Addr(address)) = inst.operands.get(1) else {
            return None;
        };
        let Base::Var(VarId::Param(at)) = address.base else {
            return None;
        };
        let function = self.scene.function;
        let var = function.params.get(at as usize)?;
        let (space, align) = var.ptr?;
        let align = i64::from(align?);
        (function.kind == FunctionKind::Entry
            && space != Space::Param
            && address.offset == 0
            && align.count_ones() == 1)
            .then(|| Value::multiple_of(align))
    }
}

impl Scene<'_> {
    /// The instructions that are reached, with their block.
    pub(super) fn insts(&self) -> impl Iterator<Item = (usize, &Inst)> {
        let body = self.function.body.as_deref().unwrap_or(&[]);
        self.cfg
            .blocks
            .iter()
            .enumerate()
            .flat_map(move |(at, block)| {
                body[block.stmts.clone()]
                    .iter()
                    .filter_map(move |stmt| match &stmt.kind {
                        StmtKind::Inst(inst) => Some((at, inst)),
                        _ => None,
                    })
            })
    }
}
