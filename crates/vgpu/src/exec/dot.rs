//! `dp4a`: four products of bytes added to a sum (PTX ISA 9.7.1.23).
//!
//! # Runs
//! The steps of one sum follow each other in a dot product: each adds to the result of the one before. Such a run
//! is one op that keeps the sum in registers; every result is written all the same.

#[cfg_attr(target_arch = "x86_64", path = "dot_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "dot_other.rs")]
mod native;

use super::{
    Ctx, Handler, Micro, Slot, Words, args, operand,
    shape::{self, Tern},
};
use crate::{
    Tier,
    build::{Lowerer, Src},
    error::Error,
};
use std::marker::PhantomData;
use warpsmith_ptx::{ir::Inst, types::Type};

/// Words of a step in the extra table: the slots of a, b and d.
const RECORD: usize = 3;

/// Byte `i` of a word.
#[inline(always)]
pub(super) fn byte<const SIGNED: bool>(x: u32, i: u32) -> i32 {
    let shifted = (x >> (8 * i)) as u8;
    if SIGNED {
        i32::from(shifted as i8)
    } else {
        i32::from(shifted)
    }
}

/// Four byte products plus a number.
pub(super) struct Dp4a<const SA: bool, const SB: bool>;
impl<const SA: bool, const SB: bool> Tern for Dp4a<SA, SB> {
    type A = u32;
    type B = u32;
    type C = i32;
    type D = i32;
    #[inline(always)]
    fn f(a: u32, b: u32, c: i32) -> i32 {
        let low = byte::<SA>(a, 0) * byte::<SB>(b, 0) + byte::<SA>(a, 1) * byte::<SB>(b, 1);
        let high = byte::<SA>(a, 2) * byte::<SB>(b, 2) + byte::<SA>(a, 3) * byte::<SB>(b, 3);
        c.wrapping_add(low + high)
    }
}

/// How a step is computed for 32 lanes of a; those of b are signed.
trait Engine: 'static {
    /// With the lanes of b.
    fn lanes<const SA: bool>(sum: &mut [u32; 32], a: &[u32; 32], b: &[u32; 32]);
    /// With one b for all.
    fn scalar<const SA: bool>(sum: &mut [u32; 32], a: &[u32; 32], b: u32);
}

args! {
    struct Steps {
        /// The records of the steps.
        records: Words,
        count: u32,
        /// What the sum starts with: lanes, or one for the warp.
        c: Slot,
        scalar: bool,
    }
}

/// Steps of one sum.
struct Run<E, const SA: bool, const SCALAR: bool>(PhantomData<E>);

impl<E: Engine, const SA: bool, const SCALAR: bool> Handler for Run<E, SA, SCALAR> {
    type Args = Steps;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Steps>) {
        let mut sum = if op.scalar {
            [ctx.scalar(op.c) as u32; 32]
        } else {
            *ctx.cells::<u32>(op.c)
        };
        for i in 0..op.count {
            let (a, b, d) = match ctx.extra(op.records.behind(i * RECORD as u32), RECORD) {
                &[a, b, d] => (Slot(a), Slot(b), Slot(d)),
                _ => return,
            };
            let a = ctx.cells::<u32>(a);
            if SCALAR {
                E::scalar::<SA>(&mut sum, a, ctx.scalar(b) as u32);
            } else {
                E::lanes::<SA>(&mut sum, a, ctx.cells::<u32>(b));
            }
            ctx.put_cells(d, sum);
        }
    }
}

/// Whether the two types of `dp4a.atype.btype` are signed.
fn signs(inst: &Inst) -> (bool, bool) {
    let mut types = inst.quals.types().map(|ty| ty == Type::S32);
    (types.next().unwrap_or(false), types.next().unwrap_or(false))
}

/// Emits a step, into the run before it where that ends with the sum it starts from.
fn step<E: Engine, const SA: bool>(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let a = l.src(operand(l, inst, 1)?, 32)?;
    let b = l.src(operand(l, inst, 2)?, 32)?;
    let c = l.src(operand(l, inst, 3)?, 32)?;
    let dst = l.dst(operand(l, inst, 0)?)?;
    if a.uniform && b.uniform && c.uniform || dst.uniform {
        shape::emit_tern_cold::<Dp4a<SA, true>>(l, dst, a, b, c);
        return Ok(());
    }
    let a = l.splat::<u32>(a).slot;
    let record = [a.0, b.slot.0, dst.slot.0];
    if b.uniform {
        join::<E, SA, true>(l, record, c);
    } else {
        join::<E, SA, false>(l, record, c);
    }
    Ok(())
}

fn join<E: Engine, const SA: bool, const SCALAR: bool>(
    l: &mut Lowerer,
    record: [u32; RECORD],
    c: Src,
) {
    let joins = |steps: &Steps| {
        let before = l.extra_from(steps.records);
        !c.uniform
            && before.len() == steps.count as usize * RECORD
            && before.last() == Some(&c.slot.0)
    };
    let last = l.ops.last().and_then(|op| op.of::<Run<E, SA, SCALAR>>());
    let joins = l.fuses() && last.is_some_and(|steps| joins(steps));
    let records = l.extra(&record);
    let last = l.ops.last_mut().filter(|_| joins);
    if let Some(steps) = last.and_then(|op| op.of_mut::<Run<E, SA, SCALAR>>()) {
        steps.count += 1;
        return;
    }
    let args = Steps {
        records,
        count: 1,
        c: c.slot,
        scalar: c.uniform,
    };
    l.emit(l.op::<Run<E, SA, SCALAR>>(args));
}

/// Lowers `dp4a`.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    match (signs(inst), l.tier()) {
        ((false, false), _) => shape::tern_cold::<Dp4a<false, false>>(l, inst),
        ((true, false), _) => shape::tern_cold::<Dp4a<true, false>>(l, inst),
        ((false, true), Tier::Baseline) => shape::tern_cold::<Dp4a<false, true>>(l, inst),
        ((true, true), Tier::Baseline) => shape::tern_cold::<Dp4a<true, true>>(l, inst),
        ((false, true), Tier::Avx2) => step::<native::Words, false>(l, inst),
        ((true, true), Tier::Avx2) => step::<native::Words, true>(l, inst),
        ((false, true), Tier::Avx512) => step::<native::Bytes, false>(l, inst),
        ((true, true), Tier::Avx512) => step::<native::Bytes, true>(l, inst),
    }
}
