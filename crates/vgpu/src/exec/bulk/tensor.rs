//! What a copy takes of a tensor: rows of elements that lie together, each in device memory or outside of the tensor.

use crate::{
    memory::Window,
    tensor_map::{Element, Swizzle, Take, TensorMap},
};

/// The rows of a copy, in the order in which they lie in shared memory.
pub(super) struct Rows {
    /// Where each would start in device memory; `None` where it is outside of the tensor.
    pub(super) starts: Vec<Option<u64>>,
    /// Bytes of a row, and those of them that are inside of the tensor.
    pub(super) row: usize,
    pub(super) inside: (usize, usize),
    /// Where they go in shared memory; `None` for data that is no tile.
    swizzle: Option<Swizzle>,
}

/// The most bytes that a copy is of: more than shared memory has.
const MOST: usize = 1 << 20;

impl Rows {
    /// Of bytes that lie together.
    pub(super) fn flat(len: usize) -> Rows {
        Rows {
            starts: Vec::new(),
            row: len,
            inside: (0, len),
            swizzle: None,
        }
    }

    pub(super) fn is_flat(&self) -> bool {
        self.swizzle.is_none()
    }

    pub(super) fn bytes(&self) -> usize {
        self.row * self.starts.len()
    }

    /// Of a tensor from some coordinates on; `None` if the map says what no copy can be.
    pub(super) fn new(map: &TensorMap, at: [i64; 5], offsets: [i64; 3]) -> Option<Rows> {
        let (count, points) = match map.take {
            Take::Tile(each) => (each[0], tile(map, at, each)?),
            Take::Im2col {
                lower,
                upper,
                channels,
                pixels,
            } => (
                channels,
                pixels_of(map, at, offsets, (lower, upper, pixels))?,
            ),
        };
        let element = u64::from(map.element.bytes());
        let row = usize::try_from(u64::from(count) * element).ok()?;
        if row == 0 || !row.is_multiple_of(16) || row.checked_mul(points.len())? > MOST {
            return None;
        }
        let dim = i64::try_from(map.dims[0]).ok()?;
        let first = (-at[0]).clamp(0, i64::from(count));
        let last = (dim - at[0]).clamp(first, i64::from(count));
        let bytes = |elements: i64| elements as usize * element as usize;
        let start = |point: [i64; 5]| {
            let outer = 1..usize::from(map.rank);
            let is_inside =
                |i: usize| u64::try_from(point[i]).is_ok_and(|place| place < map.dims[i]);
            if !outer.clone().all(is_inside) {
                return None;
            }
            let lead = (at[0] as u64).wrapping_mul(element);
            let start = map.address.wrapping_add(lead);
            Some(outer.fold(start, |start, i| {
                let stride = (point[i] as u64).wrapping_mul(map.strides[i - 1]);
                start.wrapping_add(stride)
            }))
        };
        Some(Rows {
            starts: points.into_iter().map(start).collect(),
            row,
            inside: (bytes(first), bytes(last)),
            swizzle: Some(map.swizzle),
        })
    }

    /// Where the 16-byte units of a tile are, if it begins at an address.
    fn units(&self, from: u64, len: usize) -> impl Iterator<Item = u64> + use<> {
        let swizzle = self.swizzle.unwrap_or(Swizzle::None);
        (0..len as u64 / 16).map(move |unit| swizzle.place(from + 16 * unit))
    }

    /// Writes a tile; `false` if it is not all inside.
    pub(super) fn scatter(&self, memory: &Window, to: u64, data: &[u8]) -> bool {
        let mut units = self.units(to, data.len()).zip(data.as_chunks::<16>().0);
        units.all(|(at, unit)| memory.write(at, unit))
    }

    /// Reads a tile.
    pub(super) fn gather(&self, memory: &Window, from: u64) -> Option<Vec<u8>> {
        let mut data = vec![0; self.bytes()];
        let units = self.units(from, data.len());
        let mut both = units.zip(data.as_chunks_mut::<16>().0);
        both.all(|(at, unit)| memory.read(at, unit)).then_some(data)
    }
}

/// The rows of a box: dimension 1 goes fastest.
fn tile(map: &TensorMap, at: [i64; 5], each: [u32; 5]) -> Option<Vec<[i64; 5]>> {
    let mut all = vec![at];
    for i in 1..usize::from(map.rank) {
        let step = i64::from(map.steps[i]);
        let count = u64::from(each[i]).div_ceil(u64::from(map.steps[i]));
        if all.len() as u64 * count > MOST as u64 {
            return None;
        }
        // What is so far are the rows for one place in this dimension.
        let so_far = all.clone();
        all.clear();
        for k in 0..count as i64 {
            all.extend(so_far.iter().map(|point| {
                let mut point = *point;
                point[i] += k * step;
                point
            }));
        }
    }
    Some(all)
}

/// Pixels from one on, row by row of the box that the corners leave, then image by image; each moved by the offsets.
fn pixels_of(
    map: &TensorMap,
    at: [i64; 5],
    offsets: [i64; 3],
    (lower, upper, pixels): ([i16; 3], [i16; 3], u32),
) -> Option<Vec<[i64; 5]>> {
    let spatial = usize::from(map.rank).checked_sub(2).filter(|n| *n > 0)?;
    if pixels as usize > MOST {
        return None;
    }
    let last = |i: usize| {
        let dim = i64::try_from(map.dims[i + 1]).unwrap_or(i64::MAX);
        dim.saturating_add(i64::from(upper[i])) - 1
    };
    let mut point = at;
    let mut all = Vec::with_capacity(pixels as usize);
    for _ in 0..pixels {
        let mut moved = point;
        for i in 0..spatial {
            moved[i + 1] += offsets[i];
        }
        all.push(moved);
        let mut carry = true;
        for i in 0..spatial {
            if !carry {
                break;
            }
            point[i + 1] += i64::from(map.steps[i + 1]);
            carry = point[i + 1] > last(i);
            if carry {
                point[i + 1] = i64::from(lower[i]);
            }
        }
        if carry {
            point[spatial + 1] += 1;
        }
    }
    Some(all)
}

/// What stands for elements outside of the tensor.
pub(super) fn fill(row: &mut [u8], map: &TensorMap) {
    if !(map.fills_nan && map.element.is_float()) {
        row.fill(0);
        return;
    }
    let size = map.element.bytes() as usize;
    for element in row.chunks_mut(size) {
        element.fill(0xFF);
        if let Some(high) = element.last_mut() {
            *high = 0x7F;
        }
    }
}

/// Small numbers of the types that have none become zero.
pub(super) fn flush(row: &mut [u8], map: &TensorMap) {
    if !matches!(map.element, Element::F32Ftz | Element::Tf32Ftz) {
        return;
    }
    for element in row.as_chunks_mut::<4>().0 {
        let bits = u32::from_le_bytes(*element);
        if bits & 0x7F80_0000 == 0 {
            *element = (bits & 0x8000_0000).to_le_bytes();
        }
    }
}
