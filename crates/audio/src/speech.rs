//! Which frames have speech in them: the others can be left out.
//!
//! Earshot, a small neural network, says of every 16 ms how probable speech is. Speech begins where that is at least the
//! threshold, and ends before a silence that lasts; some of what is around it is kept.

use std::collections::VecDeque;
use std::ops::Range;

use crate::{FRAMES_PER_SECOND, HOP, SAMPLE_RATE};

/// Samples that are judged at once.
const BLOCK: usize = 256;
/// Silence is less probable to be speech than the threshold, by so much.
const LESS: f32 = 0.15;

/// How speech is told from the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speech {
    /// The least probability of speech, 0 to 1.
    pub threshold: f32,
    /// The shortest silence that ends it, in milliseconds.
    pub min_silence_ms: u32,
    /// What is kept before and after it, in milliseconds.
    pub pad_ms: u32,
}

impl Default for Speech {
    fn default() -> Self {
        Speech {
            threshold: 0.5,
            min_silence_ms: 2000,
            pad_ms: 400,
        }
    }
}

/// Hears where speech is.
pub(crate) struct Detector {
    network: Box<earshot::Detector>,
    options: Speech,
    /// Samples that are not yet a block.
    pending: Vec<f32>,
    /// Samples judged.
    judged: u64,
    ended: bool,
    speaking: bool,
    /// Where the last speech ended, or the silence within it began.
    quiet_since: Option<u64>,
    /// Whether frames are kept, from the next one that is asked for on.
    certain: VecDeque<bool>,
    /// The first frame of which that is not certain.
    next: u64,
}

impl Detector {
    pub(crate) fn new(options: Speech) -> Detector {
        Detector {
            network: earshot::Detector::default_boxed(),
            options,
            pending: Vec::new(),
            judged: 0,
            ended: false,
            speaking: false,
            quiet_since: None,
            certain: VecDeque::new(),
            next: 0,
        }
    }

    pub(crate) fn listen(&mut self, samples: &[f32]) {
        self.pending.extend(samples);
        let pending = std::mem::take(&mut self.pending);
        let blocks = pending.chunks_exact(BLOCK);
        self.pending.extend(blocks.remainder());
        for block in blocks {
            self.judge(block);
        }
    }

    fn judge(&mut self, block: &[f32]) {
        let clipped: Vec<f32> = block.iter().map(|x| x.clamp(-1.0, 1.0)).collect();
        let score = self.network.predict_f32(&clipped);
        self.hear(score);
    }

    /// Takes how probable speech is in the next block.
    fn hear(&mut self, score: f32) {
        let (from, to) = (self.judged, self.judged + BLOCK as u64);
        self.judged = to;
        if score >= self.options.threshold {
            (self.speaking, self.quiet_since) = (true, None);
        } else if self.speaking && score < self.options.threshold - LESS {
            let since = *self.quiet_since.get_or_insert(from);
            self.speaking = to - since < samples(self.options.min_silence_ms);
        }
        while let Some(keeps) = self.keeps(self.next * HOP as u64) {
            self.certain.push_back(keeps);
            self.next += 1;
        }
    }

    /// There are no more samples.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// Whether the next frame is kept, once that is certain.
    pub(crate) fn decide(&mut self) -> Option<bool> {
        let known = self.certain.pop_front();
        if known.is_some() || !self.ended {
            return known;
        }
        self.next += 1;
        self.keeps((self.next - 1) * HOP as u64)
    }

    /// Whether the frame at a sample is kept, if that is certain by now.
    fn keeps(&self, at: u64) -> Option<bool> {
        let pad = samples(self.options.pad_ms);
        let after = self.quiet_since.is_some_and(|since| at < since + pad);
        match self.speaking {
            true if self.quiet_since.is_none() => (at < self.judged || self.ended).then_some(true),
            true if after => Some(true),
            true => self.ended.then_some(false),
            false if after => Some(true),
            false => (at + pad < self.judged || self.ended).then_some(false),
        }
    }
}

fn samples(milliseconds: u32) -> u64 {
    u64::from(milliseconds) * u64::from(SAMPLE_RATE) / 1000
}

/// Where the frames that are left were in the sound.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    pub(crate) ranges: Vec<Range<u64>>,
}

/// Which side of what was left out a time between two pieces is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Something begins there: it is after.
    Start,
    /// Something ends there: it is before.
    End,
}

impl Places {
    /// How many frames before `all` there are.
    pub(crate) fn count(&self, all: u64) -> u64 {
        let lengths = self
            .ranges
            .iter()
            .map(|range| range.end.min(all).saturating_sub(range.start));
        lengths.sum()
    }

    /// A time of what is left as one of the sound, in seconds.
    pub(crate) fn time(&self, seconds: f64, edge: Edge) -> f64 {
        let per_second = f64::from(FRAMES_PER_SECOND);
        let frame = seconds * per_second;
        let mut before = 0.0;
        for range in &self.ranges {
            let length = (range.end - range.start) as f64;
            let within = match edge {
                Edge::Start => frame < before + length,
                Edge::End => frame <= before + length,
            };
            if within {
                let offset = (frame - before).max(0.0) / per_second;
                return range.start as f64 / per_second + offset;
            }
            before += length;
        }
        let last = self.ranges.last().map_or(0, |range| range.end);
        last as f64 / per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_what_is_left_are_those_of_the_sound() {
        let places = Places {
            ranges: vec![100..200, 500..650],
        };
        for (seconds, edge, want) in [
            (0.0, Edge::Start, 1.0),
            (0.5, Edge::End, 1.5),
            (1.0, Edge::End, 2.0),
            (1.0, Edge::Start, 5.0),
            (1.5, Edge::Start, 5.5),
            (2.5, Edge::End, 6.5),
            (9.0, Edge::End, 6.5),
        ] {
            assert_eq!(places.time(seconds, edge), want, "{seconds} {edge:?}");
        }
        assert_eq!(
            (places.count(150), places.count(600), places.count(900)),
            (50, 200, 250)
        );
    }

    /// Which frames a detector keeps that was told in which blocks there is speech.
    fn told(speech: &[Range<usize>], blocks: usize) -> Vec<bool> {
        let mut detector = Detector::new(Speech {
            threshold: 0.5,
            min_silence_ms: 160,
            pad_ms: 32,
        });
        for block in 0..blocks {
            let speaks = speech.iter().any(|range| range.contains(&block));
            detector.hear(if speaks { 0.9 } else { 0.1 });
        }
        detector.end();
        let frames = (blocks * BLOCK).div_ceil(HOP);
        (0..frames)
            .map(|_| detector.decide().expect("ended"))
            .collect()
    }

    #[test]
    fn speech_is_kept_with_what_is_around_it_and_short_silence_in_it() {
        // Blocks of 16 ms: speech at 20 to 30 and 35 to 40, after it silence of 20 blocks, speech again to the end.
        let kept = told(&[20..30, 35..40, 60..70], 70);
        let want = |frame: usize| matches!(frame * HOP / BLOCK, 18..42 | 58..70);
        for (frame, keeps) in kept.iter().enumerate() {
            assert_eq!(*keeps, want(frame), "{frame}");
        }
    }
}
