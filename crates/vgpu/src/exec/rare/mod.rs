//! Instructions that are seldom run: each has the shortest code that is right, compiled once.

mod arith;
mod carry;
mod cluster;
mod convert;
mod mbarrier;
pub(super) use mbarrier::complete;
pub(crate) use mbarrier::phase;
mod misc;
mod pieces;
pub(crate) mod print;
mod redux;
mod rule;
mod soft;
mod video;
mod wmma;

use crate::{build::Lowerer, error::Error};
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual, types::Type};

/// What is always lowered here.
pub(super) fn takes(inst: &Inst) -> bool {
    match inst.op {
        Op::Add | Op::Sub | Op::Mad => inst.quals.has(Qual::Cc),
        Op::St | Op::Red => inst.quals.has(Qual::Async),
        Op::Lop3 => inst.operands.len() > 5,
        Op::Cvt => {
            let pack = inst.quals.has(Qual::Pack);
            pack || inst.quals.has(Qual::Sat) && rounds_to_integral(inst)
        }
        Op::Addc
        | Op::Subc
        | Op::Madc
        | Op::Isspacep
        | Op::Testp
        | Op::Mbarrier
        | Op::Wmma
        | Op::Createpolicy
        | Op::Fns => true,
        _ => false,
    }
}

/// Whether it gives an integer value of a floating-point type.
fn rounds_to_integral(inst: &Inst) -> bool {
    let integral = [Qual::Rni, Qual::Rzi, Qual::Rmi, Qual::Rpi];
    integral.iter().any(|word| inst.quals.has(*word)) && inst.quals.types().all(Type::is_float)
}

/// Lowers an instruction that no other family knows; `None` if it is not known here either.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    carry::lower(l, inst)
        .or_else(|| match inst.op {
            Op::Cvt => convert::lower(l, inst),
            _ => None,
        })
        .or_else(|| arith::integer(l, inst))
        .or_else(|| arith::float(l, inst))
        .or_else(|| misc::lower(l, inst))
        .or_else(|| super::bulk::lower(l, inst))
        .or_else(|| super::warpgroup::lower(l, inst))
        .or_else(|| mbarrier::lower(l, inst))
        .or_else(|| cluster::lower(l, inst))
        .or_else(|| wmma::lower(l, inst))
        .or_else(|| redux::lower(l, inst))
        .or_else(|| pieces::lower(l, inst))
        .or_else(|| video::lower(l, inst))
}
