//! Small models of random weights: every weight type, both rotary pairings, three tokenizers.

use crate::support::{
    Difference, check_greedy, difference, floats, ids, json, load, margins, reference, session,
};
use warpsmith::{graph::Precision, models::tokenizer::Special};

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
            let positions = crate::support::ids(&facts["logits"]["positions"]);
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
            let tokens = crate::support::ids(&facts["greedy24"]["tokens"]);
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
            let positions = crate::support::ids(&facts["logits"]["positions"]);
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
