//! How the next token is chosen: the settings, and the slow and obvious reference in f64.
//!
//! Order: repetition penalty, temperature, top-k, softmax, top-p, min-p, one draw.

use crate::Error;
use warpsmith_library::finite::drawable;

/// Settings of the sampler. The default is greedy: temperature 0 and nothing else.
///
/// ```
/// use warpsmith_models::sampling::SamplerConfig;
///
/// let greedy = SamplerConfig::default(); // a temperature of 0
/// let varied = SamplerConfig { temperature: 0.8, top_p: 0.95, seed: 7, ..greedy };
/// assert!(varied.validate().is_ok());
/// assert!(SamplerConfig { top_p: 1.5, ..varied }.validate().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplerConfig {
    /// Divides the logits; 0 takes the highest logit. Finite, at least 0.
    pub temperature: f32,
    /// Keeps the k highest logits; 0 keeps all.
    pub top_k: u32,
    /// Keeps the fewest tokens whose probabilities add up to this. Above 0, at most 1 (all).
    pub top_p: f32,
    /// Keeps tokens at least this fraction as probable as the best. At least 0 (all), below 1.
    pub min_p: f32,
    /// Positive logits of recent tokens are divided by it, others multiplied. Finite, above 0.
    pub repeat_penalty: f32,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for SamplerConfig {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repeat_penalty: 1.0,
            seed: 0,
        }
    }
}

impl SamplerConfig {
    /// Checks that every setting is in its range.
    ///
    /// # Errors
    /// The first setting that is not, with its range.
    pub fn validate(&self) -> Result<(), Error> {
        let checks = [
            (
                "temperature",
                "a finite number from 0",
                self.temperature,
                self.temperature.is_finite() && self.temperature >= 0.0,
            ),
            (
                "top_p",
                "a number above 0 up to 1",
                self.top_p,
                self.top_p > 0.0 && self.top_p <= 1.0,
            ),
            (
                "min_p",
                "a number from 0 up to but not 1",
                self.min_p,
                (0.0..1.0).contains(&self.min_p),
            ),
            (
                "repeat_penalty",
                "a finite number above 0",
                self.repeat_penalty,
                self.repeat_penalty.is_finite() && self.repeat_penalty > 0.0,
            ),
        ];
        match checks.into_iter().find(|check| !check.3) {
            Some((field, want, got, _)) => Err(Error::Sampler { field, want, got }),
            None => Ok(()),
        }
    }
}

/// The uniform number in [0, 1) of a step: a counter-based generator with no state.
///
/// With `pcg` the 32-bit PCG output permutation (RXS-M-XS) of one LCG step,
/// `h = pcg(pcg(pcg(seed_low) ^ seed_high) ^ step)` and the result is the top 24 bits of `h`
/// times 2^-24. Only 32-bit integer operations, so a kernel computes the same bits.
pub fn uniform(seed: u64, step: u32) -> f32 {
    let h = pcg(pcg(pcg(seed as u32) ^ (seed >> 32) as u32) ^ step);
    (h >> 8) as f32 * (1.0 / (1 << 24) as f32)
}

fn pcg(input: u32) -> u32 {
    let state = input.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

/// The token chosen from `logits` at `step`, after the tokens in `recent`.
///
/// - penalty: for each distinct id of `recent` in range, l = l / r if l > 0, else l * r;
/// - temperature t: l / t; t = 0 returns the highest l, the lowest id among equals;
/// - top-k: the k highest, lower ids first among equals;
/// - p = softmax over those, sorted from the highest down (lower ids first);
/// - top-p: the shortest front of the list whose sum is at least top_p;
/// - min-p: of those, p >= min_p * p_first;
/// - draw: the first token whose running sum exceeds u * (sum of what is left), u = [`uniform`].
///
/// `None` where no token can be drawn: a logit is NaN or plus infinity, or all are minus infinity. The settings are taken
/// as [`SamplerConfig::validate`] allows them. Costs a sort, in f64.
pub fn reference_sample(
    logits: &[f32],
    recent: &[u32],
    config: &SamplerConfig,
    step: u32,
) -> Option<u32> {
    if !drawable(logits) {
        return None;
    }
    let mut logits: Vec<f64> = logits.iter().map(|l| f64::from(*l)).collect();
    let mut penalized: Vec<u32> = recent.to_vec();
    penalized.sort_unstable();
    penalized.dedup();
    let penalty = f64::from(config.repeat_penalty);
    for id in penalized {
        if let Some(l) = logits.get_mut(id as usize) {
            *l = if *l > 0.0 { *l / penalty } else { *l * penalty };
        }
    }

    // adding zero makes the two zeros equal
    logits.iter_mut().for_each(|l| *l += 0.0);

    let mut order: Vec<u32> = (0..logits.len() as u32).collect();
    order.sort_by(|&a, &b| {
        logits[b as usize]
            .total_cmp(&logits[a as usize])
            .then(a.cmp(&b))
    });
    let best = *order.first()?;
    if config.temperature == 0.0 {
        return Some(best);
    }
    if config.top_k > 0 {
        order.truncate(config.top_k as usize);
    }

    let temperature = f64::from(config.temperature);
    let max = logits[best as usize];
    // a maximum that a penalty made infinite has weight 1 like any other maximum
    let weight = |id: u32| match logits[id as usize] {
        l if l == max => 1.0,
        l => ((l - max) / temperature).exp(),
    };
    let weights: Vec<f64> = order.iter().map(|&id| weight(id)).collect();
    let sum: f64 = weights.iter().sum();
    let mut kept: Vec<f64> = weights.iter().map(|w| w / sum).collect();

    if config.top_p < 1.0 {
        let mut running = 0.0;
        let enough = kept.iter().position(|p| {
            running += p;
            running >= f64::from(config.top_p)
        });
        kept.truncate(enough.map_or(kept.len(), |last| last + 1));
    }
    let least = f64::from(config.min_p) * kept[0];
    kept.truncate(kept.partition_point(|&p| p >= least));

    let target = f64::from(uniform(config.seed, step)) * kept.iter().sum::<f64>();
    let mut running = 0.0;
    let drawn = kept.iter().position(|p| {
        running += p;
        running > target
    });
    Some(order[drawn.unwrap_or(kept.len() - 1)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn warm() -> SamplerConfig {
        SamplerConfig {
            temperature: 1.0,
            ..SamplerConfig::default()
        }
    }

    /// How often each id is drawn over `steps`.
    fn counts(logits: &[f32], recent: &[u32], config: &SamplerConfig, steps: u32) -> Vec<u32> {
        let mut counts = vec![0; logits.len()];
        for step in 0..steps {
            let drawn = reference_sample(logits, recent, config, step).expect("a token");
            counts[drawn as usize] += 1;
        }
        counts
    }

    #[test]
    fn temperature_zero_takes_the_lowest_of_the_best() {
        let greedy = SamplerConfig::default();
        let sample = |logits: &[f32]| reference_sample(logits, &[], &greedy, 0);
        assert_eq!(sample(&[1.0, 3.0, 3.0, f32::NEG_INFINITY]), Some(1));
        assert_eq!(sample(&[-0.0, 0.0]), Some(0));
    }

    #[test]
    fn the_penalty_counts_each_recent_token_once() {
        let config = SamplerConfig {
            repeat_penalty: 2.0,
            ..SamplerConfig::default()
        };
        assert_eq!(
            reference_sample(&[3.0, 2.0, 1.0], &[0, 0, 9], &config, 0),
            Some(1)
        );
        assert_eq!(
            reference_sample(&[5.0, 2.0, 1.0], &[0, 0, 0], &config, 0),
            Some(0)
        );
        assert_eq!(reference_sample(&[-1.0, -1.5], &[0], &config, 0), Some(1));
    }

    #[test]
    fn draws_follow_the_softmax() {
        let logits = [0.0, 1.0, 2.0, -1.0];
        let steps = 40_000;
        let got = counts(&logits, &[], &warm(), steps);
        let sum: f64 = logits.iter().map(|&l| f64::from(l).exp()).sum();
        for (l, n) in logits.iter().zip(got) {
            let p = f64::from(*l).exp() / sum;
            let deviation = (p * (1.0 - p) * f64::from(steps)).sqrt();
            let off = (f64::from(n) - p * f64::from(steps)).abs();
            assert!(
                off < 5.0 * deviation,
                "{l}: {n}, expected {}",
                p * f64::from(steps)
            );
        }
    }

    #[test]
    fn each_filter_keeps_what_it_says() {
        // probabilities 0.5, 0.25, 0.125, 0.125 at ids 2, 0, 1, 3
        let logits = [0.25f32, 0.125, 0.5, 0.125].map(f32::ln);
        let kept = |config| -> Vec<usize> {
            let counts = counts(&logits, &[], &config, 400);
            (0..4).filter(|&id| counts[id] > 0).collect()
        };
        assert_eq!(kept(warm()), [0, 1, 2, 3]);
        assert_eq!(kept(SamplerConfig { top_k: 3, ..warm() }), [0, 1, 2]);
        assert_eq!(
            kept(SamplerConfig {
                top_p: 0.6,
                ..warm()
            }),
            [0, 2]
        );
        assert_eq!(
            kept(SamplerConfig {
                top_p: 1e-6,
                ..warm()
            }),
            [2]
        );
        assert_eq!(
            kept(SamplerConfig {
                min_p: 0.3,
                ..warm()
            }),
            [0, 2]
        );
        assert_eq!(
            kept(SamplerConfig {
                min_p: 0.9,
                ..warm()
            }),
            [2]
        );
    }

    #[test]
    fn nothing_is_drawn_from_logits_that_are_not_finite() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for logits in [&[inf, 0.0][..], &[0.0, nan], &[-inf, -inf], &[nan], &[]] {
            for config in [warm(), SamplerConfig::default()] {
                let drawn = reference_sample(logits, &[], &config, 3);
                assert_eq!(drawn, None, "{logits:?}");
            }
        }
        // What is impossible is never drawn.
        let got = counts(&[0.5, -inf, 0.5], &[], &warm(), 200);
        assert!(got[0] > 50 && got[1] == 0 && got[2] > 50, "{got:?}");
    }

    #[test]
    fn uniform_is_fixed_for_ever() {
        // computed independently from the formula in the documentation
        for (seed, step, want) in UNIFORM {
            assert_eq!(
                uniform(seed, step).to_bits(),
                (want as f32 / 16_777_216.0).to_bits()
            );
        }
    }

    const UNIFORM: [(u64, u32, u32); 4] = [
        (0, 0, 8379828),
        (0, 1, 13186708),
        (42, 7, 2680434),
        (u64::MAX, u32::MAX, 12025152),
    ];

    #[test]
    fn uniform_fills_its_range_evenly() {
        let mut bins = [0u32; 16];
        for step in 0..16_000 {
            bins[(uniform(7, step) * 16.0) as usize] += 1;
        }
        assert!(bins.iter().all(|&n| (850..1150).contains(&n)), "{bins:?}");
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let bad = [
            (
                "temperature",
                SamplerConfig {
                    temperature: f32::NAN,
                    ..warm()
                },
            ),
            (
                "temperature",
                SamplerConfig {
                    temperature: -0.1,
                    ..warm()
                },
            ),
            (
                "temperature",
                SamplerConfig {
                    temperature: f32::INFINITY,
                    ..warm()
                },
            ),
            (
                "top_p",
                SamplerConfig {
                    top_p: 0.0,
                    ..warm()
                },
            ),
            (
                "top_p",
                SamplerConfig {
                    top_p: 1.5,
                    ..warm()
                },
            ),
            (
                "min_p",
                SamplerConfig {
                    min_p: 1.0,
                    ..warm()
                },
            ),
            (
                "min_p",
                SamplerConfig {
                    min_p: f32::NAN,
                    ..warm()
                },
            ),
            (
                "repeat_penalty",
                SamplerConfig {
                    repeat_penalty: 0.0,
                    ..warm()
                },
            ),
        ];
        for (want, config) in bad {
            match config.validate() {
                Err(Error::Sampler { field, .. }) => assert_eq!(field, want),
                other => panic!("{want}: {other:?}"),
            }
        }
        SamplerConfig::default().validate().unwrap();
    }

    proptest! {
        #[test]
        fn the_token_drawn_is_among_the_k_best(
            logits in prop::collection::vec(-20f32..20.0, 1..40), k in 1u32..5, step: u32, seed: u64)
        {
            let config = SamplerConfig { top_k: k, seed, ..warm() };
            let drawn = reference_sample(&logits, &[], &config, step).expect("a token");
            let drawn = logits[drawn as usize];
            let better = logits.iter().filter(|&&l| l > drawn).count();
            prop_assert!(better < k as usize);
        }
    }
}
