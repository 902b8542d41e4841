//! `mbarrier` objects in shared memory (PTX ISA 9.7.13.15), without clusters.
//!
//! The object's 64 bits: pending arrivals (20), expected arrivals (20), pending bytes (23), phase. The
//! token of an arrival is the object before it.

use super::{
    super::{
        Ctx, Handler, MicroOp, Note, Reaches,
        flow::SPIN_COST,
        ldst::{self, At},
        ordered,
    },
    rule::{Rule, apply},
};
use crate::{
    check::ObjectEvent,
    error::{Awaited, Error, FaultKind, Misuse},
    lower::Lowerer,
    memory::{Bad, WINDOW},
};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    types::Space,
};

const COUNT: u64 = (1 << 20) - 1;
const BYTES: u64 = (1 << 23) - 1;

/// What an op does.
mod what {
    pub(super) const INIT: u64 = 0;
    pub(super) const INVAL: u64 = 1;
    pub(super) const ARRIVE: u64 = 2;
    pub(super) const DROP: u64 = 3;
    pub(super) const EXPECT: u64 = 4;
    pub(super) const COMPLETE: u64 = 5;
    pub(super) const TEST: u64 = 6;
    pub(super) const PARITY: u64 = 7;
    /// Bytes to expect stand in `b`, and one arrival follows.
    pub(super) const ARRIVE_EXPECT: u64 = 8;
    pub(super) const DROP_EXPECT: u64 = 9;
    /// Copies of the thread arrive when they are done, which they are; nothing is counted.
    pub(super) const COPIES: u64 = 10;
}

#[derive(Clone, Copy)]
struct Object {
    pending: u64,
    expected: u64,
    bytes: u64,
    phase: u64,
}

impl Object {
    fn of(word: u64) -> Object {
        Object {
            pending: word & COUNT,
            expected: word >> 20 & COUNT,
            bytes: word >> 40 & BYTES,
            phase: word >> 63,
        }
    }

    fn word(self) -> u64 {
        self.pending | self.expected << 20 | self.bytes << 40 | self.phase << 63
    }

    /// Begins the next phase if nothing is pending.
    fn turned(self) -> Object {
        if self.pending != 0 || self.bytes != 0 {
            return self;
        }
        Object {
            pending: self.expected,
            phase: self.phase ^ 1,
            ..self
        }
    }
}

/// What is awaited of the object at an address.
pub(crate) fn phase(address: u64, word: u64) -> Awaited {
    let object = Object::of(word);
    Awaited::Phase {
        address,
        parity: object.phase as u32,
        missing: object.pending as u32,
        expected: object.expected as u32,
        bytes: object.bytes as u32,
    }
}

/// The address in lanes `a` plus `imm >> 8` (64 bits wide where `aux` is 1), a value in lanes `b`; result to
/// `dst` unless `more[0]` is 1; generic addresses if `more[1]` is 1; 64-bit values if `more[2]` is 1.
struct Mbarrier;
impl Handler for Mbarrier {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        mbarrier(ctx, op);
    }
}

#[inline(never)]
fn mbarrier(ctx: &mut Ctx, op: &MicroOp) {
    let mut out = [0u64; 32];
    let mut done = 0u32;
    for lane in 0..32u32 {
        if ctx.mask >> lane & 1 == 0 {
            continue;
        }
        let i = lane as usize;
        let offset = (op.imm as i64 >> 8) as u64;
        let address = if op.aux == 1 {
            ctx.cells::<u64>(op.a)[i].wrapping_add(offset)
        } else {
            u64::from(ctx.cells::<u32>(op.a)[i].wrapping_add(offset as u32))
        };
        let value = if op.more[2] == 1 {
            ctx.cells::<u64>(op.b)[i]
        } else {
            u64::from(ctx.cells::<u32>(op.b)[i])
        };
        match step(ctx, op, lane, address, value) {
            Ok(word) => {
                out[i] = word;
                done |= (word as u32 & 1) << lane;
                if ctx.checker.is_some() {
                    tell(ctx, op, lane, address, word & 1 != 0);
                }
            }
            Err(bad) => ctx.refuse(op, bad, lane, address, 8),
        }
    }
    let test = matches!(op.imm & 0xFF, what::TEST | what::PARITY);
    if test {
        ctx.fuel -= SPIN_COST;
    }
    if op.more[0] == 1 {
        return;
    }
    if test {
        ctx.put_mask(op.dst, done);
    } else {
        ctx.put_cells(op.dst, out);
    }
}

/// Tells the checker what one lane's operation orders.
#[cold]
fn tell(ctx: &mut Ctx, op: &MicroOp, lane: u32, address: u64, done: bool) {
    let inside = if op.more[1] == 1 {
        address.wrapping_sub(ctx.view.own.shared)
    } else {
        address
    };
    let (releases, copies) = (op.more[3] & 1 == 0, op.more[3] & 2 != 0);
    let event = match op.imm & 0xFF {
        what::INIT => ObjectEvent::Init,
        what::INVAL => ObjectEvent::Inval,
        what::TEST | what::PARITY if done => ObjectEvent::Wait { acquires: releases },
        what::ARRIVE | what::DROP | what::ARRIVE_EXPECT | what::DROP_EXPECT | what::COPIES => {
            ObjectEvent::Arrive { releases, copies }
        }
        _ => return,
    };
    ordered::object(ctx, op, lane, inside, event);
}

/// One lane's operation: the result, if it has one.
fn step(ctx: &mut Ctx, op: &MicroOp, lane: u32, address: u64, value: u64) -> Result<u64, Bad> {
    let (window, at) = if op.more[1] == 1 {
        // Objects are in shared memory only.
        let inside = address.wrapping_sub(ctx.view.own.shared);
        if inside >= WINDOW {
            return Err(Bad::Bounds);
        }
        (ctx.shared, inside)
    } else {
        (ctx.shared, address)
    };
    let word: u64 = window.load(at)?;
    let mut object = Object::of(word);
    let mut misuse = None;
    match op.imm & 0xFF {
        what::INIT => {
            let count = value & COUNT;
            if count == 0 || count != value {
                misuse = Some(Misuse::ArrivalCount);
            }
            object = Object {
                pending: count,
                expected: count,
                bytes: 0,
                phase: 0,
            };
        }
        what::INVAL => object = Object::of(0),
        what::EXPECT => object.bytes = object.bytes.wrapping_add(value) & BYTES,
        what::COMPLETE => {
            object.bytes = object.bytes.wrapping_sub(value) & BYTES;
            object = object.turned();
        }
        what::COPIES => return Ok(word),
        what::TEST => return Ok(u64::from(object.phase != value >> 63)),
        what::PARITY => return Ok(u64::from(object.phase != value & 1)),
        kind => {
            let expects = matches!(kind, what::ARRIVE_EXPECT | what::DROP_EXPECT);
            let count = if expects { 1 } else { value };
            if expects {
                object.bytes = object.bytes.wrapping_add(value) & BYTES;
            }
            if count > object.pending {
                misuse = Some(Misuse::Arrivals);
            }
            object.pending = object.pending.saturating_sub(count);
            if matches!(kind, what::DROP | what::DROP_EXPECT) {
                object.expected = object.expected.saturating_sub(count);
            }
            object = object.turned();
        }
    }
    if let Some(misuse) = misuse {
        ctx.fault(op, FaultKind::Misuse(misuse), lane, Some(address));
    }
    window.store(at, object.word())?;
    Ok(word)
}

/// The arrivals that a token says were pending.
struct Pending;
impl Rule for Pending {
    fn f([state, _, _]: [u64; 3], _: u64) -> u64 {
        state & COUNT
    }
}

/// `mbarrier`, and the arrival of `cp.async`, whose copies are done when they are issued; `None` for others.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    let has = |word| inst.quals.has(word);
    if inst.op == Op::Cp {
        if !(has(Qual::Mbarrier) && has(Qual::Arrive)) {
            return None;
        }
        // Without `.noinc` the arrival was added to the pending ones just before.
        let place = inst.operands.first()?;
        let kind = if has(Qual::Noinc) {
            what::ARRIVE
        } else {
            what::COPIES
        };
        return Some(emit(l, inst, kind, None, place, None));
    }
    if inst.op != Op::Mbarrier || has(Qual::SharedCluster) || has(Qual::Cluster) {
        return None;
    }
    if has(Qual::PendingCount) {
        return Some(apply::<Pending>(l, inst, &[64], 0));
    }
    let drop = has(Qual::ArriveDrop);
    let kind = if has(Qual::Init) {
        what::INIT
    } else if has(Qual::Inval) {
        what::INVAL
    } else if (has(Qual::Arrive) || drop) && has(Qual::ExpectTx) {
        if drop {
            what::DROP_EXPECT
        } else {
            what::ARRIVE_EXPECT
        }
    } else if drop {
        what::DROP
    } else if has(Qual::Arrive) {
        what::ARRIVE
    } else if has(Qual::ExpectTx) {
        what::EXPECT
    } else if has(Qual::CompleteTx) {
        what::COMPLETE
    } else if has(Qual::Parity) {
        what::PARITY
    } else {
        what::TEST
    };
    let mut operands = inst.operands.iter();
    let to = match kind {
        what::INIT | what::INVAL | what::EXPECT | what::COMPLETE => None,
        _ if matches!(inst.operands.first(), Some(Operand::Addr(_))) => None,
        _ => operands.next().filter(|to| **to != Operand::Sink),
    };
    let place = operands.next()?;
    Some(emit(l, inst, kind, to, place, operands.next()))
}

fn emit(
    l: &mut Lowerer,
    inst: &Inst,
    kind: u64,
    to: Option<&Operand>,
    place: &Operand,
    value: Option<&Operand>,
) -> Result<(), Error> {
    let generic = match ldst::space_of(l, inst, place) {
        Space::Shared => false,
        Space::Generic => true,
        Space::Global | Space::Local | Space::Const | Space::Param => {
            return Err(l.unsupported(inst));
        }
    };
    let At { src, wide, offset } = ldst::address(l, place)?;
    let a = if wide {
        l.splat::<u64>(src).slot
    } else {
        l.splat::<u32>(src).slot
    };
    let token = kind == what::TEST;
    let b = match value {
        Some(value) if token => l.src64(value)?,
        Some(value) => l.src32(value)?,
        None => {
            let one = l.constant(1);
            l.splat::<u32>(one).slot
        }
    };
    let dst = match to {
        Some(to) => l.dst(to)?.slot,
        None => 0,
    };
    l.emit(MicroOp {
        dst,
        a,
        b,
        imm: kind | offset << 8,
        aux: u32::from(wide),
        more: [
            u32::from(to.is_none()),
            u32::from(generic),
            u32::from(token),
            u32::from(inst.quals.has(Qual::Relaxed)) | u32::from(inst.op == Op::Cp) << 1,
        ],
        ..l.cold::<Mbarrier>()
    });
    l.note(Note::Swaps(Reaches {
        place: if generic {
            ldst::place::GENERIC
        } else {
            ldst::place::SHARED
        },
        wide,
        scalar: false,
        offset,
        bytes: 8,
        object: true,
    }));
    Ok(())
}
