//! The numbers of products in tensor memory: what their bits mean, and which are tried.

use crate::tensor_memory::random;

/// How the elements of a matrix are numbers, and how they lie in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number {
    /// In the instruction descriptor.
    pub(crate) code: u32,
    /// From one element to the next.
    pub(crate) bits: usize,
    /// Elements of 16 bytes.
    pub(crate) per: usize,
    /// Bits of the exponent, none of integers, and of the fraction; a sign is before them.
    exponent: u32,
    fraction: u32,
}

const fn number(code: u32, bits: usize, per: usize, parts: [u32; 2]) -> Number {
    Number {
        code,
        bits,
        per,
        exponent: parts[0],
        fraction: parts[1],
    }
}

pub(crate) const F16: Number = number(0, 16, 8, [5, 10]);
pub(crate) const BF16: Number = number(1, 16, 8, [8, 7]);
/// The upper 19 of 32 bits.
pub(crate) const TF32: Number = number(2, 32, 4, [8, 10]);
pub(crate) const E4M3: Number = number(0, 8, 16, [4, 3]);
pub(crate) const E5M2: Number = number(1, 8, 16, [5, 2]);
pub(crate) const E2M3: Number = number(3, 6, 16, [2, 3]);
pub(crate) const E3M2: Number = number(4, 6, 16, [3, 2]);
pub(crate) const E2M1: Number = number(5, 4, 16, [2, 1]);
/// Without gaps.
pub(crate) const PACKED: Number = number(1, 4, 32, [2, 1]);
pub(crate) const U8: Number = number(0, 8, 16, [0, 8]);
pub(crate) const S8: Number = number(1, 8, 16, [0, 7]);

/// Fractions of eight bits without a sign.
pub(crate) fn scale(byte: u8, is_power: bool) -> f64 {
    match (is_power, byte) {
        (true, 0xFF) => f64::NAN,
        (true, _) => 2f64.powi(i32::from(byte) - 127),
        (false, _) => E4M3.value(u32::from(byte & 0x7F)),
    }
}

impl Number {
    /// What so many bits are.
    pub(crate) fn value(self, bits: u32) -> f64 {
        if self == U8 || self == S8 {
            return match self == S8 {
                true => f64::from(bits as u8 as i8),
                false => f64::from(bits as u8),
            };
        }
        let bits = if self == TF32 { bits >> 13 } else { bits };
        let (fraction, exponent) = (
            bits & ((1 << self.fraction) - 1),
            bits >> self.fraction & ((1 << self.exponent) - 1),
        );
        let sign = match bits >> (self.fraction + self.exponent) & 1 {
            0 => 1.0,
            _ => -1.0,
        };
        let is_last = exponent == (1 << self.exponent) - 1;
        let part = f64::from(fraction) / f64::from(1 << self.fraction);
        let bias = (1 << (self.exponent - 1)) - 1;
        match (self, is_last, exponent) {
            (E4M3, true, _) if fraction == 7 => f64::NAN,
            (F16 | BF16 | TF32 | E5M2, true, _) if fraction == 0 => sign * f64::INFINITY,
            (F16 | BF16 | TF32 | E5M2, true, _) => f64::NAN,
            (_, _, 0) => sign * part * 2f64.powi(1 - bias),
            _ => sign * (1.0 + part) * 2f64.powi(exponent as i32 - bias),
        }
    }

    /// The bits of a number, if it is one of these.
    pub(crate) fn bits_of(self, value: f64) -> Option<u32> {
        if self.exponent == 0 {
            let byte = value as i32 as u32 & 0xFF;
            return (self.value(byte) == value).then_some(byte);
        }
        let bias = (1 << (self.exponent - 1)) - 1;
        // All numbers that are tried are near 1.
        let exponent = (value.abs().log2().floor().max(-16.0) as i32).max(1 - bias);
        let one = 2f64.powi(exponent);
        let part = (value.abs() / one * f64::from(1 << self.fraction)) as u32;
        let biased = (exponent + bias) as u32;
        let size = match part >> self.fraction {
            0 => part,
            _ => biased << self.fraction | part & ((1 << self.fraction) - 1),
        };
        let sign = u32::from(value < 0.0) << (self.fraction + self.exponent);
        let bits = (sign | size) << if self == TF32 { 13 } else { 0 };
        (self.value(bits) == value).then_some(bits)
    }

    /// Of all multiples of `unit` up to `most` the ones that are of these numbers.
    pub(crate) fn some(self, unit: f64, most: f64) -> Vec<u32> {
        let steps = (most / unit) as i32;
        let values = (-steps..=steps).map(|step| f64::from(step) * unit);
        values.filter_map(|value| self.bits_of(value)).collect()
    }
}

/// A matrix of multiples of a unit up to the most, that look like chance.
pub(crate) fn matrix(
    number: Number,
    seed: u64,
    (unit, most): (f64, f64),
) -> impl Fn(usize, usize) -> u32 {
    let some = number.some(unit, most);
    move |row, k| {
        let chance = random(seed, 256 * row + k);
        let bits = some[chance as usize % some.len()];
        // Lower bits than those of tf32 do not count.
        bits | if number == TF32 { chance >> 19 } else { 0 }
    }
}

#[test]
fn numbers_are_what_the_formats_say() {
    assert_eq!(E4M3.value(0x7E), 448.0);
    assert_eq!(E5M2.value(0x7B), 57344.0);
    assert_eq!(E2M3.value(0x1F), 7.5);
    assert_eq!(E3M2.value(0x3F), -28.0);
    assert_eq!(E3M2.value(1), 0.0625);
    let all: Vec<f64> = (0..8).map(|bits| E2M1.value(bits)).collect();
    assert_eq!(all, [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
    for bits in 0..=u16::MAX {
        let value = half::f16::from_bits(bits).to_f64();
        assert!(F16.value(bits.into()) == value || value.is_nan());
        let value = half::bf16::from_bits(bits).to_f64();
        assert!(BF16.value(bits.into()) == value || value.is_nan());
    }
    assert_eq!(TF32.value((-2.5f32).to_bits() | 0x1FFF), -2.5);
    assert_eq!(F16.bits_of(-2.5), Some(0xC100));
    assert_eq!(E4M3.bits_of(17.0), None);
    assert_eq!(E2M1.some(0.25, 100.0).len(), 15);
}
