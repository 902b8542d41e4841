//! How `ld` and `st` become ops.

use super::{
    Acquire, Byte, Double, Element, Half, Load, LoadParam, LoadScalar, Memory, ParamTransfer,
    Release, Single, Store, StoreScalar, Transfer, Wide,
};
use crate::{
    Tier,
    analysis::roles,
    build::{Dst, Lowerer, Src},
    error::Error,
    exec::{Base as Addresses, MicroOp, Note, Reaches, Slot, mov, operand},
};
use warpsmith_ptx::{
    ir::{Address, Base, Inst, Operand},
    op::Op,
    qual::Qual,
    types::{Space, Type},
};

/// What an access says apart from its operands.
struct Access {
    space: Space,
    ty: Type,
    count: usize,
    ordered: bool,
}

/// The address operand: a slot plus a constant.
pub(in crate::exec) struct At {
    pub(in crate::exec) src: Src,
    pub(in crate::exec) wide: bool,
    pub(in crate::exec) offset: u64,
}

/// The slot and constant of an address in `space`.
pub(in crate::exec) fn address(l: &mut Lowerer, operand: &Operand) -> Result<At, Error> {
    let Operand::Addr(Address { base, offset }) = operand else {
        return Err(l.refuse("an address of this form".to_owned()));
    };
    let offset = *offset as u64;
    Ok(match base {
        Base::Reg(reg) => {
            let bits = l.type_of(*reg).bits();
            let src = l.src(&Operand::Reg(*reg), bits)?;
            At {
                src,
                wide: bits > 32,
                offset,
            }
        }
        Base::Var(var) => {
            let src = l.src(&Operand::Var(*var, 0), 64)?;
            At {
                src,
                wide: true,
                offset,
            }
        }
        Base::Absolute => At {
            src: l.constant(0),
            wide: true,
            offset,
        },
    })
}

/// The space an access is in: named, or that of the variable it names.
pub(in crate::exec) fn space_of(l: &Lowerer, inst: &Inst, operand: &Operand) -> Space {
    match (roles::space(inst), operand) {
        (
            Space::Generic,
            Operand::Addr(Address {
                base: Base::Var(var),
                ..
            }),
        ) => l.space_of(*var).unwrap_or(Space::Generic),
        (space, _) => space,
    }
}

pub(in crate::exec) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let q = &inst.quals;
    let Some(ty) = q.types().next() else {
        return Err(l.unsupported(inst));
    };
    let is_store = inst.op == Op::St;
    let place = operand(l, inst, usize::from(!is_store))?;
    let access = Access {
        space: space_of(l, inst, place),
        ty,
        count: if q.has(Qual::V8) {
            8
        } else if q.has(Qual::V4) {
            4
        } else if q.has(Qual::V2) {
            2
        } else {
            1
        },
        ordered: [
            Qual::Volatile,
            Qual::Acquire,
            Qual::Relaxed,
            Qual::Mmio,
            Qual::Release,
        ]
        .iter()
        .any(|word| q.has(*word)),
    };
    if access.count == 8 || ty.bytes() > 8 || ty == Type::Pred {
        return Err(l.unsupported(inst));
    }
    if is_store {
        lower_store(l, inst, &access)
    } else {
        lower_load(l, inst, &access)
    }
}

/// The elements of a vector operand, or the operand alone.
pub(in crate::exec) fn items(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vec(items) => items,
        _ => std::slice::from_ref(operand),
    }
}

fn lower_load(l: &mut Lowerer, inst: &Inst, access: &Access) -> Result<(), Error> {
    let to = items(operand(l, inst, 0)?);
    let at = address(l, operand(l, inst, 1)?)?;
    if to.len() != access.count {
        return Err(l.unsupported(inst));
    }
    if access.space == Space::Param {
        return load_params(l, access, to, &at);
    }
    let private = access.space == Space::Local
        || (access.space == Space::Generic && l.layout().local_bytes != 0);
    let scalar = at.src.uniform && !private;
    let slot = if scalar {
        at.src.slot
    } else {
        varying_address(l, &at)
    };
    // Where each element lands, and what is left to do to bring it to its register.
    let mut places = [Slot::SCRATCH; 4];
    let mut after = Vec::new();
    for (k, item) in to.iter().enumerate() {
        let dst = l.dst(item)?;
        let bits = l.reg_bits(item).unwrap_or(access.ty.bits());
        let direct = dst.uniform == scalar && (scalar || (bits > 32) == (access.ty.bits() > 32));
        places[k] = if direct { dst.slot } else { l.temp() };
        let extends = access.ty.is_signed() && access.ty.bits() < bits;
        if !direct || extends {
            after.push((dst, places[k], bits));
        }
    }
    let args = transfer(access, &at, slot, places);
    l.emit(pick(l, access, &at, scalar, (Direction::Load, args)));
    l.note(Note::Reads(reaches(access, &at, slot, scalar)));
    for (dst, from, bits) in after {
        land(l, access.ty, scalar, dst, from, bits);
    }
    if access.ordered {
        l.emit(l.cold::<Acquire>(()));
    }
    Ok(())
}

/// Brings an element to a register of another width or shape, and extends its sign.
fn land(l: &mut Lowerer, ty: Type, scalar: bool, dst: Dst, from: Slot, bits: u32) {
    let src = if ty.is_signed() && ty.bits() < 32 {
        mov::emit_extend(l, from, scalar, ty);
        from
    } else {
        from
    };
    if scalar {
        let wide = if bits > 32 && ty.bits() < 64 && ty.is_signed() {
            let to = l.scalar_for(dst);
            mov::emit_sign_extend(l, to, src);
            to
        } else {
            src
        };
        if dst.uniform {
            if wide != dst.slot {
                mov::emit_copy_scalar(l, dst.slot, wide);
            }
        } else if bits > 32 {
            l.spread::<u64>(dst, wide);
        } else {
            l.spread::<u32>(dst, wide);
        }
    } else if dst.slot != src {
        let small = if ty.bits() < 32 && ty.is_signed() {
            Type::S32
        } else {
            ty
        };
        mov::emit_resize(l, dst.slot, src, small, bits);
    }
}

fn load_params(l: &mut Lowerer, access: &Access, to: &[Operand], at: &At) -> Result<(), Error> {
    let bytes = access.ty.bytes();
    for (k, item) in to.iter().enumerate() {
        let dst = l.dst(item)?;
        let bits = l.reg_bits(item).unwrap_or(access.ty.bits());
        let slot = if at.src.uniform {
            l.scalar_for(dst)
        } else {
            dst.slot
        };
        let args = ParamTransfer {
            dst: slot,
            wide: bits > 32,
            at: Addresses {
                slot: at.src.slot,
                scalar: at.src.uniform,
                wide: at.wide,
            },
            offset: at.offset.wrapping_add(k as u64 * u64::from(bytes)),
            bytes,
            signed: if access.ty.is_signed() { 8 * bytes } else { 0 },
        };
        l.emit(l.cold::<LoadParam>(args));
        if at.src.uniform {
            if bits > 32 {
                l.spread::<u64>(dst, slot);
            } else {
                l.spread::<u32>(dst, slot);
            }
        }
    }
    Ok(())
}

fn varying_address(l: &mut Lowerer, at: &At) -> Slot {
    if at.wide {
        l.splat::<u64>(at.src).slot
    } else {
        l.splat::<u32>(at.src).slot
    }
}

fn lower_store(l: &mut Lowerer, inst: &Inst, access: &Access) -> Result<(), Error> {
    let at = address(l, operand(l, inst, 0)?)?;
    let from = items(operand(l, inst, 1)?);
    if from.len() != access.count || matches!(access.space, Space::Param | Space::Const) {
        return Err(l.unsupported(inst));
    }
    let mut places = [Slot::SCRATCH; 4];
    for (k, item) in from.iter().enumerate() {
        places[k] = if access.ty.bits() > 32 {
            l.src64(item)?
        } else {
            l.src32(item)?
        };
    }
    if inst.quals.has(Qual::Release) {
        l.emit(l.cold::<Release>(()));
    }
    let scalar = at.src.uniform;
    let slot = at.src.slot;
    let args = transfer(access, &at, slot, places);
    l.emit(pick(l, access, &at, scalar, (Direction::Store, args)));
    l.note(Note::Writes(reaches(access, &at, slot, scalar)));
    Ok(())
}

fn transfer(access: &Access, at: &At, slot: Slot, data: [Slot; 4]) -> Transfer {
    Transfer {
        data,
        at: slot,
        memory: memory_of(access.space),
        offset: at.offset,
    }
}

/// Where an access reaches.
fn reaches(access: &Access, at: &At, slot: Slot, scalar: bool) -> Reaches {
    Reaches {
        memory: memory_of(access.space),
        at: Addresses {
            slot,
            scalar,
            wide: at.wide,
        },
        offset: at.offset,
        bytes: access.ty.bytes() * access.count as u32,
        object: false,
    }
}

/// A state space as ops hold it.
pub(in crate::exec) fn memory_of(space: Space) -> Memory {
    match space {
        Space::Global | Space::Const | Space::Param => Memory::Global,
        Space::Shared => Memory::Shared,
        Space::Local => Memory::Local,
        Space::Generic => Memory::Generic,
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Load,
    Store,
}

type Way = (Direction, Transfer);

fn pick(l: &Lowerer, access: &Access, at: &At, scalar: bool, way: Way) -> MicroOp {
    match access.ty.bits() {
        0..=8 => by_count::<Byte>(l, access.count, at, scalar, way),
        9..=16 => by_count::<Half>(l, access.count, at, scalar, way),
        17..=32 if access.count == 4 && l.tier() == Tier::Avx512 => {
            by_count::<Wide>(l, access.count, at, scalar, way)
        }
        17..=32 => by_count::<Single>(l, access.count, at, scalar, way),
        33.. => by_count::<Double>(l, access.count, at, scalar, way),
    }
}

fn by_count<E: Element>(l: &Lowerer, count: usize, at: &At, scalar: bool, way: Way) -> MicroOp {
    match count {
        4 => by_shape::<E, 4>(l, at, scalar, way),
        2 => by_shape::<E, 2>(l, at, scalar, way),
        _ => by_shape::<E, 1>(l, at, scalar, way),
    }
}

fn by_shape<E: Element, const N: usize>(
    l: &Lowerer,
    at: &At,
    scalar: bool,
    (way, args): Way,
) -> MicroOp {
    match (way, scalar, at.wide) {
        (Direction::Load, false, true) => l.op::<Load<E, u64, N>>(args),
        (Direction::Load, false, false) => l.op::<Load<E, u32, N>>(args),
        (Direction::Load, true, true) => l.op::<LoadScalar<E, u64, N>>(args),
        (Direction::Load, true, false) => l.op::<LoadScalar<E, u32, N>>(args),
        (Direction::Store, false, true) => l.op::<Store<E, u64, N>>(args),
        (Direction::Store, false, false) => l.op::<Store<E, u32, N>>(args),
        (Direction::Store, true, true) => l.cold::<StoreScalar<E, u64, N>>(args),
        (Direction::Store, true, false) => l.cold::<StoreScalar<E, u32, N>>(args),
    }
}
