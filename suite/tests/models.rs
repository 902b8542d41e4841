//! Whole models against independent engines: tokens, logits, greedy continuations.

use serde_json::Value;
use std::path::{Path, PathBuf};
use warpsmith::{
    device::{Device, Selector},
    graph::Precision,
    models::{
        llama::{Bundle, Session, SessionOptions},
        tokenizer::Special,
    },
};

fn reference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("reference")
}

fn json(path: &str) -> Value {
    let path = reference().join(path);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

fn floats(path: &str) -> Vec<f32> {
    let path = reference().join(path);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|b| f32::from_le_bytes(*b))
        .collect()
}

fn ids(value: &Value) -> Vec<u32> {
    let list = value.as_array().expect("a list of token ids");
    list.iter()
        .map(|id| id.as_u64().expect("a token id") as u32)
        .collect()
}

fn load(path: &Path) -> Bundle {
    let device = Device::open(&Selector::virtual_gpu()).expect("a virtual GPU");
    Bundle::load(&device, path, &mut |_, _| {})
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn session(bundle: &Bundle, precision: Precision) -> Session {
    let options = SessionOptions {
        context: 2048,
        precision,
        ..SessionOptions::default()
    };
    Session::new(&bundle.model, &options).expect("a session")
}

/// The SmolLM2 file: `WARPSMITH_SMOLLM2`, else where `cargo xtask fetch` puts it.
fn smollm2() -> Bundle {
    let path = std::env::var_os("WARPSMITH_SMOLLM2")
        .map(PathBuf::from)
        .unwrap_or_else(|| {
            let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            let cache = cache
                .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
            cache
                .expect("a home folder")
                .join("warpsmith/models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
        });
    assert!(
        path.exists(),
        "{} is missing: run `cargo xtask fetch`",
        path.display()
    );
    load(&path)
}

struct Difference {
    most: f32,
    rms: f64,
    cosine: f64,
}

fn difference(got: &[f32], want: &[f32]) -> Difference {
    assert_eq!(got.len(), want.len());
    let pairs = || {
        got.iter()
            .zip(want)
            .map(|(g, w)| (f64::from(*g), f64::from(*w)))
    };
    let dot: f64 = pairs().map(|(g, w)| g * w).sum();
    let norm = |f: fn((f64, f64)) -> f64| pairs().map(f).map(|x| x * x).sum::<f64>().sqrt();
    Difference {
        most: got
            .iter()
            .zip(want)
            .map(|(g, w)| (g - w).abs())
            .fold(0.0, f32::max),
        rms: (pairs().map(|(g, w)| (g - w) * (g - w)).sum::<f64>() / got.len() as f64).sqrt(),
        cosine: dot / (norm(|(g, _)| g) * norm(|(_, w)| w)),
    }
}

/// Greedy tokens equal the reference up to a step whose top two are nearer than `margin`.
fn check_greedy(session: &mut Session, tokens: &[u32], margins: &[f64], margin: f64, what: &str) {
    let mut next = session.sample().expect("a token");
    for (step, want) in tokens.iter().enumerate() {
        if next != *want {
            let found = margins.get(step).copied().unwrap_or(0.0);
            assert!(
                found < margin,
                "{what}: step {step} is {next}, expected {want}, margin {found}"
            );
            return;
        }
        if step + 1 < tokens.len() {
            next = session.step().expect("a step");
        }
    }
}

fn margins(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .map(|list| list.iter().filter_map(Value::as_f64).collect())
        .unwrap_or_default()
}

#[test]
fn synthetic_models_equal_the_f32_reference_in_exact() {
    for name in ["tiny-qwen2", "tiny-llama3", "tiny-llama2spm"] {
        let facts = json(&format!("synth/{name}.json"));
        let bundle = load(&reference().join(format!("synth/{name}.gguf")));
        for (prompt, facts) in facts["prompts"].as_object().expect("prompts") {
            let what = format!("{name} {prompt}");
            let ids = ids(&facts["ids"]);
            let truncated = facts["truncated"].as_bool() == Some(true);
            let text = facts["text"].as_str().expect("a text");
            let encoded = bundle
                .tokenizer
                .encode(text, Special::Parse)
                .expect("tokens");
            let same = if truncated {
                encoded[..ids.len()] == ids[..]
            } else {
                encoded == ids
            };
            assert!(same, "{what}: {encoded:?}");
            let want = floats(facts["logits"]["file"].as_str().expect("a file"));
            let positions = self::ids(&facts["logits"]["positions"]);
            let vocab = want.len() / positions.len();
            let mut evaluated = session(&bundle, Precision::Exact);
            let mut rows: Vec<f32> = Vec::new();
            evaluated
                .evaluate(&ids, &mut |_, chunk| rows.extend_from_slice(chunk))
                .expect("logits");
            for (at, position) in positions.iter().enumerate() {
                let found = difference(
                    &rows[*position as usize * vocab..][..vocab],
                    &want[at * vocab..][..vocab],
                );
                let Difference {
                    most,
                    rms: _,
                    cosine,
                } = found;
                assert!(
                    most <= 2e-3 && cosine > 0.99999,
                    "{what} position {position}: {most}, cosine {cosine}"
                );
            }
            let mut greedy = session(&bundle, Precision::Exact);
            greedy.prefill(&ids, &mut |_, _| {}).expect("a prompt");
            let tokens = self::ids(&facts["greedy24"]["tokens"]);
            check_greedy(
                &mut greedy,
                &tokens,
                &margins(&facts["greedy24"]["top1_minus_top2"]),
                0.02,
                &what,
            );
        }
    }
}

/// Fast arithmetic on these random models: activations of 8 bits err by 1/254 of a group's largest value, some 0.4 %, in
/// each of the 14 products that a logit passes through in three blocks; errors are independent, so together by sqrt(14)
/// times that, 1.5 %, and twice that is allowed, of the logits' own spread.
#[test]
fn synthetic_models_stay_near_the_reference_in_fast() {
    for name in ["tiny-qwen2", "tiny-llama3", "tiny-llama2spm"] {
        let facts = json(&format!("synth/{name}.json"));
        let bundle = load(&reference().join(format!("synth/{name}.gguf")));
        for (prompt, facts) in facts["prompts"].as_object().expect("prompts") {
            let ids = ids(&facts["ids"]);
            let want = floats(facts["logits"]["file"].as_str().expect("a file"));
            let positions = self::ids(&facts["logits"]["positions"]);
            let vocab = want.len() / positions.len();
            let mut session = session(&bundle, Precision::Fast);
            session.prefill(&ids, &mut |_, _| {}).expect("a prompt");
            let Difference {
                most: _,
                rms,
                cosine: _,
            } = difference(
                &session.logits().expect("logits"),
                &want[want.len() - vocab..],
            );
            let spread = facts["logit_std"]
                .as_f64()
                .expect("the spread of the logits");
            assert!(
                rms <= 0.03 * spread,
                "{name} {prompt}: rms {rms} of {spread}"
            );
        }
    }
}

#[test]
fn smollm2_equals_the_f32_reference_in_exact() {
    let bundle = smollm2();
    for name in ["chat_sky", "raw_france", "raw_space"] {
        let facts = json(&format!("llm/{name}.json"));
        let ids = ids(&facts["ids"]);
        let text = facts["text"].as_str().expect("a text");
        assert_eq!(
            bundle
                .tokenizer
                .encode(text, Special::Parse)
                .expect("tokens"),
            ids,
            "{name}"
        );
        let mut session = session(&bundle, Precision::Exact);
        session.prefill(&ids, &mut |_, _| {}).expect("a prompt");
        let logits = session.logits().expect("logits");
        for pair in facts["f32_hf"]["top50"].as_array().expect("the top 50") {
            let (id, want) = (
                pair[0].as_u64().expect("an id") as usize,
                pair[1].as_f64().expect("a logit"),
            );
            let got = f64::from(logits[id]);
            assert!(
                (got - want).abs() <= 2e-3,
                "{name}: logit {id} is {got}, expected {want}"
            );
        }
        if let Some(file) = facts["files"]["logits_f32_hf"].as_str() {
            let Difference {
                most,
                rms: _,
                cosine,
            } = difference(&logits, &floats(file));
            assert!(
                most <= 2e-3 && cosine > 0.99999,
                "{name}: {most}, cosine {cosine}"
            );
        }
        let greedy = &facts["f32_hf"]["greedy64"];
        let tokens = self::ids(&greedy["tokens"])[..16].to_vec();
        check_greedy(
            &mut session,
            &tokens,
            &margins(&greedy["top1_minus_top2"]),
            0.02,
            name,
        );
    }
}

#[test]
fn smollm2_in_fast_is_no_farther_than_an_engine_with_8_bit_activations() {
    let bundle = smollm2();
    let mut ratios = Vec::new();
    for name in ["chat_sky", "raw_france"] {
        let facts = json(&format!("llm/{name}.json"));
        let mut session = session(&bundle, Precision::Fast);
        session
            .prefill(&ids(&facts["ids"]), &mut |_, _| {})
            .expect("a prompt");
        let logits = session.logits().expect("logits");
        let exact = floats(facts["files"]["logits_f32_hf"].as_str().expect("a file"));
        let peer = floats(
            facts["files"]["logits_q8act_llamacpp"]
                .as_str()
                .expect("a file"),
        );
        let ratio = difference(&logits, &exact).rms / difference(&peer, &exact).rms;
        assert!(ratio <= 1.1, "{name}: {ratio} times the peer's error");
        ratios.push(ratio);
    }
    let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
    assert!(mean.exp() <= 1.0, "geometric mean {}", mean.exp());
}

#[test]
fn a_decode_step_moves_four_bytes_allocates_nothing_and_replays_what_eager_runs() {
    use warpsmith::models::llama::Run;
    let bundle = load(&reference().join("synth/tiny-llama3.gguf"));
    let run = |run| {
        let options = SessionOptions {
            context: 256,
            run,
            ..SessionOptions::default()
        };
        let mut session = Session::new(&bundle.model, &options).expect("a session");
        session
            .prefill(&[1, 5, 9, 200], &mut |_, _| {})
            .expect("a prompt");
        session.sample().expect("a token");
        session.step().expect("a step");
        let before = bundle.model.device().stats();
        let mut logits = Vec::new();
        for _ in 0..64 {
            session.step().expect("a step");
        }
        let moved = bundle.model.device().stats() - before;
        assert_eq!((moved.h2d_bytes, moved.d2h_bytes), (0, 64 * 4));
        assert_eq!(moved.allocations, 0);
        assert_eq!(
            moved.launches,
            64 * session.launches_per_step().expect("a plan")
        );
        logits.extend(
            session
                .logits()
                .expect("logits")
                .into_iter()
                .map(f32::to_bits),
        );
        (session.tokens().to_vec(), logits)
    };
    assert_eq!(run(Run::Eager), run(Run::Replay));
}

#[test]
fn a_full_context_is_an_error_and_overwrites_nothing() {
    let bundle = load(&reference().join("synth/tiny-llama3.gguf"));
    let options = SessionOptions {
        context: 8,
        precision: Precision::Exact,
        ..SessionOptions::default()
    };
    let mut session = Session::new(&bundle.model, &options).expect("a session");
    session
        .prefill(&[1, 2, 3, 4, 5, 6, 7], &mut |_, _| {})
        .expect("seven tokens");
    let logits = session.logits().expect("logits");
    let refused = session
        .prefill(&[8, 9], &mut |_, _| {})
        .expect_err("a ninth token");
    assert_eq!(
        refused.to_string(),
        "the context holds 8 tokens: 7 are in it, 2 more do not fit"
    );
    assert_eq!(session.logits().expect("logits"), logits);
    session.sample().expect("a token");
    session.step().expect("the eighth token");
    assert!(session.step().is_err());
    session.truncate(6);
    session
        .prefill(&[7], &mut |_, _| {})
        .expect("the seventh again");
    assert_eq!(session.logits().expect("logits"), logits);
}
