//! Mel filters: triangles over the frequencies of a frame, in Slaney's mel scale.
//!
//! Below 1 kHz mels are linear in frequency, 200/3 Hz each; above, each is a factor of `6.4^(1/27)`.
//! Triangle `i` of `n` rises from point `i` to `i + 1` and falls to `i + 2` of `n + 2` points even in
//! mel from 0 to half the sample rate, and has an area of one: its height is `2 / (f[i+2] - f[i])`.
//! That is what `librosa.filters.mel(sr=16000, n_fft=400)` gives, where Whisper's filters come from.

use crate::{FRAME, FREQUENCIES, SAMPLE_RATE};

const LINEAR: f64 = 200.0 / 3.0;
const KNEE_HZ: f64 = 1000.0;
const KNEE_MEL: f64 = KNEE_HZ / LINEAR;

/// Mels per natural logarithm above the knee.
fn log_step() -> f64 {
    6.4f64.ln() / 27.0
}

fn mel(hz: f64) -> f64 {
    if hz < KNEE_HZ {
        hz / LINEAR
    } else {
        KNEE_MEL + (hz / KNEE_HZ).ln() / log_step()
    }
}

fn hz(mel: f64) -> f64 {
    if mel < KNEE_MEL {
        mel * LINEAR
    } else {
        KNEE_HZ * ((mel - KNEE_MEL) * log_step()).exp()
    }
}

/// The filters `[n_mels, 201]`, row after row.
pub fn filters(n_mels: usize) -> Vec<f32> {
    let nyquist = f64::from(SAMPLE_RATE) / 2.0;
    let top = mel(nyquist);
    let points: Vec<f64> = (0..n_mels + 2)
        .map(|i| hz(top * i as f64 / (n_mels + 1) as f64))
        .collect();
    let mut rows = Vec::with_capacity(n_mels * FREQUENCIES);
    for triangle in points.windows(3) {
        let (left, centre, right) = (triangle[0], triangle[1], triangle[2]);
        let height = 2.0 / (right - left);
        rows.extend((0..FREQUENCIES).map(|k| {
            let f = k as f64 * f64::from(SAMPLE_RATE) / FRAME as f64;
            let rise = (f - left) / (centre - left);
            let fall = (right - f) / (right - centre);
            (height * rise.min(fall).max(0.0)) as f32
        }));
    }
    rows
}

/// The non-zero run of one filter.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    pub(crate) first: usize,
    pub(crate) weights: Vec<f64>,
}

/// The filters as bands.
pub(crate) fn bands(n_mels: usize) -> Vec<Band> {
    filters(n_mels)
        .chunks(FREQUENCIES)
        .map(|row| {
            let first = row.iter().position(|&w| w > 0.0).unwrap_or(0);
            let end = row
                .iter()
                .rposition(|&w| w > 0.0)
                .map_or(0, |last| last + 1);
            Band {
                first,
                weights: row[first.min(end)..end].iter().map(|&w| w.into()).collect(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_inverse() {
        for f in [0.0, 1.0, 999.9, 1000.0, 1000.1, 7999.0] {
            assert!((hz(mel(f)) - f).abs() < 1e-9, "{f}");
        }
    }

    #[test]
    fn bands_are_the_filters() {
        for n_mels in [1, 80, 128] {
            let rows = filters(n_mels);
            for (band, row) in bands(n_mels).iter().zip(rows.chunks(FREQUENCIES)) {
                let mut dense = vec![0.0; FREQUENCIES];
                for (w, k) in band.weights.iter().zip(band.first..) {
                    dense[k] = *w as f32;
                }
                assert_eq!(dense, row);
            }
        }
    }
}
