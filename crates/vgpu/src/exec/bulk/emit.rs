//! How instructions of the asynchronous proxy become ops.

use super::{
    Bulk, Combine, Copies, Publication, Publishes, Replacement, Replaces, Store, Stores, Way,
};
use crate::{
    build::Lowerer,
    check::{Access, Space},
    error::Error,
    exec::{OptSlot, Words, checked, ldst, operand},
    op::{Memory, Note},
    tensor_map::Field,
};
use warpsmith_ptx::{
    ir::{Base, Inst, Operand},
    op::Op,
    qual::Qual,
};

/// The words of a place.
fn place(l: &mut Lowerer, at: &Operand) -> Result<[u32; super::PLACE], Error> {
    let (base, offset) = match at {
        Operand::Addr(address) => (address.base, address.offset),
        Operand::Reg(reg) => (Base::Reg(*reg), 0),
        _ => return Err(l.refuse("an address of this form".to_owned())),
    };
    let (slot, narrow) = match base {
        Base::Reg(reg) => {
            let narrow = l.type_of(reg).bits() <= 32;
            (l.src64(&Operand::Reg(reg))?, narrow)
        }
        Base::Var(var) => (l.src64(&Operand::Var(var, 0))?, false),
        Base::Absolute => {
            let zero = l.constant(0);
            (l.splat::<u64>(zero).slot, false)
        }
    };
    let offset = offset as u64;
    Ok([slot.0, offset as u32, (offset >> 32) as u32, narrow.into()])
}

fn words(l: &mut Lowerer, at: &Operand) -> Result<Words, Error> {
    let all = place(l, at)?;
    Ok(l.extra(&all))
}

/// The words of a tensor map's place, with those of the coordinates and offsets.
fn tensor(l: &mut Lowerer, at: &Operand, offsets: &[Operand]) -> Result<(Words, u8), Error> {
    let Operand::List(parts) = at else {
        return Err(l.refuse("a tensor of this form".to_owned()));
    };
    let [map, Operand::Vec(coordinates)] = &parts[..] else {
        return Err(l.refuse("a tensor of this form".to_owned()));
    };
    let mut all = place(l, map)?.to_vec();
    for item in coordinates.iter().chain(offsets) {
        all.push(l.src32(item)?.0);
    }
    Ok((l.extra(&all), coordinates.len() as u8))
}

/// Instructions of the asynchronous proxy; `None` for others.
pub(in crate::exec) fn lower(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    let has = |word| inst.quals.has(word);
    match inst.op {
        Op::Cp if has(Qual::Bulk) => Some(copy(l, inst)),
        Op::St | Op::Red if has(Qual::Async) => Some(store(l, inst)),
        Op::Tensormap if has(Qual::Replace) => Some(replace(l, inst)),
        Op::Tensormap if has(Qual::CpFenceproxy) => Some(publish(l, inst)),
        _ => None,
    }
}

fn copy(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    if has(Qual::CommitGroup) || has(Qual::WaitGroup) || has(Qual::Prefetch) {
        return Ok(());
    }
    let combine = match has(Qual::Reduce) {
        false => Combine::Nothing,
        true => Combine::said(inst).ok_or_else(|| l.unsupported(inst))?,
    };
    let nothing = l.extra(&[]);
    let many = |l: &mut Lowerer, space, access| checked::many(l, space, access, 16, true);
    let [source, target] = match (has(Qual::BulkGroup), has(Qual::Global)) {
        (true, _) => [Space::Shared, Space::Global],
        (false, true) => [Space::Global, Space::Shared],
        (false, false) => [Space::Shared, Space::Shared],
    };
    let changes = match combine {
        Combine::Nothing => Access::Write,
        _ => Access::Atomic,
    };
    let (reads, writes) = (many(l, source, Access::Read), many(l, target, changes));
    let mut args = Bulk {
        way: Way::GlobalToShared,
        combine,
        rank: 0,
        offsets: 0,
        to: nothing,
        from: nothing,
        bar: nothing,
        size: OptSlot::NONE,
        mask: OptSlot::NONE,
        reads,
        writes,
    };
    let mut at = 0;
    let mut next = |l: &Lowerer| {
        at += 1;
        operand(l, inst, at - 1)
    };
    let (first, second) = (next(l)?, next(l)?);
    if has(Qual::BulkGroup) {
        args.from = words(l, second)?;
        if has(Qual::Tensor) {
            args.way = Way::SharedToTensor;
            (args.to, args.rank) = tensor(l, first, &[])?;
        } else {
            args.way = Way::SharedToGlobal;
            args.to = words(l, first)?;
            let size = next(l)?;
            args.size = Some(l.src32(size)?).into();
        }
    } else {
        args.to = words(l, first)?;
        if has(Qual::Tensor) {
            args.way = Way::TensorToShared;
            let bar = next(l)?;
            args.bar = words(l, bar)?;
            let offsets = match has(Qual::Im2col).then(|| next(l)).transpose()? {
                Some(Operand::Vec(items)) => &items[..],
                Some(_) | None => &[],
            };
            args.offsets = offsets.len() as u8;
            (args.from, args.rank) = tensor(l, second, offsets)?;
        } else {
            if !has(Qual::Global) {
                args.way = Way::SharedToShared;
            }
            args.from = words(l, second)?;
            let size = next(l)?;
            args.size = Some(l.src32(size)?).into();
            let bar = next(l)?;
            args.bar = words(l, bar)?;
        }
        if has(Qual::MulticastCluster) {
            let mask = next(l)?;
            args.mask = Some(l.src32(mask)?).into();
        }
    }
    l.emit(l.cold::<Copies>(args));
    l.note(Note::Changes);
    Ok(())
}

fn store(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let ty = inst.quals.types().last();
    let Some(each) = ty.map(|ty| ty.bytes()) else {
        return Err(l.unsupported(inst));
    };
    let combine = match inst.op {
        Op::Red => Combine::said(inst).ok_or_else(|| l.unsupported(inst))?,
        _ => Combine::Nothing,
    };
    let (to, bar) = (operand(l, inst, 0)?.clone(), operand(l, inst, 2)?.clone());
    let mut values = Vec::new();
    for item in ldst::items(operand(l, inst, 1)?).to_vec() {
        let slot = if each == 8 {
            l.src64(&item)?
        } else {
            l.src32(&item)?
        };
        values.push(slot.0);
    }
    let count = values.len() as u32;
    let args = Store {
        to: words(l, &to)?,
        bar: words(l, &bar)?,
        values: l.extra(&values),
        count,
        bytes: each * count,
        combine,
        writes: checked::many(l, Space::Shared, Access::Write, 16, true),
    };
    l.emit(l.cold::<Stores>(args));
    l.note(Note::Changes);
    Ok(())
}

/// `tensormap.replace`.
fn replace(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    let fields = [
        (Qual::GlobalAddress, Field::Address),
        (Qual::Rank, Field::Rank),
        (Qual::BoxDim, Field::Box),
        (Qual::GlobalDim, Field::Dim),
        (Qual::GlobalStride, Field::Stride),
        (Qual::ElementStride, Field::Step),
        (Qual::Elemtype, Field::Element),
        (Qual::InterleaveLayout, Field::Interleave),
        (Qual::SwizzleMode, Field::Swizzle),
        (Qual::FillMode, Field::Fill),
    ];
    let found = fields.into_iter().find(|(word, _)| has(*word));
    let Some((_, field)) = found else {
        return Err(l.unsupported(inst));
    };
    let ordinal = match &inst.operands[1..] {
        [Operand::Imm(imm), _] => crate::analysis::immediate(*imm, 32) as u32,
        _ => 0,
    };
    let value = operand(l, inst, inst.operands.len() - 1)?;
    let args = Replacement {
        map: words(l, operand(l, inst, 0)?)?,
        memory: match (has(Qual::Global), has(Qual::SharedCta)) {
            (true, _) => Memory::Global,
            (_, true) => Memory::Shared,
            _ => Memory::Generic,
        },
        field,
        ordinal,
        value: l.src64(value)?,
    };
    l.emit(l.cold::<Replaces>(args));
    l.note(Note::Changes);
    Ok(())
}

/// `tensormap.cp_fenceproxy`.
fn publish(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let args = Publication {
        to: words(l, operand(l, inst, 0)?)?,
        from: words(l, operand(l, inst, 1)?)?,
    };
    l.emit(l.cold::<Publishes>(args));
    l.note(Note::Changes);
    Ok(())
}
