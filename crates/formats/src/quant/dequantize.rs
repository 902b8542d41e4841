//! The scalar meaning of every block layout.
//!
//! Products of a half-precision scale, a group scale and a quantised value are exact in single
//! precision, so only the final sum with a minimum rounds, and every order of evaluation agrees.

use half::{bf16, f16};

use super::{IQ4_NL_VALUES, MXFP4_VALUES, WeightType, mxfp4_half_scale};
use crate::Error;

/// Writes the values of `bytes` to `out`, in file order.
///
/// # Errors
/// [`Error::PartialBlock`] if `out` is not whole blocks, [`Error::Length`] if `bytes` is not exactly
/// as long as `out` asks for.
pub fn dequantize(ty: WeightType, bytes: &[u8], out: &mut [f32]) -> Result<(), Error> {
    let want = ty
        .bytes_of(out.len() as u64)
        .ok_or_else(|| Error::PartialBlock {
            dtype: ty.name(),
            block_len: ty.block_len(),
            found: out.len(),
        })?;
    if bytes.len() as u64 != want {
        return Err(Error::Length {
            what: format!("bytes of {} elements of {ty}", out.len()),
            want,
            found: bytes.len() as u64,
        });
    }
    match ty {
        WeightType::F32 => each::<4, 1>(bytes, out, |b, [y]| *y = f32::from_le_bytes(*b)),
        WeightType::F16 => each::<2, 1>(bytes, out, |b, [y]| *y = f16::from_le_bytes(*b).to_f32()),
        WeightType::BF16 => {
            each::<2, 1>(bytes, out, |b, [y]| *y = bf16::from_le_bytes(*b).to_f32())
        }
        WeightType::Q4_0 => each(bytes, out, q4_0),
        WeightType::Q4_1 => each(bytes, out, q4_1),
        WeightType::Q5_0 => each(bytes, out, q5_0),
        WeightType::Q5_1 => each(bytes, out, q5_1),
        WeightType::Q8_0 => each(bytes, out, q8_0),
        WeightType::Q2K => each(bytes, out, q2_k),
        WeightType::Q3K => each(bytes, out, q3_k),
        WeightType::Q4K => each(bytes, out, q4_k),
        WeightType::Q5K => each(bytes, out, q5_k),
        WeightType::Q6K => each(bytes, out, q6_k),
        WeightType::IQ4NL => each(bytes, out, iq4_nl),
        WeightType::IQ4XS => each(bytes, out, iq4_xs),
        WeightType::MXFP4 => each(bytes, out, mxfp4),
    }
    Ok(())
}

fn each<const B: usize, const N: usize>(
    bytes: &[u8],
    out: &mut [f32],
    block: impl Fn(&[u8; B], &mut [f32; N]),
) {
    let (blocks, _) = bytes.as_chunks::<B>();
    let (outs, _) = out.as_chunks_mut::<N>();
    for (b, y) in blocks.iter().zip(outs) {
        block(b, y);
    }
}

/// The half-precision number at byte `at`.
fn half_at(b: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([b[at], b[at + 1]]).to_f32()
}

// d, 16 bytes: element i in the low nibble of byte i, element i + 16 in its high nibble.
fn q4_0(b: &[u8; 18], y: &mut [f32; 32]) {
    let d = half_at(b, 0);
    for i in 0..16 {
        let q = b[2 + i];
        y[i] = d * (f32::from(q & 15) - 8.0);
        y[i + 16] = d * (f32::from(q >> 4) - 8.0);
    }
}

// d, m, nibbles as in Q4_0.
fn q4_1(b: &[u8; 20], y: &mut [f32; 32]) {
    let (d, m) = (half_at(b, 0), half_at(b, 2));
    for i in 0..16 {
        let q = b[4 + i];
        y[i] = d * f32::from(q & 15) + m;
        y[i + 16] = d * f32::from(q >> 4) + m;
    }
}

// d, 32 fifth bits (bit i of element i), nibbles as in Q4_0.
fn q5_0(b: &[u8; 22], y: &mut [f32; 32]) {
    let d = half_at(b, 0);
    let high = u32::from_le_bytes([b[2], b[3], b[4], b[5]]);
    for i in 0..16 {
        let (lo, hi) = five_bits(b[6 + i], high, i);
        y[i] = d * (lo - 16.0);
        y[i + 16] = d * (hi - 16.0);
    }
}

// d, m, 32 fifth bits, nibbles as in Q4_0.
fn q5_1(b: &[u8; 24], y: &mut [f32; 32]) {
    let (d, m) = (half_at(b, 0), half_at(b, 2));
    let high = u32::from_le_bytes([b[4], b[5], b[6], b[7]]);
    for i in 0..16 {
        let (lo, hi) = five_bits(b[8 + i], high, i);
        y[i] = d * lo + m;
        y[i + 16] = d * hi + m;
    }
}

fn five_bits(q: u8, high: u32, i: usize) -> (f32, f32) {
    let lo = u32::from(q & 15) | ((high >> i) & 1) << 4;
    let hi = u32::from(q >> 4) | ((high >> (i + 16)) & 1) << 4;
    (lo as f32, hi as f32)
}

// d, 32 signed bytes.
fn q8_0(b: &[u8; 34], y: &mut [f32; 32]) {
    let d = half_at(b, 0);
    for i in 0..32 {
        y[i] = d * f32::from(b[2 + i].cast_signed());
    }
}

// 16 bytes of (m << 4 | s), 64 bytes, d, dmin. Element 128 h + 32 p + l is bits 2p.. of byte 32 h + l.
fn q2_k(b: &[u8; 84], y: &mut [f32; 256]) {
    let (d, dmin) = (half_at(b, 80), half_at(b, 82));
    for (i, y) in y.iter_mut().enumerate() {
        let (h, p, l) = (i / 128, i / 32 % 4, i % 32);
        let q = b[16 + 32 * h + l] >> (2 * p) & 3;
        let sm = b[i / 16];
        *y = d * f32::from(sm & 15) * f32::from(q) - dmin * f32::from(sm >> 4);
    }
}

// 32 bytes of third bits, 64 bytes of low bits as in Q2_K, 12 bytes of 6-bit scales, d.
// The third bit of element 32 g + l is bit g of byte l; it is stored inverted in effect: clear means -4.
fn q3_k(b: &[u8; 110], y: &mut [f32; 256]) {
    let d = half_at(b, 108);
    let s = &b[96..108];
    let mut scales = [0f32; 16];
    for (j, scale) in scales.iter_mut().enumerate() {
        let low = if j < 8 { s[j] & 15 } else { s[j - 8] >> 4 };
        let high = s[8 + j % 4] >> (2 * (j / 4)) & 3;
        *scale = f32::from(low | high << 4) - 32.0;
    }
    for (i, y) in y.iter_mut().enumerate() {
        let (h, p, l) = (i / 128, i / 32 % 4, i % 32);
        let low = b[32 + 32 * h + l] >> (2 * p) & 3;
        let high = b[l] >> (i / 32) & 1;
        *y = d * scales[i / 16] * (f32::from(low | high << 2) - 4.0);
    }
}

/// Scale and minimum of group `j` of 8 from the twelve bytes of Q4_K and Q5_K: the first four groups
/// have six bits in place, the other four have four bits there and two atop the first ones.
fn scale_min(s: &[u8], j: usize) -> (f32, f32) {
    let (scale, min) = if j < 4 {
        (s[j] & 63, s[j + 4] & 63)
    } else {
        (
            s[j + 4] & 15 | (s[j - 4] >> 6) << 4,
            s[j + 4] >> 4 | (s[j] >> 6) << 4,
        )
    };
    (f32::from(scale), f32::from(min))
}

// d, dmin, 12 bytes of scales, 128 bytes. Element 64 c + 32 p + l is nibble p of byte 32 c + l.
fn q4_k(b: &[u8; 144], y: &mut [f32; 256]) {
    let (d, dmin) = (half_at(b, 0), half_at(b, 2));
    for (j, y) in y.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (s, m) = scale_min(&b[4..16], j);
        let (ds, dm) = (d * s, dmin * m);
        let q = &b[16 + 32 * (j / 2)..][..32];
        for (y, q) in y.iter_mut().zip(q) {
            *y = ds * f32::from(q >> (4 * (j % 2)) & 15) - dm;
        }
    }
}

// d, dmin, 12 bytes of scales, 32 bytes of fifth bits (bit j of byte l for element 32 j + l), nibbles
// as in Q4_K.
fn q5_k(b: &[u8; 176], y: &mut [f32; 256]) {
    let (d, dmin) = (half_at(b, 0), half_at(b, 2));
    for (j, y) in y.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (s, m) = scale_min(&b[4..16], j);
        let (ds, dm) = (d * s, dmin * m);
        for (l, y) in y.iter_mut().enumerate() {
            let low = b[48 + 32 * (j / 2) + l] >> (4 * (j % 2)) & 15;
            let high = b[16 + l] >> j & 1;
            *y = ds * f32::from(low | high << 4) - dm;
        }
    }
}

// 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 signed scales, d. Element 128 h + 32 p + l:
// nibble p / 2 of low byte 64 h + 32 (p % 2) + l, bits 2p.. of high byte 32 h + l.
fn q6_k(b: &[u8; 210], y: &mut [f32; 256]) {
    let d = half_at(b, 208);
    for (i, y) in y.iter_mut().enumerate() {
        let (h, p, l) = (i / 128, i / 32 % 4, i % 32);
        let low = b[64 * h + 32 * (p % 2) + l] >> (4 * (p / 2)) & 15;
        let high = b[128 + 32 * h + l] >> (2 * p) & 3;
        let s = f32::from(b[192 + i / 16].cast_signed());
        *y = d * s * (f32::from(low | high << 4) - 32.0);
    }
}

// d, nibbles as in Q4_0.
fn iq4_nl(b: &[u8; 18], y: &mut [f32; 32]) {
    let d = half_at(b, 0);
    for i in 0..16 {
        let q = b[2 + i];
        y[i] = d * f32::from(IQ4_NL_VALUES[usize::from(q & 15)]);
        y[i + 16] = d * f32::from(IQ4_NL_VALUES[usize::from(q >> 4)]);
    }
}

// d, 16 bits of upper scale pairs, 4 bytes of lower scale nibbles, 8 groups of nibbles as in Q4_0.
fn iq4_xs(b: &[u8; 136], y: &mut [f32; 256]) {
    let d = half_at(b, 0);
    let upper = u16::from_le_bytes([b[2], b[3]]);
    for (j, y) in y.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let low = b[4 + j / 2] >> (4 * (j % 2)) & 15;
        let s = u16::from(low) | (upper >> (2 * j) & 3) << 4;
        let ds = d * (f32::from(s) - 32.0);
        for i in 0..16 {
            let q = b[8 + 16 * j + i];
            y[i] = ds * f32::from(IQ4_NL_VALUES[usize::from(q & 15)]);
            y[i + 16] = ds * f32::from(IQ4_NL_VALUES[usize::from(q >> 4)]);
        }
    }
}

// An exponent byte, nibbles as in Q4_0.
fn mxfp4(b: &[u8; 17], y: &mut [f32; 32]) {
    let d = mxfp4_half_scale(b[0]);
    for i in 0..16 {
        let q = b[1 + i];
        y[i] = d * f32::from(MXFP4_VALUES[usize::from(q & 15)]);
        y[i + 16] = d * f32::from(MXFP4_VALUES[usize::from(q >> 4)]);
    }
}
