//! Subtitles read back, by what SubRip and WebVTT say of themselves.

/// A subtitle as read back: milliseconds and text.
#[derive(Debug, PartialEq)]
pub(crate) struct Cue {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) text: String,
}

/// A time of either format in milliseconds, with `mark` before the milliseconds.
fn time(text: &str, mark: char) -> u64 {
    let (clock, rest) = text.split_once(mark).expect("milliseconds");
    assert_eq!(rest.len(), 3, "{text}");
    let seconds = clock.split(':').fold(0, |sum, part| {
        assert!(part.len() >= 2, "{text}");
        sum * 60 + part.parse::<u64>().expect("digits")
    });
    seconds * 1000 + rest.parse::<u64>().expect("digits")
}

/// Reads blocks separated by empty lines, each with `head` lines before its times.
pub(crate) fn cues(text: &str, head: usize, mark: char) -> Vec<Cue> {
    let body = text.strip_suffix("\n\n").unwrap_or(text);
    if body.is_empty() {
        return Vec::new();
    }
    let mut cues = Vec::new();
    let mut lines = body.split('\n');
    let mut number = 0;
    while let Some(first) = lines.next() {
        number += 1;
        let times = if head == 1 {
            assert_eq!(first, number.to_string());
            lines.next().expect("times")
        } else {
            first
        };
        let (start, end) = times.split_once(" --> ").expect("an arrow");
        let text: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        cues.push(Cue {
            start: time(start, mark),
            end: time(end, mark),
            text: text.join("\n"),
        });
        // A cue without text leaves one empty line more.
        if text.is_empty() {
            lines.next();
        }
    }
    cues
}
