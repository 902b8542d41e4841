//! What the checker is told of bulk copies.

use super::{Target, active};
use crate::{
    build::Lowerer,
    check::{ObjectEvent, Reader},
    exec::{
        AccessId, Base, Ctx, Handler, Micro, Offset, SpanId, args,
        checked::{LaneAddresses, addresses, ask},
    },
};
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual};

/// Whether a range may be accessed.
pub(in crate::exec) fn may(
    ctx: &mut Ctx,
    (span, access): (SpanId, AccessId),
    lane: u32,
    range: (u64, u64),
) -> bool {
    let told = ask(ctx, span, 1 << lane, |checker, at, _| {
        checker.stretch(at, access.0, lane, range)
    });
    told.unwrap_or(true)
}

/// The same of shared memory that the asynchronous proxy reads; `lends` it until the copy's group is waited for.
pub(in crate::exec) fn may_read(
    ctx: &mut Ctx,
    from: (SpanId, AccessId),
    lane: u32,
    range: (u64, u64),
    lends: bool,
) -> bool {
    let told = ask(ctx, from.0, 1 << lane, |checker, at, _| {
        let may = checker.stretch(at, from.1.0, lane, range);
        if may {
            checker.proxy_reads(at, lane, range);
        }
        if lends {
            checker.lend(at, (Reader::Copy, lane), range);
        }
        may
    });
    told.unwrap_or(true)
}

/// Whether a copy may write to a target.
pub(super) fn may_write(
    ctx: &mut Ctx,
    (span, access): (SpanId, AccessId),
    lane: u32,
    (target, len): (&Target, u64),
) -> bool {
    let told = ask(ctx, span, 1 << lane, |checker, at, _| {
        let range = (target.to, len);
        match target.peer {
            None => checker.stretch(at, access.0, lane, range),
            Some(peer) => {
                let done =
                    checker.at_peer(peer, |checker| checker.stretch(at, access.0, lane, range));
                done.unwrap_or_else(|| {
                    let info = at.subject.accesses[access.0 as usize].clone();
                    checker.ended(at, &info, lane, target.to);
                    false
                })
            }
        }
    });
    told.unwrap_or(true)
}

/// A copy has come to a target, and its transactions are complete.
pub(super) fn came(
    ctx: &mut Ctx,
    (span, access): (SpanId, AccessId),
    lane: u32,
    (target, len, ended): (&Target, u64, bool),
) {
    ask(ctx, span, 1 << lane, |checker, at, _| {
        let tell = |checker: &mut crate::check::Checker| {
            checker.transacts(target.object, [0, len as u32], ended);
            checker.comes(at, (access.0, lane), (target.to, len), target.object);
            let event = ObjectEvent::Arrive {
                releases: true,
                copies: false,
            };
            checker.object(at, lane, target.object, event);
        };
        match target.peer {
            None => tell(checker),
            Some(peer) => {
                checker.at_peer(peer, tell);
            }
        }
    });
}

args! {
    struct Noted {
        at: Base,
        offset: Offset,
        bytes: u32,
        /// Lanes that store at all.
        lanes: u32,
        generic: bool,
    }
}

/// Stores to shared memory, which the asynchronous proxy may read later.
struct Notes;
impl Handler for Notes {
    type Args = Noted;
    fn run(ctx: &mut Ctx, op: &Micro<Noted>) {
        let all = addresses(
            ctx,
            LaneAddresses {
                base: op.at,
                offset: op.offset.get(),
            },
        );
        let own = if op.generic { ctx.view.own.shared } else { 0 };
        let bytes = u64::from(op.bytes);
        let (span, size) = (op.span(), u64::from(ctx.view.shared));
        for lane in active(ctx).filter(|lane| op.lanes >> lane & 1 != 0) {
            let inside = all[lane as usize].wrapping_sub(own);
            if inside >= size {
                continue;
            }
            ask(ctx, span, 1 << lane, |checker, at, _| {
                checker.wrote(at, lane, (inside, bytes));
            });
        }
    }
}

/// Whether the asynchronous proxy reads shared memory by an instruction.
pub(crate) fn is_read_by_proxy(inst: &Inst) -> bool {
    let has = |word| inst.quals.has(word);
    match inst.op {
        Op::Cp => {
            has(Qual::Bulk) && has(Qual::SharedCta) && !has(Qual::Global) || has(Qual::BulkGroup)
        }
        Op::Wgmma => has(Qual::Load),
        Op::Tcgen05 => has(Qual::Mma) || has(Qual::Cp),
        _ => false,
    }
}

/// Emits what tells of a store to shared memory.
pub(crate) fn emit_stored(
    l: &mut Lowerer,
    at: Base,
    (offset, bytes): (u64, u32),
    lanes: u32,
    generic: bool,
) {
    l.emit(l.cold::<Notes>(Noted {
        at,
        offset: Offset::new(offset),
        bytes,
        lanes,
        generic,
    }));
}
