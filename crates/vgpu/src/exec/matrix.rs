//! `ldmatrix`, `stmatrix` and `movmatrix`: 8x8 matrices of 16-bit elements (PTX ISA 9.7.14.5.15 to 17).
//!
//! A register across the warp is such a matrix, row by row: so a row in memory is copied as it is, and `.trans`
//! is a transposition of 128 bytes. Lane `8 * j + r` gives the address of row `r` of matrix `j`.

use super::{
    Ctx, Handler, MicroOp,
    lane::{Cell, lanes},
    ldst::{self, items},
    operand,
};
use crate::{
    error::Error,
    lower::Lowerer,
    memory::{SHARED_BASE, Window},
};
use std::marker::PhantomData;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    types::Space,
};

/// How a matrix in memory becomes a register.
trait Order: 'static {
    /// From rows in memory to cells, or back: both orders are their own inverse.
    fn arrange(rows: [[u64; 2]; 8]) -> [[u64; 2]; 8];
}

/// As it is.
struct Plain;
/// Rows become columns.
struct Trans;

impl Order for Plain {
    #[inline(always)]
    fn arrange(rows: [[u64; 2]; 8]) -> [[u64; 2]; 8] {
        rows
    }
}

impl Order for Trans {
    #[inline(always)]
    fn arrange(rows: [[u64; 2]; 8]) -> [[u64; 2]; 8] {
        transpose(rows)
    }
}

/// Swaps blocks across the diagonal: of 4x4, then 2x2, then single elements.
#[inline(always)]
fn transpose(mut rows: [[u64; 2]; 8]) -> [[u64; 2]; 8] {
    for i in 0..4 {
        let high = rows[i][1];
        rows[i][1] = rows[i + 4][0];
        rows[i + 4][0] = high;
    }
    for word in 0..2 {
        for i in [0, 1, 4, 5] {
            let (a, b) = (rows[i][word], rows[i + 2][word]);
            rows[i][word] = a & 0xFFFF_FFFF | b << 32;
            rows[i + 2][word] = a >> 32 | b & !0xFFFF_FFFF;
        }
        for i in [0, 2, 4, 6] {
            const LOW: u64 = 0x0000_FFFF_0000_FFFF;
            let (a, b) = (rows[i][word], rows[i + 1][word]);
            rows[i][word] = a & LOW | (b & LOW) << 16;
            rows[i + 1][word] = a >> 16 & LOW | b & !LOW;
        }
    }
    rows
}

#[inline(always)]
fn to_cells(rows: [[u64; 2]; 8]) -> [u32; 32] {
    lanes(|i| (rows[i / 4][i / 2 % 2] >> (32 * (i % 2))) as u32)
}

#[inline(always)]
fn from_cells(cells: &[u32; 32]) -> [[u64; 2]; 8] {
    let mut rows = [[0; 2]; 8];
    for (i, cell) in cells.iter().enumerate() {
        rows[i / 4][i / 2 % 2] |= u64::from(*cell) << (32 * (i % 2));
    }
    rows
}

/// Where the shared window begins in the addresses of the instruction.
#[inline(always)]
fn window(ctx: &Ctx, op: &MicroOp) -> Window {
    if op.c == 1 {
        ctx.shared.based(SHARED_BASE)
    } else {
        ctx.shared
    }
}

/// `N` matrices from the addresses in `a` plus `imm` to `dst` and `more`; generic addresses if `c` is 1.
struct Load<C, O, const N: usize>(PhantomData<(C, O)>);

impl<C: Cell, O: Order, const N: usize> Handler for Load<C, O, N> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let window = window(ctx, op);
        let slots = [op.dst, op.more[0], op.more[1], op.more[2]];
        let mut all = [[[0; 2]; 8]; N];
        let mut fine = true;
        {
            let at = ctx.cells::<C>(op.a);
            for (j, rows) in all.iter_mut().enumerate() {
                for (r, row) in rows.iter_mut().enumerate() {
                    let address = C::narrow(at[8 * j + r].widen().wrapping_add(op.imm)).widen();
                    match window.load(address) {
                        Ok(data) => *row = data,
                        Err(_) => fine = false,
                    }
                }
            }
        }
        if !fine {
            refuse::<C>(ctx, op, window, N);
        }
        for j in 0..N {
            ctx.put_cells(slots[j], to_cells(O::arrange(all[j])));
        }
    }
}

/// Names the first row that cannot be accessed.
#[cold]
#[inline(never)]
fn refuse<C: Cell>(ctx: &mut Ctx, op: &MicroOp, window: Window, count: usize) {
    let at = *ctx.cells::<C>(op.a);
    for (lane, at) in at.iter().enumerate().take(8 * count) {
        let address = C::narrow(at.widen().wrapping_add(op.imm)).widen();
        if let Err(bad) = window.load::<[u64; 2]>(address) {
            ctx.refuse(op, bad, lane as u32, address, 16);
            return;
        }
    }
}

/// `N` matrices from `dst` and `more` to the addresses in `a` plus `imm`.
struct Store<C, O, const N: usize>(PhantomData<(C, O)>);

impl<C: Cell, O: Order, const N: usize> Handler for Store<C, O, N> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let window = window(ctx, op);
        let slots = [op.dst, op.more[0], op.more[1], op.more[2]];
        let mut fine = true;
        {
            let at = ctx.cells::<C>(op.a);
            for j in 0..N {
                let rows = O::arrange(from_cells(ctx.cells(slots[j])));
                for (r, row) in rows.iter().enumerate() {
                    let address = C::narrow(at[8 * j + r].widen().wrapping_add(op.imm)).widen();
                    fine &= window.store(address, *row).is_ok();
                }
            }
        }
        if !fine {
            refuse::<C>(ctx, op, window, N);
        }
    }
}

/// `dst` is the transposition of `a`.
struct Transpose;

impl Handler for Transpose {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let out = to_cells(transpose(from_cells(ctx.cells(op.a))));
        ctx.put_cells(op.dst, out);
    }
}

/// Lowers the three.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    if inst.op == Op::Movmatrix {
        let a = l.src32(operand(l, inst, 1)?)?;
        let dst = l.dst(operand(l, inst, 0)?)?.slot;
        l.emit(MicroOp {
            dst,
            a,
            ..l.op::<Transpose>()
        });
        return Ok(());
    }
    let is_load = inst.op == Op::Ldmatrix;
    let place = operand(l, inst, usize::from(is_load))?;
    let regs = items(operand(l, inst, usize::from(!is_load))?);
    let space = ldst::space_of(l, inst, place);
    let count = if inst.quals.has(Qual::X4) {
        4
    } else if inst.quals.has(Qual::X2) {
        2
    } else {
        1
    };
    let known = matches!(space, Space::Shared | Space::Generic) && inst.quals.has(Qual::M8n8);
    if !known || regs.len() != count {
        return Err(l.unsupported(inst));
    }
    let at = ldst::address(l, place)?;
    let a = if at.wide {
        l.splat::<u64>(at.src).slot
    } else {
        l.splat::<u32>(at.src).slot
    };
    let mut slots = [0; 4];
    for (slot, reg) in slots.iter_mut().zip(regs) {
        *slot = register(l, inst, reg)?;
    }
    let trans = inst.quals.has(Qual::Trans);
    let op = match (is_load, at.wide, trans) {
        (true, false, false) => load::<u32, Plain>(l, count),
        (true, false, true) => load::<u32, Trans>(l, count),
        (true, true, false) => load::<u64, Plain>(l, count),
        (true, true, true) => load::<u64, Trans>(l, count),
        (false, false, false) => store::<u32, Plain>(l, count),
        (false, false, true) => store::<u32, Trans>(l, count),
        (false, true, false) => store::<u64, Plain>(l, count),
        (false, true, true) => store::<u64, Trans>(l, count),
    };
    l.emit(MicroOp {
        dst: slots[0],
        more: [slots[1], slots[2], slots[3], 0],
        a,
        c: u32::from(space == Space::Generic),
        imm: at.offset,
        ..op
    });
    Ok(())
}

fn register(l: &mut Lowerer, inst: &Inst, reg: &Operand) -> Result<u32, Error> {
    if inst.op == Op::Ldmatrix {
        Ok(l.dst(reg)?.slot)
    } else {
        l.src32(reg)
    }
}

fn load<C: Cell, O: Order>(l: &Lowerer, count: usize) -> MicroOp {
    match count {
        1 => l.op::<Load<C, O, 1>>(),
        2 => l.op::<Load<C, O, 2>>(),
        _ => l.op::<Load<C, O, 4>>(),
    }
}

fn store<C: Cell, O: Order>(l: &Lowerer, count: usize) -> MicroOp {
    match count {
        1 => l.op::<Store<C, O, 1>>(),
        2 => l.op::<Store<C, O, 2>>(),
        _ => l.op::<Store<C, O, 4>>(),
    }
}
