//! `atom` and `red` (PTX ISA 9.7.13.5 and 9.7.13.7).
//!
//! - Active lanes take their turns in lane order. Neighbouring turns at one address are one host atomic that
//!   applies them in that order, which no other thread can tell apart.
//! - Global memory is shared by the worker threads: a compare-exchange of the host, sequentially consistent.
//!   Shared and local memory belong to the one worker of the CTA: a load and a store.
//! - Floats: `add.f32` on global memory flushes subnormals to zero, as PTX says; a NaN result is canonical.
//! - Vectors are one atomic for each element.

use super::{
    Base, Ctx, Handler, Micro, MicroOp, Note, OptSlot, Reaches, Slot, args,
    half::{Bf16, F16},
    lane::{Lane, one_nan},
    ldst::{self, items},
    operand,
};
use crate::op::SPIN_COST;
use crate::{
    build::Lowerer,
    error::{Error, FaultKind, Misuse},
    memory::{Bad, PARAM_BASE, WINDOW, Window, Word},
};
use std::{
    marker::PhantomData,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst},
};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    types::{Space, Type},
};

/// What an atomic makes of the old value. `FLUSH` is for global memory.
trait Change: 'static {
    /// The memory's value.
    type Mem: Memory;
    fn change<const FLUSH: bool>(old: Self::Mem, b: Self::Mem, c: Self::Mem) -> Self::Mem;
}

/// A value that memory changes in one step.
trait Memory: Lane + Word + PartialEq {
    /// Sets `f(old)` and returns old.
    fn update(window: &Window, address: u64, f: impl Fn(Self) -> Self) -> Result<Self, Bad>;
}

impl Memory for u32 {
    #[inline(always)]
    fn update(window: &Window, address: u64, f: impl Fn(u32) -> u32) -> Result<u32, Bad> {
        Ok(update32(window.atomic32(address)?, f))
    }
}

#[inline(always)]
fn update32(place: &AtomicU32, f: impl Fn(u32) -> u32) -> u32 {
    let mut old = place.load(SeqCst);
    loop {
        match place.compare_exchange_weak(old, f(old), SeqCst, SeqCst) {
            Ok(_) => return old,
            Err(now) => old = now,
        }
    }
}

impl Memory for u64 {
    #[inline(always)]
    fn update(window: &Window, address: u64, f: impl Fn(u64) -> u64) -> Result<u64, Bad> {
        let place: &AtomicU64 = window.atomic64(address)?;
        let mut old = place.load(SeqCst);
        loop {
            match place.compare_exchange_weak(old, f(old), SeqCst, SeqCst) {
                Ok(_) => return Ok(old),
                Err(now) => old = now,
            }
        }
    }
}

/// Half of an aligned word, whose other half stays.
impl Memory for u16 {
    #[inline(always)]
    fn update(window: &Window, address: u64, f: impl Fn(u16) -> u16) -> Result<u16, Bad> {
        if !address.is_multiple_of(2) {
            return Err(Bad::Align);
        }
        let shift = 8 * (address & 2) as u32;
        let old = update32(window.atomic32(address & !3)?, |word| {
            let new = f((word >> shift) as u16);
            word & !(0xFFFF << shift) | u32::from(new) << shift
        });
        Ok((old >> shift) as u16)
    }
}

macro_rules! changes {
    ($($name:ident, $mem:ty, |$old:ident, $b:ident, $c:ident| $f:expr;)*) => {$(
        struct $name;
        impl Change for $name {
            type Mem = $mem;
            #[inline(always)]
            fn change<const FLUSH: bool>($old: $mem, $b: $mem, $c: $mem) -> $mem { $f }
        }
    )*};
}

changes! {
    Add32, u32, |old, b, _c| old.wrapping_add(b);
    Add64, u64, |old, b, _c| old.wrapping_add(b);
    And32, u32, |old, b, _c| old & b;
    And64, u64, |old, b, _c| old & b;
    Or32, u32, |old, b, _c| old | b;
    Or64, u64, |old, b, _c| old | b;
    Xor32, u32, |old, b, _c| old ^ b;
    Xor64, u64, |old, b, _c| old ^ b;
    Exch32, u32, |_old, b, _c| b;
    Exch64, u64, |_old, b, _c| b;
    Cas16, u16, |old, b, c| if old == b { c } else { old };
    Cas32, u32, |old, b, c| if old == b { c } else { old };
    Cas64, u64, |old, b, c| if old == b { c } else { old };
    Inc, u32, |old, b, _c| if old >= b { 0 } else { old + 1 };
    Dec, u32, |old, b, _c| if old == 0 || old > b { b } else { old - 1 };
    MinU32, u32, |old, b, _c| old.min(b);
    MinU64, u64, |old, b, _c| old.min(b);
    MaxU32, u32, |old, b, _c| old.max(b);
    MaxU64, u64, |old, b, _c| old.max(b);
    MinS32, u32, |old, b, _c| (old as i32).min(b as i32) as u32;
    MinS64, u64, |old, b, _c| (old as i64).min(b as i64) as u64;
    MaxS32, u32, |old, b, _c| (old as i32).max(b as i32) as u32;
    MaxS64, u64, |old, b, _c| (old as i64).max(b as i64) as u64;
    AddF64, u64, |old, b, _c| {
        one_nan(f64::from_bits(old) + f64::from_bits(b))
    };
    AddF16, u16, |old, b, _c| F16::from_f32(F16(old).to_f32() + F16(b).to_f32()).0;
    AddBf16, u16, |old, b, _c| Bf16::from_f32(Bf16(old).to_f32() + Bf16(b).to_f32()).0;
    AddF16x2, u32, |old, b, _c| {
        let half = |shift: u32| AddF16::change::<false>((old >> shift) as u16, (b >> shift) as u16, 0);
        u32::from(half(0)) | u32::from(half(16)) << 16
    };
    AddBf16x2, u32, |old, b, _c| {
        let half = |shift: u32| AddBf16::change::<false>((old >> shift) as u16, (b >> shift) as u16, 0);
        u32::from(half(0)) | u32::from(half(16)) << 16
    };
}

struct AddF32;

impl Change for AddF32 {
    type Mem = u32;
    #[inline(always)]
    fn change<const FLUSH: bool>(old: u32, b: u32, _: u32) -> u32 {
        let flush = |bits: u32| {
            let tiny = FLUSH && bits & 0x7F80_0000 == 0;
            if tiny { bits & 0x8000_0000 } else { bits }
        };
        let sum = f32::from_bits(flush(old)) + f32::from_bits(flush(b));
        if sum.is_nan() {
            0x7FFF_FFFF
        } else {
            flush(sum.to_bits())
        }
    }
}

/// Which memory an address is in.
enum Memories {
    Global,
    Own(Window, u64),
}

trait AtomicSpace: 'static {
    const GENERIC: bool = false;
    fn find(ctx: &Ctx, address: u64, lane: u32) -> Memories;
}

struct InGlobal;
struct InShared;
struct InGeneric;

impl AtomicSpace for InGlobal {
    #[inline(always)]
    fn find(_: &Ctx, _: u64, _: u32) -> Memories {
        Memories::Global
    }
}

impl AtomicSpace for InShared {
    #[inline(always)]
    fn find(ctx: &Ctx, address: u64, _: u32) -> Memories {
        Memories::Own(ctx.shared, address)
    }
}

impl AtomicSpace for InGeneric {
    const GENERIC: bool = true;
    #[inline(always)]
    fn find(ctx: &Ctx, address: u64, lane: u32) -> Memories {
        let own = &ctx.view.own;
        let local = own.local(ctx.warp.index * 32 + lane);
        let own = [own.shared, local, PARAM_BASE];
        let own = own.iter().any(|base| address.wrapping_sub(*base) < WINDOW);
        if !own && ctx.peer_at(address).is_none() {
            return Memories::Global;
        }
        let (window, address) = ctx.generic(address, lane);
        Memories::Own(*window, address)
    }
}

args! {
    struct Update {
        /// Where the old values go.
        dst: OptSlot,
        at: Slot,
        /// Whether addresses are of 64 bits.
        wide: bool,
        b: Slot,
        c: Slot,
        offset: u64,
    }
}

/// `X` with the lanes of `b` and `c`.
struct Atomic<X, P>(PhantomData<(X, P)>);

impl<X: Change, P: AtomicSpace> Handler for Atomic<X, P> {
    type Args = Update;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Update>) {
        atomic::<X, P>(ctx, op);
    }
}

/// Scalar code: one instance serves all tiers.
#[inline(never)]
fn atomic<X: Change, P: AtomicSpace>(ctx: &mut Ctx, op: &Micro<Update>) {
    let at: [u64; 32] = if op.wide {
        ctx.cells::<u64>(op.at).map(|at| at.wrapping_add(op.offset))
    } else {
        ctx.cells::<u32>(op.at)
            .map(|at| u64::from(at.wrapping_add(op.offset as u32)))
    };
    let b = ctx
        .cells::<<X::Mem as Lane>::Cell>(op.b)
        .map(X::Mem::from_cell);
    let c = ctx
        .cells::<<X::Mem as Lane>::Cell>(op.c)
        .map(X::Mem::from_cell);
    let mut out = [<X::Mem as Lane>::Cell::default(); 32];
    let mut left = ctx.mask;
    while left != 0 {
        let first = left.trailing_zeros();
        let address = at[first as usize];
        // The turns of the next lanes at the same address.
        let mut end = first + 1;
        while end < 32 && (left >> end & 1 == 0 || at[end as usize] == address) {
            end += 1;
        }
        let turns = left & (u32::MAX >> (32 - end));
        left &= !turns;
        let bytes = size_of::<X::Mem>() as u32;
        if P::GENERIC && Ctx::is_param(address) {
            let kind = FaultKind::Misuse(Misuse::ParameterStore);
            ctx.fault(op.span(), kind, first, Some(address));
            continue;
        }
        let old = match P::find(ctx, address, first) {
            Memories::Global => X::Mem::update(&ctx.global, address, |old| {
                all::<X, true>(old, &b, &c, turns)
            }),
            Memories::Own(window, address) => window.load::<X::Mem>(address).and_then(|old| {
                window
                    .store(address, all::<X, false>(old, &b, &c, turns))
                    .map(|()| old)
            }),
        };
        let mut value = match old {
            Ok(old) => old,
            Err(bad) => {
                ctx.refuse(op.span(), bad, first, address, bytes);
                continue;
            }
        };
        if op.dst == OptSlot::NONE {
            continue;
        }
        let global = matches!(P::find(ctx, address, first), Memories::Global);
        for lane in bits(turns) {
            out[lane] = value.to_cell();
            value = if global {
                X::change::<true>(value, b[lane], c[lane])
            } else {
                X::change::<false>(value, b[lane], c[lane])
            };
        }
    }
    if let Some(dst) = op.dst.get() {
        ctx.put_cells(dst, out);
    }
    ctx.fuel -= SPIN_COST;
}

/// The turns of `lanes`.
#[inline(always)]
fn all<X: Change, const FLUSH: bool>(
    old: X::Mem,
    b: &[X::Mem; 32],
    c: &[X::Mem; 32],
    lanes: u32,
) -> X::Mem {
    bits(lanes).fold(old, |old, lane| X::change::<FLUSH>(old, b[lane], c[lane]))
}

/// The lanes of a mask, lowest first.
fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            lane
        })
    })
}

/// Lowers `atom` and `red`.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let returns = usize::from(inst.op == Op::Atom);
    let Some(ty) = inst.quals.types().next() else {
        return Err(l.unsupported(inst));
    };
    let place = operand(l, inst, returns)?;
    let space = ldst::space_of(l, inst, place);
    let Some(make) = op(inst, ty, space) else {
        return Err(l.unsupported(inst));
    };
    let at = ldst::address(l, place)?;
    let slot = if at.wide {
        l.splat::<u64>(at.src).slot
    } else {
        l.splat::<u32>(at.src).slot
    };
    let values = items(operand(l, inst, returns + 1)?);
    let swap = if inst.quals.has(Qual::Cas) {
        Some(operand(l, inst, returns + 2)?)
    } else {
        None
    };
    for (i, value) in values.iter().enumerate() {
        let b = source(l, value, ty)?;
        let c = match swap {
            Some(swap) => source(l, swap, ty)?,
            None => b,
        };
        let dst = match inst.op {
            Op::Atom => {
                let to = items(operand(l, inst, 0)?).get(i).unwrap_or(&Operand::Sink);
                (to != &Operand::Sink).then_some(to)
            }
            _ => None,
        };
        let dst = match dst {
            Some(to) => Some(l.dst(to)?.slot),
            None => None,
        };
        let offset = at.offset.wrapping_add(i as u64 * u64::from(ty.bytes()));
        let args = Update {
            dst: dst.into(),
            at: slot,
            wide: at.wide,
            b,
            c,
            offset,
        };
        l.emit(make(l, args));
        let reaches = Reaches {
            memory: ldst::memory_of(space),
            at: Base {
                slot,
                scalar: false,
                wide: at.wide,
            },
            offset,
            bytes: ty.bytes(),
            object: false,
        };
        l.note(match dst {
            None => Note::Writes(reaches),
            Some(_) => Note::Swaps(reaches),
        });
    }
    Ok(())
}

fn source(l: &mut Lowerer, operand: &Operand, ty: Type) -> Result<Slot, Error> {
    if ty.bits() > 32 {
        l.src64(operand)
    } else {
        l.src32(operand)
    }
}

/// What makes the op of an atomic.
type Make = fn(&Lowerer, Update) -> MicroOp;

fn op(inst: &Inst, ty: Type, space: Space) -> Option<Make> {
    let has = |qual| inst.quals.has(qual);
    if has(Qual::Async) {
        return None;
    }
    let int = |bits| ty.bits() == bits && (ty.is_int() || matches!(ty, Type::B32 | Type::B64));
    let is = |wanted| ty == wanted;
    Some(if has(Qual::Add) {
        match ty {
            Type::F32 => at::<AddF32>(space)?,
            Type::F64 => at::<AddF64>(space)?,
            Type::F16 => at::<AddF16>(space)?,
            Type::BF16 => at::<AddBf16>(space)?,
            Type::F16x2 => at::<AddF16x2>(space)?,
            Type::BF16x2 => at::<AddBf16x2>(space)?,
            _ if int(32) => at::<Add32>(space)?,
            _ if int(64) => at::<Add64>(space)?,
            _ => return None,
        }
    } else if has(Qual::And) && int(32) {
        at::<And32>(space)?
    } else if has(Qual::And) && int(64) {
        at::<And64>(space)?
    } else if has(Qual::Or) && int(32) {
        at::<Or32>(space)?
    } else if has(Qual::Or) && int(64) {
        at::<Or64>(space)?
    } else if has(Qual::Xor) && int(32) {
        at::<Xor32>(space)?
    } else if has(Qual::Xor) && int(64) {
        at::<Xor64>(space)?
    } else if has(Qual::Exch) && int(32) {
        at::<Exch32>(space)?
    } else if has(Qual::Exch) && int(64) {
        at::<Exch64>(space)?
    } else if has(Qual::Cas) && is(Type::B16) {
        at::<Cas16>(space)?
    } else if has(Qual::Cas) && int(32) {
        at::<Cas32>(space)?
    } else if has(Qual::Cas) && int(64) {
        at::<Cas64>(space)?
    } else if has(Qual::Inc) && int(32) {
        at::<Inc>(space)?
    } else if has(Qual::Dec) && int(32) {
        at::<Dec>(space)?
    } else if has(Qual::Min) {
        match ty {
            Type::U32 => at::<MinU32>(space)?,
            Type::U64 => at::<MinU64>(space)?,
            Type::S32 => at::<MinS32>(space)?,
            Type::S64 => at::<MinS64>(space)?,
            _ => return None,
        }
    } else if has(Qual::Max) {
        match ty {
            Type::U32 => at::<MaxU32>(space)?,
            Type::U64 => at::<MaxU64>(space)?,
            Type::S32 => at::<MaxS32>(space)?,
            Type::S64 => at::<MaxS64>(space)?,
            _ => return None,
        }
    } else {
        return None;
    })
}

fn at<X: Change>(space: Space) -> Option<Make> {
    match space {
        Space::Global => Some(|l, args| l.op::<Atomic<X, InGlobal>>(args)),
        Space::Shared => Some(|l, args| l.op::<Atomic<X, InShared>>(args)),
        Space::Generic => Some(|l, args| l.op::<Atomic<X, InGeneric>>(args)),
        Space::Local | Space::Const | Space::Param => None,
    }
}
