//! SubRip and WebVTT.

use warpsmith_models::whisper::transcript::Segment;

use super::milliseconds;

/// The most characters of a line of words.
const LINE: usize = 1000;

/// A text and when it is shown.
struct Subtitle {
    start: f64,
    end: f64,
    text: String,
}

/// SubRip: numbered, hours always, a comma before milliseconds.
pub(super) fn srt(segments: &[Segment]) -> String {
    let time = |seconds| {
        let (clock, rest) = clock(seconds);
        format!("{:02}:{:02}:{:02},{rest:03}", clock[0], clock[1], clock[2])
    };
    let subtitles = subtitles(segments).into_iter().zip(1..);
    subtitles
        .map(|(s, number)| {
            format!(
                "{number}\n{} --> {}\n{}\n\n",
                time(s.start),
                time(s.end),
                s.text
            )
        })
        .collect()
}

/// WebVTT: hours only where there are some, a point before milliseconds.
pub(super) fn vtt(segments: &[Segment]) -> String {
    let time = |seconds| {
        let (clock, rest) = clock(seconds);
        let hours = match clock[0] {
            0 => String::new(),
            hours => format!("{hours:02}:"),
        };
        format!("{hours}{:02}:{:02}.{rest:03}", clock[1], clock[2])
    };
    let cues = subtitles(segments).into_iter();
    let cues = cues.map(|s| format!("{} --> {}\n{}\n\n", time(s.start), time(s.end), s.text));
    format!("WEBVTT\n\n{}", cues.collect::<String>())
}

/// Hours, minutes, seconds; and milliseconds.
fn clock(seconds: f64) -> ([u64; 3], u64) {
    let all = milliseconds(seconds);
    let seconds = all / 1000;
    (
        [seconds / 3600, seconds / 60 % 60, seconds % 60],
        all % 1000,
    )
}

/// A subtitle for each segment; where words have times, for each segment that has words.
fn subtitles(segments: &[Segment]) -> Vec<Subtitle> {
    let timed = segments.iter().any(|segment| segment.words.is_some());
    let segments = segments.iter();
    if timed {
        segments.filter_map(of_words).collect()
    } else {
        segments
            .map(|segment| Subtitle {
                start: segment.start,
                end: segment.end,
                text: safe(segment.text.trim()),
            })
            .collect()
    }
}

fn of_words(segment: &Segment) -> Option<Subtitle> {
    let words = segment.words.as_deref()?;
    let (first, last) = (words.first()?, words.last()?);
    let (mut text, mut line) = (String::new(), 0);
    for word in words {
        let length = word.word.chars().count();
        if line > 0 && line + length <= LINE {
            text.push_str(&safe(&word.word));
            line += length;
        } else {
            if line > 0 {
                text.push('\n');
            }
            let word = word.word.trim();
            text.push_str(&safe(word));
            line = word.chars().count();
        }
    }
    Some(Subtitle {
        start: first.start,
        end: last.end,
        text,
    })
}

/// The text without what would end a subtitle or begin another.
fn safe(text: &str) -> String {
    text.replace("-->", "->").replace(['\n', '\r'], " ")
}
