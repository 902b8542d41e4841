//! The log-probability of one token of each row.

use super::{clean, ln};
use crate::{
    case::{AnyCase, Case, EPS_F32, Expected, Random},
    finite::{class, drawable, is_drawable},
    quad::Quad,
    team::{Team, spread},
    values::{F32, Word},
};
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, Val, args, limits};

args! {
    /// `y[row] = logits[row, ids[row]] - ln(sum(exp(logits[row, ..limit])))`; NaN for an id from `limit` on, and where one of
    /// these logits is NaN or plus infinity or all are minus infinity.
    pub struct ProbabilityArgs {
        logits: In<f32>[rows, vocab], ids: In<u32>[rows], y: Out<f32>[rows],
        rows: Scalar<u32>, vocab: Scalar<u32>, limit: Scalar<u32>,
    }
}

/// The kernel: a CTA for each row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Probability;

impl Kernel for Probability {
    type Args = ProbabilityArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        "log_probability".into()
    }

    fn grid(&self, a: &ProbabilityArgs) -> Result<u64, LaunchError> {
        limits! {
            a.vocab: (1..1 << 31).contains(&a.vocab), "at least 1 and below 2^31";
            a.limit: (1..=a.vocab).contains(&a.limit), "1 to vocab";
            a.rows: a.rows < 1 << 31, "below 2^31";
        }
        Ok(a.rows.into())
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: ProbabilityArgs<InKernel<'k>>) {
        let row = cta.id();
        let x = a.logits.row(row);
        let aligned = x.aligned(16);
        let least: F32 = Val::constant(f32::NEG_INFINITY);
        let none = Word::constant(0);
        let own = spread(cta, a.limit, aligned, (least, none), |_, at, state| {
            Quad::read(x, at).fold(state, |(most, highest), x| {
                (most.max(clean(x)), highest.max(class(x)))
            })
        });
        let most = Team::total(cta, own.0, |a, b| a.max(b));
        let drawable = is_drawable(cta.reduce(own.1, |a, b| a.max(b)));
        let none: F32 = Val::constant(0.0);
        let own = spread(cta, a.limit, aligned, none, |_, at, sum| {
            Quad::read(x, at).fold(sum, |sum, x| {
                let x = clean(x);
                sum + x.equals(most).select(1.0, (x - most).exp())
            })
        });
        let sum = cta.sum_of(own);
        cta.leader(|_| {
            let id = a.ids.at(row);
            let own = clean(x.at(id.min(a.limit - 1)).varying());
            let value = own - most - ln(sum);
            let known = id.lt(a.limit) & drawable;
            a.y.set(row, known.select(value, f32::NAN));
        });
    }
}

/// What the sum of `n` exponentials, its logarithm and the differences round.
pub(super) fn tolerance(n: usize, most: f64, x: f64, sum: f64) -> f64 {
    let terms = (n as f64 / 256.0 + 44.0) * EPS_F32;
    // lg2.approx: 2^-22, absolute near 1 and relative elsewhere.
    let logarithm = (1.0 + sum.ln().abs()) * 8.0 * EPS_F32;
    terms + logarithm + 4.0 * EPS_F32 * (most.abs() + x.abs() + (x - most).abs())
}

pub(super) fn cases(rng: &mut Random, cases: &mut Vec<Box<dyn AnyCase>>) {
    for (rows, vocab, limit) in [(1, 1, 1), (3, 33, 32), (2, 5001, 5001), (5, 1024, 77)] {
        let mut logits = rng.numbers((rows * vocab) as usize, 9.0);
        if rows > 4 {
            // Behind the limit nothing counts.
            let places = [
                (2, limit, f32::NAN),
                (3, 5, f32::INFINITY),
                (4, 7, f32::NAN),
            ];
            for (row, column, odd) in places {
                logits[(row * vocab + column) as usize] = odd;
            }
            logits[..limit as usize].fill(f32::NEG_INFINITY);
        }
        let mut ids: Vec<u32> = (0..rows).map(|_| rng.range(0, limit - 1)).collect();
        if rows > 2 {
            ids[1] = limit;
        }
        let (mut want, mut error) = (Vec::new(), Vec::new());
        for (x, id) in logits.chunks(vocab as usize).zip(&ids) {
            let known = drawable(&x[..limit as usize]);
            let x: Vec<f64> = x[..limit as usize].iter().map(|x| f64::from(*x)).collect();
            let most = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = x.iter().map(|x| (x - most).exp()).sum();
            let own = x.get(*id as usize).copied().unwrap_or(f64::NAN);
            let value = own - most - sum.ln();
            want.push(if known { value } else { f64::NAN });
            error.push(tolerance(x.len(), most, own, sum));
        }
        cases.push(Box::new(Case {
            label: format!("{rows} rows, {limit} of {vocab}"),
            kernel: Probability,
            args: ProbabilityArgs {
                logits: logits.into(),
                ids: ids.into(),
                y: Expected::within(want, error),
                rows,
                vocab,
                limit,
            },
        }));
    }
}
