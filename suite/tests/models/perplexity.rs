//! Scores of tokens equal the log-softmax of the model's own logits, in f64, window by window.

use crate::support::{load, reference};
use warpsmith::{
    graph::Precision,
    models::{
        Error,
        llama::{Perplexity, Session, SessionOptions, Windows},
    },
};

fn session(model: &std::sync::Arc<warpsmith::models::llama::Model>, context: u32) -> Session {
    let options = SessionOptions {
        context,
        precision: Precision::Exact,
        ..SessionOptions::default()
    };
    Session::new(model, &options).expect("a session")
}

/// `-ln softmax(row)[token]`.
fn loss(row: &[f32], token: u32) -> f64 {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row
        .iter()
        .map(|x| (f64::from(*x) - f64::from(most)).exp())
        .sum();
    f64::from(most) + sum.ln() - f64::from(row[token as usize])
}

#[test]
fn windows_are_scored_as_their_logits_say() {
    for name in ["tiny-llama3", "tiny-qwen2"] {
        let bundle = load(&reference().join(format!("synth/{name}.gguf")));
        let vocab = bundle.model.config().vocab;
        let ids: Vec<u32> = (0..70u32)
            .map(|at| (at * at * 7 + at * 3 + 2) % vocab)
            .collect();
        for windows in [
            Windows::Sliding {
                context: 128,
                stride: 64,
            },
            Windows::Sliding {
                context: 24,
                stride: 7,
            },
            Windows::Sliding {
                context: 9,
                stride: 8,
            },
            Windows::Chunks {
                context: 16,
                bos: None,
            },
            Windows::Chunks {
                context: 32,
                bos: Some(1),
            },
        ] {
            let mut scoring = session(&bundle.model, 128);
            let mut plain = session(&bundle.model, 128);
            let (mut found, mut sum, mut count) = (Perplexity::default(), 0.0, 0);
            for window in windows.over(ids.len()).expect("windows") {
                let scores = scoring.score_window(&ids, window).expect("scores");
                let mut own = ids[window.start..window.end].to_vec();
                own[0] = window.first.unwrap_or(own[0]);
                plain.reset();
                let mut rows = Vec::new();
                plain
                    .evaluate(&own, &mut |_, chunk| rows.extend_from_slice(chunk))
                    .expect("logits");
                let rows: Vec<&[f32]> = rows.chunks(vocab as usize).collect();
                assert_eq!(scores.len(), window.end - window.scored);
                for (score, at) in scores.iter().zip(window.scored - window.start..) {
                    let want = loss(rows[at - 1], own[at]);
                    assert!(
                        (f64::from(*score) + want).abs() < 1e-4 * want.max(1.0),
                        "{name} {windows:?}: {score}, {want}"
                    );
                    sum += want;
                    count += 1;
                }
                found.add(&scores);
            }
            assert_eq!(found.scored, count);
            let want = (sum / count as f64).exp();
            let off = (found.value() / want - 1.0).abs();
            assert!(off < 1e-4, "{name} {windows:?}: {}, {want}", found.value());
        }
    }
}

#[test]
fn scores_want_a_token_for_each_that_is_evaluated() {
    let bundle = load(&reference().join("synth/tiny-llama3.gguf"));
    let mut session = session(&bundle.model, 16);
    let vocab = bundle.model.config().vocab;
    let found = session.score(&[1, 2], &[3]);
    assert!(
        matches!(
            found,
            Err(Error::Size {
                want: 2,
                got: 1,
                ..
            })
        ),
        "{found:?}"
    );
    let found = session.score(&[1, 2], &[3, vocab]);
    assert!(matches!(found, Err(Error::TokenId { .. })), "{found:?}");
    let found = session.score(&[1; 17], &[1; 17]);
    assert!(matches!(found, Err(Error::ContextFull { .. })), "{found:?}");
    assert!(session.is_empty());
    assert!(session.score(&[], &[]).expect("nothing").is_empty());
    // It goes on from what the session holds.
    let whole = session.score(&[1, 2, 3, 4], &[2, 3, 4, 5]).expect("scores");
    session.reset();
    session.prefill(&[1, 2], &mut |_, _| {}).expect("a prompt");
    let rest = session.score(&[3, 4], &[4, 5]).expect("scores");
    for (rest, whole) in rest.iter().zip(&whole[2..]) {
        assert!((rest - whole).abs() < 1e-4, "{rest} {whole}");
    }
}
