//! Tensor maps: what `cp.async.bulk.tensor` copies, as 128 bytes in memory (PTX ISA 5.5.8).
//!
//! What stands in them is for whoever makes and reads them to agree on: the driver makes maps, and this device reads them. Fields
//! are where `tensormap.replace` may change one alone.

/// Bytes of a map.
pub const BYTES: usize = 128;
/// What the last bytes of a map are.
const MAGIC: u32 = 0x5754_4D31;

const ADDRESS: usize = 0;
const RANK: usize = 8;
const ELEMENT: usize = 9;
const INTERLEAVE: usize = 10;
const SWIZZLE: usize = 11;
const FILL: usize = 12;
const IM2COL: usize = 13;
const STRIDES: usize = 16;
const DIMS: usize = 48;
const BOX: usize = 68;
const STEPS: usize = 78;
const LOWER: usize = 88;
const UPPER: usize = 94;
const CHANNELS: usize = 100;
const PIXELS: usize = 104;
const END: usize = 124;

/// Types of elements, in the order in which PTX numbers them (`tensormap.replace`, `.elemtype`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are those of PTX
pub enum Element {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F32Ftz,
    F64,
    Bf16,
    Tf32,
    Tf32Ftz,
}

impl Element {
    /// All of them.
    pub const ALL: [Element; 13] = [
        Element::U8,
        Element::U16,
        Element::U32,
        Element::S32,
        Element::U64,
        Element::S64,
        Element::F16,
        Element::F32,
        Element::F32Ftz,
        Element::F64,
        Element::Bf16,
        Element::Tf32,
        Element::Tf32Ftz,
    ];

    /// Bytes of an element.
    pub fn bytes(self) -> u32 {
        match self {
            Element::U8 => 1,
            Element::U16 | Element::F16 | Element::Bf16 => 2,
            Element::U32
            | Element::S32
            | Element::F32
            | Element::F32Ftz
            | Element::Tf32
            | Element::Tf32Ftz => 4,
            Element::U64 | Element::S64 | Element::F64 => 8,
        }
    }

    /// Whether it is a floating-point number.
    pub fn is_float(self) -> bool {
        match self {
            Element::F16
            | Element::F32
            | Element::F32Ftz
            | Element::F64
            | Element::Bf16
            | Element::Tf32
            | Element::Tf32Ftz => true,
            Element::U8
            | Element::U16
            | Element::U32
            | Element::S32
            | Element::U64
            | Element::S64 => false,
        }
    }
}

/// Where the 16-byte units of a row go in shared memory: a pattern over so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swizzle {
    /// In order.
    None,
    /// In pairs.
    B32,
    /// In fours.
    B64,
    /// In eights.
    B128,
}

impl Swizzle {
    /// By their number in PTX and in the driver.
    pub fn of(number: u32) -> Option<Swizzle> {
        let all = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];
        all.get(number as usize).copied()
    }

    /// Where what would be at an address is: bits 4 to 6, as many as the pattern has, change with those from 7 on.
    #[inline]
    pub fn place(self, address: u64) -> u64 {
        let mask = match self {
            Swizzle::None => 0,
            Swizzle::B32 => 0x10,
            Swizzle::B64 => 0x30,
            Swizzle::B128 => 0x70,
        };
        address ^ (address >> 3 & mask)
    }

    /// Bytes that a row may have.
    pub fn row(self) -> Option<u32> {
        match self {
            Swizzle::None => None,
            Swizzle::B32 => Some(32),
            Swizzle::B64 => Some(64),
            Swizzle::B128 => Some(128),
        }
    }
}

/// What a copy takes of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// A box of so many elements in each dimension.
    Tile([u32; 5]),
    /// So many channels of so many pixels, of a box whose corners are so far from those of the tensor.
    Im2col {
        /// From the first pixel.
        lower: [i16; 3],
        /// From the last one.
        upper: [i16; 3],
        /// Channels of each pixel.
        channels: u32,
        /// Pixels.
        pixels: u32,
    },
}

/// A tensor in device memory, and what copies take of it. Dimension 0 lies together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Where it starts.
    pub address: u64,
    /// Dimensions: 1 to 5.
    pub rank: u8,
    /// What it is of.
    pub element: Element,
    /// Elements in each dimension.
    pub dims: [u64; 5],
    /// Bytes from an element to the next one, of dimensions from 1 on.
    pub strides: [u64; 4],
    /// Every how many elements of a dimension are taken.
    pub steps: [u32; 5],
    /// Where they go in shared memory.
    pub swizzle: Swizzle,
    /// Whether what is outside is NaN, or else zero.
    pub fills_nan: bool,
    /// What is taken.
    pub take: Take,
}

fn get<const N: usize>(bytes: &[u8; BYTES], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

fn put<const N: usize>(bytes: &mut [u8; BYTES], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}

impl TensorMap {
    /// As it stands in memory.
    pub fn encode(&self) -> [u8; BYTES] {
        let mut to = [0; BYTES];
        put(&mut to, ADDRESS, self.address.to_le_bytes());
        to[RANK] = self.rank;
        to[ELEMENT] = self.element as u8;
        to[SWIZZLE] = self.swizzle as u8;
        to[FILL] = u8::from(self.fills_nan);
        for (i, stride) in self.strides.iter().enumerate() {
            put(&mut to, STRIDES + 8 * i, stride.to_le_bytes());
        }
        for i in 0..5 {
            // There may be 2^32 of them.
            let dim = self.dims[i].wrapping_sub(1) as u32;
            put(&mut to, DIMS + 4 * i, dim.to_le_bytes());
            put(&mut to, STEPS + 2 * i, (self.steps[i] as u16).to_le_bytes());
        }
        match self.take {
            Take::Tile(each) => {
                for (i, count) in each.iter().enumerate() {
                    put(&mut to, BOX + 2 * i, (*count as u16).to_le_bytes());
                }
            }
            Take::Im2col {
                lower,
                upper,
                channels,
                pixels,
            } => {
                to[IM2COL] = 1;
                for i in 0..3 {
                    put(&mut to, LOWER + 2 * i, lower[i].to_le_bytes());
                    put(&mut to, UPPER + 2 * i, upper[i].to_le_bytes());
                }
                put(&mut to, CHANNELS, channels.to_le_bytes());
                put(&mut to, PIXELS, pixels.to_le_bytes());
            }
        }
        put(&mut to, END, MAGIC.to_le_bytes());
        to
    }

    /// From memory; `None` if what stands there is no map, or has an interleaved layout.
    pub fn decode(from: &[u8; BYTES]) -> Option<TensorMap> {
        if u32::from_le_bytes(get(from, END)) != MAGIC || from[INTERLEAVE] != 0 {
            return None;
        }
        let short = |at: usize| u16::from_le_bytes(get(from, at));
        let signed = |at: usize| i16::from_le_bytes(get(from, at));
        let word = |at: usize| u32::from_le_bytes(get(from, at));
        Some(TensorMap {
            address: u64::from_le_bytes(get(from, ADDRESS)),
            rank: Some(from[RANK]).filter(|rank| (1..=5).contains(rank))?,
            element: Element::ALL.get(usize::from(from[ELEMENT])).copied()?,
            dims: std::array::from_fn(|i| u64::from(word(DIMS + 4 * i)) + 1),
            strides: std::array::from_fn(|i| u64::from_le_bytes(get(from, STRIDES + 8 * i))),
            steps: std::array::from_fn(|i| u32::from(short(STEPS + 2 * i)).max(1)),
            swizzle: Swizzle::of(u32::from(from[SWIZZLE]))?,
            fills_nan: from[FILL] != 0,
            take: if from[IM2COL] == 0 {
                Take::Tile(std::array::from_fn(|i| {
                    u32::from(short(BOX + 2 * i)).max(1)
                }))
            } else {
                Take::Im2col {
                    lower: std::array::from_fn(|i| signed(LOWER + 2 * i)),
                    upper: std::array::from_fn(|i| signed(UPPER + 2 * i)),
                    channels: word(CHANNELS),
                    pixels: word(PIXELS),
                }
            },
        })
    }
}

crate::op::choices! {
    /// Fields that `tensormap.replace` changes.
    pub(crate) enum Field {
        Address,
        Rank,
        Box,
        Dim,
        Stride,
        Step,
        Element,
        Interleave,
        Swizzle,
        Fill,
    }
}

/// Where it stands that memory holds a map, and how: whoever sets a field of zeros makes a map of them.
pub(crate) const MARK: (usize, [u8; 4]) = (END, MAGIC.to_le_bytes());

/// Where a field is, and its bytes as a new value gives them.
pub(crate) fn field(field: Field, ordinal: u32, value: u64) -> (usize, Vec<u8>) {
    let at = ordinal as usize;
    match field {
        Field::Address => (ADDRESS, value.to_le_bytes().to_vec()),
        // One less than there are.
        Field::Rank => (RANK, vec![(value as u8).wrapping_add(1)]),
        Field::Box => (BOX + 2 * at, (value as u16).to_le_bytes().to_vec()),
        Field::Dim => {
            let dim = (value as u32).wrapping_sub(1);
            (DIMS + 4 * at, dim.to_le_bytes().to_vec())
        }
        Field::Stride => (STRIDES + 8 * at.min(3), value.to_le_bytes().to_vec()),
        Field::Step => (STEPS + 2 * at, (value as u16).to_le_bytes().to_vec()),
        Field::Element => (ELEMENT, vec![value as u8]),
        Field::Interleave => (INTERLEAVE, vec![value as u8]),
        Field::Swizzle => (SWIZZLE, vec![value as u8]),
        Field::Fill => (FILL, vec![value as u8]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read_as_it_was_made() {
        let tile = TensorMap {
            address: 0x10_0000_1230,
            rank: 5,
            element: Element::Bf16,
            dims: [1 << 32, 7, 1, 3, 65536],
            strides: [16, 1 << 39, 48, 1 << 20],
            steps: [1, 2, 8, 1, 3],
            swizzle: Swizzle::B64,
            fills_nan: true,
            take: Take::Tile([256, 1, 3, 5, 7]),
        };
        let pixels = TensorMap {
            take: Take::Im2col {
                lower: [-128, 127, 0],
                upper: [-1, 5, -3],
                channels: 256,
                pixels: 1024,
            },
            ..tile
        };
        for map in [tile, pixels] {
            assert_eq!(TensorMap::decode(&map.encode()), Some(map));
        }
        assert_eq!(TensorMap::decode(&[0; BYTES]), None);
        let mut bytes = tile.encode();
        for (one, ordinal, value) in [(Field::Rank, 0, 1), (Field::Dim, 1, 9), (Field::Box, 0, 4)] {
            let (at, new) = field(one, ordinal, value);
            bytes[at..at + new.len()].copy_from_slice(&new);
        }
        let changed = TensorMap::decode(&bytes).expect("a map");
        assert_eq!((changed.rank, changed.dims[1]), (2, 9));
        assert_eq!(changed.take, Take::Tile([4, 1, 3, 5, 7]));
    }

    #[test]
    fn swizzles_are_their_own_inverses() {
        for swizzle in [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128] {
            let mut seen = std::collections::BTreeSet::new();
            for at in (0..2048).step_by(16) {
                let place = swizzle.place(at);
                assert_eq!(swizzle.place(place), at);
                assert_eq!(place >> 7, at >> 7);
                assert!(seen.insert(place));
            }
        }
        // The second row of eight has its first unit where the second would be.
        assert_eq!(Swizzle::B128.place(128), 128 + 16);
        assert_eq!(Swizzle::B32.place(256), 256);
    }
}
