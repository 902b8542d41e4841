//! Speech over the wire is what a transcriber writes, in each format; a sound that is none is refused.

use crate::{
    client::{Answer, raw, send},
    support::{Running, listen_options, options, reference, speech},
};
use serde_json::{Value, json};
use std::{fs, ops::ControlFlow};
use warpsmith_audio::Spectrogram;
use warpsmith_models::{
    transcript::{Format, Transcription},
    whisper::{Heard, ListenOptions, Transcriber, transcript::WordOptions},
};

const PATH: &str = "/v1/audio/transcriptions";

/// A form of fields and a sound.
fn form(fields: &[(&str, &str)], sound: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        let part =
            format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend(part.bytes());
    }
    body.extend(b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n");
    body.extend(b"Content-Type: audio/wav\r\n\r\n");
    body.extend(sound);
    body.extend(b"\r\n--x--\r\n");
    body
}

fn ask(server: &Running, path: &str, fields: &[(&str, &str)], sound: &[u8]) -> Answer {
    let kind = "Content-Type: multipart/form-data; boundary=x\r\n";
    send(server.address, "POST", path, kind, &form(fields, sound)).answer()
}

fn sound() -> Vec<u8> {
    fs::read(reference("audio/goforward.wav")).expect("reference data")
}

/// What a transcriber writes.
fn alone(options: ListenOptions) -> (Heard, f64) {
    let model = speech();
    let mut transcriber = Transcriber::new(&model.bundle, options).expect("a transcriber");
    let n_mels = model.bundle.model.dims().n_mels as usize;
    let mut sound = Spectrogram::of_bytes(sound(), n_mels).expect("a sound");
    let heard = transcriber.transcribe(&mut sound, &mut |_| ControlFlow::Continue(()));
    (heard.expect("text"), sound.seconds())
}

#[test]
fn each_format_has_what_a_transcriber_writes() {
    let server = Running::new(vec![], vec![speech()], options());
    let english = ListenOptions {
        language: Some("en".to_owned()),
        ..listen_options()
    };
    let (heard, seconds) = alone(english.clone());
    let text = heard.text.trim();
    assert!(!text.is_empty());
    let get = |more: &[(&str, &str)]| {
        let fields = [&[("model", "whisper-1"), ("language", "English")], more].concat();
        let answer = ask(&server, PATH, &fields, &sound());
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer
    };
    assert_eq!(get(&[]).json()["text"], text);
    assert_eq!(
        get(&[("response_format", "text")]).text(),
        format!("{text}\n")
    );
    let transcription = Transcription {
        text: &heard.text,
        segments: &heard.segments,
        language: "en",
        missing: &[],
    };
    for (name, format) in [("srt", Format::Srt), ("vtt", Format::Vtt)] {
        assert_eq!(
            get(&[("response_format", name)]).text(),
            format.write(transcription)
        );
    }
    let verbose = get(&[("response_format", "verbose_json")]).json();
    assert_eq!(verbose["language"], "english");
    assert_eq!(verbose["duration"], seconds);
    assert_eq!(verbose["task"], "transcribe");
    let segments = verbose["segments"].as_array().expect("a list");
    assert_eq!(segments.len(), heard.segments.len());
    for (got, want) in segments.iter().zip(&heard.segments) {
        assert_eq!(
            (&got["start"], &got["end"]),
            (&json!(want.start), &json!(want.end))
        );
        assert_eq!(
            (&got["text"], &got["tokens"]),
            (&json!(want.text), &json!(want.tokens))
        );
    }
    assert!(verbose.get("words").is_none());
    let mut words = english;
    words.transcript.words = Some(WordOptions::default());
    let (want, _) = alone(words);
    let want = want
        .segments
        .iter()
        .flat_map(|segment| segment.words.iter().flatten());
    let want: Vec<Value> = want
        .map(|word| json!({"word": word.word.trim(), "start": word.start, "end": word.end}))
        .collect();
    let both = [
        ("response_format", "verbose_json"),
        ("timestamp_granularities[]", "word"),
        ("timestamp_granularities[]", "segment"),
    ];
    let got = get(&both).json();
    assert_eq!(got["words"], json!(want));
    assert!(got["segments"].is_array());
    let streamed = get(&[("stream", "true")]);
    let events = streamed.events();
    assert_eq!(
        events.last().expect("events")["type"],
        "transcript.text.done"
    );
    assert_eq!(events.last().expect("events")["text"], text);
    let deltas = events.iter().filter_map(|event| event["delta"].as_str());
    assert_eq!(deltas.collect::<String>().trim(), text);
    // After all this the options of the first are as they were.
    assert_eq!(get(&[]).json()["text"], text);
    let fields = [("model", "whisper-tiny.en"), ("response_format", "text")];
    let answer = ask(&server, "/v1/audio/translations", &fields, &sound());
    assert_eq!(answer.status, 400);
    let message = answer.error()["message"].to_string();
    assert!(message.contains("knows English alone"), "{message}");
}

#[test]
fn broken_sounds_and_wrong_fields_are_refused() {
    let mut own = options();
    own.limits.audio = 1 << 20;
    let server = Running::new(vec![], vec![speech()], own);
    let mut cut = sound();
    cut.truncate(30);
    let noise: Vec<u8> = (0..5000u32).map(|at| (at * at % 251) as u8).collect();
    for broken in [
        &b""[..],
        b"RIFF",
        &cut,
        &noise,
        b"OggS but no more",
        "hällo".as_bytes(),
    ] {
        for stream in ["false", "true"] {
            let answer = ask(&server, PATH, &[("stream", stream)], broken);
            assert_eq!(answer.status, 400, "{}", answer.text());
            assert_eq!(answer.error()["param"], "file");
        }
    }
    for (name, value) in [
        ("language", "klingon"),
        ("temperature", "warm"),
        ("temperature", "2"),
        ("response_format", "docx"),
        ("timestamp_granularities[]", "word"),
        ("stream", "perhaps"),
        ("include[]", "logprobs"),
        ("no_such_field", "1"),
    ] {
        let answer = ask(&server, PATH, &[(name, value)], &sound());
        assert_eq!(answer.status, 400, "{name}");
        let param = answer.error()["param"].clone();
        let param = param.as_str().expect("a field");
        assert!(name.starts_with(param), "{name}: {param}");
    }
    for name in ["prompt", "file"] {
        let answer = ask(&server, PATH, &[(name, "a"), (name, "b")], &sound());
        assert_eq!(
            (answer.status, &answer.error()["param"]),
            (400, &json!(name))
        );
    }
    let model = ask(&server, PATH, &[("model", "other")], &sound());
    assert_eq!(
        (model.status, &model.error()["param"]),
        (404, &json!("model"))
    );
    let large = ask(&server, PATH, &[], &vec![0; 2 << 20]);
    assert_eq!(large.status, 413);
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741824\r\n\
         Content-Type: multipart/form-data; boundary=x\r\n\r\n"
    );
    assert_eq!(raw(server.address, head.as_bytes()).answer().status, 413);
    let json = send(
        server.address,
        "POST",
        PATH,
        "Content-Type: application/json\r\n",
        b"{}",
    );
    assert_eq!(json.answer().status, 400);
    // One that is fine is still heard.
    assert_eq!(ask(&server, PATH, &[], &sound()).status, 200);
}
