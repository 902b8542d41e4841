//! The frequencies of rotary pairs, in f64 on the host, with every scaling that models use folded in.

use std::f64::consts::PI;
use warpsmith_kernel::{LaunchError, require};

/// How frequencies are changed for contexts longer than those trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    /// They are not.
    None,
    /// Positions are divided by `factor` (Chen et al., 2023).
    Linear {
        /// New context over old.
        factor: f64,
    },
    /// Slow pairs are interpolated, fast ones kept (Peng et al., 2023).
    Yarn(Yarn),
    /// The rule of Llama 3.1: by wavelength, with a smooth passage.
    Llama3 {
        /// Divides the slow frequencies.
        factor: f64,
        /// Wavelengths above `context / low` are slow.
        low: f64,
        /// Wavelengths below `context / high` are kept.
        high: f64,
        /// Context trained on.
        context: u32,
    },
}

/// Parameters of YaRN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Yarn {
    /// New context over old.
    pub factor: f64,
    /// Context trained on.
    pub context: u32,
    /// Pairs that turn more often than this over the old context are kept.
    pub beta_fast: f64,
    /// Pairs that turn less often than this are interpolated.
    pub beta_slow: f64,
    /// How far fast pairs are kept: 1 is wholly, 0 is linear scaling.
    pub extrapolation: f64,
    /// Scales queries and keys, besides `1 + ln(factor) / 10`.
    pub attention: f64,
}

impl Yarn {
    /// The paper's parameters.
    pub fn new(factor: f64, context: u32) -> Self {
        Yarn {
            factor,
            context,
            beta_fast: 32.0,
            beta_slow: 1.0,
            extrapolation: 1.0,
            attention: 1.0,
        }
    }

    /// How much of pair `pair` is kept: 1 for fast pairs, 0 for slow ones, a ramp between.
    fn kept(&self, pair: u32, rotated: u32, base: f64) -> f64 {
        // The pair that turns `turns` times over the old context.
        let pair_of = |turns: f64| {
            let rotated = f64::from(rotated);
            rotated * (f64::from(self.context) / (turns * 2.0 * PI)).ln() / (2.0 * base.ln())
        };
        let low = pair_of(self.beta_fast).floor().max(0.0);
        let high = pair_of(self.beta_slow).ceil().min(f64::from(rotated) - 1.0);
        let ramp = (f64::from(pair) - low) / (high - low).max(0.001);
        (1.0 - ramp.clamp(0.0, 1.0)) * self.extrapolation
    }
}

/// What decides the frequencies of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Frequencies {
    /// Elements of a head that turn, an even number.
    pub rotated: u32,
    /// Pair p turns by `base^(-2p / rotated)` for each position.
    pub base: f64,
    /// Divides the frequency of each pair (`rope_freqs` of GGUF files).
    pub factors: Option<Vec<f32>>,
    /// Scaling.
    pub scaling: Scaling,
}

impl Frequencies {
    /// The angle of each pair for one position.
    ///
    /// # Errors
    /// If the parameters do not fit together.
    pub fn inverse(&self) -> Result<Vec<f32>, LaunchError> {
        let pairs = self.rotated / 2;
        require(
            self.rotated.is_multiple_of(2),
            "rotated",
            self.rotated.into(),
            "even",
        )?;
        require(
            self.base.is_finite() && self.base > 1.0,
            "base",
            self.base as u64,
            "a number above 1",
        )?;
        let factors = self.factors.as_deref().map_or(pairs as usize, <[f32]>::len);
        require(
            factors == pairs as usize,
            "factors",
            factors as u64,
            "one for each pair",
        )?;
        let inverse = (0..pairs).map(|pair| {
            let exponent = -2.0 * f64::from(pair) / f64::from(self.rotated);
            let factor = self
                .factors
                .as_ref()
                .map_or(1.0, |factors| factors[pair as usize].into());
            self.scaled(self.base.powf(exponent) / factor, pair) as f32
        });
        let inverse: Vec<f32> = inverse.collect();
        require(
            inverse.iter().all(|inverse| inverse.is_finite()),
            "scaling",
            0,
            "factors above 0",
        )?;
        Ok(inverse)
    }

    fn scaled(&self, frequency: f64, pair: u32) -> f64 {
        match self.scaling {
            Scaling::None => frequency,
            Scaling::Linear { factor } => frequency / factor,
            Scaling::Yarn(yarn) => {
                let kept = yarn.kept(pair, self.rotated, self.base);
                frequency / yarn.factor * (1.0 - kept) + frequency * kept
            }
            Scaling::Llama3 {
                factor,
                low,
                high,
                context,
            } => {
                let turns = f64::from(context) * frequency / (2.0 * PI);
                let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                frequency / factor * (1.0 - kept) + frequency * kept
            }
        }
    }

    /// What turned queries and keys are multiplied by.
    pub fn magnitude(&self) -> f32 {
        match self.scaling {
            Scaling::None | Scaling::Linear { .. } | Scaling::Llama3 { .. } => 1.0,
            Scaling::Yarn(yarn) if yarn.extrapolation == 0.0 => yarn.attention as f32,
            Scaling::Yarn(yarn) => (yarn.attention * (1.0 + 0.1 * yarn.factor.ln())) as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(scaling: Scaling) -> Frequencies {
        Frequencies {
            rotated: 128,
            base: 10_000.0,
            factors: None,
            scaling,
        }
    }

    #[test]
    fn the_plain_frequencies_fall_from_1_by_equal_ratios() {
        let inverse = plain(Scaling::None).inverse().unwrap();
        assert_eq!((inverse.len(), inverse[0]), (64, 1.0));
        assert!((inverse[32] - 0.01).abs() < 1e-9);
    }

    #[test]
    fn yarn_keeps_fast_pairs_and_interpolates_slow_ones() {
        let base = plain(Scaling::None).inverse().unwrap();
        let yarn = plain(Scaling::Yarn(Yarn::new(4.0, 4096)));
        let inverse = yarn.inverse().unwrap();
        // Pairs 20.94 and 45.03 turn 32 times and once in 4096 positions, so the ramp runs from 20 to 46.
        assert_eq!(inverse[..21], base[..21]);
        assert!(
            inverse[46..]
                .iter()
                .zip(&base[46..])
                .all(|(yarn, base)| *yarn == base / 4.0)
        );
        let kept = 1.0 - 13.0 / 26.0;
        let want = base[33] * (0.25 * (1.0 - kept) + kept);
        assert!((inverse[33] - want).abs() < 1e-9);
        assert!((yarn.magnitude() - 1.138_629_4).abs() < 1e-6);
    }

    #[test]
    fn llama3_divides_long_wavelengths_only() {
        let base = plain(Scaling::None).inverse().unwrap();
        let inverse = plain(Scaling::Llama3 {
            factor: 8.0,
            low: 1.0,
            high: 4.0,
            context: 8192,
        })
        .inverse()
        .unwrap();
        assert_eq!(inverse[..40], base[..40]);
        assert_eq!(inverse[63], base[63] / 8.0);
    }

    #[test]
    fn factors_divide_and_must_fit() {
        let mut frequencies = plain(Scaling::None);
        frequencies.factors = Some(vec![2.0; 64]);
        assert_eq!(frequencies.inverse().unwrap()[0], 0.5);
        frequencies.factors = Some(vec![2.0; 63]);
        assert!(frequencies.inverse().is_err());
        frequencies.factors = Some(vec![0.0; 64]);
        assert!(frequencies.inverse().is_err());
        frequencies.factors = None;
        frequencies.rotated = 3;
        assert!(frequencies.inverse().is_err());
    }
}
