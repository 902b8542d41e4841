//! Words placed in their segments: punctuation joins its words, words too long are cut.

use super::Timing;
use crate::whisper::transcript::{Segment, TimedWord};

/// No word of a window is taken to be typically longer than this, in seconds.
const LONGEST_TYPICAL: f64 = 0.7;
/// A pause is so many times a typical word.
const PAUSE: f64 = 4.0;
/// How far words and segments may disagree before the segment is believed, in seconds.
const SLACK: f64 = 0.5;
/// Marks that end a sentence.
const SENTENCE_ENDS: &str = ".。!！?？";

/// Which marks join which neighbour; a mark is a run of these characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Punctuation {
    /// Those that join the word after them.
    pub before: String,
    /// Those that join the word before them.
    pub after: String,
}

impl Default for Punctuation {
    fn default() -> Self {
        Punctuation {
            before: "\"'“¿([{-".to_owned(),
            after: "\"'.。,，!！?？:：”)]}、".to_owned(),
        }
    }
}

impl Punctuation {
    /// Whether a word is nothing but marks.
    pub(crate) fn has(&self, word: &str) -> bool {
        [&self.before[..], &self.after].concat().contains(word)
    }
}

/// Gives the words of a window to its segments, one after the other by their tokens, and lets the times
/// of segments follow their words. `offset` is when the window begins, `last_speech` when the last word
/// before it ended; `end` is the first token that is no text.
pub fn place(
    segments: &mut [Segment],
    mut timings: Vec<Timing>,
    offset: f64,
    last_speech: f64,
    punctuation: &Punctuation,
    end: u32,
) {
    let typical = typical(&timings);
    let longest = 2.0 * typical;
    cut_at_sentences(&mut timings, longest);
    join(&mut timings, punctuation);

    let mut last_speech = last_speech;
    let mut timings = timings.into_iter();
    for segment in segments {
        let wanted = segment.tokens.iter().filter(|&&id| id < end).count();
        let (mut have, mut words) = (0, Vec::new());
        while have < wanted {
            let Some(timing) = timings.next() else { break };
            have += timing.tokens.len();
            if !timing.word.is_empty() {
                words.push(TimedWord {
                    word: timing.word,
                    start: hundredths(offset + timing.start),
                    end: hundredths(offset + timing.end),
                    probability: timing.probability,
                });
            }
        }
        if !words.is_empty() {
            fit(segment, &mut words, typical, last_speech);
            last_speech = segment.end;
        }
        segment.words = Some(words);
    }
}

/// The median length of a word, no more than 0.7 s; 0 without words.
fn typical(timings: &[Timing]) -> f64 {
    let all = timings.iter().map(|t| t.end - t.start);
    let mut lengths: Vec<f64> = all.filter(|&length| length != 0.0).collect();
    lengths.sort_unstable_by(f64::total_cmp);
    let middle = lengths.len() / 2;
    let median = match lengths.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => lengths[middle],
        _ => (lengths[middle - 1] + lengths[middle]) / 2.0,
    };
    median.min(LONGEST_TYPICAL)
}

/// Cuts a mark that ends a sentence, or the word after it, to `longest`: the rest is a pause.
fn cut_at_sentences(timings: &mut [Timing], longest: f64) {
    if longest == 0.0 {
        return;
    }
    for i in 1..timings.len() {
        let (before, rest) = timings.split_at_mut(i);
        let (previous, current) = (&before[i - 1], &mut rest[0]);
        if current.end - current.start > longest {
            if SENTENCE_ENDS.contains(&current.word) {
                current.end = current.start + longest;
            } else if SENTENCE_ENDS.contains(&previous.word) {
                current.start = current.end - longest;
            }
        }
    }
}

/// Joins marks with their words. What has joined stays behind, empty, so that times keep their places.
fn join(timings: &mut [Timing], punctuation: &Punctuation) {
    let mut following = timings.len().saturating_sub(1);
    for i in (0..following).rev() {
        let (before, rest) = timings.split_at_mut(following);
        let (mark, word) = (&mut before[i], &mut rest[0]);
        let opens = mark.word.starts_with(' ') && punctuation.before.contains(mark.word.trim());
        if opens {
            word.word.insert_str(0, &std::mem::take(&mut mark.word));
            word.tokens.splice(0..0, mark.tokens.drain(..));
        } else {
            following = i;
        }
    }
    let mut previous = 0;
    for i in 1..timings.len() {
        let (before, rest) = timings.split_at_mut(i);
        let (word, mark) = (&mut before[previous], &mut rest[0]);
        if !word.word.ends_with(' ') && punctuation.after.contains(&mark.word) {
            word.word.push_str(&std::mem::take(&mut mark.word));
            word.tokens.append(&mut mark.tokens);
        } else {
            previous = i;
        }
    }
}

/// Cuts the first words after a pause, and lets the segment and its words agree on when it begins and
/// ends.
fn fit(segment: &mut Segment, words: &mut [TimedWord], typical: f64, last_speech: f64) {
    let longest = 2.0 * typical;
    let paused = words[0].end - last_speech > PAUSE * typical;
    let second = words.get(1).map(|word| (word.start, word.end));
    let long = words[0].end - words[0].start > longest
        || second.is_some_and(|(_, end)| end - words[0].start > 2.0 * longest);
    if paused && long {
        if let Some((_, end)) = second.filter(|(start, end)| end - start > longest) {
            let boundary = (end / 2.0).max(end - longest);
            words[0].end = boundary;
            words[1].start = boundary;
        }
        words[0].start = (words[0].end - longest).max(0.0);
    }

    let first = &mut words[0];
    if segment.start < first.end && segment.start - SLACK > first.start {
        first.start = (first.end - typical).min(segment.start).max(0.0);
    } else {
        segment.start = first.start;
    }
    let last = words.last_mut().expect("has a first");
    if segment.end > last.start && segment.end + SLACK < last.end {
        last.end = (last.start + typical).max(segment.end);
    } else {
        segment.end = last.end;
    }
}

/// Rounded to hundredths, as a decimal number is.
fn hundredths(seconds: f64) -> f64 {
    format!("{seconds:.2}").parse().unwrap_or(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(word: &str, start: f64, end: f64) -> Timing {
        Timing {
            word: word.to_owned(),
            tokens: vec![1],
            start,
            end,
            probability: 0.5,
        }
    }

    #[test]
    fn marks_join_their_words() {
        let mut timings: Vec<Timing> = [" \"", "Hi", ",", " (", "you", ")", "!", " -", " so"]
            .map(|word| timing(word, 0.0, 1.0))
            .to_vec();
        join(&mut timings, &Punctuation::default());
        let words: Vec<&str> = timings.iter().map(|t| &t.word[..]).collect();
        assert_eq!(
            words,
            ["", " \"Hi,", "", "", " (you)!", "", "", "", " - so"]
        );
        let tokens: Vec<usize> = timings.iter().map(|t| t.tokens.len()).collect();
        assert_eq!(tokens, [0, 3, 0, 0, 4, 0, 0, 0, 2]);
        join(&mut [], &Punctuation::default());
    }

    #[test]
    fn the_typical_length_is_the_median() {
        let timings = |ends: &[f64]| -> Vec<Timing> {
            ends.iter().map(|&end| timing(" w", 0.0, end)).collect()
        };
        assert_eq!(typical(&[]), 0.0);
        assert_eq!(typical(&timings(&[0.0, 0.2])), 0.2);
        assert_eq!(typical(&timings(&[0.5, 0.25])), 0.375);
        assert_eq!(typical(&timings(&[2.0, 3.0, 4.0])), 0.7);
    }

    #[test]
    fn long_words_at_sentence_ends_are_cut() {
        let mut timings = vec![
            timing(" a", 0.0, 0.2),
            timing(".", 0.2, 3.0),
            timing(" b", 3.0, 5.0),
            timing(" c", 5.0, 9.0),
        ];
        cut_at_sentences(&mut timings, 0.5);
        assert_eq!((timings[1].start, timings[1].end), (0.2, 0.7));
        assert_eq!((timings[2].start, timings[2].end), (4.5, 5.0));
        assert_eq!((timings[3].start, timings[3].end), (5.0, 9.0));
    }

    #[test]
    fn seconds_round_as_decimals_do() {
        assert_eq!(hundredths(1.005), 1.0);
        assert_eq!(hundredths(2.675), 2.67);
        assert_eq!(hundredths(0.125), 0.12);
        assert_eq!(hundredths(9.999), 10.0);
    }
}
