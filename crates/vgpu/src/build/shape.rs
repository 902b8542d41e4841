//! Element-wise operations of one to three operands, over vector and scalar operand shapes.

use super::{Dst, Lowerer, Src};
use crate::{
    error::Error,
    op::{
        Ctx, Handler, Micro, Slot, args,
        lane::{Cell, Lane, lanes},
    },
};
use std::marker::PhantomData;
use warpsmith_ptx::ir::{Inst, Operand};

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
    fn read<T: Lane>(ctx: &Ctx, slot: Slot) -> Self::From<'_, T>;
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
    fn read<T: Lane>(ctx: &Ctx, slot: Slot) -> Cells<'_, T::Cell> {
        Cells(ctx.cells(slot))
    }
}

impl Shape for U {
    type From<'a, T: Lane> = Splat<T>;
    #[inline(always)]
    fn read<T: Lane>(ctx: &Ctx, slot: Slot) -> Splat<T> {
        Splat(scalar(ctx, slot))
    }
}

#[inline(always)]
pub(crate) fn scalar<T: Lane>(ctx: &Ctx, slot: Slot) -> T {
    T::from_cell(T::Cell::narrow(ctx.scalar(slot)))
}

args! {
    /// `dst = f(a)`.
    pub(crate) struct One {
        pub(crate) dst: Slot,
        pub(crate) a: Slot,
    }

    /// `dst = f(a, b)`.
    pub(crate) struct Two {
        pub(crate) dst: Slot,
        pub(crate) a: Slot,
        pub(crate) b: Slot,
    }

    /// `dst = f(a, b, c)`.
    pub(crate) struct Three {
        pub(crate) dst: Slot,
        pub(crate) a: Slot,
        pub(crate) b: Slot,
        pub(crate) c: Slot,
    }
}

pub(crate) struct Map1<O>(PhantomData<O>);
struct Map2<O, A, B>(PhantomData<(O, A, B)>);
struct Map3<O, A, B, C>(PhantomData<(O, A, B, C)>);
struct Scalar1<O>(PhantomData<O>);
struct Scalar2<O>(PhantomData<O>);
struct Scalar3<O>(PhantomData<O>);

impl<O: Un> Handler for Map1<O> {
    type Args = One;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<One>) {
        let a = V::read::<O::A>(ctx, op.a);
        let out = lanes(|i| O::f(a.lane(i)).to_cell());
        ctx.put_cells(op.dst, out);
    }
}

impl<O: Bin, A: Shape, B: Shape> Handler for Map2<O, A, B> {
    type Args = Two;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Two>) {
        let a = A::read::<O::A>(ctx, op.a);
        let b = B::read::<O::B>(ctx, op.b);
        let out = lanes(|i| O::f(a.lane(i), b.lane(i)).to_cell());
        ctx.put_cells(op.dst, out);
    }
}

impl<O: Tern, A: Shape, B: Shape, C: Shape> Handler for Map3<O, A, B, C> {
    type Args = Three;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Three>) {
        let a = A::read::<O::A>(ctx, op.a);
        let b = B::read::<O::B>(ctx, op.b);
        let c = C::read::<O::C>(ctx, op.c);
        let out = lanes(|i| O::f(a.lane(i), b.lane(i), c.lane(i)).to_cell());
        ctx.put_cells(op.dst, out);
    }
}

impl<O: Un> Handler for Scalar1<O> {
    type Args = One;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<One>) {
        let d = O::f(scalar(ctx, op.a));
        ctx.set_scalar(op.dst, d.to_cell().widen());
    }
}

impl<O: Bin> Handler for Scalar2<O> {
    type Args = Two;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Two>) {
        let d = O::f(scalar(ctx, op.a), scalar(ctx, op.b));
        ctx.set_scalar(op.dst, d.to_cell().widen());
    }
}

impl<O: Tern> Handler for Scalar3<O> {
    type Args = Three;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Three>) {
        let d = O::f(scalar(ctx, op.a), scalar(ctx, op.b), scalar(ctx, op.c));
        ctx.set_scalar(op.dst, d.to_cell().widen());
    }
}

/// Emits `dst = O(a)`.
pub(crate) fn emit_un<O: Un>(l: &mut Lowerer, dst: Dst, a: Src) {
    if a.uniform {
        return emit_scalar_un::<O>(l, dst, a);
    }
    let (dst, a) = (dst.slot, a.slot);
    l.emit(l.op::<Map1<O>>(One { dst, a }));
}

fn emit_scalar_un<O: Un>(l: &mut Lowerer, dst: Dst, a: Src) {
    let to = l.scalar_for(dst);
    l.emit(l.cold::<Scalar1<O>>(One { dst: to, a: a.slot }));
    l.spread::<<O::D as Lane>::Cell>(dst, to);
}

/// Emits `dst = O(a, b)`.
pub(crate) fn emit_bin<O: Bin>(l: &mut Lowerer, dst: Dst, a: Src, b: Src) {
    let (a, b) = if O::COMMUTES && a.uniform {
        (b, a)
    } else {
        (a, b)
    };
    let args = two(dst, a, b);
    let op = match (a.uniform, b.uniform) {
        (true, true) => return emit_scalar_bin::<O>(l, dst, a, b),
        (false, false) => l.op::<Map2<O, V, V>>(args),
        (false, true) => l.op::<Map2<O, V, U>>(args),
        (true, false) => l.op::<Map2<O, U, V>>(args),
    };
    l.emit(op);
}

fn two(dst: Dst, a: Src, b: Src) -> Two {
    Two {
        dst: dst.slot,
        a: a.slot,
        b: b.slot,
    }
}

fn emit_scalar_bin<O: Bin>(l: &mut Lowerer, dst: Dst, a: Src, b: Src) {
    let to = l.scalar_for(dst);
    let args = Two {
        dst: to,
        a: a.slot,
        b: b.slot,
    };
    l.emit(l.cold::<Scalar2<O>>(args));
    l.spread::<<O::D as Lane>::Cell>(dst, to);
}

/// Emits `dst = O(a, b, c)`; shapes without an instance of their own are splatted.
pub(crate) fn emit_tern<O: Tern>(l: &mut Lowerer, dst: Dst, mut a: Src, b: Src, c: Src) {
    if a.uniform && b.uniform && c.uniform {
        return emit_scalar_tern::<O>(l, dst, a, b, c);
    }
    if a.uniform {
        a = l.splat::<<O::A as Lane>::Cell>(a);
    }
    let args = three(dst, a, b, c);
    let op = match (b.uniform, c.uniform) {
        (false, false) => l.op::<Map3<O, V, V, V>>(args),
        (false, true) => l.op::<Map3<O, V, V, U>>(args),
        (true, false) => l.op::<Map3<O, V, U, V>>(args),
        (true, true) => l.op::<Map3<O, V, U, U>>(args),
    };
    l.emit(op);
}

fn three(dst: Dst, a: Src, b: Src, c: Src) -> Three {
    Three {
        dst: dst.slot,
        a: a.slot,
        b: b.slot,
        c: c.slot,
    }
}

fn emit_scalar_tern<O: Tern>(l: &mut Lowerer, dst: Dst, a: Src, b: Src, c: Src) {
    let to = l.scalar_for(dst);
    let args = Three {
        dst: to,
        a: a.slot,
        b: b.slot,
        c: c.slot,
    };
    l.emit(l.cold::<Scalar3<O>>(args));
    l.spread::<<O::D as Lane>::Cell>(dst, to);
}

/// [`emit_un`] for what is seldom run.
pub(crate) fn emit_un_cold<O: Un>(l: &mut Lowerer, dst: Dst, a: Src) {
    if a.uniform {
        return emit_scalar_un::<O>(l, dst, a);
    }
    let (dst, a) = (dst.slot, a.slot);
    l.emit(l.cold::<Map1<O>>(One { dst, a }));
}

/// [`bin`] for what is seldom run.
pub(crate) fn bin_cold<O: Bin>(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let a = l.src(operand(l, inst, 1)?, width::<O::A>())?;
    let b = l.src(operand(l, inst, 2)?, width::<O::B>())?;
    let dst = l.dst(operand(l, inst, 0)?)?;
    if a.uniform && b.uniform {
        emit_scalar_bin::<O>(l, dst, a, b);
        return Ok(());
    }
    let a = l.splat::<<O::A as Lane>::Cell>(a);
    let b = l.splat::<<O::B as Lane>::Cell>(b);
    l.emit(l.cold::<Map2<O, V, V>>(two(dst, a, b)));
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
        return emit_scalar_tern::<O>(l, dst, a, b, c);
    }
    let a = l.splat::<<O::A as Lane>::Cell>(a);
    let b = l.splat::<<O::B as Lane>::Cell>(b);
    let c = l.splat::<<O::C as Lane>::Cell>(c);
    l.emit(l.cold::<Map3<O, V, V, V>>(three(dst, a, b, c)));
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

/// The operand at `index`, which the verifier knows to be there.
pub(crate) fn operand<'a>(l: &Lowerer, inst: &'a Inst, index: usize) -> Result<&'a Operand, Error> {
    inst.operands.get(index).ok_or_else(|| l.unsupported(inst))
}
