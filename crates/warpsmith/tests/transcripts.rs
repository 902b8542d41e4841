//! Written transcripts: what openai-whisper writes, and what a reader of each format gets back.

mod subtitles;

use serde_json::Value;
use subtitles::{Cue, cues};
use warpsmith::transcript::{Format, Transcription};
use warpsmith_models::whisper::transcript::{Segment, TimedWord};

fn json(name: &str) -> Value {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../suite/reference/whisper/"
    );
    let bytes = std::fs::read(format!("{folder}{name}")).expect("reference data");
    serde_json::from_slice(&bytes).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

fn segment(value: &Value) -> Segment {
    let words = value["words"].as_array();
    Segment {
        id: number(&value["id"]) as usize,
        seek: number(&value["seek"]) as u64,
        start: number(&value["start"]),
        end: number(&value["end"]),
        text: text(&value["text"]),
        tokens: serde_json::from_value(value["tokens"].clone()).expect("ids"),
        temperature: number(&value["temperature"]) as f32,
        avg_log_prob: number(&value["avg_logprob"]),
        compression_ratio: number(&value["compression_ratio"]),
        no_speech_prob: number(&value["no_speech_prob"]),
        words: words.map(|words| {
            let word = |value: &Value| TimedWord {
                word: text(&value["word"]),
                start: number(&value["start"]),
                end: number(&value["end"]),
                probability: number(&value["probability"]),
            };
            words.iter().map(word).collect()
        }),
    }
}

#[test]
fn files_are_those_of_openai_whisper() {
    let (cases, written) = (json("base.transcribe.json"), json("writers.json"));
    for (name, files) in written.as_object().expect("an object") {
        let case = &cases[name];
        let segments = case["segments"].as_array().expect("a list");
        let segments: Vec<Segment> = segments.iter().map(segment).collect();
        let transcription = Transcription {
            text: case["text"].as_str().expect("text"),
            segments: &segments,
            language: case["language"].as_str().expect("text"),
        };
        for format in Format::ALL {
            let (got, want) = (
                format.write(transcription),
                text(&files[format.extension()]),
            );
            if format == Format::Json {
                let parse = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
                let (got, want) = (parse(&got), parse(&want));
                assert!(same(&got, &want), "{name}: {got} {want}");
            } else {
                assert_eq!(got, want, "{name} {}", format.extension());
            }
        }
    }
}

/// Whether two values are the same, whole numbers being numbers.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let known =
                |(name, value): (&String, &Value)| b.get(name).is_some_and(|b| same(value, b));
            a.len() == b.len() && a.iter().all(known)
        }
        (a, b) => a == b,
    }
}

/// Segments that test a writer: long times, marks of the formats, empty texts.
fn awkward() -> Vec<Segment> {
    let texts = [
        (0.0, 1.9996, " Hi --> there\t\"you\""),
        (1.9996, 3599.9999, " \u{4f60}\u{597d}\n\nnext"),
        (3600.0, 36_000.5, ""),
        (-0.5, 0.25, " 1"),
    ];
    let all = texts.iter().enumerate();
    all.map(|(id, &(start, end, text))| Segment {
        id,
        seek: 0,
        start,
        end,
        text: text.to_owned(),
        tokens: vec![1, 2],
        temperature: 0.2,
        avg_log_prob: -0.25,
        compression_ratio: 1.5,
        no_speech_prob: 0.01,
        words: None,
    })
    .collect()
}

fn write(format: Format, segments: &[Segment]) -> String {
    format.write(Transcription {
        text: "all",
        segments,
        language: "en",
    })
}

fn expected() -> Vec<Cue> {
    let cue = |start, end, text: &str| Cue {
        start,
        end,
        text: text.to_owned(),
    };
    vec![
        cue(0, 2000, "Hi -> there\t\"you\""),
        cue(2000, 3_600_000, "\u{4f60}\u{597d}  next"),
        cue(3_600_000, 36_000_500, ""),
        cue(0, 250, "1"),
    ]
}

#[test]
fn subrip_reads_back() {
    let text = write(Format::Srt, &awkward());
    assert_eq!(cues(&text, 1, ','), expected());
    assert!(text.contains("01:00:00,000 --> 10:00:00,500"));
    assert_eq!(write(Format::Srt, &[]), "");
}

#[test]
fn webvtt_reads_back() {
    let text = write(Format::Vtt, &awkward());
    let body = text.strip_prefix("WEBVTT\n\n").expect("a signature");
    assert_eq!(cues(body, 0, '.'), expected());
    assert_eq!(write(Format::Vtt, &[]), "WEBVTT\n\n");
}

#[test]
fn tab_separated_values_read_back() {
    let text = write(Format::Tsv, &awkward());
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("start\tend\ttext"));
    for (line, want) in lines.by_ref().zip(expected()) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [start, end, text] = fields[..] else {
            panic!("{line}");
        };
        assert_eq!(
            (start, end),
            (&*want.start.to_string(), &*want.end.to_string())
        );
        // Arrows mean nothing here and stay.
        assert_eq!(text, want.text.replace('\t', " ").replace("->", "-->"));
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn json_reads_back() {
    let text = write(Format::Json, &awkward());
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        (&value["text"], &value["language"]),
        (&"all".into(), &"en".into())
    );
    let segments = value["segments"].as_array().expect("a list");
    let back: Vec<Segment> = segments.iter().map(segment).collect();
    assert_eq!(back, awkward());
    assert_eq!(segments[0]["temperature"], 0.2);
    assert!(segments[0].get("words").is_none());
}

#[test]
fn words_time_their_subtitles_and_long_lines_are_broken() {
    let mut segments = awkward();
    let word = |word: &str, start: f64| TimedWord {
        word: word.to_owned(),
        start,
        end: start + 0.5,
        probability: 0.5,
    };
    for segment in &mut segments {
        segment.words = Some(Vec::new());
    }
    segments[0].words = Some(vec![
        word(" Hi", 0.25),
        word(" -->", 0.75),
        word(" you", 1.25),
    ]);
    let long = "x".repeat(600);
    segments[1].words = Some(vec![
        word(&format!(" {long}"), 2.0),
        word(&format!(" {long}"), 3.0),
    ]);
    let text = write(Format::Srt, &segments);
    let got = cues(&text, 1, ',');
    assert_eq!(got.len(), 2);
    assert_eq!(
        (got[0].start, got[0].end, &*got[0].text),
        (250, 1750, "Hi -> you")
    );
    assert_eq!((got[1].start, got[1].end), (2000, 3500));
    assert_eq!(got[1].text, format!("{long}\n{long}"));
}
