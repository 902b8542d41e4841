//! `profile`: the tables have each operation with what its operands need, and files say the same.

mod common;
mod traces;

use common::{model, reference, warpsmith};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};
use tempfile::TempDir;
use traces::Trace;
use warpsmith::formats::gguf::Gguf;

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

fn pass<'a>(profile: &'a Value, name: &str) -> &'a Value {
    let passes = profile["passes"].as_array().expect("a list");
    let found = passes.iter().find(|pass| pass["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {profile}"))
}

fn rows(pass: &Value) -> &[Value] {
    pass["rows"].as_array().expect("a list")
}

/// What holds of every pass.
fn whole(pass: &Value) {
    for key in ["seconds", "share"] {
        let sum: f64 = rows(pass).iter().map(|row| number(&row[key])).sum();
        let want = if key == "share" {
            1.0
        } else {
            number(&pass[key])
        };
        assert!((sum - want).abs() < 1e-6 * want, "{key}: {sum}, not {want}");
    }
    for key in [
        "launches",
        "weight_bytes",
        "read_bytes",
        "written_bytes",
        "operations",
    ] {
        let sum: u64 = rows(pass).iter().map(|row| count(&row[key])).sum();
        assert_eq!(sum, count(&pass[key]), "{key} of {pass}");
    }
    assert!(
        number(&pass["seconds"]) <= number(&pass["wall_s"]),
        "{pass}"
    );
    for row in rows(pass) {
        let launches: u64 = row["kernels"]
            .as_object()
            .expect("kernels")
            .values()
            .map(count)
            .sum();
        assert_eq!(launches, count(&row["launches"]), "{row}");
        let bytes = number(&row["read_bytes"]) + number(&row["written_bytes"]);
        let rate = bytes / number(&row["seconds"]);
        assert!(
            (rate - number(&row["bytes_s"])).abs() <= 1e-6 * rate,
            "{row}"
        );
        assert!(number(&row["of_roof"]) > 0.0, "{row}");
    }
}

/// Bytes of the matrices that a step multiplies by, and layers, as the file has them.
fn file(name: &str) -> (u64, u64) {
    let gguf = Gguf::open(Path::new(&model(name))).expect("a model");
    let tied = gguf.tensor("output.weight").is_none();
    let matrices = gguf.tensors().iter().filter(|tensor| {
        let embedding = tensor.name == "token_embd.weight";
        tensor.dims.len() == 2 && (!embedding || tied)
    });
    let bytes = matrices.map(|tensor| tensor.bytes).sum();
    let layers = (0..).take_while(|at| gguf.tensor(&format!("blk.{at}.attn_q.weight")).is_some());
    (bytes, layers.count() as u64)
}

#[test]
fn a_profile_has_each_operation_with_the_bytes_of_the_file() {
    for name in ["tiny-llama3", "tiny-qwen2"] {
        let folder = TempDir::new().expect("a folder");
        let out = folder.path().join("new/profile");
        let (path, steps) = (model(name), 3);
        let out_name = out.display().to_string();
        let args = [
            "profile",
            "--model",
            &path,
            "--device",
            "virtual",
            "--threads",
            "2",
        ];
        let more = [
            "--tokens",
            "3",
            "--prompt",
            "one two three",
            "--json",
            "--out",
            &out_name,
        ];
        let profile = warpsmith(&[&args[..], &more].concat()).json();

        let step = pass(&profile, "step");
        assert_eq!(count(&step["runs"]), steps);
        let (bytes, layers) = file(name);
        // A step reads every matrix once, and one row of the embedding for its token.
        let embed = rows(step)
            .iter()
            .find(|row| row["op"] == "embed")
            .expect("an embedding");
        let matrices = count(&step["weight_bytes"]) - count(&embed["weight_bytes"]);
        assert_eq!(matrices, steps * bytes, "{name}");
        let ops: Vec<(&str, u64)> = rows(step)
            .iter()
            .map(|row| (row["op"].as_str().expect("a name"), count(&row["count"])))
            .collect();
        let of = |op: &str| {
            ops.iter()
                .filter(|(name, _)| *name == op)
                .map(|(_, n)| n)
                .sum::<u64>()
        };
        for (op, want) in [
            ("embed", 1),
            ("heads", layers),
            ("attend", layers),
            ("gate", layers),
            ("matmul", 2 * layers),
            ("norm_matmul", 1),
            ("draw", 1),
        ] {
            assert_eq!(of(op), steps * want, "{op} in {ops:?}");
        }
        let prompt = pass(&profile, "prefill");
        let tokens = count(&profile["prompt_tokens"]);
        assert!(
            count(&prompt["operations"]) > (tokens - 1) * count(&step["operations"]) / steps / 2
        );
        for name in ["prefill", "sample", "step"] {
            whole(pass(&profile, name));
        }
        assert!(
            number(&profile["roof"]["bytes_s"]) > 0.0 && number(&profile["whole"]["tok_s"]) > 0.0
        );

        // The files say the same.
        let read = |name: &str| fs::read_to_string(out.join(name)).expect("a file");
        let same: Value = serde_json::from_str(&read("profile.json")).expect("JSON");
        assert_eq!(same, profile);
        let text = read("profile.txt");
        assert!(
            text.contains("\nstep: 3 runs, ") && text.contains("layer.*.mlp.down"),
            "{text}"
        );
        let svg = read("roofline.svg");
        let computing = ["prefill", "sample", "step"].map(|name| {
            let all = rows(pass(&profile, name)).iter();
            all.filter(|row| count(&row["operations"]) > 0).count()
        });
        assert_eq!(
            svg.matches("<circle").count(),
            computing.iter().sum::<usize>()
        );
        let trace = Trace::read(&out.join("timeline.json").display().to_string());
        let launches =
            ["prefill", "sample", "step"].map(|name| count(&pass(&profile, name)["launches"]));
        assert_eq!(trace.kernels, launches.iter().sum::<u64>());
    }
}

#[test]
fn the_three_ways_are_compared_with_the_roof() {
    let path = model("tiny-llama3");
    for run in ["eager", "persistent"] {
        let args = [
            "profile",
            "--model",
            &path,
            "--device",
            "virtual",
            "--threads",
            "2",
            "--tokens",
            "2",
        ];
        let text = warpsmith(&[&args[..], &["--run", run]].concat()).ok();
        let last = text.lines().last().expect("lines");
        assert!(
            last.starts_with(run) && last.contains("; the roof allows "),
            "{text}"
        );
        assert!(
            text.lines().filter(|line| line.starts_with("all ")).count() == 3,
            "{text}"
        );
    }
}

#[test]
fn what_is_missing_or_in_the_way_is_named_before_anything_runs() {
    let path = model("tiny-llama3");
    let folder = TempDir::new().expect("a folder");
    let taken = folder.path().join("taken");
    fs::write(&taken, "").expect("a file");
    let taken = taken.display().to_string();
    let speech = reference("synth/tiny-llama3.json").display().to_string();
    let cases: [(i32, &[&str], &str); 5] = [
        (1, &["--model", "nowhere.gguf"], "nowhere.gguf"),
        (1, &["--model", &path, "--out", &taken], &taken),
        (1, &["--model", &path, "--sound", &speech], "language model"),
        (2, &["--model", &path, "--tokens", "0"], "--tokens"),
        (1, &["--model", &path, "--tokens", "60000"], "context"),
    ];
    let mut seen = BTreeSet::new();
    for (status, more, named) in cases {
        let run = warpsmith(&[&["profile", "--device", "virtual"], more].concat());
        assert_eq!(
            (run.status, run.out.as_str()),
            (status, ""),
            "{named}: {}",
            run.err
        );
        assert!(run.err.contains(named), "{}", run.err);
        assert!(seen.insert(run.err), "each error says something else");
    }
}
