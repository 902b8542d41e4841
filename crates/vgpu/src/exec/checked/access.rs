//! The ops before and after an access: what the checker says decides which lanes do it.

use super::{ask, taint};
use crate::{
    check::{Access, AccessInfo, Answer, At, Request, Shape, Space, Stored},
    error::Error,
    exec::{
        Ctx, Flow, MicroOp,
        lane::{first_of_run, lanes, mask_of},
        ldst, operand,
    },
    lower::Lowerer,
};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
};

/// The access that description `aux` is of, at addresses `a` plus `imm`: `b` is 1 for scalars and 2 for 64 bits;
/// `more[0]` is the slot where the mask is kept, `more[1]` one more than the slot of the bytes that are copied,
/// and `c` ops are skipped if no lane may do it.
struct Check;
impl Flow for Check {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        let mask = ctx.mask;
        let kept = u64::from(mask) | u64::from(ctx.full) << 32;
        ctx.set_scalar(op.more[0], kept);
        let reading = match op.more[1] {
            0 => mask,
            // A copy of no bytes reads nothing.
            slot => {
                let bytes = ctx.cells::<u32>(slot - 1);
                mask & mask_of(|i| bytes[i] != 0)
            }
        };
        let bad = if reading == 0 || is_plain(ctx, op, reading) {
            0
        } else {
            check_access(ctx, op, reading)
        };
        if bad != 0 {
            ctx.mask = mask & !bad;
            ctx.full = false;
        }
        let skip = if ctx.mask == 0 { op.c as usize } else { 0 };
        std::ptr::from_ref(op).wrapping_add(1 + skip)
    }
}

/// The addresses of all lanes.
#[inline(always)]
fn addresses(ctx: &Ctx, op: &MicroOp) -> [u64; 32] {
    match op.b {
        1 => [scalar_address(ctx, op); 32],
        3 => [scalar_address(ctx, op); 32],
        0 => {
            let at = ctx.cells::<u32>(op.a);
            lanes(|i| u64::from(at[i].wrapping_add(op.imm as u32)))
        }
        _ => {
            let at = ctx.cells::<u64>(op.a);
            lanes(|i| at[i].wrapping_add(op.imm))
        }
    }
}

#[inline(always)]
fn scalar_address(ctx: &Ctx, op: &MicroOp) -> u64 {
    let address = ctx.scalar(op.a).wrapping_add(op.imm);
    if op.b == 1 {
        address & 0xFFFF_FFFF
    } else {
        address
    }
}

/// Where lane 0's access is if the active lanes' are neighbours.
#[inline(always)]
fn run_start(ctx: &Ctx, op: &MicroOp, bytes: u32, mask: u32) -> Option<u64> {
    match op.b {
        0 => {
            let start = first_of_run(ctx.cells::<u32>(op.a), bytes, mask)?;
            Some(u64::from(start.wrapping_add(op.imm as u32)))
        }
        2 => Some(first_of_run(ctx.cells::<u64>(op.a), bytes, mask)?.wrapping_add(op.imm)),
        _ => None,
    }
}

/// Whether an access is as accesses should be; it is noted then.
#[inline(always)]
fn is_plain(ctx: &mut Ctx, op: &MicroOp, mask: u32) -> bool {
    let Some(info) = ctx.program.accesses.get(op.aux as usize) else {
        return true;
    };
    let bytes = info.bytes() as u32;
    let first = mask.trailing_zeros() & 31;
    let beside = (mask >> first).wrapping_add(1) & (mask >> first) == 0;
    let defined = !ctx.warp.tainted
        || !info.values.iter().flatten().any(|slot| {
            let shadow = ctx.cells::<u32>(*slot);
            shadow.iter().fold(0, |all, bits| all | bits) != 0
        });
    let all: [u64; 32];
    let shape = if op.b & 1 != 0 {
        Shape::Same(scalar_address(ctx, op))
    } else if beside && let Some(start) = run_start(ctx, op, bytes, mask) {
        Shape::Run {
            start: start.wrapping_add(u64::from(first * bytes)),
            first,
            count: mask.count_ones(),
        }
    } else {
        all = addresses(ctx, op);
        Shape::Apart(&all)
    };
    let Some(mut checker) = ctx.checker.take() else {
        return true;
    };
    let at = At {
        program: &ctx.program,
        view: &ctx.view,
        warp: ctx.warp.index,
        mask,
        span: op.span,
    };
    let request = Request {
        info,
        number: op.aux,
        defined,
    };
    let stored = StoredBy {
        ctx,
        op,
        info,
        mask,
    };
    let plain = checker.access(&at, &request, shape, &stored);
    ctx.checker = Some(checker);
    if plain && ctx.warp.tainted {
        define(ctx, op);
    }
    plain
}

/// What a load loads is defined.
#[cold]
#[inline(never)]
fn define(ctx: &mut Ctx, op: &MicroOp) {
    let info = &ctx.program.accesses[op.aux as usize];
    if info.access != Access::Read {
        return;
    }
    for slot in info.values.into_iter().flatten() {
        ctx.put_cells(slot, [0u32; 32]);
    }
}

#[inline(never)]
fn check_access(ctx: &mut Ctx, op: &MicroOp, mask: u32) -> u32 {
    let addresses = addresses(ctx, op);
    let verdict = ask(ctx, op, mask, |checker, at, ctx| {
        let info = &at.program.accesses[op.aux as usize];
        let request = Request {
            info,
            number: op.aux,
            defined: false,
        };
        let stored = StoredBy {
            ctx,
            op,
            info,
            mask,
        };
        checker.look(at, &request, &addresses, &stored)
    });
    let Some(Answer { bad, undefined }) = verdict else {
        return 0;
    };
    let info = &ctx.program.accesses[op.aux as usize];
    if info.access == Access::Read {
        let values = info.values;
        if undefined.as_flattened().iter().any(|bits| *bits != 0) {
            taint(ctx);
        }
        if ctx.warp.tainted {
            for (undefined, slot) in undefined.iter().zip(values) {
                if let Some(slot) = slot {
                    ctx.put_cells(slot, *undefined);
                }
            }
        }
    }
    bad
}

/// Nothing is known of what is stored.
struct Unknown;
impl Stored for Unknown {
    fn undefined(&self, _k: usize) -> Option<&[u32; 32]> {
        None
    }

    fn same(&self) -> u32 {
        0
    }
}

/// Describes accesses of an instruction that has many for each lane, for [`each_of_many`].
pub(crate) fn many(l: &mut Lowerer, space: Space, access: Access, bytes: u32) -> u32 {
    l.describe(AccessInfo {
        space,
        access,
        element: bytes,
        count: 1,
        order: Default::default(),
        constant: false,
        asynchronous: false,
        replaces: false,
        values: Default::default(),
    })
}

/// One access of each lane of `mask`, of those that description `aux` is of; the lanes that must not do it.
pub(crate) fn each_of_many(ctx: &mut Ctx, op: &MicroOp, mask: u32, addresses: &[u64; 32]) -> u32 {
    let verdict = ask(ctx, op, mask, |checker, at, _| {
        let request = Request {
            info: &at.program.accesses[op.aux as usize],
            number: op.aux,
            defined: true,
        };
        checker.look(at, &request, addresses, &Unknown)
    });
    verdict.map_or(0, |answer| answer.bad)
}

/// What a store stores, for whoever asks.
struct StoredBy<'a> {
    ctx: &'a Ctx,
    op: &'a MicroOp,
    info: &'a AccessInfo,
    mask: u32,
}

impl Stored for StoredBy<'_> {
    fn undefined(&self, k: usize) -> Option<&[u32; 32]> {
        if !self.ctx.warp.tainted || self.info.access != Access::Write {
            return None;
        }
        let slot = self.info.values.get(k).copied().flatten()?;
        Some(self.ctx.cells(slot))
    }

    fn same(&self) -> u32 {
        if self.info.access != Access::Write || self.info.asynchronous {
            return 0;
        }
        let addresses = addresses(self.ctx, self.op);
        stores_same(self.ctx, self.op, self.info, self.mask, &addresses)
    }
}

/// The lanes of a store that would leave memory as it is, or that store what another lane of theirs stores there.
fn stores_same(
    ctx: &Ctx,
    op: &MicroOp,
    info: &AccessInfo,
    mask: u32,
    addresses: &[u64; 32],
) -> u32 {
    let slots = ctx.extra(op.more[2], info.count as usize);
    let place = match info.space {
        Space::Global | Space::Const => ldst::place::GLOBAL,
        Space::Shared => ldst::place::SHARED,
        Space::Local => ldst::place::LOCAL,
        Space::Generic => ldst::place::GENERIC,
    };
    let value = |lane: usize, slot: u32| match info.element {
        8 => ctx.cells::<u64>(slot)[lane],
        bytes => u64::from(ctx.cells::<u32>(slot)[lane]) & (u64::MAX >> (64 - 8 * bytes.min(8))),
    };
    let mut same = 0;
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        let address = addresses[lane];
        let alone = slots.iter().enumerate().all(|(k, slot)| {
            let at = address.wrapping_add(k as u64 * u64::from(info.element));
            let (window, at) = ldst::window(ctx, place, at, lane as u32);
            let held = match info.element {
                1 => window.load::<u8>(at).map(u64::from),
                2 => window.load::<u16>(at).map(u64::from),
                4 => window.load::<u32>(at).map(u64::from),
                _ => window.load::<u64>(at),
            };
            held == Ok(value(lane, *slot))
        });
        // Lanes of one instruction that store to one place.
        let twins = (0..32).filter(|other| {
            *other != lane && mask >> other & 1 != 0 && addresses[*other] == address
        });
        let mut twins = twins.peekable();
        let has_twin = twins.peek().is_some();
        let agrees = twins.all(|other| {
            slots
                .iter()
                .all(|slot| value(other, *slot) == value(lane, *slot))
        });
        if agrees && (alone || has_twin) {
            same |= 1 << lane;
        }
    }
    same
}

/// The mask that scalar `a` keeps.
struct Restore;
impl Flow for Restore {
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        let kept = ctx.scalar(op.a);
        ctx.mask = kept as u32;
        ctx.full = kept >> 32 != 0;
        std::ptr::from_ref(op).wrapping_add(1)
    }
}

/// Emits the check of the access at operand `at`, and for `cp.async` that of its target; where the first stands.
pub(crate) fn emit_access(
    l: &mut Lowerer,
    inst: &Inst,
    at: usize,
    info: AccessInfo,
) -> Result<usize, Error> {
    let copies = inst.op == Op::Cp;
    let bytes = match inst.operands.get(3) {
        Some(operand @ Operand::Reg(_)) if copies && !inst.quals.has(Qual::L2CacheHint) => {
            Some(operand)
        }
        _ => None,
    };
    let mut size = 0;
    if let Some(operand) = bytes
        && l.reg_bits(operand).is_some_and(|bits| bits == 32)
    {
        size = l.src32(operand)? + 1;
    }
    let stored = stored_values(l, inst, &info)?;
    let source = emit_one(l, operand(l, inst, at)?, info.clone(), size)?;
    l.ops[source].more[2] = stored;
    if copies {
        let info = AccessInfo {
            space: Space::Shared,
            access: Access::Write,
            asynchronous: true,
            constant: false,
            ..info
        };
        // The first check has kept the mask that is restored.
        let target = emit_one(l, operand(l, inst, 0)?, info, 0)?;
        l.ops[target].more[0] = l.spare_scalar();
    }
    Ok(source)
}

/// Where the slots of what a store stores are listed; 0 for anything else.
fn stored_values(l: &mut Lowerer, inst: &Inst, info: &AccessInfo) -> Result<u32, Error> {
    if inst.op != Op::St {
        return Ok(0);
    }
    let items = ldst::items(operand(l, inst, 1)?).to_vec();
    let mut slots = Vec::new();
    for item in &items {
        slots.push(if info.element == 8 {
            l.src64(item)?
        } else {
            l.src32(item)?
        });
    }
    Ok(l.extra(&slots))
}

fn emit_one(l: &mut Lowerer, place: &Operand, info: AccessInfo, size: u32) -> Result<usize, Error> {
    let at = ldst::address(l, place)?;
    let kept = l.kept_mask();
    let aux = l.describe(info);
    Ok(l.emit(MicroOp {
        a: at.src.slot,
        b: u32::from(at.src.uniform) | u32::from(at.wide) << 1,
        imm: at.offset,
        aux,
        more: [kept, size, 0, 0],
        ..l.watch::<Check>()
    }))
}

/// Ends what the check at `at` covers.
pub(crate) fn emit_restore(l: &mut Lowerer, at: usize) {
    let kept = l.kept_mask();
    let end = l.emit(MicroOp {
        a: kept,
        ..l.flow::<Restore>()
    });
    for i in at..end {
        if std::ptr::fn_addr_eq(l.ops[i].run, l.watch::<Check>().run) {
            l.ops[i].c = (end - i - 1) as u32;
        }
    }
}
