//! Continuations that run together, of one prompt or of several, are those of each alone.

mod common;

use common::{model, warpsmith};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

fn generate(model: &str, more: &[&str]) -> Value {
    let args = [
        "generate",
        "--model",
        model,
        "--device",
        "virtual",
        "--precision",
        "exact",
        "--json",
    ];
    warpsmith(&[&args[..], more].concat()).json()
}

#[test]
fn parallel_continuations_are_those_of_each_seed_alone() {
    let model = model("tiny-llama3");
    let common = [
        "--max-tokens",
        "9",
        "--raw",
        "Hello, world! This is a test of the licence 12345.",
    ];
    let together = ["--parallel", "3", "--seed", "7"];
    let made = generate(&model, &[&common[..], &together].concat());
    let continuations = made["continuations"].as_array().expect("a list");
    assert_eq!(continuations.len(), 3);
    for (seed, continuation) in ["7", "8", "9"].iter().zip(continuations) {
        let alone = generate(&model, &[&common[..], &["--seed", seed]].concat());
        for key in ["ids", "text", "stop_reason", "seed"] {
            assert_eq!(continuation[key], alone[key], "seed {seed}: {made}");
        }
        assert_eq!(made["prompt_ids"], alone["prompt_ids"]);
    }
    assert!(made["shared_tokens"].as_u64() > Some(0), "{made}");
    // The same as text, and a stop string that ends one of them.
    let text = continuations[1]["text"].as_str().expect("text");
    let stop: String = text.chars().take(2).collect();
    let args = ["generate", "--model", &model, "--device", "virtual"];
    let exact = ["--precision", "exact", "--stop", &stop];
    let run = warpsmith(&[&args[..], &exact, &common, &together].concat());
    assert!(run.err.contains("3 continuations"), "{}", run.err);
    let out = run.ok();
    assert!(out.contains("--- 2 (seed 8)\n\n"), "{out}");
    assert_eq!(out.matches("(seed ").count(), 3, "{out}");
}

/// Prompts that run together give what each gives alone, in exact arithmetic.
#[test]
fn several_prompts_are_continued_as_each_alone() {
    let model = model("tiny-llama3");
    let texts = ["Hello, world!", "one two three", "Hello, world! This is"];
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("prompts.txt");
    fs::write(&file, format!("{}\r\n\n{}\n", texts[1], texts[2])).expect("a file");
    let file = file.display().to_string();
    let common = ["--max-tokens", "7", "--seed", "5", "--raw"];
    let several = ["--prompt", texts[0], "--prompts", &file];
    let made = generate(&model, &[&common[..], &several].concat());
    let prompts = made["prompts"].as_array().expect("a list");
    assert_eq!(prompts.len(), 3);
    for (text, prompt) in texts.iter().zip(prompts) {
        let alone = generate(&model, &[&common[..], &["--prompt", text]].concat());
        assert_eq!(prompt["prompt_ids"], alone["prompt_ids"], "{text}");
        let continuations = prompt["continuations"].as_array().expect("a list");
        assert_eq!(continuations.len(), 1);
        for key in ["ids", "text", "stop_reason", "seed"] {
            assert_eq!(continuations[0][key], alone[key], "{text}: {made}");
        }
    }

    // Under labels, two of each.
    let args = [
        "generate",
        "--model",
        &model,
        "--device",
        "virtual",
        "--precision",
        "exact",
    ];
    let run = warpsmith(&[&args[..], &common, &several, &["--parallel", "2"]].concat());
    assert!(
        run.err.contains("3 prompts") && run.err.contains("6 continuations"),
        "{}",
        run.err
    );
    let out = run.ok();
    for label in [
        "--- 1 (seed 5): Hello, world!\n",
        "--- 4 (seed 6): one two three\n",
    ] {
        assert!(out.contains(label), "{out}");
    }
    for (prompt, number) in prompts.iter().zip([1, 3, 5]) {
        let text = prompt["continuations"][0]["text"].as_str().expect("text");
        let label = format!("--- {number} (seed 5): ");
        let shown = out
            .split_once(&label)
            .and_then(|(_, rest)| rest.split_once('\n'));
        assert!(
            shown.is_some_and(|(_, rest)| rest.starts_with(text)),
            "{number}: {out}"
        );
    }

    let long = "word ".repeat(3000);
    let cases: [(i32, &[&str], &str); 4] = [
        (2, &["--prompt", "a", "b"], "cannot be used with"),
        (
            1,
            &["--prompt", "a", "--prompt", "b", "--lookup", "3"],
            "one prompt",
        ),
        (1, &["--prompt", "a", "--prompt", ""], "prompt 2 is empty"),
        (
            1,
            &["--prompt", "a", "--prompt", &long, "--ctx-size", "64"],
            "prompt 2",
        ),
    ];
    for (status, more, named) in cases {
        let run = warpsmith(&[&args[..], &["--temperature", "0"], more].concat());
        assert_eq!(run.status, status, "{}", run.err);
        assert!(run.err.contains(named), "{}", run.err);
    }
}

#[test]
fn a_context_that_ends_inside_a_page_ends_continuations_where_each_alone_ends() {
    let model = model("tiny-llama3");
    let common = ["--seed", "3", "--raw", "--prompt", "one two three"];
    for context in ["13", "20", "33"] {
        let size = ["--ctx-size", context];
        let made = generate(&model, &[&common[..], &size, &["--parallel", "2"]].concat());
        let alone = generate(&model, &[&common[..], &size].concat());
        for key in ["ids", "text", "stop_reason", "seed"] {
            assert_eq!(
                made["continuations"][0][key], alone[key],
                "{context}: {made}"
            );
        }
        assert_eq!(alone["stop_reason"], "context");
    }
}
