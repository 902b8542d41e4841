//! A window's tokens cut into segments at pairs of timestamps.

use super::{FRAMES_PER_SECOND, Sizes};
use crate::whisper::fallback::Decoded;
use crate::whisper::tokenizer::Tokenizer;

/// A piece of the transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Its number, from 0.
    pub id: usize,
    /// The first frame of the window that it was decoded in.
    pub seek: u64,
    /// When it begins, in seconds.
    pub start: f64,
    /// When it ends, in seconds: as the model says, but never after the sound (the reference implementation leaves times in
    /// the silence that fills a window).
    pub end: f64,
    /// What was said.
    pub text: String,
    /// Its tokens, timestamps included.
    pub tokens: Vec<u32>,
    /// The temperature of its window.
    pub temperature: f32,
    /// The mean log-probability of its window.
    pub avg_log_prob: f64,
    /// The compression ratio of its window.
    pub compression_ratio: f64,
    /// How probable silence was in its window.
    pub no_speech_prob: f64,
    /// Its words, if they were wanted.
    pub words: Option<Vec<TimedWord>>,
}

/// A word of a segment.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedWord {
    /// The word with its marks, and the space before it.
    pub word: String,
    /// When it begins, in seconds.
    pub start: f64,
    /// When it ends, in seconds.
    pub end: f64,
    /// The mean probability of its tokens.
    pub probability: f64,
}

impl Segment {
    /// A segment without a length or without text says nothing.
    pub(super) fn clear_if_empty(&mut self) {
        if self.start == self.end || self.text.trim().is_empty() {
            self.text.clear();
            self.tokens.clear();
            if let Some(words) = &mut self.words {
                words.clear();
            }
        }
    }
}

/// No segment and no word ends after `end`; one that begins there lasts from `before`, when the one before it ended.
pub(super) fn end_with(segments: &mut [Segment], end: f64, before: f64) {
    let mut before = before.min(end);
    for segment in segments {
        segment.end = segment.end.min(end);
        if segment.start >= end {
            segment.start = before;
        }
        for word in segment.words.iter_mut().flatten() {
            word.end = word.end.min(end);
            word.start = word.start.min(word.end);
        }
        before = segment.end;
    }
}

/// The segments of a window as one, without their timestamps.
pub(super) fn join(segments: Vec<Segment>, tokenizer: &Tokenizer) -> Vec<Segment> {
    let (first_time, end) = (tokenizer.special().timestamps, tokenizer.special().end);
    let mut said = segments
        .into_iter()
        .filter(|segment| !segment.text.is_empty());
    let Some(mut whole) = said.next() else {
        return Vec::new();
    };
    for segment in said {
        whole.end = whole.end.max(segment.end);
        whole.tokens.extend(segment.tokens);
        if let (Some(words), Some(more)) = (&mut whole.words, segment.words) {
            words.extend(more);
        }
    }
    whole.tokens.retain(|&id| id < first_time);
    let text: Vec<u32> = whole
        .tokens
        .iter()
        .copied()
        .filter(|&id| id < end)
        .collect();
    whole.text = tokenizer.decode(&text);
    vec![whole]
}

/// The segments of a window.
pub(super) struct Sliced {
    pub(super) segments: Vec<Segment>,
    /// The first frame of the next window.
    pub(super) next: u64,
    /// Whether the last timestamp stands alone: nothing is said after it.
    pub(super) ended: bool,
}

/// Cuts the tokens of the window of `frames` frames from `start` on.
///
/// Two timestamps in a row end a segment and begin the next. The window after it begins at the last
/// such pair, unless a single timestamp at the end says that nothing follows. Without pairs, the window
/// is one segment, up to its last timestamp.
pub(super) fn slice(
    tokenizer: &Tokenizer,
    sizes: Sizes,
    decoded: &Decoded,
    start: u64,
    frames: u32,
) -> Sliced {
    let tokens = &decoded.tokens;
    let special = tokenizer.special();
    let is_time = |id: &u32| special.is_timestamp(*id);
    let offset = start as f64 / FRAMES_PER_SECOND;
    let step = f64::from(sizes.stride) / FRAMES_PER_SECOND;
    let steps = |id: u32| u64::from(id.saturating_sub(special.timestamps));
    let segment = |tokens: &[u32], start_time: f64, end_time: f64| {
        let text: Vec<u32> = tokens
            .iter()
            .copied()
            .filter(|&id| id < special.end)
            .collect();
        Segment {
            id: 0,
            seek: start,
            start: start_time,
            end: end_time,
            text: tokenizer.decode(&text),
            tokens: tokens.to_vec(),
            temperature: decoded.temperature,
            avg_log_prob: decoded.avg_log_prob,
            compression_ratio: decoded.compression_ratio,
            no_speech_prob: decoded.no_speech_prob,
            words: None,
        }
    };
    let ended = match tokens[..] {
        [.., before, last] => !is_time(&before) && is_time(&last),
        _ => false,
    };
    let mut cuts: Vec<usize> = (1..tokens.len())
        .filter(|&i| is_time(&tokens[i - 1]) && is_time(&tokens[i]))
        .collect();
    let whole = start + u64::from(frames);
    if cuts.is_empty() {
        let last = tokens.iter().rev().find(|id| is_time(id));
        let duration = match last {
            Some(&id) if id != special.timestamps => steps(id) as f64 * step,
            Some(_) | None => f64::from(frames) / FRAMES_PER_SECOND,
        };
        return Sliced {
            segments: vec![segment(tokens, offset, offset + duration)],
            next: whole,
            ended,
        };
    }
    if ended {
        cuts.push(tokens.len());
    }
    let (mut from, mut segments) = (0, Vec::with_capacity(cuts.len()));
    for cut in cuts {
        let piece = &tokens[from..cut];
        let time = |id: u32| offset + steps(id) as f64 * step;
        segments.push(segment(piece, time(piece[0]), time(piece[piece.len() - 1])));
        from = cut;
    }
    let next = if ended {
        whole
    } else {
        start + steps(tokens[from - 1]) * u64::from(sizes.stride)
    };
    Sliced {
        segments,
        next,
        ended,
    }
}
