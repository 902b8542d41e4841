//! Arithmetic with the carry flag: one bit per lane, in a mask of its own.

use super::super::{Ctx, Handler, MicroOp, operand};
use crate::{error::Error, lower::Lowerer};
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual};

const ADD: u64 = 0;
const SUB: u64 = 1;
const MAD_LO: u64 = 2;
const MAD_HI: u64 = 3;
/// The flag is added; a difference is short by one where it is clear, as in an adder of `!b`.
const READS: u64 = 8;
const WRITES: u64 = 16;
const SIGNED: u64 = 32;
const WIDE: u64 = 64;

/// `imm` says what; the flag's mask is in `more[0]`.
struct Carry;
impl Handler for Carry {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        carry(ctx, op);
    }
}

#[inline(never)]
fn carry(ctx: &mut Ctx, op: &MicroOp) {
    let has = |flag| op.imm & flag != 0;
    let flags = ctx.pred(op.more[0]);
    let width = if has(WIDE) { 64 } else { 32 };
    let get = |slot: u32, lane: usize| {
        if has(WIDE) {
            ctx.cells::<u64>(slot)[lane]
        } else {
            u64::from(ctx.cells::<u32>(slot)[lane])
        }
    };
    let mut out = [0u64; 32];
    let mut new = 0;
    for (lane, out) in out.iter_mut().enumerate() {
        if ctx.mask >> lane & 1 == 0 {
            continue;
        }
        let (a, b) = (get(op.a, lane), get(op.b, lane));
        let flag = u64::from(has(READS) && flags >> lane & 1 != 0);
        let (x, y) = match op.imm & 7 {
            ADD | SUB => (a, b),
            kind => {
                let product = product(a, b, width, has(SIGNED));
                let part = if kind == MAD_LO {
                    product
                } else {
                    product >> width
                };
                (part as u64 & (u64::MAX >> (64 - width)), get(op.c, lane))
            }
        };
        let (y, flag) = if op.imm & 7 == SUB {
            let whole = if has(READS) { flag } else { 1 };
            (!y & (u64::MAX >> (64 - width)), whole)
        } else {
            (y, flag)
        };
        let wide = u128::from(x) + u128::from(y) + u128::from(flag);
        *out = wide as u64;
        new |= ((wide >> width) as u32 & 1) << lane;
    }
    if has(WRITES) {
        ctx.put_mask(op.more[0], new);
    }
    if has(WIDE) {
        ctx.put_cells(op.dst, out);
    } else {
        ctx.put_cells(op.dst, out.map(|x| x as u32));
    }
}

fn product(a: u64, b: u64, width: u32, signed: bool) -> u128 {
    let wide = |x: u64| {
        if !signed {
            u128::from(x)
        } else if width == 64 {
            i128::from(x as i64) as u128
        } else {
            i128::from(x as i32) as u128
        }
    };
    wide(a).wrapping_mul(wide(b))
}

/// `add.cc`, `addc` and the others; `None` for other instructions.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    let has = |word| inst.quals.has(word);
    let reads = matches!(inst.op, Op::Addc | Op::Subc | Op::Madc);
    let kind = match inst.op {
        Op::Add | Op::Addc => ADD,
        Op::Sub | Op::Subc => SUB,
        Op::Mad | Op::Madc if has(Qual::Hi) => MAD_HI,
        Op::Mad | Op::Madc => MAD_LO,
        _ => return None,
    };
    if !(reads || has(Qual::Cc)) {
        return None;
    }
    let ty = inst.quals.types().next()?;
    let flags = [
        (reads, READS),
        (has(Qual::Cc), WRITES),
        (ty.is_signed(), SIGNED),
        (ty.bits() == 64, WIDE),
    ];
    let imm = flags
        .iter()
        .filter(|(set, _)| *set)
        .fold(kind, |all, (_, flag)| all | flag);
    Some(emit(l, inst, imm))
}

fn emit(l: &mut Lowerer, inst: &Inst, imm: u64) -> Result<(), Error> {
    let mut slots = [0; 3];
    for (at, slot) in slots.iter_mut().enumerate().take(inst.operands.len() - 1) {
        let from = operand(l, inst, at + 1)?;
        *slot = if imm & WIDE != 0 {
            l.src64(from)?
        } else {
            l.src32(from)?
        };
    }
    let dst = l.dst(operand(l, inst, 0)?)?.slot;
    let flag = l.carry_flag();
    l.emit(MicroOp {
        dst,
        a: slots[0],
        b: slots[1],
        c: slots[2],
        imm,
        more: [flag, 0, 0, 0],
        ..l.cold::<Carry>()
    });
    Ok(())
}
