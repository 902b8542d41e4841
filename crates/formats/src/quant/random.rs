//! Random weights of every type, for the tests of kernels.

use half::{bf16, f16};

use super::WeightType;

/// `n` random blocks of `ty`, the same for the same `seed`: finite, of magnitude 1 or less (twice
/// that where a block has a minimum), every bit of every quantised value and group scale in use.
pub fn random_blocks(ty: WeightType, seed: u64, n: usize) -> Vec<u8> {
    let mut random = Random(seed);
    let mut bytes = vec![0; n * ty.block_bytes()];
    for block in bytes.chunks_exact_mut(ty.block_bytes()) {
        for eight in block.chunks_mut(8) {
            let len = eight.len();
            eight.copy_from_slice(&random.next().to_le_bytes()[..len]);
        }
        match ty {
            WeightType::F32 => block.copy_from_slice(&random.signed().to_le_bytes()),
            WeightType::F16 => put_half(block, 0, random.signed()),
            WeightType::BF16 => {
                block.copy_from_slice(&bf16::from_f32(random.signed()).to_le_bytes());
            }
            WeightType::Q4_0 => put_half(block, 0, random.scale() / 8.0),
            WeightType::Q5_0 => put_half(block, 0, random.scale() / 16.0),
            WeightType::Q8_0 => put_half(block, 0, random.scale() / 128.0),
            WeightType::Q4_1 => {
                put_half(block, 0, random.scale() / 15.0);
                put_half(block, 2, random.signed());
            }
            WeightType::Q5_1 => {
                put_half(block, 0, random.scale() / 31.0);
                put_half(block, 2, random.signed());
            }
            WeightType::Q2K => {
                put_half(block, 80, random.scale() / (15.0 * 3.0));
                put_half(block, 82, random.scale() / 15.0);
            }
            WeightType::Q3K => put_half(block, 108, random.scale() / (32.0 * 4.0)),
            WeightType::Q4K => {
                put_half(block, 0, random.scale() / (63.0 * 15.0));
                put_half(block, 2, random.scale() / 63.0);
            }
            WeightType::Q5K => {
                put_half(block, 0, random.scale() / (63.0 * 31.0));
                put_half(block, 2, random.scale() / 63.0);
            }
            WeightType::Q6K => put_half(block, 208, random.scale() / (128.0 * 32.0)),
            WeightType::IQ4NL => put_half(block, 0, random.scale() / 127.0),
            WeightType::IQ4XS => put_half(block, 0, random.scale() / (32.0 * 127.0)),
            // The largest scale is 2^-3, and the largest value 6.
            WeightType::MXFP4 => block[0] = 116 + (random.next() % 9) as u8,
        }
    }
    bytes
}

fn put_half(block: &mut [u8], at: usize, value: f32) {
    // Rounding up could pass the promised magnitude, so the last bit is dropped first.
    let value = f32::from_bits(value.to_bits() & !0x1fff);
    block[at..at + 2].copy_from_slice(&f16::from_f32(value).to_le_bytes());
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [-1, 1), a multiple of 2^-23.
    fn signed(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }

    /// Of either sign, with a magnitude in [1/4, 1].
    fn scale(&mut self) -> f32 {
        let x = self.signed();
        (0.25 + 0.75 * x.abs()).copysign(x)
    }
}

#[cfg(test)]
mod tests {
    use super::super::dequantize;
    use super::*;

    #[test]
    fn random_blocks_are_finite_bounded_and_not_dull() {
        for ty in WeightType::ALL {
            let n = 4096 / ty.block_len();
            let bytes = random_blocks(ty, 9, n);
            assert_eq!(bytes, random_blocks(ty, 9, n));
            assert_ne!(bytes, random_blocks(ty, 10, n));
            let mut y = vec![0f32; 4096];
            dequantize(ty, &bytes, &mut y).expect("whole blocks");
            let largest = y.iter().fold(0f32, |m, v| m.max(v.abs()));
            assert!(y.iter().all(|v| v.is_finite()), "{ty}");
            assert!((0.5..=2.0).contains(&largest), "{ty}: {largest}");
            let mean = y.iter().map(|v| v.abs()).sum::<f32>() / y.len() as f32;
            assert!(mean > 0.02, "{ty}: {mean}");
        }
    }
}
