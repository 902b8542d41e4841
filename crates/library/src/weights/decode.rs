//! Decoding on the device: codes to integers and floats, scales to `d` and `m`.

use super::layout::{Codes, FloatType, GROUP, High, Layout, Scale, Value};
use half::f16;
use warpsmith_kernel::{Global, Read, Val, raw, uni};
use warpsmith_ptx::{op::Op, qual::Qual, types::Type};

type Word<'k> = Val<'k, u32, uni::Lane>;
type F32<'k> = Val<'k, f32, uni::Lane>;

/// One row of a matrix: its part of each plane.
#[derive(Clone, Copy, Debug)]
pub struct PlaneRow<'k> {
    /// Codes.
    pub codes: Global<'k, u32, Read, uni::Lane>,
    /// High bits.
    pub high: Global<'k, u32, Read, uni::Lane>,
    /// Scales within super-blocks.
    pub sub: Global<'k, u8, Read, uni::Lane>,
    /// 16-bit scales.
    pub scales: Global<'k, u16, Read, uni::Lane>,
}

/// `d` and `m` of half a group; `m` is absent where it is zero.
#[derive(Clone, Copy, Debug)]
pub struct Affine<'k> {
    /// Factor.
    pub d: F32<'k>,
    /// Addend.
    pub m: Option<F32<'k>>,
}

fn f16_bits<'k>(bits: Word<'k>) -> F32<'k> {
    let (low, _): (Val<'k, f16, _>, _) = bits.into();
    low.f32()
}

/// Both f16 of a word.
fn two_halves<'k>(word: Word<'k>) -> (F32<'k>, F32<'k>) {
    let (low, high): (Val<'k, f16, _>, Val<'k, f16, _>) = word.into();
    (low.f32(), high.f32())
}

/// A signed byte in the low bits of a word.
fn signed_byte<'k>(word: Word<'k>) -> F32<'k> {
    raw::define(Op::Cvt, &[Qual::Rn, Qual::T(Type::F32), Qual::T(Type::S8)], [word.operand()])
}

impl<'k> PlaneRow<'k> {
    /// Four words of codes with their high bits: weights `16 half .. 16 half + 16` of `group`, four to a word.
    /// Linear codes are unsigned bytes, signed ones and table values are signed bytes.
    pub fn words(self, layout: Layout, group: Word<'k>, half: Word<'k>) -> [Word<'k>; 4] {
        let low = match layout.codes {
            Codes::Byte => self.codes.words::<4, _>(group * 8 + half * 4),
            Codes::Nibble => {
                let words = self.codes.words::<4, _>(group * 4);
                words.map(|word| (word >> (half * 4)) & 0x0f0f_0f0f)
            }
            Codes::NibbleInOrder => {
                let [first, second] = self.codes.words::<2, _>(group * 4 + half * 2);
                [first, first >> 16, second, second >> 16]
            }
            Codes::Pair => {
                let word = self.codes.at(group * 2 + half);
                std::array::from_fn(|w| (word >> (2 * w as u32)) & 0x0303_0303)
            }
            Codes::Float(_) => unreachable!("unquantised weights have no codes"),
        };
        let above = layout.low_bits();
        let codes: [Word<'k>; 4] = match layout.high {
            High::None => low,
            High::One => {
                let bits = self.high.at(group) >> (half * 4);
                std::array::from_fn(|w| low[w] | (((bits >> w as u32) & 0x0101_0101) << above))
            }
            High::Two => {
                let bits = self.high.at(group * 2 + half);
                std::array::from_fn(|w| low[w] | (((bits >> (2 * w as u32)) & 0x0303_0303) << above))
            }
        };
        match layout.value {
            Value::Linear { .. } | Value::Signed => codes,
            Value::Table(table) => codes.map(|selector| look_up(&table, selector)),
        }
    }

    /// The scale of half a group.
    pub fn affine(self, layout: Layout, group: Word<'k>, half: Word<'k>) -> Affine<'k> {
        let superblock = group / 8u32;
        let (d, m) = match layout.scale {
            Scale::None => (Val::constant(1.0), None),
            Scale::Half => (f16_bits(self.scales.at(group)), None),
            Scale::Brain => ((self.scales.at(group) << 16).as_f32(), None),
            Scale::HalfMin => {
                let [word] = self.scales.words::<1, _>(group * 2);
                let (d, m) = two_halves(word);
                (d, Some(m))
            }
            Scale::SuperMin => {
                let [word] = self.scales.words::<1, _>(superblock * 2);
                let (d, least) = two_halves(word);
                let sub = self.sub.from(group * 2);
                (d * sub.at(0).f32(), Some(-(least * sub.at(1).f32())))
            }
            Scale::SuperMin16 => {
                let [word] = self.scales.words::<1, _>(superblock * 2);
                let (d, least) = two_halves(word);
                let sub = self.sub.from(group * 4 + half);
                (d * sub.at(0).f32(), Some(-(least * sub.at(2).f32())))
            }
            Scale::Super16 => (f16_bits(self.scales.at(superblock)) * signed_byte(self.sub.at(group * 2 + half)), None),
            Scale::Super32 => (f16_bits(self.scales.at(superblock)) * signed_byte(self.sub.at(group)), None),
        };
        match layout.value {
            Value::Linear { zero } if zero != 0 => Affine { d, m: Some(d * -f32::from(zero)) },
            Value::Linear { .. } | Value::Signed | Value::Table(_) => Affine { d, m },
        }
    }

    /// Sixteen weights as f32, equal bit for bit to the scalar dequantisation: products are exact, one sum rounds.
    pub fn half_values(self, layout: Layout, group: Word<'k>, half: Word<'k>) -> [F32<'k>; 16] {
        if let Codes::Float(ty) = layout.codes {
            return self.float_values(ty, group * GROUP + half * 16);
        }
        let words = self.words(layout, group, half);
        let Affine { d, m } = self.affine(layout, group, half);
        let byte = match layout.value {
            Value::Linear { .. } => Type::U8,
            Value::Signed | Value::Table(_) => Type::S8,
        };
        std::array::from_fn(|at| {
            let word = words[at / 4] >> (8 * (at as u32 % 4));
            let q: F32<'k> = raw::define(Op::Cvt, &[Qual::Rn, Qual::T(Type::F32), Qual::T(byte)], [word.operand()]);
            match m {
                Some(m) => q.mul_add(d, m),
                None => q * d,
            }
        })
    }

    fn float_values(self, ty: FloatType, start: Word<'k>) -> [F32<'k>; 16] {
        match ty {
            FloatType::F32 => {
                let quads: [[Word<'k>; 4]; 4] =
                    std::array::from_fn(|quad| self.codes.from(start).words::<4, _>(4 * quad as u32));
                std::array::from_fn(|at| quads[at / 4][at % 4].as_f32())
            }
            FloatType::F16 | FloatType::BF16 => {
                let quads: [[Word<'k>; 4]; 2] =
                    std::array::from_fn(|quad| self.codes.from(start / 2u32).words::<4, _>(4 * quad as u32));
                let pairs: [(F32<'k>, F32<'k>); 8] = std::array::from_fn(|at| {
                    let word = quads[at / 4][at % 4];
                    match ty {
                        FloatType::BF16 => ((word << 16).as_f32(), (word & 0xffff_0000).as_f32()),
                        FloatType::F16 | FloatType::F32 => two_halves(word),
                    }
                });
                std::array::from_fn(|at| if at % 2 == 0 { pairs[at / 2].0 } else { pairs[at / 2].1 })
            }
        }
    }
}

/// The bytes `table[n]` for the four low nibbles `n` of `selector`: a permutation of each half of the table, and one
/// that picks between them by the nibbles' top bits.
fn look_up<'k>(table: &[i8; 16], selector: Word<'k>) -> Word<'k> {
    let quarter = |at: usize| u32::from_le_bytes(std::array::from_fn(|b| table[4 * at + b].cast_unsigned()));
    let within = selector & 0x7777;
    let quarter = |at| Word::<'k>::constant(quarter(at));
    let low = quarter(0).permute(quarter(1), within);
    let high = quarter(2).permute(quarter(3), within);
    low.permute(high, ((selector & 0x8888) >> 1) | 0x3210)
}
