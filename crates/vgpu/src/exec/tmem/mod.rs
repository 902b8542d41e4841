//! Tensor memory, what moves to and from it, and products that add to it: `tcgen05` (PTX ISA 9.7.16).
//!
//! Each CTA has 128 lanes of 512 columns of 32 bits. An address has the lane in its upper half and the column in the lower.
//! Columns are given out 32 at a time and more; a warp may load and store a quarter of the lanes. A column lies here as its
//! 128 lanes behind each other, column after column, and what is given out stands behind the last.
//!
//! Everything is done where its instruction stands, so that whoever waits for it finds it complete.

mod emit;
mod moves;
mod numbers;
mod product;
mod sums;
mod watch;

pub(super) use emit::lower;

use super::{Ctx, Slot, SpanId, Words};
use crate::{
    error::{FaultKind, Misuse},
    memory::Window,
};

const LANES: u32 = 128;
const COLUMNS: u32 = 512;
/// Columns that are given out together.
const UNIT: u32 = 32;
/// Where one bit for each unit is that is given out; behind it, whether nobody may ask for more.
const GIVEN: u64 = (LANES * COLUMNS * 4) as u64;
/// Bytes of a CTA's tensor memory, with what is given out.
pub(crate) const BYTES: usize = GIVEN as usize + 64;

/// Lane and column of an address.
#[derive(Clone, Copy)]
struct Place {
    lane: u32,
    column: u32,
}

impl Place {
    fn of(address: u32) -> Place {
        Place {
            lane: address >> 16,
            column: address & 0xFFFF,
        }
    }

    /// Where a cell is in the window; behind all of it where there is no such cell.
    fn cell(self) -> u64 {
        if self.lane >= LANES || self.column >= COLUMNS {
            return !3;
        }
        u64::from(self.column * LANES + self.lane) * 4
    }
}

/// An address as two words say: the slot of a register, and what is added to it.
fn address(ctx: &Ctx, words: Words, lane: usize) -> u32 {
    let &[slot, offset] = ctx.extra(words, 2) else {
        return u32::MAX;
    };
    ctx.cells::<u32>(Slot(slot))[lane & 31].wrapping_add(offset)
}

/// The units of `count` columns from one on; `None` if they are not all there.
fn units(column: u32, count: u32) -> Option<u32> {
    let end = column.checked_add(count)?;
    if end > COLUMNS || count == 0 {
        return None;
    }
    let (first, last) = (column / UNIT, (end - 1) / UNIT);
    Some((u32::MAX >> (31 - (last - first))) << first)
}

/// The word behind all cells that says what is given out, or whether more may be asked for.
fn told(ctx: &Ctx, at: u64) -> u32 {
    ctx.tensor.load(GIVEN + 4 * at).unwrap_or(0)
}

fn tell(ctx: &Ctx, at: u64, value: u32) {
    let stored = ctx.tensor.store(GIVEN + 4 * at, value);
    debug_assert!(stored.is_ok(), "the program has tensor memory");
}

/// No column is given out, and more may be asked for: a CTA begins.
pub(crate) fn take_back(memory: &Window) {
    let is_there = memory.fill(GIVEN, 0, 8);
    debug_assert!(is_there, "the program has tensor memory");
}

/// Whether columns are given out; a fault of `lane` if not.
fn holds(ctx: &mut Ctx, span: SpanId, lane: u32, place: Place, count: u32) -> bool {
    let given = told(ctx, 0);
    let is_given = units(place.column, count).is_some_and(|units| given & units == units);
    if !is_given || place.lane >= LANES {
        let address = u64::from(place.lane) << 16 | u64::from(place.column);
        misuse(ctx, span, lane, Misuse::TensorMemory, Some(address));
        return false;
    }
    true
}

fn misuse(ctx: &mut Ctx, span: SpanId, lane: u32, misuse: Misuse, address: Option<u64>) {
    ctx.fault(span, FaultKind::Misuse(misuse), lane, address);
}
