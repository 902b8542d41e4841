//! Moves: between registers, shapes and widths, packing, selection and address windows.

use super::{
    Ctx, Handler, Micro, Pred, Slot, args, halves,
    lane::{Cell, Lane, lanes},
    operand,
    shape::{self, Bin, Lanes, One, Shape, Tern, U, Un, V},
};
use crate::{
    build::{Dst, Lowerer, Src},
    error::Error,
};
use std::marker::PhantomData;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    types::Type,
};

pub(super) use crate::build::moves::{Copy, Resize, emit_resize};

/// The low bits, extended as the type says.
pub(super) struct Extend<T>(PhantomData<T>);
macro_rules! extend {
    ($($ty:ty)*) => {$(
        impl Un for Extend<$ty> {
            type A = $ty;
            type D = i32;
            #[inline(always)]
            fn f(a: $ty) -> i32 {
                a as i32
            }
        }
    )*};
}
extend! { u8 i8 u16 i16 }

struct CopyScalar;
impl Handler for CopyScalar {
    type Args = One;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<One>) {
        let value = ctx.scalar(op.a);
        ctx.set_scalar(op.dst, value);
    }
}

struct SignExtendScalar;
impl Handler for SignExtendScalar {
    type Args = One;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<One>) {
        let value = ctx.scalar(op.a) as u32 as i32;
        ctx.set_scalar(op.dst, i64::from(value) as u64);
    }
}

args! {
    struct Choice {
        dst: Slot,
        pred: Pred,
        a: Slot,
        b: Slot,
    }
}

/// Sign-extends an 8- or 16-bit value in place.
pub(crate) fn emit_extend(l: &mut Lowerer, slot: Slot, scalar: bool, ty: Type) {
    let src = Src {
        slot,
        uniform: scalar,
    };
    let dst = Dst {
        slot,
        uniform: scalar,
    };
    if ty.bits() == 8 {
        shape::emit_un::<Extend<i8>>(l, dst, src);
    } else {
        shape::emit_un::<Extend<i16>>(l, dst, src);
    }
}

/// A scalar to a scalar.
pub(crate) fn emit_copy_scalar(l: &mut Lowerer, dst: Slot, a: Slot) {
    l.emit(l.cold::<CopyScalar>(One { dst, a }));
}

/// The low 32 bits of a scalar, sign-extended.
pub(crate) fn emit_sign_extend(l: &mut Lowerer, dst: Slot, a: Slot) {
    l.emit(l.cold::<SignExtendScalar>(One { dst, a }));
}

/// `a` with a predicate, else `b`.
struct Select<C, A, B>(PhantomData<(C, A, B)>);
impl<C: Cell + Lane<Cell = C>, A: Shape, B: Shape> Handler for Select<C, A, B> {
    type Args = Choice;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Choice>) {
        let pred = ctx.pred(op.pred);
        let a = A::read::<C>(ctx, op.a);
        let b = B::read::<C>(ctx, op.b);
        let out = lanes(|i| {
            let (x, y): (C, C) = (a.lane(i), b.lane(i));
            if pred >> i & 1 != 0 { x } else { y }
        });
        ctx.put_cells(op.dst, out);
    }
}

struct SelectScalar;
impl Handler for SelectScalar {
    type Args = Choice;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Choice>) {
        let pred = ctx.pred(op.pred) & ctx.mask;
        let from = if pred != 0 { op.a } else { op.b };
        let value = ctx.scalar(from);
        ctx.set_scalar(op.dst, value);
    }
}

/// Emits `dst = pred ? a : b`.
pub(super) fn emit_select<C: Cell + Lane<Cell = C>>(
    l: &mut Lowerer,
    dst: Dst,
    a: Src,
    b: Src,
    pred: Pred,
) {
    let args = Choice {
        dst: dst.slot,
        pred,
        a: a.slot,
        b: b.slot,
    };
    let op = if dst.uniform {
        l.cold::<SelectScalar>(args)
    } else {
        match (a.uniform, b.uniform) {
            (false, false) => l.op::<Select<C, V, V>>(args),
            (false, true) => l.op::<Select<C, V, U>>(args),
            (true, false) => l.op::<Select<C, U, V>>(args),
            (true, true) => l.op::<Select<C, U, U>>(args),
        }
    };
    l.emit(op);
}

struct Join<S, D>(PhantomData<(S, D)>);
impl Bin for Join<u32, u64> {
    type A = u32;
    type B = u32;
    type D = u64;
    #[inline(always)]
    fn f(a: u32, b: u32) -> u64 {
        u64::from(a) | u64::from(b) << 32
    }
}
impl Bin for Join<u16, u32> {
    type A = u16;
    type B = u16;
    type D = u32;
    #[inline(always)]
    fn f(a: u16, b: u16) -> u32 {
        u32::from(a) | u32::from(b) << 16
    }
}
impl Bin for Join<u8, u16> {
    type A = u8;
    type B = u8;
    type D = u16;
    #[inline(always)]
    fn f(a: u8, b: u8) -> u16 {
        u16::from(a) | u16::from(b) << 8
    }
}

struct Slice<S, D>(PhantomData<(S, D)>);
macro_rules! slice {
    ($($from:ty => $to:ty;)*) => {$(
        impl Bin for Slice<$from, $to> {
            type A = $from;
            type B = u32;
            type D = $to;
            #[inline(always)]
            fn f(a: $from, shift: u32) -> $to {
                (a >> shift) as $to
            }
        }
    )*};
}
slice! { u64 => u32; u64 => u16; u32 => u16; u32 => u8; u16 => u8; }

struct SelectSign<C, S>(PhantomData<(C, S)>);
macro_rules! select_sign {
    ($($value:ty, $sign:ty, $keep:expr;)*) => {$(
        impl Tern for SelectSign<$value, $sign> {
            type A = $value;
            type B = $value;
            type C = $sign;
            type D = $value;
            #[inline(always)]
            fn f(a: $value, b: $value, c: $sign) -> $value {
                let keep: fn($sign) -> bool = $keep;
                if keep(c) { a } else { b }
            }
        }
    )*};
}
select_sign! {
    u32, i32, |c| c >= 0; u64, i32, |c| c >= 0; u32, f32, |c| c >= 0.0; u64, f32, |c| c >= 0.0;
}

pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    match inst.op {
        Op::Selp => selp(l, inst),
        Op::Slct => slct(l, inst),
        _ => mov(l, inst),
    }
}

fn mov(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let Some(ty) = inst.quals.types().next() else {
        return Err(l.unsupported(inst));
    };
    let (to, from) = (operand(l, inst, 0)?, operand(l, inst, 1)?);
    match (to, from) {
        _ if ty == Type::Pred => {
            let a = l.pred(from)?;
            let dst = l.dst(to)?;
            super::bits::emit_mask_move(l, dst.slot, a);
            Ok(())
        }
        _ if ty.bits() > 64 => Err(l.unsupported(inst)),
        (Operand::Vec(items), _) => unpack(l, inst, ty, items, from),
        (_, Operand::Vec(items)) => pack(l, inst, ty, to, items),
        _ => {
            let a = l.src(from, ty.bits())?;
            let dst = l.dst(to)?;
            if ty.bits() > 32 {
                shape::emit_un::<Copy<u64>>(l, dst, a);
            } else {
                shape::emit_un::<Copy<u32>>(l, dst, a);
            }
            Ok(())
        }
    }
}

fn unpack(
    l: &mut Lowerer,
    inst: &Inst,
    ty: Type,
    items: &[Operand],
    from: &Operand,
) -> Result<(), Error> {
    let part = ty.bits() / items.len().max(1) as u32;
    let a = l.src(from, ty.bits())?;
    for (k, item) in items.iter().enumerate() {
        if matches!(item, Operand::Sink) {
            continue;
        }
        let dst = l.dst(item)?;
        let shift = l.constant(u64::from(part) * k as u64);
        match (ty.bits(), part) {
            (64, 32) => shape::emit_bin::<Slice<u64, u32>>(l, dst, a, shift),
            (64, 16) => shape::emit_bin::<Slice<u64, u16>>(l, dst, a, shift),
            (32, 16) => shape::emit_bin::<Slice<u32, u16>>(l, dst, a, shift),
            (32, 8) => shape::emit_bin::<Slice<u32, u8>>(l, dst, a, shift),
            (16, 8) => shape::emit_bin::<Slice<u16, u8>>(l, dst, a, shift),
            _ => return Err(l.unsupported(inst)),
        }
    }
    if let (false, 16, [Operand::Reg(low), Operand::Reg(high)]) = (a.uniform, part, items)
        && low != high
        && l.is_read_once(*low)
        && l.is_read_once(*high)
    {
        halves::taken_apart(l, a.slot, [l.slot_of(*low), l.slot_of(*high)]);
    }
    Ok(())
}

fn pack(
    l: &mut Lowerer,
    inst: &Inst,
    ty: Type,
    to: &Operand,
    items: &[Operand],
) -> Result<(), Error> {
    let part = ty.bits() / items.len().max(1) as u32;
    let parts = items
        .iter()
        .map(|item| l.src(item, part))
        .collect::<Result<Vec<Src>, _>>()?;
    let dst = l.dst(to)?;
    match (&parts[..], part) {
        (&[a, b], 32) => shape::emit_bin::<Join<u32, u64>>(l, dst, a, b),
        (&[a, b], 16) => shape::emit_bin::<Join<u16, u32>>(l, dst, a, b),
        (&[a, b], 8) => shape::emit_bin::<Join<u8, u16>>(l, dst, a, b),
        (&[a, b, c, d], 16) => {
            let (low, high) = (half(l, a, b, join16), half(l, c, d, join16));
            shape::emit_bin::<Join<u32, u64>>(l, dst, low, high);
        }
        (&[a, b, c, d], 8) => {
            let (low, high) = (half(l, a, b, join8), half(l, c, d, join8));
            shape::emit_bin::<Join<u16, u32>>(l, dst, low, high);
        }
        _ => return Err(l.unsupported(inst)),
    }
    Ok(())
}

fn half(l: &mut Lowerer, a: Src, b: Src, join: fn(&mut Lowerer, Dst, Src, Src)) -> Src {
    let uniform = a.uniform && b.uniform;
    let slot = l.temp();
    join(l, Dst { slot, uniform }, a, b);
    Src { slot, uniform }
}

fn join16(l: &mut Lowerer, dst: Dst, a: Src, b: Src) {
    shape::emit_bin::<Join<u16, u32>>(l, dst, a, b);
}

fn join8(l: &mut Lowerer, dst: Dst, a: Src, b: Src) {
    shape::emit_bin::<Join<u8, u16>>(l, dst, a, b);
}

fn selp(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let Some(ty) = inst.quals.types().next() else {
        return Err(l.unsupported(inst));
    };
    let a = l.src(operand(l, inst, 1)?, ty.bits())?;
    let b = l.src(operand(l, inst, 2)?, ty.bits())?;
    let pred = l.pred(operand(l, inst, 3)?)?;
    let dst = l.dst(operand(l, inst, 0)?)?;
    if ty.bits() > 32 {
        emit_select::<u64>(l, dst, a, b, pred);
    } else {
        emit_select::<u32>(l, dst, a, b, pred);
    }
    Ok(())
}

fn slct(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let types: Vec<Type> = inst.quals.types().collect();
    let [ty, by] = types[..] else {
        return Err(l.unsupported(inst));
    };
    match (ty.bits() > 32, by) {
        (false, Type::S32) => shape::tern::<SelectSign<u32, i32>>(l, inst),
        (true, Type::S32) => shape::tern::<SelectSign<u64, i32>>(l, inst),
        (false, Type::F32) => shape::tern::<SelectSign<u32, f32>>(l, inst),
        (true, Type::F32) => shape::tern::<SelectSign<u64, f32>>(l, inst),
        _ => Err(l.unsupported(inst)),
    }
}
