//! Normalisation of rows: RMSNorm, RMSNorm of a sum, LayerNorm.

use crate::{
    case::{AnyCase, Case, Data, EPS_F32, Expected, Random, Updated},
    quad::Quad,
    team::{Rows, Team, each_row, spread},
    values::{F32, Word},
};
use warpsmith_kernel::{
    Cta, Global, InKernel, Kernel, LaunchError, Read, Scope, Val, Write, args, uni,
};

args! {
    /// `y = x / rms(x) * gain` for each row, `rms(x) = sqrt(mean(x^2) + eps)`.
    pub struct RmsNormArgs {
        x: In<f32>[rows, n], gain: In<f32>[n], y: Out<f32>[rows, n],
        rows: Scalar<u32>, n: Scalar<u32>, eps: Scalar<f32>,
    }
}

args! {
    /// `x += residual`, then `y = x / rms(x) * gain`.
    pub struct AddRmsNormArgs {
        x: InOut<f32>[rows, n], residual: In<f32>[rows, n], gain: In<f32>[n], y: Out<f32>[rows, n],
        rows: Scalar<u32>, n: Scalar<u32>, eps: Scalar<f32>,
    }
}

args! {
    /// `y = (x - mean) / sqrt(variance + eps) * gain + bias` for each row.
    pub struct LayerNormArgs {
        x: In<f32>[rows, n], gain: In<f32>[n], bias: In<f32>[n], y: Out<f32>[rows, n],
        rows: Scalar<u32>, n: Scalar<u32>, eps: Scalar<f32>,
    }
}

/// RMSNorm (Zhang and Sennrich, 2019). The heads of queries and keys are rows like others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RmsNorm {
    /// Who works on a row.
    pub rows: Rows,
}

/// The residual connection and the norm after it in one pass.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AddRmsNorm {
    /// Who works on a row.
    pub rows: Rows,
}

/// LayerNorm (Ba et al., 2016), the variance from the differences to the mean.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LayerNorm {
    /// Who works on a row.
    pub rows: Rows,
}

type In<'k> = Global<'k, f32, Read, uni::Lane>;
type Out<'k> = Global<'k, f32, Write, uni::Lane>;

/// `1 / sqrt(squares / n + eps)`.
fn inverse_root<'k>(
    squares: F32<'k>,
    n: Val<'k, u32, uni::Cta>,
    eps: Val<'k, f32, uni::Cta>,
) -> F32<'k> {
    (squares / n.f32() + eps).rsqrt()
}

impl Kernel for RmsNorm {
    type Args = RmsNormArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        format!("rms_norm{}", self.rows.suffix())
    }

    fn threads(&self) -> u32 {
        self.rows.threads()
    }

    fn grid(&self, a: &RmsNormArgs) -> Result<u64, LaunchError> {
        self.rows.grid(a.rows, a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: RmsNormArgs<InKernel<'k>>) {
        each_row!(self.rows, cta, a.rows, |team, row| rms_row(team, row, &a));
    }
}

fn rms_row<'k>(team: &mut impl Team<'k>, row: Word<'k>, a: &RmsNormArgs<InKernel<'k>>) {
    let (x, y): (In, Out) = (a.x.row(row), a.y.row(row));
    let aligned = x.aligned(16) & y.aligned(16) & a.gain.aligned(16);
    let zero = Val::constant(0.0);
    let squares = spread(team, a.n, aligned, zero, |_, at, sum| {
        Quad::read(x, at).squares(sum)
    });
    let scale = inverse_root(team.sum_of(squares), a.n, a.eps);
    spread(team, a.n, aligned, (), |_, at, ()| {
        (Quad::read(x, at) * scale * Quad::read(a.gain, at)).write(y, at.i);
    });
}

impl Kernel for AddRmsNorm {
    type Args = AddRmsNormArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        format!("add_rms_norm{}", self.rows.suffix())
    }

    fn threads(&self) -> u32 {
        self.rows.threads()
    }

    fn grid(&self, a: &AddRmsNormArgs) -> Result<u64, LaunchError> {
        self.rows.grid(a.rows, a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: AddRmsNormArgs<InKernel<'k>>) {
        each_row!(self.rows, cta, a.rows, |team, row| add_rms_row(
            team, row, &a
        ));
    }
}

fn add_rms_row<'k>(team: &mut impl Team<'k>, row: Word<'k>, a: &AddRmsNormArgs<InKernel<'k>>) {
    let (x, y): (Out, Out) = (a.x.row(row), a.y.row(row));
    let residual: In = a.residual.row(row);
    let aligned = x.aligned(16) & y.aligned(16) & residual.aligned(16) & a.gain.aligned(16);
    let zero = Val::constant(0.0);
    let squares = spread(team, a.n, aligned, zero, |_, at, sum| {
        let total = Quad::read(x, at) + Quad::read(residual, at);
        total.write(x, at.i);
        total.squares(sum)
    });
    let scale = inverse_root(team.sum_of(squares), a.n, a.eps);
    // A thread reads back only what it wrote itself.
    spread(team, a.n, aligned, (), |_, at, ()| {
        (Quad::read(x, at) * scale * Quad::read(a.gain, at)).write(y, at.i);
    });
}

impl Kernel for LayerNorm {
    type Args = LayerNormArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        format!("layer_norm{}", self.rows.suffix())
    }

    fn threads(&self) -> u32 {
        self.rows.threads()
    }

    fn grid(&self, a: &LayerNormArgs) -> Result<u64, LaunchError> {
        self.rows.grid(a.rows, a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: LayerNormArgs<InKernel<'k>>) {
        each_row!(self.rows, cta, a.rows, |team, row| layer_row(team, row, &a));
    }
}

fn layer_row<'k>(team: &mut impl Team<'k>, row: Word<'k>, a: &LayerNormArgs<InKernel<'k>>) {
    let (x, y): (In, Out) = (a.x.row(row), a.y.row(row));
    let aligned = x.aligned(16) & y.aligned(16) & a.gain.aligned(16) & a.bias.aligned(16);
    let zero = Val::constant(0.0);
    let sum = spread(team, a.n, aligned, zero, |_, at, sum| {
        Quad::read(x, at).sum(sum)
    });
    let mean = team.sum_of(sum) / a.n.f32();
    let squares = spread(team, a.n, aligned, zero, |_, at, sum| {
        (Quad::read(x, at) - mean).squares(sum)
    });
    let scale = inverse_root(team.sum_of(squares), a.n, a.eps);
    spread(team, a.n, aligned, (), |_, at, ()| {
        let (gain, bias) = (Quad::read(a.gain, at), Quad::read(a.bias, at));
        let normed = (Quad::read(x, at) - mean) * scale;
        normed.mul_add(gain, bias).write(y, at.i);
    });
}

/// Roundings in a sum of `n` terms by a team: a lane's own, then the exchanges.
fn roundings(n: usize) -> f64 {
    n as f64 / 32.0 + 24.0
}

/// RMSNorm of one row in f64, with the tolerance of each element.
pub fn rms_reference(x: &[f32], gain: &[f32], eps: f32) -> Vec<(f64, f64)> {
    let n = x.len();
    let squares: f64 = x.iter().map(|x| f64::from(*x).powi(2)).sum();
    let scale = 1.0 / (squares / n as f64 + f64::from(eps)).sqrt();
    x.iter()
        .zip(gain)
        .map(|(x, gain)| {
            let y = f64::from(*x) * scale * f64::from(*gain);
            (y, y.abs() * EPS_F32 * (roundings(n) / 2.0 + 8.0))
        })
        .collect()
}

/// LayerNorm of one row in f64, with the tolerance of each element.
pub fn layer_reference(x: &[f32], gain: &[f32], bias: &[f32], eps: f32) -> Vec<(f64, f64)> {
    let n = x.len() as f64;
    let x: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    let mean = x.iter().sum::<f64>() / n;
    let k = roundings(x.len()) * EPS_F32;
    let mean_error = 2.0 * k * x.iter().map(|x| x.abs()).sum::<f64>() / n;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let spread = x.iter().map(|x| (x - mean).abs()).sum::<f64>() / n;
    let variance_error =
        variance * (k + 4.0 * EPS_F32) + 2.0 * spread * mean_error + mean_error * mean_error;
    let under = variance + f64::from(eps);
    let scale = 1.0 / under.sqrt();
    let relative = variance_error / under + 8.0 * EPS_F32;
    x.iter()
        .zip(gain.iter().zip(bias))
        .map(|(x, (gain, bias))| {
            let (gain, bias) = (f64::from(*gain), f64::from(*bias));
            let product = (x - mean) * scale * gain;
            let y = product + bias;
            let error = (gain * scale).abs() * mean_error * (1.0 + relative)
                + product.abs() * relative
                + EPS_F32 * y.abs();
            (y, error)
        })
        .collect()
}

fn expected(rows: impl Iterator<Item = Vec<(f64, f64)>>) -> Expected<f32> {
    let (values, tolerance) = rows.flatten().unzip();
    Expected::within(values, tolerance)
}

/// Fixed awkward shapes, and some at random.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut shapes = vec![
        (1, 1),
        (3, 1),
        (5, 31),
        (1, 32),
        (2, 33),
        (9, 64),
        (4, 257),
        (1, 576),
        (3, 1536),
        (2, 2051),
    ];
    shapes.extend((0..3).map(|_| (rng.range(1, 7), rng.range(1, 3000))));
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    for (rows_count, n) in shapes {
        for rows in [Rows::PerWarp, Rows::PerCta] {
            let (label, size) = (format!("[{rows_count}, {n}]"), n as usize);
            let eps = rng.pick(&[1e-5f32, 1e-6]);
            let scale = rng.pick(&[1.0f32, 1e-3, 100.0]);
            let x = rng.numbers(rows_count as usize * size, scale);
            let (gain, bias) = (rng.numbers(size, 2.0), rng.numbers(size, 1.0));
            let y = expected(x.chunks(size).map(|x| rms_reference(x, &gain, eps)));
            cases.push(Box::new(Case {
                label: label.clone(),
                kernel: RmsNorm { rows },
                args: RmsNormArgs {
                    x: x.clone().into(),
                    gain: gain.clone().into(),
                    y,
                    rows: rows_count,
                    n,
                    eps,
                },
            }));
            let residual = rng.numbers(x.len(), scale);
            let sum: Vec<f32> = x.iter().zip(&residual).map(|(x, more)| x + more).collect();
            let y = expected(sum.chunks(size).map(|x| rms_reference(x, &gain, eps)));
            cases.push(Box::new(Case {
                label: label.clone(),
                kernel: AddRmsNorm { rows },
                args: AddRmsNormArgs {
                    x: Updated {
                        before: x.clone().into(),
                        after: Expected::exact(sum.iter().map(|x| f64::from(*x)).collect()),
                    },
                    residual: residual.into(),
                    gain: gain.clone().into(),
                    y,
                    rows: rows_count,
                    n,
                    eps,
                },
            }));
            // A large mean shows whether the variance is computed from differences.
            let offset = rng.pick(&[0.0f32, 10.0]) * scale;
            let x: Vec<f32> = x.iter().map(|x| x + offset).collect();
            let y = expected(
                x.chunks(size)
                    .map(|x| layer_reference(x, &gain, &bias, eps)),
            );
            cases.push(Box::new(Case {
                label,
                kernel: LayerNorm { rows },
                args: LayerNormArgs {
                    x: Data::from(x),
                    gain: gain.into(),
                    bias: bias.into(),
                    y,
                    rows: rows_count,
                    n,
                    eps,
                },
            }));
        }
    }
    cases
}
