//! Random weight matrices for cases, with what they stand for, and the f64 reference of products with them.

use crate::{
    case::OnHost,
    case::{Data, EPS_F32, Expected, Random},
    epilogue::{Activation, Epilogue, Operand, Outputs},
    weights::{Layout, Packed, Planes, pack},
};
use warpsmith_formats::quant::{WeightType, dequantize, random_blocks};

/// A matrix in its device layout and as f32.
pub(crate) struct Matrix {
    pub(crate) layout: Layout,
    pub(crate) packed: Packed,
    /// `[rows, columns]`.
    pub(crate) values: Vec<f32>,
}

impl Matrix {
    /// Random weights; `columns` is whole blocks of the type.
    pub(crate) fn random(rng: &mut Random, ty: WeightType, rows: u32, columns: u32) -> Matrix {
        let elements = rows as usize * columns as usize;
        let bytes = random_blocks(ty, rng.bits(), elements / ty.block_len());
        let mut values = vec![0.0; elements];
        dequantize(ty, &bytes, &mut values).expect("whole blocks");
        Matrix {
            layout: Layout::of(ty),
            packed: pack(ty, &bytes, rows, columns).expect("whole blocks"),
            values,
        }
    }

    /// As an argument.
    pub(crate) fn planes(&self) -> Planes<OnHost> {
        let Packed {
            codes,
            high,
            sub,
            scales,
            rows,
            columns,
            ..
        } = &self.packed;
        Planes::of(self.layout, *rows, *columns).with(
            codes.clone().into(),
            present(high),
            present(sub),
            present(scales),
        )
    }

    /// Row `row`.
    pub(crate) fn row(&self, row: usize) -> &[f32] {
        let columns = self.packed.columns as usize;
        &self.values[row * columns..][..columns]
    }
}

fn present<T: Clone>(plane: &[T]) -> Option<Data<T>>
where
    Data<T>: From<Vec<T>>,
{
    (!plane.is_empty()).then(|| plane.to_vec().into())
}

/// A number and how far a kernel may be from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

/// `sum a b` and, as its error, `rounding * sum |a b|`.
pub(crate) fn dot(pairs: impl Iterator<Item = (f64, f64)>, rounding: f64) -> Near {
    let (mut value, mut magnitude) = (0.0, 0.0);
    for (a, b) in pairs {
        value += a * b;
        magnitude += (a * b).abs();
    }
    Near {
        value,
        error: rounding * magnitude,
    }
}

/// Operands of an epilogue, `[n]` and `[m, n]`.
pub(crate) struct Operands {
    pub(crate) bias: Vec<f32>,
    pub(crate) residual: Vec<f32>,
}

impl Operands {
    pub(crate) fn random(rng: &mut Random, m: u32, n: u32) -> Operands {
        Operands {
            bias: rng.numbers(n as usize, 2.0),
            residual: rng.numbers(m as usize * n as usize, 2.0),
        }
    }

    /// The epilogue of all products, row-major, with the errors carried through: what a kernel reads and must write.
    pub(crate) fn outputs(&self, epilogue: Epilogue, products: &[Near]) -> Outputs<OnHost> {
        let n = self.bias.len().max(1);
        let finish = |(at, x): (usize, &Near)| {
            let bias = f64::from(self.bias[at % n]);
            let residual = f64::from(self.residual[at]);
            let value = epilogue.reference(x.value, Some(bias), Some(residual));
            (value, error(epilogue, *x, bias, residual))
        };
        let (want, tolerance) = products.iter().enumerate().map(finish).unzip();
        let operand =
            |of: Operand, data: &[f32]| (of == Operand::Present).then(|| data.to_vec().into());
        Outputs {
            bias: operand(epilogue.bias, &self.bias),
            residual: operand(epilogue.residual, &self.residual),
            y: Expected::within(want, tolerance),
            m: (products.len() / n) as u32,
            n: self.bias.len() as u32,
        }
    }
}

/// The error behind an epilogue: each f32 step rounds once; SiLU has a slope of at most 1.1, GELU of 1.13.
fn error(epilogue: Epilogue, x: Near, bias: f64, residual: f64) -> f64 {
    let (mut value, mut error) = (x.value, x.error);
    if epilogue.bias == Operand::Present {
        value += bias;
        error += EPS_F32 * (value.abs() + error);
    }
    let most = value.abs() + error;
    error = match epilogue.activation {
        Activation::None => error,
        // ex2.approx is within 2^-22, and e^-x multiplies the rounding of x log2 e by x.
        Activation::Silu => 1.1 * error + most * EPS_F32 * (8.0 + 2.0 * most.min(100.0)),
        // The approximation of erf is within 3e-7; its sixteenth power has some 64 roundings in it.
        Activation::Gelu => 1.13 * error + most * (3e-7 + 64.0 * EPS_F32),
    };
    if epilogue.residual == Operand::Present {
        error += EPS_F32 * (most + residual.abs());
    }
    error + f64::from(f32::MIN_POSITIVE)
}

/// Every epilogue once.
pub(crate) fn epilogues() -> Vec<Epilogue> {
    let mut all = Vec::new();
    for bias in [Operand::Absent, Operand::Present] {
        for activation in [Activation::None, Activation::Silu, Activation::Gelu] {
            for residual in [Operand::Absent, Operand::Present] {
                all.push(Epilogue {
                    bias,
                    activation,
                    residual,
                });
            }
        }
    }
    all
}
