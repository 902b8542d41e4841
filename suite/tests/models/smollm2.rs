//! SmolLM2-135M, a real model: exact runs equal an f32 engine, fast runs err no more than 8-bit activations elsewhere.

use crate::{
    support::{Difference, check_greedy, difference, floats, ids, json, load, margins, session},
    ways::check_ways,
};
use serde_json::Value;
use warpsmith::{
    graph::Precision,
    models::{
        llama::{Bundle, Session},
        tokenizer::Special,
    },
};
use warpsmith_suite::places::smollm2;

const PROMPTS: [&str; 6] = [
    "raw_space",
    "raw_france",
    "raw_python",
    "chat_sky",
    "chat_unicode",
    "raw_long",
];

/// Logits and greedy tokens are this near to the reference, or a top-two margin is too small to tell.
const NEAR: f64 = 2e-3;
const MARGIN: f64 = 0.02;

/// Evaluates a prompt exactly, compares all there is, and gives the last logits.
fn check_exact(bundle: &Bundle, name: &str, facts: &Value) -> Vec<f32> {
    let tokens = ids(&facts["ids"]);
    let text = facts["text"].as_str().expect("a text");
    let encoded = bundle.tokenizer.encode(text, Special::Parse);
    assert_eq!(encoded.expect("tokens"), tokens, "{name}");
    let mut session = session(bundle, Precision::Exact);
    let mut rest = &tokens[..];
    if let Some(file) = facts["files"]["nll"].as_str() {
        let want = floats(file);
        rest = &tokens[want.len()..];
        let vocab = bundle.model.config().vocab as usize;
        check_likelihood(&mut session, vocab, name, &tokens, &want);
    }
    session.prefill(rest, &mut |_, _| {}).expect("a prompt");
    let logits = session.logits().expect("logits");
    for pair in facts["f32_hf"]["top50"].as_array().expect("the top 50") {
        let id = pair[0].as_u64().expect("an id") as usize;
        let want = pair[1].as_f64().expect("a logit");
        let got = f64::from(logits[id]);
        let near = (got - want).abs() <= NEAR;
        assert!(near, "{name}: logit {id} is {got}, expected {want}");
    }
    if let Some(file) = facts["files"]["logits_f32_hf"].as_str() {
        let Difference {
            most,
            rms: _,
            cosine,
        } = difference(&logits, &floats(file));
        let near = f64::from(most) <= NEAR && cosine > 0.99999;
        assert!(near, "{name}: {most}, cosine {cosine}");
    }
    let greedy = &facts["f32_hf"]["greedy64"];
    let margins = margins(&greedy["top1_minus_top2"]);
    check_greedy(
        &mut session,
        &ids(&greedy["tokens"]),
        &margins,
        MARGIN,
        name,
    );
    check_ways(&mut session, &tokens, &format!("{name}, exact"));
    logits
}

/// Evaluates as many tokens as `want` has numbers: the mean negative log-likelihood of each next token is the same.
fn check_likelihood(session: &mut Session, vocab: usize, name: &str, tokens: &[u32], want: &[f32]) {
    let mut found: Vec<f64> = Vec::new();
    let each = &mut |first: usize, rows: &[f32]| {
        let rows = rows.chunks_exact(vocab).zip(&tokens[first + 1..]);
        found.extend(rows.map(|(row, next)| surprise(row, *next)));
    };
    session
        .evaluate(&tokens[..want.len()], each)
        .expect("logits");
    assert_eq!(found.len(), want.len(), "{name}");
    let mean = |sum: f64| sum / want.len() as f64;
    let (got, expected) = (
        mean(found.iter().sum()),
        mean(want.iter().map(|nll| f64::from(*nll)).sum()),
    );
    println!("{name}: mean negative log-likelihood {got}, expected {expected}");
    assert!(
        (got - expected).abs() <= 1e-3,
        "{name}: {got}, expected {expected}"
    );
    let most = found.iter().zip(want);
    let most = most.map(|(got, want)| (got - f64::from(*want)).abs());
    let most = most.fold(0.0, f64::max);
    // A logit and the logarithm of the sum each err by what logits may.
    assert!(most <= 2.0 * NEAR, "{name}: a token differs by {most}");
}

/// `log(sum(exp(row))) - row[id]`.
fn surprise(row: &[f32], id: u32) -> f64 {
    let most = row.iter().copied().fold(f32::MIN, f32::max);
    let sum: f64 = row.iter().map(|x| f64::from(x - most).exp()).sum();
    sum.ln() + f64::from(most) - f64::from(row[id as usize])
}

/// The error of fast logits over that of llama.cpp with 8-bit activations, both over the whole vocabulary.
fn ratio_in_fast(bundle: &Bundle, name: &str, facts: &Value, exact: &[f32]) -> f64 {
    let mut session = session(bundle, Precision::Fast);
    session
        .prefill(&ids(&facts["ids"]), &mut |_, _| {})
        .expect("a prompt");
    let own = difference(&session.logits().expect("logits"), exact).rms;
    let peer = facts["q8act_llamacpp"]["rms_diff_vs_f32_hf"]
        .as_f64()
        .expect("the peer's error");
    println!("{name}: error {own}, the peer's {peer}");
    check_ways(&mut session, &ids(&facts["ids"]), &format!("{name}, fast"));
    own / peer
}

#[test]
fn smollm2_equals_f32_in_exact_and_errs_no_more_than_8_bit_activations_in_fast() {
    // WARPSMITH_ONLY narrows this to the prompts whose name contains it.
    let only = std::env::var("WARPSMITH_ONLY").unwrap_or_default();
    let bundle = load(&smollm2());
    let mut ratios = Vec::new();
    for name in PROMPTS.into_iter().filter(|name| name.contains(&only)) {
        let facts = json(&format!("llm/{name}.json"));
        let exact = check_exact(&bundle, name, &facts);
        ratios.push((name, ratio_in_fast(&bundle, name, &facts, &exact)));
    }
    // Both round activations to 8 bits, each with errors of its own: of one prompt ours may be the larger, of all not.
    assert!(
        ratios.iter().all(|(_, ratio)| *ratio <= 1.5),
        "times the peer's error: {ratios:?}"
    );
    let logs: f64 = ratios.iter().map(|(_, ratio)| ratio.ln()).sum();
    let mean = (logs / ratios.len() as f64).exp();
    assert!(mean <= 1.0, "geometric mean {mean} of {ratios:?}");
}
