//! Numbers of few bits, and what scales them.

use super::super::{choices, half::F16};

choices! {
    /// How the bits of an element are a number.
    pub(in crate::exec) enum Format {
        E4m3,
        E5m2,
        /// Six bits, the lower ones of a byte.
        E3m2,
        E2m3,
        /// Four bits: of a byte those from the third on.
        E2m1,
    }
}

/// Four bits of exponent, three of fraction; no infinity.
pub(super) fn e4m3(byte: u8) -> f32 {
    let (exponent, fraction) = (u32::from(byte >> 3 & 15), u32::from(byte & 7));
    let size = match (exponent, fraction) {
        (15, 7) => f32::NAN,
        (0, _) => fraction as f32 / 512.0,
        _ => f32::from_bits((exponent + 120) << 23 | fraction << 20),
    };
    if byte & 0x80 != 0 { -size } else { size }
}

/// The upper byte of an f16.
pub(super) fn e5m2(byte: u8) -> f32 {
    F16(u16::from(byte) << 8).to_f32()
}

/// A sign, so many bits of exponent and so many of fraction: neither infinities nor NaN.
fn finite(bits: u8, [exponents, fractions]: [u32; 2]) -> f32 {
    let bits = u32::from(bits);
    let fraction = bits & ((1 << fractions) - 1);
    let exponent = bits >> fractions & ((1 << exponents) - 1);
    let bias = (1 << (exponents - 1)) - 1;
    let one = (1 << fractions) as f32;
    let size = if exponent == 0 {
        fraction as f32 / one * 2.0
    } else {
        (1.0 + fraction as f32 / one) * (1u32 << exponent) as f32
    };
    let size = size / (1u32 << bias) as f32;
    let negative = bits >> (exponents + fractions) & 1 != 0;
    if negative { -size } else { size }
}

/// Four bits.
pub(in crate::exec) fn e2m1(bits: u8) -> f32 {
    finite(bits, [2, 1])
}

impl Format {
    /// The number in a byte.
    pub(in crate::exec) fn of_byte(self, byte: u8) -> f32 {
        match self {
            Format::E4m3 => e4m3(byte),
            Format::E5m2 => e5m2(byte),
            Format::E3m2 => finite(byte, [3, 2]),
            Format::E2m3 => finite(byte, [2, 3]),
            Format::E2m1 => e2m1(byte >> 2),
        }
    }
}

/// A scale: a power of two, or an 8-bit float without a sign.
pub(in crate::exec) fn scale(byte: u8, is_power: bool) -> f64 {
    match (is_power, byte) {
        (true, 0xFF) => f64::NAN,
        (true, _) => f64::from_bits((u64::from(byte) + 1023 - 127) << 52),
        (false, _) => f64::from(e4m3(byte & 0x7F)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_few_bits_are_those_of_the_specification() {
        let all = |format: Format, count: u8, shift: u8| -> Vec<f32> {
            (0..count)
                .map(|bits| format.of_byte(bits << shift))
                .collect()
        };
        assert_eq!(
            all(Format::E2m1, 8, 2),
            [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
        );
        let e2m3 = all(Format::E2m3, 32, 0);
        assert_eq!((e2m3[1], e2m3[8], e2m3[31]), (0.125, 1.0, 7.5));
        let e3m2 = all(Format::E3m2, 32, 0);
        assert_eq!((e3m2[1], e3m2[12], e3m2[31]), (0.0625, 1.0, 28.0));
        assert_eq!(Format::E3m2.of_byte(0x20 | 31), -28.0);
        assert_eq!(e2m1(9), -0.5);
        assert_eq!((e4m3(0x7E), e4m3(0x81)), (448.0, -1.0 / 512.0));
        assert!(e4m3(0x7F).is_nan() && e5m2(0x7C).is_infinite());
        assert_eq!(
            (scale(127, true), scale(0, true)),
            (1.0, f64::powi(2.0, -127))
        );
        assert!(scale(0xFF, true).is_nan() && scale(0x7F, false).is_nan());
        assert_eq!(scale(0x38, false), 1.0);
    }
}
