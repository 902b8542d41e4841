//! Logic, shifts, bit fields and bit counts, on numbers and on predicates.

use super::{
    Ctx, Handler, Micro, Pred, Slot, args, choices, operand,
    shape::{self, Bin, Tern, Un},
};
use crate::{
    build::{Dst, Lowerer, Src},
    error::Error,
};
use std::marker::PhantomData;
use warpsmith_ptx::{
    ir::{Imm, Inst, Operand},
    op::Op,
    qual::Qual,
    types::Type,
};

macro_rules! ops {
    (bin $name:ident<$ty:ty> $commutes:literal |$a:ident, $b:ident: $bt:ty| -> $d:ty { $body:expr }) => {
        impl Bin for $name<$ty> {
            type A = $ty;
            type B = $bt;
            type D = $d;
            const COMMUTES: bool = $commutes;
            #[inline(always)]
            fn f($a: $ty, $b: $bt) -> $d {
                $body
            }
        }
    };
}

struct And<T>(PhantomData<T>);
struct Or<T>(PhantomData<T>);
struct Xor<T>(PhantomData<T>);
struct Shl<T>(PhantomData<T>);
struct Shr<T>(PhantomData<T>);
struct Not<T>(PhantomData<T>);
struct Cnot<T>(PhantomData<T>);
struct Popc<T>(PhantomData<T>);
struct Clz<T>(PhantomData<T>);
struct Brev<T>(PhantomData<T>);
struct Bfind<T, const SHIFT: bool>(PhantomData<T>);
struct Bfe<T>(PhantomData<T>);
struct Bfi<T>(PhantomData<T>);

macro_rules! unsigned {
    ($($ty:ty)*) => {$(
        ops! { bin And<$ty> true |a, b: $ty| -> $ty { a & b } }
        ops! { bin Or<$ty> true |a, b: $ty| -> $ty { a | b } }
        ops! { bin Xor<$ty> true |a, b: $ty| -> $ty { a ^ b } }
        ops! { bin Shl<$ty> false |a, b: u32| -> $ty { if b < <$ty>::BITS { a << b } else { 0 } } }
        impl Un for Not<$ty> {
            type A = $ty;
            type D = $ty;
            #[inline(always)]
            fn f(a: $ty) -> $ty { !a }
        }
        impl Un for Cnot<$ty> {
            type A = $ty;
            type D = $ty;
            #[inline(always)]
            fn f(a: $ty) -> $ty { <$ty>::from(a == 0) }
        }
    )*};
}
unsigned! { u16 u32 u64 }

macro_rules! shr {
    ($($ty:ty, $last:expr;)*) => {$(
        ops! { bin Shr<$ty> false |a, b: u32| -> $ty { if b < <$ty>::BITS { a >> b } else { $last(a) } } }
    )*};
}
shr! {
    u16, |_| 0; u32, |_| 0; u64, |_| 0; i16, |a: i16| a >> 15; i32, |a: i32| a >> 31; i64, |a: i64| a >> 63;
}

macro_rules! counts {
    ($($ty:ty, $unsigned:ty;)*) => {$(
        impl Un for Popc<$ty> {
            type A = $ty;
            type D = u32;
            #[inline(always)]
            fn f(a: $ty) -> u32 { a.count_ones() }
        }
        impl Un for Clz<$ty> {
            type A = $ty;
            type D = u32;
            #[inline(always)]
            fn f(a: $ty) -> u32 { a.leading_zeros() }
        }
        impl Un for Brev<$ty> {
            type A = $ty;
            type D = $ty;
            #[inline(always)]
            fn f(a: $ty) -> $ty { a.reverse_bits() }
        }
    )*};
}
counts! { u32, u32; u64, u64; }

macro_rules! finds {
    ($($ty:ty, $magnitude:expr;)*) => {$(
        impl<const SHIFT: bool> Un for Bfind<$ty, SHIFT> {
            type A = $ty;
            type D = u32;
            #[inline(always)]
            fn f(a: $ty) -> u32 {
                let magnitude = $magnitude(a);
                let zeros = magnitude.leading_zeros();
                if magnitude == 0 {
                    !0
                } else if SHIFT {
                    zeros
                } else {
                    <$ty>::BITS - 1 - zeros
                }
            }
        }
    )*};
}
finds! {
    u32, |a: u32| a; u64, |a: u64| a;
    i32, |a: i32| (a ^ a >> 31) as u32; i64, |a: i64| (a ^ a >> 63) as u64;
}

macro_rules! fields {
    ($($ty:ty, $bits:ty, $signed:literal;)*) => {$(
        impl Tern for Bfe<$ty> {
            type A = $ty;
            type B = u32;
            type C = u32;
            type D = $ty;
            #[inline(always)]
            fn f(a: $ty, at: u32, len: u32) -> $ty {
                const BITS: u32 = <$ty>::BITS;
                let (at, len) = (at & 0xFF, len & 0xFF);
                if len == 0 {
                    return 0;
                }
                // Bits beyond the register are copies of the sign for signed types, else 0.
                let shifted = if at < BITS { a >> at } else if $signed { a >> (BITS - 1) } else { 0 };
                if len >= BITS {
                    return shifted;
                }
                let top = at.wrapping_add(len).wrapping_sub(1).min(BITS - 1);
                let sign = $signed && (a >> top) & 1 != 0;
                let mask = ((1 as $bits) << len).wrapping_sub(1);
                let low = shifted as $bits & mask;
                (if sign { low | !mask } else { low }) as $ty
            }
        }
    )*};
}
fields! { u32, u32, false; u64, u64, false; i32, u32, true; i64, u64, true; }

#[inline(always)]
fn insert32(base: u32, field: u32, at: u32, len: u32) -> u32 {
    let (at, len) = (at & 0xFF, len & 0xFF);
    if at >= 32 {
        return base;
    }
    let mask = if len >= 32 { !0 } else { (1u32 << len) - 1 } << at;
    (base & !mask) | (field << at & mask)
}

#[inline(always)]
fn insert64(base: u64, field: u64, at: u32, len: u32) -> u64 {
    let (at, len) = (at & 0xFF, len & 0xFF);
    if at >= 64 {
        return base;
    }
    let mask = if len >= 64 { !0 } else { (1u64 << len) - 1 } << at;
    (base & !mask) | (field << at & mask)
}

/// The places of `bfi`: `b` is the position, `c` the length, packed by [`Bfi`]'s lowering.
impl Tern for Bfi<u32> {
    type A = u32;
    type B = u32;
    type C = u32;
    type D = u32;
    #[inline(always)]
    fn f(field: u32, base: u32, place: u32) -> u32 {
        insert32(base, field, place & 0xFF, place >> 8)
    }
}
impl Tern for Bfi<u64> {
    type A = u64;
    type B = u64;
    type C = u32;
    type D = u64;
    #[inline(always)]
    fn f(field: u64, base: u64, place: u32) -> u64 {
        insert64(base, field, place & 0xFF, place >> 8)
    }
}

struct PackPlace;
impl Bin for PackPlace {
    type A = u32;
    type B = u32;
    type D = u32;
    #[inline(always)]
    fn f(at: u32, len: u32) -> u32 {
        (at & 0xFF) | (len & 0xFF) << 8
    }
}

/// A mask of `b` bits from bit `a`.
struct Bmsk<const WRAP: bool>;
impl<const WRAP: bool> Bin for Bmsk<WRAP> {
    type A = u32;
    type B = u32;
    type D = u32;
    #[inline(always)]
    fn f(a: u32, b: u32) -> u32 {
        let (a, b) = if WRAP {
            (a & 31, b & 31)
        } else {
            (a.min(32), b.min(32))
        };
        let ones = ((1u64 << b) - 1) << a;
        ones as u32
    }
}

/// Sign- or zero-extends the low `b` bits of `a`.
struct Szext<const SIGNED: bool, const WRAP: bool>;
impl<const SIGNED: bool, const WRAP: bool> Bin for Szext<SIGNED, WRAP> {
    type A = u32;
    type B = u32;
    type D = u32;
    #[inline(always)]
    fn f(a: u32, b: u32) -> u32 {
        let len = if WRAP { b & 31 } else { b.min(32) };
        if len == 0 {
            return 0;
        }
        let shift = 32 - len;
        if SIGNED {
            ((a << shift) as i32 >> shift) as u32
        } else {
            a << shift >> shift
        }
    }
}

/// Funnel shifts of `b:a` by `c`.
struct Shf<const LEFT: bool, const WRAP: bool>;
impl<const LEFT: bool, const WRAP: bool> Tern for Shf<LEFT, WRAP> {
    type A = u32;
    type B = u32;
    type C = u32;
    type D = u32;
    #[inline(always)]
    fn f(a: u32, b: u32, c: u32) -> u32 {
        let n = if WRAP { c & 31 } else { c.min(32) };
        let both = u64::from(b) << 32 | u64::from(a);
        if LEFT {
            ((both << n) >> 32) as u32
        } else {
            (both >> n) as u32
        }
    }
}

/// The byte selector of `prmt` in its default mode.
struct Prmt;
impl Tern for Prmt {
    type A = u32;
    type B = u32;
    type C = u32;
    type D = u32;
    #[inline(always)]
    fn f(a: u32, b: u32, c: u32) -> u32 {
        let both = u64::from(b) << 32 | u64::from(a);
        let mut out = 0;
        for k in 0..4 {
            let select = c >> (4 * k);
            let byte = (both >> (8 * (select & 7))) as u32 & 0xFF;
            let sign = if byte & 0x80 != 0 { 0xFF } else { 0 };
            out |= if select & 8 != 0 { sign } else { byte } << (8 * k);
        }
        out
    }
}

/// `prmt` in one of its modes: 0 `f4e`, 1 `b4e`, 2 `rc8`, 3 `ecl`, 4 `ecr`, 5 `rc16`.
struct PrmtMode<const MODE: u8>;
impl<const MODE: u8> Tern for PrmtMode<MODE> {
    type A = u32;
    type B = u32;
    type C = u32;
    type D = u32;
    #[inline(always)]
    fn f(a: u32, b: u32, c: u32) -> u32 {
        let s = c & 3;
        let both = u64::from(b) << 32 | u64::from(a);
        let mut out = 0;
        for k in 0..4 {
            let index = match MODE {
                0 => (s + k) & 7,
                1 => s.wrapping_sub(k) & 7,
                2 => s,
                3 => k.max(s),
                4 => k.min(s),
                _ => (s & 1) * 2 + (k & 1),
            };
            out |= ((both >> (8 * index)) as u32 & 0xFF) << (8 * k);
        }
        out
    }
}

args! {
    struct Table {
        dst: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
        table: u32,
    }

    struct Masks {
        dst: Slot,
        a: Pred,
        logic: Logic,
        b: Pred,
    }
}

choices! {
    /// What two lane masks become; the first alone where it is copied.
    pub(super) enum Logic {
        And,
        Or,
        Xor,
        Copy,
    }
}

/// `lop3`.
struct Lop3;
impl Handler for Lop3 {
    type Args = Table;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Table>) {
        // Each minterm of the table is all ones or zero: no branches inside of the lanes.
        let mut term = [0u32; 8];
        for (k, t) in term.iter_mut().enumerate() {
            *t = 0u32.wrapping_sub(op.table >> k & 1);
        }
        let (a, b, c) = (
            ctx.cells::<u32>(op.a),
            ctx.cells::<u32>(op.b),
            ctx.cells::<u32>(op.c),
        );
        let out = super::lane::lanes(|i| lop3(a[i], b[i], c[i], &term));
        ctx.put_cells(op.dst, out);
    }
}

struct Lop3Scalar;
impl Handler for Lop3Scalar {
    type Args = Table;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Table>) {
        let mut term = [0u32; 8];
        for (k, t) in term.iter_mut().enumerate() {
            *t = 0u32.wrapping_sub(op.table >> k & 1);
        }
        let get = |slot| ctx.scalar(slot) as u32;
        let out = lop3(get(op.a), get(op.b), get(op.c), &term);
        ctx.set_scalar(op.dst, u64::from(out));
    }
}

#[inline(always)]
fn lop3(a: u32, b: u32, c: u32, t: &[u32; 8]) -> u32 {
    let low = (c & ((b & t[3]) | (!b & t[1]))) | (!c & ((b & t[2]) | (!b & t[0])));
    let high = (c & ((b & t[7]) | (!b & t[5]))) | (!c & ((b & t[6]) | (!b & t[4])));
    (a & high) | (!a & low)
}

/// Logic on lane masks.
struct MaskLogic;
impl Handler for MaskLogic {
    type Args = Masks;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Masks>) {
        let a = ctx.pred(op.a);
        let b = ctx.pred(op.b);
        let bits = match op.logic {
            Logic::And => a & b,
            Logic::Or => a | b,
            Logic::Xor => a ^ b,
            Logic::Copy => a,
        };
        ctx.put_mask(op.dst, bits);
    }
}

/// Emits `dst = a` on lane masks.
pub(super) fn emit_mask_move(l: &mut Lowerer, dst: Slot, a: Pred) {
    emit_mask_logic(l, dst, a, a, Logic::Copy);
}

/// Emits `dst = a (logic) b` on lane masks.
pub(super) fn emit_mask_logic(l: &mut Lowerer, dst: Slot, a: Pred, b: Pred, logic: Logic) {
    l.emit(l.cold::<MaskLogic>(Masks { dst, a, logic, b }));
}

macro_rules! by_bits {
    ($l:expr, $inst:expr, $ty:expr, $hot:ident, $cold:ident, $op:ident) => {
        match $ty.bits() {
            16 => shape::$cold::<$op<u16>>($l, $inst),
            32 => shape::$hot::<$op<u32>>($l, $inst),
            64 => shape::$hot::<$op<u64>>($l, $inst),
            _ => Err($l.unsupported($inst)),
        }
    };
}

pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let q = &inst.quals;
    let Some(ty) = q.types().next() else {
        return Err(l.unsupported(inst));
    };
    if ty == Type::Pred {
        return predicates(l, inst);
    }
    let wrap = q.has(Qual::Wrap);
    match inst.op {
        Op::And => by_bits!(l, inst, ty, bin, bin_cold, And),
        Op::Or => by_bits!(l, inst, ty, bin, bin_cold, Or),
        Op::Xor => by_bits!(l, inst, ty, bin, bin_cold, Xor),
        Op::Not => by_bits!(l, inst, ty, un, un_cold, Not),
        Op::Cnot => by_bits!(l, inst, ty, un_cold, un_cold, Cnot),
        Op::Shl => by_bits!(l, inst, ty, bin, bin_cold, Shl),
        Op::Shr => match ty {
            Type::S16 => shape::bin_cold::<Shr<i16>>(l, inst),
            Type::S32 => shape::bin::<Shr<i32>>(l, inst),
            Type::S64 => shape::bin::<Shr<i64>>(l, inst),
            _ => by_bits!(l, inst, ty, bin, bin_cold, Shr),
        },
        Op::Shf => match (q.has(Qual::L), wrap) {
            (true, true) => shape::tern::<Shf<true, true>>(l, inst),
            (true, false) => shape::tern::<Shf<true, false>>(l, inst),
            (false, true) => shape::tern::<Shf<false, true>>(l, inst),
            (false, false) => shape::tern::<Shf<false, false>>(l, inst),
        },
        Op::Lop3 => lop(l, inst),
        Op::Prmt => prmt(l, inst),
        Op::Popc if ty.bits() == 32 => shape::un::<Popc<u32>>(l, inst),
        Op::Popc => shape::un_cold::<Popc<u64>>(l, inst),
        Op::Clz if ty.bits() == 32 => shape::un_cold::<Clz<u32>>(l, inst),
        Op::Clz => shape::un_cold::<Clz<u64>>(l, inst),
        Op::Brev if ty.bits() == 32 => shape::un_cold::<Brev<u32>>(l, inst),
        Op::Brev => shape::un_cold::<Brev<u64>>(l, inst),
        Op::Bfind => match (ty, q.has(Qual::Shiftamt)) {
            (Type::U32, false) => shape::un_cold::<Bfind<u32, false>>(l, inst),
            (Type::U32, true) => shape::un_cold::<Bfind<u32, true>>(l, inst),
            (Type::S32, false) => shape::un_cold::<Bfind<i32, false>>(l, inst),
            (Type::S32, true) => shape::un_cold::<Bfind<i32, true>>(l, inst),
            (Type::U64, false) => shape::un_cold::<Bfind<u64, false>>(l, inst),
            (Type::U64, true) => shape::un_cold::<Bfind<u64, true>>(l, inst),
            (Type::S64, false) => shape::un_cold::<Bfind<i64, false>>(l, inst),
            (Type::S64, true) => shape::un_cold::<Bfind<i64, true>>(l, inst),
            _ => Err(l.unsupported(inst)),
        },
        Op::Bfe => match ty {
            Type::U32 => shape::tern::<Bfe<u32>>(l, inst),
            Type::S32 => shape::tern::<Bfe<i32>>(l, inst),
            Type::U64 => shape::tern_cold::<Bfe<u64>>(l, inst),
            Type::S64 => shape::tern_cold::<Bfe<i64>>(l, inst),
            _ => Err(l.unsupported(inst)),
        },
        Op::Bfi => bfi(l, inst, ty),
        Op::Bmsk if wrap => shape::bin_cold::<Bmsk<true>>(l, inst),
        Op::Bmsk => shape::bin_cold::<Bmsk<false>>(l, inst),
        Op::Szext => match (ty.is_signed(), wrap) {
            (true, true) => shape::bin_cold::<Szext<true, true>>(l, inst),
            (true, false) => shape::bin_cold::<Szext<true, false>>(l, inst),
            (false, true) => shape::bin_cold::<Szext<false, true>>(l, inst),
            (false, false) => shape::bin_cold::<Szext<false, false>>(l, inst),
        },
        _ => Err(l.unsupported(inst)),
    }
}

fn predicates(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let dst = l.dst(operand(l, inst, 0)?)?.slot;
    let a = l.pred(operand(l, inst, 1)?)?;
    let kind = match inst.op {
        Op::And => Logic::And,
        Op::Or => Logic::Or,
        Op::Xor => Logic::Xor,
        Op::Not => {
            emit_mask_move(l, dst, a.negated());
            return Ok(());
        }
        _ => return Err(l.unsupported(inst)),
    };
    let b = l.pred(operand(l, inst, 2)?)?;
    emit_mask_logic(l, dst, a, b, kind);
    Ok(())
}

fn bfi(l: &mut Lowerer, inst: &Inst, ty: Type) -> Result<(), Error> {
    let field = l.src(operand(l, inst, 1)?, ty.bits())?;
    let base = l.src(operand(l, inst, 2)?, ty.bits())?;
    let at = l.src(operand(l, inst, 3)?, 32)?;
    let len = l.src(operand(l, inst, 4)?, 32)?;
    let uniform = at.uniform && len.uniform;
    let slot = l.temp();
    shape::emit_bin::<PackPlace>(l, Dst { slot, uniform }, at, len);
    let place = Src { slot, uniform };
    let dst = l.dst(operand(l, inst, 0)?)?;
    if ty.bits() > 32 {
        shape::emit_tern_cold::<Bfi<u64>>(l, dst, field, base, place);
    } else {
        shape::emit_tern_cold::<Bfi<u32>>(l, dst, field, base, place);
    }
    Ok(())
}

fn lop(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let (Operand::Imm(Imm::Int(table)), 5) = (operand(l, inst, 4)?, inst.operands.len()) else {
        return Err(l.unsupported(inst));
    };
    let a = l.src(operand(l, inst, 1)?, 32)?;
    let b = l.src(operand(l, inst, 2)?, 32)?;
    let c = l.src(operand(l, inst, 3)?, 32)?;
    let dst = l.dst(operand(l, inst, 0)?)?;
    // PTX numbers the table by a = 0xF0, b = 0xCC, c = 0xAA: bit 4a + 2b + c.
    let table = *table as u32 & 0xFF;
    let args = |dst: Slot, a: Src, b: Src, c: Src| Table {
        dst,
        a: a.slot,
        b: b.slot,
        c: c.slot,
        table,
    };
    if a.uniform && b.uniform && c.uniform {
        let to = l.scalar_for(dst);
        l.emit(l.cold::<Lop3Scalar>(args(to, a, b, c)));
        l.spread::<u32>(dst, to);
    } else {
        let (a, b, c) = (l.splat::<u32>(a), l.splat::<u32>(b), l.splat::<u32>(c));
        l.emit(l.op::<Lop3>(args(dst.slot, a, b, c)));
    }
    Ok(())
}

fn prmt(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    if has(Qual::F4e) {
        shape::tern_cold::<PrmtMode<0>>(l, inst)
    } else if has(Qual::B4e) {
        shape::tern_cold::<PrmtMode<1>>(l, inst)
    } else if has(Qual::Rc8) {
        shape::tern_cold::<PrmtMode<2>>(l, inst)
    } else if has(Qual::Ecl) {
        shape::tern_cold::<PrmtMode<3>>(l, inst)
    } else if has(Qual::Ecr) {
        shape::tern_cold::<PrmtMode<4>>(l, inst)
    } else if has(Qual::Rc16) {
        shape::tern_cold::<PrmtMode<5>>(l, inst)
    } else {
        shape::tern::<Prmt>(l, inst)
    }
}
