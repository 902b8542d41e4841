//! Casts between f32 and the 16-bit floats, and fills.

use super::{THREADS, chunk, chunks};
use crate::{
    case::{AnyCase, Case, Expected, Random},
    team::{F32, Width, Word, read, spread, write},
};
use half::{bf16, f16};
use warpsmith_kernel::{
    Cta, Device, Global, Kernel, LaunchError, Read, Val, Write, args, uni,
    uni::{Join, Uni},
};

args! {
    /// `y = x` rounded to nearest even.
    pub struct F32ToF16Args { x: In<f32>[n], y: Out<f16>[n], n: Scalar<u64> }
}
args! {
    /// `y = x` rounded to nearest even.
    pub struct F32ToBf16Args { x: In<f32>[n], y: Out<bf16>[n], n: Scalar<u64> }
}
args! {
    /// `y = x`.
    pub struct FromF16Args { x: In<f16>[n], y: Out<f32>[n], n: Scalar<u64> }
}
args! {
    /// `y = x`.
    pub struct FromBf16Args { x: In<bf16>[n], y: Out<f32>[n], n: Scalar<u64> }
}
args! {
    /// `y = value` everywhere.
    pub struct FillArgs { y: Out<f32>[n], n: Scalar<u64>, value: Scalar<f32> }
}

/// f32 to f16; overflow gives infinity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct F32ToF16;
/// f32 to bf16.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct F32ToBf16;
/// f16 to f32.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FromF16;
/// bf16 to f32.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FromBf16;
/// One value in every element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fill;

/// Writes f32 values as f16 from element `i` on.
#[track_caller]
pub(crate) fn write_f16<'k, U: Uni + Join<uni::Lane>>(
    to: Global<'k, f16, Write, U>,
    i: Word<'k>,
    values: &[F32<'k>],
) {
    match *values {
        [a, b, c, d] => to.set_words(i, [a.pack_f16(b), c.pack_f16(d)]),
        [] | [..] => {
            for (at, value) in values.iter().enumerate() {
                to.set(i + at as u32, value.f16());
            }
        }
    }
}

fn read_f16<'k, U: Uni + Join<uni::Lane>>(
    from: Global<'k, f16, Read, U>,
    i: Word<'k>,
    width: Width,
) -> Vec<F32<'k>> {
    match width {
        Width::One => vec![from.at(i).f32().varying()],
        Width::Four => {
            let words = from.words::<2, _>(i).map(Val::varying);
            let halves = words.map(<(Val<f16, uni::Lane>, Val<f16, uni::Lane>)>::from);
            halves
                .iter()
                .flat_map(|(lo, hi)| [lo.f32(), hi.f32()])
                .collect()
        }
    }
}

/// The bits of a bf16 in the low half of a word: nearest even by integer arithmetic, the same on every target.
fn bf16_bits<'k>(x: F32<'k>) -> Word<'k> {
    let bits = x.to_bits();
    let rounded = (bits + (bits.bits(16, 1) + 0x7fff)) >> 16;
    // Rounding could carry a NaN over into an infinity or a zero; its top bits and a quiet bit stay one.
    let nan = (bits & 0x7fff_ffff).gt(0x7f80_0000);
    nan.select((bits >> 16) | 0x40, rounded)
}

impl Kernel for F32ToF16 {
    type Args = F32ToF16Args;

    fn name(&self) -> String {
        "f32_to_f16".into()
    }

    fn threads(&self) -> u32 {
        THREADS
    }

    fn resized(&self, _threads: u32) -> Option<Self> {
        Some(self.clone())
    }

    fn grid(&self, a: &F32ToF16Args) -> Result<u64, LaunchError> {
        chunks(a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: F32ToF16Args<Device<'k>>) {
        let (start, count) = chunk(cta, a.n);
        let (x, y) = (a.x.from(start), a.y.from(start));
        spread(
            cta,
            count,
            x.aligned(16) & y.aligned(8),
            (),
            |_, i, width, ()| {
                write_f16(y, i, &read(x, i, width));
            },
        );
    }
}

impl Kernel for F32ToBf16 {
    type Args = F32ToBf16Args;

    fn name(&self) -> String {
        "f32_to_bf16".into()
    }

    fn threads(&self) -> u32 {
        THREADS
    }

    fn resized(&self, _threads: u32) -> Option<Self> {
        Some(self.clone())
    }

    fn grid(&self, a: &F32ToBf16Args) -> Result<u64, LaunchError> {
        chunks(a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: F32ToBf16Args<Device<'k>>) {
        let (start, count) = chunk(cta, a.n);
        let (x, y) = (a.x.from(start), a.y.from(start));
        spread(
            cta,
            count,
            x.aligned(16) & y.aligned(8),
            (),
            |_, i, width, ()| match read(x, i, width)[..] {
                [a, b, c, d] => {
                    let pair = |lo, hi| bf16_bits(lo) | (bf16_bits(hi) << 16);
                    y.set_words(i, [pair(a, b), pair(c, d)]);
                }
                ref values => {
                    for value in values {
                        let (low, _): (Val<bf16, uni::Lane>, _) = bf16_bits(*value).into();
                        y.set(i, low);
                    }
                }
            },
        );
    }
}

impl Kernel for FromF16 {
    type Args = FromF16Args;

    fn name(&self) -> String {
        "f16_to_f32".into()
    }

    fn threads(&self) -> u32 {
        THREADS
    }

    fn resized(&self, _threads: u32) -> Option<Self> {
        Some(self.clone())
    }

    fn grid(&self, a: &FromF16Args) -> Result<u64, LaunchError> {
        chunks(a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: FromF16Args<Device<'k>>) {
        let (start, count) = chunk(cta, a.n);
        let (x, y) = (a.x.from(start), a.y.from(start));
        spread(
            cta,
            count,
            x.aligned(8) & y.aligned(16),
            (),
            |_, i, width, ()| {
                write(y, i, &read_f16(x, i, width));
            },
        );
    }
}

impl Kernel for FromBf16 {
    type Args = FromBf16Args;

    fn name(&self) -> String {
        "bf16_to_f32".into()
    }

    fn threads(&self) -> u32 {
        THREADS
    }

    fn resized(&self, _threads: u32) -> Option<Self> {
        Some(self.clone())
    }

    fn grid(&self, a: &FromBf16Args) -> Result<u64, LaunchError> {
        chunks(a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: FromBf16Args<Device<'k>>) {
        let (start, count) = chunk(cta, a.n);
        let (x, y) = (a.x.from(start), a.y.from(start));
        spread(
            cta,
            count,
            x.aligned(8) & y.aligned(16),
            (),
            |_, i, width, ()| {
                let values = match width {
                    Width::One => {
                        let zero: Val<bf16, uni::Lane> = Val::constant(bf16::ZERO);
                        vec![zero.pack(x.at(i)).as_f32()]
                    }
                    Width::Four => x
                        .words::<2, _>(i)
                        .iter()
                        .flat_map(|word| [(*word << 16).as_f32(), (*word & 0xffff_0000).as_f32()])
                        .collect(),
                };
                write(y, i, &values);
            },
        );
    }
}

impl Kernel for Fill {
    type Args = FillArgs;

    fn name(&self) -> String {
        "fill".into()
    }

    fn threads(&self) -> u32 {
        THREADS
    }

    fn resized(&self, _threads: u32) -> Option<Self> {
        Some(self.clone())
    }

    fn grid(&self, a: &FillArgs) -> Result<u64, LaunchError> {
        chunks(a.n)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: FillArgs<Device<'k>>) {
        let (start, count) = chunk(cta, a.n);
        let y = a.y.from(start);
        let value = a.value.varying();
        spread(
            cta,
            count,
            y.aligned(16),
            (),
            |_, i, width, ()| match width {
                Width::One => write(y, i, &[value]),
                Width::Four => write(y, i, &[value; 4]),
            },
        );
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
            kernel: F32ToF16,
            args: F32ToF16Args {
                x: x.clone().into(),
                y: Expected::exact(half.iter().map(|x| x.to_f64()).collect()),
                n,
            },
        }));
        cases.push(Box::new(Case {
            label: label.clone(),
            kernel: F32ToBf16,
            args: F32ToBf16Args {
                x: x.clone().into(),
                y: Expected::exact(brain.iter().map(|x| x.to_f64()).collect()),
                n,
            },
        }));
        cases.push(Box::new(Case {
            label: label.clone(),
            kernel: FromF16,
            args: FromF16Args {
                y: wide(&mut half.iter().map(|x| x.to_f64())),
                x: half.into(),
                n,
            },
        }));
        cases.push(Box::new(Case {
            label: label.clone(),
            kernel: FromBf16,
            args: FromBf16Args {
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
