//! Transcripts in OpenAI's formats.

use crate::{
    http::{json_response, typed},
    speech::Done,
};
use axum::response::Response;
use serde_json::{Value, json};
use warpsmith_models::{
    transcript::{Format, Transcription},
    whisper::{
        tokenizer::{LANGUAGES, Task},
        transcript::Segment,
    },
};

/// How a transcript is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Text,
    Json,
    /// With times.
    Verbose {
        segments: bool,
        words: bool,
    },
    Srt,
    Vtt,
}

/// What was heard, as OpenAI counts it.
pub(super) fn usage(done: &Done) -> Value {
    json!({"type": "duration", "seconds": done.seconds.ceil() as u64})
}

/// The whole answer.
pub(super) fn whole(done: &Done, written: Written, task: Task) -> Response {
    const PLAIN: &str = "text/plain; charset=utf-8";
    let text = done.heard.text.trim();
    let transcription = Transcription {
        text: &done.heard.text,
        segments: &done.heard.segments,
        language: &done.heard.language,
        missing: &done.missing,
    };
    match written {
        Written::Text => typed(PLAIN, format!("{text}\n")),
        Written::Json => json_response(&json!({"text": text, "usage": usage(done)})),
        Written::Srt => typed(PLAIN, Format::Srt.write(transcription)),
        Written::Vtt => typed("text/vtt; charset=utf-8", Format::Vtt.write(transcription)),
        Written::Verbose { segments, words } => {
            let mut object = json!({
                "task": match task {
                    Task::Transcribe => "transcribe",
                    Task::Translate => "translate",
                },
                "language": name(&done.heard.language),
                "duration": done.seconds,
                "text": text,
                "usage": usage(done),
            });
            if segments {
                object["segments"] = done.heard.segments.iter().map(segment).collect();
            }
            if words {
                let all = done.heard.segments.iter();
                let all = all.flat_map(|segment| segment.words.iter().flatten());
                let word = all.map(
                    |word| json!({"word": word.word.trim(), "start": word.start, "end": word.end}),
                );
                object["words"] = word.collect();
            }
            if !done.missing.is_empty() {
                let missing = done
                    .missing
                    .iter()
                    .map(|piece| json!({"start": piece.start, "end": piece.end, "why": piece.why}));
                object["missing"] = missing.collect();
            }
            json_response(&object)
        }
    }
}

/// The English name of a language, as OpenAI gives it.
fn name(code: &str) -> &str {
    let found = LANGUAGES.iter().find(|(own, _)| *own == code);
    found.map_or(code, |(_, name)| name)
}

fn segment(segment: &Segment) -> Value {
    json!({
        "id": segment.id,
        "seek": segment.seek,
        "start": segment.start,
        "end": segment.end,
        "text": segment.text,
        "tokens": segment.tokens,
        "temperature": f64::from(segment.temperature),
        "avg_logprob": segment.avg_log_prob,
        "compression_ratio": segment.compression_ratio,
        "no_speech_prob": segment.no_speech_prob,
    })
}
