//! Weight types: how ggml lays out blocks of quantised weights.
//!
//! A tensor's rows are whole blocks of [`WeightType::block_len`] elements in
//! [`WeightType::block_bytes`] bytes. [`dequantize`] is the scalar meaning of each layout, which
//! kernels are compared with; [`quantize`] and [`random_blocks`] make weights for tests and
//! synthetic models.

mod dequantize;
mod finite;
mod quantize;
mod random;

pub use dequantize::dequantize;
pub use finite::check_finite;
pub use quantize::quantize;
pub use random::random_blocks;

use crate::Error;

/// An element type or block layout of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WeightType {
    /// IEEE single precision.
    F32,
    /// IEEE half precision.
    F16,
    /// The upper half of single precision.
    BF16,
    /// 32 of 4 bits: `d (q - 8)`.
    Q4_0,
    /// 32 of 4 bits: `d q + m`.
    Q4_1,
    /// 32 of 5 bits: `d (q - 16)`.
    Q5_0,
    /// 32 of 5 bits: `d q + m`.
    Q5_1,
    /// 32 of 8 bits: `d q`.
    Q8_0,
    /// 256 of 2 bits in groups of 16: `d s q - dmin m`, `s` and `m` of 4 bits.
    Q2K,
    /// 256 of 3 bits in groups of 16: `d (s - 32) (q - 4)`, `s` of 6 bits.
    Q3K,
    /// 256 of 4 bits in groups of 32: `d s q - dmin m`, `s` and `m` of 6 bits.
    Q4K,
    /// 256 of 5 bits in groups of 32: `d s q - dmin m`, `s` and `m` of 6 bits.
    Q5K,
    /// 256 of 6 bits in groups of 16: `d s (q - 32)`, `s` of 8 bits.
    Q6K,
    /// 32 of 4 bits: `d` [`IQ4_NL_VALUES`]`[q]`.
    IQ4NL,
    /// 256 of 4 bits in groups of 32: `d (s - 32)` [`IQ4_NL_VALUES`]`[q]`, `s` of 6 bits.
    IQ4XS,
    /// 32 of 4 bits (E2M1) with a power-of-two scale: `2^(e - 128)` [`MXFP4_VALUES`]`[q]`.
    MXFP4,
}

/// The sixteen values of IQ4_NL and IQ4_XS, to be multiplied by the scale.
pub const IQ4_NL_VALUES: [i8; 16] = [
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113,
];

/// The sixteen values of MXFP4 (E2M1) **doubled**, so that they are whole; the scale is halved.
pub const MXFP4_VALUES: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Half the scale that the exponent byte `e` of an MXFP4 block stands for: `2^(e - 128)`.
///
/// The smallest two are subnormal. The standard has 255 as not-a-number; like ggml this gives
/// `2^127`, and checking a file for finite weights refuses it.
pub fn mxfp4_half_scale(e: u8) -> f32 {
    if e < 2 {
        f32::from_bits(0x0020_0000 << e)
    } else {
        f32::from_bits((u32::from(e) - 1) << 23)
    }
}

impl WeightType {
    /// Every weight type.
    pub const ALL: [WeightType; 16] = [
        WeightType::F32,
        WeightType::F16,
        WeightType::BF16,
        WeightType::Q4_0,
        WeightType::Q4_1,
        WeightType::Q5_0,
        WeightType::Q5_1,
        WeightType::Q8_0,
        WeightType::Q2K,
        WeightType::Q3K,
        WeightType::Q4K,
        WeightType::Q5K,
        WeightType::Q6K,
        WeightType::IQ4NL,
        WeightType::IQ4XS,
        WeightType::MXFP4,
    ];

    /// The name that ggml prints.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The number that stands for it in a GGUF file.
    pub const fn ggml_id(self) -> u32 {
        self.facts().ggml_id
    }

    /// The elements of one block, 1 for plain element types.
    pub const fn block_len(self) -> usize {
        self.facts().block_len
    }

    /// The bytes of one block.
    pub const fn block_bytes(self) -> usize {
        self.facts().block_bytes
    }

    /// The bytes of `elements` elements, or `None` if they are not whole blocks or overflow.
    pub fn bytes_of(self, elements: u64) -> Option<u64> {
        let block_len = self.block_len() as u64;
        if elements.is_multiple_of(block_len) {
            (elements / block_len).checked_mul(self.block_bytes() as u64)
        } else {
            None
        }
    }

    /// The weight type that a GGUF file means by `id`.
    ///
    /// # Errors
    /// [`Error::WeightType`] for types that are not read here, with their ggml name if known.
    pub fn from_ggml(id: u32) -> Result<WeightType, Error> {
        WeightType::ALL
            .into_iter()
            .find(|ty| ty.ggml_id() == id)
            .ok_or_else(|| Error::WeightType {
                id,
                name: name_of_unsupported(id),
            })
    }

    const fn facts(self) -> Facts {
        match self {
            WeightType::F32 => Facts::new("F32", 0, 1, 4),
            WeightType::F16 => Facts::new("F16", 1, 1, 2),
            WeightType::BF16 => Facts::new("BF16", 30, 1, 2),
            WeightType::Q4_0 => Facts::new("Q4_0", 2, 32, 18),
            WeightType::Q4_1 => Facts::new("Q4_1", 3, 32, 20),
            WeightType::Q5_0 => Facts::new("Q5_0", 6, 32, 22),
            WeightType::Q5_1 => Facts::new("Q5_1", 7, 32, 24),
            WeightType::Q8_0 => Facts::new("Q8_0", 8, 32, 34),
            WeightType::Q2K => Facts::new("Q2_K", 10, 256, 84),
            WeightType::Q3K => Facts::new("Q3_K", 11, 256, 110),
            WeightType::Q4K => Facts::new("Q4_K", 12, 256, 144),
            WeightType::Q5K => Facts::new("Q5_K", 13, 256, 176),
            WeightType::Q6K => Facts::new("Q6_K", 14, 256, 210),
            WeightType::IQ4NL => Facts::new("IQ4_NL", 20, 32, 18),
            WeightType::IQ4XS => Facts::new("IQ4_XS", 23, 256, 136),
            WeightType::MXFP4 => Facts::new("MXFP4", 39, 32, 17),
        }
    }
}

impl std::fmt::Display for WeightType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

struct Facts {
    name: &'static str,
    ggml_id: u32,
    block_len: usize,
    block_bytes: usize,
}

impl Facts {
    const fn new(name: &'static str, ggml_id: u32, block_len: usize, block_bytes: usize) -> Facts {
        Facts {
            name,
            ggml_id,
            block_len,
            block_bytes,
        }
    }
}

fn name_of_unsupported(id: u32) -> &'static str {
    match id {
        9 => "Q8_1",
        15 => "Q8_K",
        16 => "IQ2_XXS",
        17 => "IQ2_XS",
        18 => "IQ3_XXS",
        19 => "IQ1_S",
        21 => "IQ3_S",
        22 => "IQ2_S",
        24 => "I8",
        25 => "I16",
        26 => "I32",
        27 => "I64",
        28 => "F64",
        29 => "IQ1_M",
        34 => "TQ1_0",
        35 => "TQ2_0",
        4 | 5 | 31..=33 | 36..=38 => "withdrawn",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_types_are_inverse() {
        for ty in WeightType::ALL {
            assert_eq!(WeightType::from_ggml(ty.ggml_id()).ok(), Some(ty));
        }
        for id in (0..100).chain([u32::MAX]) {
            match WeightType::from_ggml(id) {
                Ok(ty) => assert_eq!(ty.ggml_id(), id),
                Err(Error::WeightType { id: named, .. }) => assert_eq!(named, id),
                Err(other) => panic!("{other}"),
            }
        }
    }

    #[test]
    fn bytes_are_counted_in_whole_blocks() {
        assert_eq!(WeightType::Q4K.bytes_of(512), Some(288));
        assert_eq!(WeightType::Q4K.bytes_of(500), None);
        assert_eq!(WeightType::F32.bytes_of(u64::MAX / 2), None);
        assert_eq!(WeightType::MXFP4.bytes_of(0), Some(0));
    }

    #[test]
    fn mxfp4_scales_are_powers_of_two() {
        for e in 0..=254u8 {
            assert_eq!(
                f64::from(mxfp4_half_scale(e)),
                2f64.powi(i32::from(e) - 128)
            );
        }
    }
}
