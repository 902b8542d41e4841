//! Written transcripts: what openai-whisper writes, and what a reader of each format gets back.

mod subtitles;

use serde_json::Value;
use subtitles::{Cue, cues};
use warpsmith::{
    audio::Missing,
    transcript::{Format, Highlight, Layout, Transcription, Writer},
};
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
            missing: &[],
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
        missing: &[],
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

/// A segment of words that are said one after the other, half a second each, from `start` on.
fn spoken(id: usize, start: f64, text: &str) -> Segment {
    let words = text
        .split_inclusive(' ')
        .map(|word| format!(" {}", word.trim()));
    let words: Vec<TimedWord> = words
        .enumerate()
        .map(|(i, word)| TimedWord {
            word,
            start: start + 0.5 * i as f64,
            end: start + 0.5 * i as f64 + 0.4,
            probability: 0.9,
        })
        .collect();
    Segment {
        id,
        start,
        end: words.last().map_or(start, |word| word.end),
        text: format!(" {text}"),
        words: Some(words),
        ..awkward().remove(0)
    }
}

fn said() -> [Segment; 3] {
    [
        spoken(0, 0.0, "one two three four five"),
        spoken(1, 2.5, "six seven"),
        spoken(2, 9.0, "eight"),
    ]
}

/// What a writer gives of segments that come one by one; each time what is there reads back.
fn written(format: Format, layout: Layout, segments: &[Segment]) -> String {
    let mut writer = Writer::new(format, layout);
    let mut out = writer.begin().to_owned();
    for segment in segments {
        out += &writer.push(std::slice::from_ref(segment));
        let now = format!("{out}{}", writer.pending());
        match format {
            Format::Srt => drop(cues(&now, 1, ',')),
            Format::Vtt => drop(cues(
                now.strip_prefix("WEBVTT\n\n").expect("a signature"),
                0,
                '.',
            )),
            Format::Txt | Format::Tsv | Format::Json => {}
        }
    }
    out + &writer.end(Transcription {
        text: "all",
        segments,
        language: "en",
        missing: &[],
    })
}

/// Times in milliseconds and texts, as openai-whisper's writers lay them out.
type Laid<'a> = &'a [(u64, u64, &'a str)];

#[test]
fn words_are_laid_out_as_by_openai_whisper() {
    let words = |n| Layout {
        max_words_per_line: Some(n),
        ..Layout::default()
    };
    let width = |width, count| Layout {
        max_line_width: Some(width),
        max_line_count: count,
        ..Layout::default()
    };
    let cases: [(Layout, Laid<'_>); 5] = [
        (
            words(2),
            &[
                (0, 900, "one two"),
                (1000, 1900, "three four"),
                (2000, 2400, "five"),
                (2500, 3400, "six seven"),
                (9000, 9400, "eight"),
            ],
        ),
        (
            words(1),
            &[
                (0, 400, "one"),
                (500, 900, "two"),
                (1000, 1400, "three"),
                (1500, 1900, "four"),
                (2000, 2400, "five"),
                (2500, 2900, "six"),
                (3000, 3400, "seven"),
                (9000, 9400, "eight"),
            ],
        ),
        // A width alone breaks lines within segments.
        (
            width(9, None),
            &[
                (0, 2400, "one two\nthree\nfour five"),
                (2500, 3400, "six seven"),
                (9000, 9400, "eight"),
            ],
        ),
        // With a count subtitles cross segments, up to a pause.
        (
            width(14, Some(1)),
            &[
                (0, 1400, "one two three"),
                (1500, 2900, "four five six"),
                (3000, 3400, "seven"),
                (9000, 9400, "eight"),
            ],
        ),
        (
            width(14, Some(2)),
            &[
                (0, 2900, "one two three\nfour five six"),
                (3000, 3400, "seven"),
                (9000, 9400, "eight"),
            ],
        ),
    ];
    for (layout, want) in cases {
        let want: Vec<Cue> = want
            .iter()
            .map(|(start, end, text)| Cue {
                start: *start,
                end: *end,
                text: (*text).to_owned(),
            })
            .collect();
        let srt = written(Format::Srt, layout, &said());
        assert_eq!(cues(&srt, 1, ','), want, "{layout:?}");
        let vtt = written(Format::Vtt, layout, &said());
        let body = vtt.strip_prefix("WEBVTT\n\n").expect("a signature");
        assert_eq!(cues(body, 0, '.'), want, "{layout:?}");
    }
    let txt = written(Format::Txt, words(2), &said());
    assert_eq!(
        txt,
        "[00:00.000 --> 00:00.900] one two\n[00:01.000 --> 00:01.900] three four\n[00:02.000 --> 00:02.400] five\n\
         [00:02.500 --> 00:03.400] six seven\n[00:09.000 --> 00:09.400] eight\n"
    );
}

#[test]
fn each_word_is_underlined_while_it_is_said() {
    let layout = Layout {
        highlight: Highlight::Words,
        ..Layout::default()
    };
    let vtt = written(Format::Vtt, layout, &said()[1..2]);
    assert_eq!(
        vtt,
        "WEBVTT\n\n00:02.500 --> 00:02.900\n<u>six</u> seven\n\n00:02.900 --> 00:03.000\nsix seven\n\n\
         00:03.000 --> 00:03.400\nsix <u>seven</u>\n\n"
    );
}

#[test]
fn what_comes_piece_by_piece_is_the_whole_file() {
    let plain = Layout::default();
    for format in [Format::Txt, Format::Srt, Format::Vtt, Format::Tsv] {
        for segments in [&awkward()[..], &said(), &[]] {
            assert_eq!(
                written(format, plain, segments),
                write(format, segments),
                "{format:?}"
            );
        }
    }
    for segments in [&awkward()[..], &said(), &[]] {
        let parse = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        let got = parse(&written(Format::Json, plain, segments));
        assert!(same(&got, &parse(&write(Format::Json, segments))));
    }
}

#[test]
fn pieces_that_are_missing_are_in_the_json() {
    let missing = [
        Missing {
            start: 1.5,
            end: Some(2.25),
            why: "a \"quoted\" reason".to_owned(),
        },
        Missing {
            start: 9.0,
            end: None,
            why: "the end".to_owned(),
        },
    ];
    let transcription = Transcription {
        text: "all",
        segments: &[],
        language: "en",
        missing: &missing,
    };
    let whole = Format::Json.write(transcription);
    let writer = Writer::new(Format::Json, Layout::default());
    let streamed = format!("{}{}", writer.begin(), writer.end(transcription));
    for text in [whole, streamed] {
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["missing"][0]["start"], 1.5);
        assert_eq!(value["missing"][0]["end"], 2.25);
        assert_eq!(value["missing"][0]["why"], "a \"quoted\" reason");
        assert!(value["missing"][1]["end"].is_null());
    }
}
