//! The raw layer: any instruction of the ISA table, in the middle of a typed kernel.

use crate::{
    build::with,
    scope::Cta,
    slot::Slot,
    uni::Uni,
    val::{Ty, Val},
};
use std::panic::Location;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    target::Target,
};

impl<'k> Cta<'k> {
    /// The target that is built for.
    pub fn target(&self) -> Target {
        with(|b| b.target)
    }
}

/// Emits an instruction without a typed result. The verifier checks it with the rest of the module.
#[track_caller]
pub fn emit(op: Op, quals: &[Qual], operands: impl IntoIterator<Item = Operand>) {
    let at = Location::caller();
    let inst = Inst::new(op, quals, operands);
    with(|b| b.push_inst(at, &inst));
}

/// Emits an instruction whose first operand is a new register of type `T`. What threads agree on is the caller's claim.
#[track_caller]
pub fn define<'k, T: Ty, U: Uni>(
    op: Op,
    quals: &[Qual],
    sources: impl IntoIterator<Item = Operand>,
) -> Val<'k, T, U> {
    let at = Location::caller();
    let mut slots = Vec::new();
    for source in sources {
        Slot::append(&mut slots, &source);
    }
    Val::from_reg(with(|b| b.def(at, op, quals, T::TYPE, &slots)))
}
