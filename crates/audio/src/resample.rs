//! Any rate to 16 kHz, in a stream, with nothing lost at the ends.

use rubato::audioadapter_buffers::direct::InterleavedSlice;
use rubato::{Fft, FixedSync, Indexing, Resampler as _, WindowFunction};

use crate::{Error, SAMPLE_RATE};

/// The least samples of a block of the transform.
const LEAST_BLOCK: u32 = 2048;

/// A resampler of one channel.
pub(crate) struct Resampler {
    /// In f64, as the spectrum is: the transforms for one more type are megabytes of code.
    fft: Fft<f64>,
    rate: u32,
    /// Samples that are not yet a chunk.
    pending: Vec<f64>,
    /// What a chunk becomes.
    chunk: Vec<f64>,
    received: u64,
    given: u64,
    /// Samples still to be dropped: the delay of the filter.
    delay: usize,
}

impl Resampler {
    pub(crate) fn new(rate: u32) -> Result<Resampler, Error> {
        // A block is a multiple of what the ratio asks for. An even one: the middle of a filter of odd
        // length would lie half a sample off.
        let unit = rate / gcd(rate, SAMPLE_RATE);
        let block = unit * LEAST_BLOCK.div_ceil(unit).next_multiple_of(2);
        let fft = Fft::new_custom(
            rate as usize,
            SAMPLE_RATE as usize,
            block as usize,
            1,
            1,
            WindowFunction::BlackmanHarris2,
            FixedSync::Input,
        )
        .map_err(reason)?;
        Ok(Resampler {
            rate,
            pending: Vec::new(),
            chunk: vec![0.0; fft.output_frames_max()],
            received: 0,
            given: 0,
            delay: fft.output_delay(),
            fft,
        })
    }

    /// Takes samples and appends what they become to `out`.
    pub(crate) fn push(&mut self, samples: &[f32], out: &mut Vec<f32>) -> Result<(), Error> {
        self.received += samples.len() as u64;
        self.pending
            .extend(samples.iter().map(|&sample| f64::from(sample)));
        let mut used = 0;
        while self.pending.len() - used >= self.fft.input_frames_next() {
            used += self.step(used, None, out)?;
        }
        self.pending.drain(..used);
        Ok(())
    }

    /// Appends what is still inside, so that the length is the sound's at the new rate, rounded up.
    pub(crate) fn finish(&mut self, out: &mut Vec<f32>) -> Result<(), Error> {
        let whole = self.received * u64::from(SAMPLE_RATE);
        let want = whole.div_ceil(u64::from(self.rate));
        while self.given < want {
            let left = self.pending.len();
            self.step(0, Some(left), out)?;
            self.pending.clear();
        }
        out.truncate(out.len() - (self.given - want) as usize);
        self.given = want;
        Ok(())
    }

    /// Resamples one chunk from `pending[from..]`, of which only `partial` samples may be there.
    fn step(
        &mut self,
        from: usize,
        partial: Option<usize>,
        out: &mut Vec<f32>,
    ) -> Result<usize, Error> {
        let input = &self.pending[from..];
        let input = InterleavedSlice::new(input, 1, input.len()).map_err(reason)?;
        let capacity = self.chunk.len();
        let mut output = InterleavedSlice::new_mut(&mut self.chunk, 1, capacity).map_err(reason)?;
        let mut indexing = Indexing::new();
        indexing.partial_len = partial;
        let (read, written) = self
            .fft
            .process_into_buffer(&input, &mut output, Some(&indexing))
            .map_err(reason)?;
        let dropped = self.delay.min(written);
        self.delay -= dropped;
        out.extend(
            self.chunk[dropped..written]
                .iter()
                .map(|&sample| sample as f32),
        );
        self.given += (written - dropped) as u64;
        Ok(read)
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn reason(error: impl std::fmt::Display) -> Error {
    Error::Decode {
        reason: format!("resampling: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resampled(rate: u32, samples: &[f32], block: usize) -> Vec<f32> {
        let mut resampler = Resampler::new(rate).expect("a sane rate");
        let mut out = Vec::new();
        for block in samples.chunks(block) {
            resampler.push(block, &mut out).expect("resampled");
        }
        resampler.finish(&mut out).expect("resampled");
        out
    }

    #[test]
    fn a_tone_keeps_its_pitch_phase_and_length() {
        for rate in [8_000, 11_025, 22_050, 44_100, 48_000, 96_000, 44_101] {
            let len = rate as usize + 17;
            let tone = |rate: u32, i: usize| {
                (440.0 * std::f64::consts::TAU * i as f64 / f64::from(rate)).sin() as f32
            };
            let samples: Vec<f32> = (0..len).map(|i| tone(rate, i)).collect();
            let out = resampled(rate, &samples, 1000);
            assert_eq!(out.len(), (len * 16_000).div_ceil(rate as usize), "{rate}");
            // The ends see the silence around the tone.
            for i in 1000..out.len() - 1000 {
                let want = tone(16_000, i);
                assert!(
                    (out[i] - want).abs() < 2e-3,
                    "{rate} {i}: {} {want}",
                    out[i]
                );
            }
        }
    }

    #[test]
    fn what_is_above_the_new_range_is_gone() {
        let samples: Vec<f32> = (0..48_000)
            .map(|i| (f64::from(i) * std::f64::consts::FRAC_PI_2 + 0.3).sin() as f32)
            .collect();
        let out = resampled(48_000, &samples, 4096);
        let loudest = out[1000..15_000].iter().fold(0f32, |a, x| a.max(x.abs()));
        assert!(loudest < 1e-3, "{loudest}");
    }

    #[test]
    fn blocks_do_not_matter() {
        let samples: Vec<f32> = (0..9_001).map(|i| ((i * i) as f32 * 1e-3).sin()).collect();
        let whole = resampled(44_100, &samples, samples.len());
        for block in [1, 7, 4096] {
            assert_eq!(resampled(44_100, &samples, block), whole, "{block}");
        }
    }

    #[test]
    fn the_shortest_sounds_keep_their_length() {
        assert_eq!(resampled(48_000, &[], 1).len(), 0);
        assert_eq!(resampled(48_000, &[0.5], 1).len(), 1);
        assert_eq!(resampled(8_000, &[0.5], 1).len(), 2);
    }
}
