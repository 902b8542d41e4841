//! Subtitles of segments: one for each, or lines of words with times of their own.

use crate::whisper::transcript::{Segment, TimedWord};

use super::{Format, milliseconds};

/// The most characters of a line of words where nothing else is asked for.
const LINE: usize = 1000;
/// A pause that begins a new subtitle where lines may cross segments, in seconds.
const PAUSE: f64 = 3.0;

/// How words are laid out; openai-whisper's options of these names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Words of a subtitle at most.
    pub max_words_per_line: Option<usize>,
    /// Characters of a line at most.
    pub max_line_width: Option<usize>,
    /// Lines of a subtitle at most; with a width, subtitles may cross segments.
    pub max_line_count: Option<usize>,
    /// Whether each word is underlined while it is said.
    pub highlight: Highlight,
}

/// What is underlined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Highlight {
    /// Nothing.
    #[default]
    Nothing,
    /// The word that is said.
    Words,
}

impl Layout {
    /// Whether segments keep their subtitles.
    fn keeps_segments(&self) -> bool {
        self.max_line_count.is_none() || self.max_line_width.is_none()
    }
}

/// A text and when it is shown.
struct Subtitle {
    start: f64,
    end: f64,
    text: String,
}

/// Writes subtitles as segments come.
#[derive(Clone, Debug)]
pub(super) struct Subtitles {
    format: Format,
    layout: Layout,
    /// Subtitles written.
    count: usize,
    /// Words of the next one.
    words: Vec<TimedWord>,
    line: usize,
    lines: usize,
    /// When the last word began.
    last: Option<f64>,
}

impl Subtitles {
    pub(super) fn new(format: Format, layout: Layout) -> Subtitles {
        Subtitles {
            format,
            layout,
            count: 0,
            words: Vec::new(),
            line: 0,
            lines: 1,
            last: None,
        }
    }

    /// The subtitles that are complete with these segments; where words have times, those of words.
    pub(super) fn push(&mut self, segments: &[Segment]) -> String {
        let mut out = String::new();
        for segment in segments {
            match &segment.words {
                Some(words) => self.place(words, &mut out),
                None => {
                    let subtitle = Subtitle {
                        start: segment.start,
                        end: segment.end,
                        text: safe(segment.text.trim()),
                    };
                    self.write(&subtitle, &mut out);
                }
            }
        }
        out
    }

    /// The subtitle that more words might join.
    pub(super) fn pending(&self) -> String {
        let mut out = String::new();
        self.clone().complete(&mut out);
        out
    }

    fn place(&mut self, words: &[TimedWord], out: &mut String) {
        let keeps = self.layout.keeps_segments();
        let width = self.layout.max_line_width.unwrap_or(LINE);
        let chunk = self.layout.max_words_per_line.unwrap_or(LINE).max(1);
        if let Some(first) = words.first() {
            self.last.get_or_insert(first.start);
        }
        for words in words.chunks(chunk) {
            for word in words {
                let mut word = word.clone();
                let pause = self.last.is_some_and(|last| word.start - last > PAUSE);
                let pause = !keeps && pause;
                let length = word.word.chars().count();
                if self.line > 0 && self.line + length <= width && !pause {
                    self.line += length;
                } else {
                    let text = word.word.trim().to_owned();
                    let length = text.chars().count();
                    let full = |most| pause || self.lines >= most;
                    let broken = self.layout.max_line_count.is_some_and(full);
                    if broken && !self.words.is_empty() {
                        self.complete(out);
                        word.word = text;
                    } else if self.line > 0 {
                        self.lines += 1;
                        word.word = format!("\n{text}");
                    } else {
                        word.word = text;
                    }
                    self.line = length;
                }
                self.last = Some(word.start);
                self.words.push(word);
            }
            if keeps {
                self.complete(out);
            }
        }
    }

    /// Writes the words that there are.
    fn complete(&mut self, out: &mut String) {
        let words = std::mem::take(&mut self.words);
        (self.line, self.lines) = (0, 1);
        let (Some(first), Some(end)) = (words.first(), words.last()) else {
            return;
        };
        let text = |at: Option<usize>| -> String {
            let one = |(i, word): (usize, &TimedWord)| match at == Some(i) {
                true => underlined(&safe_line(&word.word)),
                false => safe_line(&word.word),
            };
            words.iter().enumerate().map(one).collect()
        };
        if self.layout.highlight == Highlight::Nothing || self.format == Format::Txt {
            let subtitle = Subtitle {
                start: first.start,
                end: end.end,
                text: text(None),
            };
            return self.write(&subtitle, out);
        }
        let mut last = milliseconds(first.start);
        for (i, word) in words.iter().enumerate() {
            if last != milliseconds(word.start) {
                let between = Subtitle {
                    start: last as f64 / 1000.0,
                    end: word.start,
                    text: text(None),
                };
                self.write(&between, out);
            }
            let said = Subtitle {
                start: word.start,
                end: word.end,
                text: text(Some(i)),
            };
            self.write(&said, out);
            last = milliseconds(word.end);
        }
    }

    fn write(&mut self, subtitle: &Subtitle, out: &mut String) {
        self.count += 1;
        let Subtitle { start, end, text } = subtitle;
        let written = match self.format {
            Format::Srt => {
                let number = self.count;
                format!(
                    "{number}\n{} --> {}\n{text}\n\n",
                    comma(*start),
                    comma(*end)
                )
            }
            Format::Vtt => format!("{} --> {}\n{text}\n\n", point(*start), point(*end)),
            Format::Txt | Format::Tsv | Format::Json => {
                let text = text.replace('\n', " ");
                format!("[{} --> {}] {text}\n", point(*start), point(*end))
            }
        };
        out.push_str(&written);
    }
}

/// SubRip's times: hours always, a comma before milliseconds.
fn comma(seconds: f64) -> String {
    let (clock, rest) = clock(seconds);
    format!("{:02}:{:02}:{:02},{rest:03}", clock[0], clock[1], clock[2])
}

/// WebVTT's times: hours only where there are some, a point before milliseconds.
fn point(seconds: f64) -> String {
    let (clock, rest) = clock(seconds);
    let hours = match clock[0] {
        0 => String::new(),
        hours => format!("{hours:02}:"),
    };
    format!("{hours}{:02}:{:02}.{rest:03}", clock[1], clock[2])
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

/// A word between tags that underline it, and the space before it.
fn underlined(word: &str) -> String {
    let said = word.trim_start();
    let space = &word[..word.len() - said.len()];
    format!("{space}<u>{said}</u>")
}

/// The text without what would end a subtitle or begin another.
fn safe(text: &str) -> String {
    text.replace("-->", "->").replace(['\n', '\r'], " ")
}

/// A word that may begin a line, made safe as [`safe`] does it.
fn safe_line(word: &str) -> String {
    match word.strip_prefix('\n') {
        Some(word) => format!("\n{}", safe(word)),
        None => safe(word),
    }
}
