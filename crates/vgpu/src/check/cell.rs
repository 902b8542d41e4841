//! Who touched a piece of memory last, in one word: when (an epoch), which warp, and which of its lanes.
//!
//! A piece that one instruction touched from end to end needs no more than that: the lane of byte `b` is the first
//! lane plus `b >> shift`. Epochs only grow, so what is older than some epoch is found by comparing words.

/// A word of a history; 0 is nobody.
pub(crate) type Cell = u64;

/// Marks a piece whose parts have cells of their own; its epoch's place holds their number.
pub(crate) const SPLIT: Cell = 1 << 63;
/// Marks a piece of which several accesses are kept; its epoch's place holds their number.
pub(crate) const CROWD: Cell = 1 << 62;
/// Where the epoch begins.
pub(crate) const EPOCH: u32 = 29;
/// A read of memory that nobody writes meanwhile (`.nc`).
pub(crate) const CONSTANT: Cell = 1 << 28;
const WARP: u32 = 8;
const WARP_BITS: u32 = 20;
pub(crate) const LANE: u32 = 3;
const SHIFT: Cell = 7;
/// The shift where all bytes of an access, of up to 32, are one lane's.
pub(crate) const ONE: u32 = 5;
/// What says which threads it was, apart from when.
const THREAD: Cell = (1 << EPOCH) - 1;

/// The cell of an epoch and a warp; [`of_lane`] adds the lanes.
pub(crate) fn mark(epoch: u64, warp: u32, constant: bool) -> Cell {
    let warp = u64::from(warp) & ((1 << WARP_BITS) - 1);
    epoch << EPOCH | if constant { CONSTANT } else { 0 } | warp << WARP
}

/// The cell where byte `b` is lane `lane + (b >> shift)`'s.
#[inline(always)]
pub(crate) fn of_lane(mark: Cell, lane: u32, shift: u32) -> Cell {
    mark | u64::from(lane) << LANE | u64::from(shift)
}

/// The cell `bytes` later.
#[inline(always)]
pub(crate) fn later(cell: Cell, bytes: u64) -> Cell {
    cell + ((bytes >> (cell & SHIFT)) << LANE)
}

/// The same for a piece of `1 << log` bytes that one lane has: so that one thread's cells are alike.
#[inline(always)]
pub(crate) fn for_piece(cell: Cell, log: u64) -> Cell {
    cell & !SHIFT | (cell & SHIFT).min(log)
}

/// Its epoch.
pub(crate) fn epoch(cell: Cell) -> u64 {
    (cell & !(SPLIT | CROWD)) >> EPOCH
}

/// The cell of the lane of a byte, for that lane alone.
pub(crate) fn alone(cell: Cell, byte: u64) -> Cell {
    later(cell, byte) & !SHIFT | Cell::from(ONE)
}

/// The lane of a byte.
pub(crate) fn lane(cell: Cell, byte: u64) -> u32 {
    (later(cell, byte) >> LANE & 31) as u32
}

/// How many bytes in a row are one lane's.
pub(crate) fn step(cell: Cell) -> u64 {
    1 << (cell & SHIFT)
}

/// A split piece: no thread's cell has its lower bits.
pub(crate) fn split(number: u64) -> Cell {
    SPLIT | number << EPOCH | THREAD
}

/// A crowded piece: no thread's cell has its lower bits.
pub(crate) fn crowd(number: u64) -> Cell {
    CROWD | number << EPOCH | THREAD
}

/// Whether two pieces are the same threads'.
#[inline(always)]
pub(crate) fn same_threads(a: Cell, b: Cell) -> bool {
    (a ^ b) & THREAD == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_gives_back_what_it_was_made_of() {
        let cell = of_lane(mark(77, 5, false), 8, 2);
        assert_eq!((epoch(cell), lane(cell, 0), step(cell)), (77, 8, 4));
        assert_eq!([0, 3, 4, 15].map(|byte| lane(cell, byte)), [8, 8, 9, 11]);
        assert_eq!(lane(later(cell, 8), 0), 10);
        assert!(same_threads(cell, of_lane(mark(99, 5, false), 8, 2)));
        assert!(!same_threads(cell, of_lane(mark(77, 6, false), 8, 2)));
        assert!(!same_threads(cell, of_lane(mark(77, 5, true), 8, 2)));
        assert!(!same_threads(cell, split(77)));
        assert_eq!(epoch(split(77)), 77);
        assert_eq!(epoch(crowd(77)), 77);
        assert!(!same_threads(cell, crowd(77)));
        assert_eq!(
            (lane(alone(cell, 9), 0), lane(alone(cell, 9), 15)),
            (10, 10)
        );
    }
}
