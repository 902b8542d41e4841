//! Columns that are given out and back, and what moves between registers, shared memory and tensor memory.
//!
//! # Where registers are (PTX ISA 9.7.16.2.3.1)
//! Of thread `t` register `i` is in this lane and column:
//!
//! | shape | lane | column |
//! |---|---|---|
//! | `32x32b` | `t` | `i` |
//! | `16x32bx2` | `t % 16` | `i`, and the split more from thread 16 on |
//! | `16x64b` | `t / 4 + 8 * (t % 2)` | `t / 2 % 2 + 2 * i` |
//! | `16x128b` | `t / 4 + 8 * (i % 2)` | `t % 4 + 4 * (i / 2)` |
//! | `16x256b` | `t / 4 + 8 * (i / 2 % 2)` | `2 * (t % 4) + i % 2 + 8 * (i / 4)` |
//!
//! Packed, the halves of a register are in two columns, which have nothing else: those of column `c` in `2 * c` and the next.

use super::{
    Place, UNIT, address, holds, misuse, tell, told, units,
    watch::{self, Touched},
};
use crate::{
    error::Misuse,
    exec::{
        AccessId, Ctx, Handler, Micro, Slot, Words, args,
        bulk::{may, may_read},
        choices,
        descriptor::Descriptor,
        ldst,
    },
    memory::Bad,
    op::Memory,
};

choices! {
    /// How the registers of a warp lie in tensor memory.
    pub(super) enum Shape {
        L32x32b,
        L16x32bx2,
        L16x64b,
        L16x128b,
        L16x256b,
    }
}

args! {
    pub(super) struct Give {
        /// Where the address is stored: two words, as in `address`.
        pub(super) to: Words,
        pub(super) memory: Memory,
        /// Addresses of 64 bits.
        pub(super) wide: bool,
        pub(super) columns: Slot,
        pub(super) writes: AccessId,
    }

    pub(super) struct Take {
        pub(super) address: Slot,
        pub(super) columns: Slot,
    }

    pub(super) struct Move {
        pub(super) shape: Shape,
        pub(super) stores: bool,
        /// Two halves to a register.
        pub(super) packed: bool,
        pub(super) at: Words,
        /// Columns between the first threads and the others of `16x32bx2`.
        pub(super) split: u32,
        pub(super) registers: Words,
        pub(super) count: u32,
    }

    pub(super) struct Copy {
        pub(super) to: Words,
        pub(super) from: Slot,
        /// Rows, bytes of each, and how many lanes there are until the rows come again.
        pub(super) rows: u32,
        pub(super) bytes: u32,
        pub(super) again: u32,
        /// Each 32 of the rows go to 64 lanes.
        pub(super) doubled: bool,
        pub(super) reads: AccessId,
    }
}

fn leader(ctx: &Ctx) -> u32 {
    ctx.mask.trailing_zeros() & 31
}

/// Columns are given out.
pub(super) struct Gives;
impl Handler for Gives {
    type Args = Give;
    fn run(ctx: &mut Ctx, op: &Micro<Give>) {
        let lane = leader(ctx);
        let (span, columns) = (op.span(), ctx.cells::<u32>(op.columns)[lane as usize]);
        if !columns.is_power_of_two() || !(UNIT..=super::COLUMNS).contains(&columns) {
            return misuse(ctx, span, lane, Misuse::TensorColumns, None);
        }
        if told(ctx, 1) != 0 {
            return misuse(ctx, span, lane, Misuse::TensorPermit, None);
        }
        let given = told(ctx, 0);
        let starts = (0..super::COLUMNS).step_by(UNIT as usize);
        let free = starts.filter_map(|first| Some((first, units(first, columns)?)));
        let Some((first, taken)) = { free }.find(|(_, units)| given & units == 0) else {
            return misuse(ctx, span, lane, Misuse::TensorMemoryFull, None);
        };
        tell(ctx, 0, given | taken);
        watch::given(ctx, span, lane, (first, first + columns));
        let to = if op.wide {
            let &[slot, offset] = ctx.extra(op.to, 2) else {
                return;
            };
            ctx.cells::<u64>(Slot(slot))[lane as usize]
                .wrapping_add(i64::from(offset as i32) as u64)
        } else {
            u64::from(address(ctx, op.to, lane as usize))
        };
        let (memory, inside) = ldst::window(ctx, op.memory, to, lane);
        if op.memory == Memory::Shared && !may(ctx, (span, op.writes), lane, (inside, 4)) {
            return;
        }
        if let Err(bad) = memory.store(inside, first) {
            ctx.refuse(span, bad, lane, to, 4);
        }
        ctx.changes += 1;
    }
}

/// Columns are given back.
pub(super) struct Takes;
impl Handler for Takes {
    type Args = Take;
    fn run(ctx: &mut Ctx, op: &Micro<Take>) {
        let lane = leader(ctx);
        let [at, columns] =
            [op.address, op.columns].map(|slot| ctx.cells::<u32>(slot)[lane as usize]);
        let (span, place) = (op.span(), Place::of(at));
        if !columns.is_power_of_two() || !(UNIT..=super::COLUMNS).contains(&columns) {
            return misuse(ctx, span, lane, Misuse::TensorColumns, None);
        }
        if !holds(ctx, span, lane, place, columns) {
            return;
        }
        if place.lane != 0 || !place.column.is_multiple_of(UNIT) {
            return misuse(ctx, span, lane, Misuse::TensorMemory, Some(at.into()));
        }
        let taken = units(place.column, columns).unwrap_or(0);
        tell(ctx, 0, told(ctx, 0) & !taken);
        watch::taken(ctx, span, lane, (place.column, place.column + columns));
    }
}

/// Nobody asks for more columns.
pub(super) struct Relinquishes;
impl Handler for Relinquishes {
    type Args = ();
    fn run(ctx: &mut Ctx, _: &Micro<()>) {
        tell(ctx, 1, 1);
    }
}

impl Shape {
    /// Lane and column of a thread's register, without the split.
    fn cell(self, thread: u32, register: u32) -> [u32; 2] {
        let (t, i) = (thread, register);
        match self {
            Shape::L32x32b => [t, i],
            Shape::L16x32bx2 => [t % 16, i],
            Shape::L16x64b => [t / 4 + 8 * (t % 2), t / 2 % 2 + 2 * i],
            Shape::L16x128b => [t / 4 + 8 * (i % 2), t % 4 + 4 * (i / 2)],
            Shape::L16x256b => [t / 4 + 8 * (i / 2 % 2), 2 * (t % 4) + i % 2 + 8 * (i / 4)],
        }
    }

    /// Columns of 32 bits that so many registers are in, of half the warp where it is in two parts.
    fn columns(self, registers: u32) -> u32 {
        match self {
            Shape::L32x32b | Shape::L16x32bx2 => registers,
            Shape::L16x64b | Shape::L16x128b | Shape::L16x256b => 2 * registers,
        }
    }
}

/// Registers of a warp to or from tensor memory.
pub(super) struct Moves;
impl Handler for Moves {
    type Args = Move;
    fn run(ctx: &mut Ctx, op: &Micro<Move>) {
        let lane = leader(ctx);
        let (span, at) = (op.span(), address(ctx, op.at, lane as usize));
        let place = Place::of(at);
        let own = ctx.warp.index % 4 * 32;
        let half = op.shape != Shape::L32x32b;
        if place.lane != own && !(half && place.lane == own + 16) {
            return misuse(ctx, span, lane, Misuse::TensorLanes, Some(at.into()));
        }
        let columns = op.shape.columns(op.count) * op.parts();
        if !holds(ctx, span, lane, place, columns) {
            return;
        }
        let second = match op.shape {
            Shape::L16x32bx2 => place.column.saturating_add(op.split),
            _ => place.column,
        };
        let beside = Place {
            column: second,
            ..place
        };
        if !holds(ctx, span, lane, beside, columns) {
            return;
        }
        if ctx.checker.is_some() {
            let cells = op.all(place, ctx.mask);
            let range = (place.column.min(second), place.column.max(second) + columns);
            watch::moved(ctx, span, op.stores, (range, &cells));
        }
        for register in 0..op.count {
            let slot = Slot(ctx.extra(op.registers, op.count as usize)[register as usize]);
            if op.stores {
                store(ctx, op, place, (register, slot));
            } else {
                load(ctx, op, place, (register, slot));
            }
        }
    }
}

impl Move {
    /// Columns that a register is in.
    fn parts(&self) -> u32 {
        if self.packed { 2 } else { 1 }
    }

    /// Where a part of a thread's register is.
    fn place(&self, first: Place, thread: u32, (register, part): (u32, u32)) -> Place {
        let [lane, column] = self.shape.cell(thread, register);
        let split = self.shape == Shape::L16x32bx2 && thread >= 16;
        let beside = if split { self.split } else { 0 };
        Place {
            lane: first.lane + lane,
            column: first.column + column * self.parts() + part + beside,
        }
    }

    /// Lane and column of all cells that these threads have.
    fn all(&self, first: Place, mask: u32) -> Vec<[u32; 2]> {
        let threads = (0..32).filter(|thread| mask >> thread & 1 != 0);
        let of = |thread: u32| {
            let registers = 0..self.count * self.parts();
            registers.map(move |at| {
                let at = (at / self.parts(), at % self.parts());
                let place = self.place(first, thread, at);
                [place.lane, place.column]
            })
        };
        threads.flat_map(of).collect()
    }
}

/// A register to its cells.
fn store(ctx: &mut Ctx, op: &Move, first: Place, (register, slot): (u32, Slot)) {
    let values = *ctx.cells::<u32>(slot);
    let mask = ctx.mask;
    for thread in (0..32).filter(|thread| mask >> thread & 1 != 0) {
        for part in 0..op.parts() {
            let value = match op.packed {
                true => values[thread as usize] >> (16 * part) & 0xFFFF,
                false => values[thread as usize],
            };
            let cell = op.place(first, thread, (register, part)).cell();
            let stored = ctx.tensor.store(cell, value);
            debug_assert!(stored.is_ok(), "the columns are there");
        }
    }
}

/// A register from its cells.
fn load(ctx: &mut Ctx, op: &Move, first: Place, (register, slot): (u32, Slot)) {
    let values = std::array::from_fn(|thread| {
        let parts = (0..op.parts()).map(|part| {
            let cell = op.place(first, thread as u32, (register, part)).cell();
            let value = ctx.tensor.load::<u32>(cell).unwrap_or(0);
            if op.packed {
                (value & 0xFFFF) << (16 * part)
            } else {
                value
            }
        });
        parts.fold(0, |all, part| all | part)
    });
    ctx.put_cells(slot, values);
}

/// Rows of shared memory to tensor memory, by one thread.
pub(super) struct Copies;
impl Handler for Copies {
    type Args = Copy;
    fn run(ctx: &mut Ctx, op: &Micro<Copy>) {
        let span = op.span();
        let mask = ctx.mask;
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let place = Place::of(address(ctx, op.to, lane as usize));
            let bits = ctx.cells::<u64>(op.from)[lane as usize];
            let Some(matrix) = Descriptor::of_tensor(bits) else {
                return misuse(ctx, span, lane, Misuse::TensorDescriptor, None);
            };
            if !holds(ctx, span, lane, place, op.bytes / 4) {
                return;
            }
            if place.lane != 0 {
                return misuse(ctx, span, lane, Misuse::TensorLanes, None);
            }
            if copy(ctx, op, lane, (place, matrix)).is_none() {
                return;
            }
        }
        ctx.changes += 1;
    }
}

/// The rows of a matrix, each to the lanes that get it; `None` after a fault.
fn copy(
    ctx: &mut Ctx,
    op: &Micro<Copy>,
    lane: u32,
    (place, matrix): (Place, Descriptor),
) -> Option<()> {
    let mut touched = Touched {
        writes: (place.column, place.column + op.bytes / 4),
        ..Touched::default()
    };
    let mut range = (u64::MAX, 0);
    for row in 0..op.rows {
        for byte in (0..op.bytes).step_by(4) {
            let from = matrix.along_k(row.into(), byte.into());
            range = (range.0.min(from), range.1.max(from + 4));
            if !may_read(ctx, (op.span(), op.reads), lane, (from, 4), false) {
                return None;
            }
            let Ok(value) = ctx.shared.load::<u32>(from) else {
                ctx.refuse(op.span(), Bad::Bounds, lane, from, 4);
                return None;
            };
            let first = if op.doubled {
                row / 32 * 64 + row % 32
            } else {
                row
            };
            let end = if op.doubled { first + 64 } else { super::LANES };
            for to in (first..end).step_by(op.again as usize) {
                let column = place.column + byte / 4;
                let stored = ctx.tensor.store(Place { lane: to, column }.cell(), value);
                debug_assert!(stored.is_ok(), "the columns are there");
                if ctx.checker.is_some() {
                    touched.written.push([to, column]);
                }
            }
        }
    }
    if ctx.checker.is_some() {
        touched.shared.push(range);
        touched.tell(ctx, op.span(), lane);
    }
    Some(())
}
