//! `ldmatrix`, `stmatrix` and `movmatrix`: 8x8 matrices of 16-bit elements (PTX ISA 9.7.14.5.15 to 17).
//!
//! A register across the warp is such a matrix, row by row: so a row in memory is copied as it is, and `.trans`
//! is a transposition of 128 bytes. Lane `8 * j + r` gives the address of row `r` of matrix `j`.

#[cfg_attr(target_arch = "x86_64", path = "transpose_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "transpose_other.rs")]
mod transpose;

use super::{
    Ctx, Handler, Micro, MicroOp, Slot, SpanId, args,
    lane::Cell,
    ldst::{self, items},
    operand,
    shape::One,
};
use crate::{build::Lowerer, error::Error, memory::Window};
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

args! {
    struct Rows {
        /// The registers, one for each matrix.
        data: [Slot; 4],
        at: Slot,
        generic: bool,
        offset: u64,
    }
}

/// Where the shared window begins in the addresses of the instruction.
#[inline(always)]
fn window(ctx: &Ctx, op: &Rows) -> Window {
    if op.generic {
        ctx.shared.based(ctx.view.own.shared)
    } else {
        ctx.shared
    }
}

/// The addresses of the rows of `N` matrices.
#[inline(always)]
fn addresses<C: Cell, const N: usize>(ctx: &Ctx, op: &Rows) -> [[u64; 8]; N] {
    let at = ctx.cells::<C>(op.at);
    let mut all = [[0; 8]; N];
    for (all, at) in all.iter_mut().zip(at.as_chunks::<8>().0) {
        for (all, at) in all.iter_mut().zip(at) {
            *all = C::narrow(at.widen().wrapping_add(op.offset)).widen();
        }
    }
    all
}

/// `N` matrices from memory.
struct Load<C, O, const N: usize>(PhantomData<(C, O)>);

impl<C: Cell, O: Order, const N: usize> Handler for Load<C, O, N> {
    type Args = Rows;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Rows>) {
        let window = window(ctx, op);
        let at = addresses::<C, N>(ctx, op);
        let mut fine = true;
        for (at, slot) in at.iter().zip(op.data) {
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
            refuse(ctx, op.span(), window, at.as_flattened());
        }
    }
}

/// Names the first row that cannot be accessed.
#[cold]
#[inline(never)]
fn refuse(ctx: &mut Ctx, span: SpanId, window: Window, at: &[u64]) {
    for (lane, at) in at.iter().enumerate() {
        if let Err(bad) = window.load::<[u64; 2]>(*at) {
            ctx.refuse(span, bad, lane as u32, *at, 16);
            return;
        }
    }
}

/// `N` matrices to memory.
struct Store<C, O, const N: usize>(PhantomData<(C, O)>);

impl<C: Cell, O: Order, const N: usize> Handler for Store<C, O, N> {
    type Args = Rows;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Rows>) {
        let window = window(ctx, op);
        let at = addresses::<C, N>(ctx, op);
        let mut fine = true;
        for (at, slot) in at.iter().zip(op.data) {
            let mut rows = *ctx.cells(slot);
            O::arrange(&mut rows);
            fine &= window.write_rows(at, &rows);
        }
        if !fine {
            refuse(ctx, op.span(), window, at.as_flattened());
        }
    }
}

/// `dst` is the transposition of `a`.
struct Transpose;

impl Handler for Transpose {
    type Args = One;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<One>) {
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
        l.emit(l.op::<Transpose>(One { dst, a }));
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
    let mut data = [Slot::SCRATCH; 4];
    for (slot, reg) in data.iter_mut().zip(regs) {
        *slot = register(l, inst, reg)?;
    }
    let trans = inst.quals.has(Qual::Trans);
    let args = Rows {
        data,
        at: a,
        generic: space == Space::Generic,
        offset: at.offset,
    };
    let op = match (is_load, at.wide, trans) {
        (true, false, false) => load::<u32, Plain>(l, count, args),
        (true, false, true) => load::<u32, Trans>(l, count, args),
        (true, true, false) => load::<u64, Plain>(l, count, args),
        (true, true, true) => load::<u64, Trans>(l, count, args),
        (false, false, false) => store::<u32, Plain>(l, count, args),
        (false, false, true) => store::<u32, Trans>(l, count, args),
        (false, true, false) => store::<u64, Plain>(l, count, args),
        (false, true, true) => store::<u64, Trans>(l, count, args),
    };
    l.emit(op);
    Ok(())
}

fn register(l: &mut Lowerer, inst: &Inst, reg: &Operand) -> Result<Slot, Error> {
    if inst.op == Op::Ldmatrix {
        Ok(l.dst(reg)?.slot)
    } else {
        l.src32(reg)
    }
}

fn load<C: Cell, O: Order>(l: &Lowerer, count: usize, args: Rows) -> MicroOp {
    match count {
        1 => l.op::<Load<C, O, 1>>(args),
        2 => l.op::<Load<C, O, 2>>(args),
        _ => l.op::<Load<C, O, 4>>(args),
    }
}

fn store<C: Cell, O: Order>(l: &Lowerer, count: usize, args: Rows) -> MicroOp {
    match count {
        1 => l.op::<Store<C, O, 1>>(args),
        2 => l.op::<Store<C, O, 2>>(args),
        _ => l.op::<Store<C, O, 4>>(args),
    }
}
