//! Generic addresses: `cvta`, and `isspacep` for what is somebody's own.
//!
//! Checked programs ask the launch where the own memory of their CTA and thread starts, so that a generic address of
//! another's is none of theirs ([`crate::memory::Own`]).

use super::{
    Ctx, Handler, MicroOp,
    lane::{lanes, mask_of},
    mov::Copy,
    operand,
    shape::{self, Bin},
};
use crate::{
    error::Error,
    lower::{Lowerer, roles},
    memory::{Foreign, LOCAL_BASE, PARAM_BASE, SHARED_BASE, WINDOW},
};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    qual::Qual,
    types::Space,
};

struct Offset;
impl Bin for Offset {
    type A = u64;
    type B = u64;
    type D = u64;
    #[inline(always)]
    fn f(a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }
}

/// State spaces as `aux` of an op holds them.
mod space {
    pub(super) const SHARED: u32 = 0;
    pub(super) const LOCAL: u32 = 1;
    pub(super) const PARAM: u32 = 2;
}

/// Lowers `cvta`.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let (base, own) = match roles::space(inst) {
        Space::Global | Space::Const => (0, None),
        Space::Param => (PARAM_BASE, None),
        Space::Shared => (SHARED_BASE, Some(space::SHARED)),
        Space::Local => (LOCAL_BASE, Some(space::LOCAL)),
        Space::Generic => return Err(l.unsupported(inst)),
    };
    let to = inst.quals.has(Qual::To);
    let dst = l.dst(operand(l, inst, 0)?)?;
    let a = l.src(operand(l, inst, 1)?, 64)?;
    match own.filter(|_| l.is_checked()) {
        Some(space) if a.uniform && space == space::SHARED => {
            let scalar = l.scalar_for(dst);
            l.emit(MicroOp {
                dst: scalar,
                a: a.slot,
                b: u32::from(to),
                ..l.cold::<ConvertScalar>()
            });
            l.spread::<u64>(dst, scalar);
        }
        Some(space) => {
            let a = l.splat::<u64>(a);
            l.emit(MicroOp {
                dst: dst.slot,
                a: a.slot,
                b: u32::from(to),
                aux: space,
                ..l.cold::<Convert>()
            });
        }
        None if base == 0 => shape::emit_un::<Copy<u64>>(l, dst, a),
        None => {
            let delta = if to { base.wrapping_neg() } else { base };
            let b = l.constant(delta);
            shape::emit_bin::<Offset>(l, dst, a, b);
        }
    }
    Ok(())
}

/// An address that becomes generic or, if `to`, one of a memory that starts at `base`; what is not in it stays.
#[inline(always)]
fn converted(address: u64, base: u64, to: bool) -> u64 {
    let inside = address.wrapping_sub(base);
    match to {
        true if inside < WINDOW => inside,
        true => address,
        false => address.wrapping_add(base),
    }
}

/// Lanes `a` as addresses of space `aux` made generic, or the reverse if `b` is 1.
struct Convert;
impl Handler for Convert {
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let own = ctx.view.own;
        let first = ctx.warp.index * 32;
        let at = ctx.cells::<u64>(op.a);
        let out = lanes(|i| {
            let base = if op.aux == space::LOCAL {
                own.local(first + i as u32)
            } else {
                own.shared
            };
            converted(at[i], base, op.b == 1)
        });
        ctx.put_cells(op.dst, out);
    }
}

/// The same of a scalar address of shared memory.
struct ConvertScalar;
impl Handler for ConvertScalar {
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let address = converted(ctx.scalar(op.a), ctx.view.own.shared, op.b == 1);
        ctx.set_scalar(op.dst, address);
    }
}

/// Whether lanes `a` are generic addresses of space `aux`, whoever's.
struct IsIn;
impl Handler for IsIn {
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let at = ctx.cells::<u64>(op.a);
        let start = [SHARED_BASE, LOCAL_BASE, PARAM_BASE][op.aux as usize % 3];
        let foreign = match op.aux {
            space::SHARED => Some(Foreign::Shared),
            space::LOCAL => Some(Foreign::Local),
            _ => None,
        };
        let bits = mask_of(|i| {
            let tagged = foreign.is_some() && Foreign::of(at[i]) == foreign;
            at[i].wrapping_sub(start) < WINDOW || tagged
        });
        ctx.put_mask(op.dst, bits);
    }
}

/// Emits whether an operand is a generic address of shared or local memory, or of a parameter.
pub(super) fn emit_is_in(
    l: &mut Lowerer,
    to: &Operand,
    address: &Operand,
    space: Space,
) -> Result<(), Error> {
    let aux = match space {
        Space::Shared => space::SHARED,
        Space::Local => space::LOCAL,
        Space::Param => space::PARAM,
        Space::Global | Space::Const | Space::Generic => {
            return Err(l.refuse("isspacep of this space".to_owned()));
        }
    };
    let a = l.src64(address)?;
    let dst = l.dst(to)?.slot;
    l.emit(MicroOp {
        dst,
        a,
        aux,
        ..l.cold::<IsIn>()
    });
    Ok(())
}
