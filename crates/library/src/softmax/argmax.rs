//! The largest element of each row, in one launch of any number of CTAs.

use crate::{
    case::{AnyCase, Case, Expected, Random, Updated},
    finite::{NOT_FINITE, drawable},
    quad::Quad,
    team::{Team, spread},
    values::{F32, Word},
};
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, Scope, Val, args, limits, uni};

args! {
    /// The index of the largest element of each row, the lowest among equals; [`NOT_FINITE`] for a row with NaN or plus
    /// infinity, or with nothing but minus infinity.
    /// `keys` and `places` are scratch; `counters` start and end at zero.
    pub struct ArgmaxArgs {
        x: In<f32>[rows, n], y: Out<u32>[rows],
        keys: Out<u32>[rows, splits], places: Out<u32>[rows, splits], counters: InOut<u32>[rows],
        rows: Scalar<u32>, n: Scalar<u32>, splits: Scalar<u32>,
    }
}

/// The kernel: `splits` CTAs for each row, of which the last one to finish combines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Argmax;

impl Argmax {
    /// CTAs that suit a row of `n` elements.
    pub fn splits(n: u32) -> u32 {
        n.div_ceil(8192).clamp(1, 128)
    }
}

/// The orders of minus and plus infinity; NaN is above both.
const INFINITE: [u32; 2] = [0x007f_ffff, 0xff80_0000];

/// A number whose order as an integer is that of the float; NaN is above all, both zeros are equal.
#[track_caller]
pub(crate) fn order<'k>(x: F32<'k>) -> Word<'k> {
    let bits = (x + 0.0).to_bits();
    let negative = bits.ge(0x8000_0000);
    let key = bits ^ negative.select(u32::MAX, 0x8000_0000);
    x.equals(x).select(key, u32::MAX)
}

/// The best of a team's candidates: the highest key, the lowest place among equals.
#[track_caller]
pub(crate) fn best<'k>(
    team: &mut impl Team<'k>,
    key: Word<'k>,
    place: Word<'k>,
) -> (Word<'k>, Word<'k>) {
    let top = team.total(key, |a, b| a.max(b));
    let place = key.equals(top).select(place, u32::MAX);
    (top, team.total(place, |a, b| a.min(b)))
}

impl Kernel for Argmax {
    type Args = ArgmaxArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        "argmax".into()
    }

    fn grid(&self, a: &ArgmaxArgs) -> Result<u64, LaunchError> {
        limits! {
            a.n: (1..1 << 31).contains(&a.n), "at least 1 and below 2^31";
            a.splits: (1..=65_536).contains(&a.splits), "1 to 65536";
        }
        Ok(u64::from(a.rows) * u64::from(a.splits))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: ArgmaxArgs<InKernel<'k>>) {
        let (row, split) = (cta.id() / a.splits, cta.id() % a.splits);
        // Whole fours for each CTA, so that all parts of an aligned row are aligned.
        let each = ((a.n + (a.splits - 1)) / a.splits + 3) & !3;
        let first = (split * each).min(a.n);
        let x = a.x.row(row).from(first);
        let count = (a.n - first).min(each);
        let none: (Word, Word) = (Val::constant(0), Val::constant(u32::MAX));
        let (key, place) = spread(cta, count, x.aligned(16), none, |_, at, best| {
            let values = Quad::read(x, at).places(first + at.i);
            values.fold(best, |(key, place), (here, x)| {
                let next = order(x);
                let better = next.gt(key);
                (better.select(next, key), better.select(here, place))
            })
        });
        let (key, place) = best(cta, key, place);
        let (keys, places) = (a.keys.row(row), a.places.row(row));
        cta.leader(|_| {
            keys.set(split, key);
            places.set(split, place);
        });
        let last = cta.arrive_last(a.counters.from(row), a.splits);
        cta.if_all(last, |cta| {
            let each = steps_over(cta, a.splits);
            let (key, place) = cta.fold_lanes(each, none, |_, i, (key, place)| {
                let (next, there) = (keys.at(i), places.at(i));
                let better = next.gt(key) | (next.equals(key) & there.lt(place));
                (better.select(next, key), better.select(there, place))
            });
            let (key, place) = best(cta, key, place);
            let finite = key.gt(INFINITE[0]) & key.lt(INFINITE[1]);
            let answer = finite.select(place, NOT_FINITE);
            cta.leader(|_| a.y.set(row, answer));
        });
    }
}

fn steps_over<'k>(
    cta: &Cta<'k>,
    n: Val<'k, u32, uni::Cta>,
) -> warpsmith_kernel::Steps<'k, uni::Lane> {
    warpsmith_kernel::steps(cta.thread(), n, cta.threads())
}

/// The index on the host.
pub fn argmax_reference(x: &[f32]) -> u32 {
    if !drawable(x) {
        return NOT_FINITE;
    }
    let mut best = 0;
    for (at, next) in x.iter().enumerate() {
        if *next > x[best] {
            best = at;
        }
    }
    best as u32
}

/// Random rows, ties, minus infinities, rows with one odd number, and rows of one kind only.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut shapes = vec![
        (1, 1, 1),
        (3, 31, 1),
        (2, 33, 2),
        (4, 257, 3),
        (1, 49_152, 6),
        (2, 1001, 128),
        (1, 5, 9),
    ];
    shapes.extend((0..4).map(|_| (rng.range(1, 5), rng.range(1, 5000), rng.range(1, 7))));
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    for (rows, n, splits) in shapes {
        for kind in [
            "random",
            "ties",
            "holes",
            "one odd",
            "only nans",
            "minus infinities",
        ] {
            let size = (rows * n) as usize;
            let x: Vec<f32> = match kind {
                "random" => rng.numbers(size, 30.0),
                "ties" => (0..size).map(|_| rng.pick(&[-1.0, -0.0, 0.0])).collect(),
                "holes" => {
                    let pool = [f32::NEG_INFINITY, -5.0, f32::MIN];
                    (0..size).map(|_| rng.pick(&pool)).collect()
                }
                "one odd" => {
                    let mut x = rng.numbers(size, 30.0);
                    let odd = rng.pick(&[f32::NAN, -f32::NAN, f32::INFINITY]);
                    x[rng.range(0, size as u32 - 1) as usize] = odd;
                    x
                }
                "only nans" => vec![f32::NAN; size],
                _ => vec![f32::NEG_INFINITY; size],
            };
            let y = x
                .chunks(n as usize)
                .map(|row| f64::from(argmax_reference(row)))
                .collect();
            let scratch = || Expected::scratch((rows * splits) as usize);
            cases.push(Box::new(Case {
                label: format!("[{rows}, {n}] in {splits}, {kind}"),
                kernel: Argmax,
                args: ArgmaxArgs {
                    x: x.into(),
                    y: Expected::exact(y),
                    keys: scratch(),
                    places: scratch(),
                    counters: Updated {
                        before: vec![0u32; rows as usize].into(),
                        after: Expected::exact(vec![0.0; rows as usize]),
                    },
                    rows,
                    n,
                    splits,
                },
            }));
        }
    }
    cases
}
