//! Epilogues: what happens to a product before it is stored, as a value that is part of the kernel's key.

use crate::values::F32;
use warpsmith_kernel::{
    Arg, Global, InKernel, Index, Read, Val, args,
    uni::{self, Join, Uni},
};

/// A function applied to each output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Activation {
    /// As it is.
    #[default]
    None,
    /// `x * sigmoid(x)`.
    Silu,
    /// `x/2 (1 + erf(x / sqrt 2))`, the exact GELU.
    Gelu,
}

/// Whether an operand is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operand {
    /// It is not.
    #[default]
    Absent,
    /// It is.
    Present,
}

/// `y = activation(x + bias) + residual`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Epilogue {
    /// One number for each output column.
    pub bias: Operand,
    /// Applied after the bias.
    pub activation: Activation,
    /// A matrix of the output's shape, added last.
    pub residual: Operand,
}

args! {
    /// What a product becomes, with the operands of its epilogue: `y` is `[m, n]`, with a bias for each column.
    pub struct Outputs {
        bias: Maybe<f32>[n], residual: Maybe<f32>[m, n], y: Out<f32>[m, n], m: Scalar<u32>, n: Scalar<u32>,
    }
}

impl<'k> Outputs<InKernel<'k>> {
    /// Writes the epilogue of `x`.
    #[track_caller]
    pub fn set<R: Arg<'k, u32> + Copy>(
        self,
        epilogue: Epilogue,
        row: R,
        column: Val<'k, u32>,
        x: F32<'k>,
    ) where
        uni::Cta: Join<R::U>,
        <uni::Cta as Join<R::U>>::Out: Join<uni::Lane>,
    {
        let residual = self.residual.row(row);
        let y = epilogue.apply(x, column, self.bias, residual);
        self.y.row(row).set(column, y);
    }
}

impl Epilogue {
    /// What shows of it in a kernel's name.
    pub fn suffix(self) -> String {
        let bias = if self.bias == Operand::Present {
            "_bias"
        } else {
            ""
        };
        let activation = match self.activation {
            Activation::None => "",
            Activation::Silu => "_silu",
            Activation::Gelu => "_gelu",
        };
        let residual = if self.residual == Operand::Present {
            "_residual"
        } else {
            ""
        };
        format!("{bias}{activation}{residual}")
    }

    /// The epilogue of one element: element `index` of `bias` and of `residual` belong to it.
    #[track_caller]
    pub fn apply<'k, I, B, R>(
        self,
        x: F32<'k>,
        index: I,
        bias: Global<'k, f32, Read, B>,
        residual: Global<'k, f32, Read, R>,
    ) -> F32<'k>
    where
        I: Index<'k> + Copy,
        B: Uni + Join<I::U>,
        R: Uni + Join<I::U>,
    {
        self.finish(
            x,
            || bias.at(index).varying(),
            || residual.at(index).varying(),
        )
    }

    /// The epilogue of two neighbours, the first with an even `index` from an address of 8 bytes on.
    #[track_caller]
    pub fn apply_pair<'k>(
        self,
        [x, y]: [F32<'k>; 2],
        index: u32,
        bias: Global<'k, f32, Read, uni::Lane>,
        residual: Global<'k, f32, Read, uni::Lane>,
    ) -> [F32<'k>; 2] {
        let read = |wanted, from: Global<'k, f32, Read, uni::Lane>| {
            (wanted == Operand::Present).then(|| from.vector::<2, _>(index))
        };
        let (bias, residual) = (read(self.bias, bias), read(self.residual, residual));
        let side =
            |of: Option<[F32<'k>; 2]>, at: usize| move || of.expect("read where it is present")[at];
        [
            self.finish(x, side(bias, 0), side(residual, 0)),
            self.finish(y, side(bias, 1), side(residual, 1)),
        ]
    }

    #[track_caller]
    fn finish<'k>(
        self,
        x: F32<'k>,
        bias: impl FnOnce() -> F32<'k>,
        residual: impl FnOnce() -> F32<'k>,
    ) -> F32<'k> {
        let x = if self.bias == Operand::Present {
            x + bias()
        } else {
            x
        };
        let x = match self.activation {
            Activation::None => x,
            Activation::Silu => silu(x),
            Activation::Gelu => gelu(x),
        };
        if self.residual == Operand::Present {
            x + residual()
        } else {
            x
        }
    }

    /// What the epilogue makes of `x`, in f64 on the host.
    pub fn reference(self, x: f64, bias: Option<f64>, residual: Option<f64>) -> f64 {
        let x = x + bias
            .filter(|_| self.bias == Operand::Present)
            .unwrap_or(0.0);
        let x = match self.activation {
            Activation::None => x,
            Activation::Silu => x / (1.0 + (-x).exp()),
            Activation::Gelu => gelu_reference(x),
        };
        x + residual
            .filter(|_| self.residual == Operand::Present)
            .unwrap_or(0.0)
    }
}

/// `x * sigmoid(x)` (Elfwing et al., 2017).
#[track_caller]
pub fn silu<'k>(x: F32<'k>) -> F32<'k> {
    x / ((-x).exp() + 1.0)
}

/// The exact GELU (Hendrycks and Gimpel, 2016) with `erf` from [`erf`].
#[track_caller]
pub fn gelu<'k>(x: F32<'k>) -> F32<'k> {
    x * 0.5 * (erf(x * std::f32::consts::FRAC_1_SQRT_2) + 1.0)
}

/// `erf`, absolute error below 2e-7 (Abramowitz and Stegun, 7.1.28: a rational of the sixteenth power).
#[track_caller]
pub fn erf<'k>(x: F32<'k>) -> F32<'k> {
    let a = x.abs();
    let mut p: F32<'k> = Val::constant(4.306_38e-5);
    for c in [
        2.765_672e-4,
        1.520_143e-4,
        9.270_527_2e-3,
        4.228_201_2e-2,
        7.052_308e-2,
        1.0,
    ] {
        p = p.mul_add(a, c);
    }
    let p2 = p * p;
    let p4 = p2 * p2;
    let p8 = p4 * p4;
    let positive = -((p8 * p8).rcp_approx()) + 1.0;
    x.lt(0.0).select(-positive, positive)
}

/// The exact GELU in f64.
pub fn gelu_reference(x: f64) -> f64 {
    0.5 * x * erfc_reference(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// `erfc` in f64: a series below 3, a continued fraction above.
pub fn erfc_reference(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc_reference(-x);
    }
    let two_over_root_pi = std::f64::consts::FRAC_2_SQRT_PI;
    if x < 3.0 {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while f64::abs(term) > 1e-17 * sum {
            n += 1.0;
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        return 1.0 - two_over_root_pi * sum;
    }
    let mut fraction = 0.0;
    for n in (1..200).rev() {
        fraction = f64::from(n) / 2.0 / (x + fraction);
    }
    (-x * x).exp() / 2.0 * two_over_root_pi / (x + fraction)
}
