//! The loop against openai-whisper: given what its model said, it asks for the same windows after the same
//! prompts, and writes the same segments and words.

use serde_json::Value;

use super::*;
use crate::whisper::fallback::{TEMPERATURES, compression_ratio};
use crate::whisper::tokenizer::tests::tokenizer;
use crate::whisper::words::{Scores, matrix, path, timings};

const SIZES: Sizes = Sizes {
    window: 3000,
    stride: 2,
    n_text_ctx: 448,
};

fn reference(name: &str) -> Vec<u8> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../suite/reference/whisper/"
    );
    std::fs::read(format!("{folder}{name}")).expect("reference data")
}

fn json(name: &str) -> Value {
    serde_json::from_slice(&reference(name)).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).expect("ids")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

fn decoded(value: &Value) -> Decoded {
    Decoded {
        tokens: ids(&value["tokens"]),
        avg_log_prob: number(&value["avg_logprob"]),
        no_speech_prob: number(&value["no_speech_prob"]),
        temperature: number(&value["temperature"]) as f32,
        compression_ratio: number(&value["compression_ratio"]),
    }
}

/// A limit that the case sets, turns off, or leaves alone.
fn limit(options: &Value, name: &str, default: Option<f64>) -> Option<f64> {
    options.get(name).map_or(default, Value::as_f64)
}

fn options(tokenizer: &Tokenizer, golden: &Value) -> Options {
    let set = &golden["options"];
    let is = |name: &str| set[name].as_bool().unwrap_or(false);
    let default = Thresholds::default();
    let initial = set["initial_prompt"].as_str();
    Options {
        thresholds: Thresholds {
            compression_ratio: limit(
                set,
                "compression_ratio_threshold",
                default.compression_ratio,
            ),
            log_prob: limit(set, "logprob_threshold", default.log_prob),
            no_speech: limit(set, "no_speech_threshold", default.no_speech),
        },
        condition_on_previous: set["condition_on_previous_text"].as_bool().unwrap_or(true),
        initial_prompt: initial.map_or_else(Vec::new, |text| tokenizer.encode(&format!(" {text}"))),
        carry_initial_prompt: is("carry_initial_prompt"),
        clips: set["clip_timestamps"]
            .as_str()
            .into_iter()
            .flat_map(|clips| clips.split(','))
            .map(|seconds| seconds.parse().expect("seconds"))
            .collect(),
        words: is("word_timestamps").then(|| WordOptions {
            punctuation: Punctuation::default(),
            hallucination_silence: set["hallucination_silence_threshold"].as_f64(),
        }),
        pieces: Pieces::Timed,
    }
}

fn temperatures(golden: &Value) -> Vec<f32> {
    match &golden["options"]["temperature"] {
        Value::Null => TEMPERATURES.to_vec(),
        Value::Array(all) => all.iter().map(|t| number(t) as f32).collect(),
        one => vec![number(one) as f32],
    }
}

fn timing(word: &Value) -> Timing {
    Timing {
        word: text(&word["word"]).to_owned(),
        tokens: ids(&word["tokens"]),
        start: number(&word["start"]),
        end: number(&word["end"]),
        probability: number(&word["probability"]),
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

/// `end` is when the sound ends: the reference leaves times in the silence that fills a window, and we do not.
fn check_segment(name: &str, got: &Segment, want: &Value, end: f64) {
    let label = format!("{name}, segment {}: {got:?} {want}", got.id);
    assert_eq!(want["id"], got.id, "{label}");
    assert_eq!(want["seek"], got.seek, "{label}");
    assert!(near(got.start, number(&want["start"])), "{label}");
    assert!(near(got.end, number(&want["end"]).min(end)), "{label}");
    assert_eq!(got.text, text(&want["text"]), "{label}");
    assert_eq!(got.tokens, ids(&want["tokens"]), "{label}");
    assert!(
        near(got.avg_log_prob, number(&want["avg_logprob"])),
        "{label}"
    );
    let Some(words) = &got.words else { return };
    let wanted = list(&want["words"]);
    assert_eq!(words.len(), wanted.len(), "{label}");
    for (got, want) in words.iter().zip(wanted) {
        assert_eq!(got.word, text(&want["word"]), "{label}");
        assert!(near(got.start, number(&want["start"])), "{label}");
        assert!(near(got.end, number(&want["end"]).min(end)), "{label}");
        assert!(
            near(got.probability, number(&want["probability"])),
            "{label}"
        );
    }
}

/// Runs the loop over what the reference's model said.
fn replay(name: &str, golden: &Value) {
    let tokenizer = tokenizer();
    let frames = golden["samples"].as_u64().expect("a number") / 160;
    let options = options(&tokenizer, golden);
    let mut transcript = Transcript::new(&tokenizer, SIZES, options.clone(), frames);
    let mut decodes = list(&golden["decodes"]).iter();
    let spoken = |alignment: &&Value| !list(&alignment["text_tokens"]).is_empty();
    let mut alignments = list(&golden["alignments"]).iter().filter(spoken);
    while let Some(request) = transcript.request() {
        let result = options
            .thresholds
            .decode(&temperatures(golden), |temperature| {
                let next = decodes.next().expect("no more was decoded");
                assert_eq!(number(&next["temperature"]) as f32, temperature, "{name}");
                let prompt = ids(&next["prompt"]);
                let last = prompt.len().saturating_sub(223);
                assert_eq!(request.prompt, prompt[last..], "{name}");
                Ok::<_, ()>(decoded(next))
            });
        let result = result.expect("no error").expect("a temperature");
        let accepted = transcript.accept(&result, |alignment| {
            let next = alignments.next().expect("no more was aligned");
            assert_eq!(alignment.tokens, ids(&next["text_tokens"]), "{name}");
            assert_eq!(next["num_frames"], alignment.frames, "{name}");
            Ok::<_, ()>(list(&next["words"]).iter().map(timing).collect())
        });
        accepted.expect("no error");
    }
    assert!(decodes.next().is_none(), "{name}: more was decoded");
    assert!(alignments.next().is_none(), "{name}: more was aligned");
    assert_eq!(transcript.position(), frames, "{name}");
    assert_eq!(transcript.text(), text(&golden["text"]), "{name}");
    let want = list(&golden["segments"]);
    assert_eq!(transcript.segments().len(), want.len(), "{name}");
    for (got, want) in transcript.segments().iter().zip(want) {
        check_segment(name, got, want, frames as f64 / FRAMES_PER_SECOND);
    }
}

#[test]
fn every_case_of_the_reference_is_repeated() {
    let goldens = json("base.transcribe.json");
    let goldens = goldens.as_object().expect("an object");
    assert!(goldens.len() >= 20);
    for (name, golden) in goldens {
        replay(name, golden);
    }
}

#[test]
fn texts_compress_nearly_as_in_the_reference() {
    let goldens = json("base.decode.json");
    let mut texts = 0;
    for clip in goldens.as_object().expect("an object").values() {
        for case in clip.as_object().expect("an object").values() {
            let Some(said) = case["text"].as_str() else {
                continue;
            };
            let (got, want) = (compression_ratio(said), number(&case["compression_ratio"]));
            assert!((got - want).abs() <= 0.05 * want, "{got} {want} {said}");
            texts += 1;
        }
    }
    assert!(texts > 40);
}

#[test]
fn the_best_candidate_is_the_references() {
    use crate::whisper::beam::{Sequence, best};
    let goldens = json("base.decode.json");
    let mut several = 0;
    for (clip, cases) in goldens.as_object().expect("an object") {
        for (name, case) in cases.as_object().expect("an object") {
            let Some(candidates) = case["candidates"].as_array() else {
                continue;
            };
            let sequences: Vec<Sequence> = candidates
                .iter()
                .map(|candidate| Sequence {
                    tokens: ids(&candidate["tokens"]),
                    sum_log_prob: number(&candidate["sum_logprob"]) as f32,
                })
                .collect();
            let penalty = case["options"]["length_penalty"].as_f64();
            let chosen = best(&sequences, penalty.map(|p| p as f32)).expect("candidates");
            assert_eq!(
                sequences[chosen].tokens,
                ids(&case["tokens"]),
                "{clip} {name}"
            );
            several += usize::from(sequences.len() > 1);
        }
    }
    assert!(several >= 20);
}

#[test]
fn scores_of_attention_become_the_references_times() {
    let golden = json("base.ss0880.alignment.json");
    let shape = ids(&golden["shape"]);
    let (heads, tokens, frames) = (shape[0] as usize, shape[1] as usize, shape[2] as usize);
    let bytes = reference("base.ss0880.cross_scores.f32.bin");
    let (values, _) = bytes.as_chunks::<4>();
    let values: Vec<f32> = values.iter().map(|&v| f32::from_le_bytes(v)).collect();
    assert_eq!(values.len(), heads * tokens * frames);
    let cost = matrix(Scores {
        values: &values,
        tokens,
        frames,
    });
    // The rows from the one that writes the first word to the one that writes the end.
    let cost = &cost[3 * frames..(tokens - 1) * frames];
    for (got, want) in cost.iter().zip(list(&golden["matrix_row0"])) {
        assert!(
            (f64::from(-got) - number(want)).abs() < 1e-4,
            "{got} {want}"
        );
    }
    let way = path(cost, frames);
    let indices = |name: &str| {
        ids(&golden[name])
            .iter()
            .map(|&i| i as usize)
            .collect::<Vec<_>>()
    };
    assert_eq!(way.rows, indices("text_indices"));
    assert_eq!(way.columns, indices("time_indices"));

    let tokenizer = tokenizer();
    let mut said = ids(&golden["text_tokens"]);
    said.push(tokenizer.special().end);
    let words = tokenizer.split_words(&said, "en");
    let probabilities: Vec<f32> = list(&golden["token_probs"])
        .iter()
        .map(|p| number(p) as f32)
        .collect();
    let got = timings(&words, &way, &probabilities);
    let cases = json("base.transcribe.json");
    let want = list(&cases["ss0880_words"]["alignments"][0]["words"]);
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want.iter().map(timing)) {
        assert!(near(got.probability, want.probability), "{got:?} {want:?}");
        let got = Timing {
            probability: want.probability,
            ..got.clone()
        };
        assert_eq!(got, want);
    }
}

#[test]
fn a_window_that_leads_nowhere_does_not_hold_the_loop() {
    let tokenizer = tokenizer();
    let begin = tokenizer.special().timestamps;
    let mut transcript = Transcript::new(&tokenizer, SIZES, Options::default(), 9000);
    // A pair of timestamps at the very start says to go on from there.
    let stuck = Decoded {
        tokens: vec![begin, begin, begin],
        avg_log_prob: 0.0,
        no_speech_prob: 0.0,
        temperature: 0.0,
        compression_ratio: 1.0,
    };
    let mut windows = 0;
    while transcript.request().is_some() {
        let accepted = transcript.accept(&stuck, |_| Ok::<_, ()>(Vec::new()));
        assert!(accepted.is_ok());
        windows += 1;
        assert!(windows <= 3);
    }
    assert_eq!(transcript.into_segments().len(), 6);
}

#[test]
fn a_sound_without_frames_has_no_windows() {
    let tokenizer = tokenizer();
    let mut transcript = Transcript::new(&tokenizer, SIZES, Options::default(), 0);
    assert_eq!(transcript.request(), None);
    assert_eq!(transcript.text(), "");
    let beyond = Options {
        clips: vec![50.0, 60.0, -1.0, f64::NAN],
        ..Options::default()
    };
    let mut transcript = Transcript::new(&tokenizer, SIZES, beyond, 100);
    assert_eq!(transcript.request(), None);
}

fn said(tokens: Vec<u32>) -> Decoded {
    Decoded {
        tokens,
        avg_log_prob: -0.1,
        no_speech_prob: 0.0,
        temperature: 0.0,
        compression_ratio: 1.0,
    }
}

#[test]
fn nothing_ends_after_the_sound_and_nothing_said_is_lost_for_it() {
    let tokenizer = tokenizer();
    let begin = tokenizer.special().timestamps;
    let text = tokenizer.encode(" Hello");
    let time = |seconds: f64| begin + (seconds * 50.0) as u32;
    // A second and a half of sound: one segment over its end, one wholly after it.
    let mut tokens = vec![time(0.0)];
    tokens.extend(&text);
    tokens.extend([time(3.0), time(4.0)]);
    tokens.extend(&text);
    tokens.push(time(5.0));
    let words = WordOptions::default();
    for words in [None, Some(words)] {
        let options = Options {
            words,
            ..Options::default()
        };
        let mut transcript = Transcript::new(&tokenizer, SIZES, options, 150);
        assert!(transcript.request().is_some());
        let accepted = transcript.accept(&said(tokens.clone()), |alignment| {
            let each = alignment.tokens.iter().zip([0.2, 4.0]);
            let timing = |(&id, start): (&u32, f64)| Timing {
                word: " Hello".to_owned(),
                tokens: vec![id],
                start,
                end: start + 1.5,
                probability: 1.0,
            };
            Ok::<_, ()>(each.map(timing).collect())
        });
        assert!(accepted.is_ok());
        let segments = transcript.segments();
        assert_eq!(segments.len(), 2);
        for segment in segments {
            assert_eq!(segment.text, " Hello");
            assert!(
                segment.start <= segment.end && segment.end <= 1.5,
                "{segment:?}"
            );
            for word in segment.words.iter().flatten() {
                assert!(word.start <= word.end && word.end <= 1.5, "{word:?}");
            }
        }
    }
}

#[test]
fn a_window_is_one_piece_where_times_are_left_out() {
    let tokenizer = tokenizer();
    let begin = tokenizer.special().timestamps;
    let (one, two) = (tokenizer.encode(" One"), tokenizer.encode(" two"));
    let mut tokens = vec![begin];
    tokens.extend(&one);
    tokens.extend([begin + 50, begin + 900]);
    tokens.extend(&two);
    tokens.extend([begin + 950, begin + 950]);
    let options = Options {
        pieces: Pieces::Windows,
        ..Options::default()
    };
    let mut transcript = Transcript::new(&tokenizer, SIZES, options, 4500);
    assert!(transcript.request().is_some());
    let accepted = transcript.accept(&said(tokens), |_| Ok::<_, ()>(Vec::new()));
    let segments = accepted.expect("no error").to_vec();
    assert_eq!(segments.len(), 1);
    assert_eq!((segments[0].start, segments[0].end), (0.0, 19.0));
    assert_eq!(segments[0].text, " One two");
    assert_eq!(segments[0].tokens, [one, two].concat());
    // The next window begins where the timestamps say, not after 30 s.
    assert_eq!(transcript.request().map(|next| next.first), Some(1900));
    assert_eq!(transcript.text(), " One two");
}

#[test]
fn a_sound_that_still_comes_has_windows_until_it_ends() {
    let tokenizer = tokenizer();
    let mut transcript = Transcript::new(&tokenizer, SIZES, Options::default(), u64::MAX);
    let request = transcript.request().expect("a window");
    assert_eq!((request.first, request.frames), (0, 3000));
    let begin = tokenizer.special().timestamps;
    let mut tokens = vec![begin];
    tokens.extend(tokenizer.encode(" One"));
    tokens.push(begin + 1500);
    let accepted = transcript.accept(&said(tokens), |_| Ok::<_, ()>(Vec::new()));
    assert!(accepted.is_ok());
    assert_eq!(transcript.request().map(|next| next.first), Some(3000));
    transcript.ends(3200);
    let request = transcript.request().expect("a window");
    assert_eq!((request.first, request.frames), (3000, 200));
    transcript.ends(3000);
    assert_eq!(transcript.request(), None);
    assert_eq!(transcript.position(), 3000);
}
