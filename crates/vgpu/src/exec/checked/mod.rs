//! The ops by which a checked program asks its checker.

mod place;

pub(super) use place::{LaneAddresses, addresses, bounds, narrow, scalar_address, wide};

use super::{
    AccessId, Base, Ctx, Flow, Micro, MicroOp, Offset, Ops, Slot, SpanId, Words, args, choices,
    copy_async,
    glance::{self, Glimpse},
    lane::{lanes, mask_of},
    ldst, operand, shadows,
    stored::{StoredBy, Unknown},
};
use crate::{
    build::Lowerer,
    check::{Access, AccessInfo, Answer, At, Checker, Request, Space},
    error::Error,
};
use place::{shape, stretch, stretch_of};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
};

/// Calls `f` with the checker, if there is one, for the lanes of `mask`.
#[inline(always)]
pub(super) fn ask<R>(
    ctx: &mut Ctx,
    span: SpanId,
    mask: u32,
    f: impl FnOnce(&mut Checker, &At<'_>, &Ctx) -> R,
) -> Option<R> {
    let mut checker = ctx.checker.take()?;
    let at = At {
        subject: &ctx.program.subject,
        view: &ctx.view,
        warp: ctx.warp.index,
        mask,
        span,
    };
    let result = f(&mut checker, &at, ctx);
    ctx.checker = Some(checker);
    Some(result)
}

args! {
    /// An access that is checked.
    pub(crate) struct Check {
        /// The addresses: lanes or one for the warp, of 32 or 64 bits, and what is added to them.
        at: Slot,
        scalar: bool,
        wide: bool,
        beside: Beside,
        offset: Offset,
        /// Lanes that may access at all.
        lanes: u32,
        access: AccessId,
        /// If a register may be undefined, what comes next is looked at first, and another such op; else so many ops
        /// are left out.
        pub(crate) skip: Ops,
        /// The ops behind them that do the access, for the lanes that may.
        covers: Ops,
        /// As `beside` says.
        words: Words,
    }
}

choices! {
    /// What the words of a check are.
    pub(super) enum Beside {
        Nothing,
        /// The slots of the values of a store.
        Stored,
        /// Where a copy reads what this writes: the slot, whether it is a scalar and of 64 bits, two words that are added,
        /// and what says how much, as in `Part`, or 0.
        Source,
        /// What says how much a copy reads: one more than its slot, what is in it ([`part`]), and the description of the
        /// access to one byte.
        Part,
    }
}

impl Check {
    #[inline(always)]
    pub(super) fn place(&self) -> LaneAddresses {
        LaneAddresses {
            base: Base {
                slot: self.at,
                scalar: self.scalar,
                wide: self.wide,
            },
            offset: self.offset.get(),
        }
    }

    /// What it is an access of.
    pub(super) fn access(&self) -> AccessId {
        self.access
    }

    /// Whether it may be of fewer bytes than it says.
    pub(super) fn is_partial(&self) -> bool {
        self.beside == Beside::Part
    }

    /// The words, where they are of that kind.
    #[inline(always)]
    pub(super) fn words(&self, beside: Beside) -> Option<Words> {
        (self.beside == beside).then_some(self.words)
    }
}

/// The access of a check, and where it stands, if the op is one.
pub(super) fn check_of(op: &MicroOp) -> Option<&Micro<Check>> {
    op.of_flow::<Checked>()
}

/// Looks at an access.
pub(crate) struct Checked;
impl Flow for Checked {
    type Args = Check;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Check>) -> *const MicroOp {
        if op.skip.0 != 0 && ctx.warp.tainted {
            return op.next();
        }
        let mask = ctx.mask & op.lanes;
        if let Some(part) = op.words(Beside::Part) {
            return copy(ctx, op, part, mask);
        }
        let bad = if mask == 0 || is_plain(ctx, op, mask) {
            0
        } else {
            check_access(ctx, op, mask)
        };
        go_on(ctx, op, bad)
    }
}

/// A copy that may be of fewer bytes.
#[inline(always)]
fn copy(ctx: &mut Ctx, op: &Micro<Check>, part: Words, mask: u32) -> *const MicroOp {
    let (reading, part) = shorter(ctx, op, part, mask);
    let mut bad = 0;
    if reading != 0 && !is_plain(ctx, op, reading) {
        bad = check_access(ctx, op, reading);
    }
    if let Some(part) = part {
        bad |= part.bad;
        join(ctx, &part.undefined);
    }
    go_on(ctx, op, bad)
}

/// What comes next, where these lanes must not access.
#[inline(always)]
fn go_on(ctx: &mut Ctx, op: &Micro<Check>, bad: u32) -> *const MicroOp {
    let next = op.skip(op.skip);
    if bad == 0 {
        return next;
    }
    without(ctx, bad, next, op.covers.0 as usize)
}

/// Runs `count` ops from `op` on for the lanes that are not `bad`; what comes behind them.
#[cold]
#[inline(never)]
fn without(ctx: &mut Ctx, bad: u32, op: *const MicroOp, count: usize) -> *const MicroOp {
    let end = op.wrapping_add(count);
    let (mask, full) = (ctx.mask, ctx.full);
    ctx.mask = mask & !bad;
    ctx.full = false;
    if ctx.mask == 0 {
        ctx.warp.copied = None;
    } else {
        ctx.run_until(op, end);
    }
    ctx.mask = mask;
    ctx.full = full;
    end
}

/// What says how much a copy reads.
pub(super) mod part {
    pub(in crate::exec) const BYTES: u32 = 0;
    /// A predicate: nothing where it is true, or where it is false.
    pub(in crate::exec) const NOT: u32 = 1;
    pub(in crate::exec) const ONLY: u32 = 2;
}

/// What was found of lanes that read a part of what they copy.
struct PartlyRead {
    bad: u32,
    /// Undefined bytes.
    undefined: [u32; 32],
}

/// The lanes of a copy that read all of it, and what was found of those that read a part.
#[inline(always)]
fn shorter(
    ctx: &mut Ctx,
    op: &Micro<Check>,
    part: Words,
    mask: u32,
) -> (u32, Option<Box<PartlyRead>>) {
    let &[slot, way, byte] = ctx.extra(part, 3) else {
        return (mask, None);
    };
    let slot = Slot(slot - 1);
    match way {
        part::NOT => return (mask & !ctx.mask_at(slot), None),
        part::ONLY => return (mask & ctx.mask_at(slot), None),
        _ => {}
    }
    let whole = ctx.program.subject.accesses[op.access.0 as usize].bytes() as u32;
    let bytes = ctx.cells::<u32>(slot);
    let all = mask_of(|i| bytes[i] >= whole);
    let none = mask_of(|i| bytes[i] == 0);
    if mask & !(all | none) == 0 {
        return (mask & all, None);
    }
    some_bytes(ctx, op, (slot, AccessId(byte)), mask, whole)
}

/// The same where some lanes read a part.
#[inline(never)]
fn some_bytes(
    ctx: &mut Ctx,
    op: &Micro<Check>,
    (slot, byte_of): (Slot, AccessId),
    mask: u32,
    whole: u32,
) -> (u32, Option<Box<PartlyRead>>) {
    let bytes = *ctx.cells::<u32>(slot);
    let addresses = addresses(ctx, op.place());
    // A copy of no bytes reads nothing; few bytes are aligned as all are.
    let aligned = |i: usize| addresses[i].is_multiple_of(u64::from(whole));
    let all = mask & mask_of(|i| bytes[i] >= whole || bytes[i] != 0 && !aligned(i));
    let mut part = PartlyRead {
        bad: 0,
        undefined: [0; 32],
    };
    for byte in 0..whole {
        let reading = mask & !all & !part.bad & mask_of(|i| bytes[i] > byte);
        if reading == 0 {
            continue;
        }
        let each = lanes(|i| addresses[i].wrapping_add(u64::from(byte)));
        if let Some(answer) = check_each(ctx, op.span(), byte_of, reading, &each) {
            part.bad |= answer.bad;
            for (to, from) in part.undefined.iter_mut().zip(&answer.undefined[0]) {
                *to |= (from & 1) << byte;
            }
        }
    }
    (all, Some(Box::new(part)))
}

/// Adds to what is undefined of what a copy has read.
#[inline(never)]
fn join(ctx: &mut Ctx, undefined: &[u32; 32]) {
    if undefined.iter().all(|bits| *bits == 0) {
        return;
    }
    let all = ctx.warp.copied.get_or_insert_with(|| Box::new([0; 32]));
    for (all, bits) in all.iter_mut().zip(undefined) {
        *all |= bits;
    }
}

/// Whether an access is as accesses should be; it is noted then.
#[inline(always)]
fn is_plain(ctx: &mut Ctx, op: &Micro<Check>, mask: u32) -> bool {
    let Some(info) = ctx.program.subject.accesses.get(op.access.0 as usize) else {
        return true;
    };
    let defined = if info.asynchronous {
        ctx.warp.copied.is_none()
    } else {
        !ctx.warp.tainted
            || !info.values.iter().flatten().any(|slot| {
                let shadow = ctx.cells::<u32>(Slot(*slot));
                shadow.iter().fold(0, |all, bits| all | bits) != 0
            })
    };
    let Some(mut checker) = ctx.checker.take() else {
        return true;
    };
    let at = At {
        subject: &ctx.program.subject,
        view: &ctx.view,
        warp: ctx.warp.index,
        mask,
        span: op.span(),
    };
    let request = Request {
        info,
        number: op.access.0,
        defined,
    };
    let stored = StoredBy {
        ctx,
        op,
        info,
        mask,
    };
    let (bytes, place) = (info.bytes() as u32, op.place());
    // Where races matter the shape does; else few accesses need it.
    let early = checker
        .wants_races()
        .then(|| shape(ctx, place, mask, bytes));
    let stretch = match &early {
        Some(shape) => stretch_of(shape, ctx, place, mask, bytes),
        None => stretch(ctx, place, mask),
    };
    let quiet = early.is_none()
        && (checker.is_quiet(&at, &request, stretch)
            || !place.base.scalar
                && !place.base.wide
                && checker.are_quiet(mask, &request, &narrow(ctx, place), stretch));
    let plain = if quiet {
        true
    } else {
        let shape = match early {
            Some(shape) => shape,
            None => shape(ctx, place, mask, bytes),
        };
        checker.access(&at, &request, &shape, stretch, &stored)
    };
    ctx.checker = Some(checker);
    if plain && ctx.warp.tainted {
        define(ctx, op);
    }
    plain
}

/// What a load loads is defined.
#[cold]
#[inline(never)]
fn define(ctx: &mut Ctx, op: &Micro<Check>) {
    let info = &ctx.program.subject.accesses[op.access.0 as usize];
    if !info.gives() {
        return;
    }
    for slot in info.values.into_iter().flatten() {
        ctx.put_cells(Slot(slot), [0u32; 32]);
    }
}

#[inline(never)]
fn check_access(ctx: &mut Ctx, op: &Micro<Check>, mask: u32) -> u32 {
    let addresses = addresses(ctx, op.place());
    let verdict = ask(ctx, op.span(), mask, |checker, at, ctx| {
        let info = &at.subject.accesses[op.access.0 as usize];
        let request = Request {
            info,
            number: op.access.0,
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
    let info = &ctx.program.subject.accesses[op.access.0 as usize];
    if info.copied {
        let some = undefined[0].iter().any(|bits| *bits != 0);
        ctx.warp.copied = some.then(|| Box::new(undefined[0]));
    } else if info.asynchronous {
        ctx.warp.copied = None;
    } else if info.gives() {
        let values = info.values;
        let undefined = match info.matrix {
            None => *undefined,
            Some(transposed) => {
                std::array::from_fn(|k| shadows::of_rows(&undefined[0], k, transposed))
            }
        };
        if undefined.as_flattened().iter().any(|bits| *bits != 0) {
            shadows::taint(ctx);
        }
        if ctx.warp.tainted {
            for (undefined, slot) in undefined.iter().zip(values) {
                if let Some(slot) = slot {
                    ctx.put_cells(Slot(slot), *undefined);
                }
            }
        }
    }
    bad
}

/// Describes accesses of an instruction that has many for each lane, for [`each_of_many`].
pub(crate) fn many(
    l: &mut Lowerer,
    space: Space,
    access: Access,
    bytes: u32,
    consumed: bool,
) -> AccessId {
    l.describe(AccessInfo {
        space,
        access,
        element: bytes,
        count: 1,
        order: Default::default(),
        constant: false,
        asynchronous: false,
        replaces: false,
        observes: false,
        depends: false,
        deferred: false,
        object: false,
        consumed,
        copied: false,
        matrix: None,
        rows: 0,
        values: Default::default(),
    })
}

/// One access of each lane of `mask`, of those that a description is of; the lanes that must not do it.
pub(crate) fn each_of_many(
    ctx: &mut Ctx,
    span: SpanId,
    access: AccessId,
    mask: u32,
    addresses: &[u64; 32],
) -> u32 {
    check_each(ctx, span, access, mask, addresses).map_or(0, |answer| answer.bad)
}

fn check_each(
    ctx: &mut Ctx,
    span: SpanId,
    AccessId(number): AccessId,
    mask: u32,
    addresses: &[u64; 32],
) -> Option<Answer> {
    ask(ctx, span, mask, |checker, at, _| {
        let request = Request {
            info: &at.subject.accesses[number as usize],
            number,
            defined: true,
        };
        checker.look(at, &request, addresses, &Unknown)
    })
}

/// Emits the check of the access at operand `at`, and for `cp.async` that of its target; where the first stands.
pub(crate) fn emit_access(
    l: &mut Lowerer,
    inst: &Inst,
    at: usize,
    info: AccessInfo,
) -> Result<usize, Error> {
    let copies = info.copied;
    let policy = usize::from(inst.quals.has(Qual::L2CacheHint));
    let part = inst.operands.get(3);
    let part = part.filter(|_| copies && inst.operands.len() > 3 + policy);
    let size = match part {
        Some(operand) if copy_async::is_pred(l, operand) => {
            let pred = l.pred(operand)?;
            let way = if pred.flip == 0 {
                part::NOT
            } else {
                part::ONLY
            };
            Some([pred.mask.0 + 1, way, 0])
        }
        Some(operand) => {
            let slot = l.src32(operand)?;
            let byte = many(l, Space::Global, Access::Read, 1, false);
            Some([slot.0 + 1, part::BYTES, byte.0])
        }
        None => None,
    };
    let stored = stored_values(l, inst, &info)?;
    let mut check = check(l, operand(l, inst, at)?, info.clone())?;
    if let Some(size) = &size {
        check.beside = Beside::Part;
        check.words = l.extra(size);
    } else if let Some(stored) = stored {
        check.beside = Beside::Stored;
        check.words = stored;
    }
    let glance = Glimpse::of(&check, &info);
    let source = l.emit_check(check, glance);
    if copies {
        let info = AccessInfo {
            space: Space::Shared,
            access: Access::Write,
            asynchronous: true,
            constant: false,
            copied: false,
            ..info
        };
        let LaneAddresses { base, offset } = check.place();
        let kind = u32::from(base.scalar) | u32::from(base.wide) << 1;
        let (low, high) = (offset as u32, (offset >> 32) as u32);
        let [size, way, _] = size.unwrap_or([0; 3]);
        let source = l.extra(&[base.slot.0, kind, low, high, size, way]);
        let target = self::check(l, operand(l, inst, 0)?, info)?;
        let target = Check {
            beside: Beside::Source,
            words: source,
            ..target
        };
        l.emit_check(target, None);
    }
    Ok(source)
}

/// Where the slots of what a store stores are listed.
fn stored_values(l: &mut Lowerer, inst: &Inst, info: &AccessInfo) -> Result<Option<Words>, Error> {
    if inst.op != Op::St {
        return Ok(None);
    }
    let items = ldst::items(operand(l, inst, 1)?).to_vec();
    let mut slots = Vec::new();
    for item in &items {
        let slot = if info.element == 8 {
            l.src64(item)?
        } else {
            l.src32(item)?
        };
        slots.push(slot.0);
    }
    Ok(Some(l.extra(&slots)))
}

fn check(l: &mut Lowerer, place: &Operand, info: AccessInfo) -> Result<Check, Error> {
    let at = ldst::address(l, place)?;
    // Of matrices only so many lanes name rows.
    let lanes = match info.matrix {
        Some(_) => !0 >> (32 - 8 * info.rows.clamp(1, 4)),
        None => !0,
    };
    Ok(Check {
        at: at.src.slot,
        scalar: at.src.uniform,
        wide: at.wide,
        beside: Beside::Nothing,
        offset: Offset::new(at.offset),
        lanes,
        access: l.describe(info),
        skip: Ops(0),
        covers: Ops(0),
        words: Words(0),
    })
}

/// Where an operand's address is, and what is added to it.
pub(crate) fn place_of(l: &mut Lowerer, operand: &Operand) -> Result<(Base, u64), Error> {
    let at = ldst::address(l, operand)?;
    let base = Base {
        slot: at.src.slot,
        scalar: at.src.uniform,
        wide: at.wide,
    };
    Ok((base, at.offset))
}

/// Ends what the checks from `at` on cover.
pub(crate) fn end_access(l: &mut Lowerer, at: usize) {
    let end = l.ops.len();
    for i in at..end {
        if let Some(check) = l.ops[i].of_flow_mut::<Checked>() {
            check.covers = Ops((end - i - 1) as u32 - check.skip.0);
        }
    }
    glance::hand_load(l, at);
}
