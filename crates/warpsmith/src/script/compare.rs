//! Whether an output is what was wanted, element by element.

use super::number::{Number, value};
use warpsmith_ptx::types::Type;

/// How elements compare.
#[derive(Clone, Debug, PartialEq)]
pub enum Mode {
    /// The same bits.
    Exact,
    /// The same value: a NaN is any NaN, and -0 is 0.
    Value,
    /// `|got - wanted| <= abs + rel * |wanted|`; the lists are used cyclically, an empty one is 0.
    Tolerance {
        /// Absolute parts.
        abs: Vec<f64>,
        /// Relative parts.
        rel: Vec<f64>,
    },
    /// Whatever it is.
    Ignored,
}

/// The first element that differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Which element.
    pub index: usize,
    /// What is there.
    pub got: Number,
    /// What was wanted.
    pub wanted: Number,
    /// How many elements differ.
    pub count: usize,
}

/// Compares two arrays of elements of a type.
pub(super) fn compare(ty: Type, mode: &Mode, got: &[u8], wanted: &[u8]) -> Option<Difference> {
    let size = ty.bytes().max(1) as usize;
    let mut first: Option<Difference> = None;
    for (index, (g, w)) in got.chunks(size).zip(wanted.chunks(size)).enumerate() {
        if g == w || same(ty, mode, index, g, w) {
            continue;
        }
        let found = first.get_or_insert_with(|| Difference {
            index,
            got: value(ty, g),
            wanted: value(ty, w),
            count: 0,
        });
        found.count += 1;
    }
    first
}

/// Whether elements with different bits pass.
fn same(ty: Type, mode: &Mode, index: usize, got: &[u8], wanted: &[u8]) -> bool {
    let (abs, rel) = match mode {
        Mode::Exact => return false,
        Mode::Ignored => return true,
        Mode::Value => (0.0, 0.0),
        Mode::Tolerance { abs, rel } => (cycle(abs, index), cycle(rel, index)),
    };
    match (value(ty, got), value(ty, wanted)) {
        (Number::Int(x), Number::Int(y)) => {
            (x - y).unsigned_abs() as f64 <= abs + rel * y.unsigned_abs() as f64
        }
        (Number::Float(x), Number::Float(y)) => {
            x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= abs + rel * y.abs()
        }
        (Number::Int(_), Number::Float(_)) | (Number::Float(_), Number::Int(_)) => false,
    }
}

fn cycle(list: &[f64], index: usize) -> f64 {
    match list.len() {
        0 => 0.0,
        len => list[index % len],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    #[test]
    fn each_mode_is_as_strict_as_it_says() {
        let wanted = floats(&[0.0, f32::NAN, 1.0, 100.0]);
        let got = floats(&[-0.0, -f32::NAN, 1.0, 100.5]);
        let tolerance = |abs: &[f64], rel: &[f64]| Mode::Tolerance {
            abs: abs.to_vec(),
            rel: rel.to_vec(),
        };
        let at = |mode: &Mode| compare(Type::F32, mode, &got, &wanted).map(|d| (d.index, d.count));
        assert_eq!(at(&Mode::Exact), Some((0, 3)));
        assert_eq!(at(&Mode::Value), Some((3, 1)));
        assert_eq!(at(&tolerance(&[0.5], &[])), None);
        assert_eq!(at(&tolerance(&[0.0, 0.5], &[])), None);
        assert_eq!(at(&tolerance(&[0.5, 0.0], &[])), Some((3, 1)));
        assert_eq!(at(&tolerance(&[], &[0.004])), Some((3, 1)));
        assert_eq!(at(&tolerance(&[], &[0.005])), None);
        assert_eq!(at(&Mode::Ignored), None);
    }

    #[test]
    fn an_infinite_difference_is_never_within_a_tolerance() {
        let mode = Mode::Tolerance {
            abs: vec![1e30],
            rel: vec![1.0],
        };
        let different = compare(Type::F32, &mode, &floats(&[f32::NAN]), &floats(&[1.0]));
        assert!(different.is_some());
    }
}
