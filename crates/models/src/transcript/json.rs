//! A transcript as JSON, under openai-whisper's names and in its order.

use crate::whisper::transcript::{Segment, TimedWord};
use serde_json::Value;
use warpsmith_audio::Missing;

use super::Transcription;

pub(super) fn write(transcription: Transcription<'_>) -> String {
    let segments = transcription.segments.iter().map(segment).collect();
    let mut fields = vec![
        ("text", transcription.text.into()),
        ("segments", Raw::List(segments)),
    ];
    fields.extend(facts(transcription));
    object(&fields)
}

/// Segments of a list that is open.
pub(super) fn more(segments: &[Segment], first: bool) -> String {
    let mut out = String::new();
    for one in segments {
        if !(first && out.is_empty()) {
            out.push_str(", ");
        }
        out.push_str(&segment(one));
    }
    out
}

/// The end of that list, and what else is known.
pub(super) fn rest(transcription: Transcription<'_>) -> String {
    let mut fields = vec![("text", transcription.text.into())];
    fields.extend(facts(transcription));
    let object = object(&fields);
    format!("], {}\n", &object[1..])
}

/// What is known of the whole; pieces that are missing only if there are some.
fn facts(transcription: Transcription<'_>) -> Vec<(&'static str, Raw)> {
    let mut facts = vec![("language", transcription.language.into())];
    let missing = |missing: &Missing| {
        let Missing { start, end, why } = missing;
        object(&[
            ("start", (*start).into()),
            ("end", Raw::One((*end).into())),
            ("why", why.as_str().into()),
        ])
    };
    if !transcription.missing.is_empty() {
        let all = transcription.missing.iter().map(missing).collect();
        facts.push(("missing", Raw::List(all)));
    }
    facts
}

fn segment(segment: &Segment) -> String {
    let Segment {
        id,
        seek,
        start,
        end,
        text,
        tokens,
        temperature,
        avg_log_prob,
        compression_ratio,
        no_speech_prob,
        words,
    } = segment;
    // The number that a person would write, not the nearest float's.
    let temperature: f64 = temperature.to_string().parse().unwrap_or(0.0);
    let tokens = tokens.iter().map(u32::to_string).collect();
    let mut fields = vec![
        ("id", Raw::One(Value::from(*id))),
        ("seek", Raw::One(Value::from(*seek))),
        ("start", (*start).into()),
        ("end", (*end).into()),
        ("text", text.as_str().into()),
        ("tokens", Raw::List(tokens)),
        ("temperature", temperature.into()),
        ("avg_logprob", (*avg_log_prob).into()),
        ("compression_ratio", (*compression_ratio).into()),
        ("no_speech_prob", (*no_speech_prob).into()),
    ];
    if let Some(words) = words {
        fields.push(("words", Raw::List(words.iter().map(word).collect())));
    }
    object(&fields)
}

fn word(word: &TimedWord) -> String {
    let TimedWord {
        word,
        start,
        end,
        probability,
    } = word;
    object(&[
        ("word", word.as_str().into()),
        ("start", (*start).into()),
        ("end", (*end).into()),
        ("probability", (*probability).into()),
    ])
}

/// A value, or values already written.
enum Raw {
    One(Value),
    List(Vec<String>),
}

impl From<&str> for Raw {
    fn from(text: &str) -> Raw {
        Raw::One(text.into())
    }
}

impl From<f64> for Raw {
    fn from(number: f64) -> Raw {
        Raw::One(number.into())
    }
}

/// An object with its fields in this order.
fn object(fields: &[(&str, Raw)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| match value {
            Raw::One(value) => format!("\"{name}\": {value}"),
            Raw::List(list) => format!("\"{name}\": [{}]", list.join(", ")),
        })
        .collect();
    format!("{{{}}}", fields.join(", "))
}
