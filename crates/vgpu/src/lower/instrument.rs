//! What the checker adds to a program: which registers may hold undefined values, and the ops that watch them.
//!
//! A value is undefined if it was loaded from memory nobody wrote, or sits in a register that may not have been
//! written. Copies, shuffles, bit operations and stores hand that on; anything else is a use, and is reported. So only
//! registers that loads, copies and gaps reach have a shadow: 32 cells with a bit for each undefined byte.

use super::{
    Lowerer, deferred::Deferred, depends::Depends, describe::access, guess::Guesses, held::Held,
    preds::Preds, reach,
};
use crate::{
    analysis::{Block, Term, roles, uniform::insts},
    check::{AccessInfo, Space},
    error::Error,
    exec::{self, checked, deferred, ordered, shadows},
    op::Slot,
};
use rustc_hash::FxHashSet;
use warpsmith_ptx::{
    ir::{Base, Function, Guard, Inst, Operand, RegId, Stmt},
    op::Op,
    qual::Qual,
    types::{self, Type},
};

/// Registers with shadows.
pub(crate) struct Shadows {
    /// By register: the slot of its shadow.
    slots: Vec<Option<Slot>>,
    /// Those that may be read before they are written.
    gaps: Vec<RegId>,
    /// Those that were found defined in this block.
    seen: FxHashSet<RegId>,
    guesses: Guesses,
    depends: Depends,
    preds: Preds,
    deferred: Deferred,
    held: Held,
    /// Whether the asynchronous proxy reads shared memory.
    proxy: bool,
    /// The statement that is lowered, and its block.
    here: usize,
    block: usize,
}

/// Whether an instruction hands undefined sources on; where it does not, they matter.
fn hands_on(inst: &Inst) -> bool {
    match inst.op {
        Op::Cvt => inst.quals.types().all(Type::is_int),
        Op::Mov
        | Op::Selp
        | Op::Shfl
        | Op::Cvta
        | Op::And
        | Op::Or
        | Op::Xor
        | Op::Not
        | Op::Shl
        | Op::Shr
        | Op::Shf
        | Op::Lop3
        | Op::Prmt
        | Op::Bfe
        | Op::Bfi
        | Op::Brev => true,
        _ => false,
    }
}

fn loads(inst: &Inst) -> bool {
    let space = roles::space(inst);
    match inst.op {
        Op::Ld | Op::Ldu => !matches!(space, types::Space::Param | types::Space::Const),
        Op::Ldmatrix => true,
        // It gives what was there, and needs nothing of it.
        Op::Atom => inst.quals.has(Qual::Exch),
        _ => false,
    }
}

/// An instruction without its guard, which would read its destinations.
pub(super) fn bare(inst: &Inst) -> Inst {
    Inst {
        guard: None,
        ..inst.clone()
    }
}

/// Registers that may hold something undefined, given those that may not have been written when they are read.
fn analyze(function: &Function, body: &[Stmt], blocks: &[Block], gaps: &[RegId]) -> Vec<bool> {
    let mut may = vec![false; function.regs.len()];
    for reg in gaps {
        may[reg.index()] = true;
    }
    let mut changed = true;
    while changed {
        changed = false;
        for block in blocks {
            for (_, inst) in insts(block, body) {
                let mut undefined = loads(inst);
                if hands_on(inst) {
                    roles::each_use(inst, &mut |reg| undefined |= may[reg.index()]);
                }
                if undefined {
                    roles::each_def(inst, &mut |reg| {
                        changed |= !std::mem::replace(&mut may[reg.index()], true);
                    });
                }
            }
        }
    }
    for (reg, may) in function.regs.iter().zip(&mut may) {
        *may &= reg.ty != Type::Pred && reg.ty.bits() <= 64;
    }
    may
}

/// Registers that some path reads before it writes them, and predicates of which that is so.
fn unwritten(function: &Function, body: &[Stmt], blocks: &[Block]) -> [Vec<RegId>; 2] {
    let count = function.regs.len();
    // By block: registers written on every way to its start. The first block starts with none.
    let mut written: Vec<Option<Vec<bool>>> = vec![None; blocks.len()];
    if let Some(first) = written.first_mut() {
        *first = Some(vec![false; count]);
    }
    let mut work = vec![0usize];
    let mut gaps = vec![false; count];
    while let Some(at) = work.pop() {
        let Some(mut now) = written[at].clone() else {
            continue;
        };
        // Under a guard only some lanes write: what has the same guard finds it written.
        let mut under: Vec<(RegId, Guard)> = Vec::new();
        for (_, inst) in insts(&blocks[at], body) {
            let mut needs = |reg: RegId| {
                let same = |(written, guard): &(RegId, Guard)| {
                    *written == reg && inst.guard.as_ref() == Some(guard)
                };
                gaps[reg.index()] |= !now[reg.index()] && !under.iter().any(same);
            };
            match inst.guard {
                None => roles::each_use(inst, &mut needs),
                Some(guard) => {
                    needs(guard.reg);
                    roles::each_use(&bare(inst), &mut needs);
                }
            }
            roles::each_def(inst, &mut |reg| {
                under.retain(|(_, guard)| guard.reg != reg);
                match inst.guard {
                    None => now[reg.index()] = true,
                    Some(guard) if guard.reg != reg => under.push((reg, guard)),
                    Some(_) => {}
                }
            });
        }
        blocks[at]
            .term
            .each_use(&mut |reg| gaps[reg.index()] |= !now[reg.index()]);
        blocks[at].term.each_def(&mut |reg| now[reg.index()] = true);
        for target in blocks[at].term.targets() {
            let target = target as usize;
            match &mut written[target] {
                Some(known) => {
                    let mut less = false;
                    for (known, now) in known.iter_mut().zip(&now) {
                        less |= *known && !now;
                        *known &= now;
                    }
                    if less {
                        work.push(target);
                    }
                }
                slot => {
                    *slot = Some(now.clone());
                    work.push(target);
                }
            }
        }
    }
    [false, true].map(|preds| {
        (0..count)
            .filter(|reg| gaps[*reg] && (function.regs[*reg].ty == Type::Pred) == preds)
            .map(|reg| RegId(reg as u32))
            .collect()
    })
}

impl Shadows {
    /// Gives shadows to the registers of a kernel that need them.
    pub(super) fn new(
        l: &mut Lowerer<'_>,
        function: &Function,
        body: &[Stmt],
        blocks: &[Block],
    ) -> Shadows {
        let [gaps, preds] = unwritten(function, body, blocks);
        let may = analyze(function, body, blocks, &gaps);
        let slots: Vec<_> = may.iter().map(|may| may.then(|| l.shadow_slot())).collect();
        l.watched.shadow_of.clone_from(&slots);
        let guesses = Guesses::new(body, blocks);
        Shadows {
            slots,
            gaps,
            seen: FxHashSet::default(),
            depends: Depends::new(function, body, blocks),
            preds: Preds::new(l, body, blocks, &preds),
            deferred: Deferred::new(l, body, blocks, &guesses),
            held: Held::new(function, body, blocks),
            proxy: body
                .iter()
                .any(|stmt| stmt.inst().is_some_and(exec::is_read_by_proxy)),
            guesses,
            here: 0,
            block: 0,
        }
    }

    fn slot(&self, reg: RegId) -> Option<Slot> {
        self.slots.get(reg.index()).copied().flatten()
    }
}

/// The start of a kernel: what was not written is undefined.
pub(super) fn enter(l: &mut Lowerer<'_>, shadows: &Shadows) {
    let slots = shadows.gaps.iter().filter_map(|reg| shadows.slot(*reg));
    let slots: Vec<Slot> = slots.collect();
    let preds = shadows.preds.unwritten();
    if !slots.is_empty() || !preds.is_empty() {
        shadows::emit_unwritten(l, &slots, &preds);
    }
}

/// The start of a block.
pub(super) fn enter_block(shadows: &mut Shadows, block: usize) {
    shadows.seen.clear();
    shadows.preds.enter_block();
    shadows.block = block;
}

/// Emits what comes before instructions under a guard.
pub(super) fn guard(l: &mut Lowerer<'_>, shadows: &mut Shadows, guard: Guard) {
    shadows.preds.decide(l, guard.reg, None);
    shadows.deferred.guard(l, shadows.here);
}

/// The statement that is lowered next.
pub(super) fn enter_stmt(shadows: &mut Shadows, here: usize) {
    shadows.here = here;
}

/// Emits what comes before any instruction, lowered or not.
pub(super) fn before_all(l: &mut Lowerer<'_>, shadows: &Shadows) -> Result<(), Error> {
    shadows.held.before(l, shadows.here);
    shadows.deferred.before(l, shadows.here)
}

/// Emits what comes before the end of a block.
pub(super) fn end_block(l: &mut Lowerer<'_>, shadows: &mut Shadows, term: &Term) {
    let mut slots = Vec::new();
    let mut add = |reg: RegId| {
        if let Some(slot) = shadows.slot(reg)
            && shadows.seen.insert(reg)
        {
            slots.push(slot);
        }
    };
    match term {
        // What it saves is not used.
        Term::Call(call) => {
            if let Some(pointer) = &call.pointer {
                roles::each_reg(pointer, &mut add);
            }
        }
        Term::Barrier(barrier) if barrier.guard.is_some() => {}
        other => other.each_use(&mut add),
    }
    if !slots.is_empty() {
        shadows::emit_used(l, &slots);
    }
    shadows.preds.end_block(l, term);
    shadows.deferred.end_block(l, shadows.block);
    term.each_def(&mut |reg| {
        if let Some(slot) = shadows.slot(reg) {
            shadows::emit_fill(l, slot, 0);
        }
    });
}

/// Emits what comes before an instruction; where its access was checked.
pub(super) fn before(
    l: &mut Lowerer<'_>,
    shadows: &mut Shadows,
    inst: &Inst,
) -> Result<Option<usize>, Error> {
    let mut used = Vec::new();
    let mut add = |reg: RegId| used.push(reg);
    match (access(inst), hands_on(inst)) {
        // Of an access the address matters, and what an atomic adds.
        (Some((at, _)), _) => {
            if let Some(Operand::Addr(address)) = inst.operands.get(at)
                && let Base::Reg(reg) = address.base
            {
                add(reg);
            }
            if matches!(inst.op, Op::Atom | Op::Red) {
                inst.operands[at + 1..]
                    .iter()
                    .for_each(|operand| roles::each_reg(operand, &mut add));
            }
            if inst.op == Op::Mbarrier {
                roles::each_use(&bare(inst), &mut add);
            }
        }
        // Which lanes it reads.
        (None, true) if inst.op == Op::Shfl => {
            let lanes = inst.operands.iter().skip(2);
            lanes.for_each(|operand| roles::each_reg(operand, &mut add));
        }
        (None, true) => {}
        // Where a guard leaves the result as it was, that is not used.
        (None, false) => match &inst.guard {
            None => roles::each_use(inst, &mut add),
            Some(guard) => {
                add(guard.reg);
                roles::each_use(&bare(inst), &mut add);
            }
        },
    }
    let mut slots = Vec::new();
    for reg in used {
        // Under a guard only some lanes are looked at.
        let Some(slot) = shadows.slot(reg) else {
            continue;
        };
        let seen = match inst.guard {
            None => !shadows.seen.insert(reg),
            Some(_) => shadows.seen.contains(&reg),
        };
        if !seen {
            slots.push(slot);
        }
    }
    if !slots.is_empty() {
        shadows::emit_used(l, &slots);
    }
    shadows.preds.before(l, inst)?;
    let mut access = access(inst);
    if let Some((_, info)) = &mut access {
        info.depends = shadows.depends.decides(inst, shadows.block);
    }
    if let (Some((_, info)), Some(cta_scope)) = (&mut access, shadows.guesses.scope(inst))
        && !info.order.strong
    {
        info.order.strong = true;
        info.order.cta_scope = cta_scope;
    }
    ordered::emit_order(l, inst)?;
    if inst.op == Op::Shfl
        && let Some(Operand::Reg(reg)) = inst.operands.get(1)
        && let Some(value) = shadows.slot(*reg)
        && let Some(slot) = result(inst).and_then(|reg| shadows.slot(reg))
    {
        shadows::emit_shuffle(l, inst, slot, value)?;
    }
    match access {
        Some((at, info)) => {
            let mut info = info;
            let values = match inst.op {
                Op::Ld | Op::Ldu | Op::Ldmatrix => inst.operands.first(),
                Op::Atom if info.replaces => inst.operands.first(),
                Op::St | Op::Stmatrix => inst.operands.get(1),
                _ => None,
            };
            let items = match values {
                Some(Operand::Vec(items)) => &items[..],
                Some(one) => std::slice::from_ref(one),
                None => &[],
            };
            for (slot, item) in info.values.iter_mut().zip(items) {
                if let Operand::Reg(reg) = item {
                    *slot = shadows.slot(*reg).map(|slot| slot.0);
                }
            }
            let reading = shadows.deferred.waits(shadows.here);
            if let Some(reading) = reading {
                info.deferred = true;
                deferred::emit_clear(l, reading);
            }
            let stores = matches!(inst.op, Op::St | Op::Stmatrix | Op::Atom | Op::Red);
            if shadows.proxy && stores {
                note_store(l, inst, at, &info)?;
            }
            let access = checked::emit_access(l, inst, at, info)?;
            if let Some(reading) = reading {
                let known = deferred::emit_begin(l, reading);
                shadows.deferred.begun(shadows.here, known);
            }
            Ok(Some(access))
        }
        None => Ok(None),
    }
}

/// Emits what tells of a store that the asynchronous proxy may read, if it can be to shared memory.
fn note_store(l: &mut Lowerer<'_>, inst: &Inst, at: usize, info: &AccessInfo) -> Result<(), Error> {
    if !matches!(info.space, Space::Shared | Space::Generic) {
        return Ok(());
    }
    let place = inst.operands.get(at).ok_or_else(|| l.unsupported(inst))?;
    let (base, offset) = checked::place_of(l, place)?;
    let lanes = match info.matrix {
        Some(_) => !0 >> (32 - 8 * info.rows.clamp(1, 4)),
        None => !0,
    };
    let (bytes, generic) = (info.bytes() as u32, info.space == Space::Generic);
    exec::emit_stored(l, base, (offset, bytes), lanes, generic);
    Ok(())
}

/// Emits what comes after it.
pub(super) fn after(
    l: &mut Lowerer<'_>,
    shadows: &mut Shadows,
    inst: &Inst,
    access: Option<usize>,
) -> Result<(), Error> {
    if let Some(at) = access {
        checked::end_access(l, at);
    }
    shadows.preds.after(l, inst)?;
    let mut defined = Vec::new();
    roles::each_def(inst, &mut |reg| defined.push(reg));
    for reg in &defined {
        shadows.seen.remove(reg);
    }
    let moves = inst.op == Op::Shfl
        && matches!(inst.operands.get(1), Some(Operand::Reg(reg)) if shadows.slot(*reg).is_some());
    if loads(inst) || moves {
        return Ok(());
    }
    if hands_on(inst) && inst.op != Op::Shfl {
        return copy(l, shadows, inst);
    }
    for slot in defined.iter().filter_map(|reg| shadows.slot(*reg)) {
        shadows::emit_fill(l, slot, 0);
    }
    Ok(())
}

/// The register of a result that is one.
fn result(inst: &Inst) -> Option<RegId> {
    match inst.operands.first()? {
        Operand::Reg(reg) => Some(*reg),
        Operand::Pair(pair) => match &pair.0 {
            Operand::Reg(reg) => Some(*reg),
            _ => None,
        },
        _ => None,
    }
}

/// Hands on what is known of sources. Parts of a vector are pieces of the other side.
fn copy(l: &mut Lowerer<'_>, shadows: &Shadows, inst: &Inst) -> Result<(), Error> {
    let bits = |l: &Lowerer<'_>, operand: &Operand| l.reg_bits(operand).unwrap_or(32);
    let shadow = |operand: &Operand| match operand {
        Operand::Reg(reg) => shadows.slot(*reg),
        _ => None,
    };
    let Some((to, from)) = inst.operands.split_first() else {
        return Ok(());
    };
    if let Operand::Vec(parts) = to {
        let source = from.first().and_then(shadow);
        for (k, part) in parts.iter().enumerate() {
            let bytes = bits(l, part) / 8;
            if let Some(slot) = shadow(part) {
                let kept = reach::moved(-((k as u32 * bytes) as i32)) & reach::within(bytes);
                let piece = source.map(|source| (source, kept));
                shadows::emit_move(l, slot, piece.as_slice());
            }
        }
        return Ok(());
    }
    let Some(slot) = shadow(to) else {
        return Ok(());
    };
    if inst.op == Op::Selp
        && let [a, b, pred] = from
    {
        return shadows::emit_select(l, slot, [shadow(a), shadow(b)], pred);
    }
    let mut pieces = Vec::new();
    if let [Operand::Vec(parts)] = from {
        for (k, part) in parts.iter().enumerate() {
            let each = bits(l, part) / 8;
            if let Some(source) = shadow(part) {
                pieces.push((source, reach::moved((k as u32 * each) as i32)));
            }
        }
    } else {
        let bytes = bits(l, to) / 8;
        for (at, operand) in from.iter().enumerate() {
            if let Some(source) = shadow(operand) {
                pieces.push((source, reach::of(inst, at, bytes)));
            }
        }
    }
    shadows::emit_move(l, slot, &pieces);
    Ok(())
}
