//! The ops by which what is undefined of registers follows their values: a bit for each byte of each lane.

use super::{
    Ctx, Flow, Handler, Micro, MicroOp, Ops, OptSlot, Pred, Slot, Words, args,
    checked::ask,
    lane::{lanes, mask_of},
    unset,
    warp::Mode,
};
use crate::{build::Lowerer, error::Error};
use std::marker::PhantomData;
use warpsmith_ptx::ir::{Inst, Operand};

/// Which bytes of a result byte `b` of a source reaches: bits `8 * b..` of it.
pub(crate) type Reach = u64;

/// From now on a register of the warp may be undefined: its shadows count.
#[cold]
#[inline(never)]
pub(super) fn taint(ctx: &mut Ctx) {
    if ctx.warp.tainted {
        return;
    }
    ctx.warp.tainted = true;
    for at in 0..ctx.program.shadows.len() {
        let slot = ctx.program.shadows[at];
        *ctx.cells_mut(slot) = [0u32; 32];
    }
}

/// What a warp may be in doubt of, so that what is kept of it counts.
pub(super) trait Doubt: 'static {
    fn is_there(ctx: &Ctx) -> bool;
}

/// A register may be undefined.
struct Tainted;
impl Doubt for Tainted {
    #[inline(always)]
    fn is_there(ctx: &Ctx) -> bool {
        ctx.warp.tainted
    }
}

args! {
    struct Stretch {
        ops: Ops,
    }

    struct Filling {
        dst: Slot,
        bits: u32,
    }

    struct Uses {
        shadows: Words,
        count: u32,
    }

    struct Pieces {
        dst: Slot,
        /// Shadows, and whom their bytes reach.
        pieces: Words,
        count: u32,
    }

    struct Selection {
        dst: Slot,
        pred: Pred,
        yes: OptSlot,
        no: OptSlot,
    }

    struct Exchange {
        dst: Slot,
        mode: Mode,
        a: Slot,
        b: Slot,
        c: Slot,
    }
}

/// The ops behind it matter only where that doubt is.
struct Skip<D>(PhantomData<D>);
impl<D: Doubt> Flow for Skip<D> {
    type Args = Stretch;
    fn run(ctx: &mut Ctx, op: &Micro<Stretch>) -> *const MicroOp {
        if D::is_there(ctx) {
            op.next()
        } else {
            op.skip(op.ops)
        }
    }
}

/// Skips the next `count` ops where a doubt is not.
pub(super) fn emit_skip_without<D: Doubt>(l: &mut Lowerer, count: usize) {
    let ops = Ops(count as u32);
    l.emit(l.flow::<Skip<D>>(Stretch { ops }));
}

pub(crate) fn emit_skip(l: &mut Lowerer, count: usize) {
    emit_skip_without::<Tainted>(l, count);
}

/// A shadow is the same in every lane.
struct Fill;
impl Handler for Fill {
    type Args = Filling;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Filling>) {
        if op.bits != 0 {
            taint(ctx);
        }
        if ctx.warp.tainted {
            ctx.put_cells(op.dst, [op.bits; 32]);
        }
    }
}

pub(crate) fn emit_fill(l: &mut Lowerer, slot: Slot, bits: u32) {
    let op = fill(l, slot, bits);
    l.put_off(op);
}

/// At the start of a kernel, all of these registers and predicates are undefined.
pub(crate) fn emit_unwritten(l: &mut Lowerer, slots: &[Slot], preds: &[Slot]) {
    emit_once(l, slots.len() + preds.len());
    for slot in slots {
        let op = fill(l, *slot, 0xFF);
        l.emit(op);
    }
    for slot in preds {
        unset::emit_unwritten(l, *slot);
    }
}

fn fill(l: &Lowerer, dst: Slot, bits: u32) -> MicroOp {
    l.cold::<Fill>(Filling { dst, bits })
}

/// The registers of shadows are used.
struct Used;
impl Handler for Used {
    type Args = Uses;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Uses>) {
        if !ctx.warp.tainted {
            return;
        }
        let slots = ctx.extra(op.shadows, op.count as usize);
        let undefined = |slot: u32| {
            let shadow = ctx.cells::<u32>(Slot(slot));
            shadow.iter().fold(0, |all, bits| all | bits) != 0
        };
        if slots.iter().any(|slot| undefined(*slot)) {
            report_used(ctx, op);
        }
    }
}

#[cold]
#[inline(never)]
fn report_used(ctx: &mut Ctx, op: &Micro<Uses>) {
    let slots = ctx.extra(op.shadows, op.count as usize).to_vec();
    for slot in slots {
        let shadow = *ctx.cells::<u32>(Slot(slot));
        let mask = ctx.mask;
        let bad = mask & mask_of(|i| shadow[i] != 0);
        if bad != 0 {
            ask(ctx, op.span(), mask, |checker, at, _| {
                checker.used(at, slot, bad)
            });
            // Once for each value.
            ctx.put_cells(Slot(slot), [0u32; 32]);
        }
    }
}

pub(crate) fn emit_used(l: &mut Lowerer, slots: &[Slot]) {
    let words: Vec<u32> = slots.iter().map(|slot| slot.0).collect();
    let args = Uses {
        shadows: l.extra(&words),
        count: slots.len() as u32,
    };
    l.put_off(l.cold::<Used>(args));
}

/// A shadow is what pieces bring.
struct Move;
impl Handler for Move {
    type Args = Pieces;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Pieces>) {
        if !ctx.warp.tainted {
            return;
        }
        let mut out = [0; 32];
        for piece in 0..op.count {
            let &[slot, low, high] = ctx.extra(op.pieces.behind(3 * piece), 3) else {
                return;
            };
            let from = *ctx.cells::<u32>(Slot(slot));
            if is_defined(&from) {
                continue;
            }
            let part = spread(&from, Reach::from(low) | Reach::from(high) << 32);
            follow(ctx, Slot(slot), op.dst, &part);
            out = lanes(|i| out[i] | part[i]);
        }
        ctx.put_cells(op.dst, out);
    }
}

#[inline(always)]
fn is_defined(shadow: &[u32; 32]) -> bool {
    shadow.iter().fold(0, |all, bits| all | bits) == 0
}

#[inline(never)]
fn spread(from: &[u32; 32], reach: Reach) -> [u32; 32] {
    let mut out = [0; 32];
    for byte in 0..8 {
        let reached = (reach >> (8 * byte)) as u32 & 0xFF;
        for (out, from) in out.iter_mut().zip(from) {
            *out |= (from >> byte & 1) * reached;
        }
    }
    out
}

/// Where `part` of a shadow in `to` came from is known, if a lane that runs has any.
#[inline(never)]
fn follow(ctx: &mut Ctx, from: Slot, to: Slot, part: &[u32; 32]) {
    let mask = ctx.mask;
    let counts = (0..32).any(|i| mask >> i & 1 != 0 && part[i] != 0);
    if counts && let Some(checker) = &mut ctx.checker {
        checker.copied(ctx.warp.index, from.0, to.0);
    }
}

pub(crate) fn emit_move(l: &mut Lowerer, dst: Slot, pieces: &[(Slot, Reach)]) {
    let words: Vec<u32> = pieces
        .iter()
        .flat_map(|(slot, reach)| [slot.0, *reach as u32, (*reach >> 32) as u32])
        .collect();
    let args = Pieces {
        dst,
        pieces: l.extra(&words),
        count: pieces.len() as u32,
    };
    l.put_off(l.cold::<Move>(args));
}

/// A shadow is what `selp` selects of others; none where all is defined.
struct Select;
impl Handler for Select {
    type Args = Selection;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Selection>) {
        if !ctx.warp.tainted {
            return;
        }
        let first = ctx.pred(op.pred);
        let mut out = [0; 32];
        for (at, chosen) in [(op.yes, first), (op.no, !first)] {
            let Some(slot) = at.get() else {
                continue;
            };
            let from = ctx.cells::<u32>(slot);
            let part = lanes(|i| if chosen >> i & 1 != 0 { from[i] } else { 0 });
            follow(ctx, slot, op.dst, &part);
            out = lanes(|i| out[i] | part[i]);
        }
        ctx.put_cells(op.dst, out);
    }
}

/// The shadow of what `selp` selects; at once, since the predicate may change.
pub(crate) fn emit_select(
    l: &mut Lowerer,
    dst: Slot,
    [yes, no]: [Option<Slot>; 2],
    pred: &Operand,
) -> Result<(), Error> {
    l.flush();
    let args = Selection {
        dst,
        pred: l.pred(pred)?,
        yes: yes.into(),
        no: no.into(),
    };
    l.emit(l.cold::<Select>(args));
    Ok(())
}

/// A shadow is another as a shuffle moves it.
struct Shuffle;
impl Handler for Shuffle {
    type Args = Exchange;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Exchange>) {
        if !ctx.warp.tainted {
            return;
        }
        let (b, c) = (ctx.cells::<u32>(op.b), ctx.cells::<u32>(op.c));
        let (from, mask) = (ctx.cells::<u32>(op.a), ctx.mask);
        let out = lanes(|i| {
            let (other, fine) = super::warp::source(op.mode, i as u32, b[i], c[i]);
            let other = other & 31;
            // What a lane that does not take part gives is followed elsewhere (`lost.rs`).
            match fine {
                true if mask >> other & 1 == 0 => 0,
                true => from[other as usize],
                false => from[i],
            }
        });
        follow(ctx, op.a, op.dst, &out);
        ctx.put_cells(op.dst, out);
    }
}

/// The shadow of what a shuffle gives, before it runs.
pub(crate) fn emit_shuffle(l: &mut Lowerer, inst: &Inst, dst: Slot, a: Slot) -> Result<(), Error> {
    l.flush();
    let args = Exchange {
        dst,
        mode: super::warp::mode_of(inst),
        a,
        b: l.src32(super::operand(l, inst, 2)?)?,
        c: l.src32(super::operand(l, inst, 3)?)?,
    };
    l.emit(l.cold::<Shuffle>(args));
    Ok(())
}

/// The ops behind it are for the first time that a warp comes here.
struct Once;
impl Flow for Once {
    type Args = Stretch;
    fn run(ctx: &mut Ctx, op: &Micro<Stretch>) -> *const MicroOp {
        if std::mem::replace(&mut ctx.warp.entered, true) {
            op.skip(op.ops)
        } else {
            op.next()
        }
    }
}

pub(crate) fn emit_once(l: &mut Lowerer, count: usize) {
    let ops = Ops(count as u32);
    l.emit(l.flow::<Once>(Stretch { ops }));
}

/// What is undefined of register `k` of `ldmatrix`, by what is undefined of each lane's row.
pub(super) fn of_rows(rows: &[u32; 32], k: usize, transposed: bool) -> [u32; 32] {
    lanes(|lane| {
        let row = |row: usize| rows[(8 * k + row) & 31];
        let (far, near) = (lane / 4, lane % 4);
        if transposed {
            let element = |at: usize| row(at) >> (2 * far) & 3;
            element(2 * near) | element(2 * near + 1) << 2
        } else {
            row(far) >> (4 * near) & 0xF
        }
    })
}

/// What is undefined of each lane's row, by what is undefined of the registers of `stmatrix`.
pub(super) fn to_rows(registers: &[[u32; 32]], transposed: bool) -> [u32; 32] {
    lanes(|lane| {
        let Some(register) = registers.get(lane / 8) else {
            return 0;
        };
        let row = lane % 8;
        if transposed {
            (0..8).fold(0, |bits, column| {
                let element = register[4 * column + row / 2] >> (2 * (row % 2)) & 3;
                bits | element << (2 * column)
            })
        } else {
            (0..4).fold(0, |bits, part| {
                bits | (register[4 * row + part] & 0xF) << (4 * part)
            })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_from_the_registers_they_go_to() {
        let rows = lanes(|lane| (lane as u32 * 0x9E37 + 77) & 0xFFFF);
        for transposed in [false, true] {
            let registers = [0, 1, 2, 3].map(|k| of_rows(&rows, k, transposed));
            assert_eq!(to_rows(&registers, transposed), rows);
        }
    }
}
