//! Whole sounds: what the reference implementation writes, beams, prompts, words, languages; what is moved and allocated.

use crate::support::{device, folder, ids, json, options, reference, window};
use serde_json::Value;
use std::{ops::ControlFlow, sync::Arc};
use warpsmith::{
    audio::Spectrogram,
    graph::Precision,
    models::whisper::{
        Bundle, DecodeOptions, ListenOptions, Mode, Session, Step, Transcriber,
        tokenizer::{Start, Task},
        transcript::{Options, WordOptions},
    },
};
use warpsmith_library::decoding::Rules;

fn bundle(name: &str) -> Arc<Bundle> {
    let loaded = Bundle::load(&device(), &folder(name), &mut |_, _| {});
    Arc::new(loaded.expect("a Whisper model"))
}

/// Samples of clips of the reference data with half a second of silence between.
fn samples(clips: &[&str]) -> Vec<f32> {
    let mut all = Vec::new();
    for clip in clips {
        if !all.is_empty() {
            all.extend([0.0; 8000]);
        }
        let path = reference(&format!("audio/{clip}.wav"));
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let samples = bytes[44..].as_chunks::<2>().0.iter();
        all.extend(samples.map(|b| f32::from(i16::from_le_bytes(*b)) / 32768.0));
    }
    all
}

const LONG: [&str; 5] = ["jfk", "ss0870", "ss0880", "goforward", "jfk"];

fn sound(clips: &[&str]) -> Spectrogram {
    Spectrogram::of_samples(&samples(clips), 80).expect("a sound")
}

/// Tokens are equal; of greedy decoding up to a step whose two best tokens were nearer than 0.02.
fn check_tokens(found: &[u32], case: &Value, what: &str) {
    let want = ids(&case["tokens"]);
    let same = found.iter().zip(&want).take_while(|(a, b)| a == b).count();
    if found.len() == want.len() && same == want.len() {
        return;
    }
    // A beam has no margins. The step behind the last token is that of the end.
    let margin = case["margins"][same].as_f64();
    assert!(
        margin.is_some_and(|margin| margin < 0.02),
        "{what}: {found:?}, expected {want:?}, from step {same} on, margin {margin:?}"
    );
    println!("{what}: differs from step {same} on, margin {margin:?}");
}

/// Beams, patience, penalties, prompts and tasks on single windows.
#[test]
fn windows_are_decoded_as_the_reference_decodes_them() {
    let bundle = bundle("base");
    let special = *bundle.tokenizer.special();
    let golden = json("whisper/base.decode.json");
    for (rules, start) in [
        (Rules::Timestamps, Start::Timestamps),
        (Rules::Free, Start::NoTimestamps),
    ] {
        let mut options = options(&bundle.model, "base", rules, Precision::Fast);
        options.modes = vec![Mode::Samples(1), Mode::Beams(5), Mode::Beams(3)];
        let mut session = Session::new(&bundle.model, &options).expect("a session");
        for clip in ["jfk", "ss0880", "goforward"] {
            session.listen(&window(clip)).expect("a window");
            session.encode().expect("a pass");
            let cases = golden[clip].as_object().expect("cases");
            for (name, case) in cases {
                let given = &case["options"];
                let plain = given["without_timestamps"] == true;
                let other = given.is_null()
                    || !given["temperature"].is_null()
                    || !given["prefix"].is_null()
                    || !given["suppress_tokens"].is_null();
                if other || plain != (start == Start::NoTimestamps) {
                    continue;
                }
                let task = match given["task"].as_str() {
                    Some("translate") => Task::Translate,
                    _ => Task::Transcribe,
                };
                let sequence = special.sequence("en", task, start).expect("English");
                let mut prompt = Vec::new();
                if let Some(text) = given["prompt"].as_str() {
                    prompt.push(special.previous);
                    prompt.extend(bundle.tokenizer.encode(&format!(" {text}")));
                }
                prompt.extend(&sequence);
                let decode = DecodeOptions {
                    mode: match given["beam_size"].as_u64() {
                        None => 0,
                        Some(5) => 1,
                        Some(beams) => {
                            assert_eq!(beams, 3);
                            2
                        }
                    },
                    temperature: 0.0,
                    seed: 0,
                    patience: given["patience"].as_f64().unwrap_or(1.0) as f32,
                    length_penalty: given["length_penalty"].as_f64().map(|p| p as f32),
                    most: 224,
                };
                let found = session.decode(&prompt, sequence.len() - 1, &decode);
                check_tokens(&found.expect("tokens"), case, &format!("{clip} {name}"));
            }
        }
    }
}

fn listen_options(given: &Value) -> ListenOptions {
    ListenOptions {
        language: Some("en".into()),
        temperatures: vec![0.0],
        beams: given["beam_size"].as_u64().unwrap_or(1) as u32,
        transcript: Options {
            condition_on_previous: given["condition_on_previous_text"] != false,
            words: (given["word_timestamps"] == true).then(WordOptions::default),
            ..Options::default()
        },
        ..ListenOptions::default()
    }
}

/// Tokens of all segments are equal, scores are near, and words lie within 0.06 s.
fn check(name: &str, found: &warpsmith::models::whisper::Heard, golden: &Value) {
    let want = golden["segments"].as_array().expect("segments");
    let tokens: Vec<u32> = found
        .segments
        .iter()
        .flat_map(|s| s.tokens.clone())
        .collect();
    let wanted: Vec<u32> = want.iter().flat_map(|s| ids(&s["tokens"])).collect();
    assert_eq!(tokens, wanted, "{name}: {}", found.text);
    for (found, want) in found.segments.iter().zip(want) {
        let near = |what: &str, found: f64, want: &Value| {
            let want = want.as_f64().expect("a time");
            assert!(
                (found - want).abs() <= 0.06,
                "{name}: {what} at {found}, expected {want}"
            );
        };
        near("start", found.start, &want["start"]);
        near("end", found.end, &want["end"]);
        // What a fallback to a higher temperature goes by.
        for (what, found, key, most) in [
            ("log-probability", found.avg_log_prob, "avg_logprob", 0.02),
            ("no speech", found.no_speech_prob, "no_speech_prob", 0.01),
            ("ratio", found.compression_ratio, "compression_ratio", 0.1),
        ] {
            let want = want[key].as_f64().expect("a number");
            let error = (found - want).abs();
            assert!(error < most, "{name}: {what} is {found}, expected {want}");
        }
        let words = found.words.as_deref().unwrap_or_default();
        let empty = Vec::new();
        let want = want["words"].as_array().unwrap_or(&empty);
        assert_eq!(words.len(), want.len(), "{name}: words");
        for (word, want) in words.iter().zip(want) {
            assert_eq!(Some(word.word.as_str()), want["word"].as_str(), "{name}");
            near(&word.word, word.start, &want["start"]);
            near(&word.word, word.end, &want["end"]);
        }
    }
}

#[test]
fn long_sounds_are_written_down_as_by_the_reference() {
    let bundle = bundle("base");
    let golden = json("whisper/base.transcribe.json");
    for name in ["long_greedy", "long_unconditioned", "long_words"] {
        let case = &golden[name];
        let mut transcriber = Transcriber::new(&bundle, listen_options(&case["options"]));
        let transcriber = transcriber.as_mut().expect("a transcriber");
        let mut told = 0;
        let heard = transcriber.transcribe(&mut sound(&LONG), &mut |step| {
            let Step { done, total, .. } = step;
            assert!(
                done >= told && done <= total,
                "{done} of {total} after {told}"
            );
            told = done;
            ControlFlow::Continue(())
        });
        check(name, &heard.expect("a transcript"), case);
        assert_eq!(told, 3687);
    }
}

#[test]
fn german_is_heard_and_translated_and_silence_says_nothing() {
    let bundle = bundle("base");
    let golden = json("whisper/base.transcribe.json");
    for (name, task) in [
        ("deutsch_auto", Task::Transcribe),
        ("deutsch_translate", Task::Translate),
    ] {
        let case = &golden[name];
        let options = ListenOptions {
            language: None,
            task,
            temperatures: vec![0.0],
            ..ListenOptions::default()
        };
        let mut transcriber = Transcriber::new(&bundle, options).expect("a transcriber");
        let heard =
            transcriber.transcribe(&mut sound(&["deutsch"]), &mut |_| ControlFlow::Continue(()));
        let heard = heard.expect("a transcript");
        assert_eq!(heard.language, "de");
        check(name, &heard, case);
    }
    let options = ListenOptions {
        language: Some("en".into()),
        ..ListenOptions::default()
    };
    let mut transcriber = Transcriber::new(&bundle, options).expect("a transcriber");
    let mut silence = Spectrogram::of_samples(&[0.0; 480_000], 80).expect("silence");
    let heard = transcriber.transcribe(&mut silence, &mut |_| ControlFlow::Continue(()));
    assert_eq!(heard.expect("a transcript").text, "");
}

/// After the first window nothing is allocated; a step moves 8 bytes for each sequence, beams at most 64.
#[test]
fn windows_after_the_first_allocate_nothing_and_steps_move_little() {
    let bundle = bundle("tiny.en");
    let device = bundle.model.device().clone();
    let options = ListenOptions {
        temperatures: vec![0.0],
        ..ListenOptions::default()
    };
    let mut transcriber = Transcriber::new(&bundle, options).expect("a transcriber");
    let mut counts = Vec::new();
    let mut long = sound(&LONG);
    let heard = transcriber.transcribe(&mut long, &mut |_| {
        counts.push(device.stats().allocations);
        ControlFlow::Continue(())
    });
    assert!(
        heard
            .expect("a transcript")
            .text
            .contains("fellow Americans")
    );
    assert!(counts.len() > 1);
    assert_eq!(counts.first(), counts.last(), "{counts:?}");

    // Times of words have a pass of their own, planned once for texts of about a length.
    let options = ListenOptions {
        temperatures: vec![0.0],
        transcript: Options {
            words: Some(WordOptions::default()),
            ..Options::default()
        },
        ..ListenOptions::default()
    };
    let mut transcriber = Transcriber::new(&bundle, options).expect("a transcriber");
    let mut listen = || {
        let heard =
            transcriber.transcribe(&mut sound(&["jfk"]), &mut |_| ControlFlow::Continue(()));
        let counts = device.stats();
        (
            heard.expect("a transcript"),
            [counts.allocations, counts.frees],
        )
    };
    let (first, again) = (listen(), listen());
    assert_eq!(first, again);
    let words = first
        .0
        .segments
        .iter()
        .flat_map(|s| s.words.iter().flatten());
    assert!(words.count() > 15);

    let mut options =
        crate::support::options(&bundle.model, "tiny.en", Rules::Timestamps, Precision::Fast);
    options.modes = vec![Mode::Samples(1), Mode::Samples(3), Mode::Beams(5)];
    let mut session = Session::new(&bundle.model, &options).expect("a session");
    session.listen(&window("jfk")).expect("a window");
    session.encode().expect("a pass");
    for (mode, rows, each) in [(0, 1, 8), (1, 3, 8), (2, 5, 56)] {
        session.prompt(&[50257]).expect("a prompt");
        session.draw(mode, 0.0, 0).expect("a temperature");
        let mut next = session.first(mode).expect("first tokens");
        let before = device.stats();
        for _ in 0..4 {
            let choices: Vec<[u32; 2]> = (0..rows)
                .map(|row| [next[row as usize][0].id, row])
                .collect();
            next = session.step(mode, Some(&choices)).expect("a step");
        }
        let moved = device.stats() - before;
        let bytes = moved.h2d_bytes + moved.d2h_bytes;
        assert_eq!(bytes, 4 * u64::from(rows) * each, "mode {mode}");
        assert!(each <= 64);
        assert_eq!(moved.allocations, 0, "mode {mode}");
        assert_eq!(moved.launches, 4 * session.step_launches(mode) as u64);
        // What follows, two embeddings and their sum, logits with the last norm, the decision; and eight for each layer.
        let layers = bundle.model.dims().n_text_layer as usize;
        assert_eq!(session.step_launches(mode), 6 + 8 * layers, "mode {mode}");
    }
}

/// Samples with a seed are the same again, and two listeners on shared weights hear what each hears alone.
#[test]
fn listeners_share_a_model_and_seeds_repeat() {
    let bundle = bundle("tiny.en");
    let listen = |seed| {
        let options = ListenOptions {
            temperatures: vec![0.8],
            best_of: 3,
            seed,
            ..ListenOptions::default()
        };
        let mut transcriber = Transcriber::new(&bundle, options).expect("a transcriber");
        let heard = transcriber.transcribe(&mut sound(&["goforward"]), &mut |_| {
            ControlFlow::Continue(())
        });
        heard.expect("a transcript").segments
    };
    let alone = [listen(1), listen(2)];
    let listen = &listen;
    let together = std::thread::scope(|scope| {
        [1, 2]
            .map(|seed| scope.spawn(move || listen(seed)))
            .map(|thread| thread.join().expect("a listener"))
    });
    assert_eq!(alone, together);
}
