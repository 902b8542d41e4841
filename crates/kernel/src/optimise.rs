//! Clean-up of a finished kernel: loop copies folded into their definitions, dead code removed, registers renumbered.
//!
//! The passes work on the registers that [`Flat`] gathered; instructions are touched again only at the end.

use crate::{
    build::{CLASSES, class, class_order},
    flat::{Flat, Kind, visit_all},
    reuse::{self, Uses},
};
use std::mem;
use warpsmith_ptx::ir::{Function, Reg, RegId, StmtKind};

/// Removes what is computed twice, copies, and instructions whose results nobody reads; sorts registers by class and
/// numbers each class from 0.
pub(crate) fn run(function: &mut Function) {
    let body = function.body.as_mut().expect("a kernel has a body");
    let mut flat = Flat::new(body, function.regs.len());
    let mut uses = reuse::run(body, &mut flat);
    let mut removed = vec![false; body.len()];
    if flat.copies {
        fold_copies(&mut flat, &function.regs, &mut uses, &mut removed);
    }
    find_dead(&flat, uses, &mut removed);
    let to = renumber(&flat, &removed, &mut function.regs);
    let mut next = 0..;
    body.retain_mut(|stmt| {
        let at = next.next().unwrap_or_default();
        if let (StmtKind::Inst(inst), false) = (&mut stmt.kind, removed[at]) {
            let mut regs = flat.of(at).iter();
            visit_all(inst, |reg| {
                if let Some(now) = regs.next() {
                    *reg = to[now.index()];
                }
            });
        }
        !removed[at]
    });
}

/// `op t, ..; ..; mov s, t` becomes `op s, ..` where `t` has no other use and `s` is untouched in between.
///
/// Loop-carried values are written as copies at the end of the body; this makes accumulators accumulate in place.
fn fold_copies(flat: &mut Flat, declared: &[Reg], uses: &mut Uses, removed: &mut [bool]) {
    // Within the current block: where a register was last defined, and last read or written.
    let mut block = 0u32;
    let mut defined = vec![(u32::MAX, 0u32); declared.len()];
    let mut touched = vec![(u32::MAX, 0u32); declared.len()];
    for at in 0..flat.len() {
        let here = at as u32;
        let kind = flat.facts(at).kind;
        if kind == Kind::Label {
            block += 1;
            continue;
        }
        if let (Kind::Copy, [to, from]) = (kind, flat.of(at)) {
            let (to, from) = (*to, *from);
            let (in_block, def_at) = defined[from.index()];
            let last_touch = touched[to.index()];
            let free = last_touch.0 != block || last_touch.1 <= def_at;
            if in_block == block
                && uses.count[from.index()] == 1
                && flat.definitions[from.index()] == 1
                && free
                && !flat.facts(def_at as usize).guarded
                && to != from
                // A copy between register classes is a reinterpretation of bits.
                && declared[to.index()].ty == declared[from.index()].ty
            {
                for reg in flat.writes_mut(def_at as usize) {
                    if *reg == from {
                        *reg = to;
                    }
                }
                removed[at] = true;
                uses.count[from.index()] = 0;
                touched[to.index()] = (block, here);
                defined[to.index()] = (block, def_at);
                continue;
            }
        }
        for reg in flat.of(at) {
            touched[reg.index()] = (block, here);
        }
        for reg in flat.writes(at) {
            defined[reg.index()] = (block, here);
        }
        if kind == Kind::Branch {
            block += 1;
        }
    }
}

/// Marks instructions whose results nobody reads, beside those that are removed already.
fn find_dead(flat: &Flat, uses: Uses, removed: &mut [bool]) {
    let Uses {
        count: mut uses,
        last_write,
    } = uses;
    loop {
        // A sweep from the end finds all, but where a loop computes for its own next round.
        let mut again = false;
        for at in (0..flat.len()).rev() {
            let unused = |reg: &RegId| uses[reg.index()] == 0;
            if removed[at] || !flat.facts(at).pure || !flat.writes(at).iter().all(unused) {
                continue;
            }
            removed[at] = true;
            for reg in flat.reads(at) {
                let uses = &mut uses[reg.index()];
                *uses -= 1;
                again |= *uses == 0 && last_write[reg.index()] as usize >= at;
            }
        }
        if !again {
            break;
        }
    }
}

/// Drops unused registers, sorts by class, and numbers each class from 0; what each is called now.
fn renumber(flat: &Flat, removed: &[bool], regs: &mut Vec<Reg>) -> Vec<RegId> {
    const UNUSED: u8 = u8::MAX;
    let mut classes = vec![UNUSED; regs.len()];
    for at in (0..flat.len()).filter(|at| !removed[*at]) {
        for reg in flat.of(at) {
            classes[reg.index()] = 0;
        }
    }
    let mut counts = [0u32; CLASSES.len()];
    for (used, reg) in classes.iter_mut().zip(regs.iter()) {
        if *used != UNUSED {
            *used = class(reg.ty) as u8;
            counts[usize::from(*used)] += 1;
        }
    }
    let mut order: [usize; CLASSES.len()] = std::array::from_fn(|class| class);
    order.sort_by_key(|class| class_order(*class));
    let mut numbered = Vec::with_capacity(counts.iter().sum::<u32>() as usize);
    let mut starts = [0; CLASSES.len()];
    for class in order {
        starts[class] = numbered.len() as u32;
        let (ty, prefix) = CLASSES[class];
        numbered.extend((0..counts[class]).map(|number| Reg {
            ty,
            prefix: prefix.into(),
            number: Some(number),
        }));
    }
    *regs = numbered;
    let place = |class: u8| match starts.get_mut(usize::from(class)) {
        Some(next) => RegId(mem::replace(next, *next + 1)),
        None => RegId(0),
    };
    classes.into_iter().map(place).collect()
}
