//! `redux.sync` of floats: the least or greatest of the member lanes.

use super::{
    super::{Ctx, Handler, MicroOp, operand},
    arith::extreme,
    rule::{Cells, Place},
};
use crate::{error::Error, lower::Lowerer};
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual, types::Type};

/// Lanes `a` over the members in lanes `b`; `imm`: 1 for the greatest, 2 where a NaN wins, 4 of absolute
/// values; `aux` is 1 for a scalar destination.
struct Redux;
impl Handler for Redux {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        redux(ctx, op);
    }
}

#[inline(never)]
fn redux(ctx: &mut Ctx, op: &MicroOp) {
    let (values, members) = (*ctx.cells::<u32>(op.a), *ctx.cells::<u32>(op.b));
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        if ctx.mask >> lane & 1 == 0 {
            continue;
        }
        let wanted = members[lane] & ctx.mask;
        let all = (0..32).filter(|i| wanted >> i & 1 != 0).map(|i| {
            let value = values[i];
            if op.imm & 4 != 0 {
                value & 0x7FFF_FFFF
            } else {
                value
            }
        });
        let pick = |a, b| extreme(a, b, op.imm & 1 != 0, op.imm & 2 != 0);
        // With itself once more: a NaN of one lane alone becomes canonical too.
        let found = all.reduce(pick).unwrap_or(values[lane]);
        *out = pick(found, found);
    }
    if op.aux == 1 {
        let lane = ctx.mask.trailing_zeros() as usize & 31;
        ctx.set_scalar(op.dst, u64::from(out[lane]));
    } else {
        ctx.put_cells(op.dst, out);
    }
}

/// `redux` with `.f32`; `None` for others.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    if inst.op != Op::Redux || inst.quals.types().next() != Some(Type::F32) {
        return None;
    }
    Some(emit(l, inst))
}

fn emit(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    let a = l.src32(operand(l, inst, 1)?)?;
    let b = l.src32(operand(l, inst, 2)?)?;
    let to = Place::target(l, operand(l, inst, 0)?)?;
    let flags = [(Qual::Max, 1), (Qual::NaN, 2), (Qual::Abs, 4)];
    let imm = flags
        .iter()
        .filter(|(word, _)| has(*word))
        .fold(0, |all, (_, flag)| all | flag);
    l.emit(MicroOp {
        dst: to.slot,
        a,
        b,
        imm,
        aux: u32::from(matches!(to.cells, Cells::Scalar)),
        ..l.cold::<Redux>()
    });
    Ok(())
}
