//! The loop over a sound: windows of 30 s, of which the next begins where the last timestamp says.
//!
//! [`Transcript::request`] says which window to decode and after which prompt, [`Transcript::accept`] takes
//! what was decoded; nothing here knows of the model. That is the loop of the paper's section 4.5 and
//! of openai-whisper, whose results it gives.

mod guard;
mod prompt;
mod segment;

use std::ops::Range;

pub use prompt::{Prompt, initial_tokens};
pub use segment::{Segment, TimedWord};

use super::fallback::{Decoded, Thresholds};
use super::tokenizer::Tokenizer;
use super::words::{Punctuation, Timing, place};
use segment::{Sliced, end_with, join, slice};

/// Frames of the spectrogram a second.
const FRAMES_PER_SECOND: f64 = 100.0;
/// A result drawn hotter than this is no prompt for what follows.
const HOT: f32 = 0.5;

/// What a model fixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Frames of a window's spectrogram: 3000.
    pub window: u32,
    /// Frames of a window that a step of timestamps is: 2.
    pub stride: u32,
    /// Tokens that the decoder holds: 448.
    pub n_text_ctx: u32,
}

/// How to go over a sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// When a window is skipped as silence.
    pub thresholds: Thresholds,
    /// Whether what was said before is the prompt of a window.
    pub condition_on_previous: bool,
    /// Tokens that stand before the first window.
    pub initial_prompt: Vec<u32>,
    /// Whether they stand before every window.
    pub carry_initial_prompt: bool,
    /// Seconds at which clips begin and end, by turns; the last end may be left out. None is all.
    pub clips: Vec<f64>,
    /// Times of words, if wanted.
    pub words: Option<WordOptions>,
    /// What a segment is.
    pub pieces: Pieces,
}

/// What a segment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pieces {
    /// What is said between two timestamps.
    #[default]
    Timed,
    /// What is said in a window, without the timestamps within: those are followed all the same, since a model that writes
    /// none skips what comes after a silence.
    Windows,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            thresholds: Thresholds::default(),
            condition_on_previous: true,
            initial_prompt: Vec::new(),
            carry_initial_prompt: false,
            clips: Vec::new(),
            words: None,
            pieces: Pieces::Timed,
        }
    }
}

/// How to place words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WordOptions {
    /// Which marks join which words.
    pub punctuation: Punctuation,
    /// Silence longer than this, in seconds, around words that look invented is skipped with them.
    pub hallucination_silence: Option<f64>,
}

/// A window to be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its first frame.
    pub first: u64,
    /// The frames of it that are sound; what follows is padding.
    pub frames: u32,
    /// What stands before it, at most half of what the decoder holds; empty for nothing.
    pub prompt: Vec<u32>,
}

/// What to find the times of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// The text of the window.
    pub tokens: Vec<u32>,
    /// Frames of the window that are sound.
    pub frames: u32,
}

/// A transcript in the making.
#[derive(Debug)]
pub struct Transcript<'a> {
    tokenizer: &'a Tokenizer,
    sizes: Sizes,
    options: Options,
    /// Frames of the sound.
    frames: u64,
    clips: Vec<Range<u64>>,
    clip: usize,
    seek: u64,
    prompt: Prompt,
    last_speech: f64,
    segments: Vec<Segment>,
}

impl<'a> Transcript<'a> {
    /// Begins with a sound of `frames` frames of 10 ms; of one that is still coming they are [`u64::MAX`], until
    /// [`Transcript::ends`].
    pub fn new(
        tokenizer: &'a Tokenizer,
        sizes: Sizes,
        options: Options,
        frames: u64,
    ) -> Transcript<'a> {
        let mut points: Vec<u64> = options
            .clips
            .iter()
            .map(|seconds| (seconds * FRAMES_PER_SECOND).round_ties_even() as u64)
            .collect();
        if points.is_empty() {
            points.push(0);
        }
        if points.len() % 2 == 1 {
            points.push(frames);
        }
        // A clip may not go on past the sound.
        let clips: Vec<Range<u64>> = points
            .chunks_exact(2)
            .map(|pair| pair[0]..pair[1].min(frames))
            .collect();
        Transcript {
            tokenizer,
            sizes,
            frames,
            seek: clips[0].start,
            clips,
            clip: 0,
            prompt: Prompt::new(&options, sizes),
            options,
            last_speech: 0.0,
            segments: Vec::new(),
        }
    }

    /// The sound has `frames` frames of 10 ms: a window that was asked for may be shorter now.
    pub fn ends(&mut self, frames: u64) {
        self.frames = frames;
        for clip in &mut self.clips {
            clip.end = clip.end.min(frames);
        }
    }

    /// The next window, or nothing at the end.
    pub fn request(&mut self) -> Option<Request> {
        loop {
            let clip = self.clips.get(self.clip)?.clone();
            self.seek = self.seek.max(clip.start);
            if self.seek < clip.end {
                return Some(Request {
                    first: self.seek,
                    frames: self.window(),
                    prompt: self.prompt.tokens(),
                });
            }
            self.clip += 1;
            if let Some(next) = self.clips.get(self.clip) {
                self.seek = next.start;
            }
        }
    }

    /// The frames of the current window that are sound.
    fn window(&self) -> u32 {
        let end = self.clips.get(self.clip).map_or(0, |clip| clip.end);
        let left = end.saturating_sub(self.seek);
        left.min(self.sizes.window.into()) as u32
    }

    /// Takes what was decoded of the last window that [`Transcript::request`] gave, and goes on to the next.
    /// `align` gives the times of the words of a window, in seconds from its start; it is asked only if
    /// they are wanted. Returns the segments that came.
    ///
    /// # Errors
    /// What `align` says.
    pub fn accept<E>(
        &mut self,
        decoded: &Decoded,
        align: impl FnOnce(Alignment) -> Result<Vec<Timing>, E>,
    ) -> Result<&[Segment], E> {
        let from = self.segments.len();
        let frames = self.window();
        if self.options.thresholds.skipped(decoded) {
            // At least a frame, should nobody have asked for a window.
            self.seek += u64::from(frames.max(1));
            return Ok(&[]);
        }
        let start = self.seek;
        let offset = start as f64 / FRAMES_PER_SECOND;
        let sliced = slice(self.tokenizer, self.sizes, decoded, start, frames);
        let Sliced {
            mut segments,
            next,
            ended,
        } = sliced;
        self.seek = next;

        if let Some(options) = self.options.words.clone() {
            let end = self.tokenizer.special().end;
            let tokens = segments.iter().flat_map(|segment| &segment.tokens);
            let tokens: Vec<u32> = tokens.copied().filter(|&id| id < end).collect();
            let timings = if tokens.is_empty() {
                Vec::new()
            } else {
                align(Alignment { tokens, frames })?
            };
            let punctuation = &options.punctuation;
            place(
                &mut segments,
                timings,
                offset,
                self.last_speech,
                punctuation,
                end,
            );
            if !ended && let Some(last) = last_end(&segments).filter(|&last| last > offset) {
                self.seek = to_frames(last);
            }
            if let Some(threshold) = options.hallucination_silence {
                let window = guard::Window {
                    start,
                    frames,
                    length: self.sizes.window,
                    ended,
                    sound: self.frames,
                    last_speech: self.last_speech,
                };
                let verdict = guard::check(&mut segments, window, threshold, punctuation);
                if let Some(seek) = verdict.seek {
                    self.seek = seek;
                }
                if verdict.again {
                    self.keep_moving(start);
                    return Ok(&[]);
                }
            }
            if let Some(last) = last_end(&segments) {
                self.last_speech = last;
            }
        }

        for segment in &mut segments {
            segment.clear_if_empty();
        }
        let said = segments.iter().flat_map(|segment| &segment.tokens);
        self.prompt.extend(said.copied());
        if !self.options.condition_on_previous || decoded.temperature > HOT {
            self.prompt.reset();
        }
        if self.options.pieces == Pieces::Windows {
            segments = join(segments, self.tokenizer);
        }
        // A window that is padded has timestamps after the sound, and words that last into them.
        let before = self.segments.last().map_or(0.0, |segment| segment.end);
        end_with(
            &mut segments,
            self.frames as f64 / FRAMES_PER_SECOND,
            before.max(offset),
        );
        for (segment, id) in segments.iter_mut().zip(from..) {
            segment.id = id;
        }
        self.segments.extend(segments);
        self.keep_moving(start);
        Ok(&self.segments[from..])
    }

    /// A window that leads nowhere, such as one that ends at its start, would be decoded for ever.
    fn keep_moving(&mut self, start: u64) {
        if self.seek <= start {
            self.seek = start + u64::from(self.window().max(1));
        }
    }

    /// How far the sound is done, in frames.
    pub fn position(&self) -> u64 {
        match self.clips.get(self.clip) {
            Some(_) => self.seek.min(self.frames),
            None => self.frames,
        }
    }

    /// All segments so far.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// All segments.
    pub fn into_segments(self) -> Vec<Segment> {
        self.segments
    }

    /// The text of all that was said.
    pub fn text(&self) -> String {
        let tokens = self.segments.iter().flat_map(|segment| &segment.tokens);
        let tokens: Vec<u32> = tokens.copied().collect();
        self.tokenizer.decode(&tokens)
    }
}

/// When the last word ends, or the last segment if it has no words.
fn last_end(segments: &[Segment]) -> Option<f64> {
    let mut words = segments
        .iter()
        .rev()
        .filter_map(|segment| segment.words.as_ref());
    let word = words.find_map(|words| words.last());
    word.map(|word| word.end)
        .or_else(|| segments.last().map(|segment| segment.end))
}

/// The frame at a time.
fn to_frames(seconds: f64) -> u64 {
    (seconds * FRAMES_PER_SECOND).round_ties_even() as u64
}

#[cfg(test)]
mod tests;
