//! The ops by which a checked program asks its checker.

use super::{
    Ctx, Flow, MicroOp, copy_async, glance,
    lane::{first_of_run, lanes, mask_of},
    ldst, operand, shadows,
    stored::{StoredBy, Unknown},
};
use crate::{
    check::{Access, AccessInfo, Answer, At, Checker, Request, Shape, Space, Stretch},
    error::Error,
    lower::Lowerer,
};
use std::ops::BitOr;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
};

/// Calls `f` with the checker, if there is one, for the lanes of `mask`.
#[inline(always)]
pub(super) fn ask<R>(
    ctx: &mut Ctx,
    op: &MicroOp,
    mask: u32,
    f: impl FnOnce(&mut Checker, &At<'_>, &Ctx) -> R,
) -> Option<R> {
    let mut checker = ctx.checker.take()?;
    let at = At {
        program: &ctx.program,
        view: &ctx.view,
        warp: ctx.warp.index,
        mask,
        span: op.span,
    };
    let result = f(&mut checker, &at, ctx);
    ctx.checker = Some(checker);
    Some(result)
}

/// The access that description `aux` is of, at addresses `a` plus `imm`, by those lanes of `dst` that are active: `b`
/// is 1 for scalars and 2 for 64 bits. If a register may be undefined, what comes next is looked at first, and another
/// such op; else `more[0]` ops are left out. The `c` ops behind them do the access, for the lanes that may. Of a
/// store, `more[2]` is where the slots of its values are listed, of what a copy writes where it reads. Of a copy that may be of fewer bytes, `more[1]` is one
/// more than the slot that says so, `more[3]` what is in it, and `more[2]` describes the access to one byte.
struct Check;
impl Flow for Check {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        if op.more[0] != 0 && ctx.warp.tainted {
            return std::ptr::from_ref(op).wrapping_add(1);
        }
        let mask = ctx.mask & op.dst;
        if op.more[1] != 0 {
            return copy(ctx, op, mask);
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
fn copy(ctx: &mut Ctx, op: &MicroOp, mask: u32) -> *const MicroOp {
    let (reading, part) = shorter(ctx, op, mask);
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
fn go_on(ctx: &mut Ctx, op: &MicroOp, bad: u32) -> *const MicroOp {
    let next = std::ptr::from_ref(op).wrapping_add(1 + op.more[0] as usize);
    if bad == 0 {
        return next;
    }
    without(ctx, bad, next, op.c as usize)
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
struct Part {
    bad: u32,
    /// Undefined bytes.
    undefined: [u32; 32],
}

/// The lanes of a copy that read all of it, and what was found of those that read a part.
#[inline(always)]
fn shorter(ctx: &mut Ctx, op: &MicroOp, mask: u32) -> (u32, Option<Box<Part>>) {
    let slot = op.more[1] - 1;
    match op.more[3] {
        part::NOT => return (mask & !ctx.pred(slot), None),
        part::ONLY => return (mask & ctx.pred(slot), None),
        _ => {}
    }
    let whole = ctx.program.accesses[op.aux as usize].bytes() as u32;
    let bytes = ctx.cells::<u32>(slot);
    let all = mask_of(|i| bytes[i] >= whole);
    let none = mask_of(|i| bytes[i] == 0);
    if mask & !(all | none) == 0 {
        return (mask & all, None);
    }
    some_bytes(ctx, op, mask, whole)
}

/// The same where some lanes read a part.
#[inline(never)]
fn some_bytes(ctx: &mut Ctx, op: &MicroOp, mask: u32, whole: u32) -> (u32, Option<Box<Part>>) {
    let bytes = *ctx.cells::<u32>(op.more[1] - 1);
    let addresses = addresses(ctx, op);
    // A copy of no bytes reads nothing; few bytes are aligned as all are.
    let aligned = |i: usize| addresses[i].is_multiple_of(u64::from(whole));
    let all = mask & mask_of(|i| bytes[i] >= whole || bytes[i] != 0 && !aligned(i));
    let mut part = Part {
        bad: 0,
        undefined: [0; 32],
    };
    for byte in 0..whole {
        let reading = mask & !all & !part.bad & mask_of(|i| bytes[i] > byte);
        if reading == 0 {
            continue;
        }
        let each = lanes(|i| addresses[i].wrapping_add(u64::from(byte)));
        if let Some(answer) = check_each(ctx, op, op.more[2], reading, &each) {
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

/// The addresses of all lanes.
#[inline(always)]
pub(super) fn addresses(ctx: &Ctx, op: &MicroOp) -> [u64; 32] {
    match op.b {
        1 => [scalar_address(ctx, op); 32],
        3 => [scalar_address(ctx, op); 32],
        0 => narrow(ctx, op).map(u64::from),
        _ => {
            let at = ctx.cells::<u64>(op.a);
            lanes(|i| at[i].wrapping_add(op.imm))
        }
    }
}

/// The addresses of all lanes where they are of 32 bits.
#[inline(always)]
pub(super) fn narrow(ctx: &Ctx, op: &MicroOp) -> [u32; 32] {
    let at = ctx.cells::<u32>(op.a);
    lanes(|i| at[i].wrapping_add(op.imm as u32))
}

#[inline(always)]
pub(super) fn scalar_address(ctx: &Ctx, op: &MicroOp) -> u64 {
    let address = ctx.scalar(op.a).wrapping_add(op.imm);
    if op.b == 1 {
        address & 0xFFFF_FFFF
    } else {
        address
    }
}

/// From where to where the lanes of `mask` access.
#[inline(always)]
fn stretch(ctx: &Ctx, op: &MicroOp, mask: u32) -> Stretch {
    if op.b & 1 != 0 {
        let at = scalar_address(ctx, op);
        return Stretch {
            low: at,
            high: at,
            bits: at,
        };
    }
    if op.b == 0 {
        let [low, high, bits] = bounds(narrow(ctx, op), mask);
        return Stretch {
            low: u64::from(low),
            high: u64::from(high),
            bits: u64::from(bits),
        };
    }
    let at = ctx.cells::<u64>(op.a);
    let [low, high, bits] = bounds(lanes(|i| at[i].wrapping_add(op.imm)), mask);
    Stretch { low, high, bits }
}

/// The lowest and the highest of the lanes of `mask`, and all bits of theirs.
#[inline(always)]
pub(super) fn bounds<T: Copy + Default + Ord + BitOr<Output = T>>(
    mut at: [T; 32],
    mask: u32,
) -> [T; 3] {
    if mask != !0 {
        let lead = at[mask.trailing_zeros() as usize & 31];
        let own = at;
        at = lanes(|i| if mask >> i & 1 != 0 { own[i] } else { lead });
    }
    let (mut low, mut high, mut bits) = (at, at, at);
    // By halves, which the compiler makes vectors of.
    for half in [16, 8, 4, 2, 1] {
        for i in 0..half {
            low[i] = low[i].min(low[i + half]);
            high[i] = high[i].max(high[i + half]);
            bits[i] = bits[i] | bits[i + half];
        }
    }
    [low[0], high[0], bits[0]]
}

/// The same of accesses whose shape is known.
#[inline(always)]
fn stretch_of(shape: &Shape, ctx: &Ctx, op: &MicroOp, mask: u32, bytes: u32) -> Stretch {
    match shape {
        Shape::Run { start, count, .. } => Stretch {
            low: *start,
            high: start.saturating_add(u64::from(bytes) * u64::from(count - 1)),
            bits: *start,
        },
        Shape::Same(_) | Shape::Apart(_) => stretch(ctx, op, mask),
    }
}

/// How the lanes of `mask` access.
#[inline(always)]
fn shape(ctx: &Ctx, op: &MicroOp, mask: u32, bytes: u32) -> Shape {
    if op.b & 1 != 0 {
        return Shape::Same(scalar_address(ctx, op));
    }
    let first = mask.trailing_zeros() & 31;
    let beside = (mask >> first).wrapping_add(1) & (mask >> first) == 0;
    // Where lane 0's access is if the active lanes' are neighbours.
    let start = match op.b {
        _ if !beside => None,
        0 => first_of_run(ctx.cells::<u32>(op.a), bytes, mask).map(|start| {
            u64::from(
                start
                    .wrapping_add(op.imm as u32)
                    .wrapping_add(first * bytes),
            )
        }),
        _ => first_of_run(ctx.cells::<u64>(op.a), bytes, mask).map(|start| {
            start
                .wrapping_add(op.imm)
                .wrapping_add(u64::from(first * bytes))
        }),
    };
    match start {
        Some(start) => Shape::Run {
            start,
            first,
            count: mask.count_ones(),
        },
        None => Shape::Apart(addresses(ctx, op)),
    }
}

/// Whether an access is as accesses should be; it is noted then.
#[inline(always)]
fn is_plain(ctx: &mut Ctx, op: &MicroOp, mask: u32) -> bool {
    let Some(info) = ctx.program.accesses.get(op.aux as usize) else {
        return true;
    };
    let defined = if info.asynchronous {
        ctx.warp.copied.is_none()
    } else {
        !ctx.warp.tainted
            || !info.values.iter().flatten().any(|slot| {
                let shadow = ctx.cells::<u32>(*slot);
                shadow.iter().fold(0, |all, bits| all | bits) != 0
            })
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
    let bytes = info.bytes() as u32;
    // Where races matter the shape does; else few accesses need it.
    let early = checker.wants_races().then(|| shape(ctx, op, mask, bytes));
    let stretch = match &early {
        Some(shape) => stretch_of(shape, ctx, op, mask, bytes),
        None => stretch(ctx, op, mask),
    };
    let quiet = early.is_none()
        && (checker.is_quiet(&at, &request, stretch)
            || op.b == 0 && checker.are_quiet(mask, &request, &narrow(ctx, op), stretch));
    let plain = if quiet {
        true
    } else {
        let shape = match early {
            Some(shape) => shape,
            None => shape(ctx, op, mask, bytes),
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
fn define(ctx: &mut Ctx, op: &MicroOp) {
    let info = &ctx.program.accesses[op.aux as usize];
    if !info.gives() {
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
                    ctx.put_cells(slot, *undefined);
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
) -> u32 {
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

/// One access of each lane of `mask`, of those that description `aux` is of; the lanes that must not do it.
pub(crate) fn each_of_many(ctx: &mut Ctx, op: &MicroOp, mask: u32, addresses: &[u64; 32]) -> u32 {
    check_each(ctx, op, op.aux, mask, addresses).map_or(0, |answer| answer.bad)
}

fn check_each(
    ctx: &mut Ctx,
    op: &MicroOp,
    number: u32,
    mask: u32,
    addresses: &[u64; 32],
) -> Option<Answer> {
    ask(ctx, op, mask, |checker, at, _| {
        let request = Request {
            info: &at.program.accesses[number as usize],
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
            let (slot, negated) = l.pred(operand)?;
            let way = if negated == 0 { part::NOT } else { part::ONLY };
            [slot + 1, 0, way]
        }
        Some(operand) => {
            let slot = l.src32(operand)?;
            let byte = many(l, Space::Global, Access::Read, 1, false);
            [slot + 1, byte, part::BYTES]
        }
        None => [0; 3],
    };
    let stored = stored_values(l, inst, &info)?;
    let mut check = check_of(l, operand(l, inst, at)?, info.clone())?;
    check.more[1..].copy_from_slice(&size);
    if inst.op == Op::St {
        check.more[2] = stored;
    }
    let glance = glance::before(l, &check, &info);
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
        let (low, high) = (check.imm as u32, (check.imm >> 32) as u32);
        let source = l.extra(&[check.a, check.b, low, high, size[0], size[2]]);
        let mut check = check_of(l, operand(l, inst, 0)?, info)?;
        check.more[2] = source;
        l.emit_check(check, None);
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

fn check_of(l: &mut Lowerer, place: &Operand, info: AccessInfo) -> Result<MicroOp, Error> {
    let at = ldst::address(l, place)?;
    // Of matrices only so many lanes name rows.
    let lanes = match info.matrix {
        Some(_) => !0 >> (32 - 8 * info.rows.clamp(1, 4)),
        None => !0,
    };
    let aux = l.describe(info);
    Ok(MicroOp {
        a: at.src.slot,
        b: u32::from(at.src.uniform) | u32::from(at.wide) << 1,
        imm: at.offset,
        aux,
        dst: lanes,
        ..l.watch::<Check>()
    })
}

/// Ends what the checks from `at` on cover.
pub(crate) fn end_access(l: &mut Lowerer, at: usize) {
    let check = l.watch::<Check>().run;
    let end = l.ops.len();
    for i in at..end {
        if std::ptr::fn_addr_eq(l.ops[i].run, check) {
            l.ops[i].c = (end - i - 1) as u32 - l.ops[i].more[0];
        }
    }
    glance::hand_load(l, at);
}
