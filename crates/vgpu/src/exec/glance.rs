//! The first look at an access: memory that is known to be written, page by page, needs no other.

use super::{
    Base, Ctx, Flow, Micro, MicroOp, Note, Offset, Ops, Slot, args,
    checked::{Check, LaneAddresses, bounds, narrow, scalar_address, wide},
    lane::{Cell, first_of_run},
    ldst::{self, Element, Load},
};
use crate::{
    build::Lowerer,
    check::{Access, AccessInfo, Checker, Space, Stretch},
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

args! {
    /// An access that is glanced at: the bytes of each lane are a power of two.
    pub(super) struct Sight {
        at: Base,
        offset: u64,
        bytes: u32,
        /// The ops that check it, which are left out where they would find nothing and change nothing.
        skip: Ops,
    }

    /// A glance at a load, with its slots.
    struct LoadingSight {
        dst: [Slot; 4],
        at: Slot,
        offset: Offset,
        bytes: u32,
        skip: Ops,
    }
}

impl Sight {
    #[inline(always)]
    fn place(&self) -> LaneAddresses {
        LaneAddresses {
            base: self.at,
            offset: self.offset,
        }
    }
}

/// What the addresses are.
trait Where: 'static {
    /// From where to where the lanes of `mask`, of which there is one, access.
    fn stretch(ctx: &Ctx, op: &Sight, mask: u32) -> Stretch;
}

/// One for all lanes.
struct One;
impl Where for One {
    #[inline(always)]
    fn stretch(ctx: &Ctx, op: &Sight, _: u32) -> Stretch {
        let at = scalar_address(ctx, op.place());
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
    fn stretch(ctx: &Ctx, op: &Sight, mask: u32) -> Stretch {
        if mask == !0
            && let Some(lead) = first_of_run(ctx.cells::<u32>(op.at.slot), op.bytes, !0)
        {
            return run(u64::from(lead.wrapping_add(op.offset as u32)), op.bytes);
        }
        let [low, high, bits] = bounds(narrow(ctx, op.place()), mask).map(u64::from);
        Stretch { low, high, bits }
    }
}

/// 64 bits for each lane.
struct Wide;
impl Where for Wide {
    #[inline(always)]
    fn stretch(ctx: &Ctx, op: &Sight, mask: u32) -> Stretch {
        let at = ctx.cells::<u64>(op.at.slot);
        if mask == !0
            && let Some(lead) = first_of_run(at, op.bytes, !0)
        {
            return run(lead.wrapping_add(op.offset), op.bytes);
        }
        let [low, high, bits] = bounds(wide(ctx, op.place()), mask);
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

/// Skips the ops that check an access as its own check does ([`super::checked`]), where they would find nothing and
/// change nothing.
struct Glance<K, W>(PhantomData<(K, W)>);
impl<K: Known, W: Where> Flow for Glance<K, W> {
    type Args = Sight;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Sight>) -> *const MicroOp {
        if settles::<K, W>(ctx, op) {
            op.skip(op.skip)
        } else {
            op.next()
        }
    }
}

#[inline(always)]
fn settles<K: Known, W: Where>(ctx: &Ctx, sight: &Sight) -> bool {
    let mask = ctx.mask;
    match &ctx.checker {
        // What may be undefined is looked at closely.
        Some(checker) if !ctx.warp.tainted && mask != 0 && !checker.wants_races() => {
            K::settles(checker, W::stretch(ctx, sight, mask), sight.bytes)
        }
        Some(_) | None => false,
    }
}

/// As [`Glance`], of a load that stands behind the check: what it settles of neighbours it loads as well, for it knows
/// where they are.
struct Loading<K, W, E, C, const N: usize>(PhantomData<(K, W, E, C)>);
impl<K: Known, W: Where, E: Element, C: Cell, const N: usize> Flow for Loading<K, W, E, C, N> {
    type Args = LoadingSight;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<LoadingSight>) -> *const MicroOp {
        let (bytes, offset) = (op.bytes, op.offset.get());
        let settled = match &ctx.checker {
            Some(checker) if ctx.mask == !0 && !ctx.warp.tainted && !checker.wants_races() => {
                let lead = first_of_run(ctx.cells::<C>(op.at), bytes, !0);
                let at = lead.map(|at| C::narrow(at.widen().wrapping_add(offset)).widen());
                at.filter(|at| K::settles(checker, run(*at, bytes), bytes))
            }
            Some(_) | None => None,
        };
        let sight = Sight {
            at: Base {
                slot: op.at,
                scalar: false,
                wide: size_of::<C>() == 8,
            },
            offset,
            bytes,
            skip: op.skip,
        };
        match settled {
            Some(at) if ldst::load_run::<E, N>(ctx, K::window(ctx), at, op.dst, K::GLOBAL) => {
                op.skip(Ops(op.skip.0 + 1))
            }
            Some(_) | None if settles::<K, W>(ctx, &sight) => op.skip(op.skip),
            Some(_) | None => op.next(),
        }
    }
}

/// Lets the glance at `at` load, if all that stands behind its check is a load that it can do.
pub(super) fn hand_load(l: &mut Lowerer, at: usize) {
    let (Some(&glance), Some(&load)) = (l.ops.get(at), l.ops.last()) else {
        return;
    };
    let behind = l.ops.len() - 1 - at;
    macro_rules! hand {
        ($($known:ident $where:ident $cell:ident: $($element:ident $count:literal)*;)*) => {$(
            if let Some(sight) = glance.of_flow::<Glance<$known, $where>>() {
                $(if let Some(load) = load.of::<Load<ldst::$element, $cell, $count>>()
                    && load.at == sight.at.slot
                    && load.offset == sight.offset
                    && behind == sight.skip.0 as usize + 1
                {
                    let args = LoadingSight {
                        dst: load.data,
                        at: load.at,
                        offset: Offset::new(load.offset),
                        bytes: sight.bytes,
                        skip: sight.skip,
                    };
                    let op = l.watch::<Loading<$known, $where, ldst::$element, $cell, $count>>(args);
                    l.ops[at] = op.at(glance.span());
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

/// The glance that may save a check, but for how many ops it saves.
#[derive(Clone, Copy)]
pub(crate) struct Glimpse {
    place: LaneAddresses,
    bytes: u32,
    space: Space,
    writes: bool,
}

impl Glimpse {
    /// That of an access that is described so, if it can be glanced at.
    pub(super) fn of(check: &Check, info: &AccessInfo) -> Option<Glimpse> {
        let bytes = info.element * info.count;
        // What `cp.async` writes is not there at once, a part of a copy reads less, and rows of matrices are apart.
        let plain = !info.asynchronous && info.matrix.is_none() && !check.is_partial();
        let known = matches!(info.space, Space::Global | Space::Shared);
        (plain && known && bytes.is_power_of_two()).then(|| Glimpse {
            place: check.place(),
            bytes,
            space: info.space,
            writes: info.access != Access::Read,
        })
    }

    /// Its op, which leaves out so many.
    pub(crate) fn op(&self, l: &Lowerer, skip: Ops) -> MicroOp {
        let LaneAddresses { base, offset } = self.place;
        let args = Sight {
            at: base,
            offset,
            bytes: self.bytes,
            skip,
        };
        match (self.space, base.scalar, base.wide) {
            (Space::Shared, true, _) => l.watch::<Glance<Shared, One>>(args),
            (Space::Shared, false, false) => l.watch::<Glance<Shared, Narrow>>(args),
            (Space::Shared, false, true) => l.watch::<Glance<Shared, Wide>>(args),
            (_, true, _) if self.writes => l.watch::<Glance<Written, One>>(args),
            (_, false, false) if self.writes => l.watch::<Glance<Written, Narrow>>(args),
            (_, false, true) if self.writes => l.watch::<Glance<Written, Wide>>(args),
            (_, true, _) => l.watch::<Glance<Global, One>>(args),
            (_, false, false) => l.watch::<Glance<Global, Narrow>>(args),
            (_, false, true) => l.watch::<Glance<Global, Wide>>(args),
        }
    }
}
