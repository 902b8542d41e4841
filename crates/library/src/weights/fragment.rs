//! Codes as left operands of `mma`: a warp reads a block of 32 rows straight from its planes, each lane what it multiplies.

use super::{
    decode::{look_up, moved_bits},
    layout::{BLOCK, Codes, High, Layout, Value},
};
use crate::values::Word;
use warpsmith_kernel::{Global, Read, uni};

/// What unsigned bytes have more than signed ones.
pub(super) const BIAS: u8 = 128;

/// The codes of a group of 32 rows, unsigned bytes as `Warp::mma_bytes` takes them: 16 rows, of these 16 columns.
pub(crate) type Fragments<'k> = [[[Word<'k>; 2]; 2]; 2];

/// The planes of codes of a block of 32 rows. Lane `4 g + t` has columns `4 t ..` and `16 + 4 t ..` of rows `g`, `g + 8`,
/// `g + 16`, `g + 24`.
#[derive(Clone, Copy)]
pub(crate) struct BlockCodes<'k> {
    layout: Layout,
    codes: Global<'k, u32, Read, uni::Lane>,
    high: Global<'k, u32, Read, uni::Lane>,
    /// t.
    quad: Word<'k>,
}

impl Layout {
    /// The code of zero where all codes are unsigned bytes, as in [`BlockCodes`]: those with a sign have [`BIAS`] more
    /// there.
    pub(crate) fn unsigned_zero(self) -> u8 {
        match self.value {
            Value::Linear { zero } => zero,
            Value::Signed | Value::Table(_) => BIAS,
        }
    }
}

impl<'k> BlockCodes<'k> {
    /// Of the `codes` and `high` planes of a block, for lane `lane`.
    pub(crate) fn of(
        layout: Layout,
        codes: Global<'k, u32, Read, uni::Warp>,
        high: Global<'k, u32, Read, uni::Warp>,
        lane: Word<'k>,
    ) -> BlockCodes<'k> {
        let (row, quad) = (lane >> 2, lane & 3);
        let within = match layout.codes {
            // Four words for each row: those of eight rows are one run.
            Codes::Byte | Codes::Nibble => lane,
            Codes::NibbleInOrder => (row << 2) + (quad >> 1),
            Codes::Pair => row << 1,
            Codes::Float(_) => unreachable!("unquantised weights have no codes"),
        };
        BlockCodes {
            layout,
            codes: codes.from(within),
            high: high.from(row * layout.high_words()),
            quad,
        }
    }

    /// The codes of a group.
    pub(crate) fn group(self, group: warpsmith_kernel::Val<'k, u32, uni::Warp>) -> Fragments<'k> {
        let layout = self.layout;
        let here = BlockCodes {
            codes: self.codes.from(group * (layout.code_words() * BLOCK)),
            high: self.high.from(group * (layout.high_words() * BLOCK)),
            ..self
        };
        [0, 2].map(|eight| {
            let (upper, lower) = (here.eight(eight), here.eight(eight + 1));
            [0, 1].map(|half| [upper[half], lower[half]])
        })
    }

    /// Row `g + 8 eight`: a word of each half of the group.
    fn eight(self, eight: u32) -> [Word<'k>; 2] {
        let layout = self.layout;
        let word = |at: u32| self.codes.at(at + 8 * eight * layout.piece_words());
        let low = match layout.codes {
            Codes::Byte => [word(0), word(4 * BLOCK)],
            Codes::Nibble => {
                let both = word(0);
                [both, both >> 4].map(|word| word & 0x0f0f_0f0f)
            }
            // The low half of a word has four codes, the high half the next four.
            Codes::NibbleInOrder => [word(0), word(2)].map(|word| word >> ((self.quad & 1) << 4)),
            Codes::Pair => {
                let words = self.codes.words::<2, _>(16 * eight);
                words.map(|word| (word >> (self.quad << 1)) & 0x0303_0303)
            }
            Codes::Float(_) => unreachable!("unquantised weights have no codes"),
        };
        let above = layout.low_bits();
        let high: [Word<'k>; 2] = match layout.high {
            High::None => return self.unsigned(low),
            High::One => {
                let bits = self.high.at(8 * eight) >> self.quad;
                [0, 4].map(|from| moved_bits(bits, from, above, 0x0101_0101))
            }
            High::Two => {
                let words = self.high.words::<2, _>(16 * eight);
                words.map(|bits| moved_bits(bits >> (self.quad << 1), 0, above, 0x0303_0303))
            }
        };
        self.unsigned([low[0] | high[0], low[1] | high[1]])
    }

    fn unsigned(self, codes: [Word<'k>; 2]) -> [Word<'k>; 2] {
        match self.layout.value {
            Value::Linear { .. } => codes,
            Value::Signed => codes.map(|word| word ^ u32::from_le_bytes([BIAS; 4])),
            Value::Table(table) => {
                let table = table.map(|value| (value.cast_unsigned() ^ BIAS).cast_signed());
                codes.map(|word| look_up(&table, word))
            }
        }
    }
}
