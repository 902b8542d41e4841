//! Common subexpressions: what a block has already computed is not computed again.

use crate::optimise::{has_destination, is_pure, visit, visit_mut};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use warpsmith_ptx::{
    ir::{Function, Inst, Operand, RegId, StmtKind},
    op::Op,
    qual::{Qual, Quals},
};

/// An expression: equal keys compute equal values.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: Op,
    quals: Quals,
    /// Each source operand, then each register in it with the count of its definitions so far.
    sources: SmallVec<[Source; 4]>,
}

#[derive(PartialEq, Eq, Hash)]
enum Source {
    Reg(RegId, u32),
    NotReg(RegId, u32),
    Imm(warpsmith_ptx::ir::Imm),
    Special(warpsmith_ptx::special::Special),
    Var(warpsmith_ptx::ir::VarId, i64),
    Address(Option<(RegId, u32)>, Option<warpsmith_ptx::ir::VarId>, i64),
}

/// Loads whose value cannot change during the launch, and arithmetic.
fn is_reusable(inst: &Inst) -> bool {
    let load = match inst.op {
        Op::Ld => inst.quals.has(Qual::Nc) || inst.quals.has(Qual::Param),
        Op::Mma | Op::Ldmatrix => false,
        _ => true,
    };
    load && inst.guard.is_none() && is_pure(inst)
}

fn key(inst: &Inst, versions: &[u32]) -> Option<Key> {
    use warpsmith_ptx::ir::{Address, Base};
    let mut sources = SmallVec::new();
    for operand in &inst.operands[1..] {
        sources.push(match operand {
            Operand::Reg(reg) => Source::Reg(*reg, versions[reg.index()]),
            Operand::NotReg(reg) => Source::NotReg(*reg, versions[reg.index()]),
            Operand::Imm(imm) => Source::Imm(*imm),
            Operand::Special(special) => Source::Special(*special),
            Operand::Var(var, offset) => Source::Var(*var, *offset),
            Operand::Addr(Address { base, offset }) => match base {
                Base::Reg(reg) => {
                    Source::Address(Some((*reg, versions[reg.index()])), None, *offset)
                }
                Base::Var(var) => Source::Address(None, Some(*var), *offset),
                Base::Absolute => Source::Address(None, None, *offset),
            },
            Operand::Vec(_)
            | Operand::Pair(_)
            | Operand::List(_)
            | Operand::Label(_)
            | Operand::Func(_)
            | Operand::Sink => return None,
        });
    }
    Some(Key {
        op: inst.op,
        quals: inst.quals,
        sources,
    })
}

fn destinations(inst: &Inst) -> SmallVec<[RegId; 4]> {
    let mut regs = SmallVec::new();
    if has_destination(inst) && !inst.operands.is_empty() {
        visit(&inst.operands[0], &mut |reg| regs.push(reg));
    }
    regs
}

/// Replaces uses of recomputed values by the first computation in the same block, or in the entry block where its
/// sources never change.
pub(crate) fn run(function: &mut Function) {
    let body = function.body.as_mut().expect("a kernel has a body");
    let count = function.regs.len();
    let mut definitions = vec![0u32; count];
    for stmt in body.iter() {
        if let StmtKind::Inst(inst) = &stmt.kind {
            destinations(inst)
                .into_iter()
                .for_each(|reg| definitions[reg.index()] += 1);
        }
    }
    let mut replaced: Vec<RegId> = (0..count as u32).map(RegId).collect();
    let mut versions = vec![0u32; count];
    let mut entry: FxHashMap<Key, SmallVec<[RegId; 4]>> = FxHashMap::default();
    let mut known: FxHashMap<Key, SmallVec<[RegId; 4]>> = FxHashMap::default();
    let mut in_entry = true;
    for stmt in body.iter_mut() {
        let StmtKind::Inst(inst) = &mut stmt.kind else {
            in_entry = false;
            known.clear();
            continue;
        };
        let skip = usize::from(has_destination(inst)).min(inst.operands.len());
        if let Some(guard) = &mut inst.guard {
            guard.reg = replaced[guard.reg.index()];
        }
        for operand in &mut inst.operands[skip..] {
            visit_mut(operand, &mut |reg| *reg = replaced[reg.index()]);
        }
        let defined = destinations(inst);
        let single = defined.iter().all(|reg| definitions[reg.index()] == 1);
        if single
            && is_reusable(inst)
            && let Some(key) = key(inst, &versions)
        {
            if let Some(earlier) = known.get(&key).or_else(|| entry.get(&key)) {
                defined
                    .iter()
                    .zip(earlier)
                    .for_each(|(reg, earlier)| replaced[reg.index()] = *earlier);
                // The recomputation has no uses left and is removed as dead code.
                continue;
            }
            let mut constant = true;
            inst.operands[1..].iter().for_each(|operand| {
                visit(operand, &mut |reg| {
                    constant &= definitions[reg.index()] <= 1
                });
            });
            if in_entry && constant {
                entry.insert(key, defined);
            } else {
                known.insert(key, defined);
            }
        } else {
            defined
                .into_iter()
                .for_each(|reg| versions[reg.index()] += 1);
        }
        if inst.op == Op::Bra {
            in_entry = false;
            known.clear();
        }
    }
}
