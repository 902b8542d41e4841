//! Transcripts as text: plain lines, SubRip, WebVTT, tab-separated values, JSON.
//!
//! What is written is what openai-whisper writes of the same segments. Where words have times, a subtitle
//! lasts from its first word to its last.

mod json;
mod subtitle;

use crate::whisper::transcript::Segment;
use warpsmith_audio::Missing;

use subtitle::Subtitles;
pub use subtitle::{Highlight, Layout};

/// A sound's transcript.
#[derive(Clone, Copy, Debug)]
pub struct Transcription<'a> {
    /// All that was said.
    pub text: &'a str,
    /// When it was said.
    pub segments: &'a [Segment],
    /// The code of the language.
    pub language: &'a str,
    /// What of the sound could not be read.
    pub missing: &'a [Missing],
}

/// A way to write a transcript.
///
/// ```
/// use warpsmith_models::transcript::{Format, Transcription};
///
/// let nothing = Transcription { text: "", segments: &[], language: "en", missing: &[] };
/// assert_eq!(Format::Vtt.write(nothing), "WEBVTT\n\n");
/// assert_eq!(Format::Srt.extension(), "srt");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A line for each segment.
    Txt,
    /// SubRip subtitles.
    Srt,
    /// WebVTT subtitles.
    Vtt,
    /// Start and end in milliseconds, and the text.
    Tsv,
    /// All that is known of each segment.
    Json,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 5] = [
        Format::Txt,
        Format::Srt,
        Format::Vtt,
        Format::Tsv,
        Format::Json,
    ];

    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Txt => "txt",
            Format::Srt => "srt",
            Format::Vtt => "vtt",
            Format::Tsv => "tsv",
            Format::Json => "json",
        }
    }

    /// The whole file.
    pub fn write(self, transcription: Transcription<'_>) -> String {
        if self == Format::Json {
            return json::write(transcription);
        }
        let mut writer = Writer::new(self, Layout::default());
        let mut out = writer.begin().to_owned();
        out.push_str(&writer.push(transcription.segments));
        out.push_str(&writer.end(transcription));
        out
    }
}

/// Writes a transcript as it comes: what [`Writer::begin`], each [`Writer::push`] and [`Writer::end`] give, one after the
/// other, is the file. Of JSON the fields then come in another order than in [`Format::write`]: segments first.
#[derive(Clone, Debug)]
pub struct Writer {
    format: Format,
    layout: Layout,
    subtitles: Subtitles,
    segments: usize,
}

impl Writer {
    /// A writer of words in a layout, where they have times.
    pub fn new(format: Format, layout: Layout) -> Writer {
        Writer {
            format,
            layout,
            subtitles: Subtitles::new(format, layout),
            segments: 0,
        }
    }

    /// What stands before all segments.
    pub fn begin(&self) -> &'static str {
        match self.format {
            Format::Txt | Format::Srt => "",
            Format::Vtt => "WEBVTT\n\n",
            Format::Tsv => "start\tend\ttext\n",
            Format::Json => "{\"segments\": [",
        }
    }

    /// What is certain with these segments.
    pub fn push(&mut self, segments: &[Segment]) -> String {
        let first = self.segments == 0;
        self.segments += segments.len();
        match self.format {
            Format::Txt if self.layout == Layout::default() => plain(segments),
            Format::Txt | Format::Srt | Format::Vtt => self.subtitles.push(segments),
            Format::Tsv => tsv(segments),
            Format::Json => json::more(segments, first),
        }
    }

    /// What would follow if there were no more segments.
    pub fn pending(&self) -> String {
        match self.format {
            Format::Txt | Format::Srt | Format::Vtt => self.subtitles.pending(),
            Format::Tsv | Format::Json => String::new(),
        }
    }

    /// What stands after all segments.
    pub fn end(&self, transcription: Transcription<'_>) -> String {
        match self.format {
            Format::Json => json::rest(transcription),
            Format::Txt | Format::Srt | Format::Vtt | Format::Tsv => self.pending(),
        }
    }
}

fn plain(segments: &[Segment]) -> String {
    segments
        .iter()
        .map(|segment| format!("{}\n", segment.text.trim()))
        .collect()
}

fn tsv(segments: &[Segment]) -> String {
    let mut out = String::new();
    for segment in segments {
        let (start, end) = (milliseconds(segment.start), milliseconds(segment.end));
        let text = segment.text.trim().replace(['\t', '\n', '\r'], " ");
        out.push_str(&format!("{start}\t{end}\t{text}\n"));
    }
    out
}

/// A time in whole milliseconds; what is before the start counts as the start.
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).round_ties_even() as u64
}
