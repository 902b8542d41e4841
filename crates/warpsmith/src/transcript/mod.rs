//! Transcripts as text: plain lines, SubRip, WebVTT, tab-separated values, JSON.
//!
//! What is written is what openai-whisper writes of the same segments. Where words have times, a subtitle
//! lasts from its first word to its last.

mod json;
mod subtitle;

use warpsmith_models::whisper::transcript::Segment;

/// A sound's transcript.
#[derive(Clone, Copy, Debug)]
pub struct Transcription<'a> {
    /// All that was said.
    pub text: &'a str,
    /// When it was said.
    pub segments: &'a [Segment],
    /// The code of the language.
    pub language: &'a str,
}

/// A way to write a transcript.
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
        let segments = transcription.segments;
        match self {
            Format::Txt => segments
                .iter()
                .map(|segment| format!("{}\n", segment.text.trim()))
                .collect(),
            Format::Srt => subtitle::srt(segments),
            Format::Vtt => subtitle::vtt(segments),
            Format::Tsv => tsv(segments),
            Format::Json => json::write(transcription),
        }
    }
}

fn tsv(segments: &[Segment]) -> String {
    let mut out = "start\tend\ttext\n".to_owned();
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
