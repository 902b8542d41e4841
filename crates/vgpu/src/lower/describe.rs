//! What the access of an instruction is, for the checker.

use crate::{
    analysis::roles,
    check::{Access, AccessInfo, MOST, Order, Space},
};
use warpsmith_ptx::{
    ir::{Imm, Inst, Operand},
    op::Op,
    qual::Qual,
    types,
};

/// Which operand of an instruction is an address, and what is done there.
pub(super) fn access(inst: &Inst) -> Option<(usize, AccessInfo)> {
    let has = |word| inst.quals.has(word);
    // Of another proxy: their ops ask the checker themselves.
    if has(Qual::Async) && matches!(inst.op, Op::St | Op::Red) {
        return None;
    }
    let (at, access) = match inst.op {
        Op::Ld | Op::Ldu | Op::Ldmatrix => (1, Access::Read),
        Op::St | Op::Stmatrix => (0, Access::Write),
        Op::Atom => (1, Access::Atomic),
        Op::Red => (0, Access::Atomic),
        Op::Mbarrier => return object(inst),
        Op::Cp if has(Qual::Mbarrier) => return object(inst),
        Op::Cp if has(Qual::Async) && inst.operands.len() >= 3 && !has(Qual::Bulk) => {
            (1, Access::Read)
        }
        _ => return None,
    };
    let matrix = matches!(inst.op, Op::Ldmatrix | Op::Stmatrix);
    let (element, count) = if matrix {
        (16, 1)
    } else if inst.op == Op::Cp {
        match inst.operands.get(2)? {
            Operand::Imm(Imm::Int(bytes)) => (*bytes as u32, 1),
            _ => return None,
        }
    } else {
        let count = [(Qual::V2, 2), (Qual::V4, 4), (Qual::V8, 8)]
            .iter()
            .find(|(qual, _)| has(*qual))
            .map_or(1, |(_, count)| *count);
        (inst.quals.types().last()?.bytes(), count)
    };
    let space = if inst.op == Op::Cp {
        types::Space::Global
    } else {
        match (roles::space(inst), inst.operands.get(at)?) {
            (space, _) if matrix && space == types::Space::Generic => types::Space::Generic,
            (space, _) => space,
        }
    };
    let space = match space {
        types::Space::Global => Space::Global,
        types::Space::Shared => Space::Shared,
        types::Space::Local => Space::Local,
        types::Space::Generic => Space::Generic,
        types::Space::Const => Space::Const,
        types::Space::Param => return None,
    };
    let atomic = access == Access::Atomic;
    let any = |words: &[Qual]| words.iter().any(|word| has(*word));
    let order = Order {
        strong: atomic
            || any(&[
                Qual::Volatile,
                Qual::Relaxed,
                Qual::Acquire,
                Qual::Release,
                Qual::Mmio,
            ]),
        acquire: any(&[Qual::Acquire, Qual::AcqRel]),
        release: any(&[Qual::Release, Qual::AcqRel]),
        cta_scope: has(Qual::Cta),
    };
    let info = AccessInfo {
        space,
        access,
        element,
        count,
        order,
        constant: has(Qual::Nc),
        asynchronous: false,
        copied: inst.op == Op::Cp,
        replaces: atomic && has(Qual::Exch),
        observes: match access {
            Access::Read => order.strong,
            Access::Atomic => inst.op == Op::Atom && inst.operands.first() != Some(&Operand::Sink),
            Access::Write => false,
        },
        depends: false,
        deferred: false,
        object: false,
        consumed: false,
        matrix: matrix.then(|| has(Qual::Trans)),
        rows: [(Qual::X2, 2), (Qual::X4, 4)]
            .iter()
            .find(|(qual, _)| has(*qual))
            .map_or(1, |(_, count)| *count),
        values: [None; MOST],
    };
    Some((at, info))
}

/// What is done to an `mbarrier`: it is written when it begins and ends; all else sees what others do (PTX ISA 9.7.13.15).
fn object(inst: &Inst) -> Option<(usize, AccessInfo)> {
    let has = |word| inst.quals.has(word);
    if has(Qual::PendingCount) || inst.op == Op::Cp && !has(Qual::Arrive) {
        return None;
    }
    let is_address = |operand: &Operand| matches!(operand, Operand::Addr(_));
    let at = inst.operands.iter().position(is_address)?;
    let access = if has(Qual::Init) || has(Qual::Inval) {
        Access::Write
    } else if has(Qual::TestWait) || has(Qual::TryWait) {
        Access::Read
    } else {
        Access::Atomic
    };
    let space = match roles::space(inst) {
        types::Space::Shared => Space::Shared,
        types::Space::Generic => Space::Generic,
        types::Space::Global | types::Space::Local | types::Space::Const | types::Space::Param => {
            return None;
        }
    };
    let info = AccessInfo {
        space,
        access,
        element: 8,
        count: 1,
        order: Order {
            strong: access != Access::Write,
            ..Order::default()
        },
        constant: false,
        asynchronous: false,
        copied: false,
        replaces: false,
        observes: false,
        depends: false,
        deferred: false,
        object: true,
        consumed: true,
        matrix: None,
        rows: 1,
        values: [None; MOST],
    };
    Some((at, info))
}
