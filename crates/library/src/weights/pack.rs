//! Packing: from the blocks of a file to the planes of a device layout.

use super::layout::{Codes, GROUP, High, Layout};
use half::bf16;
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
    /// Low bits, or unquantised weights.
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
struct Block {
    codes: [u8; 256],
    sub: [u8; 32],
    scales: [u16; 2],
}

/// Packs `rows` of `columns` weights.
///
/// # Errors
/// If `bytes` is not the size that the shape says, or a row is not whole blocks.
pub fn pack(ty: WeightType, bytes: &[u8], rows: u32, columns: u32) -> Result<Packed, PackError> {
    let per_row = ty.bytes_of(u64::from(columns)).unwrap_or(0);
    let want = per_row.checked_mul(u64::from(rows)).unwrap_or(0);
    if want != bytes.len() as u64 || (per_row == 0 && columns != 0) {
        return Err(PackError { ty, rows, columns, want, got: bytes.len() as u64 });
    }
    let layout = Layout::of(ty);
    let padded = columns.next_multiple_of(GROUP);
    let row = layout.row(padded);
    let size = |per_row: u32| rows as usize * per_row as usize;
    let mut packed = Packed {
        ty,
        rows,
        columns,
        padded,
        codes: Vec::with_capacity(size(row.codes)),
        high: Vec::with_capacity(size(row.high)),
        sub: Vec::with_capacity(size(row.sub)),
        scales: Vec::with_capacity(size(row.scales)),
    };
    if per_row == 0 {
        return Ok(packed);
    }
    for file_row in bytes.chunks_exact(per_row as usize) {
        match layout.codes {
            Codes::Float(_) => float_row(&mut packed.codes, file_row, row.codes as usize),
            _ => quantised_row(&mut packed, layout, file_row),
        }
    }
    Ok(packed)
}

fn float_row(codes: &mut Vec<u32>, file_row: &[u8], words: usize) {
    let end = codes.len() + words;
    let (whole, rest) = file_row.as_chunks::<4>();
    codes.extend(whole.iter().map(|word| u32::from_le_bytes(*word)));
    if let [a, b] = rest {
        codes.push(u32::from(u16::from_le_bytes([*a, *b])));
    }
    codes.resize(end, 0);
}

fn quantised_row(packed: &mut Packed, layout: Layout, file_row: &[u8]) {
    let block_len = packed.ty.block_len();
    let groups = block_len / GROUP as usize;
    for bytes in file_row.chunks_exact(packed.ty.block_bytes()) {
        let block = read(packed.ty, bytes);
        for codes in block.codes[..block_len].as_chunks::<32>().0 {
            push_codes(packed, layout, codes);
        }
        packed.sub.extend_from_slice(&block.sub[..groups * layout.sub_bytes() as usize]);
        packed.scales.extend_from_slice(&block.scales[..layout.scale_halves() as usize]);
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

fn push_codes(packed: &mut Packed, layout: Layout, codes: &[u8; 32]) {
    let word = |bytes: [u8; 4]| u32::from_le_bytes(bytes);
    match layout.codes {
        Codes::Byte => packed.codes.extend(codes.as_chunks::<4>().0.iter().map(|bytes| word(*bytes))),
        Codes::Nibble => packed.codes.extend((0..4).map(|w| {
            word(std::array::from_fn(|b| (codes[4 * w + b] & 15) | (codes[16 + 4 * w + b] << 4)))
        })),
        Codes::NibbleInOrder => packed.codes.extend((0..4).map(|w| {
            word(std::array::from_fn(|b| (codes[8 * w + 2 * b] & 15) | (codes[8 * w + 2 * b + 1] << 4)))
        })),
        Codes::Pair => packed.codes.extend(pairs(|at| codes[at])),
        Codes::Float(_) => {}
    }
    let above = layout.low_bits();
    match layout.high {
        High::None => {}
        High::One => {
            let bit = |at: usize| u32::from(codes[at] >> above & 1) << (8 * (at % 4) + at / 4);
            packed.high.push((0..32).map(bit).sum());
        }
        High::Two => packed.high.extend(pairs(|at| codes[at] >> above)),
    }
}

fn half_at(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([b[at], b[at + 1]])
}

/// Scale and minimum of group `j` from the twelve bytes of Q4_K and Q5_K.
fn scale_min(s: &[u8], j: usize) -> [u8; 2] {
    if j < 4 {
        [s[j] & 63, s[j + 4] & 63]
    } else {
        [s[j + 4] & 15 | (s[j - 4] >> 6) << 4, s[j + 4] >> 4 | (s[j] >> 6) << 4]
    }
}

/// The block layouts are described at `formats::quant::dequantize`.
fn read(ty: WeightType, b: &[u8]) -> Block {
    let mut block = Block { codes: [0; 256], sub: [0; 32], scales: [0; 2] };
    let Block { codes, sub, scales } = &mut block;
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
            let quants = if ty == WeightType::Q4K { &b[16..] } else { &b[48..] };
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
