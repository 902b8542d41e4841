//! Whether what was decoded is good enough, and what to try where it is not.
//!
//! A result that repeats itself (it compresses well) or that the model does not believe in (a low mean
//! log-probability) is decoded again, by draws at a higher temperature. A window that the model calls
//! silent is skipped, unless it believes in what it wrote.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Temperatures to try, one after the other.
pub const TEMPERATURES: [f32; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];

/// What was decoded of one window.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The sampled tokens, without the end.
    pub tokens: Vec<u32>,
    /// The mean log-probability of the tokens and the end.
    pub avg_log_prob: f64,
    /// How probable the model found silence.
    pub no_speech_prob: f64,
    /// The temperature it was drawn at; 0 for the most probable.
    pub temperature: f32,
    /// [`compression_ratio`] of its text.
    pub compression_ratio: f64,
}

/// Limits beyond which a result is not taken; none where a limit is off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// A text that compresses better than this repeats itself.
    pub compression_ratio: Option<f64>,
    /// A mean log-probability below this is a failure.
    pub log_prob: Option<f64>,
    /// Silence more probable than this is silence.
    pub no_speech: Option<f64>,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            compression_ratio: Some(2.4),
            log_prob: Some(-1.0),
            no_speech: Some(0.6),
        }
    }
}

impl Thresholds {
    /// Whether a result has failed, so that a higher temperature is to be tried.
    pub fn failed(&self, result: &Decoded) -> bool {
        let repetitive = self
            .compression_ratio
            .is_some_and(|limit| result.compression_ratio > limit);
        let doubtful = self.doubtful(result);
        // What is silence is not tried again, however much it repeats itself.
        (repetitive || doubtful) && !(self.silent(result) && doubtful)
    }

    /// Whether a window is to be skipped as silence.
    pub fn skipped(&self, result: &Decoded) -> bool {
        let believed = self
            .log_prob
            .is_some_and(|limit| result.avg_log_prob > limit);
        self.silent(result) && !believed
    }

    fn doubtful(&self, result: &Decoded) -> bool {
        self.log_prob
            .is_some_and(|limit| result.avg_log_prob < limit)
    }

    fn silent(&self, result: &Decoded) -> bool {
        self.no_speech
            .is_some_and(|limit| result.no_speech_prob > limit)
    }

    /// Decodes at one temperature after the other until a result is taken; the last one always is.
    /// Nothing if there are no temperatures.
    ///
    /// # Errors
    /// What `decode` says.
    pub fn decode<E>(
        &self,
        temperatures: &[f32],
        mut decode: impl FnMut(f32) -> Result<Decoded, E>,
    ) -> Result<Option<Decoded>, E> {
        let mut last = None;
        for &temperature in temperatures {
            let result = decode(temperature)?;
            let failed = self.failed(&result);
            last = Some(result);
            if !failed {
                break;
            }
        }
        Ok(last)
    }
}

/// By what factor zlib shortens a text; 0 for the empty one.
pub fn compression_ratio(text: &str) -> f64 {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let packed = encoder
        .write_all(text.as_bytes())
        .and_then(|()| encoder.finish())
        .expect("memory takes what it is given");
    text.len() as f64 / packed.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(avg_log_prob: f64, no_speech_prob: f64, compression_ratio: f64) -> Decoded {
        Decoded {
            tokens: Vec::new(),
            avg_log_prob,
            no_speech_prob,
            temperature: 0.0,
            compression_ratio,
        }
    }

    #[test]
    fn results_fail_as_the_published_rules_say() {
        let limits = Thresholds::default();
        for (avg, no_speech, ratio, failed, skipped) in [
            (-0.3, 0.1, 1.5, false, false),
            (-1.0, 0.1, 2.4, false, false),
            (-1.1, 0.1, 1.5, true, false),
            (-0.3, 0.1, 2.5, true, false),
            // silence that the model does not believe in text for
            (-1.1, 0.7, 1.5, false, true),
            (-1.1, 0.7, 2.5, false, true),
            // text that it believes in, whatever it says of silence
            (-0.3, 0.9, 1.5, false, false),
            (-0.3, 0.9, 2.5, true, false),
            // exactly at the limit it is neither doubtful nor believed
            (-1.0, 0.9, 1.5, false, true),
        ] {
            let result = result(avg, no_speech, ratio);
            assert_eq!(limits.failed(&result), failed, "{result:?}");
            assert_eq!(limits.skipped(&result), skipped, "{result:?}");
        }
    }

    #[test]
    fn without_limits_everything_is_taken() {
        let limits = Thresholds {
            compression_ratio: None,
            log_prob: None,
            no_speech: None,
        };
        assert!(!limits.failed(&result(-9.0, 1.0, 99.0)));
        assert!(!limits.skipped(&result(-9.0, 1.0, 99.0)));
        let only_silence = Thresholds {
            no_speech: Some(0.6),
            ..limits
        };
        assert!(only_silence.skipped(&result(-0.1, 0.9, 1.0)));
    }

    #[test]
    fn temperatures_rise_until_a_result_is_taken() {
        let limits = Thresholds::default();
        for (good_from, want) in [(0.0, 0.0), (0.4, 0.4), (9.0, 1.0)] {
            let mut tried = Vec::new();
            let taken = limits.decode(&TEMPERATURES, |temperature| {
                tried.push(temperature);
                let avg = if temperature >= good_from { -0.5 } else { -2.0 };
                Ok::<_, ()>(Decoded {
                    temperature,
                    ..result(avg, 0.0, 1.0)
                })
            });
            let taken = taken.expect("no error").expect("a result");
            assert_eq!(taken.temperature, want);
            let upto = TEMPERATURES.iter().filter(|&&t| t <= want).count();
            assert_eq!(tried, TEMPERATURES[..upto]);
        }
        let none = limits.decode(&[], |_| Err("not asked"));
        assert_eq!(none, Ok(None));
        assert_eq!(limits.decode(&[0.0], |_| Err("said")), Err("said"));
    }

    #[test]
    fn what_repeats_itself_compresses_well() {
        assert_eq!(compression_ratio(""), 0.0);
        assert!(compression_ratio("And so, my fellow Americans") < 1.1);
        assert!(compression_ratio(&"ha ha ".repeat(40)) > 8.0);
    }
}
