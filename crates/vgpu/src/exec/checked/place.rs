//! Where the lanes of a checked access go, and how their addresses lie to each other.

use super::super::{
    Base, Ctx,
    lane::{first_of_run, lanes},
};
use crate::check::{Pattern, Stretch};
use std::ops::BitOr;

/// Addresses: what each lane has, and what is added to it.
#[derive(Clone, Copy)]
pub(in crate::exec) struct LaneAddresses {
    pub(in crate::exec) base: Base,
    pub(in crate::exec) offset: u64,
}

/// The addresses of all lanes.
#[inline(always)]
pub(in crate::exec) fn addresses(ctx: &Ctx, place: LaneAddresses) -> [u64; 32] {
    match (place.base.scalar, place.base.wide) {
        (true, _) => [scalar_address(ctx, place); 32],
        (false, false) => narrow(ctx, place).map(u64::from),
        (false, true) => wide(ctx, place),
    }
}

/// The addresses of all lanes where they are of 32 bits.
#[inline(always)]
pub(in crate::exec) fn narrow(ctx: &Ctx, place: LaneAddresses) -> [u32; 32] {
    let at = ctx.cells::<u32>(place.base.slot);
    lanes(|i| at[i].wrapping_add(place.offset as u32))
}

/// The same where they are of 64 bits.
#[inline(always)]
pub(in crate::exec) fn wide(ctx: &Ctx, place: LaneAddresses) -> [u64; 32] {
    let at = ctx.cells::<u64>(place.base.slot);
    lanes(|i| at[i].wrapping_add(place.offset))
}

#[inline(always)]
pub(in crate::exec) fn scalar_address(ctx: &Ctx, place: LaneAddresses) -> u64 {
    let address = ctx.scalar(place.base.slot).wrapping_add(place.offset);
    if place.base.wide {
        address
    } else {
        address & 0xFFFF_FFFF
    }
}

/// From where to where the lanes of `mask` access.
#[inline(always)]
pub(super) fn stretch(ctx: &Ctx, place: LaneAddresses, mask: u32) -> Stretch {
    if place.base.scalar {
        let at = scalar_address(ctx, place);
        return Stretch {
            low: at,
            high: at,
            bits: at,
        };
    }
    let [low, high, bits] = if place.base.wide {
        bounds(wide(ctx, place), mask)
    } else {
        bounds(narrow(ctx, place), mask).map(u64::from)
    };
    Stretch { low, high, bits }
}

/// The lowest and the highest of the lanes of `mask`, and all bits of theirs.
#[inline(always)]
pub(in crate::exec) fn bounds<T: Copy + Default + Ord + BitOr<Output = T>>(
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
pub(super) fn stretch_of(
    shape: &Pattern,
    ctx: &Ctx,
    place: LaneAddresses,
    mask: u32,
    bytes: u32,
) -> Stretch {
    match shape {
        Pattern::Run { start, count, .. } => Stretch {
            low: *start,
            high: start.saturating_add(u64::from(bytes) * u64::from(count - 1)),
            bits: *start,
        },
        Pattern::Same(_) | Pattern::Apart(_) => stretch(ctx, place, mask),
    }
}

/// How the lanes of `mask` access.
#[inline(always)]
pub(super) fn shape(ctx: &Ctx, place: LaneAddresses, mask: u32, bytes: u32) -> Pattern {
    let LaneAddresses { base, offset } = place;
    if base.scalar {
        return Pattern::Same(scalar_address(ctx, place));
    }
    let first = mask.trailing_zeros() & 31;
    let beside = (mask >> first).wrapping_add(1) & (mask >> first) == 0;
    // Where lane 0's access is if the active lanes' are neighbours.
    let start = match base.wide {
        _ if !beside => None,
        false => first_of_run(ctx.cells::<u32>(base.slot), bytes, mask).map(|start| {
            u64::from(
                start
                    .wrapping_add(offset as u32)
                    .wrapping_add(first * bytes),
            )
        }),
        true => first_of_run(ctx.cells::<u64>(base.slot), bytes, mask).map(|start| {
            start
                .wrapping_add(offset)
                .wrapping_add(u64::from(first * bytes))
        }),
    };
    match start {
        Some(start) => Pattern::Run {
            start,
            first,
            count: mask.count_ones(),
        },
        None => Pattern::Apart(addresses(ctx, place)),
    }
}
