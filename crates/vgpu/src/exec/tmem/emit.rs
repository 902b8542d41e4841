//! How `tcgen05` becomes ops.

use super::{
    moves::{Copies, Copy, Give, Gives, Move, Moves, Relinquishes, Shape, Take, Takes},
    product::{Kind, Mma, Products},
    watch::{Commit, Commits},
};
use crate::{
    build::Lowerer,
    check::{Access, Space},
    error::Error,
    exec::{self, OptPred, Slot, Words, checked, ldst::items, operand},
    op::{Memory, Note},
};
use warpsmith_ptx::{
    ir::{Base, Imm, Inst, Operand},
    op::Op,
    qual::Qual,
    types::Type,
};

/// Lowers an instruction of tensor memory.
pub(in crate::exec) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    match () {
        () if has(Qual::Alloc) => give(l, inst),
        () if has(Qual::Dealloc) => {
            let args = Take {
                address: l.src32(operand(l, inst, 0)?)?,
                columns: l.src32(operand(l, inst, 1)?)?,
            };
            l.emit(l.cold::<Takes>(args));
            Ok(())
        }
        () if has(Qual::RelinquishAllocPermit) => {
            l.emit(l.cold::<Relinquishes>(()));
            Ok(())
        }
        () if has(Qual::Commit) => commit(l, inst),
        () if has(Qual::Mma) => product(l, inst),
        () if has(Qual::Ld) || has(Qual::St) => moves(l, inst),
        () if has(Qual::Cp) => copy(l, inst),
        // What they order is so already.
        () => Ok(()),
    }
}

/// The two words of an address: its register, and what is added.
fn place(l: &mut Lowerer, at: &Operand) -> Result<[u32; 2], Error> {
    match at {
        Operand::Addr(address) => {
            let Base::Reg(reg) = address.base else {
                return Err(l.refuse("an address of tensor memory without a register".to_owned()));
            };
            Ok([l.src32(&Operand::Reg(reg))?.0, address.offset as u32])
        }
        _ => Err(l.refuse("an address of this form".to_owned())),
    }
}

fn words(l: &mut Lowerer, at: &Operand) -> Result<Words, Error> {
    let all = place(l, at)?;
    Ok(l.extra(&all))
}

/// The address of shared memory that an instruction has first: its slot, whether that is of 64 bits, and what is added.
fn in_memory(l: &mut Lowerer, inst: &Inst) -> Result<(Slot, bool, u32), Error> {
    let Operand::Addr(at) = operand(l, inst, 0)? else {
        return Err(l.unsupported(inst));
    };
    let (slot, wide) = match at.base {
        Base::Reg(reg) if l.type_of(reg).bits() == 64 => (l.src64(&Operand::Reg(reg))?, true),
        Base::Reg(reg) => (l.src32(&Operand::Reg(reg))?, false),
        Base::Var(var) => (l.src64(&Operand::Var(var, 0))?, true),
        Base::Absolute => return Err(l.unsupported(inst)),
    };
    Ok((slot, wide, at.offset as u32))
}

fn give(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let (slot, wide, offset) = in_memory(l, inst)?;
    let shared = inst.quals.has(Qual::SharedCta);
    let args = Give {
        to: l.extra(&[slot.0, offset]),
        memory: if shared {
            Memory::Shared
        } else {
            Memory::Generic
        },
        wide,
        columns: l.src32(operand(l, inst, 1)?)?,
        writes: checked::many(l, Space::Shared, Access::Write, 4, true),
    };
    l.emit(l.cold::<Gives>(args));
    l.note(Note::Changes);
    Ok(())
}

/// The products before it are done: the object has one more arrival.
fn commit(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let mut quals = vec![Qual::Arrive];
    if inst.quals.has(Qual::SharedCluster) {
        quals.push(Qual::SharedCluster);
    }
    quals.push(Qual::T(Type::B64));
    let at = operand(l, inst, 0)?.clone();
    if l.is_checked() {
        let (slot, wide, offset) = in_memory(l, inst)?;
        let args = Commit {
            at: slot,
            wide,
            generic: !inst.quals.has(Qual::SharedCluster),
            offset,
        };
        l.emit(l.cold::<Commits>(args));
    }
    let operands = vec![Operand::Sink, at];
    exec::lower(l, &Inst::new(Op::Mbarrier, &quals, operands))
}

fn moves(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    let shapes = [
        (Qual::L32x32b, Shape::L32x32b),
        (Qual::L16x32bx2, Shape::L16x32bx2),
        (Qual::L16x64b, Shape::L16x64b),
        (Qual::L16x128b, Shape::L16x128b),
        (Qual::L16x256b, Shape::L16x256b),
    ];
    let Some((_, shape)) = shapes.into_iter().find(|(word, _)| has(*word)) else {
        return Err(l.unsupported(inst));
    };
    let stores = has(Qual::St);
    let split = match inst.operands.get(if stores { 1 } else { 2 }) {
        Some(Operand::Imm(imm)) if shape == Shape::L16x32bx2 => {
            crate::analysis::immediate(*imm, 32) as u32
        }
        _ => 0,
    };
    let last = inst.operands.len() - 1;
    let (at, registers) = if stores { (0, last) } else { (1, 0) };
    let mut slots = Vec::new();
    for item in items(operand(l, inst, registers)?).to_vec() {
        slots.push(match stores {
            true => l.src32(&item)?.0,
            false => l.dst(&item)?.slot.0,
        });
    }
    let at = operand(l, inst, at)?.clone();
    let args = Move {
        shape,
        stores,
        packed: has(Qual::Pack16b) || has(Qual::Unpack16b),
        at: words(l, &at)?,
        split,
        count: slots.len() as u32,
        registers: l.extra(&slots),
    };
    l.emit(l.cold::<Moves>(args));
    Ok(())
}

fn copy(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    let (rows, bytes, again) = match () {
        () if has(Qual::C128x256b) => (128, 32, 128),
        () if has(Qual::C128x128b) => (128, 16, 128),
        () if has(Qual::Warpx202) => (64, 16, 64),
        () if has(Qual::Warpx201) => (64, 16, 32),
        () if has(Qual::Warpx4) => (32, 16, 32),
        () => return Err(l.unsupported(inst)),
    };
    let args = Copy {
        to: words(l, operand(l, inst, 0)?)?,
        from: l.src64(operand(l, inst, 1)?)?,
        rows,
        bytes,
        again,
        doubled: has(Qual::Warpx201),
        reads: checked::many(l, Space::Shared, Access::Read, 16, true),
    };
    l.emit(l.cold::<Copies>(args));
    l.note(Note::Changes);
    Ok(())
}

fn product(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    let kinds = [
        (Qual::KindF16, Kind::F16),
        (Qual::KindTf32, Kind::Tf32),
        (Qual::KindF8f6f4, Kind::F8f6f4),
        (Qual::KindI8, Kind::I8),
        (Qual::KindMxf8f6f4, Kind::Mxf8f6f4),
        (Qual::KindMxf4, Kind::Mxf4),
        (Qual::KindMxf4nvf4, Kind::Mxf4nvf4),
    ];
    let Some((_, kind)) = kinds.into_iter().find(|(word, _)| has(*word)) else {
        return Err(l.unsupported(inst));
    };
    let blocks = match kind {
        Kind::Mxf8f6f4 => 1,
        Kind::Mxf4 => 2,
        Kind::Mxf4nvf4 if has(Qual::ScaleVec4x) || has(Qual::Block16) => 4,
        Kind::Mxf4nvf4 => 2,
        Kind::F16 | Kind::Tf32 | Kind::F8f6f4 | Kind::I8 => 0,
    };
    let a = operand(l, inst, 1)?.clone();
    let in_tensor = matches!(a, Operand::Addr(_));
    let mut words = place(l, operand(l, inst, 0)?)?.to_vec();
    words.extend(match in_tensor {
        true => place(l, &a)?,
        false => [l.src64(&a)?.0, 0],
    });
    let mut rest = &inst.operands[4..];
    if blocks > 0 {
        for _ in 0..2 {
            let Some((at, others)) = rest.split_first() else {
                return Err(l.unsupported(inst));
            };
            words.extend(place(l, at)?);
            rest = others;
        }
    } else {
        words.extend([0; 4]);
    }
    words.push(l.src64(operand(l, inst, 2)?)?.0);
    words.push(l.src32(operand(l, inst, 3)?)?.0);
    let mut leaves_out = false;
    if let [Operand::Vec(lanes), others @ ..] = rest {
        for item in lanes {
            words.push(l.src32(item)?.0);
        }
        (leaves_out, rest) = (true, others);
    }
    let (adds, scale) = match rest {
        [adds] => (adds, None),
        [adds, Operand::Imm(scale)] => (adds, Some(*scale)),
        _ => return Err(l.unsupported(inst)),
    };
    let adds = match adds {
        Operand::Imm(Imm::Int(0)) => {
            let zero = l.constant(0).slot;
            Some(crate::op::Pred {
                mask: zero,
                flip: 0,
            })
        }
        Operand::Imm(_) => None,
        other => Some(l.pred(other)?),
    };
    let args = Mma {
        kind,
        in_tensor,
        leaves_out,
        adds: OptPred::from(adds),
        halved: scale.map_or(0, |scale| crate::analysis::immediate(scale, 32) as u32),
        blocks,
        words: l.extra(&words),
        reads: checked::many(l, Space::Shared, Access::Read, 16, true),
    };
    l.emit(l.cold::<Products>(args));
    l.note(Note::Changes);
    Ok(())
}
