//! Reading single weights back out of the planes on the host: the layout's meaning once more, without speed.

use super::{
    layout::{BLOCK, Codes, FloatType, GROUP, High, Layout, Scale, Value},
    pack::Packed,
};
use half::{bf16, f16};

impl Packed {
    /// Element `item` of what row `row` has in a plane for `entry`, where each row has `items` in pieces of `piece`.
    fn place(&self, row: u32, entry: u32, entries: u32, items: u32, item: u32) -> usize {
        let piece = items.min(4);
        let within = ((entry * (items / piece) + item / piece) * BLOCK + row % BLOCK) * piece;
        (row / BLOCK) as usize * (entries * items * BLOCK) as usize
            + (within + item % piece) as usize
    }

    fn groups(&self) -> u32 {
        self.padded / GROUP
    }

    /// The code of a quantised weight: unsigned where the layout is linear, else what it stands for.
    pub fn code(&self, row: u32, column: u32) -> i32 {
        let layout = Layout::of(self.ty);
        let (group, at) = (column / GROUP, column % GROUP);
        let (half, byte, word) = (at / 16, at % 4, at / 4 % 4);
        let code =
            |item| self.codes[self.place(row, group, self.groups(), layout.code_words(), item)];
        let low = match layout.codes {
            Codes::Byte => code(at / 4) >> (8 * byte) & 0xff,
            Codes::Nibble => code(word) >> (8 * byte + 4 * half) & 15,
            Codes::NibbleInOrder => code(at / 8) >> (4 * (at % 8)) & 15,
            Codes::Pair => code(half) >> (8 * byte + 2 * word) & 3,
            Codes::Float(_) => 0,
        };
        let above =
            |item| self.high[self.place(row, group, self.groups(), layout.high_words(), item)];
        let high = match layout.high {
            High::None => 0,
            High::One => above(0) >> (8 * byte + at / 4) & 1,
            High::Two => above(half) >> (8 * byte + 2 * word) & 3,
        };
        let code = low | high << layout.low_bits();
        match layout.value {
            Value::Linear { .. } => code as i32,
            Value::Signed => i32::from(code as u8 as i8),
            Value::Table(table) => table[code as usize].into(),
        }
    }

    /// `d` and `m` of a weight: it is `d (code - zero) + m`.
    pub fn scale(&self, row: u32, column: u32) -> [f32; 2] {
        let layout = Layout::of(self.ty);
        let (group, half) = (column / GROUP, column / 16 % 2);
        let shared = layout.groups_per_scale();
        let entries = self.groups().div_ceil(shared);
        let bits = |item| {
            self.scales[self.place(row, group / shared, entries, layout.scale_halves(), item)]
        };
        let half_float = |item| f16::from_bits(bits(item)).to_f32();
        let sub = |item| self.sub[self.place(row, group, self.groups(), layout.sub_bytes(), item)];
        let (unsigned, signed) = (
            |item| f32::from(sub(item)),
            |item| f32::from(sub(item) as i8),
        );
        match layout.scale {
            Scale::None => [1.0, 0.0],
            Scale::Half => [half_float(0), 0.0],
            Scale::Brain => [bf16::from_bits(bits(0)).to_f32(), 0.0],
            Scale::HalfMin => [half_float(0), half_float(1)],
            Scale::SuperMin => [half_float(0) * unsigned(0), -half_float(1) * unsigned(1)],
            Scale::SuperMin16 => [
                half_float(0) * unsigned(half),
                -half_float(1) * unsigned(2 + half),
            ],
            Scale::Super16 => [half_float(0) * signed(half), 0.0],
            Scale::Super32 => [half_float(0) * signed(0), 0.0],
        }
    }

    /// A weight.
    pub fn value(&self, row: u32, column: u32) -> f32 {
        let layout = Layout::of(self.ty);
        if let Codes::Float(ty) = layout.codes {
            let (group, at) = (column / GROUP, column % GROUP);
            let word =
                |item| self.codes[self.place(row, group, self.groups(), layout.code_words(), item)];
            let bits = (word(at / 2) >> (16 * (at % 2))) as u16;
            return match ty {
                FloatType::F32 => f32::from_bits(word(at)),
                FloatType::F16 => f16::from_bits(bits).to_f32(),
                FloatType::BF16 => bf16::from_bits(bits).to_f32(),
            };
        }
        let [d, m] = self.scale(row, column);
        let q = self.code(row, column) - i32::from(layout.zero());
        (q as f32).mul_add(d, m)
    }

    /// What bounds the rounding of a weight that is put together in f32: `|d code| + |d zero| + |m|`.
    pub fn magnitude(&self, row: u32, column: u32) -> f64 {
        let [d, m] = self.scale(row, column).map(|x| f64::from(x).abs());
        let codes = self.code(row, column).abs() + i32::from(Layout::of(self.ty).zero());
        d * f64::from(codes) + m
    }
}

#[cfg(test)]
mod tests {
    use crate::{case::Random, gemm::matrix::Matrix};
    use warpsmith_formats::quant::WeightType;

    #[test]
    fn the_planes_hold_what_the_file_says() {
        let mut rng = Random::new(1);
        for ty in WeightType::ALL {
            let (rows, columns) = (37, if ty.block_len() == 1 { 45 } else { 512 });
            let w = Matrix::random(&mut rng, ty, rows, columns);
            for row in 0..rows {
                for column in 0..columns {
                    let want = w.row(row as usize)[column as usize];
                    let got = w.packed.value(row, column);
                    assert!(
                        got == want,
                        "{ty} ({row}, {column}): {got}, expected {want}"
                    );
                }
            }
        }
    }
}
