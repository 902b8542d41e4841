//! Nodes that only machines with narrow vectors need.

/// What such a node does.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Step {
    /// Writes elements lane after lane. Base, what is left of the lanes that take part, those, three free registers.
    Lanewise(Lanewise),
    /// Half of the rows of products of floats: eight sums, what those start from that do not in the frame, three free
    /// registers. Quarters 2 and 3 are of the second product.
    Floats { tiles: u32, quarter: u32 },
    /// Half of the rows of a product of bytes, of which A's are words of 16 bits: eight sums and what they were, five free
    /// registers.
    Bytes {
        a: u32,
        b: u32,
        blocks: u32,
        swapped: bool,
        /// Bytes from one block of A to the next.
        each: u32,
    },
    /// Sums and products round in a direction from here on; how they did stands on the stack.
    Round { before: u32, how: Direction },
    /// They round as they did.
    RoundAsBefore(u32),
    /// Four registers of rows of 16 bytes, as `Rows` has two.
    Rows(u32, bool),
}

/// A direction that results are rounded in, as the control word numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Direction {
    Down = 1,
    Up = 2,
    Zero = 3,
}

/// Elements that are written lane after lane. They stand on the stack.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Lanewise {
    /// Of an element in memory: 1, 2, 4 or 8.
    pub(in super::super) bytes: u32,
    /// Where they are, in cells of 8 bytes or 4.
    pub(in super::super) values: u32,
    /// Where their offsets from the base are, and whether those have 64 bits; without, they are neighbours.
    pub(in super::super) offsets: Option<(u32, bool)>,
    /// What is added to the base.
    pub(in super::super) from: i32,
}
