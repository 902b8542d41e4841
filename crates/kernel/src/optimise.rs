//! Clean-up of a finished kernel: loop copies folded into their definitions, dead code removed, registers renumbered.

use std::mem;
use warpsmith_ptx::{
    ir::{Address, Base, Function, Inst, Operand, Reg, RegId, Stmt, StmtKind},
    op::Op,
};

/// Folds copies and removes instructions whose results nobody reads.
pub(crate) fn run(function: &mut Function) {
    crate::reuse::run(function);
    let body = function.body.as_ref().expect("a kernel has a body");
    let mut removed = vec![false; body.len()];
    fold_copies(function, &mut removed);
    find_dead(function, &mut removed);
    let body = function.body.as_mut().expect("a kernel has a body");
    let mut at = 0;
    body.retain(|_| {
        at += 1;
        !removed[at - 1]
    });
}

pub(crate) fn visit(operand: &Operand, f: &mut impl FnMut(RegId)) {
    match operand {
        Operand::Reg(reg) | Operand::NotReg(reg) => f(*reg),
        Operand::Addr(Address {
            base: Base::Reg(reg),
            ..
        }) => f(*reg),
        Operand::Vec(items) | Operand::List(items) => items.iter().for_each(|item| visit(item, f)),
        Operand::Pair(pair) => {
            visit(&pair.0, f);
            visit(&pair.1, f);
        }
        Operand::Imm(_) | Operand::Special(_) | Operand::Var(..) | Operand::Addr(_) => {}
        Operand::Label(_) | Operand::Func(_) | Operand::Sink => {}
    }
}

pub(crate) fn visit_mut(operand: &mut Operand, f: &mut impl FnMut(&mut RegId)) {
    match operand {
        Operand::Reg(reg) | Operand::NotReg(reg) => f(reg),
        Operand::Addr(Address {
            base: Base::Reg(reg),
            ..
        }) => f(reg),
        Operand::Vec(items) | Operand::List(items) => {
            items.iter_mut().for_each(|item| visit_mut(item, f))
        }
        Operand::Pair(pair) => {
            visit_mut(&mut pair.0, f);
            visit_mut(&mut pair.1, f);
        }
        Operand::Imm(_) | Operand::Special(_) | Operand::Var(..) | Operand::Addr(_) => {}
        Operand::Label(_) | Operand::Func(_) | Operand::Sink => {}
    }
}

/// Whether the first operand is a destination.
pub(crate) fn has_destination(inst: &Inst) -> bool {
    use warpsmith_ptx::qual::Qual;
    match inst.op {
        Op::St
        | Op::Red
        | Op::Bra
        | Op::Ret
        | Op::Exit
        | Op::Trap
        | Op::Cp
        | Op::Fence
        | Op::Membar
        | Op::Nanosleep => false,
        Op::Bar | Op::Barrier => inst.quals.has(Qual::Red),
        Op::Prefetch
        | Op::Prefetchu
        | Op::Stmatrix
        | Op::Mbarrier
        | Op::Wgmma
        | Op::Brx
        | Op::Brkpt
        | Op::Pmevent => false,
        Op::Griddepcontrol
        | Op::Setmaxnreg
        | Op::Discard
        | Op::Applypriority
        | Op::Call
        | Op::Tcgen05 => false,
        _ => true,
    }
}

/// Whether an instruction does nothing but define its destinations.
pub(crate) fn is_pure(inst: &Inst) -> bool {
    use warpsmith_ptx::qual::Qual;
    let plain_load = matches!(inst.op, Op::Ld)
        && !inst.quals.as_slice().iter().any(|q| {
            matches!(
                q,
                Qual::Volatile | Qual::Acquire | Qual::Relaxed | Qual::Mmio
            )
        });
    has_destination(inst)
        && (plain_load
            || !matches!(
                inst.op,
                Op::Ld
                    | Op::Atom
                    | Op::Shfl
                    | Op::Vote
                    | Op::Redux
                    | Op::Match
                    | Op::Activemask
                    | Op::Bar
                    | Op::Barrier
                    | Op::Elect
                    | Op::Mma
                    | Op::Ldmatrix
                    | Op::Call
                    | Op::Alloca
                    | Op::Mapa
            ))
        || matches!(inst.op, Op::Mma | Op::Ldmatrix)
}

/// The registers that an instruction reads, the guard first.
fn reads(inst: &Inst, mut each: impl FnMut(RegId)) {
    let skip = usize::from(has_destination(inst)).min(inst.operands.len());
    if let Some(guard) = inst.guard {
        each(guard.reg);
    }
    for operand in &inst.operands[skip..] {
        visit(operand, &mut each);
    }
}

/// The registers that an instruction writes.
pub(crate) fn writes(inst: &Inst, mut each: impl FnMut(RegId)) {
    if has_destination(inst)
        && let Some(first) = inst.operands.first()
    {
        visit(first, &mut each);
    }
}

/// Marks instructions whose results nobody reads, beside those that are removed already.
fn find_dead(function: &Function, removed: &mut [bool]) {
    let body = function.body.as_ref().expect("a kernel has a body");
    let mut uses = vec![0u32; function.regs.len()];
    let mut last = vec![0usize; function.regs.len()];
    for (at, stmt) in body.iter().enumerate() {
        if let StmtKind::Inst(inst) = &stmt.kind
            && !removed[at]
        {
            reads(inst, |reg| uses[reg.index()] += 1);
            writes(inst, |reg| last[reg.index()] = at);
        }
    }
    loop {
        // A sweep from the end finds all, but where a loop computes for its own next round.
        let mut again = false;
        for (at, stmt) in body.iter().enumerate().rev() {
            let StmtKind::Inst(inst) = &stmt.kind else {
                continue;
            };
            if removed[at] || !is_pure(inst) {
                continue;
            }
            let mut used = false;
            visit(&inst.operands[0], &mut |reg| used |= uses[reg.index()] != 0);
            if !used {
                removed[at] = true;
                reads(inst, |reg| {
                    uses[reg.index()] -= 1;
                    again |= uses[reg.index()] == 0 && last[reg.index()] >= at;
                });
            }
        }
        if !again {
            break;
        }
    }
}

/// `op t, ..; ..; mov s, t` becomes `op s, ..` where `t` has no other use and `s` is untouched in between.
///
/// Loop-carried values are written as copies at the end of the body; this makes accumulators accumulate in place.
fn fold_copies(function: &mut Function, removed: &mut [bool]) {
    let body = function.body.as_mut().expect("a kernel has a body");
    let declared = &function.regs;
    let regs = declared.len();
    let mut uses = vec![0u32; regs];
    let mut defs = vec![0u32; regs];
    for stmt in body.iter() {
        let StmtKind::Inst(inst) = &stmt.kind else {
            continue;
        };
        writes(inst, |reg| defs[reg.index()] += 1);
        reads(inst, |reg| uses[reg.index()] += 1);
    }
    // Within the current block: where a register was last defined, and last read or written.
    let mut block = 0u32;
    let mut defined = vec![(u32::MAX, 0usize); regs];
    let mut touched = vec![(u32::MAX, 0usize); regs];
    for at in 0..body.len() {
        let StmtKind::Inst(inst) = &body[at].kind else {
            block += 1;
            continue;
        };
        if let (Op::Mov, None, [Operand::Reg(to), Operand::Reg(from)]) =
            (inst.op, inst.guard, inst.operands.as_slice())
        {
            let (to, from) = (*to, *from);
            let (in_block, def_at) = defined[from.index()];
            let last_touch = touched[to.index()];
            let free = last_touch.0 != block || last_touch.1 <= def_at;
            let source_guarded = match &body[def_at].kind {
                StmtKind::Inst(source) => source.guard.is_some(),
                _ => true,
            };
            if in_block == block
                && uses[from.index()] == 1
                && defs[from.index()] == 1
                && free
                && !source_guarded
                && to != from
                && declared[to.index()].ty == declared[from.index()].ty
                // A copy between register classes is a reinterpretation of bits.
                && function.regs[to.index()].prefix == function.regs[from.index()].prefix
            {
                if let StmtKind::Inst(source) = &mut body[def_at].kind {
                    visit_mut(&mut source.operands[0], &mut |reg| {
                        if *reg == from {
                            *reg = to;
                        }
                    });
                }
                removed[at] = true;
                touched[to.index()] = (block, at);
                defined[to.index()] = (block, def_at);
                continue;
            }
        }
        reads(inst, |reg| touched[reg.index()] = (block, at));
        writes(inst, |reg| {
            touched[reg.index()] = (block, at);
            defined[reg.index()] = (block, at);
        });
        if inst.op == Op::Bra {
            block += 1;
        }
    }
}

/// Drops unused registers, sorts by class, and numbers each class from 0.
pub(crate) fn renumber(function: &mut Function) {
    let body = function.body.as_mut().expect("a kernel has a body");
    let mut used = vec![false; function.regs.len()];
    for Stmt { kind, .. } in body.iter() {
        let StmtKind::Inst(inst) = kind else { continue };
        if let Some(guard) = inst.guard {
            used[guard.reg.index()] = true;
        }
        inst.operands
            .iter()
            .for_each(|operand| visit(operand, &mut |reg| used[reg.index()] = true));
    }
    let mut order: Vec<usize> = (0..used.len()).filter(|at| used[*at]).collect();
    order.sort_by_key(|at| crate::build::class_order(function.regs[*at].ty));
    let mut to = vec![RegId(0); used.len()];
    let mut regs = Vec::with_capacity(order.len());
    let mut number = 0;
    for old in order {
        let Reg { ty, prefix, .. } = mem::replace(
            &mut function.regs[old],
            Reg {
                ty: warpsmith_ptx::types::Type::Pred,
                prefix: "".into(),
                number: None,
            },
        );
        number = match regs.last() {
            Some(Reg { ty: last, .. }) if *last == ty => number + 1,
            _ => 0,
        };
        to[old] = RegId(regs.len() as u32);
        regs.push(Reg {
            ty,
            prefix,
            number: Some(number),
        });
    }
    function.regs = regs;
    for Stmt { kind, .. } in body.iter_mut() {
        let StmtKind::Inst(inst) = kind else { continue };
        if let Some(guard) = &mut inst.guard {
            guard.reg = to[guard.reg.index()];
        }
        inst.operands
            .iter_mut()
            .for_each(|operand| visit_mut(operand, &mut |reg| *reg = to[reg.index()]));
    }
}
