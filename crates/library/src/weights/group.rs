//! Decoding of whole groups, by a lane that has a row to itself.

use super::{
    decode::{Affine, BlockUni, PlaneRow, byte, floats, look_up, moved_bits},
    fragment::BIAS,
    layout::{BLOCK, Codes, High, Layout, Value},
};
use crate::values::{F32, Word};
use warpsmith_kernel::{
    Global, Read, Val, raw,
    uni::{self, Join, Uni},
};
use warpsmith_ptx::{ir::Operand, op::Op, qual::Qual, types::Type};

/// The codes of a group in words of four bytes.
#[derive(Clone, Copy, Debug)]
pub struct GroupCodes<'k> {
    /// Weights `16 h + 4 w ..` in word w of half h.
    pub halves: [[Word<'k>; 4]; 2],
    /// The second half's bytes are the codes times `2^shift`.
    pub shift: u32,
    /// `.u8` or `.s8`.
    pub ty: Type,
}

/// The scales of a group: a weight is `d * (code - zero) + m`.
#[derive(Clone, Copy, Debug)]
pub enum GroupScales<'k> {
    /// One for the group.
    Whole(Affine<'k>),
    /// One for each half.
    Halves([Affine<'k>; 2]),
}

impl<'k> GroupCodes<'k> {
    /// The codes as unsigned bytes: those with a sign have 128 more.
    pub fn unsigned(self) -> GroupCodes<'k> {
        if self.ty == Type::U8 {
            return self;
        }
        let bias = u32::from_le_bytes([BIAS; 4]);
        GroupCodes {
            halves: self.halves.map(|half| half.map(|word| word ^ bias)),
            ty: Type::U8,
            ..self
        }
    }

    /// The dot product of half `half`, as stored, with four words of signed bytes, added to `acc`.
    #[track_caller]
    pub fn dot<U: Uni>(
        &self,
        half: usize,
        x: [Val<'k, u32, U>; 4],
        acc: Val<'k, i32, uni::Lane>,
    ) -> Val<'k, i32, uni::Lane> {
        let words = self.halves[half].iter().zip(x);
        words.fold(acc, |acc, (word, x)| {
            dot(self.ty, word.operand(), x.operand(), acc)
        })
    }
}

/// `acc` and the products of four bytes, those of `a` of type `ty`, those of `b` with a sign.
#[track_caller]
fn dot<'k>(
    ty: Type,
    a: Operand,
    b: Operand,
    acc: Val<'k, i32, uni::Lane>,
) -> Val<'k, i32, uni::Lane> {
    let quals = [Qual::T(wide(ty)), Qual::T(Type::S32)];
    raw::define(Op::Dp4a, &quals, [a, b, acc.operand()])
}

/// How `dp4a` names four bytes of a type.
fn wide(ty: Type) -> Type {
    if ty == Type::U8 { Type::U32 } else { Type::S32 }
}

/// The four words of a piece of a plane.
pub type Piece<'k> = [Word<'k>; 4];

impl<'k, U: Uni> PlaneRow<'k, U> {
    /// Where the pieces of the `codes` plane of a group are, of [`Layout::pieces`].
    pub fn group_pieces<G: Uni>(
        self,
        layout: Layout,
        group: Val<'k, u32, G>,
    ) -> impl Iterator<Item = Global<'k, u32, Read, uni::Lane>>
    where
        U: BlockUni<G>,
    {
        let pieces = layout.pieces();
        (0..pieces).map(move |piece| self.piece(self.codes, 4, pieces, group, piece))
    }

    /// This row with its place among the 32 put into the planes' addresses, once for all groups.
    pub fn placed(self, layout: Layout) -> PlaneRow<'k, uni::Lane>
    where
        U: Join<uni::Lane, Out = uni::Lane>,
    {
        PlaneRow {
            codes: self.codes.from(self.row * layout.piece_words()),
            high: self.high.from(self.row * layout.high_words()),
            sub: self.sub.from(self.row * layout.sub_bytes()),
            scales: self.scales.from(self.row * layout.scale_halves()),
            row: Val::constant(0),
        }
    }

    /// This row, `groups` further on. A later group index must be such that index and index + `groups` are in one
    /// super-block, where the layout has them.
    pub fn ahead(self, layout: Layout, groups: u32) -> Self
    where
        U: Join<uni::Cta, Out = U>,
    {
        let items = groups * BLOCK;
        let scales = if layout.groups_per_scale() == 1 {
            items * layout.scale_halves()
        } else {
            0
        };
        PlaneRow {
            codes: self.codes.from(items * layout.code_words()),
            high: self.high.from(items * layout.high_words()),
            sub: self.sub.from(items * layout.sub_bytes()),
            scales: self.scales.from(scales),
            row: self.row,
        }
    }

    /// The codes of a group; the layout is a quantised one. `fetched` are the pieces of its `codes` plane, where they are
    /// there already.
    pub fn group_codes<G: Uni>(
        self,
        layout: Layout,
        group: Val<'k, u32, G>,
        fetched: Option<&[Piece<'k>]>,
    ) -> GroupCodes<'k>
    where
        U: BlockUni<G>,
    {
        let four = |piece: u32, pieces: u32| match fetched {
            Some(fetched) => fetched[piece as usize],
            None => self.piece(self.codes, 4, pieces, group, piece).words(0),
        };
        let (low, shift) = self.low_codes(layout, group, four);
        let above = layout.low_bits();
        let with = |bits: [Word<'k>; 2], width: u32, mask: u32, next: u32| {
            [0, 1].map(|half: usize| {
                std::array::from_fn(|w| {
                    let from = width * (w as u32) + next * half as u32;
                    low[half][w] | moved_bits(bits[half], from, above, mask)
                })
            })
        };
        let codes = match layout.high {
            High::None => low,
            High::One => {
                let bits = self.piece(self.high, 1, 1, group, 0).at(0);
                with([bits, bits], 1, 0x0101_0101, 4)
            }
            High::Two => {
                let bits = self.piece(self.high, 2, 1, group, 0).words::<2, _>(0);
                with(bits, 2, 0x0303_0303, 0)
            }
        };
        let halves = match layout.value {
            Value::Linear { .. } | Value::Signed => codes,
            Value::Table(table) => codes.map(|half| half.map(|word| look_up(&table, word))),
        };
        GroupCodes {
            halves,
            shift,
            ty: layout.code_type(),
        }
    }

    /// The codes' bits of the `codes` plane, and [`GroupCodes::shift`]; `four(piece, pieces)` is a piece of the plane.
    fn low_codes<G: Uni>(
        self,
        layout: Layout,
        group: Val<'k, u32, G>,
        four: impl Fn(u32, u32) -> Piece<'k>,
    ) -> ([Piece<'k>; 2], u32)
    where
        U: BlockUni<G>,
    {
        let in_place = layout.high == High::None && matches!(layout.value, Value::Linear { .. });
        let low = match layout.codes {
            Codes::Byte => [0, 1].map(|half| four(half, 2)),
            Codes::Nibble => {
                let words = four(0, 1);
                let first = words.map(|word| word & 0x0f0f_0f0f);
                if in_place {
                    // Left where they are, the high nibbles count sixteenfold: one shift of a sum sets that right.
                    return ([first, words.map(|word| word & 0xf0f0_f0f0)], 4);
                }
                [first, words.map(|word| (word >> 4) & 0x0f0f_0f0f)]
            }
            Codes::NibbleInOrder => {
                let [a, b, c, d] = four(0, 1);
                [[a, a >> 16, b, b >> 16], [c, c >> 16, d, d >> 16]]
            }
            Codes::Pair => self
                .piece(self.codes, 2, 1, group, 0)
                .words::<2, _>(0)
                .map(|word| std::array::from_fn(|w| (word >> (2 * w as u32)) & 0x0303_0303)),
            Codes::Float(_) => unreachable!("unquantised weights have no codes"),
        };
        (low, 0)
    }

    /// The scales of a group.
    pub fn group_scales<G: Uni>(self, layout: Layout, group: Val<'k, u32, G>) -> GroupScales<'k>
    where
        U: BlockUni<G>,
    {
        let scale = |half: u32| self.scale(layout, group, Val::constant(half));
        if layout.scale_is_whole() {
            GroupScales::Whole(scale(0))
        } else {
            GroupScales::Halves([scale(0), scale(1)])
        }
    }

    /// The weights of a group as f32, equal bit for bit to the scalar dequantisation; `fetched` as in
    /// [`PlaneRow::group_codes`].
    pub fn group_values<G: Uni>(
        self,
        layout: Layout,
        group: Val<'k, u32, G>,
        fetched: Option<&[Piece<'k>]>,
    ) -> [F32<'k>; 32]
    where
        U: BlockUni<G>,
    {
        if let Codes::Float(ty) = layout.codes {
            let halves = match fetched {
                None => [0u32, 1].map(|half| self.float_values(ty, group, Val::constant(half))),
                Some(pieces) => {
                    let (first, second) = pieces.split_at(pieces.len() / 2);
                    [first, second].map(|pieces| floats(ty, |piece| pieces[piece]))
                }
            };
            return std::array::from_fn(|at| halves[at / 16][at % 16]);
        }
        let GroupCodes {
            halves, shift, ty, ..
        } = self.group_codes(layout, group, fetched);
        let scales = [0u32, 1].map(|half| self.affine(layout, group, Val::constant(half)));
        std::array::from_fn(|at| {
            let (half, within) = (at / 16, at % 16);
            let word = halves[half][within / 4] >> (8 * (within as u32 % 4));
            let word = if half == 1 && shift != 0 {
                (word >> shift) & 0x0f
            } else {
                word
            };
            let q = byte(ty, word);
            let Affine { d, m } = scales[half];
            match m {
                Some(m) => q.mul_add(d, m),
                None => q * d,
            }
        })
    }
}
