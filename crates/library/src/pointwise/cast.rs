//! Casts between f32 and the 16-bit floats, and fills.

use super::{THREADS, chunk, chunks};
use crate::{
    case::{AnyCase, Case, Expected, Random},
    quad::{Float, Quad},
    team::spread,
    typed::Typed,
};
use half::{bf16, f16};
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, args};

args! {
    /// `y = x`, rounded to nearest even where `B` is narrower.
    pub struct CastArgs<A: Float, B: Float> { x: In<A>[n], y: Out<B>[n], n: Scalar<u64> }
}
args! {
    /// `y = value` everywhere.
    pub struct FillArgs { y: Out<f32>[n], n: Scalar<u64>, value: Scalar<f32> }
}

/// What [`Cast`] does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Convert;

/// From floats of type `A` to those of type `B`; overflow gives infinity.
pub type Cast<A, B> = Typed<Convert, (A, B)>;

/// One value in every element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fill;

impl<A: Float, B: Float> Kernel for Cast<A, B> {
    type Args = CastArgs<A, B>;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        format!("{}_to_{}", A::SHORT, B::SHORT)
    }

    fn threads(&self) -> u32 {
        THREADS
    }

    fn grid(&self, a: &CastArgs<A, B>) -> Result<u64, LaunchError> {
        chunks(a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: CastArgs<A, B, InKernel<'k>>) {
        let (start, count) = chunk(cta, a.n);
        let (x, y) = (a.x.from(start), a.y.from(start));
        let aligned = x.aligned(4 * A::MEMORY.bytes()) & y.aligned(4 * B::MEMORY.bytes());
        spread(cta, count, aligned, (), |_, at, ()| {
            Quad::read(x, at).write(y, at.i);
        });
    }
}

impl Kernel for Fill {
    type Args = FillArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        "fill".into()
    }

    fn threads(&self) -> u32 {
        THREADS
    }

    fn grid(&self, a: &FillArgs) -> Result<u64, LaunchError> {
        chunks(a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: FillArgs<InKernel<'k>>) {
        let (start, count) = chunk(cta, a.n);
        let y = a.y.from(start);
        let value = a.value.varying();
        spread(cta, count, y.aligned(16), (), |_, at, ()| {
            Quad::splat(value, at.width).write(y, at.i);
        });
    }
}

/// Values on which rounding shows: ties, subnormals, overflow, signed zeros, infinities, NaN.
const EDGES: [f32; 18] = [
    0.0,
    -0.0,
    1.0,
    1.003_906_3,
    1.011_718_8,
    1.000_488_3,
    1.001_464_8,
    65_504.0,
    65_519.996,
    65_520.0,
    -1e6,
    3.4e38,
    5.960_464_5e-8,
    2.980_232_2e-8,
    1e-40,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

pub(super) fn cases(rng: &mut Random, cases: &mut Vec<Box<dyn AnyCase>>) {
    for n in [1, 3, 18, 257, 2048, 2051, rng.range(1, 5000)] {
        let label = format!("{n} elements");
        let mut x = rng.numbers(n as usize, 100.0);
        for (x, edge) in x.iter_mut().zip(EDGES) {
            *x = edge;
        }
        let half: Vec<f16> = x.iter().map(|x| f16::from_f32(*x)).collect();
        let brain: Vec<bf16> = x.iter().map(|x| bf16::from_f32(*x)).collect();
        let n = n.into();
        let wide = |values: &mut dyn Iterator<Item = f64>| Expected::exact(values.collect());
        cases.push(Box::new(Case {
            label: label.clone(),
            kernel: Cast::<f32, f16>::new(Convert),
            args: CastArgs {
                x: x.clone().into(),
                y: Expected::exact(half.iter().map(|x| x.to_f64()).collect()),
                n,
            },
        }));
        cases.push(Box::new(Case {
            label: label.clone(),
            kernel: Cast::<f32, bf16>::new(Convert),
            args: CastArgs {
                x: x.clone().into(),
                y: Expected::exact(brain.iter().map(|x| x.to_f64()).collect()),
                n,
            },
        }));
        cases.push(Box::new(Case {
            label: label.clone(),
            kernel: Cast::<f16, f32>::new(Convert),
            args: CastArgs {
                y: wide(&mut half.iter().map(|x| x.to_f64())),
                x: half.into(),
                n,
            },
        }));
        cases.push(Box::new(Case {
            label: label.clone(),
            kernel: Cast::<bf16, f32>::new(Convert),
            args: CastArgs {
                y: wide(&mut brain.iter().map(|x| x.to_f64())),
                x: brain.into(),
                n,
            },
        }));
        let value = rng.number(9.0);
        cases.push(Box::new(Case {
            label,
            kernel: Fill,
            args: FillArgs {
                y: Expected::exact(vec![value.into(); x.len()]),
                n,
                value,
            },
        }));
    }
}
