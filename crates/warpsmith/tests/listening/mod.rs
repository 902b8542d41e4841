//! `transcribe` while it works: texts that stand as they come, Ctrl-C, standard input, pieces and words.

use crate::{
    sounds::{PLAIN, audio, bytes, model, samples, transcribe, wav, write},
    subtitles::cues,
};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The program at work.
fn begin(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(["transcribe", "--model", &model(), "--device", "virtual"])
        .args(["--temperature", "0"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status();
    assert!(sent.expect("kill").success());
}

/// Waits for what takes some seconds.
fn until(what: &str, mut there: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !there() {
        assert!(begin.elapsed() < Duration::from_secs(300), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Two minutes and more.
fn long() -> Vec<i16> {
    let mut all = Vec::new();
    for clip in ["jfk.wav", "ss0870.wav", "ss0880.wav", "goforward.wav"].repeat(6) {
        all.extend(samples(clip));
        all.extend([0; 8000]);
    }
    all
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn texts_stand_on_disk_as_they_come_and_ctrl_c_keeps_them() {
    let (sounds, texts) = (
        TempDir::new().expect("a folder"),
        TempDir::new().expect("a folder"),
    );
    let sound = write(&sounds, "long.wav", &wav(&PLAIN, &bytes(&long())));
    let silent = write(&sounds, "other.wav", &wav(&PLAIN, &bytes(&long())));
    let to = texts.path().display().to_string();
    let old = |name: &str| texts.path().join(name);
    for name in ["long.srt", "long.json", "other.srt"] {
        fs::write(old(name), "old").expect("written");
    }
    let args = [
        "--format",
        "srt,vtt,json",
        "--output-dir",
        &to,
        &sound,
        &silent,
    ];
    let child = begin(&args);
    until("a first window", || {
        fs::read_to_string(old("long.srt")).expect("there") != "old"
    });
    // All that is there is whole at each moment.
    for _ in 0..20 {
        let srt = fs::read_to_string(old("long.srt")).expect("there");
        assert!(!cues(&srt, 1, ',').is_empty());
        let json = fs::read_to_string(old("long.json")).expect("there");
        assert!(
            json == "old" || serde_json::from_str::<Value>(&json).is_ok(),
            "{json}"
        );
        thread::sleep(Duration::from_millis(2));
    }
    interrupt(&child);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(130));
    let json = fs::read_to_string(old("long.json")).expect("there");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let srt = cues(&fs::read_to_string(old("long.srt")).expect("there"), 1, ',');
    assert_eq!(json["segments"].as_array().map(Vec::len), Some(srt.len()));
    assert!(srt.len() < 24, "the whole sound was heard: {}", srt.len());
    // What is told of is what was heard.
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    let heard = told
        .split("1 sound, ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let heard: f64 = heard.and_then(|text| text.parse().ok()).expect("seconds");
    let last = json["segments"][srt.len() - 1]["end"]
        .as_f64()
        .expect("seconds");
    let whole = long().len() as f64 / 16_000.0;
    assert!(
        last <= heard + 0.1 && heard < whole - 1.0,
        "{told}: {last} of {whole}"
    );
    // The text of a sound that was not begun is the old one, and nothing else is left.
    assert_eq!(fs::read_to_string(old("other.srt")).expect("there"), "old");
    assert_eq!(
        names(texts.path()),
        ["long.json", "long.srt", "long.vtt", "other.srt"]
    );
}

#[test]
fn json_on_standard_output_is_closed_at_ctrl_c() {
    let sounds = TempDir::new().expect("a folder");
    let sound = write(&sounds, "long.wav", &wav(&PLAIN, &bytes(&long())));
    let mut child = begin(&["--format", "json", &sound]);
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let first = out.fill_buf().expect("some text");
    assert!(first.starts_with(b"{\"segments\": [{"));
    interrupt(&child);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut out, &mut text).expect("UTF-8");
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(130));
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert!(json["text"].as_str().is_some_and(|text| !text.is_empty()));
    let segments = json["segments"].as_array().map_or(0, Vec::len);
    assert!((1..24).contains(&segments), "{segments}");
}

#[test]
fn standard_input_is_written_down_while_it_comes() {
    let mut child = begin(&["--no-condition", "-"]);
    let mut input = child.stdin.take().expect("piped");
    let sound = bytes(&long());
    // A window, and a little more; the rest comes once something is heard.
    let (first, rest) = sound.split_at(2 * 16_000 * 32);
    input.write_all(first).expect("read");
    input.flush().expect("read");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let line = lines.next().expect("a line").expect("UTF-8");
    assert!(line.to_lowercase().contains("fellow americans"), "{line}");
    input.write_all(&rest[..2 * 16_000 * 20]).expect("read");
    // Ctrl-C ends the sound: what came is still written down.
    thread::sleep(Duration::from_millis(500));
    interrupt(&child);
    let more: Vec<String> = lines.map(|line| line.expect("UTF-8")).collect();
    let more = more.join(" ").to_lowercase();
    assert!(more.contains("dashwood"), "{more}");
    drop(input);
    assert_eq!(child.wait().expect("ends").code(), Some(130));
}

#[test]
fn files_on_standard_input_are_heard_like_files() {
    for name in ["goforward.flac", "goforward.m4a", "goforward.webm"] {
        let file = fs::read(audio(name)).expect("reference data");
        let text = transcribe(&["-"], &file).ok().to_lowercase();
        assert!(text.contains("go forward"), "{name}: {text}");
    }
}

/// Three clips with sixteen seconds of silence and more between them: 45.1 s.
fn pauses() -> Vec<i16> {
    let mut all = Vec::new();
    for (clip, at) in [("goforward.wav", 0), ("ss0880.wav", 19), ("ss0870.wav", 38)] {
        all.resize(at * 16_000, 0);
        all.extend(samples(clip));
    }
    all
}

#[test]
fn nothing_after_a_silence_is_lost_without_timestamps_or_with_vad() {
    let sounds = TempDir::new().expect("a folder");
    let sound = write(&sounds, "pauses.wav", &wav(&PLAIN, &bytes(&pauses())));
    for args in [&["--no-timestamps"][..], &["--vad"], &[]] {
        let args = [args, &["--temperature", "0", "--format", "json", &sound]].concat();
        let json = transcribe(&args, b"").json();
        let text = json["text"].as_str().expect("text").to_lowercase();
        for said in ["go forward", "young man", "dashwood"] {
            assert!(text.contains(said), "{args:?}: {said}: {text}");
        }
        let segments = json["segments"].as_array().expect("segments");
        let last = segments.last().expect("one");
        let time = |key: &str| last[key].as_f64().expect("seconds");
        assert!((40.0..=45.1).contains(&time("end")), "{args:?}: {last}");
        let stamps = |token: &Value| token.as_u64() >= Some(50_363);
        let tokens = last["tokens"].as_array().expect("tokens").iter();
        assert_eq!(
            tokens.filter(|t| stamps(t)).count() > 0,
            args[0] != "--no-timestamps"
        );
    }
}

#[test]
fn words_are_shown_with_their_times() {
    let sound = audio("jfk.wav").display().to_string();
    let args = [
        "--temperature",
        "0",
        "--max-words-per-line",
        "1",
        "--format",
        "srt",
        &sound,
    ];
    let srt = cues(&transcribe(&args, b"").ok(), 1, ',');
    let words: Vec<String> = srt.iter().map(|cue| cue.text.to_lowercase()).collect();
    assert!(
        words.len() > 18 && words.iter().all(|word| !word.contains(' ')),
        "{words:?}"
    );
    assert!(srt.windows(2).all(|pair| pair[0].end <= pair[1].start));
    assert!(srt.last().is_some_and(|cue| cue.end <= 11_000));
    let args = ["--temperature", "0", "--max-words-per-line", "1", &sound];
    let txt = transcribe(&args, b"").ok();
    assert_eq!(txt.lines().count(), words.len());
    for (line, word) in txt.lines().zip(&words) {
        assert!(
            line.starts_with("[00:") && line.to_lowercase().ends_with(word),
            "{line}"
        );
    }
    let args = [
        "--temperature",
        "0",
        "--highlight-words",
        "--format",
        "vtt",
        &sound,
    ];
    let vtt = transcribe(&args, b"").ok().to_lowercase();
    assert!(
        words
            .iter()
            .all(|word| vtt.contains(&format!("<u>{word}</u>"))),
        "{vtt}"
    );
}

#[test]
fn clips_and_damage_keep_the_times_of_the_sound() {
    let sounds = TempDir::new().expect("a folder");
    let sound = write(&sounds, "pauses.wav", &wav(&PLAIN, &bytes(&pauses())));
    let args = [
        "--temperature",
        "0",
        "--clip",
        "15,30",
        "--format",
        "tsv",
        &sound,
    ];
    let tsv = transcribe(&args, b"").ok();
    let rows: Vec<&str> = tsv.lines().skip(1).collect();
    assert_eq!(rows.len(), 1, "{tsv}");
    assert!(rows[0].to_lowercase().contains("young man"), "{tsv}");
    // A piece behind the end is said to be none.
    let args = ["--temperature", "0", "--clip", "90,95,0:02:00", &sound];
    let run = transcribe(&args, b"");
    for start in ["0:01:30.000", "0:02:00.000"] {
        let says = format!("{sound}: nothing is heard from {start}: the sound ends at 0:00:45.100");
        assert!(run.err.contains(&says), "{}", run.err);
    }
    assert_eq!(run.ok().trim(), "");
    let start: u64 = rows[0]
        .split('\t')
        .next()
        .and_then(|s| s.parse().ok())
        .expect("a time");
    assert!((15_000..22_000).contains(&start), "{tsv}");

    // Cut in the middle of the silence: what was said is written, and what is missing said and in the JSON.
    let whole = wav(&PLAIN, &bytes(&pauses()));
    let cut = write(&sounds, "cut.wav", &whole[..whole.len() / 2 + 1]);
    let run = transcribe(&["--temperature", "0", "--format", "json", &cut], b"");
    assert!(
        run.err
            .contains(&format!("{cut}: sound is missing from 0:00:22.5")),
        "{}",
        run.err
    );
    assert!(run.err.contains(" to 0:00:45.100: "), "{}", run.err);
    let json = run.json();
    let missing = json["missing"].as_array().expect("a list");
    assert_eq!(missing.len(), 1);
    assert!(
        json["text"]
            .to_string()
            .to_lowercase()
            .contains("young man")
    );
}

#[test]
fn an_english_model_does_not_translate() {
    let sounds = TempDir::new().expect("a folder");
    let sound = write(
        &sounds,
        "one.wav",
        &wav(&PLAIN, &bytes(&samples("jfk.wav"))),
    );
    let run = transcribe(&["--task", "translate", &sound], b"");
    let says = format!(
        "error: --task translate: {} knows English alone, expected a multilingual model\n",
        model()
    );
    assert_eq!((run.out.as_str(), run.err.as_str()), ("", says.as_str()));
}
