//! Matrices in shared memory by their descriptors, and products of bits: the parts of `wgmma` that `mma` has not.
//!
//! `analysis/warpgroup.rs` makes them of `wgmma.mma_async`. Register `i` of A has the bytes `16 * (i / 2) + 4 * t` to `+ 3` of
//! row `8 * (i % 2) + g` of the warp, where `g` is the lane's number by 4 and `t` the rest; register `i` of B those of `i % 2` of
//! column `8 * (i / 2) + g`.

use super::{
    Ctx, Handler, Micro, Slot, Words, args, checked, choices, descriptor::Descriptor, operand,
};
use crate::{build::Lowerer, check, error::Error, ids::AccessId, memory::Bad};
use warpsmith_ptx::{
    ir::{Imm, Inst, Operand},
    op::Op,
    qual::Qual,
    types::Type,
};

choices! {
    /// Which matrix of a product.
    enum Which {
        A,
        B,
    }
}

args! {
    struct Load {
        which: Which,
        /// The slots of the registers.
        to: Words,
        count: u32,
        descriptor: Slot,
        /// Bits that are turned over.
        signs: u32,
        transposed: bool,
        access: AccessId,
    }

    struct Bits {
        /// Slots: four of D, four of A, two of B.
        slots: Words,
    }
}

/// Fragments of a matrix.
struct Loads;
impl Handler for Loads {
    type Args = Load;
    fn run(ctx: &mut Ctx, op: &Micro<Load>) {
        let lane = ctx.mask.trailing_zeros() as usize & 31;
        let matrix = Descriptor::of_warpgroup(ctx.cells::<u64>(op.descriptor)[lane]);
        let first = match op.which {
            Which::A => u64::from(ctx.warp.index % 4) * 16,
            Which::B => 0,
        };
        let mut range = (u64::MAX, 0);
        for i in 0..op.count {
            let (row, half) = match op.which {
                Which::A => (8 * (i % 2), i / 2),
                Which::B => (8 * (i / 2), i % 2),
            };
            let (row, byte) = (first + u64::from(row), 16 * u64::from(half));
            let (value, [low, high]) = register(ctx, op, &matrix, row, byte);
            range = (range.0.min(low), range.1.max(high + 4));
            let slot = Slot(ctx.extra(op.to, op.count as usize)[i as usize]);
            ctx.put_cells(slot, value.map(|bits| bits ^ op.signs));
        }
        let (mask, (low, end)) = (ctx.mask, range);
        checked::ask(ctx, op.span(), mask, |checker, at, _| {
            checker.lend(
                at,
                (check::Reader::Product, 0),
                (low, end.saturating_sub(low)),
            );
        });
    }
}

/// One register of all lanes.
fn register(
    ctx: &mut Ctx,
    op: &Micro<Load>,
    matrix: &Descriptor,
    row: u64,
    byte: u64,
) -> ([u32; 32], [u64; 2]) {
    let mut out = [0; 32];
    let mut ends = [u64::MAX, 0];
    let mut reach = |at: &[u64; 32]| {
        ends[0] = at.iter().fold(ends[0], |low, at| low.min(*at));
        ends[1] = at.iter().fold(ends[1], |high, at| high.max(*at));
    };
    if !op.transposed {
        let at = std::array::from_fn(|lane| {
            let (g, t) = (lane as u64 / 4, lane as u64 % 4);
            matrix.along_k(row + g, byte + 4 * t)
        });
        reach(&at);
        look(ctx, op, &at);
        for (lane, to) in out.iter_mut().enumerate() {
            *to = load::<u32>(ctx, op, lane as u32, at[lane]);
        }
        return (out, ends);
    }
    for part in 0..2 {
        let at = std::array::from_fn(|lane| {
            let (g, t) = (lane as u64 / 4, lane as u64 % 4);
            matrix.along_rows(2 * (row + g), byte / 2 + 2 * t + part)
        });
        reach(&at);
        look(ctx, op, &at);
        for (lane, to) in out.iter_mut().enumerate() {
            let half = load::<u16>(ctx, op, lane as u32, at[lane]);
            *to |= u32::from(half) << (16 * part);
        }
    }
    (out, ends)
}

fn load<T: crate::memory::Word>(ctx: &mut Ctx, op: &Micro<Load>, lane: u32, at: u64) -> T {
    if ctx.mask >> lane & 1 == 0 {
        return T::default();
    }
    match ctx.shared.load::<T>(at) {
        Ok(value) => value,
        Err(bad) => {
            ctx.refuse(op.span(), bad, lane, at, size_of::<T>() as u32);
            T::default()
        }
    }
}

/// Tells the checker what is read.
fn look(ctx: &mut Ctx, op: &Micro<Load>, at: &[u64; 32]) {
    if ctx.checker.is_none() {
        return;
    }
    let mask = ctx.mask;
    checked::ask(ctx, op.span(), mask, |checker, who, _| {
        let size = if op.transposed { 2 } else { 4 };
        let active = (0..32).filter(|lane| mask >> lane & 1 != 0);
        for lane in active {
            checker.proxy_reads(who, lane, (at[lane as usize], size));
        }
    });
    let bad = checked::each_of_many(ctx, op.span(), op.access, mask, at);
    if bad != 0 {
        let lane = bad.trailing_zeros();
        ctx.refuse(op.span(), Bad::Bounds, lane, at[lane as usize & 31], 4);
    }
}

/// 16 by 8 sums of the bits that rows and columns of 256 have in common.
struct CommonBits;
impl Handler for CommonBits {
    type Args = Bits;
    fn run(ctx: &mut Ctx, op: &Micro<Bits>) {
        let mut slots = [Slot(0); 10];
        for (slot, word) in slots.iter_mut().zip(ctx.extra(op.slots, 10)) {
            *slot = Slot(*word);
        }
        let cells = |at: usize| *ctx.cells::<u32>(slots[at]);
        let a: [_; 4] = std::array::from_fn(|i| cells(4 + i));
        let b: [_; 2] = std::array::from_fn(|i| cells(8 + i));
        for (i, slot) in slots.into_iter().take(4).enumerate() {
            let mut sums = *ctx.cells::<u32>(slot);
            for (lane, sum) in sums.iter_mut().enumerate() {
                let (g, t) = (lane / 4, lane % 4);
                let column = 2 * t + i % 2;
                for part in 0..4 {
                    for (half, b) in b.iter().enumerate() {
                        let common = a[i / 2 + 2 * half][4 * g + part] & b[4 * column + part];
                        *sum = sum.wrapping_add(common.count_ones());
                    }
                }
            }
            ctx.put_cells(slot, sums);
        }
    }
}

/// `wgmma`; `None` for others.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    let has = |word| inst.quals.has(word);
    if inst.op != Op::Wgmma {
        return None;
    }
    // What they order is so already.
    if has(Qual::Fence) || has(Qual::CommitGroup) || has(Qual::WaitGroup) || has(Qual::Group) {
        return Some(Ok(()));
    }
    if has(Qual::Load) {
        return Some(loads(l, inst));
    }
    if has(Qual::Popc) && !has(Qual::MmaAsync) {
        return Some(bits(l, inst));
    }
    None
}

fn loads(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    let (Operand::Vec(to), Operand::Imm(Imm::Int(negates))) =
        (operand(l, inst, 0)?, operand(l, inst, 2)?)
    else {
        return Err(l.unsupported(inst));
    };
    let mut slots = Vec::with_capacity(to.len());
    for item in to {
        slots.push(l.dst(item)?.slot.0);
    }
    let signs = match inst.quals.types().next() {
        Some(Type::F16 | Type::BF16) => 0x8000_8000,
        Some(Type::E4M3 | Type::E5M2) => 0x8080_8080,
        _ => 0x8000_0000,
    };
    let transposed = has(Qual::Trans);
    let bytes = if transposed { 2 } else { 4 };
    let args = Load {
        which: if has(Qual::A) { Which::A } else { Which::B },
        count: slots.len() as u32,
        to: l.extra(&slots),
        descriptor: l.src64(operand(l, inst, 1)?)?,
        signs: if *negates == 1 { signs } else { 0 },
        transposed,
        access: checked::many(l, check::Space::Shared, check::Access::Read, bytes, true),
    };
    l.emit(l.cold::<Loads>(args));
    Ok(())
}

fn bits(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let mut slots = Vec::with_capacity(10);
    for (at, operand) in inst.operands.iter().enumerate() {
        let Operand::Vec(items) = operand else {
            return Err(l.unsupported(inst));
        };
        for item in items {
            slots.push(match at {
                0 => l.dst(item)?.slot.0,
                _ => l.src32(item)?.0,
            });
        }
    }
    if slots.len() != 10 {
        return Err(l.unsupported(inst));
    }
    let args = Bits {
        slots: l.extra(&slots),
    };
    l.emit(l.cold::<CommonBits>(args));
    Ok(())
}
