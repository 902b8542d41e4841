//! Element-wise operations of one to three operands, over vector and scalar operand shapes.

use super::{
    Ctx, Handler, MicroOp,
    lane::{Cell, Lane, lanes},
    operand,
};
use crate::{
    error::Error,
    lower::{Dst, Lowerer, Src},
};
use std::marker::PhantomData;
use warpsmith_ptx::ir::Inst;

/// `d = f(a)`.
pub(crate) trait Un: 'static {
    type A: Lane;
    type D: Lane;
    fn f(a: Self::A) -> Self::D;
}

/// `d = f(a, b)`.
pub(crate) trait Bin: 'static {
    type A: Lane;
    type B: Lane;
    type D: Lane;
    /// Whether `f(a, b)` has the bits of `f(b, a)`, with `A` the same type as `B`.
    const COMMUTES: bool = false;
    fn f(a: Self::A, b: Self::B) -> Self::D;
}

/// `d = f(a, b, c)`.
pub(crate) trait Tern: 'static {
    type A: Lane;
    type B: Lane;
    type C: Lane;
    type D: Lane;
    fn f(a: Self::A, b: Self::B, c: Self::C) -> Self::D;
}

/// Where an operand's lanes come from.
pub(crate) trait Shape: 'static {
    /// Reads the operand once.
    type From<'a, T: Lane>: Lanes<T>;
    fn read<T: Lane>(ctx: &Ctx, slot: u32) -> Self::From<'_, T>;
}

/// An operand that can be read lane by lane.
pub(crate) trait Lanes<T>: Copy {
    fn lane(self, i: usize) -> T;
}

/// 32 lanes.
pub(crate) struct V;
/// One scalar for the warp.
pub(crate) struct U;

#[derive(Clone, Copy)]
pub(crate) struct Cells<'a, C>(&'a [C; 32]);
#[derive(Clone, Copy)]
pub(crate) struct Splat<T>(T);

impl<T: Lane> Lanes<T> for Cells<'_, T::Cell> {
    #[inline(always)]
    fn lane(self, i: usize) -> T {
        T::from_cell(self.0[i])
    }
}

impl<T: Lane> Lanes<T> for Splat<T> {
    #[inline(always)]
    fn lane(self, _: usize) -> T {
        self.0
    }
}

impl Shape for V {
    type From<'a, T: Lane> = Cells<'a, T::Cell>;
    #[inline(always)]
    fn read<T: Lane>(ctx: &Ctx, slot: u32) -> Cells<'_, T::Cell> {
        Cells(ctx.cells(slot))
    }
}

impl Shape for U {
    type From<'a, T: Lane> = Splat<T>;
    #[inline(always)]
    fn read<T: Lane>(ctx: &Ctx, slot: u32) -> Splat<T> {
        Splat(scalar(ctx, slot))
    }
}

#[inline(always)]
pub(crate) fn scalar<T: Lane>(ctx: &Ctx, slot: u32) -> T {
    T::from_cell(T::Cell::narrow(ctx.scalar(slot)))
}

pub(crate) struct Map1<O>(PhantomData<O>);
struct Map2<O, A, B>(PhantomData<(O, A, B)>);
struct Map3<O, A, B, C>(PhantomData<(O, A, B, C)>);
struct Scalar1<O>(PhantomData<O>);
struct Scalar2<O>(PhantomData<O>);
struct Scalar3<O>(PhantomData<O>);

impl<O: Un> Handler for Map1<O> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let a = V::read::<O::A>(ctx, op.a);
        let out = lanes(|i| O::f(a.lane(i)).to_cell());
        ctx.put_cells(op.dst, out);
    }
}

impl<O: Bin, A: Shape, B: Shape> Handler for Map2<O, A, B> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let a = A::read::<O::A>(ctx, op.a);
        let b = B::read::<O::B>(ctx, op.b);
        let out = lanes(|i| O::f(a.lane(i), b.lane(i)).to_cell());
        ctx.put_cells(op.dst, out);
    }
}

impl<O: Tern, A: Shape, B: Shape, C: Shape> Handler for Map3<O, A, B, C> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let a = A::read::<O::A>(ctx, op.a);
        let b = B::read::<O::B>(ctx, op.b);
        let c = C::read::<O::C>(ctx, op.c);
        let out = lanes(|i| O::f(a.lane(i), b.lane(i), c.lane(i)).to_cell());
        ctx.put_cells(op.dst, out);
    }
}

impl<O: Un> Handler for Scalar1<O> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let d = O::f(scalar(ctx, op.a));
        ctx.set_scalar(op.dst, d.to_cell().widen());
    }
}

impl<O: Bin> Handler for Scalar2<O> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let d = O::f(scalar(ctx, op.a), scalar(ctx, op.b));
        ctx.set_scalar(op.dst, d.to_cell().widen());
    }
}

impl<O: Tern> Handler for Scalar3<O> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let d = O::f(scalar(ctx, op.a), scalar(ctx, op.b), scalar(ctx, op.c));
        ctx.set_scalar(op.dst, d.to_cell().widen());
    }
}

/// Emits `dst = O(a)`.
pub(crate) fn emit_un<O: Un>(l: &mut Lowerer, dst: Dst, a: Src) {
    if a.uniform {
        let to = l.scalar_for(dst);
        l.emit(MicroOp {
            dst: to,
            a: a.slot,
            ..l.cold::<Scalar1<O>>()
        });
        l.spread::<<O::D as Lane>::Cell>(dst, to);
    } else {
        l.emit(MicroOp {
            dst: dst.slot,
            a: a.slot,
            ..l.op::<Map1<O>>()
        });
    }
}

/// Emits `dst = O(a, b)`.
pub(crate) fn emit_bin<O: Bin>(l: &mut Lowerer, dst: Dst, a: Src, b: Src) {
    let (a, b) = if O::COMMUTES && a.uniform {
        (b, a)
    } else {
        (a, b)
    };
    let op = match (a.uniform, b.uniform) {
        (true, true) => {
            let to = l.scalar_for(dst);
            l.emit(MicroOp {
                dst: to,
                a: a.slot,
                b: b.slot,
                ..l.cold::<Scalar2<O>>()
            });
            l.spread::<<O::D as Lane>::Cell>(dst, to);
            return;
        }
        (false, false) => l.op::<Map2<O, V, V>>(),
        (false, true) => l.op::<Map2<O, V, U>>(),
        (true, false) => l.op::<Map2<O, U, V>>(),
    };
    l.emit(MicroOp {
        dst: dst.slot,
        a: a.slot,
        b: b.slot,
        ..op
    });
}

/// Emits `dst = O(a, b, c)`; shapes without an instance of their own are splatted.
pub(crate) fn emit_tern<O: Tern>(l: &mut Lowerer, dst: Dst, mut a: Src, mut b: Src, c: Src) {
    let op = match (a.uniform, b.uniform, c.uniform) {
        (true, true, true) => {
            let to = l.scalar_for(dst);
            let op = l.cold::<Scalar3<O>>();
            l.emit(MicroOp {
                dst: to,
                a: a.slot,
                b: b.slot,
                c: c.slot,
                ..op
            });
            l.spread::<<O::D as Lane>::Cell>(dst, to);
            return;
        }
        (false, false, false) => l.op::<Map3<O, V, V, V>>(),
        (false, false, true) => l.op::<Map3<O, V, V, U>>(),
        (false, true, false) => l.op::<Map3<O, V, U, V>>(),
        (false, true, true) => l.op::<Map3<O, V, U, U>>(),
        (true, false, false) => {
            a = l.splat::<<O::A as Lane>::Cell>(a);
            l.op::<Map3<O, V, V, V>>()
        }
        (true, false, true) => {
            a = l.splat::<<O::A as Lane>::Cell>(a);
            l.op::<Map3<O, V, V, U>>()
        }
        (true, true, false) => {
            a = l.splat::<<O::A as Lane>::Cell>(a);
            b = l.splat::<<O::B as Lane>::Cell>(b);
            l.op::<Map3<O, V, V, V>>()
        }
    };
    l.emit(MicroOp {
        dst: dst.slot,
        a: a.slot,
        b: b.slot,
        c: c.slot,
        ..op
    });
}

/// [`emit_un`] for what is seldom run.
pub(crate) fn emit_un_cold<O: Un>(l: &mut Lowerer, dst: Dst, a: Src) {
    if a.uniform {
        let to = l.scalar_for(dst);
        l.emit(MicroOp {
            dst: to,
            a: a.slot,
            ..l.cold::<Scalar1<O>>()
        });
        l.spread::<<O::D as Lane>::Cell>(dst, to);
    } else {
        l.emit(MicroOp {
            dst: dst.slot,
            a: a.slot,
            ..l.cold::<Map1<O>>()
        });
    }
}

/// [`bin`] for what is seldom run.
pub(crate) fn bin_cold<O: Bin>(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let a = l.src(operand(l, inst, 1)?, width::<O::A>())?;
    let b = l.src(operand(l, inst, 2)?, width::<O::B>())?;
    let dst = l.dst(operand(l, inst, 0)?)?;
    if a.uniform && b.uniform {
        let to = l.scalar_for(dst);
        l.emit(MicroOp {
            dst: to,
            a: a.slot,
            b: b.slot,
            ..l.cold::<Scalar2<O>>()
        });
        l.spread::<<O::D as Lane>::Cell>(dst, to);
        return Ok(());
    }
    let a = l.splat::<<O::A as Lane>::Cell>(a);
    let b = l.splat::<<O::B as Lane>::Cell>(b);
    l.emit(MicroOp {
        dst: dst.slot,
        a: a.slot,
        b: b.slot,
        ..l.cold::<Map2<O, V, V>>()
    });
    Ok(())
}

/// [`tern`] for what is seldom run.
pub(crate) fn tern_cold<O: Tern>(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let a = l.src(operand(l, inst, 1)?, width::<O::A>())?;
    let b = l.src(operand(l, inst, 2)?, width::<O::B>())?;
    let c = l.src(operand(l, inst, 3)?, width::<O::C>())?;
    let dst = l.dst(operand(l, inst, 0)?)?;
    emit_tern_cold::<O>(l, dst, a, b, c);
    Ok(())
}

/// [`emit_tern`] for what is seldom run.
pub(crate) fn emit_tern_cold<O: Tern>(l: &mut Lowerer, dst: Dst, a: Src, b: Src, c: Src) {
    if a.uniform && b.uniform && c.uniform {
        let to = l.scalar_for(dst);
        let op = l.cold::<Scalar3<O>>();
        l.emit(MicroOp {
            dst: to,
            a: a.slot,
            b: b.slot,
            c: c.slot,
            ..op
        });
        l.spread::<<O::D as Lane>::Cell>(dst, to);
        return;
    }
    let a = l.splat::<<O::A as Lane>::Cell>(a);
    let b = l.splat::<<O::B as Lane>::Cell>(b);
    let c = l.splat::<<O::C as Lane>::Cell>(c);
    let op = l.cold::<Map3<O, V, V, V>>();
    l.emit(MicroOp {
        dst: dst.slot,
        a: a.slot,
        b: b.slot,
        c: c.slot,
        ..op
    });
}

/// [`un`] for what is seldom run.
pub(crate) fn un_cold<O: Un>(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let a = l.src(operand(l, inst, 1)?, width::<O::A>())?;
    let dst = l.dst(operand(l, inst, 0)?)?;
    emit_un_cold::<O>(l, dst, a);
    Ok(())
}

/// Lowers an instruction `d, a`.
pub(crate) fn un<O: Un>(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let a = l.src(operand(l, inst, 1)?, width::<O::A>())?;
    let dst = l.dst(operand(l, inst, 0)?)?;
    emit_un::<O>(l, dst, a);
    Ok(())
}

/// Lowers an instruction `d, a, b`.
pub(crate) fn bin<O: Bin>(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let a = l.src(operand(l, inst, 1)?, width::<O::A>())?;
    let b = l.src(operand(l, inst, 2)?, width::<O::B>())?;
    let dst = l.dst(operand(l, inst, 0)?)?;
    emit_bin::<O>(l, dst, a, b);
    Ok(())
}

/// Lowers an instruction `d, a, b, c`.
pub(crate) fn tern<O: Tern>(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let a = l.src(operand(l, inst, 1)?, width::<O::A>())?;
    let b = l.src(operand(l, inst, 2)?, width::<O::B>())?;
    let c = l.src(operand(l, inst, 3)?, width::<O::C>())?;
    let dst = l.dst(operand(l, inst, 0)?)?;
    emit_tern::<O>(l, dst, a, b, c);
    Ok(())
}

/// The bits of a lane's type, which decide how an immediate is read.
const fn width<T: Lane>() -> u32 {
    8 * size_of::<T>() as u32
}
