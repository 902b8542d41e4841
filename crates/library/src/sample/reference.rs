//! The sampler in f64, by sorting; and cases in which no decision hangs on the error of f32.

use super::{Sample, SampleArgs};
use crate::{
    case::{AnyCase, Case, Expected, Random},
    finite::{NOT_FINITE, drawable},
};

/// How a row is sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Divides the logits; 0 takes the highest.
    pub temperature: f32,
    /// Keeps the fewest tokens whose probabilities reach this; 1 keeps all.
    pub top_p: f32,
    /// Keeps tokens at least this fraction as probable as the best.
    pub min_p: f32,
    /// Positive logits of recent tokens are divided by it, others multiplied.
    pub penalty: f32,
    /// Keeps the k highest; 0 keeps all.
    pub top_k: u32,
    /// Seed.
    pub seed: u64,
}

impl Settings {
    /// A row of `floats` as the kernel reads it.
    pub fn floats(&self) -> [f32; 4] {
        [self.temperature, self.top_p, self.min_p, self.penalty]
    }

    /// A row of `integers` as the kernel reads it.
    pub fn integers(&self) -> [u32; 3] {
        [self.top_k, self.seed as u32, (self.seed >> 32) as u32]
    }
}

/// The uniform number in [0, 1) of a step: three rounds of the 32-bit PCG permutation, 24 bits.
pub fn uniform(seed: u64, step: u32) -> f32 {
    let pcg = |input: u32| {
        let state = input.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
        (word >> 22) ^ word
    };
    let h = pcg(pcg(pcg(seed as u32) ^ (seed >> 32) as u32) ^ step);
    (h >> 8) as f32 / (1 << 24) as f32
}

/// The token, and how near the nearest decision was to falling otherwise, as a part of the whole; [`NOT_FINITE`], for
/// sure, where none can be drawn.
pub fn sample_reference(
    logits: &[f32],
    recent: &[u32],
    settings: &Settings,
    step: u32,
) -> (u32, f64) {
    if !drawable(logits) {
        return (NOT_FINITE, 1.0);
    }
    let mut logits: Vec<f64> = logits.iter().map(|x| f64::from(*x)).collect();
    let mut punished = recent.to_vec();
    punished.sort_unstable();
    punished.dedup();
    let penalty = f64::from(settings.penalty);
    for id in punished {
        if let Some(x) = logits.get_mut(id as usize) {
            *x = if *x > 0.0 { *x / penalty } else { *x * penalty };
        }
    }
    logits.iter_mut().for_each(|x| *x += 0.0);
    let mut order: Vec<u32> = (0..logits.len() as u32).collect();
    order.sort_by(|a, b| {
        let (x, y) = (logits[*a as usize], logits[*b as usize]);
        y.total_cmp(&x).then(a.cmp(b))
    });
    if settings.temperature == 0.0 {
        return (order[0], 1.0);
    }
    if settings.top_k > 0 {
        order.truncate(settings.top_k as usize);
    }
    let most = logits[order[0] as usize];
    let mut kept: Vec<f64> = order
        .iter()
        .map(|id| match logits[*id as usize] {
            x if x == most => 1.0,
            x => ((x - most) / f64::from(settings.temperature)).exp(),
        })
        .collect();
    let sum: f64 = kept.iter().sum();
    kept.iter_mut().for_each(|weight| *weight /= sum);
    let mut margin = 1.0f64;
    let crossing = |kept: &[f64], beyond: &dyn Fn(f64) -> bool, at: f64, margin: &mut f64| {
        let mut running = 0.0;
        let found = kept.iter().position(|p| {
            *margin = margin.min((running - at).abs());
            running += p;
            *margin = margin.min((running - at).abs());
            beyond(running)
        });
        found.unwrap_or(kept.len() - 1)
    };
    if settings.top_p < 1.0 {
        let limit = f64::from(settings.top_p);
        let last = crossing(&kept, &|sum| sum >= limit, limit, &mut margin);
        kept.truncate(last + 1);
    }
    let least = f64::from(settings.min_p) * kept[0];
    if settings.min_p > 0.0 {
        for p in &kept {
            margin = margin.min((p - least).abs() / least);
        }
    }
    kept.truncate(kept.partition_point(|p| *p >= least));
    let whole: f64 = kept.iter().sum();
    kept.iter_mut().for_each(|p| *p /= whole);
    let target = f64::from(uniform(settings.seed, step));
    let drawn = crossing(&kept, &|sum| sum > target, target, &mut margin);
    (order[drawn], margin)
}

/// How logits are spread.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// As of a model: a few stand out.
    Peaked,
    /// Nearly equal.
    Flat,
    /// Many exactly equal.
    Ties,
    /// Peaked, with tokens that cannot be.
    Holes,
    /// Peaked, but for one that is NaN or infinite.
    Damaged,
    /// Nothing but one number that is none.
    Nothing,
}

impl Kind {
    fn logits(self, rng: &mut Random, n: u32) -> Vec<f32> {
        let damaged = rng.range(0, n - 1);
        let odd = rng.pick(&[f32::NAN, -f32::NAN, f32::INFINITY]);
        let nothing = rng.pick(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY]);
        (0..n)
            .map(|at| match self {
                Kind::Peaked => (0..4).map(|_| rng.number(6.0)).sum(),
                Kind::Flat => rng.number(0.5),
                Kind::Ties => rng.pick(&[-1.0, 0.0, 0.5]),
                Kind::Holes if at > 0 && rng.range(0, 9) < 2 => f32::NEG_INFINITY,
                Kind::Damaged if at == damaged => odd,
                Kind::Nothing => nothing,
                Kind::Holes | Kind::Damaged => (0..4).map(|_| rng.number(6.0)).sum(),
            })
            .collect()
    }
}

fn settings(rng: &mut Random) -> Settings {
    Settings {
        temperature: rng.pick(&[0.0, 0.3, 0.8, 1.0, 1.5]),
        top_p: rng.pick(&[1.0, 0.95, 0.5]),
        min_p: rng.pick(&[0.0, 0.0, 0.05]),
        penalty: rng.pick(&[1.0, 1.1, 1.5]),
        top_k: rng.pick(&[0, 1, 40, 900]),
        seed: rng.bits(),
    }
}

/// f32 sums of this many terms err by less.
const SURE: f64 = 2e-5;

pub(super) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    let kinds = [
        Kind::Peaked,
        Kind::Flat,
        Kind::Ties,
        Kind::Holes,
        Kind::Damaged,
        Kind::Nothing,
    ];
    let mut shapes = vec![
        (1, 1, Kind::Peaked),
        (2, 2, Kind::Flat),
        (2, 1, Kind::Nothing),
        (1, 49_152, Kind::Peaked),
    ];
    for n in [33, 257, 1000, 4099] {
        shapes.extend(kinds.map(|kind| (3, n, kind)));
    }
    for (rows, vocab, kind) in shapes {
        let window = rng.range(1, 70);
        let (mut logits, mut floats, mut integers) = (Vec::new(), Vec::new(), Vec::new());
        let (mut steps, mut recents, mut seens, mut ids) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for index in 0..rows {
            // Decisions too near to call are not asked for; where there are only such, the best of clear logits is.
            for attempt in 0.. {
                let clear = attempt >= 20;
                let kind = if clear { Kind::Peaked } else { kind };
                let row = kind.logits(rng, vocab);
                let mut settings = settings(rng);
                if clear {
                    (settings.temperature, settings.penalty) = (0.0, 1.0);
                }
                if index == 0 && vocab >= 1000 && !clear {
                    // Top-p takes its part of more tokens than can be ranked, and not just half of equal ones.
                    (settings.temperature, settings.top_k, settings.top_p) = (1.0, 900, 0.4997);
                }
                let step = rng.range(0, 5000);
                let recent: Vec<u32> = (0..window)
                    .map(|_| rng.range(0, vocab + vocab / 8))
                    .collect();
                let seen = rng.range(0, 2 * window);
                let filled = &recent[..seen.min(window) as usize];
                let (id, margin) = sample_reference(&row, filled, &settings, step);
                if !clear && (margin < SURE && vocab < 10_000 || margin < SURE / 10.0) {
                    continue;
                }
                logits.extend(row);
                floats.extend(settings.floats());
                integers.extend(settings.integers());
                steps.push(step);
                recents.extend(recent);
                seens.push(seen);
                ids.push(f64::from(id));
                break;
            }
        }
        cases.push(Box::new(Case {
            label: format!("[{rows}, {vocab}] {kind:?}, window {window}"),
            kernel: Sample {
                threads: rng.pick(&[256, 1024]),
            },
            args: SampleArgs {
                scratch: Expected::scratch(logits.len() * 2),
                logits: logits.into(),
                floats: floats.into(),
                integers: integers.into(),
                steps: steps.into(),
                recent: recents.into(),
                seen: seens.into(),
                y: Expected::exact(ids),
                rows,
                vocab,
                window,
            },
        }));
    }
    cases
}
