//! Moves: between registers, shapes and widths, packing, selection and address windows.

use super::{
    Ctx, Handler, MicroOp, halves,
    lane::{Cell, Lane, lanes},
    operand,
    shape::{self, Bin, Lanes, Shape, Tern, U, Un, V},
};
use crate::{
    error::Error,
    lower::{Dst, Lowerer, Src},
};
use std::{
    marker::PhantomData,
    time::{SystemTime, UNIX_EPOCH},
};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    special::Special,
    types::Type,
};

/// The value itself.
pub(super) struct Copy<T>(PhantomData<T>);
impl<T: Lane> Un for Copy<T> {
    type A = T;
    type D = T;
    #[inline(always)]
    fn f(a: T) -> T {
        a
    }
}

/// From one cell to another, extended as the source's type says.
pub(super) struct Resize<S, D>(PhantomData<(S, D)>);
macro_rules! resize {
    ($($from:ty => $to:ty;)*) => {$(
        impl Un for Resize<$from, $to> {
            type A = $from;
            type D = $to;
            #[inline(always)]
            fn f(a: $from) -> $to {
                a as $to
            }
        }
    )*};
}
resize! { u32 => u64; i32 => i64; u64 => u32; }

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

struct SplatScalar<C>(PhantomData<C>);
impl<C: Cell> Handler for SplatScalar<C> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let value = C::narrow(ctx.scalar(op.a));
        ctx.put_cells(op.dst, [value; 32]);
    }
}

struct FirstLane;
impl Handler for FirstLane {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let lane = ctx.mask.trailing_zeros() & 31;
        let value = ctx.cells::<u32>(op.a)[lane as usize];
        ctx.set_scalar(op.dst, u64::from(value));
    }
}

struct CopyScalar;
impl Handler for CopyScalar {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let value = ctx.scalar(op.a);
        ctx.set_scalar(op.dst, value);
    }
}

struct SignExtendScalar;
impl Handler for SignExtendScalar {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let value = ctx.scalar(op.a) as u32 as i32;
        ctx.set_scalar(op.dst, i64::from(value) as u64);
    }
}

/// Nanoseconds since 1970, shifted right by `imm`, to a scalar.
struct Clock;
impl Handler for Clock {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = now.map_or(0, |d| d.as_nanos() as u64);
        ctx.set_scalar(op.dst, nanos >> op.imm);
        ctx.fuel -= super::flow::SPIN_COST;
    }
}

/// Lanes of `a` to a register of another cell width.
pub(crate) fn emit_resize(l: &mut Lowerer, dst: u32, a: u32, from: Type, to_bits: u32) {
    let op = match (from.bits() > 32, to_bits > 32) {
        (false, true) if from.is_signed() => return map::<Resize<i32, i64>>(l, dst, a),
        (false, true) => return map::<Resize<u32, u64>>(l, dst, a),
        (true, false) => return map::<Resize<u64, u32>>(l, dst, a),
        (false, false) => l.op::<shape::Map1<Copy<u32>>>(),
        (true, true) => l.op::<shape::Map1<Copy<u64>>>(),
    };
    l.emit(MicroOp { dst, a, ..op });
}

fn map<O: Un>(l: &mut Lowerer, dst: u32, a: u32) {
    let op = l.op::<shape::Map1<O>>();
    l.emit(MicroOp { dst, a, ..op });
}

/// Sign-extends an 8- or 16-bit value in place.
pub(crate) fn emit_extend(l: &mut Lowerer, slot: u32, scalar: bool, ty: Type) {
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

/// A scalar to all lanes.
pub(crate) fn emit_splat<C: Cell>(l: &mut Lowerer, dst: u32, a: u32) {
    let op = l.op::<SplatScalar<C>>();
    l.emit(MicroOp { dst, a, ..op });
}

/// The first active lane to a scalar.
pub(crate) fn emit_first_lane(l: &mut Lowerer, dst: u32, a: u32) {
    let op = l.cold::<FirstLane>();
    l.emit(MicroOp { dst, a, ..op });
}

/// A scalar to a scalar.
pub(crate) fn emit_copy_scalar(l: &mut Lowerer, dst: u32, a: u32) {
    let op = l.cold::<CopyScalar>();
    l.emit(MicroOp { dst, a, ..op });
}

/// The low 32 bits of a scalar, sign-extended.
pub(crate) fn emit_sign_extend(l: &mut Lowerer, dst: u32, a: u32) {
    let op = l.cold::<SignExtendScalar>();
    l.emit(MicroOp { dst, a, ..op });
}

/// A clock to a scalar.
pub(crate) fn emit_clock(l: &mut Lowerer, special: Special, dst: u32) {
    let high = matches!(special, Special::ClockHi | Special::GlobaltimerHi);
    let op = l.cold::<Clock>();
    l.emit(MicroOp {
        dst,
        imm: if high { 32 } else { 0 },
        ..op
    });
}

/// `a` with predicate `c` (negated by `imm`), else `b`.
struct Select<C, A, B>(PhantomData<(C, A, B)>);
impl<C: Cell + Lane<Cell = C>, A: Shape, B: Shape> Handler for Select<C, A, B> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let pred = ctx.pred(op.c) ^ op.imm as u32;
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
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let pred = (ctx.pred(op.c) ^ op.imm as u32) & ctx.mask;
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
    pred: (u32, u32),
) {
    let op = if dst.uniform {
        l.cold::<SelectScalar>()
    } else {
        match (a.uniform, b.uniform) {
            (false, false) => l.op::<Select<C, V, V>>(),
            (false, true) => l.op::<Select<C, V, U>>(),
            (true, false) => l.op::<Select<C, U, V>>(),
            (true, true) => l.op::<Select<C, U, U>>(),
        }
    };
    let (c, negated) = pred;
    l.emit(MicroOp {
        dst: dst.slot,
        a: a.slot,
        b: b.slot,
        c,
        imm: u64::from(negated),
        ..op
    });
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
            let (a, negated) = l.pred(from)?;
            let dst = l.dst(to)?;
            super::bits::emit_mask_move(l, dst.slot, a, negated);
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
