//! Registers that are read and that no path, or not every path, has written.

use super::{Certainty, Code, Finding, Scene};
use crate::{
    ir::{Inst, Operand, RegId, StmtKind},
    isa::Access,
    op::Op,
    qual::Qual,
    visit,
};

/// A set of registers.
#[derive(Clone, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn has(&self, reg: RegId) -> bool {
        self.0[reg.index() / 64] >> (reg.index() % 64) & 1 != 0
    }

    fn add(&mut self, reg: RegId) {
        self.0[reg.index() / 64] |= 1 << (reg.index() % 64);
    }
}

pub(super) fn check(scene: &Scene<'_>, found: &mut Vec<Finding>) {
    let regs = &scene.function.regs;
    let words = regs.len().div_ceil(64).max(1);
    let body = scene.function.body.as_deref().unwrap_or(&[]);
    let blocks = &scene.cfg.blocks;
    let mut gives = vec![Set(vec![0; words]); blocks.len()];
    for (at, inst) in scene.insts() {
        visit::registers(inst, |reg, access| {
            if access == Access::Write {
                gives[at].add(reg);
            }
        });
    }
    // What some path, and what every path, has written at the start of a block.
    let mut some = vec![Set(vec![0; words]); blocks.len()];
    let mut every = vec![Set(vec![u64::MAX; words]); blocks.len()];
    every[0].0.fill(0);
    let mut changed = true;
    while changed {
        changed = false;
        for at in 0..blocks.len() {
            for word in 0..words {
                let preds = blocks[at].predecessors.iter();
                let any = preds.clone().fold(some[at].0[word], |all, pred| {
                    all | some[*pred].0[word] | gives[*pred].0[word]
                });
                let all = preds.fold(every[at].0[word], |all, pred| {
                    all & (every[*pred].0[word] | gives[*pred].0[word])
                });
                changed |= any != some[at].0[word] || all != every[at].0[word];
                some[at].0[word] = any;
                every[at].0[word] = all;
            }
        }
    }
    let post = scene.cfg.post_dominators();
    let mut told = Set(vec![0; words]);
    for (at, block) in blocks.iter().enumerate() {
        let (mut some, mut every) = (some[at].clone(), every[at].clone());
        for stmt in &body[block.stmts.clone()] {
            let StmtKind::Inst(inst) = &stmt.kind else {
                continue;
            };
            visit::registers(inst, |reg, access| {
                if access == Access::Read && !every.has(reg) && !told.has(reg) {
                    told.add(reg);
                    let name = name(scene, reg);
                    let (code, certainty) = match (some.has(reg), copies(inst, reg)) {
                        (false, false) => (Code::NeverWritten { name }, Certainty::Certain),
                        (false, true) => (Code::NeverWritten { name }, Certainty::Note),
                        (true, copied) => {
                            let sure = !copied && skipped(scene, &gives, &post, reg, at);
                            let certainty = if sure {
                                Certainty::Possible
                            } else {
                                Certainty::Note
                            };
                            (Code::MaybeUnwritten { name }, certainty)
                        }
                    };
                    found.push(scene.finding(code, certainty, stmt.span));
                }
            });
            visit::registers(inst, |reg, access| {
                if access == Access::Write {
                    some.add(reg);
                    every.add(reg);
                }
            });
        }
    }
}

/// Whether an instruction only passes a value on: compilers copy what nobody looks at, and lanes that have nothing to
/// give take part in a shuffle all the same.
fn copies(inst: &Inst, reg: RegId) -> bool {
    let own = inst.quals.has(Qual::Param) || inst.quals.has(Qual::Local);
    let given = |at: usize| inst.operands.get(at) == Some(&Operand::Reg(reg));
    match inst.op {
        Op::Mov | Op::Selp => true,
        Op::St => own,
        Op::Shfl => given(1) && ![2, 3, 4].into_iter().any(given),
        _ => false,
    }
}

/// Whether a read follows every write of the register on each path from it, outside of loops: then
/// the path that skips the writes comes to the read too. Elsewhere the branch that leads to the read
/// may know which path was taken.
fn skipped(
    scene: &Scene<'_>,
    gives: &[Set],
    post: &[Option<usize>],
    reg: RegId,
    read: usize,
) -> bool {
    let writers = (0..gives.len()).filter(|block| gives[*block].has(reg));
    let follows = |mut at: usize| {
        let looping = scene.cfg.loop_of(at);
        if looping.is_some() && looping != scene.cfg.loop_of(read) {
            return false;
        }
        while at != read {
            match post[at] {
                Some(next) => at = next,
                None => return false,
            }
        }
        true
    };
    writers.into_iter().all(follows)
}

fn name(scene: &Scene<'_>, reg: RegId) -> String {
    let reg = &scene.function.regs[reg.index()];
    match reg.number {
        Some(number) => format!("{}{number}", reg.prefix),
        None => reg.prefix.to_string(),
    }
}
