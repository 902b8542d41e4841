//! How instructions of textures and surfaces become ops.

use super::{
    super::{OptSlot, Slot, Words, bulk::Combine, checked, ldst, operand},
    Ask, Asks, Fetch, Fetches, How, Question, Results, TextureShape,
    surface::{Access as SurfaceAccess, Bounds, Formats, Loads, Stores},
};
use crate::{
    build::Lowerer,
    check::{Access, Space},
    error::Error,
    op::Note,
};
use warpsmith_ptx::{
    ir::{Address, Base, Inst, Operand},
    op::Op,
    qual::Qual,
    types::Type,
};

/// Instructions of textures and surfaces.
pub(in crate::exec) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    match inst.op {
        Op::Tex | Op::Tld4 => fetch(l, inst),
        Op::Txq | Op::Suq => ask(l, inst),
        _ => surface(l, inst),
    }
}

fn shape(l: &Lowerer, inst: &Inst) -> Result<TextureShape, Error> {
    let all = [
        (Qual::D1d, TextureShape::D1),
        (Qual::D2d, TextureShape::D2),
        (Qual::D3d, TextureShape::D3),
        (Qual::A1d, TextureShape::A1),
        (Qual::A2d, TextureShape::A2),
        (Qual::Cube, TextureShape::Cube),
        (Qual::Acube, TextureShape::Acube),
    ];
    let found = all.into_iter().find(|(word, _)| inst.quals.has(*word));
    found
        .map(|(_, shape)| shape)
        .ok_or_else(|| l.unsupported(inst))
}

/// The slot of a handle, and those of what names a place, the layer first.
fn place(l: &mut Lowerer, at: &Operand, shape: TextureShape) -> Result<(Slot, Vec<u32>), Error> {
    let Operand::List(parts) = at else {
        return Err(l.refuse("a texture of this form".to_owned()));
    };
    let [handle @ Operand::Reg(_), place] = &parts[..] else {
        return Err(l.refuse("a texture with a sampler of its own".to_owned()));
    };
    let handle = l.src64(handle)?;
    let count = shape.coordinates() + usize::from(shape.is_layered());
    let mut slots = Vec::with_capacity(count + 6);
    for item in ldst::items(place).iter().take(count) {
        slots.push(l.src32(item)?.0);
    }
    if slots.len() != count {
        return Err(l.refuse("a place with too few coordinates".to_owned()));
    }
    Ok((handle, slots))
}

fn fetch(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    let shape = shape(l, inst)?;
    let (handle, mut slots) = place(l, operand(l, inst, 1)?, shape)?;
    let how = match inst.op {
        Op::Tld4 => match () {
            () if has(Qual::R) => How::Red,
            () if has(Qual::G) => How::Green,
            () if has(Qual::B) => How::Blue,
            () => How::Alpha,
        },
        _ if has(Qual::Level) => How::Level,
        _ if has(Qual::Grad) => How::Change,
        _ => How::Finest,
    };
    match how {
        How::Level => slots.push(l.src32(operand(l, inst, 2)?)?.0),
        How::Change => {
            for at in [2, 3] {
                for item in ldst::items(operand(l, inst, at)?)
                    .iter()
                    .take(shape.coordinates())
                {
                    slots.push(l.src32(item)?.0);
                }
            }
        }
        How::Finest | How::Red | How::Green | How::Blue | How::Alpha => {}
    }
    let results = match inst.quals.types().next() {
        Some(Type::F16) => Results::Halves,
        Some(Type::F16x2) => Results::Pairs,
        _ => Results::Words,
    };
    let (vector, resident) = match operand(l, inst, 0)? {
        Operand::Pair(pair) => (&pair.0, Some(&pair.1)),
        vector => (vector, None),
    };
    let resident = match resident {
        Some(resident) => OptSlot::from(l.dst(resident)?.slot),
        None => OptSlot::NONE,
    };
    let from = l.extra(&slots);
    let to = targets(l, vector, 4)?;
    let args = Fetch {
        shape,
        how,
        results,
        by_number: inst.quals.types().nth(1) == Some(Type::S32),
        handle,
        from,
        to,
        resident,
        access: checked::many(l, Space::Global, Access::Read, 16, true),
    };
    l.emit(l.cold::<Fetches>(args));
    Ok(())
}

/// The slots of results of so many bytes each.
fn targets(l: &mut Lowerer, to: &Operand, each: u32) -> Result<Words, Error> {
    let mut slots = Vec::new();
    for item in ldst::items(to) {
        let wide = l.reg_bits(item).is_some_and(|bits| bits > 32);
        if *item != Operand::Sink && wide != (each == 8) {
            return Err(l.refuse("a register wider than what is read".to_owned()));
        }
        slots.push(l.dst(item)?.slot.0);
    }
    Ok(l.extra(&slots))
}

fn ask(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let all = [
        (Qual::Width, Question::Width),
        (Qual::Height, Question::Height),
        (Qual::Depth, Question::Depth),
        (Qual::ArraySize, Question::Layers),
        (Qual::NumMipmapLevels, Question::Levels),
        (Qual::NormalizedCoords, Question::Normalized),
        (Qual::ForceUnnormalizedCoords, Question::Forced),
        (Qual::FilterMode, Question::Filter),
        (Qual::AddrMode0, Question::Address0),
        (Qual::AddrMode1, Question::Address1),
        (Qual::AddrMode2, Question::Address2),
        (Qual::MemoryLayout, Question::Linear),
    ];
    // What `.channel_data_type`, `.channel_order` and `.num_samples` give is not said of CUDA.
    let found = all.into_iter().find(|(word, _)| inst.quals.has(*word));
    let Some((_, question)) = found else {
        return Err(l.unsupported(inst));
    };
    let Operand::Addr(Address {
        base: Base::Reg(reg),
        offset: 0,
    }) = operand(l, inst, 1)?
    else {
        return Err(l.refuse("a handle that is in no register".to_owned()));
    };
    let handle = l.src64(&Operand::Reg(*reg))?;
    let level = match inst.quals.has(Qual::Level) {
        true => OptSlot::from(l.src32(operand(l, inst, 2)?)?),
        false => OptSlot::NONE,
    };
    let args = Ask {
        question,
        surface: inst.op == Op::Suq,
        handle,
        level,
        dst: l.dst(operand(l, inst, 0)?)?.slot,
    };
    l.emit(l.cold::<Asks>(args));
    Ok(())
}

fn surface(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    let loads = inst.op == Op::Suld;
    let (at, value) = if loads { (1, 0) } else { (0, 1) };
    let (at, value) = (operand(l, inst, at)?, operand(l, inst, value)?);
    let shape = shape(l, inst)?;
    let (handle, slots) = place(l, at, shape)?;
    let Some(each) = inst.quals.types().last().map(|ty| ty.bytes()) else {
        return Err(l.unsupported(inst));
    };
    let count = ldst::items(value).len() as u8;
    if each * u32::from(count) > 16 {
        return Err(l.unsupported(inst));
    }
    let by_element = has(Qual::P);
    let combine = match inst.op {
        Op::Sured => reduction(l, inst, by_element)?,
        _ => Combine::Nothing,
    };
    let values = if loads {
        targets(l, value, each)?
    } else {
        let mut slots = Vec::new();
        for item in ldst::items(value) {
            let slot = if each == 8 {
                l.src64(item)?
            } else {
                l.src32(item)?
            };
            slots.push(slot.0);
        }
        l.extra(&slots)
    };
    let access = match inst.op {
        Op::Suld => Access::Read,
        Op::Sured => Access::Atomic,
        _ => Access::Write,
    };
    let args = SurfaceAccess {
        shape,
        bounds: match () {
            () if has(Qual::Clamp) => Bounds::Clamp,
            () if has(Qual::Zero) => Bounds::Zero,
            () => Bounds::Trap,
        },
        each: each as u8,
        count,
        by_element,
        combine,
        handle,
        from: l.extra(&slots),
        values,
        access: checked::many(l, Space::Global, access, 16, true),
    };
    match inst.op {
        Op::Suld => {
            l.emit(l.cold::<Loads>(args));
            return Ok(());
        }
        Op::Sust if by_element => l.emit(l.cold::<Formats>(args)),
        _ => l.emit(l.cold::<Stores>(args)),
    };
    l.note(Note::Changes);
    Ok(())
}

/// What a reduction does: of elements, their type says of what.
fn reduction(l: &Lowerer, inst: &Inst, by_element: bool) -> Result<Combine, Error> {
    let has = |word| inst.quals.has(word);
    let said = if by_element {
        let all = [
            (Qual::Add, Combine::Add),
            (Qual::Min, Combine::Min),
            (Qual::Max, Combine::Max),
            (Qual::And, Combine::And),
            (Qual::Or, Combine::Or),
        ];
        let found = all.into_iter().find(|(word, _)| has(*word));
        found.map(|(_, combine)| combine)
    } else {
        Combine::said(inst)
    };
    said.ok_or_else(|| l.unsupported(inst))
}
