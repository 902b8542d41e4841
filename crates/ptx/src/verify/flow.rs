//! Control flow: barriers that are certain to diverge, and uses that no definition dominates.

use super::{Check, form_text, reg_name};
use crate::{
    cfg::Cfg,
    diag::{Code, Diagnostic},
    ir::{Directive, Function, FunctionKind, Imm, Inst, Operand, RegId, Span, StmtKind},
    op::Op,
    qual::Qual,
    special::Special,
    types::Type,
    visit::{self, Registers},
};

/// How far a value is followed back.
const FOLLOW: u32 = 16;

/// The one instruction that defines each register, and the block's lane values.
struct Values<'f> {
    definitions: Vec<Option<&'f Inst>>,
    shape: [u32; 3],
}

impl<'f> Values<'f> {
    fn new(function: &'f Function, shape: [u32; 3], registers: &Registers) -> Values<'f> {
        let mut definitions: Vec<Option<&Inst>> = vec![None; function.regs.len()];
        let mut counts = vec![0u32; function.regs.len()];
        let body = function.body.as_deref().unwrap_or(&[]);
        for (at, stmt) in body.iter().enumerate() {
            for reg in registers.written(at) {
                if let Some(count) = counts.get_mut(reg.index()) {
                    *count += 1;
                    definitions[reg.index()] = stmt.inst();
                }
            }
        }
        for (definition, count) in definitions.iter_mut().zip(counts) {
            if count != 1 || definition.is_some_and(|inst| inst.guard.is_some()) {
                *definition = None;
            }
        }
        Values { definitions, shape }
    }

    fn definition(&self, reg: RegId) -> Option<&'f Inst> {
        self.definitions.get(reg.index()).copied().flatten()
    }

    /// The value of an operand in a lane of the first warp, if it follows from the lane alone.
    fn value(&self, operand: &Operand, lane: u32, depth: u32) -> Option<u32> {
        if depth > FOLLOW {
            return None;
        }
        match operand {
            Operand::Imm(Imm::Int(value)) => Some(*value as u32),
            Operand::Special(special) => {
                let [x, y, _] = self.shape;
                match special {
                    Special::TidX => Some(lane % x),
                    Special::TidY => Some(lane / x % y),
                    Special::TidZ => Some(lane / x / y),
                    Special::Laneid => Some(lane),
                    Special::WarpSz => Some(32),
                    _ => None,
                }
            }
            Operand::Reg(reg) => self.computed(self.definition(*reg)?, lane, depth),
            _ => None,
        }
    }

    fn computed(&self, inst: &Inst, lane: u32, depth: u32) -> Option<u32> {
        let quals = inst.quals.as_slice();
        let plain =
            |ty: &Qual| matches!(ty, Qual::T(Type::U32 | Type::S32 | Type::B32)) || *ty == Qual::Lo;
        if !quals.iter().all(plain) {
            return None;
        }
        let operand = |at: usize| self.value(inst.operands.get(at)?, lane, depth + 1);
        let a = operand(1)?;
        if inst.op == Op::Mov {
            return Some(a);
        }
        let b = operand(2)?;
        Some(match inst.op {
            Op::Add => a.wrapping_add(b),
            Op::Sub => a.wrapping_sub(b),
            Op::Mul => a.wrapping_mul(b),
            Op::And => a & b,
            Op::Or => a | b,
            Op::Xor => a ^ b,
            Op::Shl => a.checked_shl(b).unwrap_or(0),
            Op::Shr if inst.quals.has(Qual::T(Type::S32)) => ((a as i32) >> b.min(31)) as u32,
            Op::Shr => a.checked_shr(b).unwrap_or(0),
            _ => return None,
        })
    }

    /// The value of a predicate in a lane.
    fn predicate(&self, reg: RegId, lane: u32) -> Option<bool> {
        let inst = self.definition(reg)?;
        let [compare, Qual::T(ty)] = inst.quals.as_slice() else {
            return None;
        };
        if inst.op != Op::Setp
            || !matches!(ty, Type::U32 | Type::S32 | Type::B32)
            || !matches!(inst.operands.first(), Some(Operand::Reg(_)))
        {
            return None;
        }
        let a = self.value(inst.operands.get(1)?, lane, 0)?;
        let b = self.value(inst.operands.get(2)?, lane, 0)?;
        let order = if ty.is_signed() {
            (a as i32).cmp(&(b as i32))
        } else {
            a.cmp(&b)
        };
        Some(match compare {
            Qual::Eq => order.is_eq(),
            Qual::Ne => order.is_ne(),
            Qual::Lt | Qual::Lo => order.is_lt(),
            Qual::Le | Qual::Ls => order.is_le(),
            Qual::Gt | Qual::Hi => order.is_gt(),
            Qual::Ge | Qual::Hs => order.is_ge(),
            _ => return None,
        })
    }

    /// Whether the lanes of the first warp are sure to differ in a predicate.
    fn splits(&self, reg: RegId) -> bool {
        let lanes: Option<Vec<bool>> = (0..32).map(|lane| self.predicate(reg, lane)).collect();
        lanes.is_some_and(|lanes| lanes.contains(&true) && lanes.contains(&false))
    }
}

impl Check<'_> {
    /// Refuses an instruction that a whole warp must run together where some lanes of the first
    /// warp are sure to run it and others are sure not to. That is provable only where the block's
    /// shape is fixed and fills a warp.
    pub(super) fn divergent_barriers(
        &mut self,
        function: &Function,
        cfg: &Cfg,
        registers: &Registers,
    ) {
        let shape = function.directives.iter().find_map(|one| match one {
            Directive::ReqNtid(shape) => Some(*shape),
            _ => None,
        });
        let Some(shape) = shape.filter(|shape| {
            let threads = shape
                .iter()
                .try_fold(1u32, |all, dim| all.checked_mul(*dim));
            threads.is_some_and(|threads| threads >= 32)
        }) else {
            return;
        };
        if function.kind != FunctionKind::Entry || cfg.blocks.is_empty() {
            return;
        }
        let body = function.body.as_deref().unwrap_or(&[]);
        let values = Values::new(function, shape, registers);
        let post = cfg.post_dominators();
        // Blocks that every lane is sure to run: post-dominators of the entry.
        let mut sure = Vec::new();
        let mut at = Some(0);
        while let Some(block) = at {
            sure.push(block);
            at = post[block];
        }
        for block in sure {
            let range = cfg.blocks[block].stmts.clone();
            for stmt in &body[range.clone()] {
                let StmtKind::Inst(inst) = &stmt.kind else {
                    continue;
                };
                if let Some(guard) = inst.guard
                    && visit::needs_whole_warp(inst)
                    && values.splits(guard.reg)
                {
                    self.divergent(function, inst, stmt.span, None);
                }
            }
            let Some(StmtKind::Inst(branch)) = body[range.clone()].last().map(|stmt| &stmt.kind)
            else {
                continue;
            };
            let (Op::Bra, Some(guard), [one, two]) =
                (branch.op, branch.guard, &cfg.blocks[block].successors[..])
            else {
                continue;
            };
            if !values.splits(guard.reg) {
                continue;
            }
            let span = body[range.end - 1].span;
            for (side, other) in [(*one, *two), (*two, *one)] {
                let reachable = reach(cfg, other);
                // What every lane on this side runs and no lane of the other side can.
                let mut at = Some(side);
                while let Some(here) = at.filter(|here| !reachable[*here]) {
                    for stmt in &body[cfg.blocks[here].stmts.clone()] {
                        if let StmtKind::Inst(inst) = &stmt.kind
                            && inst.guard.is_none()
                            && visit::needs_whole_warp(inst)
                        {
                            self.divergent(function, inst, stmt.span, Some(span));
                        }
                    }
                    at = post[here];
                }
            }
        }
    }

    fn divergent(&mut self, function: &Function, inst: &Inst, span: Span, branch: Option<Span>) {
        let form = form_text(inst);
        let mut fault = Diagnostic::new(Code::DivergentBarrier { form }, span)
            .in_function(&function.name)
            .with_help("all lanes of a warp must run it together");
        if let Some(branch) = branch {
            fault = fault.with_other(branch);
        }
        self.push(fault);
    }

    /// Refuses a use that some path reaches without a definition.
    pub(super) fn definitions(&mut self, function: &Function, cfg: &Cfg, registers: &Registers) {
        let words = function.regs.len().div_ceil(64);
        let body = function.body.as_deref().unwrap_or(&[]);
        let set = |bits: &mut [u64], reg: RegId| bits[reg.index() / 64] |= 1 << (reg.index() % 64);
        // What each block defines, then what is defined on every path to its start.
        let mut gives = vec![vec![0u64; words]; cfg.blocks.len()];
        for (block, gives) in cfg.blocks.iter().zip(&mut gives) {
            for at in block.stmts.clone() {
                registers.written(at).for_each(|reg| set(gives, reg));
            }
        }
        let mut starts = vec![vec![u64::MAX; words]; cfg.blocks.len()];
        if let Some(entry) = starts.first_mut() {
            entry.fill(0);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for at in 1..cfg.blocks.len() {
                for word in 0..words {
                    let preds = cfg.blocks[at].predecessors.iter();
                    let all = preds.fold(u64::MAX, |all, pred| {
                        all & (starts[*pred][word] | gives[*pred][word])
                    });
                    if starts[at][word] != all {
                        starts[at][word] = all;
                        changed = true;
                    }
                }
            }
        }
        let mut told = vec![false; function.regs.len()];
        for (block, defined) in cfg.blocks.iter().zip(&mut starts) {
            for at in block.stmts.clone() {
                for reg in registers.read(at) {
                    let known = defined[reg.index() / 64] >> (reg.index() % 64) & 1 == 1;
                    if !known && !std::mem::replace(&mut told[reg.index()], true) {
                        let name = reg_name(function, reg);
                        self.report(function, Code::NotDominated { name }, body[at].span);
                    }
                }
                registers.written(at).for_each(|reg| set(defined, reg));
            }
        }
    }
}

/// The blocks that can be reached from one.
fn reach(cfg: &Cfg, from: usize) -> Vec<bool> {
    let mut seen = vec![false; cfg.blocks.len()];
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut seen[block], true) {
            work.extend(cfg.blocks[block].successors.iter().copied());
        }
    }
    seen
}
