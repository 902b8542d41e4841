//! Arithmetic with the carry flag: one bit per lane, in a mask of its own.

use super::super::{Ctx, Handler, Micro, Slot, args, choices, operand};
use crate::{build::Lowerer, error::Error};
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual, types::Type};

choices! {
    enum What {
        Add,
        Sub,
        MadLo,
        MadHi,
    }
}

args! {
    struct Carried {
        dst: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
        /// The mask of the flag.
        flag: Slot,
        what: What,
        /// The flag is added; a difference is short by one where it is clear, as in an adder of `!b`.
        reads: bool,
        writes: bool,
        signed: bool,
        wide: bool,
    }
}

/// One of them.
struct Carry;
impl Handler for Carry {
    type Args = Carried;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Carried>) {
        carry(ctx, op);
    }
}

#[inline(never)]
fn carry(ctx: &mut Ctx, op: &Micro<Carried>) {
    let flags = ctx.mask_at(op.flag);
    let width = if op.wide { 64 } else { 32 };
    let get = |slot: Slot, lane: usize| {
        if op.wide {
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
        let flag = u64::from(op.reads && flags >> lane & 1 != 0);
        let (x, y) = match op.what {
            What::Add | What::Sub => (a, b),
            What::MadLo | What::MadHi => {
                let product = product(a, b, width, op.signed);
                let part = if op.what == What::MadLo {
                    product
                } else {
                    product >> width
                };
                (part as u64 & (u64::MAX >> (64 - width)), get(op.c, lane))
            }
        };
        let (y, flag) = if op.what == What::Sub {
            let whole = if op.reads { flag } else { 1 };
            (!y & (u64::MAX >> (64 - width)), whole)
        } else {
            (y, flag)
        };
        let wide = u128::from(x) + u128::from(y) + u128::from(flag);
        *out = wide as u64;
        new |= ((wide >> width) as u32 & 1) << lane;
    }
    if op.writes {
        ctx.put_mask(op.flag, new);
    }
    if op.wide {
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
    let what = match inst.op {
        Op::Add | Op::Addc => What::Add,
        Op::Sub | Op::Subc => What::Sub,
        Op::Mad | Op::Madc if has(Qual::Hi) => What::MadHi,
        Op::Mad | Op::Madc => What::MadLo,
        _ => return None,
    };
    if !(reads || has(Qual::Cc)) {
        return None;
    }
    let ty = inst.quals.types().next()?;
    Some(emit(l, inst, what, reads, ty))
}

fn emit(l: &mut Lowerer, inst: &Inst, what: What, reads: bool, ty: Type) -> Result<(), Error> {
    let wide = ty.bits() == 64;
    let mut slots = [Slot::SCRATCH; 3];
    for (at, slot) in slots.iter_mut().enumerate().take(inst.operands.len() - 1) {
        let from = operand(l, inst, at + 1)?;
        *slot = if wide { l.src64(from)? } else { l.src32(from)? };
    }
    let [a, b, c] = slots;
    let args = Carried {
        dst: l.dst(operand(l, inst, 0)?)?.slot,
        a,
        b,
        c,
        flag: l.carry_flag(),
        what,
        reads,
        writes: inst.quals.has(Qual::Cc),
        signed: ty.is_signed(),
        wide,
    };
    l.emit(l.cold::<Carry>(args));
    Ok(())
}
