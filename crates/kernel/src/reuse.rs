//! Common subexpressions: what a block has already computed is not computed again.

use crate::optimise::{has_destination, is_pure, visit, visit_mut, writes};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use warpsmith_ptx::{
    ir::{Address, Base, Function, Inst, Operand, RegId, StmtKind},
    op::Op,
    qual::Qual,
};

/// Loads whose value cannot change during the launch, and arithmetic, all of plain operands.
fn is_reusable(inst: &Inst) -> bool {
    let load = match inst.op {
        Op::Ld => inst.quals.has(Qual::Nc) || inst.quals.has(Qual::Param),
        Op::Mma | Op::Ldmatrix => false,
        _ => true,
    };
    let plain = |operand: &Operand| match operand {
        Operand::Reg(_) | Operand::NotReg(_) | Operand::Imm(_) => true,
        Operand::Special(_) | Operand::Var(..) | Operand::Addr(_) => true,
        Operand::Vec(_) | Operand::Pair(_) | Operand::List(_) => false,
        Operand::Label(_) | Operand::Func(_) | Operand::Sink => false,
    };
    load && inst.guard.is_none() && is_pure(inst) && inst.operands[1..].iter().all(plain)
}

/// A hash of what an instruction computes: not of where its result goes.
fn hash(inst: &Inst) -> u64 {
    let mut hasher = FxHasher::default();
    (inst.op, inst.quals).hash(&mut hasher);
    for operand in &inst.operands[1..] {
        match operand {
            Operand::Reg(reg) => hasher.write_u64(reg.0.into()),
            Operand::NotReg(reg) => hasher.write_u64(1 << 32 | u64::from(reg.0)),
            Operand::Imm(imm) => imm.hash(&mut hasher),
            Operand::Special(special) => special.hash(&mut hasher),
            Operand::Var(var, offset) => (var, offset).hash(&mut hasher),
            Operand::Addr(Address { base, offset }) => {
                offset.hash(&mut hasher);
                match base {
                    Base::Reg(reg) => hasher.write_u64(2 << 32 | u64::from(reg.0)),
                    Base::Var(var) => var.hash(&mut hasher),
                    Base::Absolute => {}
                }
            }
            Operand::Vec(_) | Operand::Pair(_) | Operand::List(_) => {}
            Operand::Label(_) | Operand::Func(_) | Operand::Sink => {}
        }
    }
    hasher.finish()
}

/// Whether two instructions compute the same of the same operands.
fn same(a: &Inst, b: &Inst) -> bool {
    a.op == b.op && a.quals == b.quals && a.operands[1..] == b.operands[1..]
}

/// What is known of each register.
struct Regs {
    /// Instructions that define it.
    definitions: Vec<u32>,
    /// The first that computed its value.
    first: Vec<RegId>,
    /// One more than the place of its last definition so far, if it has several.
    redefined: Vec<usize>,
}

impl Regs {
    /// Whether the operands of `inst`, which stands at `at`, still have the values they had there.
    fn unchanged(&self, inst: &Inst, at: usize) -> bool {
        self.sources(inst, |regs, reg| regs.redefined[reg.index()] <= at)
    }

    /// Whether the operands of `inst` never change.
    fn constant(&self, inst: &Inst) -> bool {
        self.sources(inst, |regs, reg| regs.definitions[reg.index()] <= 1)
    }

    fn sources(&self, inst: &Inst, holds: impl Fn(&Regs, RegId) -> bool) -> bool {
        let mut all = true;
        for operand in &inst.operands[1..] {
            visit(operand, &mut |reg| all &= holds(self, reg));
        }
        all
    }
}

/// Replaces uses of recomputed values by the first computation in the same block, or in the entry block where its
/// sources never change. The recomputations have no uses left and are removed as dead code.
pub(crate) fn run(function: &mut Function) {
    let body = function.body.as_mut().expect("a kernel has a body");
    let count = function.regs.len();
    let mut regs = Regs {
        definitions: vec![0; count],
        first: (0..count as u32).map(RegId).collect(),
        redefined: vec![0; count],
    };
    for stmt in body.iter() {
        if let StmtKind::Inst(inst) = &stmt.kind {
            writes(inst, |reg| regs.definitions[reg.index()] += 1);
        }
    }
    // The last instruction with each hash. Two that only share a hash cost a chance to reuse, no more.
    let mut known: FxHashMap<u64, usize> = FxHashMap::default();
    known.reserve(body.len() / 2);
    // Where the current block starts, and where the entry block ends.
    let (mut block, mut entry_end) = (0, usize::MAX);
    for at in 0..body.len() {
        let (before, rest) = body.split_at_mut(at);
        let StmtKind::Inst(inst) = &mut rest[0].kind else {
            block = at + 1;
            entry_end = entry_end.min(at);
            continue;
        };
        let skip = usize::from(has_destination(inst)).min(inst.operands.len());
        if let Some(guard) = &mut inst.guard {
            guard.reg = regs.first[guard.reg.index()];
        }
        for operand in &mut inst.operands[skip..] {
            visit_mut(operand, &mut |reg| *reg = regs.first[reg.index()]);
        }
        let mut single = true;
        writes(inst, |reg| single &= regs.definitions[reg.index()] == 1);
        if single && is_reusable(inst) {
            let hash = hash(inst);
            let earlier = known.get(&hash).and_then(|earlier| {
                let StmtKind::Inst(first) = &before.get(*earlier)?.kind else {
                    return None;
                };
                let kept = *earlier >= block && regs.unchanged(first, *earlier)
                    || *earlier < entry_end && regs.constant(first);
                (kept && same(first, inst)).then_some(first)
            });
            match earlier {
                Some(earlier) => replace(&mut regs.first, inst, earlier),
                None => {
                    known.insert(hash, at);
                }
            }
        } else {
            writes(inst, |reg| {
                if regs.definitions[reg.index()] > 1 {
                    regs.redefined[reg.index()] = at + 1;
                }
            });
        }
        if inst.op == Op::Bra {
            block = at + 1;
            entry_end = entry_end.min(at + 1);
        }
    }
}

/// Uses of the results of `inst` read those of `earlier`.
fn replace(first: &mut [RegId], inst: &Inst, earlier: &Inst) {
    let (mut from, mut to) = (SmallVec::<[RegId; 4]>::new(), SmallVec::<[RegId; 4]>::new());
    writes(inst, |reg| from.push(reg));
    writes(earlier, |reg| to.push(reg));
    for (from, to) in from.into_iter().zip(to) {
        first[from.index()] = to;
    }
}
