//! Descriptors of matrices in shared memory, those of `wgmma` and of `tcgen05` (PTX ISA 9.7.15.5.1, 9.7.16.5).
//!
//! A descriptor has the first address, the leading and the stride offset (all in 16 bytes), and a swizzle mode. Rows with
//! their elements of k together ("K-major") lie in groups of eight, `stride` apart; in a group each is a unit of 16 bytes, or
//! a row of the swizzle's 32, 64 or 128, behind the one before. Without swizzle the second 16 bytes of k are `leading` away.
//! Transposed ("MN-major"), eight steps of k lie behind each other, and it is rows that lie together, 16 bytes of them or as
//! many as a row of the swizzle has.

use crate::tensor_map::Swizzle;

/// Where a matrix is.
#[derive(Clone, Copy)]
pub(super) struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    /// What is taken off the number of a row of 128 bytes before it decides on the pattern.
    base: u64,
    swizzle: Swizzle,
}

impl Descriptor {
    fn new(bits: u64, swizzle: Swizzle) -> Descriptor {
        let field = |at: u32| (bits >> at & 0x3FFF) << 4;
        Descriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base: bits >> 49 & 7,
            swizzle,
        }
    }

    /// Of a product of a warp group.
    pub(super) fn of_warpgroup(bits: u64) -> Descriptor {
        let swizzle = match bits >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::B128,
            2 => Swizzle::B64,
            _ => Swizzle::B32,
        };
        Descriptor::new(bits, swizzle)
    }

    /// Of `tcgen05`; `None` for a mode that is not done: patterns of 32 bytes, and a leading offset that is an address.
    pub(super) fn of_tensor(bits: u64) -> Option<Descriptor> {
        let swizzle = match bits >> 61 {
            0 => Swizzle::None,
            2 => Swizzle::B128,
            4 => Swizzle::B64,
            6 => Swizzle::B32,
            _ => return None,
        };
        let is_absolute = bits >> 52 & 1 != 0;
        (!is_absolute).then(|| Descriptor::new(bits, swizzle))
    }

    fn placed(&self, address: u64) -> u64 {
        let moved = address.wrapping_sub(self.base << 7);
        address ^ moved ^ self.swizzle.place(moved)
    }

    /// The address of byte `byte` of the elements of k of a row.
    pub(super) fn along_k(&self, row: u64, byte: u64) -> u64 {
        let (pitch, second) = match self.swizzle.row() {
            None => (16, self.leading),
            Some(row) => (u64::from(row), 16),
        };
        let group = row / 8 * self.stride + row % 8 * pitch;
        self.placed(self.start + group + byte / 16 * second + byte % 16)
    }

    /// The address of byte `byte` of step `k` of rows that lie together.
    pub(super) fn along_rows(&self, byte: u64, k: u64) -> u64 {
        let (units, inside) = (byte / 16, byte % 16);
        let offset = match self.swizzle.row() {
            None => units * self.stride + k % 8 * 16 + k / 8 * self.leading,
            Some(pitch) => {
                let pitch = u64::from(pitch);
                let each = pitch / 16;
                let group = units / each * self.leading + units % each * 16;
                group + k % 8 * pitch + k / 8 * self.stride
            }
        };
        self.placed(self.start + offset + inside)
    }
}
