//! `ldmatrix`, `stmatrix` and `movmatrix`: 8x8 matrices of 16-bit elements (PTX ISA 9.7.14.5.15 to 17).
//!
//! A register across the warp is such a matrix, row by row: so a row in memory is copied as it is, and `.trans`
//! is a transposition of 128 bytes. Lane `8 * j + r` gives the address of row `r` of matrix `j`.

#[cfg_attr(target_arch = "x86_64", path = "matrix/transpose_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "matrix/transpose_other.rs")]
mod transpose;

use super::{
    Ctx, Handler, MicroOp,
    lane::Cell,
    ldst::{self, items},
    operand,
};
use crate::{error::Error, lower::Lowerer, memory::Window};
use std::marker::PhantomData;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    types::Space,
};

/// How a matrix in memory becomes a register, or back: both ways are their own inverse.
trait Order: 'static {
    /// Arranges 8 rows of 16 bytes.
    fn arrange(rows: &mut [u32; 32]);
}

/// As it is.
struct Plain;
/// Rows become columns.
struct Trans;

impl Order for Plain {
    #[inline(always)]
    fn arrange(_: &mut [u32; 32]) {}
}

impl Order for Trans {
    #[inline(always)]
    fn arrange(rows: &mut [u32; 32]) {
        transpose::transpose(rows);
    }
}

/// Where the shared window begins in the addresses of the instruction.
#[inline(always)]
fn window(ctx: &Ctx, op: &MicroOp) -> Window {
    if op.c == 1 {
        ctx.shared.based(ctx.view.own.shared)
    } else {
        ctx.shared
    }
}

/// The addresses of the rows of `N` matrices.
#[inline(always)]
fn addresses<C: Cell, const N: usize>(ctx: &Ctx, op: &MicroOp) -> [[u64; 8]; N] {
    let at = ctx.cells::<C>(op.a);
    let mut all = [[0; 8]; N];
    for (all, at) in all.iter_mut().zip(at.as_chunks::<8>().0) {
        for (all, at) in all.iter_mut().zip(at) {
            *all = C::narrow(at.widen().wrapping_add(op.imm)).widen();
        }
    }
    all
}

/// `N` matrices from the addresses in `a` plus `imm` to `dst` and `more`; generic addresses if `c` is 1.
struct Load<C, O, const N: usize>(PhantomData<(C, O)>);

impl<C: Cell, O: Order, const N: usize> Handler for Load<C, O, N> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let window = window(ctx, op);
        let slots = [op.dst, op.more[0], op.more[1], op.more[2]];
        let at = addresses::<C, N>(ctx, op);
        let mut fine = true;
        for (at, slot) in at.iter().zip(slots) {
            // Rows of 16 bytes straight to the register: it is read in such rows too.
            if ctx.full {
                let to = ctx.cells_mut(slot);
                fine &= window.read_rows(at, to);
                O::arrange(to);
            } else {
                let mut rows = [0; 32];
                fine &= window.read_rows(at, &mut rows);
                O::arrange(&mut rows);
                ctx.put_cells(slot, rows);
            }
        }
        if !fine {
            refuse(ctx, op, window, at.as_flattened());
        }
    }
}

/// Names the first row that cannot be accessed.
#[cold]
#[inline(never)]
fn refuse(ctx: &mut Ctx, op: &MicroOp, window: Window, at: &[u64]) {
    for (lane, at) in at.iter().enumerate() {
        if let Err(bad) = window.load::<[u64; 2]>(*at) {
            ctx.refuse(op, bad, lane as u32, *at, 16);
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
        let at = addresses::<C, N>(ctx, op);
        let mut fine = true;
        for (at, slot) in at.iter().zip(slots) {
            let mut rows = *ctx.cells(slot);
            O::arrange(&mut rows);
            fine &= window.write_rows(at, &rows);
        }
        if !fine {
            refuse(ctx, op, window, at.as_flattened());
        }
    }
}

/// `dst` is the transposition of `a`.
struct Transpose;

impl Handler for Transpose {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let mut rows = *ctx.cells(op.a);
        transpose::transpose(&mut rows);
        ctx.put_cells(op.dst, rows);
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
