//! `mbarrier` objects in shared memory (PTX ISA 9.7.13.16).
//!
//! The object's 64 bits: pending arrivals (20), expected arrivals (20), pending bytes (23), phase. The
//! token of an arrival is the object before it.

use super::{
    super::{
        Base, Ctx, Handler, Micro, Note, OptSlot, Reaches, Slot, args, choices,
        ldst::{self, At, Memory},
        ordered,
    },
    rule::{Rule, apply},
};
use crate::op::SPIN_COST;
use crate::{
    build::Lowerer,
    check::ObjectEvent,
    error::{Awaited, Error, FaultKind, Misuse},
    memory::{Bad, WINDOW, Window},
};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    types::Space,
};

const COUNT: u64 = (1 << 20) - 1;
const BYTES: u64 = (1 << 23) - 1;

choices! {
    /// What an op does.
    enum What {
        Init,
        Inval,
        Arrive,
        Drop,
        Expect,
        Complete,
        Test,
        Parity,
        /// The value is of bytes to expect, and one arrival follows.
        ArriveExpect,
        DropExpect,
        /// Copies of the thread arrive when they are done, which they are; nothing is counted.
        Copies,
    }
}

impl What {
    fn tests(self) -> bool {
        matches!(self, What::Test | What::Parity)
    }
}

args! {
    struct Operation {
        /// Where the results go: lanes, or a mask of a test.
        dst: OptSlot,
        what: What,
        /// Addresses of 64 bits.
        wide: bool,
        generic: bool,
        /// The value has 64 bits.
        wide_value: bool,
        relaxed: bool,
        /// Copies arrive.
        copies: bool,
        at: Slot,
        value: Slot,
        offset: u64,
    }
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

/// The most bytes that may be pending, of which as many may come before they are expected.
const MOST_BYTES: i64 = (1 << 20) - 1;

impl Object {
    /// Bytes that have not come; of those that came too early there are less than none.
    fn missing(self) -> i64 {
        let bytes = self.bytes as i64;
        if bytes > MOST_BYTES + 1 {
            bytes - (1 << 23)
        } else {
            bytes
        }
    }

    /// More, or fewer, bytes are pending; whether that may be.
    fn count(&mut self, more: i64) -> bool {
        let now = self.missing() + more;
        self.bytes = now as u64 & BYTES;
        now.abs() <= MOST_BYTES
    }
}

/// Completes the transactions of so many bytes of the object at an address; whether so many were allowed, and whether the phase
/// ended.
pub(in crate::exec) fn complete(memory: &Window, at: u64, bytes: u32) -> Result<(bool, bool), Bad> {
    let mut object = Object::of(memory.load(at)?);
    let fits = object.count(-i64::from(bytes));
    let turned = object.turned();
    memory.store(at, turned.word())?;
    Ok((fits, turned.phase != object.phase))
}

/// What is awaited of the object at an address.
pub(crate) fn phase(address: u64, word: u64, transactions: Option<[u32; 2]>) -> Awaited {
    let object = Object::of(word);
    Awaited::Phase {
        address,
        parity: object.phase as u32,
        missing: object.pending as u32,
        expected: object.expected as u32,
        bytes: object.missing() as i32,
        transactions,
    }
}

/// An operation on the objects at the lanes' addresses.
struct Mbarrier;
impl Handler for Mbarrier {
    type Args = Operation;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Operation>) {
        mbarrier(ctx, op);
    }
}

#[inline(never)]
fn mbarrier(ctx: &mut Ctx, op: &Micro<Operation>) {
    let mut out = [0u64; 32];
    let mut done = 0u32;
    for lane in 0..32u32 {
        if ctx.mask >> lane & 1 == 0 {
            continue;
        }
        let i = lane as usize;
        let address = if op.wide {
            ctx.cells::<u64>(op.at)[i].wrapping_add(op.offset)
        } else {
            u64::from(ctx.cells::<u32>(op.at)[i].wrapping_add(op.offset as u32))
        };
        let value = if op.wide_value {
            ctx.cells::<u64>(op.value)[i]
        } else {
            u64::from(ctx.cells::<u32>(op.value)[i])
        };
        match step(ctx, op, lane, address, value) {
            Ok(word) => {
                out[i] = word;
                done |= (word as u32 & 1) << lane;
                if ctx.checker.is_some() {
                    tell(ctx, op, lane, address, word & 1 != 0);
                }
            }
            Err(bad) => ctx.refuse(op.span(), bad, lane, address, 8),
        }
    }
    if op.what.tests() {
        ctx.fuel -= SPIN_COST;
    }
    let Some(dst) = op.dst.get() else {
        return;
    };
    if op.what.tests() {
        ctx.put_mask(dst, done);
    } else {
        ctx.put_cells(dst, out);
    }
}

/// Tells the checker what one lane's operation orders.
#[cold]
fn tell(ctx: &mut Ctx, op: &Micro<Operation>, lane: u32, address: u64, done: bool) {
    let (peer, inside) = if op.generic {
        match ctx.peer_at(address) {
            Some(peer) => (Some(peer.index), address - peer.base),
            None => (None, address.wrapping_sub(ctx.view.own.shared)),
        }
    } else {
        (None, address)
    };
    let (releases, copies) = (!op.relaxed, op.copies);
    let event = match op.what {
        What::Init => ObjectEvent::Init,
        What::Inval => ObjectEvent::Inval,
        What::Test | What::Parity if done => ObjectEvent::Wait { acquires: releases },
        What::Arrive | What::Drop | What::ArriveExpect | What::DropExpect | What::Copies => {
            ObjectEvent::Arrive { releases, copies }
        }
        What::Test | What::Parity | What::Expect | What::Complete => return,
    };
    ordered::object(ctx, op.span(), lane, (peer, inside), event);
}

/// One lane's operation: the result, if it has one.
fn step(
    ctx: &mut Ctx,
    op: &Micro<Operation>,
    lane: u32,
    address: u64,
    value: u64,
) -> Result<u64, Bad> {
    let peer = ctx.peer_at(address).map(|peer| peer.index);
    let (window, at) = if op.generic {
        // Objects are in shared memory only, of the CTA or of another one of its cluster.
        let inside = address.wrapping_sub(ctx.view.own.shared);
        let (window, at) = match ctx.peer_at(address) {
            Some(peer) => (&peer.shared, address - peer.base),
            None if inside < WINDOW => ctx.shared_at(inside),
            None => return Err(Bad::Bounds),
        };
        (*window, at)
    } else {
        (ctx.shared, address)
    };
    let word: u64 = window.load(at)?;
    let mut object = Object::of(word);
    let mut misuse = None;
    match op.what {
        What::Init => {
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
        What::Inval => object = Object::of(0),
        What::Expect => {
            if !object.count(value as i64) {
                misuse = Some(Misuse::Transactions);
            }
        }
        What::Complete => {
            if !object.count(-(value as i64)) {
                misuse = Some(Misuse::Transactions);
            }
            object = object.turned();
        }
        What::Copies => return Ok(word),
        What::Test => return Ok(u64::from(object.phase != value >> 63)),
        What::Parity => return Ok(u64::from(object.phase != value & 1)),
        What::Arrive | What::Drop | What::ArriveExpect | What::DropExpect => {
            let expects = matches!(op.what, What::ArriveExpect | What::DropExpect);
            let count = if expects { 1 } else { value };
            if expects && !object.count(value as i64) {
                misuse = Some(Misuse::Transactions);
            }
            if count > object.pending {
                misuse = Some(Misuse::Arrivals);
            }
            object.pending = object.pending.saturating_sub(count);
            if matches!(op.what, What::Drop | What::DropExpect) {
                object.expected = object.expected.saturating_sub(count);
            }
            object = object.turned();
        }
    }
    if let Some(misuse) = misuse {
        ctx.fault(op.span(), FaultKind::Misuse(misuse), lane, Some(address));
    }
    window.store(at, object.word())?;
    if ctx.checker.is_some() {
        let ended = object.phase != word >> 63;
        let bytes = match op.what {
            What::Expect | What::ArriveExpect | What::DropExpect => [value as u32, 0],
            What::Complete => [0, value as u32],
            _ => [0; 2],
        };
        ordered::transacts(ctx, op.span(), lane, (peer, at), (bytes, ended));
    }
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
            What::Arrive
        } else {
            What::Copies
        };
        return Some(emit(l, inst, kind, None, place, None));
    }
    if inst.op != Op::Mbarrier {
        return None;
    }
    if has(Qual::PendingCount) {
        return Some(apply::<Pending>(l, inst, &[64], 0));
    }
    let drop = has(Qual::ArriveDrop);
    let kind = if has(Qual::Init) {
        What::Init
    } else if has(Qual::Inval) {
        What::Inval
    } else if (has(Qual::Arrive) || drop) && has(Qual::ExpectTx) {
        if drop {
            What::DropExpect
        } else {
            What::ArriveExpect
        }
    } else if drop {
        What::Drop
    } else if has(Qual::Arrive) {
        What::Arrive
    } else if has(Qual::ExpectTx) {
        What::Expect
    } else if has(Qual::CompleteTx) {
        What::Complete
    } else if has(Qual::Parity) {
        What::Parity
    } else {
        What::Test
    };
    let mut operands = inst.operands.iter();
    let to = match kind {
        What::Init | What::Inval | What::Expect | What::Complete => None,
        _ if matches!(inst.operands.first(), Some(Operand::Addr(_))) => None,
        _ => operands.next().filter(|to| **to != Operand::Sink),
    };
    let place = operands.next()?;
    Some(emit(l, inst, kind, to, place, operands.next()))
}

fn emit(
    l: &mut Lowerer,
    inst: &Inst,
    what: What,
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
    let slot = if wide {
        l.splat::<u64>(src).slot
    } else {
        l.splat::<u32>(src).slot
    };
    let token = what == What::Test;
    let value = match value {
        Some(value) if token => l.src64(value)?,
        Some(value) => l.src32(value)?,
        None => {
            let one = l.constant(1);
            l.splat::<u32>(one).slot
        }
    };
    let dst = match to {
        Some(to) => Some(l.dst(to)?.slot),
        None => None,
    };
    let args = Operation {
        dst: dst.into(),
        what,
        wide,
        generic,
        wide_value: token,
        relaxed: inst.quals.has(Qual::Relaxed),
        copies: inst.op == Op::Cp,
        at: slot,
        value,
        offset,
    };
    l.emit(l.cold::<Mbarrier>(args));
    l.note(Note::Swaps(Reaches {
        memory: if generic {
            Memory::Generic
        } else {
            Memory::Shared
        },
        at: Base {
            slot,
            scalar: false,
            wide,
        },
        offset,
        bytes: 8,
        object: true,
    }));
    Ok(())
}
