//! The first look at an access: memory that is known to be written, page by page, needs no other.

use super::{
    Ctx, Flow, MicroOp, Note,
    checked::{bounds, narrow, scalar_address},
    lane::{Cell, first_of_run, lanes},
    ldst::{self, Element, Load},
};
use crate::{
    check::{Access, AccessInfo, Checker, Space, Stretch},
    lower::Lowerer,
    memory::Window,
};
use std::marker::PhantomData;

/// A memory that all lanes access.
trait Known: 'static {
    /// Whether all of a stretch is known to be written, and nothing else matters.
    fn settles(checker: &Checker, stretch: Stretch, bytes: u32) -> bool;
    /// Whether it is global memory.
    const GLOBAL: bool;
    /// The memory itself.
    fn window(ctx: &Ctx) -> Window;
}

struct Global;
impl Known for Global {
    const GLOBAL: bool = true;
    #[inline(always)]
    fn settles(checker: &Checker, stretch: Stretch, bytes: u32) -> bool {
        checker.settles_global(stretch, bytes)
    }
    #[inline(always)]
    fn window(ctx: &Ctx) -> Window {
        ctx.global
    }
}

/// Global memory that is written.
struct Written;
impl Known for Written {
    const GLOBAL: bool = true;
    #[inline(always)]
    fn settles(checker: &Checker, stretch: Stretch, bytes: u32) -> bool {
        checker.settles_global(stretch, bytes) && !checker.keeps(stretch, u64::from(bytes))
    }
    #[inline(always)]
    fn window(ctx: &Ctx) -> Window {
        ctx.global
    }
}

struct Shared;
impl Known for Shared {
    const GLOBAL: bool = false;
    #[inline(always)]
    fn settles(checker: &Checker, stretch: Stretch, bytes: u32) -> bool {
        checker.settles_shared(stretch, bytes)
    }
    #[inline(always)]
    fn window(ctx: &Ctx) -> Window {
        ctx.shared
    }
}

/// What the addresses are.
trait Where: 'static {
    /// From where to where the lanes of `mask`, of which there is one, access.
    fn stretch(ctx: &Ctx, op: &MicroOp, mask: u32) -> Stretch;
}

/// One for all lanes.
struct One;
impl Where for One {
    #[inline(always)]
    fn stretch(ctx: &Ctx, op: &MicroOp, _: u32) -> Stretch {
        let at = scalar_address(ctx, op);
        Stretch {
            low: at,
            high: at,
            bits: at,
        }
    }
}

/// 32 bits for each lane.
struct Narrow;
impl Where for Narrow {
    #[inline(always)]
    fn stretch(ctx: &Ctx, op: &MicroOp, mask: u32) -> Stretch {
        if mask == !0
            && let Some(lead) = first_of_run(ctx.cells::<u32>(op.a), op.c, !0)
        {
            return run(u64::from(lead.wrapping_add(op.imm as u32)), op.c);
        }
        let [low, high, bits] = bounds(narrow(ctx, op), mask).map(u64::from);
        Stretch { low, high, bits }
    }
}

/// 64 bits for each lane.
struct Wide;
impl Where for Wide {
    #[inline(always)]
    fn stretch(ctx: &Ctx, op: &MicroOp, mask: u32) -> Stretch {
        let at = ctx.cells::<u64>(op.a);
        if mask == !0
            && let Some(lead) = first_of_run(at, op.c, !0)
        {
            return run(lead.wrapping_add(op.imm), op.c);
        }
        let [low, high, bits] = bounds(lanes(|i| at[i].wrapping_add(op.imm)), mask);
        Stretch { low, high, bits }
    }
}

/// The stretch of 32 neighbours from `low` on, which are aligned if the first is.
#[inline(always)]
fn run(low: u64, bytes: u32) -> Stretch {
    Stretch {
        low,
        high: low.saturating_add(31 * u64::from(bytes)),
        bits: low,
    }
}

/// Skips the next `more[0]` ops, which check an access as its own check does ([`super::checked`]), where they would
/// find nothing and change nothing. Each lane's access is to `c` bytes, a power of two.
struct Glance<K, W>(PhantomData<(K, W)>);
impl<K: Known, W: Where> Flow for Glance<K, W> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        let mask = ctx.mask & op.dst;
        let fine = match &ctx.checker {
            // What may be undefined is looked at closely.
            Some(checker) if !ctx.warp.tainted && mask != 0 && !checker.wants_races() => {
                K::settles(checker, W::stretch(ctx, op, mask), op.c)
            }
            Some(_) | None => false,
        };
        let skip = if fine { op.more[0] as usize } else { 0 };
        std::ptr::from_ref(op).wrapping_add(1 + skip)
    }
}

/// As [`Glance`], of a load that stands behind the check: what it settles of neighbours it loads as well, for it knows
/// where they are. The slots are in `b`, `aux`, `more[1]` and `more[2]`.
struct Loading<K, W, E, C, const N: usize>(PhantomData<(K, W, E, C)>);
impl<K: Known, W: Where, E: Element, C: Cell, const N: usize> Flow for Loading<K, W, E, C, N> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        let settled = match &ctx.checker {
            Some(checker)
                if ctx.mask & op.dst == !0 && !ctx.warp.tainted && !checker.wants_races() =>
            {
                let lead = first_of_run(ctx.cells::<C>(op.a), op.c, !0);
                let at = lead.map(|at| C::narrow(at.widen().wrapping_add(op.imm)).widen());
                at.filter(|at| K::settles(checker, run(*at, op.c), op.c))
            }
            Some(_) | None => None,
        };
        let slots = [op.b, op.aux, op.more[1], op.more[2]];
        match settled {
            Some(at) if ldst::load_run::<E, N>(ctx, K::window(ctx), at, slots, K::GLOBAL) => {
                std::ptr::from_ref(op).wrapping_add(2 + op.more[0] as usize)
            }
            Some(_) | None => Glance::<K, W>::run(ctx, op),
        }
    }
}

/// Lets the glance at `at` load, if all that stands behind its check is a load that it can do.
pub(super) fn hand_load(l: &mut Lowerer, at: usize) {
    let (Some(&glance), Some(&load)) = (l.ops.get(at), l.ops.last()) else {
        return;
    };
    if l.ops.len() != at + glance.more[0] as usize + 2
        || load.a != glance.a
        || load.imm != glance.imm
    {
        return;
    }
    let is = |op: MicroOp, other: MicroOp| std::ptr::fn_addr_eq(op.run, other.run);
    macro_rules! hand {
        ($($known:ident $where:ident $cell:ident: $($element:ident $count:literal)*;)*) => {$(
            if is(glance, l.watch::<Glance<$known, $where>>()) {
                $(if is(load, l.op::<Load<ldst::$element, $cell, $count>>()) {
                    l.ops[at] = MicroOp {
                        run: l.watch::<Loading<$known, $where, ldst::$element, $cell, $count>>().run,
                        b: load.dst,
                        aux: load.more[0],
                        more: [glance.more[0], load.more[1], load.more[2], 0],
                        ..glance
                    };
                    l.note_at(at, Note::Shortens);
                    return;
                })*
            }
        )*};
    }
    hand! {
        Global Wide u64: Single 1 Single 2 Single 4 Wide 4 Half 1;
        Shared Narrow u32: Single 1 Single 2 Single 4 Wide 4 Half 1;
    }
}

/// The glance that may save `check`, of an access that is described so; its `more[0]` is not set.
pub(super) fn before(l: &Lowerer, check: &MicroOp, info: &AccessInfo) -> Option<MicroOp> {
    let bytes = info.element * info.count;
    // What `cp.async` writes is not there at once, a part of a copy reads less, and rows of matrices are apart.
    if info.asynchronous || info.matrix.is_some() || check.more[1] != 0 || !bytes.is_power_of_two()
    {
        return None;
    }
    let writes = info.access != Access::Read;
    let op = match (info.space, check.b) {
        (Space::Global, 0) if writes => l.watch::<Glance<Written, Narrow>>(),
        (Space::Global, 2) if writes => l.watch::<Glance<Written, Wide>>(),
        (Space::Global, _) if writes => l.watch::<Glance<Written, One>>(),
        (Space::Global, 0) => l.watch::<Glance<Global, Narrow>>(),
        (Space::Global, 2) => l.watch::<Glance<Global, Wide>>(),
        (Space::Global, _) => l.watch::<Glance<Global, One>>(),
        (Space::Shared, 0) => l.watch::<Glance<Shared, Narrow>>(),
        (Space::Shared, 2) => l.watch::<Glance<Shared, Wide>>(),
        (Space::Shared, _) => l.watch::<Glance<Shared, One>>(),
        (Space::Const | Space::Local | Space::Generic, _) => return None,
    };
    Some(MicroOp {
        a: check.a,
        b: check.b,
        c: bytes,
        dst: check.dst,
        imm: check.imm,
        ..op
    })
}
