//! Clean-up of a finished draft: loop copies folded into their definitions, dead code removed, registers renumbered.

use crate::{
    class::{CLASSES, class_order},
    draft::{Copied, Draft, Line, LineKind},
    slot::Slot,
};
use smallvec::SmallVec;
use std::mem;
use warpsmith_ptx::ir::{Guard, Inst, Reg, RegId, Span, Stmt, StmtKind};

/// The registers of a draft, sorted by class and numbered from 0 in each, and its statements without copies and without
/// instructions whose results nobody reads.
pub(crate) fn finish(mut draft: Draft) -> (Vec<Reg>, Vec<Stmt>) {
    for copied in mem::take(&mut draft.copies) {
        fold_copy(&mut draft, copied);
    }
    let used = remove_dead(&mut draft);
    let (regs, to) = renumber(&draft, &used);
    let mut body = Vec::with_capacity(draft.lines.len());
    for line in &draft.lines {
        append(&mut body, &draft, line, &to);
    }
    (regs, body)
}

/// `op t, ..; ..; mov s, t` becomes `op s, ..` where `t` has no other use; `s` is untouched in between.
///
/// Loop-carried values are written as copies at the end of the body; this makes accumulators accumulate in place.
fn fold_copy(draft: &mut Draft, copied: Copied) {
    let Copied {
        line,
        to,
        from,
        definition,
    } = copied;
    if draft.regs[from.index()].uses != 1 {
        return;
    }
    for slot in draft.results_mut(definition) {
        if slot.is_reg() == Some(from) {
            *slot = Slot::reg(to);
        }
    }
    draft.lines[line as usize].kind = LineKind::Removed;
    draft.regs[from.index()].uses = 0;
}

/// Removes instructions whose results nobody reads; which registers the others name.
fn remove_dead(draft: &mut Draft) -> Vec<bool> {
    let mut used = vec![false; draft.regs.len()];
    loop {
        // A sweep from the end finds all, but where a loop computes for its own next round.
        let mut again = false;
        for at in (0..draft.lines.len()).rev() {
            let line = &draft.lines[at];
            let LineKind::Inst { pure, guard, .. } = line.kind else {
                continue;
            };
            let slots = &draft.slots[line.range()];
            let (results, sources) = slots.split_at(line.results());
            let regs = &mut draft.regs;
            let unused = |slot: &Slot| slot.named().is_none_or(|reg| regs[reg.index()].uses == 0);
            let atom = line.is_read_modify_write();
            if !(pure || atom) || !results.iter().all(unused) {
                for reg in slots.iter().filter_map(Slot::named) {
                    used[reg.index()] = true;
                }
                if let Some(Guard { reg, .. }) = guard {
                    used[reg.index()] = true;
                }
                continue;
            }
            if atom {
                for reg in sources.iter().filter_map(Slot::named) {
                    used[reg.index()] = true;
                }
                draft.lines[at].discard_results();
                continue;
            }
            for reg in sources.iter().filter_map(Slot::named) {
                let reg = &mut regs[reg.index()];
                reg.uses -= 1;
                again |= reg.uses == 0 && reg.written as usize > at;
            }
            draft.lines[at].kind = LineKind::Removed;
        }
        if !again {
            return used;
        }
        used.fill(false);
    }
}

/// The used registers as they are declared, and what each is called now.
fn renumber(draft: &Draft, used: &[bool]) -> (Vec<Reg>, Vec<RegId>) {
    let mut counts = [0u32; CLASSES.len()];
    let classes = || draft.regs.iter().map(|reg| usize::from(reg.class));
    for (class, used) in classes().zip(used) {
        counts[class] += u32::from(*used);
    }
    let mut order: [usize; CLASSES.len()] = std::array::from_fn(|class| class);
    order.sort_by_key(|class| class_order(*class));
    let mut declared = Vec::with_capacity(counts.iter().sum::<u32>() as usize);
    let mut next = [0; CLASSES.len()];
    for class in order {
        next[class] = declared.len() as u32;
        let (ty, prefix) = CLASSES[class];
        declared.extend((0..counts[class]).map(|number| Reg {
            ty,
            prefix: prefix.into(),
            number: Some(number),
        }));
    }
    let place = |(class, used): (usize, &bool)| {
        let next = &mut next[class];
        RegId(mem::replace(next, *next + u32::from(*used)))
    };
    let to = classes().zip(used).map(place).collect();
    (declared, to)
}

/// Appends what a line says, with registers as `to` names them.
#[inline]
fn append(body: &mut Vec<Stmt>, draft: &Draft, line: &Line, to: &[RegId]) {
    let span = line.at.map_or(Span::None, Span::Rust);
    let (op, guard) = match line.kind {
        LineKind::Removed => return,
        LineKind::Label(label) => {
            let kind = StmtKind::Label(label);
            body.push(Stmt { kind, span });
            return;
        }
        LineKind::Inst { op, guard, .. } => (op, guard),
    };
    let guard = guard.map(|guard| Guard {
        reg: to[guard.reg.index()],
        ..guard
    });
    let kind = StmtKind::Inst(Inst {
        op,
        quals: line.quals,
        operands: SmallVec::new(),
        guard,
    });
    body.push(Stmt { kind, span });
    // Operands are written where they stay: a statement is long to move.
    if let Some(Stmt {
        kind: StmtKind::Inst(inst),
        ..
    }) = body.last_mut()
    {
        let mut rest = &draft.slots[line.range()];
        while let Some(behind) = Slot::append_to(&mut inst.operands, rest, to) {
            rest = behind;
        }
    }
}
