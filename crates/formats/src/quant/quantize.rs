//! Rounding to the simple block layouts, for synthetic models and measurements.
//!
//! With `a` the value of largest magnitude in a block (its sign kept), `lo` and `hi` its extremes:
//!
//! | type | scale | minimum | q |
//! |---|---|---|---|
//! | Q8_0 | `d = abs(a) / 127` | | `round(x / d)` |
//! | Q4_0 | `d = a / -8` | | `min(15, floor(x / d + 8.5))` |
//! | Q5_0 | `d = a / -16` | | `min(31, floor(x / d + 16.5))` |
//! | Q4_1 | `d = (hi - lo) / 15` | `m = lo` | `min(15, floor((x - lo) / d + 0.5))` |
//! | Q5_1 | `d = (hi - lo) / 31` | `m = lo` | `min(31, floor((x - lo) / d + 0.5))` |
//!
//! `d` and `m` are then stored in half precision; where `d` is 0, `1 / d` is taken as 0.

use half::{bf16, f16};

use super::WeightType;
use crate::Error;

/// The blocks nearest to `x`, for F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0.
///
/// # Errors
/// [`Error::Unsupported`] for the other types, [`Error::PartialBlock`] if `x` is not whole blocks.
pub fn quantize(ty: WeightType, x: &[f32]) -> Result<Vec<u8>, Error> {
    if !x.len().is_multiple_of(ty.block_len()) {
        return Err(Error::PartialBlock {
            dtype: ty.name(),
            block_len: ty.block_len(),
            found: x.len(),
        });
    }
    let (blocks, _) = x.as_chunks::<32>();
    Ok(match ty {
        WeightType::F32 => x.iter().flat_map(|v| v.to_le_bytes()).collect(),
        WeightType::F16 => x
            .iter()
            .flat_map(|v| f16::from_f32(*v).to_le_bytes())
            .collect(),
        WeightType::BF16 => x
            .iter()
            .flat_map(|v| bf16::from_f32(*v).to_le_bytes())
            .collect(),
        WeightType::Q4_0 => blocks.iter().flat_map(q4_0).collect(),
        WeightType::Q4_1 => blocks.iter().flat_map(q4_1).collect(),
        WeightType::Q5_0 => blocks.iter().flat_map(q5_0).collect(),
        WeightType::Q5_1 => blocks.iter().flat_map(q5_1).collect(),
        WeightType::Q8_0 => blocks.iter().flat_map(q8_0).collect(),
        WeightType::Q2K
        | WeightType::Q3K
        | WeightType::Q4K
        | WeightType::Q5K
        | WeightType::Q6K
        | WeightType::IQ4NL
        | WeightType::IQ4XS
        | WeightType::MXFP4 => {
            return Err(Error::Unsupported {
                what: format!("quantising to {ty}"),
            });
        }
    })
}

fn q8_0(x: &[f32; 32]) -> [u8; 34] {
    let d = farthest(x).abs() / 127.0;
    let inverse = inverse(d);
    let mut b = [0; 34];
    b[..2].copy_from_slice(&f16::from_f32(d).to_le_bytes());
    for (b, x) in b[2..].iter_mut().zip(x) {
        *b = ((x * inverse).round() as i8).cast_unsigned();
    }
    b
}

fn q4_0(x: &[f32; 32]) -> [u8; 18] {
    let d = farthest(x) / -8.0;
    let inverse = inverse(d);
    let mut b = [0; 18];
    b[..2].copy_from_slice(&f16::from_f32(d).to_le_bytes());
    let q = |x: f32| ((x * inverse + 8.5) as u8).min(15);
    for i in 0..16 {
        b[2 + i] = q(x[i]) | q(x[i + 16]) << 4;
    }
    b
}

fn q4_1(x: &[f32; 32]) -> [u8; 20] {
    let (lo, hi) = extremes(x);
    let d = (hi - lo) / 15.0;
    let inverse = inverse(d);
    let mut b = [0; 20];
    b[..2].copy_from_slice(&f16::from_f32(d).to_le_bytes());
    b[2..4].copy_from_slice(&f16::from_f32(lo).to_le_bytes());
    let q = |x: f32| (((x - lo) * inverse + 0.5) as u8).min(15);
    for i in 0..16 {
        b[4 + i] = q(x[i]) | q(x[i + 16]) << 4;
    }
    b
}

fn q5_0(x: &[f32; 32]) -> [u8; 22] {
    let d = farthest(x) / -16.0;
    let inverse = inverse(d);
    let mut b = [0; 22];
    b[..2].copy_from_slice(&f16::from_f32(d).to_le_bytes());
    let q = |x: f32| ((x * inverse + 16.5) as u8).min(31);
    five_bits(&mut b[2..], x, q);
    b
}

fn q5_1(x: &[f32; 32]) -> [u8; 24] {
    let (lo, hi) = extremes(x);
    let d = (hi - lo) / 31.0;
    let inverse = inverse(d);
    let mut b = [0; 24];
    b[..2].copy_from_slice(&f16::from_f32(d).to_le_bytes());
    b[2..4].copy_from_slice(&f16::from_f32(lo).to_le_bytes());
    let q = |x: f32| (((x - lo) * inverse + 0.5) as u8).min(31);
    five_bits(&mut b[4..], x, q);
    b
}

/// Four bytes of fifth bits, then sixteen of nibbles.
fn five_bits(b: &mut [u8], x: &[f32; 32], q: impl Fn(f32) -> u8) {
    let mut high = 0u32;
    for i in 0..16 {
        let (lo, hi) = (q(x[i]), q(x[i + 16]));
        b[4 + i] = lo & 15 | hi << 4;
        high |= u32::from(lo >> 4) << i | u32::from(hi >> 4) << (i + 16);
    }
    b[..4].copy_from_slice(&high.to_le_bytes());
}

fn inverse(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { 1.0 / d }
}

/// The first value of largest magnitude, with its sign.
fn farthest(x: &[f32; 32]) -> f32 {
    x.iter().fold(
        0.0,
        |far: f32, &x| if x.abs() > far.abs() { x } else { far },
    )
}

fn extremes(x: &[f32; 32]) -> (f32, f32) {
    x.iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), &x| {
            (lo.min(x), hi.max(x))
        })
}
