//! Packing: from the blocks of a file to the planes of a device layout.

use super::layout::{BLOCK, Codes, GROUP, High, Layout};
use half::bf16;
use rayon::prelude::*;
use warpsmith_formats::quant::{WeightType, mxfp4_half_scale};

/// A weight matrix in its device layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Type in the file.
    pub ty: WeightType,
    /// Rows (outputs).
    pub rows: u32,
    /// Columns (inputs) of the model.
    pub columns: u32,
    /// Columns with padding to whole groups; padded weights are zero.
    pub padded: u32,
    /// Low bits, or unquantised weights; the planes are described at [`Layout`].
    pub codes: Vec<u32>,
    /// High bits.
    pub high: Vec<u32>,
    /// Scales within super-blocks.
    pub sub: Vec<u8>,
    /// 16-bit scales.
    pub scales: Vec<u16>,
}

/// Why a matrix cannot be packed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a {rows} x {columns} matrix of {ty} needs {want} bytes, got {got}")]
pub struct PackError {
    /// Type.
    pub ty: WeightType,
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Bytes needed; 0 if the columns are not whole blocks.
    pub want: u64,
    /// Bytes given.
    pub got: u64,
}

/// The codes and scales of one block of a file, in order.
struct FileBlock {
    codes: [u8; 256],
    sub: [u8; 32],
    scales: [u16; 2],
}

/// Packs `rows` of `columns` weights.
///
/// ```
/// use warpsmith_formats::quant::WeightType;
/// use warpsmith_library::weights::pack;
///
/// let block = [0u8; 20]; // a block of Q4_1: scale, minimum, 32 codes of four bits
/// let packed = pack(WeightType::Q4_1, &block, 1, 32)?;
/// assert_eq!((packed.rows, packed.columns, packed.value(0, 31)), (1, 32, 0.0));
/// assert!(pack(WeightType::Q4_1, &block, 1, 33).is_err()); // not whole blocks
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If `bytes` is not the size that the shape says, or a row is not whole blocks.
pub fn pack(ty: WeightType, bytes: &[u8], rows: u32, columns: u32) -> Result<Packed, PackError> {
    let per_row = ty.bytes_of(u64::from(columns)).unwrap_or(0);
    let want = per_row.checked_mul(u64::from(rows)).unwrap_or(0);
    if want != bytes.len() as u64 || (per_row == 0 && columns != 0) {
        return Err(PackError {
            ty,
            rows,
            columns,
            want,
            got: bytes.len() as u64,
        });
    }
    let layout = Layout::of(ty);
    let padded = columns.next_multiple_of(GROUP);
    let block = layout.block(padded);
    let blocks = rows.div_ceil(BLOCK) as usize;
    let mut packed = Packed {
        ty,
        rows,
        columns,
        padded,
        codes: vec![0; blocks * block.codes as usize],
        high: vec![0; blocks * block.high as usize],
        sub: vec![0; blocks * block.sub as usize],
        scales: vec![0; blocks * block.scales as usize],
    };
    if per_row == 0 {
        return Ok(packed);
    }
    let file_block = per_row as usize * BLOCK as usize;
    // One block of rows at a time; a plane that a layout lacks has empty parts.
    let part = |size: u32| (size as usize).max(1);
    let mut codes = packed.codes.chunks_mut(part(block.codes));
    let mut high = packed.high.chunks_mut(part(block.high));
    let mut sub = packed.sub.chunks_mut(part(block.sub));
    let mut scales = packed.scales.chunks_mut(part(block.scales));
    let jobs: Vec<Job<'_>> = bytes
        .chunks(file_block)
        .map(|file| Job {
            file,
            codes: codes.next().unwrap_or_default(),
            high: high.next().unwrap_or_default(),
            sub: sub.next().unwrap_or_default(),
            scales: scales.next().unwrap_or_default(),
        })
        .collect();
    jobs.into_par_iter().for_each(|mut job| {
        let file = job.file;
        for (row, file_row) in file.chunks_exact(per_row as usize).enumerate() {
            match layout.codes {
                Codes::Float(_) => job.float_row(layout, row, file_row),
                Codes::Byte | Codes::Nibble | Codes::NibbleInOrder | Codes::Pair => {
                    job.quantised_row(ty, layout, row, file_row);
                }
            }
        }
    });
    Ok(packed)
}

/// A block of rows and its parts of the planes.
struct Job<'a> {
    file: &'a [u8],
    codes: &'a mut [u32],
    high: &'a mut [u32],
    sub: &'a mut [u8],
    scales: &'a mut [u16],
}

/// Puts the `items` of one group (or super-block) of row `row` in pieces of `piece`.
fn place<T: Copy>(plane: &mut [T], group: usize, row: usize, piece: usize, items: &[T]) {
    let pieces = items.len() / piece;
    for (p, part) in items.chunks_exact(piece).enumerate() {
        let at = ((group * pieces + p) * BLOCK as usize + row) * piece;
        plane[at..at + piece].copy_from_slice(part);
    }
}

impl Job<'_> {
    fn float_row(&mut self, layout: Layout, row: usize, file_row: &[u8]) {
        let words = layout.code_words() as usize;
        for (group, bytes) in file_row.chunks(4 * words).enumerate() {
            let mut items = [0u32; 32];
            for (word, bytes) in items.iter_mut().zip(bytes.chunks(4)) {
                let mut whole = [0; 4];
                whole[..bytes.len()].copy_from_slice(bytes);
                *word = u32::from_le_bytes(whole);
            }
            place(self.codes, group, row, 4, &items[..words]);
        }
    }

    fn quantised_row(&mut self, ty: WeightType, layout: Layout, row: usize, file_row: &[u8]) {
        let groups = ty.block_len() / GROUP as usize;
        for (at, bytes) in file_row.chunks_exact(ty.block_bytes()).enumerate() {
            let block = read(ty, bytes);
            for (within, codes) in block.codes[..ty.block_len()]
                .as_chunks::<32>()
                .0
                .iter()
                .enumerate()
            {
                let group = at * groups + within;
                let (low, words) = low_words(layout, codes);
                place(self.codes, group, row, words.min(4), &low[..words]);
                match layout.high {
                    High::None => {}
                    High::One => place(self.high, group, row, 1, &[single_bits(layout, codes)]),
                    High::Two => place(
                        self.high,
                        group,
                        row,
                        2,
                        &pairs(|i| codes[i] >> layout.low_bits()),
                    ),
                }
                let sub = layout.sub_bytes() as usize;
                if sub > 0 {
                    place(self.sub, group, row, sub, &block.sub[within * sub..][..sub]);
                }
            }
            let halves = layout.scale_halves() as usize;
            if halves > 0 {
                place(self.scales, at, row, halves, &block.scales[..halves]);
            }
        }
    }
}

/// Word h: bits `8 b + 2 w` on hold two bits of element `16 h + 4 w + b`.
fn pairs(bits: impl Fn(usize) -> u8) -> [u32; 2] {
    let mut words = [0; 2];
    for at in 0..32 {
        let (half, word, byte) = (at / 16, at / 4 % 4, at % 4);
        words[half] |= u32::from(bits(at) & 3) << (8 * byte + 2 * word);
    }
    words
}

/// The words of a group in the `codes` plane, and how many they are.
fn low_words(layout: Layout, codes: &[u8; 32]) -> ([u32; 8], usize) {
    let mut words = [0; 8];
    let count = layout.code_words() as usize;
    match layout.codes {
        Codes::Byte => {
            for (word, bytes) in words.iter_mut().zip(codes.as_chunks::<4>().0) {
                *word = u32::from_le_bytes(*bytes);
            }
        }
        Codes::Nibble => {
            for (w, word) in words[..4].iter_mut().enumerate() {
                let byte = |b: usize| (codes[4 * w + b] & 15) | (codes[16 + 4 * w + b] << 4);
                *word = u32::from_le_bytes(std::array::from_fn(byte));
            }
        }
        Codes::NibbleInOrder => {
            for (w, word) in words[..4].iter_mut().enumerate() {
                let byte = |b: usize| (codes[8 * w + 2 * b] & 15) | (codes[8 * w + 2 * b + 1] << 4);
                *word = u32::from_le_bytes(std::array::from_fn(byte));
            }
        }
        Codes::Pair => words[..2].copy_from_slice(&pairs(|at| codes[at])),
        Codes::Float(_) => {}
    }
    (words, count)
}

/// Bit `8 b + w` is the bit above the low ones of code `4 w + b`.
fn single_bits(layout: Layout, codes: &[u8; 32]) -> u32 {
    let bit = |at: usize| u32::from(codes[at] >> layout.low_bits() & 1) << (8 * (at % 4) + at / 4);
    (0..32).map(bit).sum()
}

fn half_at(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([b[at], b[at + 1]])
}

/// Scale and minimum of group `j` from the twelve bytes of Q4_K and Q5_K.
fn scale_min(s: &[u8], j: usize) -> [u8; 2] {
    if j < 4 {
        [s[j] & 63, s[j + 4] & 63]
    } else {
        [
            s[j + 4] & 15 | (s[j - 4] >> 6) << 4,
            s[j + 4] >> 4 | (s[j] >> 6) << 4,
        ]
    }
}

/// The block layouts are described at `formats::quant::dequantize`.
fn read(ty: WeightType, b: &[u8]) -> FileBlock {
    let mut block = FileBlock {
        codes: [0; 256],
        sub: [0; 32],
        scales: [0; 2],
    };
    let FileBlock { codes, sub, scales } = &mut block;
    let split = |codes: &mut [u8], bytes: &[u8]| {
        for i in 0..16 {
            codes[i] = bytes[i] & 15;
            codes[i + 16] = bytes[i] >> 4;
        }
    };
    let five = |codes: &mut [u8], bytes: &[u8]| {
        let high = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        split(codes, &bytes[4..]);
        for (i, code) in codes.iter_mut().take(32).enumerate() {
            *code |= ((high >> i & 1) as u8) << 4;
        }
    };
    match ty {
        WeightType::F32 | WeightType::F16 | WeightType::BF16 => {}
        WeightType::Q4_0 | WeightType::IQ4NL => {
            scales[0] = half_at(b, 0);
            split(codes, &b[2..]);
        }
        WeightType::Q4_1 => {
            *scales = [half_at(b, 0), half_at(b, 2)];
            split(codes, &b[4..]);
        }
        WeightType::Q5_0 => {
            scales[0] = half_at(b, 0);
            five(codes, &b[2..]);
        }
        WeightType::Q5_1 => {
            *scales = [half_at(b, 0), half_at(b, 2)];
            five(codes, &b[4..]);
        }
        WeightType::Q8_0 => {
            scales[0] = half_at(b, 0);
            codes[..32].copy_from_slice(&b[2..34]);
        }
        WeightType::Q2K => {
            *scales = [half_at(b, 80), half_at(b, 82)];
            for (i, code) in codes.iter_mut().enumerate() {
                *code = b[16 + 32 * (i / 128) + i % 32] >> (2 * (i / 32 % 4)) & 3;
            }
            for (group, sub) in sub.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let (first, second) = (b[2 * group], b[2 * group + 1]);
                *sub = [first & 15, second & 15, first >> 4, second >> 4];
            }
        }
        WeightType::Q3K => {
            scales[0] = half_at(b, 108);
            for (i, code) in codes.iter_mut().enumerate() {
                let low = b[32 + 32 * (i / 128) + i % 32] >> (2 * (i / 32 % 4)) & 3;
                *code = low | (b[i % 32] >> (i / 32) & 1) << 2;
            }
            let s = &b[96..108];
            for (j, sub) in sub[..16].iter_mut().enumerate() {
                let low = if j < 8 { s[j] & 15 } else { s[j - 8] >> 4 };
                *sub = (low | (s[8 + j % 4] >> (2 * (j / 4)) & 3) << 4).wrapping_sub(32);
            }
        }
        WeightType::Q4K | WeightType::Q5K => {
            *scales = [half_at(b, 0), half_at(b, 2)];
            let quants = if ty == WeightType::Q4K {
                &b[16..]
            } else {
                &b[48..]
            };
            for (i, code) in codes.iter_mut().enumerate() {
                let group = i / 32;
                *code = quants[32 * (group / 2) + i % 32] >> (4 * (group % 2)) & 15;
                if ty == WeightType::Q5K {
                    *code |= (b[16 + i % 32] >> group & 1) << 4;
                }
            }
            for (group, sub) in sub.as_chunks_mut::<2>().0.iter_mut().take(8).enumerate() {
                *sub = scale_min(&b[4..16], group);
            }
        }
        WeightType::Q6K => {
            scales[0] = half_at(b, 208);
            for (i, code) in codes.iter_mut().enumerate() {
                let (h, p, l) = (i / 128, i / 32 % 4, i % 32);
                let low = b[64 * h + 32 * (p % 2) + l] >> (4 * (p / 2)) & 15;
                *code = low | (b[128 + 32 * h + l] >> (2 * p) & 3) << 4;
            }
            sub[..16].copy_from_slice(&b[192..208]);
        }
        WeightType::IQ4XS => {
            scales[0] = half_at(b, 0);
            let upper = half_at(b, 2);
            for j in 0..8 {
                split(&mut codes[32 * j..], &b[8 + 16 * j..]);
                let low = b[4 + j / 2] >> (4 * (j % 2)) & 15;
                sub[j] = (low | ((upper >> (2 * j) & 3) as u8) << 4).wrapping_sub(32);
            }
        }
        WeightType::MXFP4 => {
            // A power of two is exact in bf16, the smallest two as subnormals.
            scales[0] = bf16::from_f32(mxfp4_half_scale(b[0])).to_bits();
            split(codes, &b[1..]);
        }
    }
    block
}
