//! Decoding on the device: codes to integers and floats, scales to `d` and `m`.

use super::layout::{BLOCK, Codes, FloatType, High, Layout, Scale, Value};
use crate::{
    quad::two_halves,
    values::{F32, Word},
};
use half::f16;
use warpsmith_kernel::{
    Elem, Global, Read, Val, raw,
    uni::{self, Join, Uni},
};
use warpsmith_ptx::{op::Op, qual::Qual, types::Type};

/// One row of a matrix: the planes of its block of 32 rows, and its place among them.
#[derive(Clone, Copy, Debug)]
pub struct PlaneRow<'k, U = uni::Lane> {
    /// Codes of the block.
    pub codes: Global<'k, u32, Read, U>,
    /// High bits of the block.
    pub high: Global<'k, u32, Read, U>,
    /// Scales within super-blocks, of the block.
    pub sub: Global<'k, u8, Read, U>,
    /// 16-bit scales of the block.
    pub scales: Global<'k, u16, Read, U>,
    /// The row within the block.
    pub row: Word<'k>,
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

/// The low byte of a word as a number; `ty` is U8 or S8.
pub(super) fn byte<'k>(ty: Type, word: Word<'k>) -> F32<'k> {
    let quals = [Qual::Rn, Qual::T(Type::F32), Qual::T(ty)];
    raw::define(Op::Cvt, &quals, [word.operand()])
}

/// The bits of `mask << from` in `bits`, moved to `mask << to`.
pub(super) fn moved_bits<'k>(bits: Word<'k>, from: u32, to: u32, mask: u32) -> Word<'k> {
    let moved = if from > to {
        bits >> (from - to)
    } else {
        bits << (to - from)
    };
    moved & (mask << to)
}

/// A uniformity that any group index may be joined with.
pub trait BlockUni<G: Uni>: Join<G, Out: Join<uni::Lane, Out = uni::Lane>> {}
impl<U: Join<G, Out: Join<uni::Lane, Out = uni::Lane>>, G: Uni> BlockUni<G> for U {}

impl<'k, U: Uni> PlaneRow<'k, U> {
    /// `N` items of a plane for this row: piece `piece` of `pieces` of a group (or super-block).
    #[track_caller]
    pub(super) fn piece<T: Elem, G: Uni>(
        self,
        plane: Global<'k, T, Read, U>,
        items: u32,
        pieces: u32,
        group: Val<'k, u32, G>,
        piece: u32,
    ) -> Global<'k, T, Read, uni::Lane>
    where
        U: BlockUni<G>,
    {
        let start = plane.from((group * pieces + piece) * (BLOCK * items));
        start.from(self.row * items)
    }

    /// Four words of codes with their high bits: weights `16 half .. 16 half + 16` of `group`, four to a word.
    /// Linear codes are unsigned bytes, signed ones and table values are signed bytes.
    pub fn words<G: Uni>(
        self,
        layout: Layout,
        group: Val<'k, u32, G>,
        half: Word<'k>,
    ) -> [Word<'k>; 4]
    where
        U: BlockUni<G>,
    {
        let low = match layout.codes {
            Codes::Byte => {
                // The piece depends on the half, which may differ between lanes.
                let start = self.codes.from(group * (8 * BLOCK));
                start
                    .from(half * (4 * BLOCK))
                    .from(self.row * 4)
                    .words::<4, _>(0)
            }
            Codes::Nibble => {
                let words = self.piece(self.codes, 4, 1, group, 0).words::<4, _>(0);
                words.map(|word| (word >> (half * 4)) & 0x0f0f_0f0f)
            }
            Codes::NibbleInOrder => {
                let [first, second] = self
                    .piece(self.codes, 4, 1, group, 0)
                    .from(half * 2)
                    .words::<2, _>(0);
                [first, first >> 16, second, second >> 16]
            }
            Codes::Pair => {
                let word = self.piece(self.codes, 2, 1, group, 0).at(half);
                std::array::from_fn(|w| (word >> (2 * w as u32)) & 0x0303_0303)
            }
            Codes::Float(_) => unreachable!("unquantised weights have no codes"),
        };
        let above = layout.low_bits();
        let codes: [Word<'k>; 4] = match layout.high {
            High::None => low,
            High::One => {
                let bits = self.piece(self.high, 1, 1, group, 0).at(0) >> (half * 4);
                std::array::from_fn(|w| low[w] | moved_bits(bits, w as u32, above, 0x0101_0101))
            }
            High::Two => {
                let bits = self.piece(self.high, 2, 1, group, 0).at(half);
                std::array::from_fn(|w| low[w] | moved_bits(bits, 2 * w as u32, above, 0x0303_0303))
            }
        };
        match layout.value {
            Value::Linear { .. } | Value::Signed => codes,
            Value::Table(table) => codes.map(|selector| look_up(&table, selector)),
        }
    }

    /// The scale of half a group: a weight is `d * code + m`, or `d * value + m` where codes are signed or looked up.
    pub fn affine<G: Uni>(
        self,
        layout: Layout,
        group: Val<'k, u32, G>,
        half: Word<'k>,
    ) -> Affine<'k>
    where
        U: BlockUni<G>,
    {
        let Affine { d, m } = self.scale(layout, group, half);
        match layout.zero() {
            0 => Affine { d, m },
            zero => Affine {
                d,
                m: Some(d * -f32::from(zero)),
            },
        }
    }

    /// The scale of half a group before the code of zero is accounted for: a weight is `d * (code - zero) + m`.
    pub(crate) fn scale<G: Uni>(
        self,
        layout: Layout,
        group: Val<'k, u32, G>,
        half: Word<'k>,
    ) -> Affine<'k>
    where
        U: BlockUni<G>,
    {
        let block = group / layout.groups_per_scale();
        let single = || f16_bits(self.piece(self.scales, 1, 1, block, 0).at(0));
        let both = || {
            let [word] = self.piece(self.scales, 2, 1, block, 0).words::<1, _>(0);
            two_halves(word)
        };
        // What a group has in `sub` is loaded whole: then a warp's accesses are one run.
        let (d, m) = match layout.scale {
            Scale::None => (Val::constant(1.0), None),
            Scale::Half => (single(), None),
            Scale::Brain => (
                (self.piece(self.scales, 1, 1, block, 0).at(0) << 16).as_f32(),
                None,
            ),
            Scale::HalfMin => {
                let [d, m] = both();
                (d, Some(m))
            }
            Scale::SuperMin => {
                let [d, least] = both();
                let sub = self.piece(self.sub, 2, 1, group, 0).cast::<u16>().at(0);
                (
                    d * byte(Type::U8, sub),
                    Some(-(least * byte(Type::U8, sub >> 8))),
                )
            }
            Scale::SuperMin16 => {
                let [d, least] = both();
                let [sub] = self.piece(self.sub, 4, 1, group, 0).words::<1, _>(0);
                let sub = sub >> (half * 8);
                (
                    d * byte(Type::U8, sub),
                    Some(-(least * byte(Type::U8, sub >> 16))),
                )
            }
            Scale::Super16 => {
                let sub = self.piece(self.sub, 2, 1, group, 0).cast::<u16>().at(0);
                (single() * byte(Type::S8, sub >> (half * 8)), None)
            }
            Scale::Super32 => {
                let sub = self.piece(self.sub, 1, 1, group, 0).at(0);
                (single() * byte(Type::S8, sub), None)
            }
        };
        Affine { d, m }
    }

    /// Sixteen weights as f32, equal bit for bit to the scalar dequantisation: products are exact, one sum rounds.
    pub fn half_values<G: Uni>(
        self,
        layout: Layout,
        group: Val<'k, u32, G>,
        half: Word<'k>,
    ) -> [F32<'k>; 16]
    where
        U: BlockUni<G>,
    {
        if let Codes::Float(ty) = layout.codes {
            return self.float_values(ty, group, half);
        }
        let words = self.words(layout, group, half);
        let Affine { d, m } = self.affine(layout, group, half);
        let ty = layout.code_type();
        std::array::from_fn(|at| {
            let q = byte(ty, words[at / 4] >> (8 * (at as u32 % 4)));
            match m {
                Some(m) => q.mul_add(d, m),
                None => q * d,
            }
        })
    }

    pub(super) fn float_values<G: Uni>(
        self,
        ty: FloatType,
        group: Val<'k, u32, G>,
        half: Word<'k>,
    ) -> [F32<'k>; 16]
    where
        U: BlockUni<G>,
    {
        // Pieces of four words; half a group is four of them in f32, two in 16 bits.
        let pieces = if ty == FloatType::F32 { 4 } else { 2 };
        let start = self.codes.from(group * (2 * pieces * 4 * BLOCK));
        let start = start.from(half * (pieces * 4 * BLOCK) + self.row * 4);
        floats(ty, |piece| start.words::<4, _>(piece as u32 * 4 * BLOCK))
    }
}

/// Sixteen weights of the words of their pieces.
pub(super) fn floats<'k>(ty: FloatType, quad: impl Fn(usize) -> [Word<'k>; 4]) -> [F32<'k>; 16] {
    if ty == FloatType::F32 {
        let quads: [[Word<'k>; 4]; 4] = std::array::from_fn(quad);
        return std::array::from_fn(|at| quads[at / 4][at % 4].as_f32());
    }
    let quads: [[Word<'k>; 4]; 2] = std::array::from_fn(quad);
    let pairs: [[F32<'k>; 2]; 8] = std::array::from_fn(|at| {
        let word = quads[at / 4][at % 4];
        match ty {
            FloatType::BF16 => [(word << 16).as_f32(), (word & 0xffff_0000).as_f32()],
            FloatType::F16 | FloatType::F32 => two_halves(word),
        }
    });
    std::array::from_fn(|at| pairs[at / 2][at % 2])
}

/// The bytes `table[n]` for the four low nibbles `n` of `selector`: a permutation of each half of the table, and one
/// that picks between them by the nibbles' top bits.
pub(super) fn look_up<'k>(table: &[i8; 16], selector: Word<'k>) -> Word<'k> {
    let quarter =
        |at: usize| u32::from_le_bytes(std::array::from_fn(|b| table[4 * at + b].cast_unsigned()));
    let within = selector & 0x7777;
    let quarter = |at| Word::<'k>::constant(quarter(at));
    let low = quarter(0).permute(quarter(1), within);
    let high = quarter(2).permute(quarter(3), within);
    low.permute(high, ((selector & 0x8888) >> 1) | 0x3210)
}
