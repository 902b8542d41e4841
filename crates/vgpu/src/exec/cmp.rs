//! Comparisons: `setp` to lane masks, `set` to numbers.

use super::{
    Ctx, Handler, Micro, Pred, Slot, args, bits,
    float::{Float, flushed},
    half::{Bf16, F16},
    lane::{Lane, mask_of},
    mov, operand,
    shape::{Lanes, Shape, U, V},
};
use crate::{
    build::{Lowerer, Src},
    error::Error,
};
use std::marker::PhantomData;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    types::Type,
};

/// A relation of two lanes.
trait Relation: 'static {
    type T: Lane;
    fn holds(a: Self::T, b: Self::T) -> bool;
}

struct Equal<T>(PhantomData<T>);
struct Less<T>(PhantomData<T>);
struct LessEqual<T, const FTZ: bool>(PhantomData<T>);
struct FloatEqual<T, const FTZ: bool>(PhantomData<T>);
struct FloatLess<T, const FTZ: bool>(PhantomData<T>);
struct Apart<T, const FTZ: bool>(PhantomData<T>);
struct Ordered<T>(PhantomData<T>);

impl<T: Lane + PartialEq> Relation for Equal<T> {
    type T = T;
    #[inline(always)]
    fn holds(a: T, b: T) -> bool {
        a == b
    }
}
impl<T: Lane + Ord> Relation for Less<T> {
    type T = T;
    #[inline(always)]
    fn holds(a: T, b: T) -> bool {
        a < b
    }
}

/// A type that compares as a float.
trait AsFloat: Lane {
    type F: Float;
    fn float(self) -> Self::F;
}
impl AsFloat for f32 {
    type F = f32;
    #[inline(always)]
    fn float(self) -> f32 {
        self
    }
}
impl AsFloat for f64 {
    type F = f64;
    #[inline(always)]
    fn float(self) -> f64 {
        self
    }
}
impl AsFloat for F16 {
    type F = f32;
    #[inline(always)]
    fn float(self) -> f32 {
        self.to_f32()
    }
}
impl AsFloat for Bf16 {
    type F = f32;
    #[inline(always)]
    fn float(self) -> f32 {
        self.to_f32()
    }
}

macro_rules! float_relations {
    ($($name:ident |$a:ident, $b:ident| $body:expr;)*) => {$(
        impl<T: AsFloat, const FTZ: bool> Relation for $name<T, FTZ> {
            type T = T;
            #[inline(always)]
            fn holds(a: T, b: T) -> bool {
                let ($a, $b) = (flushed::<T::F, FTZ>(a.float()), flushed::<T::F, FTZ>(b.float()));
                $body
            }
        }
    )*};
}
float_relations! {
    FloatEqual |a, b| a == b;
    FloatLess |a, b| a < b;
    LessEqual |a, b| a <= b;
    Apart |a, b| a < b || a > b;
}
impl<T: AsFloat> Relation for Ordered<T> {
    type T = T;
    #[inline(always)]
    fn holds(a: T, b: T) -> bool {
        let (a, b) = (a.float(), b.float());
        !a.is_nan() && !b.is_nan()
    }
}

args! {
    struct Comparison {
        dst: Slot,
        a: Slot,
        b: Slot,
        /// All ones where the lanes are wanted in which it does not hold.
        flip: u32,
    }
}

/// The lanes where the relation holds, or where it does not.
struct Compare<R, A, B>(PhantomData<(R, A, B)>);
impl<R: Relation, A: Shape, B: Shape> Handler for Compare<R, A, B> {
    type Args = Comparison;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Comparison>) {
        let a = A::read::<R::T>(ctx, op.a);
        let b = B::read::<R::T>(ctx, op.b);
        let bits = mask_of(|i| R::holds(a.lane(i), b.lane(i)));
        ctx.put_mask(op.dst, bits ^ op.flip);
    }
}

struct CompareScalar<R>(PhantomData<R>);
impl<R: Relation> Handler for CompareScalar<R> {
    type Args = Comparison;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Comparison>) {
        let a = super::shape::scalar::<R::T>(ctx, op.a);
        let b = super::shape::scalar::<R::T>(ctx, op.b);
        let bits = if R::holds(a, b) { !0 } else { 0 };
        ctx.put_mask(op.dst, bits ^ op.flip);
    }
}

/// The operands of a comparison, and where its mask goes.
#[derive(Clone, Copy)]
struct Sides {
    dst: Slot,
    a: Src,
    b: Src,
}

impl Sides {
    fn args(self, flip: u32) -> Comparison {
        Comparison {
            dst: self.dst,
            a: self.a.slot,
            b: self.b.slot,
            flip,
        }
    }

    fn swapped(self) -> Sides {
        Sides {
            a: self.b,
            b: self.a,
            ..self
        }
    }
}

/// How often a comparison is run: compiled for each tier and shape, or once.
trait Heat {
    fn emit<R: Relation>(l: &mut Lowerer, sides: Sides, negated: u32);
}
struct Hot;
struct Cold;

impl Heat for Hot {
    fn emit<R: Relation>(l: &mut Lowerer, sides: Sides, negated: u32) {
        let args = sides.args(negated);
        let op = match (sides.a.uniform, sides.b.uniform) {
            (true, true) => l.cold::<CompareScalar<R>>(args),
            (false, false) => l.op::<Compare<R, V, V>>(args),
            (false, true) => l.op::<Compare<R, V, U>>(args),
            (true, false) => l.op::<Compare<R, U, V>>(args),
        };
        l.emit(op);
    }
}

impl Heat for Cold {
    fn emit<R: Relation>(l: &mut Lowerer, sides: Sides, negated: u32) {
        let op = if sides.a.uniform && sides.b.uniform {
            l.cold::<CompareScalar<R>>(sides.args(negated))
        } else {
            let sides = Sides {
                a: l.splat::<<R::T as Lane>::Cell>(sides.a),
                b: l.splat::<<R::T as Lane>::Cell>(sides.b),
                ..sides
            };
            l.cold::<Compare<R, V, V>>(sides.args(negated))
        };
        l.emit(op);
    }
}

fn emit_int<H: Heat, T: Lane + Ord>(l: &mut Lowerer, s: Sides, how: Qual) -> Option<()> {
    match how {
        Qual::Eq => H::emit::<Equal<T>>(l, s, 0),
        Qual::Ne => H::emit::<Equal<T>>(l, s, !0),
        Qual::Lt | Qual::Lo => H::emit::<Less<T>>(l, s, 0),
        Qual::Ge | Qual::Hs => H::emit::<Less<T>>(l, s, !0),
        Qual::Gt | Qual::Hi => H::emit::<Less<T>>(l, s.swapped(), 0),
        Qual::Le | Qual::Ls => H::emit::<Less<T>>(l, s.swapped(), !0),
        _ => return None,
    }
    Some(())
}

fn emit_float<H: Heat, T: AsFloat, const FTZ: bool>(
    l: &mut Lowerer,
    s: Sides,
    how: Qual,
) -> Option<()> {
    match how {
        Qual::Eq => H::emit::<FloatEqual<T, FTZ>>(l, s, 0),
        Qual::Neu => H::emit::<FloatEqual<T, FTZ>>(l, s, !0),
        Qual::Ne => H::emit::<Apart<T, FTZ>>(l, s, 0),
        Qual::Equ => H::emit::<Apart<T, FTZ>>(l, s, !0),
        Qual::Lt => H::emit::<FloatLess<T, FTZ>>(l, s, 0),
        Qual::Geu => H::emit::<FloatLess<T, FTZ>>(l, s, !0),
        Qual::Gt => H::emit::<FloatLess<T, FTZ>>(l, s.swapped(), 0),
        Qual::Leu => H::emit::<FloatLess<T, FTZ>>(l, s.swapped(), !0),
        Qual::Le => H::emit::<LessEqual<T, FTZ>>(l, s, 0),
        Qual::Gtu => H::emit::<LessEqual<T, FTZ>>(l, s, !0),
        Qual::Ge => H::emit::<LessEqual<T, FTZ>>(l, s.swapped(), 0),
        Qual::Ltu => H::emit::<LessEqual<T, FTZ>>(l, s.swapped(), !0),
        Qual::Num => H::emit::<Ordered<T>>(l, s, 0),
        Qual::Nan => H::emit::<Ordered<T>>(l, s, !0),
        _ => return None,
    }
    Some(())
}

fn compare(l: &mut Lowerer, inst: &Inst, ty: Type, how: Qual, s: Sides) -> Result<(), Error> {
    let ftz = inst.quals.has(Qual::Ftz);
    let done = match ty {
        Type::U16 | Type::B16 => emit_int::<Cold, u16>(l, s, how),
        Type::S16 => emit_int::<Cold, i16>(l, s, how),
        Type::U32 | Type::B32 => emit_int::<Hot, u32>(l, s, how),
        Type::S32 => emit_int::<Hot, i32>(l, s, how),
        Type::U64 | Type::B64 => emit_int::<Hot, u64>(l, s, how),
        Type::S64 => emit_int::<Hot, i64>(l, s, how),
        Type::F32 if ftz => emit_float::<Hot, f32, true>(l, s, how),
        Type::F32 => emit_float::<Hot, f32, false>(l, s, how),
        Type::F64 => emit_float::<Cold, f64, false>(l, s, how),
        Type::F16 if !ftz => emit_float::<Cold, F16, false>(l, s, how),
        Type::BF16 => emit_float::<Cold, Bf16, false>(l, s, how),
        _ => None,
    };
    done.ok_or_else(|| l.unsupported(inst))
}

pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let q = inst.quals.as_slice();
    let Some(&how) = q.first() else {
        return Err(l.unsupported(inst));
    };
    let types: Vec<Type> = inst.quals.types().collect();
    let (Some(&ty), Some(&result)) = (types.last(), types.first()) else {
        return Err(l.unsupported(inst));
    };
    let combine = q[1..].iter().find_map(|word| match word {
        Qual::And => Some(bits::Logic::And),
        Qual::Or => Some(bits::Logic::Or),
        Qual::Xor => Some(bits::Logic::Xor),
        _ => None,
    });
    let a = l.src(operand(l, inst, 1)?, ty.bits())?;
    let b = l.src(operand(l, inst, 2)?, ty.bits())?;
    let with = match combine {
        Some(kind) => Some((kind, l.pred(operand(l, inst, 3)?)?)),
        None => None,
    };
    let targets = operand(l, inst, 0)?;
    if inst.op == Op::Setp
        && with.is_none()
        && let Operand::Reg(_) = targets
    {
        let dst = l.dst(targets)?.slot;
        return compare(l, inst, ty, how, Sides { dst, a, b });
    }
    let mask = l.temp();
    compare(l, inst, ty, how, Sides { dst: mask, a, b })?;
    if inst.op == Op::Set {
        if let Some((kind, c)) = with {
            bits::emit_mask_logic(l, mask, Pred::plain(mask), c, kind);
        }
        return number(l, inst, result, targets, mask, types.len());
    }
    let (p, q) = match targets {
        Operand::Pair(pair) => (&pair.0, Some(&pair.1)),
        other => (other, None),
    };
    // Both read the combining predicate, which may be one of the destinations: results first, moves after.
    let own = Pred::plain(mask);
    let sides = [(Some(p), own), (q, own.negated())];
    let mut moves = Vec::new();
    for (target, own) in sides {
        let Some(target @ Operand::Reg(_)) = target else {
            continue;
        };
        let dst = l.dst(target)?.slot;
        let to = l.temp();
        match with {
            Some((kind, c)) => bits::emit_mask_logic(l, to, own, c, kind),
            None => bits::emit_mask_move(l, to, own),
        }
        moves.push((dst, to));
    }
    for (dst, from) in moves {
        bits::emit_mask_move(l, dst, Pred::plain(from));
    }
    Ok(())
}

/// `set`: all ones or 1.0 where the mask is set, else 0.
fn number(
    l: &mut Lowerer,
    inst: &Inst,
    result: Type,
    target: &Operand,
    mask: Slot,
    types: usize,
) -> Result<(), Error> {
    let yes = match result {
        Type::U32 | Type::S32 => 0xFFFF_FFFF,
        Type::F32 => u64::from(1f32.to_bits()),
        Type::F16 if types == 2 => 0x3C00,
        Type::BF16 if types == 2 => 0x3F80,
        Type::U16 | Type::S16 => 0xFFFF,
        _ => return Err(l.unsupported(inst)),
    };
    let (yes, no) = (l.constant(yes), l.constant(0));
    let dst = l.dst(target)?;
    mov::emit_select::<u32>(l, dst, yes, no, Pred::plain(mask));
    Ok(())
}
