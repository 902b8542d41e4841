//! Functions of the elements of rows: a bias for each column, a gate from the two halves of a row.

use super::{CHUNK, Curve, THREADS, gated};
use crate::{
    case::{AnyCase, Case, EPS_F32, Expected, Random, Updated},
    quad::Quad,
    team::spread,
    values::Uniform,
};
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, args, require};

args! {
    /// `x += bias` in each row.
    pub struct BiasAddArgs {
        x: InOut<f32>[rows, n], bias: In<f32>[n], rows: Scalar<u32>, n: Scalar<u32>,
    }
}

args! {
    /// `y = curve(gate) * up`, where a row of `x` is the gate and then the up projection.
    pub struct GatedHalvesArgs {
        x: In<f32>[rows, n * 2], y: Out<f32>[rows, n], rows: Scalar<u32>, n: Scalar<u32>,
    }
}

/// Adds a bias in place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BiasAdd;

/// The gate of a fused projection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GatedHalves {
    /// The activation of the gate.
    pub curve: Curve,
}

fn grid(rows: u32, n: u32) -> Result<u64, LaunchError> {
    require(n < 1 << 30, "n", n.into(), "below 2^30")?;
    let tiles = u64::from(rows) * u64::from(n.div_ceil(CHUNK));
    require(
        tiles < 1 << 31,
        "rows",
        rows.into(),
        "below 2^31 tiles of 2048 columns",
    )?;
    Ok(tiles)
}

/// Row, first column and columns of this CTA.
fn tile<'k>(cta: &Cta<'k>, n: Uniform<'k>) -> (Uniform<'k>, Uniform<'k>, Uniform<'k>) {
    let across = n.div_ceil(CHUNK);
    let (row, first) = (cta.id() / across, (cta.id() % across) * CHUNK);
    (row, first, (n - first).min(CHUNK))
}

impl Kernel for BiasAdd {
    type Args = BiasAddArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        "bias_add".into()
    }

    fn threads(&self) -> u32 {
        THREADS
    }

    fn grid(&self, a: &BiasAddArgs) -> Result<u64, LaunchError> {
        grid(a.rows, a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: BiasAddArgs<InKernel<'k>>) {
        let (row, first, count) = tile(cta, a.n);
        let (x, bias) = (a.x.row(row).from(first), a.bias.from(first));
        let aligned = x.aligned(16) & bias.aligned(16);
        spread(cta, count, aligned, (), |_, at, ()| {
            (Quad::read(x, at) + Quad::read(bias, at)).write(x, at.i);
        });
    }
}

impl Kernel for GatedHalves {
    type Args = GatedHalvesArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        format!("{}_gate_halves", self.curve.name())
    }

    fn threads(&self) -> u32 {
        THREADS
    }

    fn grid(&self, a: &GatedHalvesArgs) -> Result<u64, LaunchError> {
        grid(a.rows, a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: GatedHalvesArgs<InKernel<'k>>) {
        let (row, first, count) = tile(cta, a.n);
        let gate = a.x.row(row).from(first);
        let up = gate.from(a.n);
        let y = a.y.row(row).from(first);
        let aligned = gate.aligned(16) & up.aligned(16) & y.aligned(16);
        spread(cta, count, aligned, (), |_, at, ()| {
            let gate = Quad::read(gate, at).map(|x| self.curve.apply(x));
            (gate * Quad::read(up, at)).write(y, at.i);
        });
    }
}

pub(super) fn cases(rng: &mut Random, cases: &mut Vec<Box<dyn AnyCase>>) {
    let random = (rng.range(1, 9), rng.range(1, 3000));
    for (rows, n) in [
        (1, 1),
        (3, 31),
        (2, 64),
        (5, 257),
        (1, 1536),
        (2, 2052),
        random,
    ] {
        let size = n as usize;
        let (x, bias) = (
            rng.numbers(rows as usize * size, 4.0),
            rng.numbers(size, 4.0),
        );
        let sums = x
            .iter()
            .enumerate()
            .map(|(at, x)| f64::from(*x) + f64::from(bias[at % size]));
        let (values, tolerance) = sums.map(|sum| (sum, sum.abs() * EPS_F32)).unzip();
        cases.push(Box::new(Case {
            label: format!("[{rows}, {n}]"),
            kernel: BiasAdd,
            args: BiasAddArgs {
                x: Updated {
                    before: x.into(),
                    after: Expected::within(values, tolerance),
                },
                bias: bias.into(),
                rows,
                n,
            },
        }));
        for curve in Curve::ALL {
            let x = rng.numbers(2 * rows as usize * size, 8.0);
            let (values, tolerance) = x
                .chunks(2 * size)
                .flat_map(|row| row[..size].iter().zip(&row[size..]))
                .map(|(gate, up)| gated(curve, f64::from(*gate), f64::from(*up)))
                .unzip();
            cases.push(Box::new(Case {
                label: format!("[{rows}, 2 x {n}]"),
                kernel: GatedHalves { curve },
                args: GatedHalvesArgs {
                    x: x.into(),
                    y: Expected::within(values, tolerance),
                    rows,
                    n,
                },
            }));
        }
    }
}
