//! What people meet first: models of the other kind, templates that do not work, full contexts, damaged models, quiet runs,
//! probabilities, perplexity, commands of a conversation.

mod common;
mod facts;
mod rewritten;

use common::{Run, model, reference, warpsmith, warpsmith_with};
use facts::{MODELS, facts, ids};
use rewritten::rewritten;
use serde_json::{Value, json};
use std::{fs, path::Path};
use warpsmith::formats::gguf::Value as Key;

const TEMPLATE: &str = "tokenizer.chat_template";

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Four greedy tokens; how they are asked for comes after the model.
fn greedy(model: &str, more: &[&str]) -> Run {
    let args = [
        "generate",
        "--model",
        model,
        "--device",
        "virtual",
        "-n",
        "4",
        "--temperature",
        "0",
    ];
    warpsmith(&[&args[..], more].concat())
}

/// A run that fails with these words in its one line.
fn refused(run: Run, words: &[&str]) {
    assert_eq!(run.status, 1, "{} {}", run.out, run.err);
    assert_eq!(run.err.trim_end().lines().count(), 1, "{}", run.err);
    for word in words {
        assert!(run.err.contains(word), "{word}: {}", run.err);
    }
}

#[test]
fn a_model_of_the_other_kind_is_named_with_the_command_for_it() {
    let ggml = text(&reference("whisper/synth/ggml-f16.bin"));
    let folder = text(&reference("whisper/synth"));
    for whisper in [&ggml, &folder] {
        let words = ["Whisper", "warpsmith transcribe --model", whisper];
        refused(greedy(whisper, &["Hello"]), &words);
        refused(
            warpsmith_with(&["chat", "--model", whisper], "hi\n"),
            &words,
        );
        refused(
            warpsmith_with(&["perplexity", "--model", whisper], "hi"),
            &words[..1],
        );
        let nowhere = tempfile::tempdir().expect("a folder");
        let out = text(&nowhere.path().join("x"));
        let args = ["logits", "--model", whisper, "--out", &out, "hi"];
        refused(warpsmith(&args), &words);
    }
    let llama = model("tiny-llama3");
    let sound = text(&reference("audio/jfk.wav"));
    let run = warpsmith(&["transcribe", "--model", &llama, &sound]);
    refused(
        run,
        &["language model", "warpsmith generate --model", &llama],
    );
}

#[test]
fn a_template_that_does_not_parse_fails_only_where_it_is_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let broken = [(
        TEMPLATE,
        Key::from("{% for m in messages %}\n{{ m.content }"),
    )];
    let model = text(&rewritten(folder.path(), "tiny-qwen2", &broken, &|_, _| {}));
    let plain = greedy(&common::model("tiny-qwen2"), &["--json", "--raw", "Hello"]).json();
    assert_eq!(
        greedy(&model, &["--json", "--raw", "Hello"]).json()["ids"],
        plain["ids"]
    );
    refused(
        greedy(&model, &["Hello"]),
        &["chat template, line", "--raw"],
    );
    warpsmith(&["tokenize", "--model", &model, "Hello"]).ok();
    warpsmith(&["inspect", &model]).ok();
    let out = text(&folder.path().join("out"));
    let args = [
        "logits", "--model", &model, "--device", "virtual", "--out", &out,
    ];
    warpsmith(&[&args[..], &["--raw", "Hello"]].concat()).ok();
    // A conversation says so, and goes on.
    let args = ["chat", "--model", &model, "--device", "virtual"];
    let run = warpsmith_with(&args, "Hello\n/quit\n");
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(
        run.err.contains("error: chat template, line"),
        "{}",
        run.err
    );
}

#[test]
fn templates_mark_text_for_training_and_format_as_python_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let marked = "{%- for m in messages %}{% if m.role == 'assistant' %}A:\n{% generation %}{{ m.content }}\n\
                  {% endgeneration %}{% else %}{{ m.role + ': ' + m.content + '\n' }}{% endif %}{%- endfor %}\
                  {% if add_generation_prompt %}{{ 'A:\n' }}{% endif %}";
    let percent = "{% for m in messages %}{{ '%s: %s\n' % (m.role, m.content) }}{% endfor %}";
    let messages = text(&folder.path().join("talk.json"));
    let talk = json!([
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": "yo" },
        { "role": "user", "content": "so?" },
    ]);
    fs::write(&messages, talk.to_string()).expect("written");
    for (template, want) in [
        (marked, "user: hi\nA:\nyo\nuser: so?\nA:\n"),
        (percent, "user: hi\nassistant: yo\nuser: so?\n"),
    ] {
        let keys = [(TEMPLATE, Key::from(template))];
        let model = text(&rewritten(folder.path(), "tiny-qwen2", &keys, &|_, _| {}));
        let made = greedy(&model, &["--json", "--messages", &messages]).json();
        let raw = greedy(&model, &["--json", "--raw", want]).json();
        assert_eq!(made["prompt_ids"], raw["prompt_ids"], "{template}");
    }
}

#[test]
fn a_context_beyond_the_trained_one_is_warned_of_and_a_full_one_names_the_option() {
    let model = model("tiny-qwen2");
    let trained = warpsmith(&["inspect", "--json", &model]).json();
    let trained = trained["metadata"]["qwen2.context_length"]
        .as_u64()
        .expect("a length");
    let more = (trained + 1).to_string();
    let run = greedy(&model, &["-c", &more, "--raw", "Hello"]);
    assert!(
        run.err.contains(&format!("--ctx-size {more}")) && run.err.contains(&trained.to_string()),
        "{}",
        run.err
    );
    run.ok();
    let run = greedy(&model, &["-c", &trained.to_string(), "--raw", "Hello"]);
    assert!(!run.err.contains("warning"), "{}", run.err);
    // A warning is no summary.
    let run = greedy(&model, &["-c", &more, "--quiet", "--raw", "Hello"]);
    assert!(
        run.err.starts_with("warning") && run.err.lines().count() == 1,
        "{}",
        run.err
    );

    let long = "Hello, world! ".repeat(9);
    for more in [
        &[][..],
        &["--parallel", "2"],
        &["--logprobs", "1", "--json"],
    ] {
        let asked = [&["-c", "8", "--raw", long.as_str()][..], more].concat();
        refused(greedy(&model, &asked), &["8 tokens", "--ctx-size"]);
    }
    let full = greedy(&model, &["-c", "16", "-n", "99", "--raw", "Hello, world!"]);
    assert!(
        full.err.contains("the model ended the text")
            || full.err.contains("--ctx-size makes it larger"),
        "the last -n counts: {}",
        full.err
    );
    full.ok();
    let args = [
        "generate",
        "--model",
        &model,
        "--device",
        "virtual",
        "--temperature",
        "0",
    ];
    let run = warpsmith(&[&args[..], &["-c", "16", "--raw", "Hello, world!"]].concat());
    if !run.err.contains("the model ended the text") {
        assert!(
            run.err.contains("16 tokens is full; --ctx-size"),
            "{}",
            run.err
        );
    }
    let run = warpsmith_with(
        &["chat", "--model", &model, "--device", "virtual", "-c", "8"],
        "Hello, how are you today, my friend?\n",
    );
    assert!(
        run.err.contains("--ctx-size") && run.status == 0,
        "{}",
        run.err
    );
}

#[test]
fn a_quiet_run_says_nothing_but_its_text() {
    let model = model("tiny-qwen2");
    let loud = greedy(&model, &["--raw", "Hello"]);
    assert!(loud.err.contains("tok/s"), "{}", loud.err);
    let quiet = greedy(&model, &["-q", "--raw", "Hello"]);
    assert_eq!(quiet.err, "");
    assert_eq!(quiet.ok(), loud.ok());
    let args = [
        "--quiet", "chat", "--model", &model, "--device", "virtual", "-n", "3",
    ];
    let run = warpsmith_with(&args, "Hello\n");
    assert_eq!(run.err, "");
    assert!(!run.ok().is_empty());
    let run = warpsmith(&["--quiet", "generate", "--model", "nothing.gguf", "x"]);
    refused(run, &["nothing.gguf"]);
}

/// By the reference's logits, in f64.
fn log_probabilities(row: &[f32]) -> Vec<f64> {
    let sum: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
    row.iter().map(|x| f64::from(*x) - sum.ln()).collect()
}

fn floats(path: &Path) -> Vec<f32> {
    let bytes = fs::read(path).expect("numbers");
    let numbers = bytes.as_chunks::<4>().0.iter();
    numbers.map(|b| f32::from_le_bytes(*b)).collect()
}

#[test]
fn probabilities_of_tokens_are_those_of_the_references_logits() {
    for name in ["tiny-qwen2", "tiny-llama3"] {
        let facts = facts(name);
        let want = &facts["prompts"]["hello"];
        let prompt = want["text"].as_str().expect("text");
        let path = model(name);
        let ask = |more: &[&str]| {
            let args = [
                "generate",
                "--model",
                &path,
                "--device",
                "virtual",
                "--precision",
                "exact",
                "--json",
                "-n",
                "3",
                "--raw",
                prompt,
            ];
            warpsmith(&[&args[..], more].concat()).json()
        };
        let plain = ask(&["--temperature", "0"]);
        assert!(plain.get("logprobs").is_none());
        let made = ask(&["--temperature", "0", "--logprobs", "4"]);
        for same in ["ids", "text", "stop_reason"] {
            assert_eq!(made[same], plain[same], "{name} {same}");
        }
        // What is drawn differently is weighed alike.
        let warm = ask(&["--seed", "5", "--repeat-penalty", "1.4", "--logprobs", "4"]);
        let logits = floats(&reference(want["logits"]["file"].as_str().expect("a file")));
        let count = ids(&want["ids"]).len();
        let width = logits.len() / count;
        let row = log_probabilities(&logits[logits.len() - width..]);
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|a, b| row[*b].total_cmp(&row[*a]));
        for made in [&made, &warm] {
            let told = made["logprobs"].as_array().expect("a list");
            assert_eq!(told.len(), made["ids"].as_array().expect("ids").len());
            let first = &told[0];
            let id = first["id"].as_u64().expect("an id");
            assert_eq!(made["ids"][0], id);
            let near = |found: &Value, id: usize| {
                let found = found.as_f64().expect("a number");
                assert!(
                    (found - row[id]).abs() < 5e-3,
                    "{name}: {found}, {}",
                    row[id]
                );
            };
            near(&first["logprob"], id as usize);
            let top = first["top"].as_array().expect("a list");
            assert_eq!(top.len(), 4);
            for (found, want) in top.iter().zip(&order) {
                near(&found["logprob"], *want);
                assert!(found["piece"].is_string());
            }
        }
        assert_eq!(
            made["logprobs"][0]["top"][0]["id"], made["ids"][0],
            "greedy"
        );
        assert_eq!(ask(&["--logprobs", "0"])["logprobs"][0]["top"], json!([]));
    }
    let path = model("tiny-qwen2");
    for wrong in [
        &["--logprobs", "3", "x"][..],
        &["--logprobs", "3", "--json", "--parallel", "2", "x"],
    ] {
        assert_eq!(greedy(&path, wrong).status, 2);
    }
}

#[test]
fn perplexity_is_that_of_the_references_logits() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("text.txt"));
    for name in MODELS {
        let facts = facts(name);
        let want = &facts["prompts"]["uni"];
        fs::write(&file, want["text"].as_str().expect("text")).expect("written");
        let model = model(name);
        let args = [
            "perplexity",
            "--model",
            &model,
            "--device",
            "virtual",
            "--precision",
            "exact",
            "--json",
            &file,
        ];
        let found = warpsmith(&args).json();
        let ids = ids(&want["ids"]);
        let logits = floats(&reference(want["logits"]["file"].as_str().expect("a file")));
        let rows = logits.chunks(logits.len() / ids.len());
        let losses = rows
            .zip(&ids[1..])
            .map(|(row, next)| -log_probabilities(row)[*next as usize]);
        let mean = losses.sum::<f64>() / (ids.len() - 1) as f64;
        let got = found["mean_nll"].as_f64().expect("a number");
        assert!((got - mean).abs() < 3e-3, "{name}: {got}, {mean}");
        let value = found["perplexity"].as_f64().expect("a number");
        assert!((value / got.exp() - 1.0).abs() < 1e-9);
        assert_eq!(found["tokens"], ids.len());
        assert_eq!(found["scored"], ids.len() - 1);
        assert_eq!(
            (&found["windows"], &found["method"]),
            (&json!(1), &json!("sliding"))
        );
    }
}

#[test]
fn perplexity_reads_in_windows_and_refuses_what_it_cannot_score() {
    let model = model("tiny-qwen2");
    let words = "one two three four five six seven eight nine ten eleven twelve ".repeat(3);
    let run = |more: &[&str], input: &str| {
        let args = ["perplexity", "--model", &model, "--device", "virtual"];
        warpsmith_with(&[&args[..], more].concat(), input)
    };
    let found = run(&["-c", "16", "--stride", "4", "--json"], &words).json();
    let tokens = found["tokens"].as_u64().expect("a count");
    assert_eq!(found["scored"].as_u64(), Some(tokens - 1));
    assert_eq!(
        found["windows"].as_u64(),
        Some((tokens - 16).div_ceil(4) + 1)
    );
    assert_eq!(found["stride"], 4);
    let halves = run(&["-c", "16", "--json"], &words).json();
    assert_eq!(halves["stride"], 8);
    let chunks = run(&["-c", "16", "--chunks", "--json"], &words).json();
    assert_eq!(chunks["windows"].as_u64(), Some(tokens / 16));
    assert_eq!(chunks["scored"].as_u64(), Some(tokens / 16 * 7));
    assert!(chunks.get("stride").is_none());
    let shown = run(&["-c", "16"], &words);
    assert!(shown.err.contains("tokens scored in"), "{}", shown.err);
    assert!(shown.ok().starts_with("perplexity "));
    refused(run(&[], ""), &["0 tokens"]);
    refused(
        run(&["-c", "16", "--stride", "16"], &words),
        &["--stride", "16"],
    );
    refused(run(&["--chunks"], "a few words"), &["512"]);
    assert_eq!(run(&["--chunks", "--stride", "3"], &words).status, 2);
    refused(run(&["nothing.txt"], ""), &["nothing.txt"]);
}

#[test]
fn damaged_models_write_no_token_and_no_logit() {
    let folder = tempfile::tempdir().expect("a folder");
    let damage = |name: &str, numbers: &mut [f32]| {
        if name == "output_norm.weight" {
            numbers.fill(f32::MAX);
        }
    };
    let model = text(&rewritten(folder.path(), "tiny-llama3", &[], &damage));
    let prompt = facts("tiny-llama3")["prompts"]["hello"].clone();
    let last = ids(&prompt["ids"]).len() - 1;
    let prompt = prompt["text"].as_str().expect("text");
    let position = format!("position {last}");
    for more in [
        &["--run", "eager"][..],
        &["--run", "replay"],
        &["--run", "persistent"],
        &["--lookup", "3"],
        &["--parallel", "2"],
        &["--json", "--logprobs", "2"],
        &["--precision", "exact"],
    ] {
        let run = greedy(&model, &[&["--raw", prompt][..], more].concat());
        assert_eq!(run.out, "", "{more:?}");
        refused(run, &["not finite", &position]);
    }
    let file = |name: &str| text(&folder.path().join(name));
    for (more, position) in [
        (&["--out"][..], position.as_str()),
        (&["--all"], "position 0"),
        (&["--nll"], "position 0"),
    ] {
        let out = file("logits");
        let args = [
            "logits", "--model", &model, "--device", "virtual", "--raw", prompt,
        ];
        let run = warpsmith(&[&args[..], more, &[&out]].concat());
        refused(run, &["not finite", position, "are NaN or infinite"]);
        let written = fs::metadata(&out).map_or(0, |file| file.len());
        assert_eq!(written, 0, "{more:?}");
    }
    let args = ["perplexity", "--model", &model, "--device", "virtual"];
    let run = warpsmith_with(&args, prompt);
    assert_eq!(run.out, "");
    refused(run, &["not finite", "position 0"]);
}

#[test]
fn a_conversation_obeys_its_commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let saved = text(&folder.path().join("talk.json"));
    let model = model("tiny-qwen2");
    let input = format!(
        "/help\n/system\n/undo\n/system Be kind\n/system\nHello there\n/regenerate\nline one\\\nline two\n/undo\n\
         \"\"\"\nAnd\n/quit\n\"\"\"\n//usr is a folder\n/frobnicate\n/save {saved}\n/save {saved}\n/reset\n/save {saved}.2\n/quit\nnot read\n"
    );
    let args = [
        "chat",
        "--model",
        &model,
        "--device",
        "virtual",
        "--temperature",
        "0",
        "-n",
        "3",
    ];
    let run = warpsmith_with(&args, &input);
    assert_eq!(run.status, 0, "{}", run.err);
    for said in [
        "/regenerate",
        "there is no system message",
        "there is no message yet",
        "Be kind",
        "taken back: line one\\nline two",
        "/frobnicate is no command: /help",
        "error: cannot write",
    ] {
        assert!(run.err.contains(said), "{said}: {}", run.err);
    }
    let read = |path: &str| -> Value {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        serde_json::from_str(&text).expect("JSON")
    };
    let talk = read(&saved);
    let turns: Vec<(&str, &str)> = talk
        .as_array()
        .expect("a list")
        .iter()
        .map(|turn| {
            let part = |key: &str| turn[key].as_str().expect("text");
            (part("role"), part("content"))
        })
        .collect();
    let said: Vec<&str> = turns
        .iter()
        .filter(|turn| turn.0 == "user")
        .map(|turn| turn.1)
        .collect();
    assert_eq!(said, ["Hello there", "And\n/quit", "/usr is a folder"]);
    assert_eq!(turns[0], ("system", "Be kind"));
    assert_eq!(turns.iter().filter(|turn| turn.0 == "assistant").count(), 3);
    assert_eq!(
        read(&format!("{saved}.2")),
        json!([{ "role": "system", "content": "Be kind" }])
    );
    // What is saved can be gone on with.
    greedy(&model, &["--messages", &saved]).ok();
}
