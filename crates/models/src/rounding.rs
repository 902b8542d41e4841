//! Matrices that are rounded to blocks while they are loaded: a model takes less memory, and its products less time.

use crate::Error;
use rayon::prelude::*;
use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};
use warpsmith_formats::quant::{WeightType, check_finite, dequantize, quantize};

/// What F32, F16 and BF16 matrices of products become.
///
/// Norms, biases, convolutions and embeddings that are only looked up stay what they are, and so do matrices that are
/// quantised already or whose rows are not whole blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounding(WeightType);

impl Rounding {
    /// The types that weights can be rounded to.
    pub const TYPES: [WeightType; 5] = [
        WeightType::Q8_0,
        WeightType::Q5_1,
        WeightType::Q5_0,
        WeightType::Q4_1,
        WeightType::Q4_0,
    ];

    /// To `ty`.
    ///
    /// # Errors
    /// [`Error::Rounding`] for types that are not among [`Rounding::TYPES`].
    pub fn to(ty: WeightType) -> Result<Rounding, Error> {
        if Self::TYPES.contains(&ty) {
            return Ok(Rounding(ty));
        }
        let got = ty.name().to_lowercase();
        Err(Error::Rounding { got })
    }

    /// The type that weights are rounded to.
    pub fn ty(self) -> WeightType {
        self.0
    }

    /// What a matrix of a product becomes that is of type `ty` and has `columns` columns.
    pub fn of(self, ty: WeightType, columns: u64) -> WeightType {
        let whole = columns.is_multiple_of(self.0.block_len() as u64);
        match ty {
            WeightType::F32 | WeightType::F16 | WeightType::BF16 if whole => self.0,
            _ => ty,
        }
    }
}

impl FromStr for Rounding {
    type Err = Error;

    fn from_str(name: &str) -> Result<Rounding, Error> {
        let ty = Self::TYPES
            .into_iter()
            .find(|ty| ty.name().eq_ignore_ascii_case(name));
        ty.map(Rounding).ok_or_else(|| Error::Rounding {
            got: name.to_owned(),
        })
    }
}

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a model is, and what its matrices become. A path alone is a model as it is.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// The file or folder.
    pub path: &'a Path,
    /// What matrices become.
    pub rounding: Option<Rounding>,
}

impl<'a> From<&'a Path> for Files<'a> {
    fn from(path: &'a Path) -> Files<'a> {
        let rounding = None;
        Files { path, rounding }
    }
}

impl<'a> From<&'a PathBuf> for Files<'a> {
    fn from(path: &'a PathBuf) -> Files<'a> {
        Files::from(path.as_path())
    }
}

/// What became of the matrices of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// What they became.
    pub rounding: Rounding,
    /// How many were rounded.
    pub matrices: u32,
    /// How many stayed what they are, by their types.
    pub left: BTreeMap<WeightType, u32>,
}

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rounded {
            rounding,
            matrices,
            left,
        } = self;
        let plural = if *matrices == 1 { "matrix" } else { "matrices" };
        write!(f, "{matrices} {plural} rounded to {rounding}")?;
        for (ty, count) in left {
            write!(f, ", {count} of {ty} left as they are")?;
        }
        Ok(())
    }
}

/// Values that one thread rounds at a time.
const PIECE: usize = 1 << 14;

/// Rounds one matrix after the other.
pub(crate) struct Rounder {
    rounded: Option<Rounded>,
    /// The blocks of one matrix.
    blocks: Vec<u8>,
}

impl Rounder {
    pub(crate) fn new(rounding: Option<Rounding>) -> Rounder {
        let rounded = rounding.map(|rounding| Rounded {
            rounding,
            matrices: 0,
            left: BTreeMap::new(),
        });
        let blocks = Vec::new();
        Rounder { rounded, blocks }
    }

    /// What became of all matrices.
    pub(crate) fn rounded(self) -> Option<Rounded> {
        self.rounded
    }

    /// The type and bytes that matrix `name` of `columns` columns is loaded with.
    ///
    /// # Errors
    /// Weights too large for the scales of the blocks, by tensor and index.
    pub(crate) fn apply<'b>(
        &'b mut self,
        name: &str,
        ty: WeightType,
        bytes: &'b [u8],
        columns: u32,
    ) -> Result<(WeightType, &'b [u8]), Error> {
        let Some(rounded) = &mut self.rounded else {
            return Ok((ty, bytes));
        };
        let to = rounded.rounding.of(ty, columns.into());
        if to == ty {
            *rounded.left.entry(ty).or_default() += 1;
            return Ok((ty, bytes));
        }
        let pieces = bytes.par_chunks(PIECE * ty.block_bytes());
        let pieces: Vec<Vec<u8>> = pieces
            .map(|bytes| {
                let mut values = vec![0.0; bytes.len() / ty.block_bytes()];
                dequantize(ty, bytes, &mut values)?;
                quantize(to, &values)
            })
            .collect::<Result<_, _>>()?;
        self.blocks.clear();
        pieces
            .iter()
            .for_each(|piece| self.blocks.extend_from_slice(piece));
        check_finite(name, to, &self.blocks).map_err(|error| match error {
            warpsmith_formats::Error::NonFinite { index, .. } => Error::RoundingRange {
                name: name.to_owned(),
                index,
                ty: to,
            },
            other => other.into(),
        })?;
        rounded.matrices += 1;
        Ok((to, &self.blocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_are_read_and_others_refused_with_the_list() {
        for ty in Rounding::TYPES {
            let lower: Rounding = ty.name().to_lowercase().parse().expect("a type");
            assert_eq!(lower, Rounding::to(ty).expect("a type"));
        }
        let said = |name: &str| {
            let refused: Result<Rounding, Error> = name.parse();
            refused.expect_err("no type to round to").to_string()
        };
        assert_eq!(
            said("q6_k"),
            "weights cannot be rounded to `q6_k`, expected q8_0, q5_1, q5_0, q4_1 or q4_0"
        );
        assert_eq!(
            Rounding::to(WeightType::F16)
                .expect_err("not rounded")
                .to_string(),
            said("f16")
        );
    }

    #[test]
    fn matrices_become_the_blocks_of_their_values() {
        let values: Vec<f32> = (0..3 * PIECE + 64)
            .map(|i| (i as f32 * 0.37).sin())
            .collect();
        for from in [WeightType::F32, WeightType::F16, WeightType::BF16] {
            let bytes = quantize(from, &values).expect("whole");
            let mut exact = vec![0.0; values.len()];
            dequantize(from, &bytes, &mut exact).expect("whole");
            for to in Rounding::TYPES {
                let mut rounder = Rounder::new(Some(Rounding(to)));
                let (ty, blocks) = rounder.apply("w", from, &bytes, 64).expect("finite");
                assert_eq!(ty, to);
                assert_eq!(blocks, quantize(to, &exact).expect("whole blocks"));
                assert_eq!(rounder.rounded().expect("asked for").matrices, 1);
            }
        }
    }

    #[test]
    fn what_cannot_or_need_not_be_rounded_stays_and_is_counted() {
        let rounding = Rounding(WeightType::Q4_0);
        let mut rounder = Rounder::new(Some(rounding));
        let quantised = quantize(WeightType::Q8_0, &[1.0; 32]).expect("whole blocks");
        let kept = rounder.apply("a", WeightType::Q8_0, &quantised, 32);
        assert_eq!(kept.expect("kept"), (WeightType::Q8_0, &quantised[..]));
        let odd = quantize(WeightType::F16, &[1.0; 33]).expect("whole");
        let kept = rounder.apply("b", WeightType::F16, &odd, 33);
        assert_eq!(kept.expect("kept"), (WeightType::F16, &odd[..]));
        let rounded = rounder.rounded().expect("asked for");
        assert_eq!(
            rounded.to_string(),
            "0 matrices rounded to Q4_0, 1 of F16 left as they are, 1 of Q8_0 left as they are"
        );
        let mut as_it_is = Rounder::new(None);
        let same = as_it_is
            .apply("a", WeightType::F16, &odd, 32)
            .expect("kept");
        assert_eq!(same, (WeightType::F16, &odd[..]));
        assert_eq!(as_it_is.rounded(), None);
    }

    #[test]
    fn scales_that_overflow_are_an_error_with_the_tensor() {
        let mut rounder = Rounder::new(Some(Rounding(WeightType::Q8_0)));
        let mut values = [1.0f32; 64];
        values[40] = 3e38;
        let bytes = quantize(WeightType::F32, &values).expect("whole");
        let error = rounder.apply("blk.0.w", WeightType::F32, &bytes, 64);
        assert_eq!(
            error.expect_err("no f16 is so large").to_string(),
            "tensor `blk.0.w`, element 32: too large for the half-precision scales of Q8_0"
        );
    }
}
