//! Code that no path reaches.

use super::{Certainty, Code, Finding, Scene};
use crate::{ir::StmtKind, op::Op};

pub(super) fn check(scene: &Scene<'_>, found: &mut Vec<Finding>) {
    let body = scene.function.body.as_deref().unwrap_or(&[]);
    let mut reached = vec![false; body.len()];
    for block in &scene.cfg.blocks {
        reached[block.stmts.clone()].fill(true);
    }
    // Runs of instructions, with where each begins.
    let mut run: Option<(usize, usize)> = None;
    for (at, stmt) in body.iter().enumerate() {
        let StmtKind::Inst(inst) = &stmt.kind else {
            continue;
        };
        if reached[at] {
            report(scene, run.take(), found);
            continue;
        }
        // Compilers end functions twice; that does nothing.
        let ends = matches!(inst.op, Op::Ret | Op::Exit | Op::Trap | Op::Bra | Op::Brkpt);
        match &mut run {
            Some((_, count)) => *count += usize::from(!ends),
            None if ends => {}
            None => run = Some((at, 1)),
        }
    }
    report(scene, run, found);
}

fn report(scene: &Scene<'_>, run: Option<(usize, usize)>, found: &mut Vec<Finding>) {
    let body = scene.function.body.as_deref().unwrap_or(&[]);
    if let Some((at, count)) = run {
        let code = Code::Unreachable { count };
        found.push(scene.finding(code, Certainty::Possible, body[at].span));
    }
}
