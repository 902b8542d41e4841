//! `redux.sync` of floats: the least or greatest of the member lanes.

use super::{
    super::{Ctx, Handler, Micro, Slot, args, operand},
    arith::extreme,
    rule::{Cells, CellsAt},
};
use crate::{build::Lowerer, error::Error};
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual, types::Type};

args! {
    struct Extremes {
        dst: Slot,
        /// Whether that is one for the warp.
        scalar: bool,
        a: Slot,
        members: Slot,
        /// The greatest.
        max: bool,
        nan_wins: bool,
        /// Of absolute values.
        abs: bool,
    }
}

/// Lanes over members.
struct Redux;
impl Handler for Redux {
    type Args = Extremes;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Extremes>) {
        redux(ctx, op);
    }
}

#[inline(never)]
fn redux(ctx: &mut Ctx, op: &Micro<Extremes>) {
    let (values, members) = (*ctx.cells::<u32>(op.a), *ctx.cells::<u32>(op.members));
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        if ctx.mask >> lane & 1 == 0 {
            continue;
        }
        let wanted = members[lane] & ctx.mask;
        let all = (0..32).filter(|i| wanted >> i & 1 != 0).map(|i| {
            let value = values[i];
            if op.abs { value & 0x7FFF_FFFF } else { value }
        });
        let pick = |a, b| extreme(a, b, op.max, op.nan_wins);
        // With itself once more: a NaN of one lane alone becomes canonical too.
        let found = all.reduce(pick).unwrap_or(values[lane]);
        *out = pick(found, found);
    }
    if op.scalar {
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
    let to = CellsAt::target(l, operand(l, inst, 0)?)?;
    let args = Extremes {
        dst: to.slot,
        scalar: to.cells == Cells::Scalar,
        a,
        members: b,
        max: has(Qual::Max),
        nan_wins: has(Qual::NaN),
        abs: has(Qual::Abs),
    };
    l.emit(l.cold::<Redux>(args));
    Ok(())
}
