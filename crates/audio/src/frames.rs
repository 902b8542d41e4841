//! Frames of a spectrum, one after the other, as base-ten logarithms of mel power.
//!
//! Frame `t` is `log10(max(filters · |DFT(hann ⊙ x[160 t - 200 .. 160 t + 200])|², 1e-10))`. Before the
//! first sample `x` is reflected about it; after the last one it is zero.

use std::f64::consts::TAU;
use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

use crate::filters::{Band, bands};
use crate::samples::{Missing, Samples};
use crate::speech::Detector;
use crate::{Error, FRAME, HOP};

/// The least power, and its logarithm.
const LEAST: f64 = 1e-10;
pub(crate) const SILENCE: f32 = -10.0;

/// Power spectra by mel bins.
pub(crate) struct Frames {
    samples: Samples,
    /// Who listens for speech, if anybody.
    pub(crate) detector: Option<Detector>,
    bands: Vec<Band>,
    hann: Vec<f64>,
    fft: Arc<dyn RealToComplex<f64>>,
    windowed: Vec<f64>,
    spectrum: Vec<Complex<f64>>,
    power: Vec<f64>,
    scratch: Vec<Complex<f64>>,
    /// The signal from the next frame's first sample on, once it is reflected.
    signal: Vec<f32>,
    /// Where in `signal` the next frame starts.
    at: usize,
    received: u64,
    ended: bool,
    reflected: bool,
    given: u64,
}

impl Frames {
    pub(crate) fn new(samples: Samples, n_mels: usize, detector: Option<Detector>) -> Frames {
        let fft = RealFftPlanner::new().plan_fft_forward(FRAME);
        Frames {
            samples,
            detector,
            bands: bands(n_mels),
            hann: (0..FRAME)
                .map(|i| 0.5 - 0.5 * (TAU * i as f64 / FRAME as f64).cos())
                .collect(),
            windowed: fft.make_input_vec(),
            spectrum: fft.make_output_vec(),
            power: vec![0.0; FRAME / 2 + 1],
            scratch: fft.make_scratch_vec(),
            fft,
            signal: Vec::new(),
            at: 0,
            received: 0,
            ended: false,
            reflected: false,
            given: 0,
        }
    }

    /// What could not be read so far.
    pub(crate) fn missing(&self) -> Vec<Missing> {
        self.samples.missing()
    }

    /// Samples received so far; all of them once there are no more frames.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Puts the next frame into `out`, or gives false once no frame has a sample of the sound in it.
    pub(crate) fn next(&mut self, out: &mut [f32]) -> Result<bool, Error> {
        while !self.ended && (!self.reflected || self.signal.len() - self.at < FRAME) {
            self.fill()?;
        }
        let frames = match self.received {
            0 => 0,
            samples => (samples + FRAME as u64 / 2).div_ceil(HOP as u64),
        };
        if self.ended && self.given >= frames {
            return Ok(false);
        }
        let there = &self.signal[self.at.min(self.signal.len())..];
        for (i, value) in self.windowed.iter_mut().enumerate() {
            *value = there.get(i).map_or(0.0, |&x| f64::from(x) * self.hann[i]);
        }
        self.fft
            .process_with_scratch(&mut self.windowed, &mut self.spectrum, &mut self.scratch)
            .expect("buffers are the plan's own");
        for (power, value) in self.power.iter_mut().zip(&self.spectrum) {
            *power = value.norm_sqr();
        }
        for (value, band) in out.iter_mut().zip(&self.bands) {
            let power = &self.power[band.first..][..band.weights.len()];
            let sum: f64 = power.iter().zip(&band.weights).map(|(p, w)| p * w).sum();
            *value = sum.max(LEAST).log10() as f32;
        }
        self.at += HOP;
        self.given += 1;
        Ok(true)
    }

    /// Takes more samples, and reflects the first ones once they are there.
    fn fill(&mut self) -> Result<(), Error> {
        self.signal.drain(..self.at.min(self.signal.len()));
        self.at = 0;
        let before = self.signal.len();
        self.ended = !self.samples.next(&mut self.signal)?;
        self.received += (self.signal.len() - before) as u64;
        if let Some(detector) = &mut self.detector {
            detector.listen(&self.signal[before..]);
            if self.ended {
                detector.end();
            }
        }
        let half = FRAME / 2;
        if !self.reflected && (self.ended || self.signal.len() > half) {
            let first: Vec<f32> = (1..=half)
                .rev()
                .map(|i| self.signal.get(i).copied().unwrap_or(0.0))
                .collect();
            self.signal.splice(0..0, first);
            self.reflected = true;
        }
        Ok(())
    }
}
