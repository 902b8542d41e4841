//! Softmax of rows.

pub mod argmax;

use crate::{
    case::{AnyCase, Case, EPS_F32, Expected, Random},
    quad::Quad,
    team::{Fours, Rows, Team, each_row, spread_as},
    values::Word,
};
use warpsmith_kernel::{
    Cta, Global, InKernel, Kernel, LaunchError, Read, Scope, Val, Write, args, uni,
};

args! {
    /// `y = exp(x - max) / sum(exp(x - max))` for each row; a row of minus infinities gives zeros.
    pub struct SoftmaxArgs {
        x: In<f32>[rows, n], y: Out<f32>[rows, n], rows: Scalar<u32>, n: Scalar<u32>,
    }
}

/// The stable softmax.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Softmax {
    /// Who works on a row.
    pub rows: Rows,
}

impl Kernel for Softmax {
    type Args = SoftmaxArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        format!("softmax{}", self.rows.suffix())
    }

    fn threads(&self) -> u32 {
        self.rows.threads()
    }

    fn grid(&self, a: &SoftmaxArgs) -> Result<u64, LaunchError> {
        self.rows.grid(a.rows, a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: SoftmaxArgs<InKernel<'k>>) {
        each_row!(self.rows, cta, a.rows, |team, row| softmax_row(
            team, row, self.rows, &a
        ));
    }
}

fn softmax_row<'k>(
    team: &mut impl Team<'k>,
    row: Word<'k>,
    rows: Rows,
    a: &SoftmaxArgs<InKernel<'k>>,
) {
    let x: Global<'k, f32, Read, uni::Lane> = a.x.row(row);
    let y: Global<'k, f32, Write, uni::Lane> = a.y.row(row);
    let fours = match rows {
        Rows::PerWarpApart => Fours::Apart,
        Rows::PerWarp | Rows::PerCta => Fours::Neighbours(x.aligned(16) & y.aligned(16)),
    };
    let least = Val::constant(f32::NEG_INFINITY);
    let own = spread_as(team, a.n, fours, least, |_, at, most| {
        Quad::read(x, at).fold(most, |most, x| most.max(x))
    });
    let most = team.total(own, |a, b| a.max(b));
    // Without this a row of minus infinities would be inf - inf.
    let most = most.equals(f32::NEG_INFINITY).select(0.0, most);
    let zero = Val::constant(0.0);
    let own = spread_as(team, a.n, fours, zero, |_, at, sum| {
        let powers = (Quad::read(x, at) - most).map(Val::exp);
        powers.put(y, at);
        powers.sum(sum)
    });
    let sum = team.sum_of(own);
    let scale = sum
        .equals(0.0)
        .select(0.0, Val::<f32, uni::Lane>::constant(1.0) / sum);
    // A thread scales only what it wrote itself.
    spread_as(team, a.n, fours, (), |_, at, ()| {
        (Quad::read(y, at) * scale).put(y, at);
    });
}

/// The softmax of one row in f64, with the tolerance of each element.
pub fn softmax_reference(x: &[f32]) -> Vec<(f64, f64)> {
    let most = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if most == f32::NEG_INFINITY && !x.iter().any(|x| x.is_nan()) {
        return vec![(0.0, 0.0); x.len()];
    }
    let distance = |x: f32| f64::from(x) - f64::from(most);
    let powers: Vec<f64> = x.iter().map(|x| distance(*x).exp()).collect();
    let sum: f64 = powers.iter().sum();
    // The difference and its product with log2 e are rounded, ex2.approx errs by 2 ulp.
    let relative = |x: f32| (distance(x).abs() * 3.0 + 6.0) * EPS_F32;
    let sum_error: f64 = x
        .iter()
        .zip(&powers)
        .map(|(x, power)| {
            if *power > 0.0 {
                power * relative(*x)
            } else {
                0.0
            }
        })
        .sum::<f64>()
        / sum
        + (x.len() as f64 / 32.0 + 24.0) * EPS_F32;
    x.iter()
        .zip(&powers)
        .map(|(x, power)| {
            let y = power / sum;
            let error = y * (relative(*x) + sum_error + 4.0 * EPS_F32);
            // Below the smallest normal number the error is absolute.
            (y, if y > 0.0 { error + 1e-44 } else { 0.0 })
        })
        .collect()
}

/// Awkward shapes, large offsets, masked elements and masked rows.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut shapes = vec![
        (1, 1),
        (3, 31),
        (2, 32),
        (5, 33),
        (9, 257),
        (1, 576),
        (2, 4099),
    ];
    shapes.extend((0..3).map(|_| (rng.range(1, 7), rng.range(1, 3000))));
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    for (count, n) in shapes {
        for rows in [Rows::PerWarp, Rows::PerCta, Rows::PerWarpApart] {
            let scale = rng.pick(&[1.0f32, 20.0, 3000.0]);
            let mut x = rng.numbers((count * n) as usize, scale);
            for x in &mut x {
                if rng.range(0, 5) == 0 {
                    *x = f32::NEG_INFINITY;
                }
            }
            let masked = rng.range(0, 2 * count);
            if let Some(row) = x.chunks_mut(n as usize).nth(masked as usize) {
                row.fill(f32::NEG_INFINITY);
            }
            let (values, tolerance) = x.chunks(n as usize).flat_map(softmax_reference).unzip();
            cases.push(Box::new(Case {
                label: format!("[{count}, {n}] up to {scale}"),
                kernel: Softmax { rows },
                args: SoftmaxArgs {
                    x: x.into(),
                    y: Expected::within(values, tolerance),
                    rows: count,
                    n,
                },
            }));
        }
    }
    cases
}
