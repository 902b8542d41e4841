//! Layouts: how the weights of each type lie on the device, as data.
//!
//! A row is cut into groups of 32 weights, and 32 rows make a block. The parts of a group lie in separate planes:
//! - `codes`: the low bits of each weight, 8, 4 or 2 bits wide (32, 16 or 8 bytes a group);
//! - `high`: one or two further bits of each (4 or 8 bytes);
//! - `sub`: scales of a group, or of its two halves of 16, that refer to a super-block's;
//! - `scales`: 16-bit floats of a group or of a super-block of 256.
//!
//! In a plane, what the 32 rows of a block have for one group lies side by side, in pieces of at most 16 bytes: piece p
//! of row r is at `(group * pieces + p) * 32 + r`. So lane r of a warp reads row r, every access of a warp is one
//! contiguous run, and the activations are the same for all lanes.
//!
//! Then a weight is `d * q + m`, with `q` an integer and `d`, `m` of its half of the group.

use warpsmith_formats::quant::{IQ4_NL_VALUES, MXFP4_VALUES, WeightType};
use warpsmith_ptx::types::Type;

/// Weights of a group.
pub const GROUP: u32 = 32;
/// Rows of a block: one for each lane of a warp.
pub const BLOCK: u32 = 32;

/// The width of a code in the `codes` plane, and the order of codes in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codes {
    /// A byte each, in order.
    Byte,
    /// Byte j of 16 holds weight j in its low and weight j + 16 in its high nibble.
    Nibble,
    /// Nibble j of 32 holds weight j: the order that table look-ups want.
    NibbleInOrder,
    /// Word h of 2: bits `8 b + 2 w` on hold weight `16 h + 4 w + b`.
    Pair,
    /// An f16, bf16 or f32 each, in order: no codes at all.
    Float(FloatType),
}

/// The type of unquantised weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatType {
    /// IEEE half.
    F16,
    /// bfloat16.
    BF16,
    /// IEEE single.
    F32,
}

/// Further bits of each code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum High {
    /// None.
    None,
    /// Bit `8 b + w` of a word is the high bit of weight `4 w + b`.
    One,
    /// As [`Codes::Pair`].
    Two,
}

/// What a code stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// `q = code - zero`.
    Linear {
        /// The code of zero.
        zero: u8,
    },
    /// A signed byte as it is.
    Signed,
    /// `q = table[code]`.
    Table([i8; 16]),
}

/// How `d` and `m` are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scale {
    /// Nothing to scale (unquantised).
    None,
    /// `d`: an f16 for each group.
    Half,
    /// `d`: a bf16 for each group.
    Brain,
    /// `d` and `m`: two f16 for each group.
    HalfMin,
    /// f16 `D`, `M` for 256 weights; bytes `s`, `t` for each group: `d = D s`, `m = -M t`.
    SuperMin,
    /// f16 `D`, `M` for 256; bytes `s0 s1 t0 t1` for each group: the same for halves of 16.
    SuperMin16,
    /// f16 `D` for 256; signed bytes `s0 s1` for each group: `d = D s` for halves of 16.
    Super16,
    /// f16 `D` for 256; signed byte `s` for each group: `d = D s`.
    Super32,
}

/// The device layout of a weight type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Low bits.
    pub codes: Codes,
    /// High bits.
    pub high: High,
    /// Meaning of a code.
    pub value: Value,
    /// Scales.
    pub scale: Scale,
}

impl Layout {
    /// The layout of a weight type.
    pub fn of(ty: WeightType) -> Layout {
        let linear = |zero| Value::Linear { zero };
        let layout = |codes, high, value, scale| Layout {
            codes,
            high,
            value,
            scale,
        };
        match ty {
            WeightType::F32 => layout(
                Codes::Float(FloatType::F32),
                High::None,
                Value::Signed,
                Scale::None,
            ),
            WeightType::F16 => layout(
                Codes::Float(FloatType::F16),
                High::None,
                Value::Signed,
                Scale::None,
            ),
            WeightType::BF16 => layout(
                Codes::Float(FloatType::BF16),
                High::None,
                Value::Signed,
                Scale::None,
            ),
            WeightType::Q4_0 => layout(Codes::Nibble, High::None, linear(8), Scale::Half),
            WeightType::Q4_1 => layout(Codes::Nibble, High::None, linear(0), Scale::HalfMin),
            WeightType::Q5_0 => layout(Codes::Nibble, High::One, linear(16), Scale::Half),
            WeightType::Q5_1 => layout(Codes::Nibble, High::One, linear(0), Scale::HalfMin),
            WeightType::Q8_0 => layout(Codes::Byte, High::None, Value::Signed, Scale::Half),
            WeightType::Q2K => layout(Codes::Pair, High::None, linear(0), Scale::SuperMin16),
            WeightType::Q3K => layout(Codes::Pair, High::One, linear(4), Scale::Super16),
            WeightType::Q4K => layout(Codes::Nibble, High::None, linear(0), Scale::SuperMin),
            WeightType::Q5K => layout(Codes::Nibble, High::One, linear(0), Scale::SuperMin),
            WeightType::Q6K => layout(Codes::Nibble, High::Two, linear(32), Scale::Super16),
            WeightType::IQ4NL => layout(
                Codes::NibbleInOrder,
                High::None,
                Value::Table(IQ4_NL_VALUES),
                Scale::Half,
            ),
            WeightType::IQ4XS => layout(
                Codes::NibbleInOrder,
                High::None,
                Value::Table(IQ4_NL_VALUES),
                Scale::Super32,
            ),
            WeightType::MXFP4 => layout(
                Codes::NibbleInOrder,
                High::None,
                Value::Table(MXFP4_VALUES),
                Scale::Brain,
            ),
        }
    }

    /// Words of 32 bits of a group in the `codes` plane.
    pub fn code_words(self) -> u32 {
        match self.codes {
            Codes::Byte => 8,
            Codes::Nibble | Codes::NibbleInOrder => 4,
            Codes::Pair => 2,
            Codes::Float(FloatType::F16 | FloatType::BF16) => 16,
            Codes::Float(FloatType::F32) => 32,
        }
    }

    /// Bits of a code in the `codes` plane.
    pub fn low_bits(self) -> u32 {
        match self.codes {
            Codes::Byte => 8,
            Codes::Nibble | Codes::NibbleInOrder => 4,
            Codes::Pair => 2,
            Codes::Float(_) => 0,
        }
    }

    /// Words of a group in the `high` plane.
    pub fn high_words(self) -> u32 {
        match self.high {
            High::None => 0,
            High::One => 1,
            High::Two => 2,
        }
    }

    /// Bytes of a group in the `sub` plane.
    pub fn sub_bytes(self) -> u32 {
        match self.scale {
            Scale::None | Scale::Half | Scale::Brain | Scale::HalfMin => 0,
            Scale::SuperMin | Scale::Super16 => 2,
            Scale::SuperMin16 => 4,
            Scale::Super32 => 1,
        }
    }

    /// Groups that share an entry of the `scales` plane.
    pub fn groups_per_scale(self) -> u32 {
        match self.scale {
            Scale::None | Scale::Half | Scale::Brain | Scale::HalfMin => 1,
            Scale::SuperMin | Scale::SuperMin16 | Scale::Super16 | Scale::Super32 => 8,
        }
    }

    /// 16-bit floats of an entry of the `scales` plane.
    pub fn scale_halves(self) -> u32 {
        match self.scale {
            Scale::None => 0,
            Scale::Half | Scale::Brain | Scale::Super16 | Scale::Super32 => 1,
            Scale::HalfMin | Scale::SuperMin | Scale::SuperMin16 => 2,
        }
    }

    /// The code of zero.
    pub fn zero(self) -> u8 {
        match self.value {
            Value::Linear { zero } => zero,
            Value::Signed | Value::Table(_) => 0,
        }
    }

    /// The type of a decoded code: `.u8` or `.s8`.
    pub fn code_type(self) -> Type {
        match self.value {
            Value::Linear { .. } => Type::U8,
            Value::Signed | Value::Table(_) => Type::S8,
        }
    }

    /// Whether both halves of a group have the same scale.
    pub fn scale_is_whole(self) -> bool {
        match self.scale {
            Scale::None | Scale::Half | Scale::Brain | Scale::HalfMin | Scale::SuperMin => true,
            Scale::Super32 => true,
            Scale::SuperMin16 | Scale::Super16 => false,
        }
    }

    /// Whether the weights are quantised.
    pub fn is_quantised(self) -> bool {
        match self.codes {
            Codes::Byte | Codes::Nibble | Codes::NibbleInOrder | Codes::Pair => true,
            Codes::Float(_) => false,
        }
    }

    /// Words of a piece of the `codes` plane: what one load takes.
    pub fn piece_words(self) -> u32 {
        self.code_words().min(4)
    }

    /// Pieces of 16 bytes of a group in the `codes` plane; 0 where it is less than one.
    pub fn pieces(self) -> u32 {
        self.code_words() / 4
    }

    /// The elements of each plane in a block of 32 rows of `columns` weights (padded to whole groups).
    pub fn block(self, columns: u32) -> Block {
        let groups = columns.div_ceil(GROUP);
        Block {
            codes: groups * self.code_words() * BLOCK,
            high: groups * self.high_words() * BLOCK,
            sub: groups * self.sub_bytes() * BLOCK,
            scales: groups.div_ceil(self.groups_per_scale()) * self.scale_halves() * BLOCK,
        }
    }
}

/// Elements of a block of 32 rows in each plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// Words.
    pub codes: u32,
    /// Words.
    pub high: u32,
    /// Bytes.
    pub sub: u32,
    /// Halves.
    pub scales: u32,
}

/// A short name of a layout for symbols: the weight type that it is the layout of.
pub fn layout_name(layout: Layout) -> String {
    let ty = WeightType::ALL.iter().find(|ty| Layout::of(**ty) == layout);
    ty.map_or_else(|| "custom".to_owned(), |ty| ty.name().to_lowercase())
}
