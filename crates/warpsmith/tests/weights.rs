//! `--weights`: matrices that are rounded while they are loaded, and what is said of it.

mod common;

use common::{model, reference, warpsmith};
use serde_json::Value;

/// What a language model of several types says of its matrices.
const TOLD: &str = "weights: 3 matrices rounded to Q8_0, 4 of Q4_0 left as they are, 2 of Q4_1 left as they are, \
                    1 of Q5_0 left as they are, 1 of Q5_1 left as they are, 3 of Q8_0 left as they are, \
                    1 of IQ4_NL left as they are";

#[test]
fn commands_round_matrices_and_say_how_many() {
    let model = model("tiny-llama2spm");
    let text = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(text.path(), "some words that come one after the other").expect("written");
    let text = text.path().display().to_string();
    let profile: &[&str] = &["profile", "--tokens", "1", "--prompt", "a"];
    for command in [
        &["generate", "-n", "1", "a"][..],
        &["perplexity", &text],
        &["graph"],
        profile,
    ] {
        let rounded = [command, &["--model", &model, "--weights", "q8_0"]].concat();
        let run = warpsmith(&rounded);
        assert_eq!(run.status, 0, "{command:?}: {}", run.err);
        assert!(run.err.lines().any(|line| line == TOLD), "{}", run.err);
        let as_it_is = warpsmith(&[command, &["--model", &model]].concat());
        assert!(!as_it_is.err.contains("weights:"), "{}", as_it_is.err);
    }
}

#[test]
fn inspect_shows_what_tensors_become() {
    let whisper = reference("whisper/synth/ggml-f16.bin");
    let whisper = whisper.display().to_string();
    for (path, ty, name) in [
        (model("tiny-llama2spm"), "Q5_1", "output.weight"),
        (whisper, "Q8_0", "decoder.token_embedding.weight"),
    ] {
        let run = |args: &[&str]| warpsmith(&[&["inspect", "--json", &path], args].concat()).json();
        let (before, after) = (run(&[]), run(&["--weights", &ty.to_lowercase()]));
        let tensors = |json: &Value| json["tensors"].as_array().expect("tensors").clone();
        let mut rounded = 0;
        for (was, is) in tensors(&before).iter().zip(&tensors(&after)) {
            assert_eq!(was["name"], is["name"]);
            if is.get("was").is_none() {
                assert_eq!(was, is);
                continue;
            }
            rounded += 1;
            assert_eq!((&is["was"], is["type"].as_str()), (&was["type"], Some(ty)));
            assert!(is["bytes"].as_u64() < was["bytes"].as_u64(), "{is}");
        }
        let named = |tensor: &Value| tensor["name"] == name && tensor["type"] == ty;
        assert!(tensors(&after).iter().any(named), "{path}");
        assert!(rounded > 2, "{path}: {rounded}");
    }
}

#[test]
fn types_that_weights_cannot_be_rounded_to_are_refused_with_the_list() {
    let model = model("tiny-llama2spm");
    for command in ["generate", "chat", "perplexity", "profile", "graph"] {
        let run = warpsmith(&[command, "--model", &model, "--weights", "q6_k"]);
        assert_eq!(run.status, 2, "{command}");
        let list = "weights cannot be rounded to `q6_k`, expected q8_0, q5_1, q5_0, q4_1 or q4_0";
        assert!(run.err.contains(list), "{command}: {}", run.err);
    }
    let other = reference("whisper/synth/config.json").display().to_string();
    let run = warpsmith(&["inspect", "--weights", "q8_0", &other]);
    assert_eq!(run.status, 1, "{}", run.out);
}
