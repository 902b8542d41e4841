//! The search for weights that are not finite.
//!
//! A block's values are finite if its half-precision scales are: the largest product of scales and
//! quantised value is far below what single precision holds. So only the scale fields are read. MXFP4
//! is the exception: a byte of 255 is not-a-number, and 253 and 254 overflow for some values.

use super::{WeightType, dequantize};
use crate::Error;

/// The largest exponent byte for which every MXFP4 value is finite: `6 * 2^(252 - 127)`.
const MXFP4_SAFE: u8 = 252;
const MXFP4_NAN: u8 = 255;

/// Checks that every weight of a tensor is finite, by its elements or the scales of its blocks.
///
/// `bytes` are whole blocks. Reads memory once, at about its speed.
///
/// # Errors
/// [`Error::NonFinite`] with the first element that is not.
pub fn check_finite(tensor: &str, ty: WeightType, bytes: &[u8]) -> Result<(), Error> {
    match first_non_finite(ty, bytes) {
        None => Ok(()),
        Some((index, value)) => Err(Error::NonFinite {
            tensor: tensor.to_owned(),
            index,
            value,
        }),
    }
}

/// The first element of `bytes` that is infinite or not a number, with its value.
///
/// `bytes` are whole blocks. Reads memory once, at about its speed.
fn first_non_finite(ty: WeightType, bytes: &[u8]) -> Option<(u64, f32)> {
    let block = match ty {
        WeightType::F32 => find::<4>(bytes, |b| f32::from_le_bytes(*b).is_finite()),
        WeightType::F16 => find::<2>(bytes, |b| half_is_finite(b, 0)),
        WeightType::BF16 => find::<2>(bytes, |b| b[1] & 0x7f != 0x7f || b[0] < 0x80),
        WeightType::Q4_0 | WeightType::IQ4NL => find::<18>(bytes, |b| half_is_finite(b, 0)),
        WeightType::Q4_1 => find::<20>(bytes, |b| half_is_finite(b, 0) & half_is_finite(b, 2)),
        WeightType::Q5_0 => find::<22>(bytes, |b| half_is_finite(b, 0)),
        WeightType::Q5_1 => find::<24>(bytes, |b| half_is_finite(b, 0) & half_is_finite(b, 2)),
        WeightType::Q8_0 => find::<34>(bytes, |b| half_is_finite(b, 0)),
        WeightType::Q2K => find::<84>(bytes, |b| half_is_finite(b, 80) & half_is_finite(b, 82)),
        WeightType::Q3K => find::<110>(bytes, |b| half_is_finite(b, 108)),
        WeightType::Q4K => find::<144>(bytes, |b| half_is_finite(b, 0) & half_is_finite(b, 2)),
        WeightType::Q5K => find::<176>(bytes, |b| half_is_finite(b, 0) & half_is_finite(b, 2)),
        WeightType::Q6K => find::<210>(bytes, |b| half_is_finite(b, 208)),
        WeightType::IQ4XS => find::<136>(bytes, |b| half_is_finite(b, 0)),
        WeightType::MXFP4 => return first_in_mxfp4(bytes),
    };
    block.map(|block| {
        let (element, value) = first_in_block(ty, bytes, block)
            // A non-finite scale times anything is not finite, so this default is never taken.
            .unwrap_or((0, f32::NAN));
        ((block * ty.block_len() + element) as u64, value)
    })
}

#[inline]
fn half_is_finite<const B: usize>(b: &[u8; B], at: usize) -> bool {
    b[at + 1] & 0x7c != 0x7c
}

/// The first block for which `ok` fails; whole groups are tested without a branch.
#[inline]
fn find<const B: usize>(bytes: &[u8], ok: impl Fn(&[u8; B]) -> bool) -> Option<usize> {
    const GROUP: usize = 1024;
    let (blocks, _) = bytes.as_chunks::<B>();
    let group = blocks
        .chunks(GROUP)
        .position(|group| !group.iter().fold(true, |all, b| all & ok(b)))?;
    let start = group * GROUP;
    let inside = blocks[start..].iter().position(|b| !ok(b))?;
    Some(start + inside)
}

fn first_in_block(ty: WeightType, bytes: &[u8], block: usize) -> Option<(usize, f32)> {
    let mut values = [0f32; 256];
    let values = &mut values[..ty.block_len()];
    let bytes = &bytes[block * ty.block_bytes()..][..ty.block_bytes()];
    dequantize(ty, bytes, values).ok()?;
    let at = values.iter().position(|v| !v.is_finite())?;
    Some((at, values[at]))
}

fn first_in_mxfp4(bytes: &[u8]) -> Option<(u64, f32)> {
    let ty = WeightType::MXFP4;
    let (block_bytes, block_len) = (ty.block_bytes(), ty.block_len());
    let mut from = 0;
    loop {
        let block = from + find::<17>(&bytes[from * block_bytes..], |b| b[0] <= MXFP4_SAFE)?;
        if bytes[block * block_bytes] == MXFP4_NAN {
            return Some(((block * block_len) as u64, f32::NAN));
        }
        if let Some((element, value)) = first_in_block(ty, bytes, block) {
            return Some(((block * block_len + element) as u64, value));
        }
        from = block + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::random_blocks;
    use super::*;

    #[test]
    fn a_planted_infinity_is_found_where_it_stands() {
        // Where the high byte of each half-precision scale stands in a block.
        let scales: [(WeightType, &[usize]); 12] = [
            (WeightType::Q4_0, &[1]),
            (WeightType::Q4_1, &[1, 3]),
            (WeightType::Q5_0, &[1]),
            (WeightType::Q5_1, &[1, 3]),
            (WeightType::Q8_0, &[1]),
            (WeightType::Q2K, &[81, 83]),
            (WeightType::Q3K, &[109]),
            (WeightType::Q4K, &[1, 3]),
            (WeightType::Q5K, &[1, 3]),
            (WeightType::Q6K, &[209]),
            (WeightType::IQ4NL, &[1]),
            (WeightType::IQ4XS, &[1]),
        ];
        for (ty, fields) in scales {
            let clean = random_blocks(ty, 5, 2100);
            assert_eq!(first_non_finite(ty, &clean), None, "{ty}");
            for &field in fields {
                for block in [0, 1023, 1024, 2099] {
                    let mut bytes = clean.clone();
                    bytes[block * ty.block_bytes() + field] = 0xfc;
                    let (index, value) = first_non_finite(ty, &bytes).expect("planted");
                    assert_eq!(index as usize / ty.block_len(), block, "{ty}");
                    assert!(!value.is_finite());
                }
            }
        }
    }

    #[test]
    fn plain_elements_are_tested_one_by_one() {
        for (ty, bad) in [
            (WeightType::F32, f32::NAN.to_le_bytes().to_vec()),
            (WeightType::F32, f32::NEG_INFINITY.to_le_bytes().to_vec()),
            (WeightType::F16, vec![0x00, 0x7c]),
            (WeightType::F16, vec![0x01, 0xfe]),
            (WeightType::BF16, vec![0x80, 0x7f]),
            (WeightType::BF16, vec![0xc0, 0xff]),
        ] {
            let mut bytes = random_blocks(ty, 1, 3000);
            assert_eq!(first_non_finite(ty, &bytes), None);
            let at = 2500 * ty.block_bytes();
            bytes[at..at + bad.len()].copy_from_slice(&bad);
            assert_eq!(
                first_non_finite(ty, &bytes).map(|(i, _)| i),
                Some(2500),
                "{ty}"
            );
        }
        let largest: Vec<u8> = [f32::MAX, f32::MIN]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        assert_eq!(first_non_finite(WeightType::F32, &largest), None);
        assert_eq!(first_non_finite(WeightType::F16, &[0xff, 0x7b]), None);
        assert_eq!(first_non_finite(WeightType::BF16, &[0x7f, 0x7f]), None);
    }

    #[test]
    fn mxfp4_overflows_only_where_a_value_does() {
        let mut bytes = vec![0u8; 17 * 3];
        bytes[17] = 254; // all zero: finite
        assert_eq!(first_non_finite(WeightType::MXFP4, &bytes), None);
        bytes[17 + 1 + 4] = 0x70; // element 20 is 6 * 2^127
        assert_eq!(
            first_non_finite(WeightType::MXFP4, &bytes),
            Some((52, f32::INFINITY))
        );
        bytes[17] = 252;
        assert_eq!(first_non_finite(WeightType::MXFP4, &bytes), None);
        bytes[34] = 255;
        assert_eq!(
            first_non_finite(WeightType::MXFP4, &bytes).map(|(i, _)| i),
            Some(64)
        );
    }
}
