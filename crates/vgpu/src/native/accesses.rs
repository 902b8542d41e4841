//! Which loads and stores are compiled.

use super::{
    kinds::{Kind, writes},
    shapes::Lanes,
};
use crate::lower::{Lowerer, roles};
use warpsmith_ptx::{
    ir::{Address, Base, Inst, Operand},
    qual::Qual,
    types::{Space, Type},
};

/// A load or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) shared: bool,
    /// Of an element: 1, 2, 4 or 8.
    pub(super) bytes: u32,
    pub(super) signed: bool,
    pub(super) count: u32,
}

/// The elements of a vector operand, or the operand alone.
pub(super) fn items(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vec(items) => items,
        _ => std::slice::from_ref(operand),
    }
}

/// Whether a loaded element lands in a register as it is.
pub(super) fn lands(l: &Lowerer<'_>, item: &Operand, access: Access) -> bool {
    let bits = 8 * access.bytes;
    let Operand::Reg(reg) = item else {
        return matches!(item, Operand::Sink);
    };
    let own = l.type_of(*reg).bits();
    writes(l, Some(item), bits) && (own <= 32 || own == bits)
}

/// The memory of an access that orders nothing, and what it does there.
pub(super) fn plain(l: &Lowerer<'_>, inst: &Inst, place: &Operand) -> Option<(Space, Access)> {
    let q = &inst.quals;
    let Operand::Addr(Address { base, .. }) = place else {
        return None;
    };
    let space = match (roles::space(inst), base) {
        (Space::Generic, Base::Var(var)) => l.space_of(*var)?,
        (space, _) => space,
    };
    let ordered = [
        Qual::Volatile,
        Qual::Acquire,
        Qual::Relaxed,
        Qual::Mmio,
        Qual::Release,
        Qual::V8,
    ]
    .iter()
    .any(|word| q.has(*word));
    let fits = match base {
        Base::Reg(reg) => l.type_of(*reg) != Type::Pred && l.type_of(*reg).bits() >= 32,
        Base::Var(var) => l.layout().address(*var).is_some(),
        Base::Absolute => false,
    };
    let ty = q.types().next()?;
    if ordered || !fits || ty == Type::Pred || ty.bytes() > 8 || inst.operands.len() != 2 {
        return None;
    }
    let count = if q.has(Qual::V4) {
        4
    } else if q.has(Qual::V2) {
        2
    } else {
        1
    };
    let access = Access {
        shared: space == Space::Shared,
        bytes: ty.bytes(),
        signed: ty.is_signed(),
        count,
    };
    Some((space, access))
}

/// What an access does, if it is to global or shared memory and orders nothing.
pub(super) fn access(l: &Lowerer<'_>, inst: &Inst, place: &Operand) -> Option<Access> {
    let (space, access) = plain(l, inst, place)?;
    let known = match space {
        Space::Global | Space::Const | Space::Shared => true,
        // Generic addresses are mostly of global memory: those of other memories are outside of its window.
        Space::Generic => !l.makes_generic(),
        _ => false,
    };
    known.then_some(access)
}

/// Whether an access is one of those that are compiled: of neighbours, or of one place for all lanes.
pub(super) fn is_direct(kind: Kind, inst: &Inst, shapes: &[Lanes]) -> bool {
    let (access, place) = match kind {
        Kind::Load(access) => (access, inst.operands.get(1)),
        Kind::Store(access) => (access, inst.operands.first()),
        _ => return true,
    };
    let shape = match place {
        Some(Operand::Addr(Address {
            base: Base::Reg(reg),
            ..
        })) => shapes[reg.index()],
        _ => Lanes::Affine(0),
    };
    let step = i64::from(access.bytes * access.count);
    let load = matches!(kind, Kind::Load(_));
    match (access.bytes, access.count) {
        // Of one place for all lanes a load takes any, a store one element.
        _ if shape == Lanes::Affine(0) => load || access.count == 1,
        (4, 1 | 2 | 4) | (8, 1) => true,
        (_, 1) => shape == Lanes::Affine(step),
        _ => false,
    }
}
