//! `cp.async`: copies from global to shared memory (PTX ISA 9.7.9.25.3).
//!
//! A copy is done when it is issued, so that every later `wait_group` finds it complete.

use super::{
    Ctx, Handler, MicroOp,
    lane::{Cell, first_of_run, lanes, mask_of},
    ldst, operand,
};
use crate::{
    error::Error,
    lower::{Lowerer, immediate},
    memory::{Bad, Window, Word},
};
use std::marker::PhantomData;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    qual::Qual,
    types::Type,
};

/// One value per lane from global `b` plus `more[0..2]` to shared `a` plus `imm`.
struct Copy<T, C>(PhantomData<(T, C)>);

/// The same where only the first bytes come from memory, as many as the lanes of `c` say; the rest is zero.
struct CopyPart<T, C>(PhantomData<(T, C)>);

/// The same with nothing from memory for the lanes of predicate `c ^ aux`.
struct CopyUnless<T, C>(PhantomData<(T, C)>);

#[inline(always)]
fn to<C: Cell>(ctx: &Ctx, op: &MicroOp, lane: usize) -> u64 {
    C::narrow(ctx.cells::<C>(op.a)[lane].widen().wrapping_add(op.imm)).widen()
}

#[inline(always)]
fn from(ctx: &Ctx, op: &MicroOp, lane: usize) -> u64 {
    ctx.cells::<u64>(op.b)[lane].wrapping_add(offset(op))
}

#[inline(always)]
fn offset(op: &MicroOp) -> u64 {
    u64::from(op.more[0]) | u64::from(op.more[1]) << 32
}

impl<T: Word + 'static, C: Cell> Handler for Copy<T, C> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let step = size_of::<T>() as u64;
        if ctx.mask == !0 {
            let target = first_of_run(ctx.cells::<C>(op.a), step as u32, !0);
            let source = first_of_run(ctx.cells::<u64>(op.b), step as u32, !0);
            let neighbours = target.is_some() && source.is_some();
            let (target, source) = (to::<C>(ctx, op, 0), from(ctx, op, 0));
            if neighbours
                && (target | source).is_multiple_of(step)
                && block(&ctx.shared, target, &ctx.global, source, step)
            {
                return;
            }
            if step == 16 && rows::<C>(ctx, op, 0) {
                return;
            }
        }
        each::<T, C>(ctx, op, |ctx, lane| ctx.global.load(from(ctx, op, lane)));
    }
}

/// 16 bytes for each lane, or zeros for those of `zero`; `false` if an address is not fine.
#[inline(always)]
fn rows<C: Cell>(ctx: &Ctx, op: &MicroOp, zero: u32) -> bool {
    let targets = lanes(|i| to::<C>(ctx, op, i));
    // Where nothing is read, any address will do.
    let first = from(ctx, op, (!zero).trailing_zeros() as usize & 31);
    let sources = lanes(|i| {
        let own = from(ctx, op, i);
        if zero >> i & 1 != 0 { first } else { own }
    });
    ctx.shared.copy_rows(&targets, &ctx.global, &sources, zero)
}

/// 32 neighbouring values at once; `false` if a range is not inside.
#[inline(always)]
fn block(shared: &Window, target: u64, global: &Window, source: u64, step: u64) -> bool {
    match step {
        4 => part::<4>(shared, target, global, source),
        8 => part::<8>(shared, target, global, source),
        _ => part::<16>(shared, target, global, source),
    }
}

#[inline(always)]
fn part<const N: usize>(shared: &Window, target: u64, global: &Window, source: u64) -> bool {
    let mut data = [[0u8; N]; 32];
    shared.holds(target, 32 * N as u64)
        && global.read_block(source, &mut data)
        && shared.write_block(target, &data)
}

impl<T: Word + Bytes + 'static, C: Cell> Handler for CopyPart<T, C> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let bytes = ctx.cells::<u32>(op.c);
        let none = mask_of(|i| bytes[i] == 0);
        let all = mask_of(|i| bytes[i] >= 16);
        if size_of::<T>() == 16
            && ctx.mask == !0
            && none | all == !0
            && all != 0
            && rows::<C>(ctx, op, none)
        {
            return;
        }
        each::<T, C>(ctx, op, |ctx, lane| {
            let wanted = ctx.cells::<u32>(op.c)[lane] as usize;
            first_bytes(&ctx.global, from(ctx, op, lane), wanted)
        });
    }
}

impl<T: Word + 'static, C: Cell> Handler for CopyUnless<T, C> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let ignored = ctx.pred(op.c) ^ op.aux;
        if size_of::<T>() == 16 && ctx.mask == !0 && ignored != !0 && rows::<C>(ctx, op, ignored) {
            return;
        }
        each::<T, C>(ctx, op, |ctx, lane| {
            if ignored >> lane & 1 != 0 {
                return Ok(T::default());
            }
            ctx.global.load(from(ctx, op, lane))
        });
    }
}

/// Stores what `read` gives for each active lane.
#[inline(always)]
fn each<T: Word, C: Cell>(
    ctx: &mut Ctx,
    op: &MicroOp,
    read: impl Fn(&Ctx, usize) -> Result<T, Bad>,
) {
    let mut left = ctx.mask;
    while left != 0 {
        let lane = left.trailing_zeros();
        left &= left - 1;
        let value = match read(ctx, lane as usize) {
            Ok(value) => value,
            Err(bad) => {
                let address = from(ctx, op, lane as usize);
                ctx.refuse(op, bad, lane, address, size_of::<T>() as u32);
                T::default()
            }
        };
        let address = to::<C>(ctx, op, lane as usize);
        if let Err(bad) = ctx.shared.store(address, value) {
            ctx.refuse(op, bad, lane, address, size_of::<T>() as u32);
        }
    }
}

/// A value made of bytes.
trait Bytes: Sized {
    fn from_bytes(bytes: [u8; 16]) -> Self;
}

impl Bytes for u32 {
    fn from_bytes(bytes: [u8; 16]) -> u32 {
        <[u64; 2]>::from_bytes(bytes)[0] as u32
    }
}

impl Bytes for u64 {
    fn from_bytes(bytes: [u8; 16]) -> u64 {
        <[u64; 2]>::from_bytes(bytes)[0]
    }
}

impl Bytes for [u64; 2] {
    fn from_bytes(bytes: [u8; 16]) -> [u64; 2] {
        let all = u128::from_le_bytes(bytes);
        [all as u64, (all >> 64) as u64]
    }
}

/// The first `wanted` bytes of a value, and zeros.
fn first_bytes<T: Word + Bytes>(global: &Window, address: u64, wanted: usize) -> Result<T, Bad> {
    let size = size_of::<T>();
    if wanted >= size {
        return global.load(address);
    }
    if wanted > 0 && !address.is_multiple_of(size as u64) {
        return Err(Bad::Align);
    }
    let mut bytes = [0; 16];
    for (i, byte) in bytes.iter_mut().enumerate().take(wanted) {
        *byte = global.load(address.wrapping_add(i as u64))?;
    }
    Ok(T::from_bytes(bytes))
}

/// Lowers `cp.async` and its groups.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |qual| inst.quals.has(qual);
    if !has(Qual::Async) || has(Qual::Bulk) || has(Qual::Mbarrier) {
        return Err(l.unsupported(inst));
    }
    if has(Qual::CommitGroup) || has(Qual::WaitGroup) || has(Qual::WaitAll) {
        return Ok(());
    }
    let size = match operand(l, inst, 2)? {
        Operand::Imm(imm) => immediate(*imm, 64),
        _ => return Err(l.unsupported(inst)),
    };
    let target = ldst::address(l, operand(l, inst, 0)?)?;
    let source = ldst::address(l, operand(l, inst, 1)?)?;
    let b = if source.wide {
        l.splat::<u64>(source.src).slot
    } else {
        return Err(l.refuse("a global address of 32 bits".to_owned()));
    };
    let policy = usize::from(has(Qual::L2CacheHint));
    let part = inst
        .operands
        .get(3)
        .filter(|_| inst.operands.len() > 3 + policy);
    let op = match (size, target.wide) {
        (4, false) => form::<u32, u32>(l, part)?,
        (4, true) => form::<u32, u64>(l, part)?,
        (8, false) => form::<u64, u32>(l, part)?,
        (8, true) => form::<u64, u64>(l, part)?,
        (16, false) => form::<[u64; 2], u32>(l, part)?,
        (16, true) => form::<[u64; 2], u64>(l, part)?,
        _ => return Err(l.unsupported(inst)),
    };
    let a = if target.wide {
        l.splat::<u64>(target.src).slot
    } else {
        l.splat::<u32>(target.src).slot
    };
    let offset = source.offset;
    l.emit(MicroOp {
        a,
        b,
        imm: target.offset,
        more: [offset as u32, (offset >> 32) as u32, 0, 0],
        ..op
    });
    Ok(())
}

fn form<T: Word + Bytes + 'static, C: Cell>(
    l: &mut Lowerer,
    part: Option<&Operand>,
) -> Result<MicroOp, Error> {
    Ok(match part {
        None => l.op::<Copy<T, C>>(),
        Some(operand) if is_pred(l, operand) => {
            let (c, aux) = l.pred(operand)?;
            MicroOp {
                c,
                aux,
                ..l.op::<CopyUnless<T, C>>()
            }
        }
        Some(operand) => {
            let c = l.src32(operand)?;
            MicroOp {
                c,
                ..l.op::<CopyPart<T, C>>()
            }
        }
    })
}

pub(super) fn is_pred(l: &Lowerer, operand: &Operand) -> bool {
    match operand {
        Operand::Reg(reg) | Operand::NotReg(reg) => l.type_of(*reg) == Type::Pred,
        Operand::Imm(_)
        | Operand::Special(_)
        | Operand::Var(..)
        | Operand::Addr(_)
        | Operand::Vec(_)
        | Operand::Pair(_)
        | Operand::List(_)
        | Operand::Label(_)
        | Operand::Func(_)
        | Operand::Sink => false,
    }
}
