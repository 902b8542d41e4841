//! The arithmetic of a product, a column of D at a time.

use super::numbers::Element;
use crate::exec::{half::F16, mma::tile::NAN};

/// A matrix: its numbers by k, then by row.
pub(super) struct Matrix {
    rows: usize,
    numbers: Vec<f32>,
}

impl Matrix {
    pub(super) fn new(element: Element, rows: u32) -> Matrix {
        let rows = rows as usize;
        Matrix {
            rows,
            numbers: vec![0.0; 2 * element.each() * rows],
        }
    }

    fn step(&self, k: usize) -> &[f32] {
        &self.numbers[k * self.rows..][..self.rows]
    }

    /// The numbers of 16 bytes of a row's k, from step `first` on.
    pub(super) fn set(&mut self, element: Element, row: usize, first: usize, bytes: [u8; 16]) {
        let mut at = first * self.rows + row;
        element.numbers(bytes, |number| {
            self.numbers[at] = number;
            at += self.rows;
        });
    }

    /// The numbers of 16 bytes of rows that lie together, from row `first` on, at one step.
    pub(super) fn set_rows(&mut self, element: Element, first: usize, k: usize, bytes: [u8; 16]) {
        let end = (k + 1) * self.rows;
        let mut at = k * self.rows + first;
        element.numbers(bytes, |number| {
            if at < end {
                self.numbers[at] = number;
            }
            at += 1;
        });
    }

    pub(super) fn negate(&mut self) {
        self.numbers
            .iter_mut()
            .for_each(|number| *number = -*number);
    }

    /// Whether all products of two numbers of these are exact in f32, which none is that is very large or small.
    pub(super) fn is_exact(&self, other: &Matrix) -> bool {
        let exponents = |matrix: &Matrix| {
            let all = matrix
                .numbers
                .iter()
                .map(|number| number.to_bits() << 1 >> 24);
            all.filter(|exponent| !matches!(exponent, 255))
                .filter(|exponent| *exponent != 0)
                .fold((254, 1), |(low, high): (u32, u32), one| {
                    (low.min(one), high.max(one))
                })
        };
        let ((low, high), (lower, higher)) = (exponents(self), exponents(other));
        let is_tiny = |matrix: &Matrix| {
            let mut all = matrix.numbers.iter();
            all.any(|number| number.is_subnormal())
        };
        high + higher < 127 + 254 && low + lower > 127 + 24 && !is_tiny(self) && !is_tiny(other)
    }
}

/// The scales of a product.
pub(super) struct Scales {
    /// By row and block.
    pub(super) a: Vec<f64>,
    /// By quarter of the lanes, column and block.
    pub(super) b: [Vec<f64>; 4],
    pub(super) blocks: usize,
}

/// One column of D: floats without scales.
pub(super) fn plain(
    column: &mut [u32],
    (a, b): (&Matrix, &Matrix),
    n: usize,
    (half, exact, by): (bool, bool, f32),
) {
    let mut sums: Vec<f32> = column
        .iter()
        .map(|bits| match half {
            true => F16(*bits as u16).to_f32() * by,
            false => f32::from_bits(*bits) * by,
        })
        .collect();
    for (k, b) in b.numbers.iter().skip(n).step_by(b.rows).enumerate() {
        let steps = sums.iter_mut().zip(a.step(k));
        if exact {
            steps.for_each(|(sum, a)| *sum += a * b);
        } else {
            steps.for_each(|(sum, a)| *sum = a.mul_add(*b, *sum));
        }
    }
    for (to, sum) in column.iter_mut().zip(sums) {
        *to = match half {
            true if sum.is_nan() => 0x7FFF,
            true => F16::from_f32(sum).0.into(),
            false if sum.is_nan() => NAN,
            false => sum.to_bits(),
        };
    }
}

/// One column of D: integers.
pub(super) fn whole(column: &mut [u32], (a, b): (&Matrix, &Matrix), n: usize, saturates: bool) {
    for (row, to) in column.iter_mut().enumerate() {
        let pairs = a.numbers.iter().skip(row).step_by(a.rows);
        let pairs = pairs.zip(b.numbers.iter().skip(n).step_by(b.rows));
        // Of 32 products of bytes the sum is far below 2^24.
        let sum: i64 = pairs.map(|(a, b)| (a * b) as i64).sum();
        let sum = sum + i64::from(*to as i32);
        *to = if saturates {
            sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32
        } else {
            sum as u32
        };
    }
}

/// One column of D: floats with scales.
pub(super) fn scaled(column: &mut [u32], (a, b): (&Matrix, &Matrix), n: usize, scales: &Scales) {
    let blocks = scales.blocks;
    let each = a.numbers.len() / a.rows / blocks;
    for (row, to) in column.iter_mut().enumerate() {
        let pairs = a.numbers.iter().skip(row).step_by(a.rows);
        let pairs = pairs.zip(b.numbers.iter().skip(n).step_by(b.rows));
        let mut sum = f32::from_bits(*to);
        for (k, (a, b)) in pairs.enumerate() {
            let block = k / each;
            let by = scales.a[row * blocks + block] * scales.b[row / 32][n * blocks + block];
            // Both factors have a few bits: their product is exact.
            sum = (f64::from(sum) + f64::from(a * b) * by) as f32;
        }
        *to = if sum.is_nan() { NAN } else { sum.to_bits() };
    }
}
