//! `transcribe` on a real model: sounds of every kind in every format, files that are no sounds, traces of what ran.

mod common;
#[cfg(unix)]
mod listening;
mod sounds;
mod subtitles;
mod traces;

use common::warpsmith;
use serde_json::Value;
use sounds::{PLAIN, Wav, audio, bytes, model, samples, transcribe, wav, write};
use std::{fs, path::Path};
use subtitles::{Cue, cues};
use tempfile::TempDir;
use traces::Trace;

/// What every file of a sound says, from its JSON: times in milliseconds and texts.
fn expected(json: &Value) -> Vec<Cue> {
    let milliseconds = |value: &Value| (value.as_f64().expect("seconds") * 1000.0).round() as u64;
    let cue = |segment: &Value| Cue {
        start: milliseconds(&segment["start"]),
        end: milliseconds(&segment["end"]),
        text: segment["text"].as_str().expect("text").trim().to_owned(),
    };
    json["segments"]
        .as_array()
        .expect("segments")
        .iter()
        .map(cue)
        .collect()
}

/// Reads all formats of a sound back and compares them; the text in small letters.
fn check(folder: &Path, stem: &str, seconds: f64) -> String {
    let read = |extension: &str| {
        let path = folder.join(format!("{stem}.{extension}"));
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let json: Value = serde_json::from_str(&read("json")).expect("JSON");
    let want = expected(&json);
    assert_eq!(cues(&read("srt"), 1, ','), want, "{stem}");
    let vtt = read("vtt");
    assert_eq!(
        cues(vtt.strip_prefix("WEBVTT\n\n").expect("a signature"), 0, '.'),
        want
    );
    let tsv = read("tsv");
    let mut lines = tsv.lines();
    assert_eq!(lines.next(), Some("start\tend\ttext"));
    let rows = lines.map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [start, end, text] = fields[..] else {
            panic!("{line}")
        };
        let time = |text: &str| text.parse().expect("milliseconds");
        Cue {
            start: time(start),
            end: time(end),
            text: text.to_owned(),
        }
    });
    assert_eq!(rows.collect::<Vec<_>>(), want);
    let txt: Vec<String> = read("txt").lines().map(str::to_owned).collect();
    assert_eq!(
        txt,
        want.iter().map(|cue| cue.text.clone()).collect::<Vec<_>>()
    );
    // Times go on, to the end of the sound and not after it.
    let all = (seconds * 1000.0) as u64;
    for cue in &want {
        let fits = cue.start <= cue.end && cue.start < all;
        assert!(fits && cue.end <= all, "{stem}: {cue:?} of {all}");
    }
    for pair in want.windows(2) {
        assert!(pair[0].end <= pair[1].start, "{stem}: {pair:?}");
    }
    assert_eq!(json["language"], "en");
    json["text"].as_str().expect("text").to_lowercase()
}

#[test]
fn sounds_of_every_length_and_kind_are_written_in_every_format() {
    let (sounds, texts) = (
        TempDir::new().expect("a folder"),
        TempDir::new().expect("a folder"),
    );
    let kennedy = samples("jfk.wav");
    let second = write(&sounds, "one.wav", &wav(&PLAIN, &bytes(&kennedy[..16_000])));
    let two = write(
        &sounds,
        "two.second.wav",
        &wav(&PLAIN, &bytes(&kennedy[16_000..48_000])),
    );
    // Three times the same, and silence up to a minute and a half.
    let mut long = Vec::new();
    for clip in ["jfk.wav", "ss0870.wav", "ss0880.wav", "goforward.wav"].repeat(3) {
        long.extend(samples(clip));
        long.extend([0; 8000]);
    }
    assert!((70 * 16_000..80 * 16_000).contains(&long.len()));
    long.resize(90 * 16_000, 0);
    let long = write(&sounds, "long.wav", &wav(&PLAIN, &bytes(&long)));
    let [stereo, telephone, mp3] = [
        "goforward_44k_stereo.flac",
        "goforward_8k_ulaw.wav",
        "goforward.mp3",
    ]
    .map(|name| audio(name).display().to_string());
    let files = [second, two, long, stereo, telephone, mp3];
    let folder = texts.path().join("made/here");
    let to = folder.display().to_string();
    let mut args = vec!["--temperature", "0", "--no-condition", "--output-dir", &to];
    args.extend(["--format", "txt,srt,vtt,tsv,json"]);
    args.extend(files.iter().map(String::as_str));
    let run = transcribe(&args, b"");
    assert_eq!(run.out, "");
    assert!(run.err.starts_with("6 sounds, "), "{}", run.err);
    run.ok();
    check(&folder, "one", 1.0);
    check(&folder, "two.second", 2.0);
    let text = check(&folder, "long", 90.0);
    for said in [
        "what you can do for your country",
        "dashwood",
        "young man",
        "go forward",
    ] {
        assert_eq!(text.matches(said).count(), 3, "{said}: {text}");
    }
    for name in ["goforward_44k_stereo", "goforward_8k_ulaw", "goforward"] {
        let text = check(&folder, name, 2.9);
        assert!(text.contains("go forward"), "{name}: {text}");
    }
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 6 * 5);
}

#[test]
fn what_is_no_sound_is_named_and_the_rest_is_heard() {
    let (sounds, texts) = (
        TempDir::new().expect("a folder"),
        TempDir::new().expect("a folder"),
    );
    let noise: Vec<u8> = (0..20_000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let floats = |x: f32| x.to_le_bytes().repeat(8000);
    let float = |rate| Wav {
        kind: 3,
        bits: 32,
        rate,
        ..PLAIN
    };
    let good = wav(&PLAIN, &bytes(&samples("goforward.wav")));
    let channels = |channels| Wav { channels, ..PLAIN };
    let spread: Vec<i16> = samples("goforward.wav")
        .into_iter()
        .flat_map(|x| [x; 8])
        .collect();
    let bad = [
        ("noise.mp3", noise),
        ("nothing.wav", Vec::new()),
        ("nan.wav", wav(&float(16_000), &floats(f32::NAN))),
        ("fast.wav", wav(&float(4_000_000_000), &floats(0.1))),
        ("still.wav", wav(&float(0), &floats(0.1))),
        ("header.wav", good[..40].to_vec()),
        ("choir.wav", wav(&channels(255), &floats(0.0))),
        // Other files of one name: the first has it.
        (
            "again.flac",
            fs::read(audio("goforward.flac")).expect("reference data"),
        ),
    ];
    let mut names: Vec<String> = vec![write(&sounds, "again.wav", &good)];
    names.extend(bad.iter().map(|(name, bytes)| write(&sounds, name, bytes)));
    let missing = sounds
        .path()
        .join("missing\nfile.wav")
        .display()
        .to_string();
    names.extend([
        missing,
        sounds.path().display().to_string(),
        "/dev/zero".to_owned(),
        audio("goforward.opus").display().to_string(),
        write(&sounds, "empty.wav", &wav(&PLAIN, &[])),
        write(&sounds, "many.wav", &wav(&channels(8), &bytes(&spread))),
    ]);
    let to = texts.path().display().to_string();
    let mut args = vec!["--output-dir", &to];
    args.extend(names.iter().map(String::as_str));
    let run = transcribe(&args, b"");
    assert_eq!((run.status, run.out.as_str()), (1, ""), "{}", run.err);
    let errors: Vec<&str> = run
        .err
        .lines()
        .filter(|line| line.starts_with("error: "))
        .collect();
    assert_eq!(errors.len(), bad.len() + 3, "{}", run.err);
    let folder = format!("error: {}", sounds.path().display());
    for (error, (name, _)) in errors.iter().zip(&bad) {
        assert!(error.starts_with(&format!("{folder}/{name}: ")), "{error}");
    }
    let [missing, inside, device] = errors[bad.len()..] else {
        panic!("{}", run.err)
    };
    assert!(
        missing.starts_with(&format!("{folder}/missing\\nfile.wav: ")),
        "{missing}"
    );
    assert!(
        inside.starts_with(&format!("{folder}: ")) && inside.contains("is a directory"),
        "{inside}"
    );
    assert_eq!(
        device,
        "error: /dev/zero: not a regular file, which can be read twice"
    );
    // Each names its file once.
    for error in errors {
        let (_, rest) = error.split_once(": ").expect("a name");
        let name = rest.split(": ").next().expect("a name");
        assert_eq!(error.matches(name).count(), 1, "{error}");
    }
    assert!(run.err.contains("\n4 sounds, "), "{}", run.err);
    let mut written: Vec<_> = fs::read_dir(texts.path())
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("a file")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    written.sort();
    assert_eq!(
        written,
        ["again.txt", "empty.txt", "goforward.txt", "many.txt"]
    );
    let read = |name| fs::read_to_string(texts.path().join(name)).expect("a text");
    assert_eq!(read("empty.txt"), "");
    assert_eq!(read("again.txt"), read("many.txt"));
    for name in ["many.txt", "goforward.txt"] {
        assert!(read(name).to_lowercase().contains("go forward"));
    }
}

#[test]
fn standard_input_is_heard_after_a_long_prompt_and_its_timeline_has_every_launch() {
    let folder = TempDir::new().expect("a folder");
    let timeline = folder.path().join("timeline.json").display().to_string();
    let prompt = "Robots go forward, ten meters, and then back again. ".repeat(200);
    let args = [
        "--timeline",
        &timeline,
        "--initial-prompt",
        &prompt,
        "--format",
        "json",
        "-",
    ];
    let run = transcribe(&args, &bytes(&samples("goforward.wav")));
    let err = run.err.clone();
    let text = run.json()["text"].to_string().to_lowercase();
    assert!(text.contains("forward"), "{text}");
    // The summary: "N launches, SIZE to the device in N transfers, SIZE back in N".
    let counts = err.lines().last().expect("a summary");
    let words: Vec<&str> = counts.split(' ').collect();
    let number = |word: &str| word.parse::<u64>().expect("a number");
    let back = words.last().copied().expect("a count");
    let up = words[words
        .iter()
        .position(|word| *word == "transfers,")
        .expect("uploads")
        - 1];
    let trace = Trace::read(&timeline);
    assert_eq!(trace.kernels, number(words[0]), "{counts}");
    assert_eq!(
        (trace.calls["upload"], trace.calls["download"]),
        (number(up), number(back))
    );
}

#[test]
fn a_profile_of_a_sound_has_encoder_and_decoder() {
    let (model, sound) = (model(), audio("goforward.wav").display().to_string());
    let args = [
        "profile", "--model", &model, "--device", "virtual", "--sound", &sound, "--json",
    ];
    let profile = warpsmith(&args).json();
    let pass = |name: &str| {
        let mut passes = profile["passes"].as_array().expect("a list").iter();
        passes
            .find(|pass| pass["name"] == name)
            .expect(name)
            .clone()
    };
    let of = |pass: &Value, op: &str, key: &str| -> u64 {
        let rows = pass["rows"].as_array().expect("rows").iter();
        let own = rows.filter(|row| row["op"] == op);
        own.map(|row| row[key].as_u64().expect("a count")).sum()
    };
    // Four layers of 384, 1500 frames from 3000 of 80 bands.
    let encoder = pass("encoder");
    assert_eq!(encoder["runs"], 1);
    assert_eq!(of(&encoder, "convolve", "count"), 2);
    let products = 2 * 3 * 384 * (3000 * 80 + 1500 * 384);
    let after = 384 * (3000 + 1500);
    let convolving = of(&encoder, "convolve", "operations");
    assert!(
        (products..=products + 4 * after).contains(&convolving),
        "{convolving}"
    );
    let step = pass("step");
    let runs = step["runs"].as_u64().expect("a count");
    assert!(runs > 5, "{step}");
    assert_eq!(
        of(&step, "attend", "count"),
        2 * 4 * runs,
        "to the text and to the sound"
    );
    assert!(of(&step, "attend", "read_bytes") > runs * 4 * 2 * 1500 * 384 * 2);
}

#[test]
fn wrong_options_are_refused_before_anything_is_heard() {
    let folder = TempDir::new().expect("a folder");
    let file = write(&folder, "file", b"x");
    let inside = format!("{file}/inside");
    let sound = audio("goforward.wav").display().to_string();
    let llama = common::model("tiny-qwen2");
    let empty = folder.path().display().to_string();
    for (status, args, said) in [
        (2, &["--threads", "0"][..], "0 is not in 1..=1024"),
        (2, &["--beam-size", "7"], "7 is not in 1..=6"),
        (2, &["--temperature", "-1"], "expected a number from 0"),
        (2, &["--temperature", "NaN"], "expected a number from 0"),
        (2, &["--patience", "0"], "expected a number above 0"),
        (2, &["--patience", "inf"], "expected a number above 0"),
        (1, &["--language", "klingon"], "language \"klingon\""),
        (
            1,
            &["--language", "de"],
            "language \"de\" in an English model",
        ),
        (1, &["--output-dir", &file], &file),
        (1, &["--output-dir", &inside], &inside),
        (1, &["--output-dir", "/proc"], "/proc"),
        (1, &["--format", "srt,json"], "--output-dir"),
        (
            1,
            &["--format", "srt", &sound],
            "2 sounds as srt need --output-dir",
        ),
        (
            1,
            &["--format", "json", &sound],
            "2 sounds as json need --output-dir",
        ),
        (1, &["-", "-"], "standard input is one sound"),
        (2, &["--clip", "5,x"], "expected seconds"),
        (1, &["--clip", "5,3"], "expected times that go on"),
        (2, &["--clip", "1,2", "--vad"], "--clip"),
        (
            2,
            &["--vad", "--vad-threshold", "1.5"],
            "expected a number from 0 to 1",
        ),
        (2, &["--vad-threshold", "0.5"], "--vad"),
        (
            2,
            &["--no-speech-threshold", "x"],
            "expected a number, or `none`",
        ),
        (
            2,
            &["--max-words-per-line", "0"],
            "expected a whole number from 1",
        ),
        (
            2,
            &["--max-words-per-line", "1", "--no-timestamps"],
            "--no-timestamps",
        ),
        (2, &["--max-line-count", "2"], "--max-line-width"),
        (
            1,
            &["--max-line-width", "20", "--format", "tsv"],
            "are for txt, srt and vtt",
        ),
        (1, &["--timeline", &inside], &inside),
        (
            1,
            &["--trace-stats", "x", "--timeline", "x"],
            "the same file",
        ),
        (1, &["--model", &llama], "tiny-qwen2.gguf"),
        (1, &["--model", &empty], &empty),
        (1, &["--model", &file], &file),
        (1, &["--model", "/nowhere/at all"], "/nowhere/at all"),
        (1, &["--device", "cuda:99"], ""),
    ] {
        let given = args.contains(&"--model");
        let mut all = vec!["transcribe"];
        let model = model();
        if !given {
            all.extend(["--model", &model]);
        }
        all.extend(args);
        all.push(&sound);
        let run = warpsmith(&all);
        assert_eq!(
            (run.status, run.out.as_str()),
            (status, ""),
            "{args:?}: {}",
            run.err
        );
        assert!(run.err.contains(said), "{args:?}: {}", run.err);
        if status == 1 {
            assert_eq!(run.err.lines().count(), 1, "{args:?}: {}", run.err);
        }
    }
}
