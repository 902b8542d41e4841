//! The first look at an access: memory that is known to be written, page by page, needs no other.

use super::{
    Ctx, Flow, MicroOp,
    checked::{bounds, narrow, scalar_address},
    lane::{first_of_run, lanes},
};
use crate::{
    check::{AccessInfo, Checker, Space, Stretch},
    lower::Lowerer,
};
use std::marker::PhantomData;

/// A memory that all lanes access.
trait Known: 'static {
    /// Whether all of a stretch is known to be written, and nothing else matters.
    fn settles(checker: &Checker, stretch: Stretch, bytes: u32) -> bool;
}

struct Global;
impl Known for Global {
    #[inline(always)]
    fn settles(checker: &Checker, stretch: Stretch, bytes: u32) -> bool {
        checker.settles_global(stretch, bytes)
    }
}

struct Shared;
impl Known for Shared {
    #[inline(always)]
    fn settles(checker: &Checker, stretch: Stretch, bytes: u32) -> bool {
        checker.settles_shared(stretch, bytes)
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

/// The glance that may save `check`, of an access that is described so; its `more[0]` is not set.
pub(super) fn before(l: &Lowerer, check: &MicroOp, info: &AccessInfo) -> Option<MicroOp> {
    let bytes = info.element * info.count;
    // What `cp.async` writes is not there at once, a part of a copy reads less, and rows of matrices are apart.
    if info.asynchronous || info.matrix.is_some() || check.more[1] != 0 || !bytes.is_power_of_two()
    {
        return None;
    }
    let op = match (info.space, check.b) {
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
