//! Cases: ragged rows, rows of zeros, numbers near the ends of the range, NaN and infinity.

use super::{Columns, QuantizeQ8, QuantizeQ8Args, ToF16, ToF16Args};
use super::{
    EIGHT, QuantizeTiles, QuantizeTilesArgs, quantize_q8_reference, quantize_tiles_reference,
    tile_words, to_f16_reference,
};
use crate::{
    case::{AnyCase, Case, Expected, Random},
    team::Rows,
};

/// Every specialisation on [`rows`].
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    for columns in [1, 4, 31, 32, 33, 257, 576, 1536] {
        for access in [Columns::Quads, Columns::Any] {
            if access == Columns::Quads && Columns::of(columns) == Columns::Any {
                continue;
            }
            let rows = rng.range(1, 6);
            let x = test_rows(rng, rows, columns);
            cases.push(Box::new(q8_case(access, &x, rows, columns)));
            let (eights, rows_of_tiles) = (rng.range(1, 4), rng.range(1, 40));
            let tiled = test_rows(rng, rows_of_tiles, columns);
            cases.push(Box::new(tiles_case(access, eights, &tiled, columns)));
            for team in [Rows::PerWarp, Rows::PerCta] {
                cases.push(Box::new(f16_case(access, team, &x, rows, columns)));
            }
        }
    }
    cases
}

/// Rows of different magnitudes; some values replaced by what is hard.
fn test_rows(rng: &mut Random, rows: u32, columns: u32) -> Vec<f32> {
    let hard = [
        0.0,
        7e4,
        1e-38,
        1e38,
        f32::NAN,
        f32::INFINITY,
        f32::MIN_POSITIVE / 4.0,
    ];
    let mut x = Vec::new();
    for row in 0..rows {
        let scale = rng.pick(&[1.0, 1e-6, 3e5, 1e-36, 0.0]);
        let mut values = rng.numbers(columns as usize, scale);
        // The first row is an ordinary one.
        if row > 0 {
            let at = rng.range(0, columns - 1) as usize;
            values[at] = rng.pick(&hard);
        } else {
            values = rng.numbers(columns as usize, 2.0);
        }
        x.extend(values);
    }
    x
}

fn q8_case(access: Columns, x: &[f32], rows: u32, columns: u32) -> Case<QuantizeQ8> {
    let want = quantize_q8_reference(x, columns as usize);
    let numbers = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect();
    Case {
        label: format!("{rows}x{columns}"),
        kernel: QuantizeQ8 { columns: access },
        args: QuantizeQ8Args {
            x: x.to_vec().into(),
            words: Expected::exact(want.words().into_iter().map(f64::from).collect()),
            scales: Expected::exact(numbers(&want.scales)),
            rows,
            columns,
            row_words: want.groups as u32 * 8,
            row_scales: want.groups as u32 * 4,
        },
    }
}

fn tiles_case(access: Columns, eights: u32, x: &[f32], columns: u32) -> Case<QuantizeTiles> {
    let rows = x.len() as u32 / columns;
    let want = quantize_tiles_reference(x, columns as usize, eights);
    Case {
        label: format!("{rows}x{columns}"),
        kernel: QuantizeTiles {
            columns: access,
            eights,
        },
        args: QuantizeTilesArgs {
            x: x.to_vec().into(),
            fragments: Expected::exact(want.into_iter().map(f64::from).collect()),
            rows,
            columns,
            tiles: rows.div_ceil(EIGHT * eights),
            tile_words: tile_words(eights, columns),
        },
    }
}

fn f16_case(access: Columns, team: Rows, x: &[f32], rows: u32, columns: u32) -> Case<ToF16> {
    let (y, row_scale) = to_f16_reference(x, columns as usize);
    Case {
        label: format!("{rows}x{columns}"),
        kernel: ToF16 {
            columns: access,
            rows: team,
        },
        args: ToF16Args {
            x: x.to_vec().into(),
            y: Expected::exact(y.iter().map(|y| y.to_f64()).collect()),
            row_scale: Expected::exact(row_scale.into_iter().map(f64::from).collect()),
            rows,
            columns,
            padded: columns.next_multiple_of(32),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::EPS_F16;

    #[test]
    fn bad_numbers_never_become_good_ones() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = vec![1.0; 32];
            x[5] = bad;
            let rows = quantize_q8_reference(&x, 32);
            assert!(!rows.scales[0].is_finite());
            assert!((rows.scales[0] * f32::from(rows.q[0])).is_nan());
            assert!(!to_f16_reference(&x, 32).0[5].is_finite());
        }
    }

    #[test]
    fn large_activations_fit_into_f16() {
        let (y, scale) = to_f16_reference(&[7e4, -1.0, 3.5], 3);
        let back = f64::from(scale[0]) * y[0].to_f64();
        assert!((back - 7e4).abs() <= 7e4 * EPS_F16, "{back}");
        assert!(y.iter().all(|y| y.to_f32().abs() <= 16384.0));
        assert_eq!(y.len(), 32);
    }
}
