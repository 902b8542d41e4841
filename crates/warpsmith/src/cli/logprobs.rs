//! `--logprobs`: how probable the model found each token that it wrote, and which it found most probable.

use serde::Serialize;
use warpsmith::models::{logprobs::Logprobs, tokenizer::Tokenizer};

/// A token and its probability.
#[derive(Debug, Serialize)]
pub(crate) struct Ranked {
    id: u32,
    /// As the vocabulary writes it.
    piece: String,
    /// The natural logarithm of its probability, of the logits as they are; `null` where that is zero.
    logprob: f64,
}

/// A token that was written, and the most probable ones in its place.
#[derive(Debug, Serialize)]
pub(crate) struct Chosen {
    #[serde(flatten)]
    own: Ranked,
    /// The most probable first, lower ids first among equals.
    top: Vec<Ranked>,
}

impl Chosen {
    /// Token `id` among `logits`, with the `most` most probable.
    pub(crate) fn of(logits: &[f32], id: u32, most: usize, tokenizer: &Tokenizer) -> Chosen {
        let all = Logprobs::of(logits);
        let ranked = |id: u32| Ranked {
            id,
            piece: tokenizer.piece(id).unwrap_or_default().to_owned(),
            logprob: all.token(id),
        };
        Chosen {
            own: ranked(id),
            top: all.best(most).into_iter().map(ranked).collect(),
        }
    }
}
