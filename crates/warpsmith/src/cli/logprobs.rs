//! `--logprobs`: how probable the model found each token that it wrote, and which it found most probable.

use serde::Serialize;
use warpsmith::models::tokenizer::Tokenizer;

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
        let sum = log_sum(logits);
        let ranked = |id: u32| Ranked {
            id,
            piece: tokenizer.piece(id).unwrap_or_default().to_owned(),
            logprob: logits
                .get(id as usize)
                .map_or(f64::NEG_INFINITY, |x| f64::from(*x) - sum),
        };
        Chosen {
            own: ranked(id),
            top: best(logits, most).into_iter().map(ranked).collect(),
        }
    }
}

/// `ln(sum(exp(x)))` of logits of which one is finite.
fn log_sum(logits: &[f32]) -> f64 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let most = f64::from(most);
    let sum: f64 = logits.iter().map(|x| (f64::from(*x) - most).exp()).sum();
    most + sum.ln()
}

/// The ids of the highest logits, in their order.
fn best(logits: &[f32], most: usize) -> Vec<u32> {
    let order = |a: &u32, b: &u32| {
        let (x, y) = (logits[*a as usize], logits[*b as usize]);
        y.total_cmp(&x).then(a.cmp(b))
    };
    let mut ids: Vec<u32> = (0..logits.len() as u32).collect();
    if most < ids.len() {
        ids.select_nth_unstable_by(most, order);
        ids.truncate(most);
    }
    ids.sort_unstable_by(order);
    ids
}

#[cfg(test)]
mod tests {
    use super::{best, log_sum};

    #[test]
    fn the_best_are_in_order_and_probabilities_add_up_to_one() {
        let logits = [0.5, 3.0, -1.0, 3.0, f32::NEG_INFINITY, 900.0];
        for (most, want) in [(0, &[][..]), (3, &[5, 1, 3]), (9, &[5, 1, 3, 0, 2, 4])] {
            assert_eq!(best(&logits, most), want);
        }
        let logits = [0.5, 3.0, -1.0, 3.0, f32::NEG_INFINITY];
        let sum = log_sum(&logits);
        let all: f64 = logits.iter().map(|x| (f64::from(*x) - sum).exp()).sum();
        assert!((all - 1.0).abs() < 1e-12, "{all}");
    }
}
