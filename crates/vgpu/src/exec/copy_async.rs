//! `cp.async`: copies from global to shared memory (PTX ISA 9.7.9.25.3).
//!
//! A copy is done when it is issued, so that every later `wait_group` finds it complete.

use super::{
    Ctx, Handler, Micro, MicroOp, Pred, Slot, SpanId, args,
    lane::{Cell, first_of_run, lanes, mask_of},
    ldst, operand,
};
use crate::{
    analysis::immediate,
    build::Lowerer,
    error::Error,
    memory::{Bad, Window, Word},
};
use std::marker::PhantomData;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    qual::Qual,
    types::Type,
};

args! {
    /// From where to where.
    struct Ends {
        /// Addresses of shared memory, and what is added to them.
        to: Slot,
        from: Slot,
        to_offset: u64,
        /// Addresses of global memory.
        from_offset: u64,
    }

    struct PartEnds {
        to: Slot,
        from: Slot,
        to_offset: u64,
        from_offset: u64,
        /// How many bytes come from memory.
        bytes: Slot,
    }

    struct UnlessEnds {
        to: Slot,
        from: Slot,
        to_offset: u64,
        from_offset: u64,
        /// The lanes for which nothing comes from memory.
        ignored: Pred,
    }
}

/// One value per lane from global to shared memory.
struct Copy<T, C>(PhantomData<(T, C)>);

/// The same where only the first bytes come from memory, as many as lanes say; the rest is zero.
struct CopyPart<T, C>(PhantomData<(T, C)>);

/// The same with nothing from memory for the lanes of a predicate.
struct CopyUnless<T, C>(PhantomData<(T, C)>);

impl Ends {
    #[inline(always)]
    fn to<C: Cell>(&self, ctx: &Ctx, lane: usize) -> u64 {
        C::narrow(
            ctx.cells::<C>(self.to)[lane]
                .widen()
                .wrapping_add(self.to_offset),
        )
        .widen()
    }

    #[inline(always)]
    fn from(&self, ctx: &Ctx, lane: usize) -> u64 {
        ctx.cells::<u64>(self.from)[lane].wrapping_add(self.from_offset)
    }
}

impl PartEnds {
    #[inline(always)]
    fn ends(&self) -> Ends {
        Ends {
            to: self.to,
            from: self.from,
            to_offset: self.to_offset,
            from_offset: self.from_offset,
        }
    }
}

impl UnlessEnds {
    #[inline(always)]
    fn ends(&self) -> Ends {
        Ends {
            to: self.to,
            from: self.from,
            to_offset: self.to_offset,
            from_offset: self.from_offset,
        }
    }
}

impl<T: Word + 'static, C: Cell> Handler for Copy<T, C> {
    type Args = Ends;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Ends>) {
        let step = size_of::<T>() as u64;
        if ctx.mask == !0 {
            let target = first_of_run(ctx.cells::<C>(op.to), step as u32, !0);
            let source = first_of_run(ctx.cells::<u64>(op.from), step as u32, !0);
            let neighbours = target.is_some() && source.is_some();
            let (target, source) = (op.to::<C>(ctx, 0), op.from(ctx, 0));
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
        each::<T, C>(ctx, (op.span(), op), |ctx, lane| {
            ctx.global.load(op.from(ctx, lane))
        });
    }
}

/// 16 bytes for each lane, or zeros for those of `zero`; `false` if an address is not fine.
#[inline(always)]
fn rows<C: Cell>(ctx: &Ctx, ends: &Ends, zero: u32) -> bool {
    let targets = lanes(|i| ends.to::<C>(ctx, i));
    // Where nothing is read, any address will do.
    let first = ends.from(ctx, (!zero).trailing_zeros() as usize & 31);
    let sources = lanes(|i| {
        let own = ends.from(ctx, i);
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
    type Args = PartEnds;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<PartEnds>) {
        let ends = &op.ends();
        let bytes = ctx.cells::<u32>(op.bytes);
        let none = mask_of(|i| bytes[i] == 0);
        let all = mask_of(|i| bytes[i] >= 16);
        if size_of::<T>() == 16
            && ctx.mask == !0
            && none | all == !0
            && all != 0
            && rows::<C>(ctx, ends, none)
        {
            return;
        }
        each::<T, C>(ctx, (op.span(), ends), |ctx, lane| {
            let wanted = ctx.cells::<u32>(op.bytes)[lane] as usize;
            first_bytes(&ctx.global, ends.from(ctx, lane), wanted)
        });
    }
}

impl<T: Word + 'static, C: Cell> Handler for CopyUnless<T, C> {
    type Args = UnlessEnds;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<UnlessEnds>) {
        let ends = &op.ends();
        let ignored = ctx.pred(op.ignored);
        let whole = size_of::<T>() == 16 && ctx.mask == !0;
        if whole && ignored != !0 && rows::<C>(ctx, ends, ignored) {
            return;
        }
        each::<T, C>(ctx, (op.span(), ends), |ctx, lane| {
            if ignored >> lane & 1 != 0 {
                return Ok(T::default());
            }
            ctx.global.load(ends.from(ctx, lane))
        });
    }
}

/// Stores what `read` gives for each active lane.
#[inline(always)]
fn each<T: Word, C: Cell>(
    ctx: &mut Ctx,
    (span, ends): (SpanId, &Ends),
    read: impl Fn(&Ctx, usize) -> Result<T, Bad>,
) {
    let mut left = ctx.mask;
    while left != 0 {
        let lane = left.trailing_zeros();
        left &= left - 1;
        let value = match read(ctx, lane as usize) {
            Ok(value) => value,
            Err(bad) => {
                let address = ends.from(ctx, lane as usize);
                ctx.refuse(span, bad, lane, address, size_of::<T>() as u32);
                T::default()
            }
        };
        let address = ends.to::<C>(ctx, lane as usize);
        if let Err(bad) = ctx.shared.store(address, value) {
            ctx.refuse(span, bad, lane, address, size_of::<T>() as u32);
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
    let from = if source.wide {
        l.splat::<u64>(source.src).slot
    } else {
        return Err(l.refuse("a global address of 32 bits".to_owned()));
    };
    let policy = usize::from(has(Qual::L2CacheHint));
    let part = inst
        .operands
        .get(3)
        .filter(|_| inst.operands.len() > 3 + policy);
    if !matches!(size, 4 | 8 | 16) {
        return Err(l.unsupported(inst));
    }
    let part = match part {
        None => Extent::All,
        Some(operand) if is_pred(l, operand) => Extent::Unless(l.pred(operand)?),
        Some(operand) => Extent::Bytes(l.src32(operand)?),
    };
    let to = if target.wide {
        l.splat::<u64>(target.src).slot
    } else {
        l.splat::<u32>(target.src).slot
    };
    let ends = Ends {
        to,
        from,
        to_offset: target.offset,
        from_offset: source.offset,
    };
    let op = match (size, target.wide) {
        (4, false) => form::<u32, u32>(l, ends, part),
        (4, true) => form::<u32, u64>(l, ends, part),
        (8, false) => form::<u64, u32>(l, ends, part),
        (8, true) => form::<u64, u64>(l, ends, part),
        (_, false) => form::<[u64; 2], u32>(l, ends, part),
        (_, true) => form::<[u64; 2], u64>(l, ends, part),
    };
    l.emit(op);
    Ok(())
}

/// How much of a copy comes from memory.
#[derive(Clone, Copy)]
enum Extent {
    All,
    /// So many bytes.
    Bytes(Slot),
    /// Nothing for these lanes.
    Unless(Pred),
}

fn form<T: Word + Bytes + 'static, C: Cell>(l: &Lowerer, ends: Ends, part: Extent) -> MicroOp {
    let Ends {
        to,
        from,
        to_offset,
        from_offset,
    } = ends;
    match part {
        Extent::All => l.op::<Copy<T, C>>(ends),
        Extent::Unless(ignored) => l.op::<CopyUnless<T, C>>(UnlessEnds {
            to,
            from,
            to_offset,
            from_offset,
            ignored,
        }),
        Extent::Bytes(bytes) => l.op::<CopyPart<T, C>>(PartEnds {
            to,
            from,
            to_offset,
            from_offset,
            bytes,
        }),
    }
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
