//! Functions of single elements: sums, products, activations, gates, casts, fills.

mod cast;
mod rows;

pub use cast::{Cast, CastArgs, Convert, Fill, FillArgs};
pub use rows::{BiasAdd, BiasAddArgs, GatedHalves, GatedHalvesArgs};

use crate::{
    case::{AnyCase, Case, Data, EPS_F32, Expected, Random, Updated},
    epilogue,
    quad::Quad,
    team::spread,
    values::F32,
};
use warpsmith_kernel::{
    AccessMark, Cta, Global, InKernel, Kernel, LaunchError, Read, Val, Write, args, require, uni,
};

args! {
    /// `y = op(x, other, by)`, element by element.
    pub struct PointwiseArgs {
        x: In<f32>[n], other: Maybe<f32>[n], y: Out<f32>[n], n: Scalar<u64>, by: Scalar<f32>,
    }
}

args! {
    /// `x = op(x, other, by)`, element by element.
    pub struct UpdateArgs {
        x: InOut<f32>[n], other: Maybe<f32>[n], n: Scalar<u64>, by: Scalar<f32>,
    }
}

/// An activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Curve {
    /// `x * sigmoid(x)`.
    Silu,
    /// The exact GELU, with `erf`.
    Gelu,
    /// The GELU with `tanh` (Hendrycks and Gimpel, 2016).
    GeluTanh,
}

/// What is computed of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `x + other`.
    Add,
    /// `x * other`.
    Mul,
    /// `x * by`.
    Scale,
    /// `curve(x)`.
    Curve(Curve),
    /// `curve(x) * other`; with SiLU this is SwiGLU (Shazeer, 2020).
    Gated(Curve),
}

/// The kernel that writes a new array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pointwise {
    /// What it computes.
    pub op: Op,
}

/// The kernel that overwrites its first argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Update {
    /// What it computes.
    pub op: Op,
}

/// Threads of a CTA.
pub(crate) const THREADS: u32 = 128;
/// Elements of a CTA.
pub(crate) const CHUNK: u32 = 2048;

/// CTAs for `n` elements.
pub(crate) fn chunks(n: u64) -> Result<u64, LaunchError> {
    require(n <= 1 << 60, "n", n, "at most 2^60")?;
    Ok(n.div_ceil(CHUNK.into()))
}

/// Where this CTA's elements start, and how many there are. Counts past 2^32 work: all in 64 bits.
pub(crate) fn chunk<'k>(
    cta: &Cta<'k>,
    n: Val<'k, u64, uni::Cta>,
) -> (Val<'k, u64, uni::Cta>, Val<'k, u32, uni::Cta>) {
    let start = cta.id().mul_wide(CHUNK);
    let count = (n - start).min(u64::from(CHUNK)).u32();
    (start, count)
}

impl Curve {
    const ALL: [Curve; 3] = [Curve::Silu, Curve::Gelu, Curve::GeluTanh];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Curve::Silu => "silu",
            Curve::Gelu => "gelu",
            Curve::GeluTanh => "gelu_tanh",
        }
    }

    /// On the device.
    #[track_caller]
    pub(crate) fn apply<'k>(self, x: F32<'k>) -> F32<'k> {
        match self {
            Curve::Silu => epilogue::silu(x),
            Curve::Gelu => epilogue::gelu(x),
            Curve::GeluTanh => {
                // (1 + tanh u) / 2 = 1 / (1 + exp(-2u))
                let inner = (x * x).mul_add(-2.0 * ROOT * CUBIC as f32, -2.0 * ROOT) * x;
                x / (inner.exp() + 1.0)
            }
        }
    }

    /// In f64, with the error that f32 may make.
    pub fn reference(self, x: f64) -> (f64, f64) {
        // exp(z): 2 ulp from ex2.approx, and the rounding of z log2 e
        let sigmoid = |z: f64| {
            let y = x / (1.0 + (-z).exp());
            let relative = 8.0 * EPS_F32 + (z.abs() * 6.0 + 4.0) * EPS_F32;
            (y, y.abs() * relative + x.abs() / f64::from(f32::MAX))
        };
        match self {
            Curve::Silu => sigmoid(x),
            Curve::GeluTanh => sigmoid(2.0 * f64::from(ROOT) * (x + CUBIC * x.powi(3))),
            Curve::Gelu => {
                let y = epilogue::gelu_reference(x);
                // 16 roundings of a polynomial's relative error where it is raised to the 16th power
                let tail = epilogue::erfc_reference(x.abs() * std::f64::consts::FRAC_1_SQRT_2);
                let error = 3e-7 + (128.0 * tail + 4.0) * EPS_F32;
                (y, x.abs() * error)
            }
        }
    }
}

/// `sqrt(2 / pi)`.
const ROOT: f32 = 0.797_884_56;
const CUBIC: f64 = 0.044_715;

impl Op {
    const ALL: [Op; 9] = [
        Op::Add,
        Op::Mul,
        Op::Scale,
        Op::Curve(Curve::ALL[0]),
        Op::Curve(Curve::ALL[1]),
        Op::Curve(Curve::ALL[2]),
        Op::Gated(Curve::ALL[0]),
        Op::Gated(Curve::ALL[1]),
        Op::Gated(Curve::ALL[2]),
    ];

    fn name(self) -> String {
        match self {
            Op::Add => "add".into(),
            Op::Mul => "mul".into(),
            Op::Scale => "scale".into(),
            Op::Curve(curve) => curve.name().into(),
            Op::Gated(curve) => format!("{}_gate", curve.name()),
        }
    }

    /// Whether there is a second array.
    fn is_binary(self) -> bool {
        match self {
            Op::Add | Op::Mul | Op::Gated(_) => true,
            Op::Scale | Op::Curve(_) => false,
        }
    }

    fn apply<'k>(self, x: F32<'k>, other: F32<'k>, by: F32<'k>) -> F32<'k> {
        match self {
            Op::Add => x + other,
            Op::Mul => x * other,
            Op::Scale => x * by,
            Op::Curve(curve) => curve.apply(x),
            Op::Gated(curve) => curve.apply(x) * other,
        }
    }

    /// In f64, with the error that f32 may make.
    fn reference(self, x: f32, other: f32, by: f32) -> (f64, f64) {
        let (x, other, by) = (f64::from(x), f64::from(other), f64::from(by));
        let rounded = |y: f64| (y, y.abs() * EPS_F32);
        match self {
            Op::Add => rounded(x + other),
            Op::Mul => rounded(x * other),
            Op::Scale => rounded(x * by),
            Op::Curve(curve) => curve.reference(x),
            Op::Gated(curve) => gated(curve, x, other),
        }
    }

    fn run<'k, A: AccessMark>(
        self,
        cta: &mut Cta<'k>,
        x: Global<'k, f32, A>,
        other: Global<'k, f32, Read>,
        y: Global<'k, f32, Write>,
        n: Val<'k, u64, uni::Cta>,
        by: Val<'k, f32, uni::Cta>,
    ) {
        let (start, count) = chunk(cta, n);
        let (x, other, y) = (x.from(start), other.from(start), y.from(start));
        let mut aligned = x.aligned(16) & y.aligned(16);
        if self.is_binary() {
            aligned &= other.aligned(16);
        }
        spread(cta, count, aligned, (), |_, at, ()| {
            let x = Quad::read(x, at);
            let other = if self.is_binary() {
                Quad::read(other, at)
            } else {
                x
            };
            x.zip(other, |x, other| self.apply(x, other, by.varying()))
                .write(y, at.i);
        });
    }
}

/// A gate in f64, with the error that f32 may make.
fn gated(curve: Curve, x: f64, other: f64) -> (f64, f64) {
    let (gate, error) = curve.reference(x);
    let y = gate * other;
    (y, error * other.abs() + y.abs() * EPS_F32)
}

impl Kernel for Pointwise {
    type Args = PointwiseArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        self.op.name()
    }

    fn threads(&self) -> u32 {
        THREADS
    }

    fn grid(&self, a: &PointwiseArgs) -> Result<u64, LaunchError> {
        chunks(a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: PointwiseArgs<InKernel<'k>>) {
        self.op.run(cta, a.x, a.other, a.y, a.n, a.by);
    }
}

impl Kernel for Update {
    type Args = UpdateArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        format!("{}_in_place", self.op.name())
    }

    fn threads(&self) -> u32 {
        THREADS
    }

    fn grid(&self, a: &UpdateArgs) -> Result<u64, LaunchError> {
        chunks(a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: UpdateArgs<InKernel<'k>>) {
        self.op.run(cta, a.x, a.other, a.x, a.n, a.by);
    }
}

/// Each operation on awkward counts.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    let sizes = [1, 3, 31, 33, 257, 576, 1536, 2048, 2049, 4100];
    for (at, op) in Op::ALL.into_iter().enumerate() {
        for n in [sizes[at], sizes[at + 1], rng.range(1, 5000)] {
            let scale = rng.pick(&[3.0f32, 20.0, 120.0]);
            let (x, other) = (rng.numbers(n as usize, scale), rng.numbers(n as usize, 2.0));
            let by = rng.number(5.0);
            let (values, tolerance): (Vec<f64>, Vec<f64>) = x
                .iter()
                .zip(&other)
                .map(|(x, other)| op.reference(*x, *other, by))
                .unzip();
            let y = Expected::within(values, tolerance);
            let other = op.is_binary().then(|| Data::from(other));
            cases.push(Box::new(Case {
                label: format!("{n} elements up to {scale}"),
                kernel: Pointwise { op },
                args: PointwiseArgs {
                    x: x.clone().into(),
                    other: other.clone(),
                    y: y.clone(),
                    n: n.into(),
                    by,
                },
            }));
            cases.push(Box::new(Case {
                label: format!("{n} elements up to {scale}"),
                kernel: Update { op },
                args: UpdateArgs {
                    x: Updated {
                        before: x.into(),
                        after: y,
                    },
                    other,
                    n: n.into(),
                    by,
                },
            }));
        }
    }
    rows::cases(rng, &mut cases);
    cast::cases(rng, &mut cases);
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_kernel::{Options, build};
    use warpsmith_ptx::target::Target;

    #[test]
    fn counts_past_2_to_32_get_all_their_ctas_and_64_bit_addresses() {
        let kernel = Pointwise { op: Op::Add };
        let n = (1u64 << 33) + 5;
        let shapes = PointwiseArgs {
            x: (),
            other: (),
            y: (),
            n,
            by: 0.0,
        };
        assert_eq!(kernel.grid(&shapes), Ok((1 << 22) + 1));
        let over = PointwiseArgs {
            n: u64::MAX,
            ..shapes
        };
        assert!(kernel.grid(&over).is_err());
        let built = build(&kernel, Target::sm(80), Options::default()).expect("a kernel");
        let text = built.module.text();
        let id = text
            .lines()
            .find(|line| line.contains("%ctaid.x"))
            .and_then(|line| line.split_whitespace().nth(1))
            .expect("the CTA index is read")
            .trim_end_matches(',');
        let uses: Vec<&str> = text
            .lines()
            .filter(|line| line.split([' ', ',', ';']).any(|word| word == id))
            .filter(|line| !line.contains("%ctaid.x"))
            .collect();
        assert!(!uses.is_empty());
        assert!(
            uses.iter().all(|line| line.contains("mul.wide.u32")),
            "{uses:?}"
        );
    }
}
