//! Generations, logits and conversations equal the reference engines' on the synthetic models.

mod common;
mod facts;
mod traces;

use common::{model, reference, warpsmith, warpsmith_with};
use facts::{MODELS, facts, ids};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;
use traces::Trace;

/// Below this distance of the best two logits the reference's choice is not ours to hold.
const MARGIN: f64 = 0.02;
/// Logits in exact arithmetic against the f32 reference.
const TOLERANCE: f32 = 2e-3;
const PROMPTS: [&str; 2] = ["hello", "uni"];

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
fn greedy_text_is_the_references() {
    for name in MODELS {
        let facts = facts(name);
        for prompt in PROMPTS {
            let want = &facts["prompts"][prompt];
            let text = want["text"].as_str().expect("text");
            let made = generate(
                &model(name),
                &["--temperature", "0", "--max-tokens", "24", "--raw", text],
            );
            assert_eq!(
                ids(&made["prompt_ids"]),
                ids(&want["ids"]),
                "{name} {prompt}"
            );
            let tokens = ids(&want["greedy24"]["tokens"]);
            let margins = want["greedy24"]["top1_minus_top2"]
                .as_array()
                .expect("margins");
            let certain = margins
                .iter()
                .take_while(|margin| margin.as_f64() > Some(MARGIN))
                .count();
            let got = ids(&made["ids"]);
            let n = certain.min(got.len());
            assert_eq!(got[..n], tokens[..n], "{name} {prompt}");
            match made["stop_reason"].as_str() {
                Some("length") => assert_eq!(got.len(), 24),
                other => assert_eq!(other, Some("eog"), "{name} {prompt}"),
            }
        }
    }
}

#[test]
fn the_report_counts_what_happened() {
    let made = generate(
        &model("tiny-llama3"),
        &["--seed", "7", "--max-tokens", "8", "--raw", "Hello, world!"],
    );
    let steps = made["ids"].as_array().expect("ids").len() as f64 - 1.0;
    assert_eq!(made["seed"], 7);
    assert!(steps >= 1.0, "{made}");
    let per_token = made["launches"]["per_token"].as_f64().expect("a number");
    assert!(
        per_token >= 1.0 && made["launches"]["total"].as_f64() > Some(per_token * steps),
        "{made}"
    );
    for key in [
        "load_s",
        "prefill_s",
        "first_token_s",
        "decode_s",
        "prompt_tok_s",
        "decode_tok_s",
    ] {
        assert!(made["timing"][key].as_f64() > Some(0.0), "{key}: {made}");
    }
    for key in ["h2d_bytes", "d2h_bytes", "h2d_calls", "d2h_calls"] {
        assert!(
            made["transfers"][key].as_u64() >= made["transfers"]["decode"][key].as_u64(),
            "{key}: {made}"
        );
    }
    // By the names that users of llama.cpp know.
    let short = [
        "-s", "7", "-n", "8", "--temp", "0.8", "-t", "1", "-c", "64", "--raw", "-p",
    ];
    let again = generate(
        &model("tiny-llama3"),
        &[&short[..], &["Hello, world!"]].concat(),
    );
    assert_eq!(
        made["ids"], again["ids"],
        "the same seed draws the same tokens"
    );
}

#[test]
fn a_stop_string_ends_the_text_before_itself() {
    let model = model("tiny-qwen2");
    let common = [
        "--temperature",
        "0",
        "--max-tokens",
        "24",
        "--raw",
        "Hello, world! This is a test of the licence 12345.",
    ];
    let whole = generate(&model, &common);
    let text = whole["text"].as_str().expect("text");
    let at = text
        .char_indices()
        .nth(8)
        .expect("more than eight characters")
        .0;
    let stop: String = text[at..].chars().take(2).collect();
    let stopped = generate(
        &model,
        &[&common[..], &["--stop", "never there", "--stop", &stop]].concat(),
    );
    let want = &text[..text.find(&stop).expect("taken from it")];
    assert_eq!(stopped["text"], want);
    assert_eq!(stopped["stop_reason"], "stop");
    assert!(
        stopped["ids"].as_array().expect("ids").len() < whole["ids"].as_array().expect("ids").len()
    );
}

#[test]
fn streamed_text_is_the_text_of_the_report() {
    let (model, common) = (
        model("tiny-llama2spm"),
        ["--temperature", "0", "--max-tokens", "12", "--raw"],
    );
    let made = generate(&model, &[&common[..], &["naïve café"]].concat());
    let args = [
        "generate",
        "--model",
        &model,
        "--device",
        "virtual",
        "--precision",
        "exact",
    ];
    let run = warpsmith_with(&[&args[..], &common[..]].concat(), "naïve café\n");
    assert!(
        run.err.contains("tok/s") && run.err.contains("launches a token"),
        "{}",
        run.err
    );
    let text = made["text"].as_str().expect("text");
    let line = if text.ends_with('\n') {
        text.to_owned()
    } else {
        format!("{text}\n")
    };
    assert_eq!(run.ok(), line);
}

#[test]
fn a_full_context_ends_the_text() {
    let args = [
        "--temperature",
        "0",
        "--ctx-size",
        "16",
        "--max-tokens",
        "99",
        "--raw",
        "Hello, world!",
    ];
    let made = generate(&model("tiny-qwen2"), &args);
    let (prompt, drawn) = (ids(&made["prompt_ids"]), ids(&made["ids"]));
    if made["stop_reason"] != "eog" {
        assert_eq!(made["stop_reason"], "context");
        // the last token drawn is not in the context
        assert_eq!(prompt.len() + drawn.len(), 17);
    }
}

#[test]
fn logits_are_the_references() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    for name in MODELS {
        let facts = facts(name);
        for prompt in PROMPTS {
            let facts = &facts["prompts"][prompt];
            let want = floats(&reference(
                facts["logits"]["file"].as_str().expect("a file"),
            ));
            std::fs::write(file("prompt"), facts["text"].as_str().expect("text")).expect("written");
            let (path, text) = (model(name), file("prompt"));
            let args = [
                "logits",
                "--model",
                &path,
                "--device",
                "virtual",
                "--precision",
                "exact",
                "--raw",
            ];
            let args = [&args[..], &["--prompt-file", &text]].concat();
            let (out, all, nll, alone) = (file("out"), file("all"), file("nll"), file("alone"));
            warpsmith(&[&args[..], &["--out", &out, "--all", &all, "--nll", &nll]].concat()).ok();
            warpsmith(&[&args[..], &["--out", &alone]].concat()).ok();

            let ids = ids(&facts["ids"]);
            let width = want.len() / ids.len();
            let close = |got: &[f32], want: &[f32]| {
                assert_eq!(got.len(), want.len());
                let worst = got
                    .iter()
                    .zip(want)
                    .map(|(a, b)| (a - b).abs())
                    .fold(0.0, f32::max);
                assert!(worst <= TOLERANCE, "{name} {prompt}: {worst}");
            };
            close(&floats(all.as_ref()), &want);
            for last in [out, alone] {
                close(&floats(last.as_ref()), &want[want.len() - width..]);
            }
            let losses = want.chunks(width).zip(&ids[1..]).map(|(row, next)| {
                let sum: f64 = row.iter().map(|l| f64::from(*l).exp()).sum();
                (sum.ln() - f64::from(row[*next as usize])) as f32
            });
            close(&floats(nll.as_ref()), &losses.collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_conversation_is_its_messages_and_evaluates_only_what_is_new() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("messages.json").display().to_string();
    let model = model("tiny-qwen2");
    let common = ["--temperature", "0", "--max-tokens", "6"];
    let mut messages = vec![json!({ "role": "system", "content": "Be kind" })];
    let mut want = String::new();
    let mut lengths = Vec::new();
    for question in ["Hello there", "And what else?"] {
        messages.push(json!({ "role": "user", "content": question }));
        std::fs::write(&file, json!(messages).to_string()).expect("written");
        let made = generate(&model, &[&common[..], &["--messages", &file]].concat());
        lengths.push(ids(&made["prompt_ids"]).len());
        let text = made["text"].as_str().expect("text");
        want += text;
        if !text.ends_with('\n') {
            want.push('\n');
        }
        messages.push(json!({ "role": "assistant", "content": text }));
    }
    let args = [
        "chat",
        "--model",
        &model,
        "--device",
        "virtual",
        "--precision",
        "exact",
        "--system",
        "Be kind",
    ];
    let input = "Hello there\n\nAnd what else?\n/reset\nHello there\n/exit\nnot read\n";
    let run = warpsmith_with(&[&args[..], &common[..]].concat(), input);
    let new: Vec<usize> = run
        .err
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split(' ').next()?.parse().ok())
        .collect();
    assert_eq!(new.len(), 3, "{}", run.err);
    assert_eq!((new[0], new[2]), (lengths[0], lengths[0]), "{}", run.err);
    assert!(
        new[1] + lengths[0] <= lengths[1],
        "{} of {} were new after {}",
        new[1],
        lengths[1],
        lengths[0]
    );
    let first = want.lines().next().expect("a line").to_owned();
    let out = run.ok();
    assert!(out.starts_with(&want), "{out:?} begins with {want:?}");
    assert!(
        out[want.len()..].starts_with(&first),
        "{out:?} ends with {first:?}"
    );
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_the_text_and_keeps_the_summary() {
    use std::io::Read;
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args([
            "generate",
            "--model",
            &model("tiny-qwen2"),
            "--device",
            "virtual",
            "--temperature",
            "0",
        ])
        .args([
            "--max-tokens",
            "100000",
            "--raw",
            "Hello, world! This is a test of the licence 12345.",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut out = child.stdout.take().expect("piped");
    out.read_exact(&mut [0]).expect("text comes");
    let kill = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status();
    assert!(kill.expect("sh runs").success());
    out.read_to_end(&mut Vec::new()).expect("read to the end");
    let ended = child.wait_with_output().expect("the program ends");
    let summary = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{summary}");
    assert!(summary.contains("stopped: interrupted"), "{summary}");
}

/// Little-endian floats of a file.
fn floats(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(bytes.len().is_multiple_of(4));
    bytes
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

/// Greedy tokens of a synthetic model on `device`.
fn generated(device: &str) -> common::Run {
    let model = model("tiny-qwen2");
    let fixed = [
        "--temperature",
        "0",
        "--max-tokens",
        "4",
        "--json",
        "--raw",
        "hello",
    ];
    let chosen = ["generate", "--model", &model, "--device", device];
    warpsmith(&[&chosen[..], &fixed].concat())
}

#[test]
fn the_virtual_gpu_can_be_another_card() {
    let usual = generated("virtual:sm75").json();
    let t4 = generated("virtual:t4,sms=2,memory=64MiB,shared=48KiB,cooperative=4,ptx=6.5").json();
    assert_eq!(t4["ids"], usual["ids"]);
    let old = generated("virtual:sm90,ptx=7.0");
    assert_eq!(old.status, 1);
    let said = "PTX 7.8 is needed, the device takes up to 7.0";
    assert!(old.err.contains(said), "{}", old.err);
    let small = generated("virtual:t4,memory=100KiB");
    assert_eq!(small.status, 1);
    assert!(
        small.err.contains("out of device memory: "),
        "{}",
        small.err
    );
    let unknown = generated("virtual:t5");
    assert_eq!(unknown.status, 2);
    assert!(
        unknown.err.contains("`t5` is no setting of a virtual GPU"),
        "{}",
        unknown.err
    );
}

#[test]
fn a_generation_can_be_traced() {
    let folder = TempDir::new().expect("a folder");
    let [timeline, stats] =
        ["t.json", "s.jsonl"].map(|name| folder.path().join(name).display().to_string());
    let model = model("tiny-qwen2");
    let plain = [
        "generate", "--model", &model, "--device", "virtual", "--raw", "--json",
    ];
    let plain = [
        &plain[..],
        &["--max-tokens", "5", "--temperature", "0", "Hello there"],
    ]
    .concat();
    let want = warpsmith(&plain).json();
    let args = ["--timeline", &timeline, "--trace-stats", &stats];
    let traced = warpsmith(&[&plain[..], &args[..]].concat()).json();
    // Whose values are looked at is not fused: more launches give the same.
    for same in ["ids", "text", "transfers"] {
        assert_eq!(traced[same], want[same], "{same}");
    }
    let trace = Trace::read(&timeline);
    assert_eq!(Some(trace.kernels), traced["launches"]["total"].as_u64());
    for (name, bytes, calls) in [
        ("upload", "h2d_bytes", "h2d_calls"),
        ("download", "d2h_bytes", "d2h_calls"),
    ] {
        assert_eq!(
            Some(trace.bytes[name]),
            traced["transfers"][bytes].as_u64(),
            "{name}"
        );
        assert_eq!(
            Some(trace.calls[name]),
            traced["transfers"][calls].as_u64(),
            "{name}"
        );
    }
    let text = fs::read_to_string(&stats).expect("statistics");
    // However the run was asked for.
    let persistent = [&plain[..], &["--run", "persistent"]].concat();
    let observed = warpsmith(&[&persistent[..], &args[2..]].concat()).json();
    assert_eq!(observed["ids"], want["ids"]);
    assert_eq!(fs::read_to_string(&stats).expect("statistics"), text);
    let timed = warpsmith(&[&persistent[..], &args[..2]].concat()).json();
    assert_eq!(timed["ids"], want["ids"]);
    let kernels = Trace::read(&timeline).kernels;
    assert_eq!(Some(kernels), timed["launches"]["total"].as_u64());
    let lines: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .collect();
    let found = |kind: &str, name: &str| {
        lines
            .iter()
            .filter(|l| l["kind"] == kind && l["name"] == name)
            .count()
    };
    assert_eq!(found("parameter", "layer.0.attn.q.weight"), 1);
    assert_eq!(found("parameter", "layer.0.attn.q.bias"), 1);
    assert_eq!(found("parameter", "layer.2.mlp_norm.gain"), 1);
    // One prompt and four steps; the first token is drawn by a pass of its own.
    for name in [
        "embed",
        "layer.0.attn.q",
        "layer.2.mlp.down",
        "norm",
        "logits",
    ] {
        assert_eq!(found("value", name), 5, "{name}");
    }
    for line in &lines {
        assert_eq!(line["non_finite"], 0, "{line}");
        let number = |name: &str| line[name].as_f64().expect("a number");
        let (least, most) = (number("min"), number("max"));
        assert!(
            (least..=most).contains(&number("mean")) && number("std") <= most - least,
            "{line}"
        );
    }
}

#[test]
fn guesses_give_the_same_text_and_are_counted() {
    let model = model("tiny-qwen2");
    let common = [
        "--temperature",
        "0",
        "--max-tokens",
        "40",
        "--raw",
        "one two three one two three one two three one two",
    ];
    let plain = generate(&model, &common);
    let made = generate(&model, &[&common[..], &["--lookup", "5"]].concat());
    assert_eq!(
        (&made["ids"], &made["text"]),
        (&plain["ids"], &plain["text"])
    );
    assert!(plain.get("lookup").is_none());
    let count = |key: &str| made["lookup"][key].as_u64().expect("a count");
    let tokens = made["ids"].as_array().expect("ids").len() as u64;
    assert_eq!(count("passes") + count("accepted"), tokens - 1, "{made}");
    assert!(count("accepted") <= count("guessed"), "{made}");
    let args = ["generate", "--model", &model, "--device", "virtual"];
    let warm = ["--lookup", "5", "--temperature", "0.7", "--raw", "hello"];
    let refused = warpsmith(&[&args[..], &warm].concat());
    assert_eq!(refused.status, 1);
    assert!(refused.err.contains("temperature 0.7"), "{}", refused.err);
}

#[test]
fn a_text_has_the_form_that_was_asked_for() {
    let folder = TempDir::new().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let schema = json!({"type": "object", "properties": {"kind": {"enum": ["cat", "dog"]},
        "age": {"type": "integer", "minimum": 0, "maximum": 30}}, "required": ["kind", "age"], "additionalProperties": false});
    let schema = write("pet.json", &schema.to_string());
    let lark = write("yes.lark", "start: (\"yes\" | \"no\") \"!\"\n");
    for model_name in MODELS {
        let path = model(model_name);
        let made = |more: &[&str]| {
            let usual = ["--raw", "Once", "--temperature", "1", "--seed", "3"];
            generate(&path, &[&usual[..], more].concat())
        };
        let pet = made(&["--json-schema", &schema]);
        let value: Value = serde_json::from_str(pet["text"].as_str().expect("text")).expect("JSON");
        assert!(value["kind"] == "cat" || value["kind"] == "dog", "{value}");
        assert!(value["age"].as_u64().expect("an age") <= 30, "{value}");
        assert_eq!(pet["stop_reason"], "eog", "{model_name}");
        // Told token by token it is the same text.
        let told = made(&["--json-schema", &schema, "--logprobs", "1"]);
        assert_eq!(told["text"], pet["text"], "{model_name}");
        let logprobs = told["logprobs"].as_array().map(Vec::len);
        assert_eq!(logprobs, told["ids"].as_array().map(Vec::len));
        let yes = made(&["--grammar", &lark]);
        assert!(yes["text"] == "yes!" || yes["text"] == "no!", "{yes}");
        let date = made(&["--regex", "[0-9]{4}-[01][0-9]"]);
        let date = date["text"].as_str().expect("text");
        assert!(date.len() == 7 && date.as_bytes()[4] == b'-', "{date}");
        let cut = made(&["--json-schema", &schema, "--max-tokens", "3"]);
        assert_eq!(cut["stop_reason"], "length");
        assert_eq!(cut["ids"].as_array().map(Vec::len), Some(3));
    }
    let path = model("tiny-llama3");
    let refused = write("not.json", "{\"not\": {}}");
    let broken = write("broken.json", "{");
    for (more, says) in [
        (vec!["--json-schema", &refused], "\"not\""),
        (
            vec!["--json-schema", &broken],
            "broken.json: expected a JSON schema",
        ),
        (vec!["--json-schema", "none.json"], "none.json"),
        (vec!["--grammar", &schema], "the grammar: "),
        (vec!["--regex", "("], "the regular expression: "),
        (
            vec!["--regex", "a", "--parallel", "2"],
            "go without --parallel",
        ),
        (
            vec!["--regex", "a", "--prompt", "a"],
            "--regex are for one prompt",
        ),
    ] {
        let usual = [
            "generate", "--model", &path, "--device", "virtual", "--prompt", "Once",
        ];
        let run = warpsmith(&[&usual[..], &more].concat());
        assert_eq!((run.status, run.out.as_str()), (1, ""), "{more:?}");
        assert!(run.err.contains(says), "{more:?}: {}", run.err);
        assert_eq!(run.err.trim_end().lines().count(), 1, "{}", run.err);
    }
}
