//! A guard against words that are invented in silence.
//!
//! Such words are improbable, too short or too long. A segment full of them, with silence or more of them
//! on both sides, is dropped, and the next window begins where it began.

use super::segment::{Segment, TimedWord};
use super::{FRAMES_PER_SECOND, last_end, to_frames};
use crate::whisper::words::Punctuation;

/// Words less probable than this are suspect.
const IMPROBABLE: f64 = 0.15;
/// Words shorter than this, in seconds, are suspect, by so much a second.
const SHORT: f64 = 0.133;
const SHORT_WEIGHT: f64 = 15.0;
/// Words longer than this, in seconds, are suspect.
const LONG: f64 = 2.0;
/// How many words of a segment are looked at, and from which sum on they are invented.
const WORDS: usize = 8;
const SUSPECT: f64 = 3.0;
/// A segment this near to an edge of its window, in seconds, has silence there.
const EDGE: f64 = 2.0;

/// The window that the segments were decoded in.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub(super) start: u64,
    /// The frames of it that are sound.
    pub(super) frames: u32,
    /// The frames of every window.
    pub(super) length: u32,
    /// Whether nothing is said after its last timestamp.
    pub(super) ended: bool,
    /// The frames of the whole sound.
    pub(super) sound: u64,
    /// When the last word before the window ended.
    pub(super) last_speech: f64,
}

/// What comes of a check.
#[derive(Default)]
pub(super) struct Verdict {
    /// Where the next window begins instead.
    pub(super) seek: Option<u64>,
    /// Whether nothing of this window counts.
    pub(super) again: bool,
}

/// Drops segments that look invented and have silence longer than `threshold` seconds around them.
pub(super) fn check(
    segments: &mut Vec<Segment>,
    window: Window,
    threshold: f64,
    punctuation: &Punctuation,
) -> Verdict {
    let offset = window.start as f64 / FRAMES_PER_SECOND;
    let window_end = (window.start + u64::from(window.length)) as f64 / FRAMES_PER_SECOND;
    let sound_end = window.sound as f64 / FRAMES_PER_SECOND;
    let mut verdict = Verdict::default();
    if !window.ended
        && let Some(last) = last_end(segments).filter(|&last| last > offset)
    {
        verdict.seek = Some(if window_end - last > threshold {
            to_frames(last)
        } else {
            window.start + u64::from(window.frames)
        });
    }

    let anomalous = |segment: &Segment| is_anomalous(words_of(segment), punctuation);
    let spoken = |segments: &[Segment]| segments.iter().position(|s| !words_of(s).is_empty());
    if let Some(first) = spoken(segments).map(|at| &segments[at])
        && anomalous(first)
    {
        let gap = first.start - offset;
        if gap > threshold {
            return Verdict {
                seek: Some(window.start + to_frames(gap)),
                again: true,
            };
        }
    }

    let mut before = window.last_speech;
    for at in 0..segments.len() {
        let segment = &segments[at];
        if words_of(segment).is_empty() {
            continue;
        }
        if anomalous(segment) {
            let next = spoken(&segments[at + 1..]).map(|next| &segments[at + 1 + next]);
            let next_start = match next {
                Some(next) => words_of(next)[0].start,
                None => offset + f64::from(window.frames) / FRAMES_PER_SECOND,
            };
            let silence_before = segment.start - before > threshold
                || segment.start < threshold
                || segment.start - offset < EDGE;
            let silence_after = next_start - segment.end > threshold
                || next.is_some_and(anomalous)
                || window_end - segment.end < EDGE;
            if silence_before && silence_after {
                let seek = to_frames((offset + 1.0).max(segment.start));
                verdict.seek = Some(if sound_end - segment.end < threshold {
                    window.sound
                } else {
                    seek
                });
                segments.truncate(at);
                break;
            }
        }
        before = segments[at].end;
    }
    verdict
}

fn words_of(segment: &Segment) -> &[TimedWord] {
    segment.words.as_deref().unwrap_or_default()
}

/// Whether the words of a segment look invented.
fn is_anomalous(words: &[TimedWord], punctuation: &Punctuation) -> bool {
    if words.is_empty() {
        return false;
    }
    let words: Vec<&TimedWord> = words
        .iter()
        .filter(|word| !punctuation.has(&word.word))
        .take(WORDS)
        .collect();
    let score: f64 = words.iter().map(|word| suspicion(word)).sum();
    score >= SUSPECT || score + 0.01 >= words.len() as f64
}

fn suspicion(word: &TimedWord) -> f64 {
    let length = word.end - word.start;
    let mut score = 0.0;
    if word.probability < IMPROBABLE {
        score += 1.0;
    }
    if length < SHORT {
        score += (SHORT - length) * SHORT_WEIGHT;
    }
    if length > LONG {
        score += length - LONG;
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(start: f64, end: f64, probability: f64) -> TimedWord {
        TimedWord {
            word: " w".to_owned(),
            start,
            end,
            probability,
        }
    }

    #[test]
    fn words_are_suspect_by_probability_and_length() {
        assert_eq!(suspicion(&word(0.0, 1.0, 0.9)), 0.0);
        assert_eq!(suspicion(&word(0.0, 1.0, 0.1)), 1.0);
        assert!((suspicion(&word(0.0, 0.033, 0.9)) - 1.5).abs() < 1e-9);
        assert_eq!(suspicion(&word(0.0, 5.0, 0.9)), 3.0);
    }

    #[test]
    fn a_segment_is_anomalous_if_most_of_it_is_suspect() {
        let marks = Punctuation::default();
        let (good, bad) = (word(0.0, 1.0, 0.9), word(0.0, 1.0, 0.1));
        assert!(!is_anomalous(&[], &marks));
        assert!(!is_anomalous(&[good.clone(), bad.clone()], &marks));
        assert!(is_anomalous(&[bad.clone(), bad.clone()], &marks));
        let three = [vec![bad.clone(); 3], vec![good.clone(); 9]].concat();
        assert!(is_anomalous(&three, &marks));
        // Only the first eight count.
        let late = [vec![good; 8], vec![bad; 3]].concat();
        assert!(!is_anomalous(&late, &marks));
    }
}
