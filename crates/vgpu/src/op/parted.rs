//! Lanes that parted in compiled code, which has run some blocks for a part of them each.

/// Blocks where lanes can wait meanwhile.
pub(crate) const WAYS: usize = 8;

/// Where lanes are when such code is left, which writes this.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Parted {
    /// Those that go on with the next op.
    pub(crate) active: u32,
    /// How many entries of `waits` count.
    pub(crate) count: u32,
    /// A block, and the lanes that wait there.
    pub(crate) waits: [[u32; 2]; WAYS],
}
