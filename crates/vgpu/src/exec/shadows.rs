//! The ops by which what is undefined of registers follows their values: a bit for each byte of each lane.

use super::{
    Ctx, Flow, Handler, MicroOp,
    checked::ask,
    lane::{lanes, mask_of},
    unset,
};
use crate::{error::Error, lower::Lowerer};
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

/// The next `c` ops matter only where that doubt is.
struct Skip<D>(PhantomData<D>);
impl<D: Doubt> Flow for Skip<D> {
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        let skip = if D::is_there(ctx) { 0 } else { op.c as usize };
        std::ptr::from_ref(op).wrapping_add(1 + skip)
    }
}

/// Skips the next `count` ops where a doubt is not.
pub(super) fn emit_skip_without<D: Doubt>(l: &mut Lowerer, count: usize) {
    l.emit(MicroOp {
        c: count as u32,
        ..l.flow::<Skip<D>>()
    });
}

pub(crate) fn emit_skip(l: &mut Lowerer, count: usize) {
    emit_skip_without::<Tainted>(l, count);
}

/// Shadow `dst` is `c` in every lane.
struct Fill;
impl Handler for Fill {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        if op.c != 0 {
            taint(ctx);
        }
        if ctx.warp.tainted {
            ctx.put_cells(op.dst, [op.c; 32]);
        }
    }
}

pub(crate) fn emit_fill(l: &mut Lowerer, slot: u32, value: u32) {
    let op = fill(l, slot, value);
    l.put_off(op);
}

/// At the start of a kernel, all of these registers and predicates are undefined.
pub(crate) fn emit_unwritten(l: &mut Lowerer, slots: &[u32], preds: &[u32]) {
    emit_once(l, slots.len() + preds.len());
    for slot in slots {
        let op = fill(l, *slot, 0xFF);
        l.emit(op);
    }
    for slot in preds {
        unset::emit_unwritten(l, *slot);
    }
}

fn fill(l: &Lowerer, slot: u32, value: u32) -> MicroOp {
    MicroOp {
        dst: slot,
        c: value,
        ..l.cold::<Fill>()
    }
}

/// The registers of the `imm` shadows at `aux` are used.
struct Used;
impl Handler for Used {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        if !ctx.warp.tainted {
            return;
        }
        let slots = ctx.extra(op.aux, op.imm as usize);
        let undefined = |slot: u32| {
            let shadow = ctx.cells::<u32>(slot);
            shadow.iter().fold(0, |all, bits| all | bits) != 0
        };
        if slots.iter().any(|slot| undefined(*slot)) {
            report_used(ctx, op);
        }
    }
}

#[cold]
#[inline(never)]
fn report_used(ctx: &mut Ctx, op: &MicroOp) {
    let slots = ctx.extra(op.aux, op.imm as usize).to_vec();
    for slot in slots {
        let shadow = *ctx.cells::<u32>(slot);
        let mask = ctx.mask;
        let bad = mask & mask_of(|i| shadow[i] != 0);
        if bad != 0 {
            ask(ctx, op, mask, |checker, at, _| checker.used(at, slot, bad));
            // Once for each value.
            ctx.put_cells(slot, [0u32; 32]);
        }
    }
}

pub(crate) fn emit_used(l: &mut Lowerer, slots: &[u32]) {
    let aux = l.extra(slots);
    l.put_off(MicroOp {
        aux,
        imm: slots.len() as u64,
        ..l.cold::<Used>()
    });
}

/// Shadow `dst` is what the `imm` pieces at `aux` bring: a shadow, and whom its bytes reach.
struct Move;
impl Handler for Move {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        if !ctx.warp.tainted {
            return;
        }
        let mut out = [0; 32];
        for piece in 0..op.imm as u32 {
            let &[slot, low, high] = ctx.extra(op.aux + 3 * piece, 3) else {
                return;
            };
            let from = *ctx.cells::<u32>(slot);
            if is_defined(&from) {
                continue;
            }
            let part = spread(&from, Reach::from(low) | Reach::from(high) << 32);
            follow(ctx, slot, op.dst, &part);
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
fn follow(ctx: &mut Ctx, from: u32, to: u32, part: &[u32; 32]) {
    let mask = ctx.mask;
    let counts = (0..32).any(|i| mask >> i & 1 != 0 && part[i] != 0);
    if counts && let Some(checker) = &mut ctx.checker {
        checker.copied(ctx.warp.index, from, to);
    }
}

pub(crate) fn emit_move(l: &mut Lowerer, slot: u32, pieces: &[(u32, Reach)]) {
    let words: Vec<u32> = pieces
        .iter()
        .flat_map(|(slot, reach)| [*slot, *reach as u32, (*reach >> 32) as u32])
        .collect();
    let aux = l.extra(&words);
    l.put_off(MicroOp {
        dst: slot,
        aux,
        imm: pieces.len() as u64,
        ..l.cold::<Move>()
    });
}

/// Shadow `dst` is that at `a` in the lanes of predicate `c ^ aux`, else that at `b`; of either one more than the
/// slot, and 0 where all is defined.
struct Select;
impl Handler for Select {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        if !ctx.warp.tainted {
            return;
        }
        let first = ctx.pred(op.c) ^ op.aux;
        let mut out = [0; 32];
        for (at, chosen) in [(op.a, first), (op.b, !first)] {
            let Some(slot) = at.checked_sub(1) else {
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
    slot: u32,
    [a, b]: [Option<u32>; 2],
    pred: &Operand,
) -> Result<(), Error> {
    l.flush();
    let (c, aux) = l.pred(pred)?;
    let one_more = |slot: Option<u32>| slot.map_or(0, |slot| slot + 1);
    l.emit(MicroOp {
        dst: slot,
        a: one_more(a),
        b: one_more(b),
        c,
        aux,
        ..l.cold::<Select>()
    });
    Ok(())
}

/// Shadow `dst` is shadow `a` as a shuffle of mode `aux` by the lanes of `b` and `c` moves it.
struct Shuffle;
impl Handler for Shuffle {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        if !ctx.warp.tainted {
            return;
        }
        let (b, c) = (ctx.cells::<u32>(op.b), ctx.cells::<u32>(op.c));
        let (from, mask) = (ctx.cells::<u32>(op.a), ctx.mask);
        let out = lanes(|i| {
            let (other, fine) = super::warp::source(op.aux, i as u32, b[i], c[i]);
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
pub(crate) fn emit_shuffle(
    l: &mut Lowerer,
    inst: &Inst,
    slot: u32,
    value: u32,
) -> Result<(), Error> {
    l.flush();
    let b = l.src32(super::operand(l, inst, 2)?)?;
    let c = l.src32(super::operand(l, inst, 3)?)?;
    l.emit(MicroOp {
        dst: slot,
        a: value,
        b,
        c,
        aux: super::warp::mode_of(inst),
        ..l.cold::<Shuffle>()
    });
    Ok(())
}

/// The next `c` ops are for the first time that a warp comes here.
struct Once;
impl Flow for Once {
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        let before = std::mem::replace(&mut ctx.warp.entered, true);
        let skip = if before { op.c as usize } else { 0 };
        std::ptr::from_ref(op).wrapping_add(1 + skip)
    }
}

pub(crate) fn emit_once(l: &mut Lowerer, count: usize) {
    l.emit(MicroOp {
        c: count as u32,
        ..l.flow::<Once>()
    });
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
